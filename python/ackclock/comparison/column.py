"""One way's answer to a scenario, as a column beside those of other ways."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ackclock.metrics import Metric, by_replicate
from ackclock.result import Result
from ackclock.stationarity import Stationarity, judge

__all__ = ["COLUMNS", "Column", "label_of", "reference_of"]

# By the name of its folder: how it is called, and what its captures are of, if it is measured. In
# the order of tables.
COLUMNS: dict[str, tuple[str, str]] = {
    "predict": ("predict", ""),
    "simulate": ("simulate", ""),
    "measure-simulate": ("measure of simulate", "simulate"),
    "emulate": ("emulate", ""),
    "measure-emulate": ("measure of emulate", "emulate"),
}

# What the others are held against: the first of these that has an answer.
_REFERENCES = ("simulate", "emulate", "predict")


def label_of(name: str) -> str:
    """What a column is called."""
    return COLUMNS[name][0]


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: One of `COLUMNS`.
        points: Each point's assignments, in the comparison's order.
        result: The way's; None if there is none.
        why: Why there is none, or why points or replicates are missing.
        source: What was measured is a column, too; None of other ways.
    """

    name: str
    points: tuple[Mapping[str, Any], ...]
    result: Result | None
    why: str = ""
    source: "Column | None" = None

    @property
    def method(self) -> str:
        """`predict`, `simulate`, `emulate` or `measure`."""
        return self.name.partition("-")[0]

    @property
    def label(self) -> str:
        """What it is called."""
        return label_of(self.name)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The result's number of a point to the comparison's: a result may hold fewer of them."""
        if self.result is None:
            return {}
        known = [dict(point) for point in self.points]
        return {
            own: known.index(point["assignments"])
            for own, point in enumerate(self.result.points)
            if point["assignments"] in known
        }

    def own_number(self, point: int) -> int | None:
        """The result's number of a point of the comparison; None if the result has it not."""
        return next((own for own, number in self.numbers.items() if number == point), None)

    def values(self, what: Metric) -> dict[tuple[int, str], dict[int, float]]:
        """For each point of the comparison and each subject the value of each replicate that counts."""
        if self.result is None or self.method == "predict":
            return {}
        found = by_replicate(self.result, what)
        left_out = self._left_out_at_source
        return {
            (self.numbers[own], subject): {
                replicate: value
                for replicate, value in values.items()
                if (own, replicate) not in left_out
            }
            for (own, subject), values in found.items()
            if own in self.numbers
        }

    @property
    def _left_out_at_source(self) -> frozenset[tuple[int, int]]:
        """Captures of runs that are unreliable are none the better for being measured."""
        result = self.source.result if self.source is not None else None
        return frozenset() if result is None else result.left_out

    def fidelity(self, point: int) -> str:
        """How far the runs of a point can be trusted, in a few words; empty for what is computed."""
        runs = self.fidelity_rows(point)
        reliable = sum(1 for row in runs if row["reliable"])
        return f"{reliable} of {len(runs)} reliable" if runs else ""

    def fidelity_rows(self, point: int) -> list[dict[str, Any]]:
        """The rows of the table `fidelity` of a point: its own, or those of the runs whose captures were measured."""
        column = self.source or self
        return column._fidelity.get(column.own_number(point), [])

    def setting_rows(self, point: int) -> list[dict[str, Any]]:
        """The rows of the table `settings` of a point."""
        return self._settings.get(self.own_number(point), [])

    @cached_property
    def _fidelity(self) -> dict[int | None, list[dict[str, Any]]]:
        return _by_point(self.result, "fidelity")

    @cached_property
    def _settings(self) -> dict[int | None, list[dict[str, Any]]]:
        return _by_point(self.result, "settings")

    def marks(self, metric: str, point: int, subject: str) -> bool:
        """Whether a metric's mean is of flows that have not settled; of captures those of the runs captured."""
        column = self.source or self
        own = column.own_number(point)
        return own is not None and column._stationarity.marks(metric, own, subject)

    @property
    def unsettled(self) -> str:
        """What is warned of flows that have not settled; empty if nothing is."""
        return self._stationarity.warning

    @cached_property
    def _stationarity(self) -> Stationarity:
        return judge(self.result) if self.result is not None else Stationarity([])

    @property
    def averages_unreliable(self) -> bool:
        """Whether its averages take in runs that are unreliable."""
        result = (self.source or self).result
        return result is not None and result.averages_unreliable


def reference_of(columns: Mapping[str, Column]) -> str | None:
    """Which column the others are held against; None if none has an answer."""
    return next(
        (name for name in _REFERENCES if name in columns and columns[name].result is not None), None
    )


def _by_point(result: Result | None, table: str) -> dict[int | None, list[dict[str, Any]]]:
    """A table's rows by the result's number of their point; read once, as every residual asks for those of one."""
    found: dict[int | None, list[dict[str, Any]]] = {}
    if result is not None and table in result.tables:
        for row in result.tables[table].to_pylist():
            found.setdefault(row["point"], []).append(row)
    return found
