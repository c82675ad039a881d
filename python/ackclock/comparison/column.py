"""The answer of one method to a scenario, as a column of a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ackclock.metrics import Metric, by_replicate
from ackclock.result.result import Result
from ackclock.validity import l4s
from ackclock.validity.l4s import L4s
from ackclock.validity.stationarity import Stationarity, judge

# By folder name, in the order of tables: the label, and the method whose captures are measured.
COLUMNS: dict[str, tuple[str, str]] = {
    "predict": ("predict", ""),
    "simulate": ("simulate", ""),
    "measure-simulate": ("measure of simulate", "simulate"),
    "emulate": ("emulate", ""),
    "measure-emulate": ("measure of emulate", "emulate"),
}

# The reference is the first of these that has an answer.
_REFERENCES = ("simulate", "emulate", "predict")


def label_of(name: str) -> str:
    """Returns the label of a column."""
    return COLUMNS[name][0]


@dataclass(frozen=True)
class Column:
    """A column of a comparison.

    Attributes:
        name: One of `COLUMNS`.
        points: Assignments of each point, in the order of the comparison.
        result: Result of the method; None if there is none.
        why: Reason why there is no result, or why points or replicates are missing.
        source: For `measure`, the column whose captures were measured; otherwise None.
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
        """The label in tables."""
        return label_of(self.name)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """Maps the index of a point in the result to its index in the comparison.

        A result may hold fewer points than the comparison.
        """
        if self.result is None:
            return {}
        points = [dict(point) for point in self.points]
        return {
            own: points.index(point["assignments"])
            for own, point in enumerate(self.result.points)
            if point["assignments"] in points
        }

    def own_number(self, point: int) -> int | None:
        """Returns a point's index in the result; None if the result lacks it."""
        return next((own for own, number in self.numbers.items() if number == point), None)

    def values(self, metric: Metric) -> dict[tuple[int, str], dict[int, float]]:
        """Returns the values that count, by point and subject, then by replicate."""
        if self.result is None or self.method == "predict":
            return {}
        by_subject = by_replicate(self.result, metric)
        left_out = self._left_out_at_source
        return {
            (self.numbers[own], subject): {
                replicate: value
                for replicate, value in values.items()
                if (own, replicate) not in left_out
            }
            for (own, subject), values in by_subject.items()
            if own in self.numbers
        }

    @property
    def _left_out_at_source(self) -> frozenset[tuple[int, int]]:
        """Unreliable runs: measuring their captures does not make them reliable."""
        result = self.source.result if self.source is not None else None
        return frozenset() if result is None else result.left_out

    def fidelity(self, point: int) -> str:
        """Returns how many runs of a point are reliable, in words; empty if not emulated."""
        runs = self.fidelity_rows(point)
        reliable = sum(1 for row in runs if row["reliable"])
        return f"{reliable} of {len(runs)} reliable" if runs else ""

    def fidelity_rows(self, point: int) -> list[dict[str, Any]]:
        """Returns the rows of the table `fidelity` for a point.

        For measured captures these are the rows of the runs that were captured.
        """
        column = self.source or self
        return column._fidelity.get(column.own_number(point), [])

    def setting_rows(self, point: int) -> list[dict[str, Any]]:
        """Returns the rows of the table `settings` for a point."""
        return self._settings.get(self.own_number(point), [])

    @cached_property
    def _fidelity(self) -> dict[int | None, list[dict[str, Any]]]:
        return _by_point(self.result, "fidelity")

    @cached_property
    def _settings(self) -> dict[int | None, list[dict[str, Any]]]:
        return _by_point(self.result, "settings")

    def marks(self, metric: str, point: int, subject: str) -> bool:
        """Returns true if a metric's mean covers flows that have not settled.

        For measured captures the runs that were captured decide.
        """
        column = self.source or self
        own = column.own_number(point)
        return own is not None and column._stationarity.marks(metric, own, subject)

    @cached_property
    def l4s(self) -> L4s:
        """Verdicts on flows that ask for L4S."""
        return l4s.judge(self.result) if self.result is not None else L4s([])

    @property
    def unsettled(self) -> str:
        """Warning about flows that have not settled; empty if all have."""
        return self._stationarity.warning

    @cached_property
    def _stationarity(self) -> Stationarity:
        return judge(self.result) if self.result is not None else Stationarity([])

    @property
    def averages_unreliable(self) -> bool:
        """True if averages include unreliable runs."""
        result = (self.source or self).result
        return result is not None and result.averages_unreliable


def reference_of(columns: Mapping[str, Column]) -> str | None:
    """Returns the reference column; None if no method has an answer."""
    return next(
        (name for name in _REFERENCES if name in columns and columns[name].result is not None), None
    )


def _by_point(result: Result | None, table: str) -> dict[int | None, list[dict[str, Any]]]:
    """Returns the rows of a table by their point in the result.

    Every difference asks for the rows of one point, so the table is read once.
    """
    by_point: dict[int | None, list[dict[str, Any]]] = {}
    if result is not None and table in result.tables:
        for row in result.tables[table].to_pylist():
            by_point.setdefault(row["point"], []).append(row)
    return by_point
