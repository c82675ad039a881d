"""When a point of a sweep has enough replicates.

A sweep looks at a point after 5 replicates, then after half as many again, and so on. Who stops at
the first narrow interval stops too often at an interval that is narrow by chance. So the k-th look
uses the confidence level 1 − 0.05/k, and that is the level of the interval that is reported.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ackclock import units
from ackclock.errors import InputError
from ackclock.metrics.confidence import interval
from ackclock.table import Interval

#: Replicates at the first look.
FIRST = 5

# Replicates at a look, over those at the look before.
_GROWTH = 1.5

# Replicates at which a point is left alone, unless the sweep says otherwise.
_MOST = 200

# Share of intervals that may miss the truth.
_RISK = 0.05


@dataclass(frozen=True)
class Precision:
    """The interval that is asked for.

    Attributes:
        half_width: Largest half width: a share of the mean, or an amount in the metric's unit.
        relative: True for a share of the mean.
        base: Base unit of an absolute half width.
        least: Replicates at the first look.
        most: Replicates after which a point is left alone.
    """

    half_width: float
    relative: bool = True
    base: str = ""
    least: int = FIRST
    most: int = _MOST

    @cached_property
    def looks(self) -> list[int]:
        """Number of replicates at each look."""
        return look_sizes(self.least, self.most)

    def confidence(self, replicates: int) -> float:
        """Returns the level of the interval after so many replicates."""
        look = sum(size < replicates for size in self.looks) + 1
        return 1 - _RISK / look

    def interval(self, values: Sequence[float]) -> Interval:
        """Returns mean and interval at the level of the look."""
        return interval(values, self.confidence(len(values)))

    def excess(self, values: Sequence[float]) -> float:
        """Returns the half width over the largest allowed one; infinite if nothing is known.

        A metric that is unknown for every replicate, such as the RTT of a flow without ACKs, has no
        interval to wait for.
        """
        if values and all(math.isnan(value) for value in values):
            return 0.0
        interval = self.interval(values)
        allowed = self.half_width * (abs(interval.mean) if self.relative else 1.0)
        if math.isnan(interval.half_width):
            return math.inf
        if interval.half_width == 0:
            return 0.0
        return interval.half_width / allowed if allowed > 0 else math.inf

    def widest(self, values: Iterable[Sequence[float]]) -> float:
        """Returns the largest excess of several metrics; infinite if there are none."""
        return max((self.excess(sample) for sample in values), default=math.inf)

    def next_look(self, replicates: int) -> int | None:
        """Returns the number of replicates at the next look; None if this was the last."""
        return next((size for size in self.looks if size > replicates), None)


def look_sizes(least: int, most: int) -> list[int]:
    """Returns the number of replicates at each look, from the least to the most."""
    sizes = [least]
    while sizes[-1] < most:
        sizes.append(min(most, math.ceil(sizes[-1] * _GROWTH)))
    return sizes


_UNTIL = re.compile(r"\s*(?:±|\+-|\+/-)?\s*(.+?)\s*")


def parse(text: str, bases: Iterable[str]) -> Precision:
    """Reads `±1 %` (of the mean) or `±0.5 ms`, for metrics with these base units.

    Raises:
        InputError: It is not a positive quantity, or a metric has another unit.
    """
    match = _UNTIL.fullmatch(text)
    try:
        quantity = units.parse(match[1] if match else text)
    except InputError:
        raise units.refusal("", text, ("",), example="±1 %", noun="a half width") from None
    if not (quantity.amount > 0 and math.isfinite(quantity.amount)):
        raise InputError("out-of-range", "", f'"{text}" is not positive; for example "±1 %"', text)
    if quantity.base == "":
        if quantity.unit != "%":
            raise InputError("no-unit", "", f'"{text}" has no unit; for example "±1 %"', text)
        return Precision(quantity.amount)
    others = [base for base in bases if base != quantity.base]
    if others:
        raise InputError(
            "wrong-unit", "",
            f'"{text}" does not fit a metric in {others[0] or "shares"}; for example "±1 %"', text,
        )  # fmt: skip
    return Precision(quantity.amount, False, quantity.base)


def parse_replicates(text: str) -> tuple[int, int]:
    """Reads `10` or `5..200`.

    Raises:
        InputError: It is neither.
    """
    match = re.fullmatch(r"\s*(\d{1,7})\s*(?:\.\.\s*(\d{1,7})\s*)?", text)
    least, most = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= least <= most:
        raise InputError(
            "out-of-range", "", f'"{text}" is not a number of runs; for example 10 or 5..200', text
        )
    return least, most
