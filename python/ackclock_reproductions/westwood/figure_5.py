"""Figure 5: ABSE where BE is too high (figure 2), and where RE is too low (figure 3)."""

from collections.abc import Mapping, Set
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting
from ackclock.result import Result
from ackclock.scenario import Scenario
from ackclock_reproductions.replicates import Rows, measured
from ackclock_reproductions.westwood import figure_2, figure_3, over_time
from ackclock_reproductions.westwood.over_parameter import JITTER, JITTER_S
from ackclock_reproductions.westwood.paper import entry, reading
from ackclock_reproductions.westwood.senders import (
    ABSE,
    ABSE_LITERAL,
    DURATION_S,
    WARMUP_S,
    Control,
    scenario,
    settings,
    tcp,
)


def _horizon(acks: int) -> Control:
    """The largest variation is over so many ACKs, instead of over ten."""
    return Control(f"ABSE, horizon {acks}", {"kind": "westwood_abse", "estimator": {"kind": "abse", "horizon": acks}})


CONTROLS = (ABSE, _horizon(100), _horizon(1000), ABSE_LITERAL)
FLOW = "sender"

TWO, LOSSY = "two senders", "one sender, 1 % loss"
PATHS = {TWO: figure_2.PATH, LOSSY: figure_3.PATH}
COUNTS = {TWO: figure_2.SENDERS, LOSSY: 1}
TRAINS, BROKEN_UP = "in trains", "broken up"
JITTERS_S = {TRAINS: None, BROKEN_UP: JITTER_S}
REPLICATES = 20

#: What is accepted, in Mbit/s: what an independent simulation of the figure had (1.9 to 3.2 of two senders; 4.2 to 4.4
#: where packets are lost), about what is fair and what is available. Nothing is above the link.
TWO_READ, LOSSY_READS = Band(1.8, 3.2), Band(3.8, 5.0)

#: Of what the text says, that in which it holds.
TAKEN = f"{ABSE_LITERAL.label}, {BROKEN_UP}"
DEFAULT = f"{ABSE.label}, {TRAINS}"


def runs() -> Mapping[str, Run]:
    """Both cases in each reading of ABSE, in trains and with trains broken up."""
    return {
        f"{control.label}, {how}: {case}": Run(_scenario(control, case, jitter_s))
        for control in CONTROLS
        for how, jitter_s in JITTERS_S.items()
        for case in PATHS
    }


def _scenario(control: Control, case: str, jitter_s: float | None) -> Scenario:
    path = PATHS[case]
    flows = [tcp(FLOW, control, path, count=COUNTS[case], jitter_s=jitter_s)]
    return scenario(case, path, flows, replicates=REPLICATES)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Mean estimates beside what is fair, and beside what is available."""
    rows: Rows = {}
    for control in CONTROLS:
        for how in JITTERS_S:
            for case in PATHS:
                result = results[f"{control.label}, {how}: {case}"]
                told = over_time.told_and_got(result, FLOW, WARMUP_S, DURATION_S, COUNTS[case])
                if COUNTS[case] > 1:
                    told["lower estimate"], told["higher estimate"] = _extremes(result)
                rows[case, control.label, how] = told
    own = (
        Setting("send jitter, broken up", JITTER, Origin.GUESSED),
        Setting("ABSE", "not as printed: compares throughput, the interval beginning at an ACK", Origin.GUESSED),
    )
    verdict = reading(
        f"ABSE as printed, and send times {JITTER}. In trains it reads two thirds too much, and ABSE that "
        "compares throughput reads two senders unevenly"
    )
    return Outcome(
        verdict,
        (),
        partial(_draw, results),
        (*_claims(results, TAKEN, set()), *_claims(results, DEFAULT, {"lower"})),
        settings(figure_2.PATH, results, own=own),
        (measured("ABSE", ("case", "reading", "packets"), rows),),
    )


def _claims(results: Mapping[str, Result], name: str, failing: Set[str]) -> tuple[Claim, ...]:
    """What is said of ABSE, in one reading; of two senders also of each."""
    two = over_time.mean_estimates(results[f"{name}: {TWO}"], FLOW, WARMUP_S, DURATION_S, COUNTS[TWO])
    lossy = over_time.mean_estimates(results[f"{name}: {LOSSY}"], FLOW, WARMUP_S, DURATION_S)
    lower, higher = _extremes(results[f"{name}: {TWO}"])
    return (
        Claim.of(f"5a: {name}: accurate where two share 5 Mbit/s", interval(two), TWO_READ, "Mbit/s"),
        *(
            Claim.of(f"5a: {name}: so is the {which} of both", one, TWO_READ, "Mbit/s", documented=which not in failing)
            for which, one in (("lower", lower), ("higher", higher))
        ),
        Claim.of(f"5b: {name}: accurate where 1 % is lost", interval(lossy), LOSSY_READS, "Mbit/s"),
    )


def _extremes(result: Result) -> tuple[Interval, Interval]:
    """The lower and the higher mean estimate of two senders."""
    each = [
        [over_time.estimate(result, FLOW, one, instance).mean(WARMUP_S, DURATION_S) for instance in range(2)]
        for one in over_time.replicates(result)
    ]
    return interval(np.min(each, axis=1)), interval(np.max(each, axis=1))


def _draw(results: Mapping[str, Result]) -> Figure:
    ends = [0, DURATION_S]
    curves = [
        plot.Curve("available", ends, [figure_2.PATH.rate_mbit_per_s] * 2, "reference"),
        plot.Curve("fair share of two", ends, [figure_2.FAIR_MBIT_PER_S] * 2, "reference"),
    ]
    drawn = ((LOSSY, LOSSY, 0), ("one of two senders", TWO, 0), ("the other", TWO, 1))
    for label, case, instance in drawn:
        curves.append(plot.Curve(label, *over_time.estimate(results[f"{TAKEN}: {case}"], FLOW, instance=instance)))
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", "ABSE as printed on 5 Mbit/s, trains broken up")


EXPERIMENT = entry(
    "5",
    "Is ABSE accurate where BE is too high and RE too low?",
    "Two senders on 5 Mbit/s, and one with 1 % loss: ABSE is accurate in both.",
    11.0,
    conclude,
    runs,
)
