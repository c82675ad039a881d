"""Section 1: a rate loop without delay, and a loop that has converged.

The paper begins with a hypothetical loop without delay. Nothing is lost, the window stays at its
limit, and packets wait at the source: so throughput improves for certain. Section 5.1 says the same
of a loop with delay once it has converged, whatever the buffer, and that TCP alone loses packets
even where the rate does not change.
"""

from collections.abc import Mapping
from functools import partial
from math import nan

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
    Table,
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import at_points, gain
from ackclock_papers.abr.loop import BOTTLENECK, INSTCAP, NONE, Feedback, Point, alone
from ackclock_papers.abr.over_psi import (
    BUFFERS,
    X_LABEL,
    Y_FROM,
    Efficiencies,
    Part,
    Scheme,
    lengths,
    simulated,
)
from ackclock_papers.abr.paper import (
    CELLS,
    GROUP,
    HIGH_KB_PER_S,
    SOURCE,
    basis,
    settings,
)
from ackclock_papers.replicates import Rows, curve, measured, of_replicates
from ackclock_papers.scenarios import Tree

#: Psi from less than a round trip to many.
OVER_PSI = Part("no delay", (0.5, 2.0, 10.0, 60.0), 1000.0)
#: The rate is known where it is needed as soon as it is measured.
AT_ONCE = Feedback("INSTCAP without delay", {"kind": "instcap"}, host={"delay": "0 s"})
LATE = INSTCAP
FEEDBACKS = (NONE, LATE, AT_ONCE)

#: Duration of a run at a constant rate, in seconds: hundreds of round trips.
CONSTANT_S = 200.0

Results = Mapping[str, Result]


def runs() -> Mapping[str, Run]:
    """Returns runs over psi, and with each buffer over a link of constant rate."""
    schemes = [Scheme(feedback) for feedback in FEEDBACKS]
    return over_psi.runs(schemes, OVER_PSI) | {
        _constant(feedback, buffer): Run(_at_a_constant_rate(feedback, buffer))
        for feedback in (NONE, LATE)
        for buffer in BUFFERS
    }


def _constant(feedback: Feedback, buffer: int) -> str:
    return f"{feedback.label}, constant rate, buffer of {buffer}"


def _at_a_constant_rate(feedback: Feedback, buffer: int) -> Scenario:
    """Returns a loop over a link that keeps the high rate; nothing in it is random."""
    varying = alone(feedback, buffer).scenario([Point(1.0, CONSTANT_S)], 1)
    hops: list[Tree] = [
        hop | {"link": {"kind": "constant", "rate": f"{HIGH_KB_PER_S} kB/s"}}
        if hop["name"] == BOTTLENECK
        else hop
        for hop in varying.tree["hops"]
    ]
    kept = {name: value for name, value in varying.tree.items() if name != "sweep"}
    return Scenario(kept | {"name": _constant(feedback, buffer), "hops": hops})


def conclude(results: Results) -> Outcome:
    """Judges what the paper says of loops without delay, and of loops that have converged."""
    efficiencies = {
        feedback.label: simulated(results, Scheme(feedback), OVER_PSI) for feedback in FEEDBACKS
    }
    went_in = settings(
        Setting("loop", "Δ 200 ms or 40 packets, INSTCAP", Origin.PRINTED),
        Setting("delay of the rate", "none, or Δ", Origin.PRINTED),
        Setting("constant rate", f"{HIGH_KB_PER_S} kB/s for {CONSTANT_S:g} s", Origin.GUESSED),
        Setting("runs over psi", lengths(_varying(results)), Origin.GUESSED),
    )
    return Outcome(
        basis("psi and the constant rate, which are not printed, are ours"),
        (), partial(_draw, efficiencies),
        (*_without_delay(results, efficiencies), *_converged(results)),
        went_in, (_table(efficiencies), _table_of_constant(results)),
    )  # fmt: skip


def _varying(results: Results) -> Results:
    constant = {_constant(feedback, buffer) for feedback in (NONE, LATE) for buffer in BUFFERS}
    return {name: result for name, result in results.items() if name not in constant}


def _without_delay(results: Results, efficiencies: Mapping[str, Efficiencies]) -> tuple[Claim, ...]:
    at_once = results[Scheme(AT_ONCE).run_of(OVER_PSI)]
    return (
        *(
            Claim.of(
                f"A loop without delay loses nothing: drops, at psi = {psi:g}",
                interval(of_replicates(at_once, "hop_drops", BOTTLENECK, point)), Band(0, 0), "%",
            )
            for point, psi in enumerate(OVER_PSI.psis)
        ),
        *(
            Claim.of(
                "A loop without delay improves TCP's throughput: its gain over TCP alone, at psi = "
                f"{psi:g}",
                gain(efficiencies[AT_ONCE.label][psi], efficiencies[NONE.label][psi]),
                Band(0), "%", than=0.0,
            )
            for psi in OVER_PSI.psis
        ),
    )  # fmt: skip


def _converged(results: Results) -> tuple[Claim, ...]:
    return (
        *(
            Claim.of(
                "A loop that has converged loses nothing, whatever the buffer: drops, with "
                f"{buffer} packets",
                _lone_value(results, LATE, buffer, "hop_drops"), Band(0, 0), "%",
            )
            for buffer in BUFFERS
        ),
        *(
            Claim.of(
                "Its window stays at its limit and the pipe full: efficiency over what cells "
                f"leave, with {buffer} packets",
                _efficiency(results, LATE, buffer), words.about("1"),
            )
            for buffer in BUFFERS
        ),
        *(
            Claim.of(
                "TCP alone loses packets even where the rate does not change: drops, with "
                f"{buffer} packets",
                _lone_value(results, NONE, buffer, "hop_drops"), Band(0), "%", than=0.0,
            )
            for buffer in BUFFERS
        ),
    )  # fmt: skip


def _lone_value(results: Results, feedback: Feedback, buffer: int, metric: str) -> Interval:
    """Returns a metric of the bottleneck in the one run at a constant rate."""
    [value] = of_replicates(results[_constant(feedback, buffer)], metric, BOTTLENECK)
    return Interval(value, nan, 1)


def _efficiency(results: Results, feedback: Feedback, buffer: int) -> Interval:
    """Returns the efficiency at a constant rate, over what cells would leave."""
    [[value]] = at_points(results[_constant(feedback, buffer)])
    return Interval(value, nan, 1)


def _table(efficiencies: Mapping[str, Efficiencies]) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {label: interval(by_psi[psi]) for label, by_psi in efficiencies.items()}
        for psi in OVER_PSI.psis
    }
    return measured("Efficiency", ("psi",), rows)


def _table_of_constant(results: Results) -> Table:
    rows = tuple(
        (
            feedback.label,
            f"{buffer}",
            f"{_lone_value(results, feedback, buffer, 'hop_drops').mean:.2g}",
            f"{_efficiency(results, feedback, buffer).mean * feedback.cells:.3f}",
        )
        for feedback in (NONE, LATE)
        for buffer in BUFFERS
    )
    return Table("At a constant rate", ("feedback", "buffer", "drops, %", "efficiency"), rows)


def _draw(efficiencies: Mapping[str, Efficiencies]) -> Figure:
    psis = OVER_PSI.psis
    curves = [
        plot.Curve("what cells leave", [psis[0], psis[-1]], [CELLS] * 2, "reference"),
        *(
            curve(label, psis, [interval(values) for values in by_psi.values()])
            for label, by_psi in efficiencies.items()
        ),
    ]
    title = "A rate loop without delay"
    return plot.curves(
        curves, X_LABEL, "efficiency (of the mean capacity)", title, log_x=True, y_from=Y_FROM
    )


EXPERIMENT = Experiment(
    f"{GROUP}-section-1",
    GROUP,
    SOURCE,
    "Section 1",
    "Does a rate loop without delay keep TCP from losing packets?",
    "TCP with a rate that is known at once, beside one that is a round trip old and TCP alone.",
    20.0,
    conclude,
    runs,
)
