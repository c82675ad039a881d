"""Section 2: a minimum cell rate (MCR) that the bottleneck's scheduler reserves for TCP.

The paper lets a scheduler reserve half of the link for best-effort traffic, by the MCR feature of
ABR. While guaranteed service traffic is backlogged, TCP has what is reserved, otherwise the whole
link. So a link of two rates suffices as a model, it says; and an MCR may guarantee TCP a throughput
(sections 4.1 and 5.2). Here the link has its full rate all the time, a fair scheduler reserves half
of it for each of two flows, and the guaranteed traffic comes and goes.
"""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.abr.efficiency import at_points, rates
from ackclock_papers.abr.loop import (
    BOTTLENECK,
    COARSE,
    NONE,
    REPLICATES,
    SESSION,
    WARMUP_SHARE,
    Point,
    alone,
)
from ackclock_papers.abr.over_psi import BUFFER, X_LABEL
from ackclock_papers.abr.paper import (
    GROUP,
    HIGH_KB_PER_S,
    LOW_KB_PER_S,
    MEAN_KB_PER_S,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    ROUND_TRIP_S,
    SOURCE,
    basis,
    settings,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient
from ackclock_papers.scenarios import Tree, hop, packets

#: Guaranteed traffic within what is left to it, and as much as the whole link carries.
WITHIN, GREEDY = LOW_KB_PER_S, HIGH_KB_PER_S
PSIS = (0.5, 2.0, 10.0, 60.0)
DURATION_S = 1000.0
UDP_HEADER_BYTES = 28
#: Payload over packet.
TCP_SHARE = PAYLOAD_BYTES / PACKET_BYTES
UDP_SHARE = 1 - UDP_HEADER_BYTES / PACKET_BYTES
#: Name of the flow of guaranteed traffic.
GUARANTEED = "guaranteed"

Results = Mapping[str, Result]


class Set(NamedTuple):
    """A set-up: who sends how, and how the bottleneck chooses.

    Attributes:
        name: Name of its run, and its label.
        reserves: True if a scheduler reserves half of the link; False for one queue.
        guaranteed_kb_per_s: Rate of the guaranteed traffic while it is on.
        host_kb_per_s: Rate of the host of TCP; None if it has no server.
    """

    name: str
    reserves: bool
    guaranteed_kb_per_s: float
    host_kb_per_s: float | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario, which sweeps over psi."""
        varied = (f"flows.{GUARANTEED}.traffic.mean_on", f"flows.{GUARANTEED}.traffic.mean_off")
        swept = [[f"{1000 * psi * ROUND_TRIP_S:g} ms"] * 2 for psi in PSIS]
        tree = {
            "schema": 1,
            "name": self.name,
            "replicates": REPLICATES,
            "duration": f"{DURATION_S:g} s",
            "warmup": f"{WARMUP_SHARE * DURATION_S:g} s",
            "sample_interval": f"{WARMUP_SHARE * DURATION_S:g} s",
            "hops": self._hops(),
            "flows": self._flows(swept[0][0]),
            "sweep": {",".join(varied): swept},
        }
        return Scenario(tree)

    def _hops(self) -> list[Tree]:
        link = {"kind": "constant", "rate": f"{HIGH_KB_PER_S} kB/s"}
        fair = {
            "kind": "drr", "limit": "100 packets", "flow_limit": packets(BUFFER),
            "queues": 65_536, "quantum": f"{PACKET_BYTES} bytes",
            "first_quantum": f"{PACKET_BYTES} bytes",
        }  # fmt: skip
        bottleneck = hop(BOTTLENECK, link, packets(BUFFER))
        if self.reserves:
            bottleneck["queue"] = fair
        back = hop("back", {"kind": "constant", "rate": "400 Gbit/s"}, "unlimited", ROUND_TRIP_S)
        if self.host_kb_per_s is None:
            return [bottleneck, back]
        server = {"kind": "constant", "rate": f"{self.host_kb_per_s:g} kB/s"}
        return [hop("host", server, "unlimited"), bottleneck, back]

    def _flows(self, sojourn: str) -> list[Tree]:
        payload = PACKET_BYTES - UDP_HEADER_BYTES
        rate = self.guaranteed_kb_per_s * UDP_SHARE
        hosts = [] if self.host_kb_per_s is None else ["host"]
        return [
            {
                "name": SESSION,
                "route": [*hosts, BOTTLENECK],
                "return": ["back"],
                "transport": COARSE.tree,
            },
            {
                "name": GUARANTEED,
                "route": [BOTTLENECK],
                "transport": {"kind": "udp", "mss": f"{payload} bytes"},
                "traffic": {
                    "kind": "on_off", "rate": f"{rate:g} kB/s", "mean_on": sojourn,
                    "mean_off": sojourn, "stationary": True,
                },
            },
        ]  # fmt: skip


#: TCP as it is, and a source that never exceeds what is reserved.
ALONE = Set("TCP alone, half reserved", True, WITHIN)
PRESSED = Set("TCP alone, half reserved, greedy traffic", True, GREEDY)
AT_MCR = Set("source at the MCR, half reserved, greedy traffic", True, GREEDY, LOW_KB_PER_S)
UNRESERVED = Set("source at the MCR, nothing reserved, greedy traffic", False, GREEDY, LOW_KB_PER_S)
SETS = (ALONE, PRESSED, AT_MCR, UNRESERVED)
#: The paper's model of the same: a link of two rates.
TWO_RATES = "TCP alone, a link of two rates"


def runs() -> Mapping[str, Run]:
    """Returns runs behind the schedulers, and over the link of two rates."""
    points = [Point(psi * ROUND_TRIP_S, DURATION_S) for psi in PSIS]
    modelled = {TWO_RATES: Run(alone(NONE, BUFFER).scenario(points))}
    return modelled | {each.name: Run(each.scenario) for each in SETS}


def conclude(results: Results) -> Outcome:
    """Compares TCP behind the scheduler with the model, and with what is reserved."""
    throughputs = {name: _kb_per_s(result, SESSION, TCP_SHARE) for name, result in results.items()}
    modelled = dict(zip(PSIS, at_points(results[TWO_RATES]), strict=True))
    ratios = {
        psi: quotient(_share_of_what_is_left(results[ALONE.name])[psi], modelled[psi])
        for psi in PSIS
    }
    own = (
        Setting("loop", f"Δ 200 ms or 40 packets, buffer of {BUFFER} packets", Origin.PRINTED),
        Setting("MCR", f"half of the link, {LOW_KB_PER_S} kB/s", Origin.PRINTED),
        Setting("scheduler", "deficit round robin, a packet in turn for each", Origin.GUESSED),
        Setting(
            "guaranteed traffic",
            f"{WITHIN} kB/s, or {GREEDY} kB/s, on as long as off, exponential times",
            Origin.GUESSED,
        ),
        Setting(
            "runs", f"{REPLICATES} replicates of {DURATION_S:g} s, the first 5 % not measured",
            Origin.GUESSED,
        ),
    )  # fmt: skip
    rests = basis(
        "scheduler and guaranteed traffic, which are not printed, are ours; “guarantee” taken for "
        "98 % of the MCR",
    )
    table = measured("Throughput of TCP, headers included, in kB/s", ("psi",), _rows(throughputs))
    return Outcome(
        rests, (), partial(_draw, throughputs), _claims(throughputs, ratios), settings(*own),
        (table,),
    )  # fmt: skip


#: Throughput in kB/s by replicate, by psi.
Throughput = dict[float, list[float]]


def _kb_per_s(result: Result, flow: str, payload_share: float) -> Throughput:
    """Returns the throughput of a flow at each psi, headers included."""
    by_point = rates(result, "goodput", flow)
    return {
        psi: list(values / 8000 / payload_share) for psi, values in zip(PSIS, by_point, strict=True)
    }


def _share_of_what_is_left(result: Result) -> Throughput:
    """Returns the efficiency of TCP: its share of what the guaranteed traffic leaves."""
    ours = _kb_per_s(result, SESSION, TCP_SHARE)
    others = _kb_per_s(result, GUARANTEED, UDP_SHARE)
    return {
        psi: [
            own / (HIGH_KB_PER_S - other) for own, other in zip(ours[psi], others[psi], strict=True)
        ]
        for psi in PSIS
    }


def _claims(
    throughputs: Mapping[str, Throughput], ratios: Mapping[float, Interval]
) -> tuple[Claim, ...]:
    def of_mcr(name: str, psi: float) -> Interval:
        return interval([100 * rate / LOW_KB_PER_S for rate in throughputs[name][psi]])

    return (
        *(
            Claim.of(
                "A link of two rates suffices as a model: the efficiency of TCP behind the "
                f"scheduler over that on such a link, at psi = {psi:g}",
                ratios[psi], words.SAME,
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                "The MCR of an ABR connection may guarantee a least throughput of TCP: a source at "
                f"the MCR has of it, at psi = {psi:g}",
                of_mcr(AT_MCR.name, psi), Band(98), "%",
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                "What is reserved does not suffice without rate control: TCP alone has of the "
                f"MCR, at psi = {psi:g}",
                of_mcr(PRESSED.name, psi), Band(most=98), "%", than=100.0,
                documented=psi < PSIS[-1], origin=Origin.INFERRED,
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                "Nor does rate control without a reservation: in one queue a source at the MCR has "
                f"of it, at psi = {psi:g}",
                of_mcr(UNRESERVED.name, psi), Band(most=98), "%", than=100.0,
                origin=Origin.INFERRED,
            )
            for psi in PSIS
        ),
    )  # fmt: skip


def _rows(throughputs: Mapping[str, Throughput]) -> Rows:
    return {
        (f"{psi:g}",): {name: interval(by_psi[psi]) for name, by_psi in throughputs.items()}
        for psi in PSIS
    }


def _draw(throughputs: Mapping[str, Throughput]) -> Figure:
    curves = [
        plot.Curve("MCR", [PSIS[0], PSIS[-1]], [LOW_KB_PER_S] * 2, "reference"),
        plot.Curve("mean capacity", [PSIS[0], PSIS[-1]], [MEAN_KB_PER_S] * 2, "reference"),
        *(
            curve(name, PSIS, [interval(by_psi[psi]) for psi in PSIS])
            for name, by_psi in throughputs.items()
        ),
    ]
    title = "A rate that the scheduler reserves for TCP"
    return plot.curves(curves, X_LABEL, "throughput (kB/s)", title, log_x=True, y_from=0)


EXPERIMENT = Experiment(
    f"{GROUP}-section-2",
    GROUP,
    SOURCE,
    "Section 2",
    "Does a rate that the scheduler reserves guarantee TCP a throughput?",
    "TCP behind a scheduler that reserves half of the link, beside the paper's link of two rates.",
    60.0,
    conclude,
    runs,
)
