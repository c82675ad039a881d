"""Metrics as data: plain formulas over the columns of one table.

Python evaluates them here, a lab page by `laboratory/static/formula.js`. Both read the same record.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.metrics.arrivals import arriving, measured_s
from ackclock.metrics.fairness import jain, with_shares
from ackclock.metrics.metric import Value
from ackclock.metrics.subjects import TOGETHER
from ackclock.metrics.tables import Columns, after, grouped, grown, mean_of_known
from ackclock.result.result import Result

# The column that names what a row of a table is about.
_SUBJECTS = {"flows": "flow", "samples": "flow", "hops": "hop"}


@dataclass(frozen=True)
class Formula:
    """A metric's value of the rows of each flow or hop in a run.

    The table `flows` has a row for each instance. Of tables over time, means use the rows after the
    warm-up.

    Attributes:
        table: `flows`, `samples` or `hops`.
        kind: `sum`, `mean` or `growth` (the increase of cumulative columns after the warm-up), each
            of the known values; or `jain`, over the instances of all flows that share.
        columns: The columns whose sum is the quantity.
        factors: What each is multiplied by; 1 if empty.
        over: Column by which the quantity is divided, where that is above zero: row by row for
            means, otherwise after both are summed. Empty for none.
        active: Column with the time in s that an instance was active. Of a flow with arrivals a row
            counts for its share of the measured time. Empty if every row counts alike.
    """

    table: Literal["flows", "samples", "hops"]
    kind: Literal["sum", "mean", "growth", "jain"]
    columns: tuple[str, ...]
    factors: tuple[float, ...] = ()
    over: str = ""
    active: str = ""

    def __call__(self, result: Result) -> list[Value]:
        """Returns a value for each point, replicate and subject; none without the table."""
        if self.table not in result.tables:
            return []  # a capture does not observe hops
        if self.kind == "jain":
            return [
                Value(
                    point,
                    replicate,
                    TOGETHER,
                    jain(_without_nan(self._quantity(rows)[rows["shares"]])),
                )
                for (point, replicate), rows in with_shares(result, *self.columns)
            ]
        table, keys = result.tables[self.table], ("point", "replicate", _SUBJECTS[self.table])
        time = "" if self.table == "flows" else "time_s"
        arrive = arriving(result) if self.active else frozenset()
        needed = (*self.columns, self.over, self.active if arrive else "", time)
        names = [*filter(None, dict.fromkeys(needed))]
        warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points if time]
        values = []
        for (point, replicate, subject), rows in grouped(table, keys, tuple(names)):
            if (point, subject) in arrive:
                active = float(np.nansum(self._quantity(rows) * rows[self.active]))
                value = active / measured_s(result, point)
            else:
                value = self._value(rows, warmups[point] if time else 0.0)
            values.append(Value(point, replicate, subject, value))
        return values

    def _value(self, rows: Columns, warmup_s: float) -> float:
        if self.kind == "growth":
            whole = grown(rows, self.over, warmup_s)
            growths = {name: grown(rows, name, warmup_s) for name in self.columns}
            return float(self._quantity(growths)) / whole if whole > 0 else math.nan
        if self.kind == "mean":
            rows = after(rows, warmup_s) if self.table != "flows" else rows
            if not self.over:
                return mean_of_known(self._quantity(rows))
            positive = rows[self.over] > 0
            return mean_of_known(self._quantity(rows)[positive] / rows[self.over][positive])
        quantity = self._quantity(rows)
        whole = float(np.nansum(rows[self.over])) if self.over else 1.0
        is_known = whole > 0 and not np.isnan(quantity).all()
        return float(np.nansum(quantity)) / whole if is_known else math.nan

    def _quantity(self, rows: Mapping[str, Any]) -> Any:
        """Returns the sum of the columns, each times its factor."""
        factors = self.factors or (1.0,) * len(self.columns)
        pairs = zip(self.columns, factors, strict=True)
        return sum(rows[name] * factor for name, factor in pairs)


def _without_nan(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[~np.isnan(values)]
