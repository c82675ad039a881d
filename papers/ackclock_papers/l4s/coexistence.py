"""Prague beside a classic flow through nine queues: who gets how much of 100 Mbit/s.

The source is a study on Linux. Its public artefacts have the rate of each of ten runs for every
queue, buffer and pair (`on_linux`), and the commands that made the queues.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
)
from ackclock.scenario import Scenario
from ackclock_papers.l4s.on_linux import BUFFERS, Measured, cells
from ackclock_papers.replicates import of_replicates
from ackclock_papers.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    seconds_run,
)
from ackclock_papers.scenarios import scenario as scenario_of

SOURCE = (
    "F. B. Sarpkaya, F. Fund, S. Panwar, “To adopt or not to adopt L4S-compatible congestion "
    "control? Understanding performance in a partial L4S deployment”, with its artefacts, "
    "github.com/fatihsarpkaya/L4S-PAM2025, PAM 2025"
)

MBIT_PER_S, ROUND_TRIP_S = 100.0, 0.01
#: An Ethernet frame, and what it carries with timestamps: 14 bytes of Ethernet, 20 of IP, 32 of
#: TCP.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
DURATION_S, REPLICATES = 60.0, 3
#: The threshold of marks and the target of delays, and the step for L4S flows.
TARGET, L4S_STEP = "5 ms", "1 ms"

PRAGUE, OTHER = "prague", "other"
CONTROLS: Mapping[str, Tree] = {
    "cubic": {"preset": "linux", "control": {"kind": "cubic"}},
    "bbr1": {"preset": "linux", "control": {"kind": "bbr1"}},
    "bbr3": {"preset": "linux", "control": {"kind": "bbr3"}},
    "bbr3 ecn": {
        "preset": "linux", "ecn": True, "control": {"kind": "bbr3", "ecn_max_rtt": "5 ms"},
    },
}  # fmt: skip
LABELS = {"cubic": "CUBIC", "bbr1": "BBRv1", "bbr3": "BBRv3", "bbr3 ecn": "BBRv3 with ECN"}
#: Version 0.6, in the repository whose build the study installed.
PRAGUE_TRANSPORT: Tree = {
    "preset": "l4s",
    "control": {
        "kind": PRAGUE, "initial_alpha": 1.0, "transition_rounds": 500,
        "rate_mode_below": "0 segments",
    },
}  # fmt: skip
QUEUES = (
    "droptail", "step", "pie", "codel", "codel that marks", "fq", "fq_codel", "fq_codel for L4S",
    "dualpi2",
)  # fmt: skip

#: A cell agrees if the means differ by no more than 4 Mbit/s, or by 2.5 standard deviations of the
#: study's ten runs: about the 95 % range of a further run (Student, nine degrees of freedom: 2.4).
LEAST_BAND_MBIT_PER_S, DEVIATIONS = 4.0, 2.5


def band(measured: Measured) -> float:
    """Returns the largest difference of means, in Mbit/s, that counts as agreement."""
    return max(LEAST_BAND_MBIT_PER_S, DEVIATIONS * measured.deviation)


def queue(name: str, buffer: float) -> Tree:
    """Returns a queue of the study with a buffer in bandwidth-delay products.

    The study's limits are bytes for drop-tail, packets of 1500 bytes and one more for the others.
    DualPI2 has its default limit whatever the buffer, as the study's README says.
    """
    size = int(buffer * MBIT_PER_S * 1e6 * ROUND_TRIP_S / 8)
    limit = packets(size // 1500 + 1)
    linux: Tree = {"limit": limit, "arithmetic": "linux", "target": TARGET}
    fq: Tree = {"kind": "fq", "limit": limit, "flow_limit": limit, "ce_threshold": TARGET}
    l4s: Tree = {"ce_threshold": L4S_STEP, "ce_threshold_selector": "l4s"}
    by_name: Mapping[str, Tree] = {
        "droptail": {"kind": "droptail", "limit": f"{size} bytes"},
        "step": fq | {"queues": 1},
        "pie": {"kind": "pie"} | linux,
        "codel": {"kind": "codel"} | linux,
        "codel that marks": {"kind": "codel", "ecn": True} | linux,
        "fq": fq,
        "fq_codel": {"kind": "fq_codel"} | linux,
        "fq_codel for L4S": {"kind": "fq_codel"} | linux | l4s,
        "dualpi2": {"kind": "dualpi2", "arithmetic": "linux", "target": TARGET},
    }
    return by_name[name]


def _name(other: str, queue_name: str) -> str:
    return f"{LABELS[other]}, {queue_name}"


def scenario(other: str, queue_name: str) -> Scenario:
    """Returns Prague beside another flow through one kind of queue, with all buffers."""
    flows = [
        {
            "name": flow, "route": ["bottleneck"], "return": ["back"], "start": ["0 s", "100 ms"],
            "transport": {
                "kind": "tcp", "mss": f"{PAYLOAD_BYTES} bytes",
                "header": f"{FRAME_BYTES - PAYLOAD_BYTES} bytes",
                "receive_window": "unlimited", **transport,
            },
        }
        for flow, transport in ((PRAGUE, PRAGUE_TRANSPORT), (OTHER, CONTROLS[other]))
    ]  # fmt: skip
    queues = [queue(queue_name, buffer) for buffer in BUFFERS]
    if queue_name == "dualpi2":
        queues = queues[:1]
    hops = [
        hop("bottleneck", constant(MBIT_PER_S), packets(1), ROUND_TRIP_S / 2),
        hop("back", constant(10 * MBIT_PER_S), packets(AMPLE_PACKETS), ROUND_TRIP_S / 2),
    ]
    return scenario_of(
        _name(other, queue_name), hops, flows, duration_s=DURATION_S, warmup_s=0.0,
        sample_interval_s=1.0, replicates=REPLICATES, sweep={"hops.bottleneck.queue": queues},
    )  # fmt: skip


def runs() -> Mapping[str, Run]:
    """Returns the runs: every pair through every queue, swept over buffers."""
    return {
        _name(other, queue_name): Run(scenario(other, queue_name))
        for other in CONTROLS
        for queue_name in QUEUES
    }


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares Prague's rate in every cell with the mean of the study's ten runs."""
    ours = {
        (other, queue_name, buffer): _rates(results[_name(other, queue_name)], number)
        for other in CONTROLS
        for queue_name in QUEUES
        for number, buffer in enumerate(BUFFERS)
    }
    comparisons = tuple(_compared(queue_name, ours) for queue_name in QUEUES)
    agreeing = {
        comparison.title: [cell.agrees for cell in comparison.cells] for comparison in comparisons
    }
    basis = Basis(
        "Prague is version 0.6, as in the repository whose build the study installed; starts "
        "within 100 ms are guessed; hosts and the shaper add no noise"
    )
    return Outcome(
        basis, comparisons, partial(_draw, ours), _claims(agreeing), _settings(results),
        (_by_queue(agreeing),),
    )  # fmt: skip


Rates = Mapping[tuple[str, str, float], tuple[Interval, Interval]]


def _rates(result: Result, number: int) -> tuple[Interval, Interval]:
    """Returns the rates of Prague and of the other flow at one buffer, in Mbit/s."""
    point = min(number, len(result.points) - 1)  # one point stands for all buffers of DualPI2
    prague, other = (
        interval(of_replicates(result, "goodput", flow, point)) for flow in (PRAGUE, OTHER)
    )
    return prague, other


def _compared(queue_name: str, ours: Rates) -> Comparison:
    on_linux = cells()
    return Comparison(
        f"Prague's rate through {queue_name}",
        Origin.PRINTED,
        ("beside", "buffer, BDP"),
        tuple(
            Cell.simulated(
                (LABELS[other], f"{buffer:g}"),
                "Prague, Mbit/s",
                f"{on_linux[other, queue_name, buffer].prague:.1f}",
                ours[other, queue_name, buffer][0],
                band(on_linux[other, queue_name, buffer]),
                _reason(other, queue_name, buffer),
            )
            for other in CONTROLS
            for buffer in BUFFERS
        ),
        f"within {LEAST_BAND_MBIT_PER_S:g} Mbit/s, or {DEVIATIONS:g} standard deviations of the "
        "study's ten runs if those are more",
    )


FEW_RUNS = "the interval of our three runs reaches into the band, so that they do not decide"
EDGE = (
    "knife's edge: the threshold, 5 ms, is 41.3 packets, and the buffer 42; with a threshold of "
    "5.2 ms all four pairs are within their bands (8.6 to 33 Mbit/s)"
)
LONG_START = "not known; the first mark's share, α from 0, leaves 7.9 Mbit/s"
IGNORES = (
    "not known: Prague keeps 26 to 34 Mbit/s beside a flow that ignores drops, also if segments "
    "leave one by one or with jitter of 1 ms, with an ACK for eight, without Prague's target, and "
    "with the arithmetic of RFC 9332; L4STeam's 5.15 has a queue of its own"
)
DEEP = (
    "not known: at 4 BDP it is 79 to 82 Mbit/s without offload, with jitter of 0.1 ms, without "
    "ticks, and with Prague's target from the beginning"
)
MARKS_ONE = (
    "not known: without offload, with jitter of 0.1 ms, without ticks, and with Prague's target "
    "from the beginning Prague has 43 to 47 Mbit/s beside BBRv1 at 2 BDP, and 88 to 89 beside "
    "CUBIC at 1"
)
SMALL = "0.5 Mbit/s beyond the band; four packets less of buffer change nothing"

#: Why cells do not agree, by the flow beside Prague, the queue and the buffers. What a reason says
#: of other settings was measured with one or two runs of 60 s.
WHY: Sequence[tuple[str, str, tuple[float, ...], str]] = (
    ("bbr1", "droptail", (2, 4), DEEP),
    ("bbr3", "droptail", (4,), FEW_RUNS),
    ("bbr3 ecn", "droptail", (4,), FEW_RUNS),
    ("cubic", "step", (0.5,), EDGE),
    ("cubic", "step", (1,), LONG_START),
    ("bbr1", "step", (0.5,), EDGE),
    ("bbr3", "step", (0.5,), EDGE),
    ("bbr3 ecn", "step", (0.5,), EDGE),
    ("bbr1", "pie", (4,), FEW_RUNS),
    ("bbr3", "codel", (1, 4), FEW_RUNS),
    ("cubic", "codel that marks", (0.5,), FEW_RUNS),
    ("cubic", "codel that marks", (1,), MARKS_ONE),
    ("bbr1", "codel that marks", (1,), FEW_RUNS),
    ("bbr1", "codel that marks", (2, 4, 8), MARKS_ONE),
    ("bbr3", "codel that marks", (1,), FEW_RUNS),
    ("bbr3 ecn", "codel that marks", (1,), FEW_RUNS),
    ("bbr3", "fq", (0.5,), FEW_RUNS),
    ("bbr3", "fq_codel for L4S", (0.5,), SMALL),
    ("cubic", "dualpi2", BUFFERS, FEW_RUNS),
    ("bbr1", "dualpi2", BUFFERS, IGNORES),
    ("bbr3", "dualpi2", (0.5, 8), FEW_RUNS),
)  # fmt: skip


def _reason(other: str, queue_name: str, buffer: float) -> str:
    """Returns why a cell is not expected to agree; empty if it is."""
    for flow, through, buffers, why in WHY:
        if (flow, through) == (other, queue_name) and buffer in buffers:
            return why
    return ""


def _claims(agreeing: Mapping[str, Sequence[bool]]) -> tuple[Claim, ...]:
    every = [agrees for column in agreeing.values() for agrees in column]
    share = sum(every) / len(every)
    return (
        Claim(
            MOST_AGREE,
            f"{sum(every)} of {len(every)}, {share:.1%}",
            share >= LEAST_SHARE,
            documented=False,
            origin=Origin.INFERRED,
        ),
    )


#: Share of the cells that is to be within its bands.
LEAST_SHARE = 0.9
MOST_AGREE = f"At least {LEAST_SHARE:.0%} of the cells are within their bands"


def _by_queue(agreeing: Mapping[str, Sequence[bool]]) -> Table:
    rows = []
    for queue_name, column in zip(QUEUES, agreeing.values(), strict=True):
        counted = [
            f"{sum(column[start : start + len(BUFFERS)])} of {len(BUFFERS)}"
            for start in range(0, len(column), len(BUFFERS))
        ]
        rows.append((queue_name, *counted, f"{sum(column)} of {len(column)}"))
    head = ("queue", *(f"beside {label}" for label in LABELS.values()), "together")
    return Table("Cells within their bands", head, tuple(rows))


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    return (
        Setting("link", f"{MBIT_PER_S:g} Mbit/s", Origin.PRINTED),
        Setting("round trip", f"{ROUND_TRIP_S * 1000:g} ms", Origin.PRINTED),
        Setting("run", f"{seconds_run(results, 'duration')} s, all of it counts", Origin.PRINTED),
        Setting("queues", f"target or threshold {TARGET}, {L4S_STEP} for L4S", Origin.PRINTED),
        Setting("buffers", "0.5 to 8 BDP; DualPI2 10,000 packets", Origin.PRINTED),
        Setting("Prague", "version 0.6: α from 1, target_rtt after 500 rounds", Origin.INFERRED),
        Setting("BBRv3", "as Google publishes it: no reaction to marks beyond 5 ms",
                Origin.INFERRED),
        Setting("CUBIC, BBRv1", "preset linux, without ECN", Origin.INFERRED),
        Setting("frames", f"{FRAME_BYTES} bytes with {PAYLOAD_BYTES} of data", Origin.INFERRED),
        Setting("starts", "within 100 ms", Origin.GUESSED),
        Setting("replicates", replicates_run(results), Origin.GUESSED),
    )  # fmt: skip


def _draw(ours: Rates) -> Figure:
    """Draws two heat maps for each pair: Linux, and ours."""
    on_linux = cells()
    panels = []
    for other, label in LABELS.items():
        for column in ("on Linux", "ours"):
            rates = {
                (queue_name, buffer): on_linux[other, queue_name, buffer].prague
                if column == "on Linux"
                else ours[other, queue_name, buffer][0].mean
                for queue_name in QUEUES
                for buffer in BUFFERS
            }
            rows: list[list[plot.Cell | None]] = [
                [
                    plot.Cell(rate, f"{rate:.0f}", "", round(rate / MBIT_PER_S, 3))
                    for rate in (rates[queue_name, buffer] for buffer in BUFFERS)
                ]
                for queue_name in reversed(QUEUES)
            ]
            panels.append(plot.CellPanel(rows, "", column, f"beside {label}"))
    spec = plot.HeatMap(
        "Prague beside another flow, 100 Mbit/s, 10 ms",
        "Prague's rate (Mbit/s)",
        plot.Axis("buffer", "BDP", ticks=_ticks(f"{buffer:g}" for buffer in BUFFERS)),
        plot.Axis("queue", ticks=_ticks(reversed(QUEUES)), is_choice=True),
        panels, 2, (0.0, MBIT_PER_S), False, False,
    )  # fmt: skip
    return plot.draw(spec)


def _ticks(names: Iterable[str]) -> tuple[tuple[float, str], ...]:
    return tuple((float(position), name) for position, name in enumerate(names))


EXPERIMENT = Experiment(
    name="l4s-coexistence",
    group="l4s",
    source=SOURCE,
    shows="heat maps of Prague beside one classic flow",
    question="How does Prague share a link with a classic flow, over queues and buffers?",
    says="Queues of flows share fairly. A single queue that marks starves Prague; dropping, it "
    "favours whoever fills it. DualPI2 is fair to CUBIC, and not to flows that ignore it.",
    cost_s=100.0,
    conclude=conclude,
    runs=runs,
)
