"""Common part of the figures on friendliness: F by the number of senders, and by the guesses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, metrics, plot
from ackclock.metrics import Interval, Metric, by_replicate, closeness, interval, rate_ratio
from ackclock.reproduction import Band, Claim, Origin, Run, Table
from ackclock.table import written_interval
from ackclock_papers.replicates import Rows, curve, measured
from ackclock_papers.tfrcp.paper import CLOSE
from ackclock_papers.tfrcp.path import BOTTLENECK, CENTRAL, Path, guesses
from ackclock_papers.tfrcp.senders import (
    FEW_LOADS,
    LOADS,
    OF_TODAY,
    OTHER,
    STAGGERED,
    TCP,
    TFRC,
    Mix,
    Sender,
    Starts,
    always,
)

#: Values of replicates, by load.
ByLoad = dict[int, list[float]]
Results = Mapping[str, Result]

X_LABEL = "senders, half of them TCP (number)"
F_LABEL = "F: mean goodput of the others over TCP's (ratio)"


@dataclass(frozen=True)
class Study:
    """Senders beside an equal number of TCP senders.

    Attributes:
        paper: Senders of the paper.
        probed: Those of them that are run with every guess.
        path_by_load: Path as a function of the load, from a guess.
        starts: Start times of the senders.
    """

    paper: tuple[Sender, ...]
    probed: tuple[Sender, ...]
    path_by_load: Callable[[Path], Callable[[int], Path]] = always
    starts: Starts = STAGGERED

    def runs(self) -> Mapping[str, Run]:
        """Returns all senders at every load on the figure's path, and those probed on the others.

        On the other paths there are only a few loads.
        """
        drawn = {
            self._name(sender, CENTRAL): self._mix(sender, CENTRAL, LOADS)
            for sender in (*self.paper, *OF_TODAY)
        }
        others = {
            self._name(sender, path): self._mix(sender, path, FEW_LOADS)
            for path in guesses()
            if path != CENTRAL
            for sender in (*self.probed, TFRC)
        }
        return {name: Run(mix.scenario) for name, mix in (drawn | others).items()}

    def drawn(self, results: Results, metric: Metric, subject: str = OTHER) -> dict[str, ByLoad]:
        """Returns a metric on the path of the figure, by the label of the sender."""
        central = {
            sender.label: results[self._name(sender, CENTRAL)]
            for sender in (*self.paper, *OF_TODAY)
        }
        return {label: by_load(result, metric, LOADS, subject) for label, result in central.items()}

    def guessed(self, results: Results, metric: Metric) -> dict[Path, dict[str, ByLoad]]:
        """Returns the metric for the probed senders at few loads, by the guess."""
        return {
            path: {
                sender.label: by_load(
                    results[self._name(sender, path)], metric,
                    LOADS if path == CENTRAL else FEW_LOADS,
                )
                for sender in (*self.probed, TFRC)
            }
            for path in guesses()
        }  # fmt: skip

    def results(self, results: Results) -> dict[str, Result]:
        """Returns the results of the paper's senders on the path of the figure, by label."""
        return {sender.label: results[self._name(sender, CENTRAL)] for sender in self.paper}

    def _name(self, sender: Sender, path: Path) -> str:
        return ", ".join((sender.label, *path.label))

    def _mix(self, sender: Sender, path: Path, loads: Sequence[int]) -> Mix:
        return Mix(sender, self.path_by_load(path), loads, self.starts)


def by_load(result: Result, metric: Metric, loads: Sequence[int], subject: str = OTHER) -> ByLoad:
    """Returns the replicates of a metric in its display unit, by load."""
    values = by_replicate(result, metric)
    return {
        load: [value * metric.shown_per_unit for value in values[point, subject].values()]
        for point, load in enumerate(loads)
    }


FRIENDLINESS = rate_ratio(OTHER, TCP)
CLOSENESS = closeness(OTHER, TCP)


def over_loads(values: ByLoad, loads: Sequence[int] | None = None) -> Interval:
    """Returns the mean over loads, with an interval over replicates."""
    return interval(np.mean([values[load] for load in loads or values], axis=0))


def claims(
    study: Study,
    f: Mapping[str, ByLoad],
    failing: Sequence[str] = (),
    origin: Origin = Origin.PRINTED,
) -> tuple[Claim, ...]:
    """Claims that F is close to 1, as a mean over the loads and at every load.

    Args:
        study: Study whose paper's senders are checked.
        f: F of every sender, by label.
        failing: Claims documented to fail: labels followed by "mean", "least" or "most".
        origin: Origin of the claims.
    """
    statements = []
    for sender in study.paper:
        values = f[sender.label]
        points = {load: interval(replicates) for load, replicates in values.items()}
        least, most = (pick(points, key=lambda load: points[load].mean) for pick in (min, max))
        statements += [
            Claim.of(
                f"{sender.label}: F is close to 1, mean over the loads", over_loads(values), CLOSE,
                documented=f"{sender.label} mean" not in failing, origin=origin,
            ),
            Claim.of(
                f"{sender.label}: F is close to 1 at every load, the least (N = {least})",
                points[least], CLOSE,
                documented=f"{sender.label} least" not in failing, origin=origin,
            ),
            Claim.of(
                f"{sender.label}: F is close to 1 at every load, the largest (N = {most})",
                points[most], CLOSE,
                documented=f"{sender.label} most" not in failing, origin=origin,
            ),
        ]  # fmt: skip
    return tuple(statements)


#: Columns for a sender in a table by guess: a number, and the band in which it should be.
Columns = Callable[[ByLoad], dict[str, tuple[Interval, Band]]]


def by_guess(title: str, guessed: Mapping[Path, Mapping[str, ByLoad]], columns: Columns) -> Table:
    """Returns a table by guess, with a star at each number outside its band."""
    rows = []
    for path, by_sender in guessed.items():
        cells = [
            starred(*cell) for values in by_sender.values() for cell in columns(values).values()
        ]
        rows.append((*path.label, *cells))
    heads = [
        f"{label}: {name}" for label, values in guessed[CENTRAL].items() for name in columns(values)
    ]
    return Table(
        f"{title}, by what is guessed", ("packets", "delay", "buffer", *heads), tuple(rows)
    )


def f_columns(values: ByLoad) -> dict[str, tuple[Interval, Band]]:
    """Returns F as a mean over few loads, and at each of them."""
    points = {f"N = {load}": (interval(values[load]), CLOSE) for load in FEW_LOADS}
    return {"mean": (over_loads(values, FEW_LOADS), CLOSE)} | points


def whatever_is_guessed(guessed: Mapping[Path, Mapping[str, ByLoad]]) -> Claim:
    """Claims that F of the paper's senders is close to 1 with every guess; it is not."""
    means = [
        over_loads(values, FEW_LOADS).mean
        for by_sender in guessed.values()
        for label, values in by_sender.items()
        if label != TFRC.label
    ]
    met = sum(CLOSE.holds(mean) for mean in means)
    statement = (
        f"F is close to 1 whatever is guessed: the mean over N = {', '.join(map(str, FEW_LOADS))}"
    )
    evidence = f"{met} of {len(means)} means are; they go from {min(means):.2f} to {max(means):.2f}"
    return Claim(statement, evidence, met == len(means), False, Origin.INFERRED, str(CLOSE))


def starred(value: Interval, band: Band) -> str:
    """Returns the value, with a star if the mean is outside the band."""
    return f"{written_interval(value)}{'' if band.holds(value.mean) else ' *'}"


def table(title: str, by_sender: Mapping[str, ByLoad], of_what: str = "") -> Table:
    """Returns a table of every sender by load; the load is N, or a number of `of_what`."""
    rows: Rows = {
        (label,): {
            (f"{load} {of_what}" if of_what else f"N = {load}"): interval(replicates)
            for load, replicates in values.items()
        }
        for label, values in by_sender.items()
    }
    return measured(title, ("sender",), rows)


def losses(study: Study, results: Results) -> Table:
    """Returns the percentage of data that the bottleneck dropped, by load."""
    return table(
        "Dropped at the bottleneck, %",
        study.drawn(results, metrics.metric("hop_drops"), BOTTLENECK),
    )


def draw(
    title: str,
    by_sender: Mapping[str, ByLoad],
    x_label: str = X_LABEL,
    where: Mapping[str, Sequence[float]] | None = None,
) -> Callable[[], Figure]:
    """Returns a drawing of F of every sender over the load, or over positions per sender."""
    return partial(
        _draw,
        title,
        by_sender,
        x_label,
        {label: list(values) for label, values in by_sender.items()} | dict(where or {}),
    )


def _draw(
    title: str, by_sender: Mapping[str, ByLoad], x_label: str, where: Mapping[str, Sequence[float]]
) -> Figure:  # fmt: skip
    ends = [min(map(min, where.values())), max(map(max, where.values()))]
    curves = [plot.Curve("1: as much as TCP", ends, [1, 1], "reference")]
    curves += [by_label(label, where[label], values) for label, values in by_sender.items()]
    return plot.curves(curves, x_label, F_LABEL, title)


def by_label(label: str, x: Sequence[float], values: ByLoad) -> plot.Curve:
    """Returns a curve with intervals: a line, or points for senders that are not in the paper."""
    drawn = "points" if label in {sender.label for sender in OF_TODAY} else "line"
    return curve(label, x, [interval(replicates) for replicates in values.values()], drawn)
