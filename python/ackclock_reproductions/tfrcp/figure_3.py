"""Figure 3: do TFRCP senders share evenly among themselves?"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import metrics, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Outcome
from ackclock.result import Result
from ackclock_reproductions.tfrcp import friendliness
from ackclock_reproductions.tfrcp.figures_2 import S1
from ackclock_reproductions.tfrcp.friendliness import X_LABEL, ByLoad
from ackclock_reproductions.tfrcp.paper import entry, reading
from ackclock_reproductions.tfrcp.senders import FEW_LOADS, LOADS, TCP, one_path, settings

#: What counts as acceptable, up to so many senders and at the most: said before anything was run.
MANY, FEW_SHARE, ALL_SHARE = 30, Band(most=2.0), Band(most=3.0)
EVEN = metrics.metric("max_min_ratio")


def conclude(results: Mapping[str, Result]) -> Outcome:
    """FC, by load."""
    fc = S1.drawn(results, EVEN)
    beside = {f"Reno, beside {label}": values for label, values in S1.drawn(results, EVEN, TCP).items()}
    tables = (
        friendliness.table("FC of those beside TCP", fc),
        friendliness.table("FC of the TCP senders", beside),
        friendliness.by_guess("FC", S1.guessed(results, EVEN), _columns),
    )
    verdict = reading()
    return Outcome(verdict, (), partial(_draw, fc, beside), _claims(fc), settings(results, *one_path()), tables)


def _claims(fc: Mapping[str, ByLoad]) -> tuple[Claim, ...]:
    found = []
    for sender in S1.paper:
        points = {load: interval(values) for load, values in fc[sender.label].items()}
        few = max((load for load in points if load <= MANY), key=lambda load: points[load].mean)
        said = f"{sender.label}: FC is acceptable"
        found += [
            Claim.of(f"{said}, the largest up to N = {MANY} (N = {few})", points[few], FEW_SHARE),
            Claim.of(f"{said} at N = {LOADS[-1]}", points[LOADS[-1]], ALL_SHARE),
        ]
    return tuple(found)


def _columns(values: ByLoad) -> dict[str, tuple[Interval, Band]]:
    return {f"N = {load}": (interval(values[load]), FEW_SHARE if load <= MANY else ALL_SHARE) for load in FEW_LOADS}


def _draw(fc: Mapping[str, ByLoad], beside: Mapping[str, ByLoad]) -> Figure:
    [first] = [label for label in beside if label.endswith(S1.paper[0].label)]
    lines = {one.label: fc[one.label] for one in S1.paper}
    # Points come last: lines have the first looks, of which no two are alike.
    drawn = {**lines, first: beside[first], **fc}
    curves = [plot.Curve("1: all get the same", [LOADS[0], LOADS[-1]], [1, 1], "reference")]
    curves += [friendliness.by_label(label, list(values), values) for label, values in drawn.items()]
    y_label, title = "FC: most over least goodput (ratio)", "Senders of a kind among themselves"
    # It is never below 1.
    return plot.curves(curves, X_LABEL, y_label, title, y_from=0.9)


EXPERIMENT = entry(
    "3",
    "Do TFRCP senders share evenly among themselves?",
    "Acceptably, in most cases.",
    65.0,
    conclude,
    S1.runs,
)
