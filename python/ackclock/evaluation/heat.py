"""Heat maps of a criterion over a grid: each cell is coloured by how far its bound is."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.evaluation.criteria import Grade, shown
from ackclock.evaluation.measured import label
from ackclock.table import capital

Record = dict[str, Any]

#: Full colour is this factor from the bound: where a failure begins unless a criterion says so.
FULL = 2.0

# The strongest mixture of a colour with the paper: text on it can still be read.
_MOST_SHARE = 0.6
# What has no ratio to its bound, such as what never ends.
_FAR = 4.0

_SIGNS = {
    Grade.HOLDS: "",
    Grade.UNSURE: "?",
    Grade.MISSED: "!",
    Grade.FAR: "✗",
    Grade.UNKNOWN: "–",
}


@dataclass(frozen=True)
class Dimension:
    """Fields of a grid that vary together.

    Attributes:
        paths: Their paths.
        values: Their values in order, each as text.
    """

    paths: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name, if its values do not have it."""
        (path, *others) = self.paths
        words = path.split(".")[-1].replace("_", " ")
        return "" if others or words in ("count", "kind") else words

    def value_of(self, cell: Record) -> str:
        """Returns the value of a cell."""
        text = label({path: cell["assignments"][path] for path in self.paths})
        return text.removeprefix(f"{self.name} ") if self.name else text


@dataclass(frozen=True)
class Heat:
    """A cell of a heat map.

    Attributes:
        text: The mean, with the sign of a grade that does not hold.
        interval: Its interval; empty if all seeds agree.
        beside: The mean of the first reference, with its name.
        side: `within` or `beyond` the bound.
        share: Strength of the colour, in percent.
    """

    text: str
    interval: str
    beside: str
    side: str
    share: float


@dataclass(frozen=True)
class HeatMap:
    """A heat map of a criterion.

    Attributes:
        title: The criterion.
        caption: What is shown.
        x: The columns.
        y: The rows.
        panels: Title and rows of cells of each panel.
    """

    title: str
    caption: str
    x: Dimension
    y: Dimension
    panels: tuple[tuple[str, tuple[tuple[Heat | None, ...], ...]], ...]


def heat_map(criterion: Record) -> HeatMap | None:
    """Returns the heat map of a criterion; None unless its cells are a grid of two dimensions."""
    cells = criterion["cells"]
    dimensions = [each for each in _dimensions(cells) if len(each.values) > 1]
    if math.prod(len(each.values) for each in dimensions) != len(cells) or len(dimensions) < 2:
        return None
    ordered = sorted(dimensions, key=lambda each: -len(each.values))
    x, y, *others = ordered
    at_place = {tuple(each.value_of(cell) for each in ordered): cell for cell in cells}
    panels = []
    for values in itertools.product(*(each.values for each in others)):
        title = ", ".join(
            f"{each.name} {value}".strip() for each, value in zip(others, values, strict=True)
        )
        rows = tuple(
            tuple(_heat(at_place.get((across, down, *values)), criterion) for across in x.values)
            for down in y.values
        )
        panels.append((title, rows))
    return HeatMap(criterion["says"], _caption(criterion), x, y, tuple(panels))


def _dimensions(cells: Sequence[Record]) -> list[Dimension]:
    """Returns the fields that vary, those together that do not vary freely."""
    groups: list[tuple[str, ...]] = [(path,) for path in cells[0]["assignments"]]
    while (pair := _dependent(groups, cells)) is not None:
        first, second = pair
        merged = (*first, *second)
        groups = [merged if group == first else group for group in groups if group != second]
    values_of = {
        group: tuple(dict.fromkeys(Dimension(group, ()).value_of(cell) for cell in cells))
        for group in groups
    }
    return [Dimension(group, values) for group, values in values_of.items()]


def _dependent(
    groups: Sequence[tuple[str, ...]], cells: Sequence[Record]
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Returns two groups of fields that do not have every combination of their values."""

    def count(paths: tuple[str, ...]) -> int:
        return len({repr([cell["assignments"][path] for path in paths]) for cell in cells})

    return next(
        (
            (first, second)
            for first, second in itertools.combinations(groups, 2)
            if count((*first, *second)) < count(first) * count(second)
        ),
        None,
    )


def _heat(cell: Record | None, criterion: Record) -> Heat | None:
    if cell is None:
        return None
    grade = Grade(cell["grade"])
    mean, low, high = (_bare(cell[name], criterion) for name in ("mean", "low", "high"))
    if cell["mean"] is None and grade in (Grade.MISSED, Grade.FAR):
        mean = "never"
    ratio = _ratio(cell, criterion["side"])
    octaves = max(-1.0, min(1.0, math.log(ratio, FULL)))
    name, reference = next(iter(cell["references"].items()), ("", None))
    return Heat(
        f"{mean} {_SIGNS[grade]}".strip(),
        f"{low} to {high}" if low != high else "",
        f"{name} {_bare(reference['mean'], criterion)}" if reference else "",
        "beyond" if octaves > 0 else "within",
        round(100 * _MOST_SHARE * abs(octaves), 1),
    )


def _ratio(cell: Record, side: str) -> float:
    """Returns by which factor a cell is beyond its bound; below 1 within."""
    value, bound = cell["mean"], cell["bound"]
    if value is None or bound is None:
        return _FAR if cell["grade"] in (Grade.MISSED, Grade.FAR) else 1.0
    over, under = (value, bound) if side == "most" else (bound, value)
    if over == under:
        return 1.0
    if over <= 0 or under <= 0:
        return _FAR if over > under else 1 / _FAR
    return float(over / under)


def _bare(value: float | None, criterion: Record) -> str:
    """Returns a number without its unit."""
    text = shown(value, criterion["shown_per_unit"], criterion["shown_unit"])
    return text.removesuffix(criterion["shown_unit"]).strip()


def _caption(criterion: Record) -> str:
    unit = f" in {criterion['shown_unit']}" if criterion["shown_unit"] else ""
    beside = next(iter(criterion["cells"][0]["references"]), "")
    means = f"mean, 95 % interval, {beside}" if beside else "mean, 95 % interval"
    return (
        f"{capital(criterion['label'])}{unit}: {means}. Blue is within our bound, orange beyond it."
    )
