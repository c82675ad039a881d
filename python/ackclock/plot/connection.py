"""Code shared by the figures of one captured connection."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ackclock.capture.connections import largest
from ackclock.capture.estimates import KEYS
from ackclock.capture.limiting_factor import heading
from ackclock.errors import InputError
from ackclock.plot.canvas import Span, between
from ackclock.plot.kind import View, check_numbers
from ackclock.plot.spec import Axis, FigureSpec, Panel
from ackclock.result.result import Result

#: The fields of a view on which figures of one connection depend.
TAKES = ("point", "replicate", "connection", "span")

# A receive window this many times above the data in flight is not drawn, as it would flatten
# everything else.
_FAR = 4


@dataclass(frozen=True)
class Connection:
    """A captured connection.

    Attributes:
        result: The measurement that holds it.
        row: Its row of the table `connections`.
    """

    result: Result
    row: dict[str, Any]

    def rows(self, table: str, **wanted: Any) -> pa.Table:
        """Returns its rows of a table in which the columns have the `wanted` values."""
        return self.result.rows(table, **{name: self.row[name] for name in KEYS}, **wanted)

    @property
    def window_is_near(self) -> bool:
        """True if the receive window is known and not far above the data in flight."""
        window, most = self.row["receive_window_mean_bytes"], self.row["in_flight_max_bytes"]
        is_known = (
            bool(self.row["receive_window_scaled"]) and window is not None and most is not None
        )
        return bool(is_known and window <= _FAR * most)

    def figure(
        self, name: str, title: str, y: Axis, panel: Panel, summary: str, span: Span | None, *,
        strip: str = "",
    ) -> FigureSpec:  # fmt: skip
        """Returns a figure of it over time; `strip` is the heading of the names of its bands."""
        start_s, end_s = self.row["start_s"], self.row["end_s"]
        x = Axis(
            "time", "s", ends=between(span, start_s, max(end_s, start_s + 1e-9)), is_dense=True
        )  # fmt: skip
        interrupted = " (interrupted)" if self.result.partial else ""
        where = f"{heading(self.result, self.row)}{interrupted}"
        return FigureSpec(
            name, title, x, y, (panel,), where, summary, strip=strip, absent="nothing happened"
        )  # fmt: skip


def connection_of(result: Result, point: int, replicate: int, number: int) -> Connection:
    """Returns the connection of that number; 0 has the most payload.

    Raises:
        InputError: There are fewer connections, points or replicates.
    """
    check_numbers(result, point=point, replicate=replicate)
    rows = largest(result, number + 1, point=point, replicate=replicate)
    if len(rows) <= number:
        raise InputError(
            "out-of-range",
            "connection",
            f"{number} does not exist; {len(rows)} carry payload, numbered from 0",
            number,
        )
    return Connection(result, rows[number])


def lacks_payload(result: Result, view: View) -> str | None:
    """Returns the reason why a measurement has no figure of a connection; None if it has one."""
    if largest(result, 1, ("flow",), point=view.point, replicate=view.replicate):
        return None
    return (
        f"has no connection with payload at point {view.point}, replicate {view.replicate}; "
        "choose another"
    )
