"""Senders of the paper's experiments: equal numbers of TCP and other senders on one path.

All packets are equally long on the wire. TCP is ns-2's Reno with an ACK for each packet, as the
paper's equation assumes (b = 1). What the paper leaves open is chosen here once for all figures,
and called guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ackclock import Result
from ackclock.reproduction import Origin, Setting
from ackclock.scenario import Scenario
from ackclock_papers import scenarios
from ackclock_papers.scenarios import Tree, replicates_run, seconds_run
from ackclock_papers.tfrcp.path import BOTTLENECK, CENTRAL, ROUTE, Path

HEADER_BYTES = 40
REPLICATES = 5
DURATION_S = 1000.0
#: Total numbers of senders, half of them TCP: every other mark of the paper's axes.
LOADS = (10, 20, 30, 40, 50)
#: The ends and the middle, for runs with every guess.
FEW_LOADS = (10, 30, 50)
#: Start times of senders: uniform between two times, or one time.
Starts = str | tuple[str, str]
STAGGERED: Starts = ("0 s", "1 s")
TOGETHER: Starts = "0 s"

#: Names of the two groups.
TCP, OTHER = "TCP", "other"


class Sender(NamedTuple):
    """A sender.

    Attributes:
        label: Label in figures and tables.
        transport: Transport, as in a scenario, without what depends on the path.
    """

    label: str
    transport: Tree

    def on(self, path: Path) -> Tree:
        """Returns the transport, completed with what depends on the path."""
        return self.transport | {
            "mss": f"{path.packet_bytes - HEADER_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
            # "A small random delay before each packet" for all senders (ns-2's `overhead_`): up to
            # one packet time.
            "send_jitter": jitter(path),
        }


def jitter(path: Path) -> str:
    """Returns the largest random delay of a packet."""
    return f"{path.service_time_s * 1e6:.0f} us"


def tcp(label: str, control: str = "reno", **more: Any) -> Sender:
    """Returns a TCP of ns-2 in 2002: an ACK for each packet, fast recovery ends at any new ACK."""
    tree = {"kind": "tcp", "preset": "ns2-2002", "control": {"kind": control}, "recovery": "reno"}
    return Sender(label, tree | more)


def controlled(label: str, kind: str, **more: Any) -> Sender:
    """Returns a sender under rate control."""
    return Sender(label, {"kind": "udp", "control": {"kind": kind} | more})


RENO = tcp("Reno")
#: Today's senders, for comparison. CUBIC differs only in its control, not in the rest of TCP.
CUBIC = tcp("CUBIC (not in the paper)", "cubic")
TFRC = controlled("TFRC (not in the paper)", "tfrc")
OF_TODAY = (TFRC, CUBIC)


def s1(m_s: float, **more: Any) -> Sender:
    """Returns TFRCP with rounds of constant length."""
    return controlled(
        f"TFRCP, M = {m_s:g} s", "tfrcp", strategy="constant", round=f"{m_s:g} s", **more
    )


def s2(k: float, **more: Any) -> Sender:
    """Returns TFRCP with rounds of `k` round-trip times."""
    return controlled(f"TFRCP, K = {k:g}", "tfrcp", strategy="round_trips", round_trips=k, **more)


def s3(minimum_s: float, spread_s: float, **more: Any) -> Sender:
    """Returns TFRCP with rounds of random length."""
    return controlled(
        f"TFRCP, {minimum_s:g} + U[0, {spread_s:g}] s", "tfrcp", strategy="random",
        round_minimum=f"{minimum_s:g} s", round_spread=f"{spread_s:g} s", **more,
    )  # fmt: skip


@dataclass(frozen=True)
class Mix:
    """Equal numbers of TCP and other senders.

    Attributes:
        other: The other senders.
        path: Path as a function of the number of senders.
        loads: Total numbers of senders.
        starts: Start times.
        reno: The TCP senders.
        duration_s: Duration of a run, in seconds.
        replicates: Number of replicates.
    """

    other: Sender
    path: Callable[[int], Path]
    loads: Sequence[int] = LOADS
    starts: Starts = STAGGERED
    reno: Sender = RENO
    duration_s: float = DURATION_S
    replicates: int = REPLICATES

    @property
    def scenario(self) -> Scenario:
        """A sweep over the loads."""
        first = self.path(self.loads[0])
        flows = [self._flow(TCP, self.reno, first), self._flow(OTHER, self.other, first)]
        swept: dict[str, Callable[[Path, int], Any]] = {
            f"hops.{BOTTLENECK}.link.rate": lambda path, _: path.rate,
            f"hops.{BOTTLENECK}.queue.limit": lambda path, _: path.limit,
            f"flows.{TCP}.transport.send_jitter": lambda path, _: jitter(path),
            f"flows.{OTHER}.transport.send_jitter": lambda path, _: jitter(path),
            f"flows.{TCP}.count": lambda _, load: load // 2,
            f"flows.{OTHER}.count": lambda _, load: load // 2,
        }
        points = [
            [evaluate(self.path(load), load) for evaluate in swept.values()] for load in self.loads
        ]
        name = f"Reno beside {self.other.label}"
        return scenario(
            name, first, flows, {",".join(swept): points}, self.duration_s, self.replicates
        )

    def _flow(self, name: str, sender: Sender, path: Path) -> Tree:
        return flow(name, sender, path, self.starts)


def flow(name: str, sender: Sender, path: Path, starts: Starts = STAGGERED, count: int = 1) -> Tree:
    """Returns a flow group over a path."""
    return {"name": name, "count": count, "transport": sender.on(path), "start": starts} | ROUTE


def scenario(
    name: str,
    path: Path,
    flows: Sequence[Tree],
    sweep: Mapping[str, Sequence[Any]],
    duration_s: float = DURATION_S,
    replicates: int = REPLICATES,
) -> Scenario:
    """Returns a scenario of flows over a path, with a sweep.

    The paper's throughput is that of the whole run, so there is no warm-up.
    """
    return scenarios.scenario(
        name, path.hops, flows, duration_s=duration_s, warmup_s=0,
        sample_interval_s=duration_s / 10, replicates=replicates, sweep=dict(sweep),
    )  # fmt: skip


def always(path: Path) -> Callable[[int], Path]:
    """Returns a function that gives the same path for every load."""
    return lambda _load: path


def settings(
    results: Mapping[str, Result], *own: Setting, starts: str = "uniform within the first second"
) -> tuple[Setting, ...]:
    """Returns the settings: common ones, the durations and replicates run, and the figure's own."""
    run = (
        f"{seconds_run(results, 'duration')} s, {replicates_run(results)} replicates (the paper: "
        "three)"
    )
    return (
        *own,
        Setting("senders", "half of them TCP; throughput is that of the whole run", Origin.PRINTED),
        Setting(
            "TCP", "Reno of preset ns2-2002: an ACK for each packet, timeouts of 1 s at least",
            Origin.GUESSED
        ),
        Setting("b of the equation", "1, as the ACKs are", Origin.GUESSED),
        Setting("r0", "40 packets/s", Origin.GUESSED),
        Setting("receiver's window", "unlimited for everybody", Origin.GUESSED),
        Setting(
            "growth",
            "doubling without losses, but to no more than twice the rate acknowledged (our safety "
            "rule)",
            Origin.GUESSED,
        ),
        Setting("throughput", "goodput: each byte once, headers left out", Origin.GUESSED),
        Setting("run", run, Origin.GUESSED),
        Setting("starts", starts, Origin.GUESSED),
        Setting("send jitter", "uniform up to the bottleneck's time of a packet", Origin.GUESSED),
    )  # fmt: skip


def guessed_of(*names: str) -> list[Setting]:
    """Returns the guessed settings of the central path, by name."""
    texts = {
        "delay": f"{CENTRAL.delay_s * 1000:g} ms one way; 20, 50 and 100 ms in the table",
        "buffer": (
            f"{CENTRAL.pipes:g} bandwidth-delay products, {CENTRAL.buffer_packets} packets; 1 and "
            "4 in the table"
        ),
        "packets": (
            f"{CENTRAL.packet_bytes} bytes, {HEADER_BYTES} of them header, all alike; 1000 and 500 "
            "in the table"
        ),
    }
    return [Setting(name, texts[name], Origin.GUESSED) for name in names]


def one_path() -> tuple[Setting, ...]:
    """Returns the settings of figures whose bottleneck is the same at every load."""
    bottleneck = Setting(
        "bottleneck", f"{CENTRAL.rate}, drop-tail, the same at every load (T1)", Origin.INFERRED
    )
    return (bottleneck, *guessed_of("delay", "buffer", "packets"))
