"""Who sends in the paper's experiments, and the scenarios that come of it.

The senders are those of ns-2 in 2002: per-packet ACKs, no SACK, NewReno recovery whatever the
control. What the paper does not say is chosen here, once for all figures, and called guessed in
each verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackclock.reproduction import Origin, Setting
from ackclock.result import Result
from ackclock.scenario import Scenario
from ackclock_reproductions import scenarios
from ackclock_reproductions.scenarios import Tree, replicates_run, seconds_run
from ackclock_reproductions.westwood.paths import HEADER_BYTES, PACKET_BYTES, PAYLOAD_BYTES, Path

REPLICATES = 5
DURATION_S = 100.0
WARMUP_S = 10.0
#: Each sender starts at a moment of its own.
STARTS = ["0 s", "1 s"]


class Control(NamedTuple):
    """A congestion control.

    Attributes:
        label: In figures and tables.
        tree: As in a scenario.
    """

    label: str
    tree: Tree


NEWRENO = Control("NewReno", {"kind": "reno"})
CUBIC = Control("CUBIC", {"kind": "cubic"})
BE = Control("BE", {"kind": "westwood_be"})
RE = Control("RE", {"kind": "westwood_re"})
#: θ is printed nowhere. With 1 any loss while more is in flight than RE says the path holds is
#: congestion.
CRB = Control("CRB", {"kind": "westwood_crb", "estimator": {"theta": 1.0}})
#: As it is remembered.
CRB_AS_REMEMBERED = Control("CRB, θ = 1.4", {"kind": "westwood_crb"})
#: The equations of the paper, as printed.
ABSE = Control("ABSE", {"kind": "westwood_abse", "estimator": {"kind": "abse_literal"}})
#: T from the throughput, as a later paper has it, and beginning at an ACK: readings A and B.
ABSE_LATER = Control("ABSE, readings A and B", {"kind": "westwood_abse"})
PLUS = Control("Westwood+", {"kind": "westwood_plus"})

#: What a reader of today asks for beside the paper's.
OF_TODAY = (CUBIC, PLUS)


@dataclass(frozen=True)
class NewReno:
    """A reading of what NewReno did in ns-2 in 2002.

    Attributes:
        name: In verdicts.
        tree: What is other than in the preset `ns2-2002`.
    """

    name: str
    tree: Tree = field(default_factory=dict)


#: As ns-2 came before May 2003: a partial ACK restarts the timer, and leaves the window as it is.
AS_IT_CAME = NewReno("NewReno as ns-2 of 2002 came")
#: A partial ACK takes off what it acknowledges (RFC 2582 section 3 step 5; ns-2
#: `partial_window_deflation_`).
DEFLATING = NewReno("NewReno with partial window deflation", {"partial_window_deflation": True})
#: RFC 2582 whole: besides, only the first partial ACK of a recovery restarts the timer (section 4,
#: the impatient one; ns-2 `newreno_changes1_`). What is lost at the end of slow start is then sent
#: again after a timeout, and not for as long as there are holes, a round trip each: with large
#: buffers that takes the whole run.
RFC_2582 = NewReno(
    "NewReno by RFC 2582, deflating and impatient",
    {"partial_window_deflation": True, "partial_ack": "impatient"},
)

#: What all figures have unless they say otherwise. Without deflation BE hardly moves where the
#: buffer is small, against what figure 12 says of it: the window is inflated for so long that what
#: follows the recovery is a burst.
STANDARD = RFC_2582


def tcp(
    name: str,
    control: Control,
    path: Path,
    *,
    newreno: NewReno = STANDARD,
    count: int = 1,
    way_back: bool = False,
    jitter_s: float | None = None,
    **more: Any,
) -> Tree:
    """A flow group from end to end.

    Args:
        name: Of the group.
        control: Of its senders.
        path: Over which it goes.
        newreno: How its senders recover.
        count: How many senders.
        way_back: Whether it goes the other way.
        jitter_s: Segments leave up to that much later than they could; by default the service time
            of a packet.
        more: Fields of the flow: `start`, `stop`.
    """
    transport = {
        "kind": "tcp",
        "preset": "ns2-2002",
        "control": control.tree,
        # Breaks phase effects (Floyd and Jacobson, "On traffic phase effects in packet-switched
        # gateways", 1992): the time of one packet at the bottleneck.
        "send_jitter": f"{(path.service_time_s if jitter_s is None else jitter_s) * 1e6:.0f} us",
    }
    route = path.reversed_route if way_back else path.route
    flow = {"name": name, "count": count, "transport": transport | newreno.tree, "start": STARTS}
    return flow | route | more


def udp(
    name: str,
    rate_mbit_per_s: float,
    route: Sequence[str],
    traffic: Mapping[str, Any] | None = None,
    **more: Any,
) -> Tree:
    """A flow that does not listen: at a constant rate unless `traffic` says otherwise; packets as large as TCP's."""
    sent = {"kind": "cbr"} if traffic is None else dict(traffic)
    return {
        "name": name,
        "transport": {
            "kind": "udp",
            "mss": f"{PAYLOAD_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
        },
        # On the wire it is to be that rate, so that headers count.
        "traffic": sent | {"rate": f"{rate_mbit_per_s * PAYLOAD_BYTES / PACKET_BYTES:.6f} Mbit/s"},
        "route": list(route),
    } | more


def scenario(
    name: str,
    path: Path,
    flows: Sequence[Tree],
    *,
    duration_s: float = DURATION_S,
    warmup_s: float = WARMUP_S,
    sample_interval_s: float = 0.1,
    replicates: int = REPLICATES,
    **more: Any,
) -> Scenario:
    """Flows over a path, several times with other chances."""
    return scenarios.scenario(
        name, path.hops, flows, duration_s=duration_s, warmup_s=warmup_s,
        sample_interval_s=sample_interval_s, replicates=replicates, **more,
    )  # fmt: skip


def settings(
    path: Path,
    results: Mapping[str, Result],
    *,
    jitter: str = "uniform up to the service time of a packet",
    own: Sequence[Setting] = (),
) -> tuple[Setting, ...]:
    """What went in: what all figures have, how long and how often was really run, and what is the figure's own."""
    rates = ", ".join(f"{hop.rate_mbit_per_s:g}" for hop in path.there)
    duration, warmup = (seconds_run(results, name) for name in ("duration", "warmup"))
    replicates = replicates_run(results)
    return (
        Setting(
            "links",
            f"{rates} Mbit/s, {path.round_trip_s * 1000:g} ms there and back",
            Origin.PRINTED,
        ),
        *own,
        Setting(
            "packets",
            "1000 bytes, and 40 of header, so that the pipe is as large as the paper says",
            Origin.INFERRED,
        ),
        Setting(
            "senders",
            f"preset ns2-2002: {STANDARD.name}, an ACK for each packet, exact clock for RTTmin",
            Origin.GUESSED,
        ),
        Setting(
            "ABSE",
            "equations (1) to (6), β = 0.6, N = 10, U_max of ten observations",
            Origin.PRINTED,
        ),
        Setting("BE and CRB", "filter with τ = 0.5 s; θ = 1", Origin.GUESSED),
        Setting(
            "packet on the link",
            "counts among the buffer's: 46 is the pipe and four",
            Origin.INFERRED,
        ),
        Setting(
            "run",
            f"{duration} s, measured from {warmup} s on, {replicates} replicates",
            Origin.GUESSED,
        ),
        Setting("starts", "uniform within the first second", Origin.GUESSED),
        Setting("send jitter", jitter, Origin.GUESSED),
    )
