"""Figure 3: fairness among TFRCP senders."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, metrics, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Outcome, words
from ackclock_papers.tfrcp import friendliness
from ackclock_papers.tfrcp.figures_2 import S1
from ackclock_papers.tfrcp.friendliness import X_LABEL, ByLoad
from ackclock_papers.tfrcp.paper import basis, entry
from ackclock_papers.tfrcp.senders import FEW_LOADS, LOADS, TCP, one_path, settings

#: Acceptable: not grossly unfair.
ACCEPTABLE = Band(most=words.TWICE.least)
EVEN = metrics.metric("max_min_ratio")


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares FC, by load."""
    fc = S1.drawn(results, EVEN)
    beside = {
        f"Reno, beside {label}": values for label, values in S1.drawn(results, EVEN, TCP).items()
    }
    tables = (
        friendliness.table("FC of those beside TCP", fc),
        friendliness.table("FC of the TCP senders", beside),
        friendliness.by_guess("FC", S1.guessed(results, EVEN), _columns),
    )
    rests = basis()
    return Outcome(
        rests, (), partial(_draw, fc, beside), _claims(fc), settings(results, *one_path()), tables
    )


def _claims(fc: Mapping[str, ByLoad]) -> tuple[Claim, ...]:
    points = [interval(values).mean for sender in S1.paper for values in fc[sender.label].values()]
    met = sum(ACCEPTABLE.holds(value) for value in points)
    return (
        Claim(
            "TFRCP achieves acceptable fairness among its senders in most cases",
            f"FC is acceptable in {met} of {len(points)} cases; it goes from {min(points):.2f} to "
            f"{max(points):.2f}",
            2 * met > len(points), accepted=f"FC {ACCEPTABLE} in more than half of them",
        ),
    )  # fmt: skip


def _columns(values: ByLoad) -> dict[str, tuple[Interval, Band]]:
    return {f"N = {load}": (interval(values[load]), ACCEPTABLE) for load in FEW_LOADS}


def _draw(fc: Mapping[str, ByLoad], beside: Mapping[str, ByLoad]) -> Figure:
    [first] = [label for label in beside if label.endswith(S1.paper[0].label)]
    lines = {sender.label: fc[sender.label] for sender in S1.paper}
    # Points come last: the first styles go to lines, and no two of them are alike.
    drawn = {**lines, first: beside[first], **fc}
    curves = [plot.Curve("1: all get the same", [LOADS[0], LOADS[-1]], [1, 1], "reference")]
    curves += [
        friendliness.by_label(label, list(values), values) for label, values in drawn.items()
    ]
    y_label, title = "FC: most over least goodput (ratio)", "Senders of a kind among themselves"
    # The ratio is never below 1.
    return plot.curves(curves, X_LABEL, y_label, title, y_from=0.9)


EXPERIMENT = entry(
    "3",
    "Do TFRCP senders share evenly with each other?",
    "Acceptably, in most cases.",
    65.0,
    conclude,
    S1.runs,
)
