"""Figure 2: two like senders share a link; what do they take their share to be?"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.experiments.experiment import Run
from ackclock.experiments.outcome import Band, Claim, Outcome
from ackclock.experiments.westwood import over_time
from ackclock.experiments.westwood.paper import entry, measured, reading
from ackclock.experiments.westwood.paths import one_bottleneck
from ackclock.experiments.westwood.senders import (
    ABSE,
    BE,
    CRB,
    CUBIC,
    DURATION_S,
    NEWRENO,
    PLUS,
    RE,
    WARMUP_S,
    scenario,
    settings,
    tcp,
)
from ackclock.metrics import Interval, interval
from ackclock.result import Result

PATH = one_bottleneck(5)
SENDERS = 2
FAIR_MBIT_PER_S = 2.5
CONTROLS = (BE, RE, CRB, ABSE, PLUS, NEWRENO, CUBIC)

FLOW = "sender"

#: How far above what it gets an estimate must be to be called too high. From an independent simulation of the
#: figure, in which BE was half above.
TOO_HIGH = 1.15


def runs() -> Mapping[str, Run]:
    """Two senders of each control."""
    return {one.label: Run(scenario(one.label, PATH, [tcp(FLOW, one, PATH, count=SENDERS)])) for one in CONTROLS}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Mean estimates beside the fair share, and beside what the senders got."""
    estimates = {
        name: over_time.mean_estimates(one, FLOW, WARMUP_S, DURATION_S, SENDERS) for name, one in results.items()
    }
    got = {name: over_time.mean_goodputs(one, FLOW, WARMUP_S, DURATION_S, SENDERS) for name, one in results.items()}
    said = "2a: BE is 3.2 Mbit/s on average, where the fair share is 2.5"
    claims = (
        Claim.of(said, interval(estimates["BE"]), Band(2.9, 4.0), "Mbit/s"),
        Claim.of(
            "2a: BE is more than the sender gets", over_time.ratio(estimates["BE"], got["BE"]), Band(TOO_HIGH), "times",
        ),
        Claim.of("2b: RE is right on target, with T = RTT", interval(estimates["RE"]), Band(2.3, 2.6), "Mbit/s"),
    )  # fmt: skip
    rows: dict[tuple[str, ...], dict[str, Interval]] = {}
    for name in results:
        known = {"estimate, Mbit/s": interval(estimates[name])}
        known["goodput, Mbit/s"] = interval(got[name])
        known["estimate over goodput"] = over_time.ratio(estimates[name], got[name])
        rows[name,] = known
    table = measured("One of two senders", ("control",), rows)
    return Outcome(reading(), (), partial(_draw, results), claims, settings(PATH), (table,))


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [plot.Curve("fair share", [0, DURATION_S], [FAIR_MBIT_PER_S] * 2, "reference")]
    for control in (BE, RE):
        curves.append(plot.Curve(control.label, *over_time.estimate(results[control.label], FLOW)))
    return plot.curves(curves, "time (s)", "rate estimate (Mbit/s)", "Estimates of one of two senders on 5 Mbit/s")


EXPERIMENT = entry(
    "2",
    "What do BE and RE say where two senders share a link?",
    "Two senders on 5 Mbit/s: BE is 3.2 Mbit/s on average, too much; RE is on target, about 2.5, with T = RTT.",
    3.0,
    conclude,
    runs,
)
