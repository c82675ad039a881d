"""Bounds on differences, such as `goodput < -3 %`, for continuous integration."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from ackclock import units
from ackclock.comparison.side_by_side import Difference, Row, SideBySide
from ackclock.errors import InputError, suggestion
from ackclock.metrics import METRICS, Interval, metric
from ackclock.table import text

#: An example, for messages.
EXAMPLE = "goodput < -3 %"
#: Unit of a difference of shares; `%` is that of the reference.
POINTS = "points"

_WRITTEN = re.compile(
    r"\s*(?P<metric>[a-z0-9_]+)\s*(?:\((?P<subject>[^()]*)\))?\s*(?P<sign>[<>])\s*(?P<amount>\S.*?)\s*"
)


class Bound(NamedTuple):
    """A bound on the difference of a metric from the reference.

    Attributes:
        text: As it was written.
        metric: Name of the metric.
        subject: A flow or hop; empty for all.
        is_fall: True if a difference below the bound fails, false for one above it.
        amount: The bound: a share of the reference, or in the metric's unit.
        is_relative: True for a share.
    """

    text: str
    metric: str
    subject: str
    is_fall: bool
    amount: float
    is_relative: bool

    def is_missed(self, difference: Difference) -> bool:
        """Returns true if the mean difference is beyond the bound, and beyond chance.

        The bound says what matters, the interval what is chance: a difference fails if its mean is
        worse than the bound and its 95 % interval leaves out zero.
        """
        size = difference.relative.mean if self.is_relative else difference.absolute.mean
        beyond = size < self.amount if self.is_fall else size > self.amount
        return beyond and difference.is_beyond_chance


class Judged(NamedTuple):
    """A bound on one difference.

    Attributes:
        bound: The bound.
        row: The row of the difference.
        name: Name of the result that is compared with the reference.
        difference: The difference; None if the result has no number where the reference has one.
    """

    bound: Bound
    row: Row
    name: str
    difference: Difference | None

    @property
    def fails(self) -> bool:
        """True if the difference is beyond the bound, or there is nothing any more to compare."""
        return self.difference is None or self.bound.is_missed(self.difference)


def read(written: str) -> Bound:
    """Reads a bound.

    Raises:
        InputError: It is not one; one line.
    """
    match = _WRITTEN.fullmatch(written)
    if match is None:
        words = f'"{written}" is not METRIC < AMOUNT or METRIC > AMOUNT; for example "{EXAMPLE}"'
        raise InputError("syntax", "", words, written)
    name, subject = match["metric"], match["subject"]
    if name not in METRICS:
        raise InputError(
            "unknown-name", "", f'"{written}": unknown metric "{name}"; '
            f"{suggestion(name, METRICS, 'see ackclock show metrics')}", name,
        )  # fmt: skip
    amount, is_relative = _amount(written, match["amount"], name)
    is_fall = match["sign"] == "<"
    if (amount > 0) if is_fall else (amount < 0):
        must = "a fall is negative" if is_fall else "a rise is positive"
        meant = match["amount"].lstrip("+-")
        whose = f"({subject})" if subject else ""
        example = f"{name}{whose} {'< -' if is_fall else '> '}{meant}"
        raise InputError("out-of-range", "", f'"{written}": {must}; write "{example}"', written)
    return Bound(" ".join(written.split()), name, (subject or "").strip(), is_fall, amount,
                 is_relative)  # fmt: skip


def _amount(written: str, amount: str, name: str) -> tuple[float, bool]:
    """Returns a bound in the metric's unit or as a share, and true for a share."""
    record = metric(name)
    number = amount.removesuffix(POINTS)
    if number != amount and record.shown_unit == "%":
        amount = f"{number.rstrip()} %"
        is_relative = False
    else:
        is_relative = amount.endswith("%")
    try:
        quantity = units.parse(amount)
    except InputError:
        quantity = None
    base = "" if is_relative else record.unit
    if quantity is None or quantity.base != base or not math.isfinite(quantity.amount):
        own = "points" if record.shown_unit == "%" else record.shown_unit
        kind = f"a share such as 3 %, or an amount such as 3 {own}".rstrip()
        words = f'"{written}": "{amount}" is not {kind}'
        raise InputError("wrong-unit", "", words, written)
    if quantity.unit == "" and record.shown_unit == "%" and not is_relative:
        words = f'"{written}": "{amount}" has no unit; write {amount} % or {amount} {POINTS}'
        raise InputError("no-unit", "", words, written)
    return quantity.amount, is_relative


def judged(side: SideBySide, bounds: Sequence[Bound]) -> list[Judged]:
    """Returns every difference on which there is a bound.

    Raises:
        InputError: No result has the metric or the subject, or a difference has no interval, so
            that the bound could never fail.
    """
    return [entry for bound in bounds for entry in _judged(side, bound)]


def _judged(side: SideBySide, bound: Bound) -> list[Judged]:
    every = side.rows_of(bound.metric)
    present = [row for row in every if row.cells[0].is_known]
    if not present:
        words = f'"{bound.text}": {side.reference.name} has no {bound.metric}'
        raise InputError("no-data", "", words)
    rows = [row for row in present if bound.subject in ("", row.subject)]
    if not rows:
        subjects = dict.fromkeys(row.subject for row in present)
        words = f'"{bound.text}": there is no {bound.metric} of "{bound.subject}"; '
        raise InputError("unknown-name", "", words + suggestion(bound.subject, subjects))
    entries = [
        Judged(bound, row, side.results[number].name, row.differences[number])
        for row in rows
        for number in range(1, len(side.results))
        if side.own_point(number, row.point) is not None
    ]
    for entry in entries:
        less = entry.difference.absolute if entry.difference is not None else None
        if less is not None and math.isnan(less.half_width) and math.isfinite(less.mean):
            words = (
                f'"{bound.text}" cannot be decided: {bound.metric}({entry.row.subject}) has no '
                "interval; give both results 2 replicates or more"
            )
            raise InputError("missing", "", words)
    return entries


def sentence(entry: Judged) -> str:
    """Returns a judged difference in words: `goodput(main) of b fell by 4.1 ± 0.4 % …`."""
    record, subject = metric(entry.bound.metric), entry.row.subject
    place = f"{record.label} of {subject} in {entry.name}"
    if entry.difference is None:
        return f"{place} is unknown, and the reference has it ({entry.bound.text})"
    relative = entry.difference.relative
    if entry.bound.is_relative and math.isfinite(relative.mean):
        size = Interval(100 * abs(relative.mean), 100 * relative.half_width, relative.replicates)
        unit = "%"
    else:
        less, scale = entry.difference.absolute, record.shown_per_unit
        size = Interval(scale * abs(less.mean), scale * less.half_width, less.replicates)
        unit = POINTS if record.shown_unit == "%" else record.shown_unit
    verb = "fell" if entry.difference.absolute.mean < 0 else "rose"
    return f"{place} {verb} by {text(size)} {unit} ({entry.bound.text})".replace("  ", " ")
