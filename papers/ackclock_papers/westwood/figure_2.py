"""Figure 2: the estimates of two senders with the same control that share a link."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    BE,
    CRB,
    CUBIC,
    DURATION_S,
    NEWRENO,
    PLUS,
    RE,
    WARMUP_S,
    Control,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(5)
SENDERS = 2
FAIR_MBIT_PER_S = 2.5
CONTROLS = (BE, RE, CRB, ABSE, PLUS, NEWRENO, CUBIC)

FLOW = "sender"

#: BE's mean estimate, and the value that RE is "right on target" of; both printed, in Mbit/s.
BE_MBIT_PER_S, TARGET_MBIT_PER_S = "3.2", "2.5"
RE_READS = words.about(TARGET_MBIT_PER_S)


def runs() -> Mapping[str, Run]:
    """Returns runs of two senders of each control, in trains.

    Controls with an estimator also run with trains broken up; the claims use those runs.
    """
    return {control.label: _run(control, None) for control in CONTROLS} | {
        _spread(control): _run(control, JITTER_S)
        for control in CONTROLS
        if control not in (NEWRENO, CUBIC)
    }


def _run(control: Control, jitter_s: float | None) -> Run:
    return Run(
        scenario(control.label, PATH, [tcp(FLOW, control, PATH, count=SENDERS, jitter_s=jitter_s)])
    )


def _spread(control: Control) -> str:
    return f"{control.label}, trains broken up"


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares mean estimates with the fair share and with the goodput."""
    be, re = (
        over_time.mean_estimates(results[_spread(control)], FLOW, WARMUP_S, DURATION_S, SENDERS)
        for control in (BE, RE)
    )
    claims = (
        Claim.printed(
            f"2a: BE's average estimate is {BE_MBIT_PER_S} Mbit/s", interval(be), BE_MBIT_PER_S,
            "Mbit/s", documented=False,
        ),
        Claim.of(
            f"2a: that is an overestimate of the fair share, {TARGET_MBIT_PER_S} Mbit/s",
            interval(be), Band(FAIR_MBIT_PER_S), "Mbit/s", than=FAIR_MBIT_PER_S,
        ),
        Claim.of("2b: RE is right on target, with T = RTT", interval(re), RE_READS, "Mbit/s"),
    )  # fmt: skip
    rows: Rows = {
        (name,): over_time.told_and_got(result, FLOW, WARMUP_S, DURATION_S, SENDERS)
        for name, result in results.items()
    }
    table = measured("One of two senders", ("control",), rows)
    own = [Setting("send jitter, trains broken up", JITTER, Origin.GUESSED)]
    return Outcome(
        basis(), (), partial(_draw, results), claims, settings(PATH, results, own=own), (table,)
    )


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [plot.Curve("fair share", [0, DURATION_S], [FAIR_MBIT_PER_S] * 2, "reference")]
    for name in (_spread(BE), BE.label, _spread(RE)):
        curves.append(plot.Curve(name, *over_time.estimate(results[name], FLOW)))
    return plot.curves(
        curves, "time (s)", "rate estimate (Mbit/s)", "Estimates of one of two senders on 5 Mbit/s"
    )


EXPERIMENT = entry(
    "2",
    "How accurate are BE and RE if two senders share a link?",
    "Two senders share 5 Mbit/s: BE overestimates the fair share of 2.5 Mbit/s, less if trains of "
    "packets are broken up; RE is on target.",
    3.0,
    conclude,
    runs,
)
