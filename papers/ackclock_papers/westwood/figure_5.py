"""Figure 5: ABSE's estimate where BE's is too high (figure 2) and RE's too low (figure 3)."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.westwood import figure_2, figure_3, over_time
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    DURATION_S,
    RE,
    WARMUP_S,
    Control,
    scenario,
    settings,
    tcp,
)


def _horizon(acks: int) -> Control:
    """Returns ABSE with the largest variation taken over `acks` ACKs instead of ten."""
    return Control(
        f"ABSE, readings A, B and C of {acks} ACKs",
        {"kind": "westwood_abse", "estimator": {"kind": "abse", "horizon": acks}},
    )


CONTROLS = (ABSE, ABSE_LATER, _horizon(100), _horizon(1000), BE, RE)
FLOW = "sender"

TWO, LOSSY = "two senders", "one sender, 1 % loss"
PATHS = {TWO: figure_2.PATH, LOSSY: figure_3.PATH}
COUNTS = {TWO: figure_2.SENDERS, LOSSY: 1}
TRAINS, BROKEN_UP = "in trains", "broken up"
JITTERS_S = {TRAINS: None, BROKEN_UP: JITTER_S}
REPLICATES = 20

#: "Accurate" relative to the fair share and to the available rate, in Mbit/s.
TWO_READ, LOSSY_READS = words.about("2.5"), words.about("5")

#: Runs that the claims use: trains are broken up where there are several senders.
HOW = {TWO: BROKEN_UP, LOSSY: TRAINS}


def runs() -> Mapping[str, Run]:
    """Returns runs of both cases in each reading of ABSE, with and without trains."""
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
    """Compares mean estimates with the fair share and with the available rate."""
    rows: Rows = {}
    for control in CONTROLS:
        for how in JITTERS_S:
            for case in PATHS:
                result = results[f"{control.label}, {how}: {case}"]
                estimates = over_time.told_and_got(result, FLOW, WARMUP_S, DURATION_S, COUNTS[case])
                if COUNTS[case] > 1:
                    estimates["lower estimate"], estimates["higher estimate"] = _extremes(result)
                rows[case, control.label, how] = estimates
    own = (Setting("send jitter, broken up", JITTER, Origin.GUESSED),)
    return Outcome(
        basis(),
        (),
        partial(_draw, results),
        _claims(results),
        settings(figure_2.PATH, results, own=own),
        (measured("Estimates", ("case", "control", "packets"), rows),),
    )


def _result(results: Mapping[str, Result], control: Control, case: str) -> Result:
    """Returns the run of a control in a case that the claims use."""
    return results[f"{control.label}, {HOW[case]}: {case}"]


def _claims(results: Mapping[str, Result]) -> tuple[Claim, ...]:
    """Returns the claims of the paper's conclusion on ABSE's estimate, and of the figure."""

    def off(control: Control, case: str, right: float) -> NDArray[np.float64]:
        estimates = over_time.mean_estimates(
            _result(results, control, case), FLOW, WARMUP_S, DURATION_S, COUNTS[case]
        )
        return np.abs(np.subtract(estimates, right))

    two = over_time.mean_estimates(
        _result(results, ABSE, TWO), FLOW, WARMUP_S, DURATION_S, COUNTS[TWO]
    )
    lossy = over_time.mean_estimates(_result(results, ABSE, LOSSY), FLOW, WARMUP_S, DURATION_S)
    lower, higher = _extremes(_result(results, ABSE, TWO))
    fair, available = figure_2.FAIR_MBIT_PER_S, figure_3.PATH.rate_mbit_per_s
    return (
        Claim.of(
            "5a: a more accurate estimate than BE where two share 5 Mbit/s: nearer to the fair "
            "share by",
            interval(off(BE, TWO, fair) - off(ABSE, TWO, fair)), Band(0.0), "Mbit/s", than=0.0,
        ),
        Claim.of(
            "5b: a more accurate estimate than RE where 1 % is lost: nearer to what is available "
            "by",
            interval(off(RE, LOSSY, available) - off(ABSE, LOSSY, available)), Band(0.0), "Mbit/s",
            than=0.0,
        ),
        Claim.of(
            "5a: about the fair share", interval(two), TWO_READ, "Mbit/s", origin=Origin.INFERRED,
        ),
        *(
            Claim.of(
                f"5a: so is the {which} of both", value, TWO_READ, "Mbit/s", origin=Origin.INFERRED,
            )
            for which, value in (("lower", lower), ("higher", higher))
        ),
        Claim.of(
            "5b: about what is available", interval(lossy), LOSSY_READS, "Mbit/s",
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _extremes(result: Result) -> tuple[Interval, Interval]:
    """Returns the lower and the higher mean estimate of two senders."""
    each = [
        [
            over_time.estimate(result, FLOW, replicate, instance).mean(WARMUP_S, DURATION_S)
            for instance in range(2)
        ]
        for replicate in over_time.replicates(result)
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
        curves.append(
            plot.Curve(
                label, *over_time.estimate(_result(results, ABSE, case), FLOW, instance=instance)
            )
        )
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", "ABSE on 5 Mbit/s")


EXPERIMENT = entry(
    "5",
    "Is ABSE accurate where BE estimates too much and RE too little?",
    "Two senders on 5 Mbit/s, and one sender with 1 % loss: ABSE compared with BE and RE.",
    11.0,
    conclude,
    runs,
)
