"""Senders of the paper's experiments, and their scenarios.

The senders are those of ns-2 in 2002: per-packet ACKs, no SACK, NewReno recovery with every
control. What the paper leaves open is chosen here once for all figures, and called guessed in each
verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackclock import Result
from ackclock.reproduction import Origin, Setting
from ackclock.scenario import Scenario
from ackclock_papers import scenarios
from ackclock_papers.scenarios import Tree, replicates_run, seconds_run
from ackclock_papers.westwood.paths import HEADER_BYTES, PACKET_BYTES, PAYLOAD_BYTES, Path

REPLICATES = 5
DURATION_S = 100.0
WARMUP_S = 10.0
#: Each sender starts at its own random time.
STARTS = ["0 s", "1 s"]


class Control(NamedTuple):
    """A congestion control.

    Attributes:
        label: Label in figures and tables.
        tree: Control, as in a scenario.
    """

    label: str
    tree: Tree


NEWRENO = Control("NewReno", {"kind": "reno"})
CUBIC = Control("CUBIC", {"kind": "cubic"})
BE = Control("BE", {"kind": "westwood_be"})
RE = Control("RE", {"kind": "westwood_re"})
#: θ is not printed. With 1, any loss while the flight size exceeds the path's capacity by RE counts
#: as congestion.
CRB = Control("CRB", {"kind": "westwood_crb", "estimator": {"theta": 1.0}})
#: θ from memory.
CRB_AS_REMEMBERED = Control("CRB, θ = 1.4", {"kind": "westwood_crb"})
#: The equations of the paper, as printed.
ABSE = Control("ABSE", {"kind": "westwood_abse", "estimator": {"kind": "abse_literal"}})
#: Readings A and B: T comes from the throughput, as in a later paper, and begins at an ACK.
ABSE_LATER = Control("ABSE, readings A and B", {"kind": "westwood_abse"})
PLUS = Control("Westwood+", {"kind": "westwood_plus"})

#: Today's senders, for comparison with the paper's.
OF_TODAY = (CUBIC, PLUS)


@dataclass(frozen=True)
class NewReno:
    """A reading of NewReno in ns-2 in 2002.

    Attributes:
        name: Name in verdicts.
        tree: Parameters that differ from the preset `ns2-2002`.
    """

    name: str
    tree: Tree = field(default_factory=dict)


#: ns-2 as it came before May 2003: a partial ACK restarts the timer, and leaves the window
#: unchanged.
AS_IT_CAME = NewReno("NewReno as ns-2 of 2002 came")
#: A partial ACK reduces the window by what it acknowledges (RFC 2582 section 3 step 5; ns-2
#: `partial_window_deflation_`).
DEFLATING = NewReno("NewReno with partial window deflation", {"partial_window_deflation": True})
#: RFC 2582 in full: in addition, only the first partial ACK of a recovery restarts the timer
#: (section 4, the impatient variant; ns-2 `newreno_changes1_`). Losses at the end of slow start are
#: then repaired after a timeout. Otherwise each hole takes a round trip, and with large buffers the
#: repair takes the whole run.
RFC_2582 = NewReno(
    "NewReno by RFC 2582, deflating and impatient",
    {"partial_window_deflation": True, "partial_ack": "impatient"},
)

#: Recovery of all figures unless they say otherwise. Without deflation BE makes hardly any progress
#: with a small buffer, contrary to figure 12: the window stays inflated so long that a burst
#: follows the recovery.
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
    """Returns a flow group from end to end.

    Args:
        name: Name of the group.
        control: Congestion control.
        path: Path of the group.
        newreno: Recovery.
        count: Number of senders.
        way_back: True if it sends in the reverse direction.
        jitter_s: Largest random delay of a segment, in seconds; by default the service time of a
            packet.
        more: Fields of the flow: `start`, `stop`.
    """
    transport = {
        "kind": "tcp",
        "preset": "ns2-2002",
        "control": control.tree,
        # Up to the service time of one packet at the bottleneck: breaks phase effects (Floyd and
        # Jacobson, "On traffic phase effects in packet-switched gateways", 1992).
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
    """Returns an unresponsive flow with packets as large as TCP's.

    Its rate is constant unless `traffic` says otherwise.
    """
    sent = {"kind": "cbr"} if traffic is None else dict(traffic)
    return {
        "name": name,
        "transport": {
            "kind": "udp",
            "mss": f"{PAYLOAD_BYTES} bytes",
            "header": f"{HEADER_BYTES} bytes",
        },
        # The rate on the wire counts headers.
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
    """Returns a scenario of flows over a path, with several replicates."""
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
    """Returns the settings: common ones, the durations and replicates run, and the figure's own."""
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
