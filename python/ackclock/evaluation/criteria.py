"""Criteria on metrics of a run, perhaps beside the same run of a reference control.

A criterion is a bound on a metric. Its verdict comes from the interval of the difference between
metric and bound over replicates, which is paired: a reference has the same seeds.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.errors import InputError
from ackclock.evaluation.fields import Fields
from ackclock.metrics import METRICS, WITH_PARAMETERS, Metric, metric
from ackclock.metrics.bootstrap import SEED, middle
from ackclock.metrics.tables import mean_of_known

Array = NDArray[np.float64]

#: A bound is missed by far from this factor on: our choice (specification of evaluations).
FAR = 2.0

#: Resamples of a bootstrap interval. Ours.
RESAMPLES = 2000

#: Fewest seeds that decide anything: of one the spread is unknown.
FEWEST = 2

#: Level at which all cells of a case together are called a failure (Holm 1979). Ours.
LEVEL = 0.05


# Metrics of a time until something ends.
_ENDS = (
    "completion_time",
    "completion_time_p95",
    "request_time",
    "request_time_p50",
    "request_time_p99",
    "page_time",
)


class Grade(StrEnum):
    """The grade of a criterion in one cell."""

    HOLDS = "holds"
    """The interval lies within the bound."""
    UNSURE = "unsure"
    """The interval holds the bound: more seeds would decide."""
    MISSED = "missed"
    """The interval lies beyond the bound."""
    FAR = "far"
    """It lies beyond the bound of a failure, also beside all other cells of the case."""
    UNKNOWN = "unknown"
    """The metric or its reference is unknown."""


def shown(value: float | None, per_unit: float, unit: str) -> str:
    """Returns a value as people read it: `per_unit` of the shown unit in one of its own."""
    if value is None or math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "never"
    amount = value * per_unit
    number = f"{amount:.0f}" if abs(amount) >= 1000 else f"{amount:.3g}"
    return f"{number} {unit}".strip()


@dataclass(frozen=True)
class Quantity:
    """A metric of a subject.

    Attributes:
        metric: The metric.
        subject: A flow or a hop, or all flows; empty if there is one.
        label: Its name for people, if not the metric's.
        parameters: Those that made the metric, as JSON; empty if it has none.
    """

    metric: Metric
    subject: str
    label: str = ""
    parameters: str = ""

    def shown(self, value: float) -> str:
        """Returns a value as people read it, with its unit."""
        return shown(value, self.metric.shown_per_unit, self.metric.shown_unit)

    @property
    def is_of_an_end(self) -> bool:
        """True for a time until something ends. Unknown means then that nothing has ended."""
        return self.metric.name in _ENDS

    @property
    def key(self) -> str:
        """Its name in records."""
        return f"{self.metric.name}{self.parameters}({self.subject})"


@dataclass(frozen=True)
class Amount:
    """A number, or a factor of what a reference control, another metric or a value has.

    Attributes:
        constant: In the metric's unit, if it is a number.
        times: The factor.
        reference: The reference control; empty for none.
        quantity: The metric, if another one than the criterion's.
        value: A value of the scenario; empty for none.
        words: It in words.
    """

    constant: float
    times: float
    reference: str
    quantity: Quantity | None
    value: str
    words: str

    def amounts(self, cell: "Measured", own: Quantity) -> Array:
        """Returns it for each replicate."""
        if self.value:
            return np.full(cell.replicates, self.times * cell.values.get(self.value, math.nan))
        if self.reference or self.quantity:
            quantity = self.quantity or own
            return self.times * cell.metric(self.reference, quantity)
        return np.full(cell.replicates, self.constant)


@dataclass(frozen=True)
class Measured:
    """The metrics of one cell.

    Attributes:
        replicates: Number of replicates.
        by_control: Values by replicate, by reference control (empty: what is evaluated) and key
            of a quantity.
        values: Values of the scenario in base units.
    """

    replicates: int
    by_control: Mapping[str, Mapping[str, Array]]
    values: Mapping[str, float]

    def metric(self, control: str, quantity: Quantity) -> Array:
        """Returns a metric of a control; NaN where it is unknown."""
        values = self.by_control.get(control, {}).get(quantity.key)
        return np.full(self.replicates, math.nan) if values is None else values


@dataclass(frozen=True)
class Criterion:
    """A bound on a metric: at least or at most.

    Of several amounts the laxest counts.

    Attributes:
        says: It in words.
        quantity: The metric.
        is_least: True if it is the least that is allowed.
        bounds: The bound.
        far: The bound beyond which it is a failure; empty for twice the bound.
        is_reported: True if it is reported and decides no verdict.
    """

    says: str
    quantity: Quantity
    is_least: bool
    bounds: tuple[Amount, ...]
    far: tuple[Amount, ...]
    is_reported: bool = False

    @property
    def references(self) -> frozenset[str]:
        """The reference controls that it reads."""
        return frozenset(
            amount.reference for amount in (*self.bounds, *self.far) if amount.reference
        )

    @property
    def quantities(self) -> list[Quantity]:
        """The metrics that it reads."""
        others = [amount.quantity for amount in (*self.bounds, *self.far) if amount.quantity]
        return [self.quantity, *others]

    def bound(self, cell: Measured, *, far: bool = False) -> Array:
        """Returns the bound for each replicate, or that of a failure."""
        amounts = self.far if far and self.far else self.bounds
        every = np.stack([amount.amounts(cell, self.quantity) for amount in amounts])
        is_known = ~np.isnan(every)
        laxest = np.where(is_known, every, math.inf if self.is_least else -math.inf)
        bound = laxest.min(axis=0) if self.is_least else laxest.max(axis=0)
        bound = np.where(is_known.any(axis=0), bound, math.nan)
        if far and not self.far:
            bound = bound / FAR if self.is_least else bound * FAR
        return np.asarray(bound)

    def judge(self, cell: Measured) -> "Judgement":
        """Returns the judgement of what is evaluated in a cell."""
        return self._judged(cell, cell.metric("", self.quantity))

    def judge_reference(self, cell: Measured, reference: str) -> "Judgement":
        """Returns the judgement of a reference control by the same bound."""
        return self._judged(cell, cell.metric(reference, self.quantity))

    def _judged(self, cell: Measured, values: Array) -> "Judgement":
        bound, far = self.bound(cell), self.bound(cell, far=True)
        if self.quantity.is_of_an_end:
            values = np.where(np.isnan(values) & ~np.isnan(bound), math.inf, values)
        sign = -1.0 if self.is_least else 1.0
        is_known = ~(np.isnan(values) | np.isnan(bound))
        if not is_known.any():
            return Judgement(Grade.UNKNOWN, values, bound, (math.nan,) * 2, math.nan, 1.0)
        low, high = resampled(sign * (values - bound)[is_known])
        if is_known.sum() < FEWEST:
            low, high = -math.inf, math.inf
        grade = Grade.MISSED if low > 0 else Grade.HOLDS if high <= 0 else Grade.UNSURE
        chance = chance_of_more(sign * (values - far)[is_known])
        scale = abs(mean_of_known(bound)) or 1.0
        return Judgement(grade, values, bound, resampled(values[is_known]), low / scale, chance)


@dataclass(frozen=True)
class Judgement:
    """A criterion in one cell.

    Attributes:
        grade: The grade; `MISSED` also where it may be far, which all cells decide together.
        values: Of what is evaluated, by replicate.
        bound: The bound, by replicate.
        interval: The interval of the mean of the values.
        beyond: By how much the nearer end of the interval lies beyond the bound, as a share of it;
            negative within.
        chance: The probability of such values if they were no worse than the bound of a failure.
    """

    grade: Grade
    values: Array
    bound: Array
    interval: tuple[float, float]
    beyond: float
    chance: float


def graded(judgements: Sequence[Judgement]) -> list[Grade]:
    """Returns the grades of all cells of a case, with failures beyond chance.

    So chance makes a failure in one of twenty cases at most, whatever their number of cells.
    """
    grades = [judgement.grade for judgement in judgements]
    tried = [place for place, grade in enumerate(grades) if grade is not Grade.UNKNOWN]
    for index in beyond_chance([judgements[place].chance for place in tried], LEVEL):
        if grades[tried[index]] is Grade.MISSED:
            grades[tried[index]] = Grade.FAR
    return grades


def beyond_chance(chances: Sequence[float], level: float) -> list[int]:
    """Returns the places of what chance does not explain, by the rule of Holm (1979).

    The smallest of n must be at most `level`/n, the next one at most `level`/(n - 1), and so on.
    """
    places = []
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[place] > level / (len(chances) - rank):
            break
        places.append(place)
    return places


def resampled(values: Array) -> tuple[float, float]:
    """Returns the bootstrap interval of a mean: percentiles of means of resamples."""
    if np.isinf(values).any() or np.ptp(values) == 0:
        mean = mean_of_known(values)
        return mean, mean
    drawn = np.random.default_rng(SEED).integers(values.size, size=(RESAMPLES, values.size))
    return middle(values[drawn].mean(axis=1))


def chance_of_more(values: Array) -> float:
    """Returns the probability of a mean this far above 0 by chance, by Student's t; one-sided."""
    if values.size < FEWEST:
        return 1.0
    if np.isinf(values).any() or np.ptp(values) == 0:
        return 0.0 if mean_of_known(values) > 0 else 1.0
    from scipy.special import stdtr

    t = values.mean() / (values.std(ddof=1) / math.sqrt(values.size))
    return float(1 - stdtr(values.size - 1, t))


def chance_of_difference(values: Array, others: Array) -> float:
    """Returns the probability of means this far apart by chance, by Welch's t; one-sided.

    Values are known; `others` has the smaller mean if they differ so.
    """
    if min(values.size, others.size) < FEWEST:
        return 1.0
    apart = mean_of_known(values) - mean_of_known(others)
    squares = [np.var(each, ddof=1) / each.size for each in (values, others)]
    if not np.isfinite(squares).all() or sum(squares) == 0:
        return 0.0 if apart > 0 else 1.0
    from scipy.special import stdtr

    freedom = sum(squares) ** 2 / sum(
        square**2 / (each.size - 1) for square, each in zip(squares, (values, others), strict=True)
    )
    return float(1 - stdtr(freedom, apart / math.sqrt(sum(squares))))


def read(fields: Fields, references: Sequence[str]) -> Criterion:
    """Reads a criterion.

    Raises:
        InputError: A metric or reference is unknown, or the bound is missing.
    """
    quantity = _quantity(fields)
    sides = [name for name in ("least", "most") if fields.has(name)]
    if len(sides) != 1:
        raise InputError("missing", fields.path, "has no bound; give least or most")
    (side,) = sides
    criterion = Criterion(
        fields.text("says"),
        quantity,
        side == "least",
        _amounts(fields, side, references, quantity),
        _amounts(fields, "fails", references, quantity) if fields.has("fails") else (),
        fields.flag("reported", default=False),
    )
    fields.done()
    return criterion


def _quantity(fields: Fields) -> Quantity:
    name, with_ = fields.text("metric"), fields.table("with")
    makers: Mapping[str, Callable[..., Metric]] = {make.__name__: make for make in WITH_PARAMETERS}
    if name not in METRICS and name not in makers:
        names = [*METRICS, *makers]
        raise InputError.unknown(fields.path_of("metric"), "metric", name, names)
    parameters = json.dumps(with_.rest, sort_keys=True) if name in makers else ""
    made = makers[name](**with_.rest) if name in makers else metric(name)
    label = fields.text("label", made.label)
    return Quantity(made, fields.text("of", ""), label, parameters)


def _amounts(
    fields: Fields, name: str, references: Sequence[str], own: Quantity
) -> tuple[Amount, ...]:
    written = fields.any(name)
    every = written if isinstance(written, list) else [written]
    place = fields.path_of(name)
    return tuple(_amount(amount, place, references, own) for amount in every)


def _amount(tree: Any, place: str, references: Sequence[str], own: Quantity) -> Amount:
    if isinstance(tree, int | float):
        return Amount(float(tree), 1.0, "", None, "", own.shown(float(tree)))
    if isinstance(tree, str):
        return Amount(units.parse(tree).amount, 1.0, "", None, "", tree)
    fields = Fields(tree, place)
    times, reference = fields.number("times", 1.0), fields.text("of", "")
    if reference and reference not in references:
        raise InputError.unknown(f"{place}.of", "reference", reference, references)
    value = fields.text("value", "")
    other = (
        Quantity(metric(fields.text("metric")), fields.text("subject", own.subject))
        if (fields.has("metric"))
        else None
    )
    fields.done()
    factor = "" if times == 1 else f"{times:g} × "
    thing = value.replace("_", " ") or (other.metric.label if other else "")
    owner = f"of {reference}" if thing and reference else reference
    return Amount(0.0, times, reference, other, value, f"{factor}{thing} {owner}".strip())
