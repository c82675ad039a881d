"""Parameters of a sweep: a path of the scenario, its range or list of values, and its unit.

A position in [0, 1) becomes the text of a value, such as "13.5 ms", and the engine reads that text.
So any unit that a scenario accepts can be swept. In tables a swept value is a number, and the
column's name ends in the unit: `hops_b_delay_ms`.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock import engine, units
from ackclock.errors import InputError

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*([^\d\s.]\S*)?\s*\.\.\s*({_NUMBER})\s*(.*?)\s*")
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*(.*?)\s*")

# Words behind a range that say how values lie in it.
_LOG, _WHOLE = "log", "whole"

# Units that count: a scenario takes whole numbers of them.
_COUNTED = frozenset({"packets", "packet", "segments", "segment", "bytes", "byte", "B"})

# Significant digits of a value between the ends of a range. A scenario stays readable, and the
# rounding is far below the spread between replicates.
_DIGITS = 6

# Values of a list that are tried before a sweep; each takes about a millisecond.
_MOST_TRIED = 1_000

_EXAMPLE = "for example hops.b.delay=1..100 ms log, or flows.a.transport.control.kind=reno,cubic"


@dataclass(frozen=True)
class Range:
    """A range of numbers.

    Attributes:
        low: Lowest value, in `unit`.
        high: Highest value.
        unit: Unit as written; may be empty.
        log: True for a logarithmic scale.
        whole: True for whole numbers.
    """

    low: float
    high: float
    unit: str
    log: bool = False
    whole: bool = False

    def levels(self, count: int) -> list[Any]:
        """Returns so many values from the lowest to the highest, evenly spaced on the scale."""
        shares = np.linspace(0, 1, count) if count > 1 else np.array([0.0])
        return list(dict.fromkeys(self.written(self._within(float(share))) for share in shares))

    def tried(self) -> list[Any]:
        """Returns the values to try before the sweep: both ends."""
        return self.levels(2)

    def value_at(self, position: float) -> Any:
        """Returns the value at a position in [0, 1)."""
        if not self.whole:
            return self.written(self._within(position))
        # Each whole number gets its share of the positions, the ends too.
        low, end = self.low, self.high + 1
        within = low * (end / low) ** position if self.log else low + (end - low) * position
        return self.written(min(math.floor(within), self.high))

    def _within(self, share: float) -> float:
        if share in (0.0, 1.0):
            return self.high if share else self.low
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share

    def written(self, number: float) -> Any:
        """Returns a number as the text of a value, with its unit."""
        rounded = round(number) if self.whole else float(f"{number:.{_DIGITS}g}")
        if isinstance(rounded, float) and rounded.is_integer() and abs(rounded) < 1e15:
            rounded = int(rounded)
        return f"{rounded} {self.unit}" if self.unit else rounded


@dataclass(frozen=True)
class Choice:
    """A list of values, each as in a scenario."""

    values: tuple[Any, ...]

    def levels(self, _count: int) -> list[Any]:
        """Returns all values."""
        return list(self.values)

    def tried(self) -> list[Any]:
        """Returns the values to try before the sweep. Of a long list, the rest fail as points."""
        return list(self.values[:_MOST_TRIED])

    def value_at(self, position: float) -> Any:
        """Returns the value at a position in [0, 1)."""
        return self.values[min(int(position * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Parameter:
    """One dimension of a design.

    Attributes:
        paths: Paths of the scenario that get the value.
        over: Range or list of values.
    """

    paths: tuple[str, ...]
    over: Range | Choice

    def assignments(self, value: Any) -> dict[str, Any]:
        """Returns the value by path."""
        return dict.fromkeys(self.paths, value)


def parse(text: str) -> Parameter:
    """Reads `PATH=RANGE` or `PATH=VALUE,VALUE`, as written on the command line.

    A range is `1..100 ms`, perhaps with `log` or `whole` behind it. Paths joined by commas get the
    same value.

    Raises:
        InputError: It is neither, or the range is empty.
    """
    before, sign, written = text.partition("=")
    paths = tuple(path.strip() for path in before.split(","))
    if not sign or not all(paths) or not written.strip():
        raise InputError("syntax", "", f'"{text}" is not PATH=RANGE; {_EXAMPLE}', text)
    match = _RANGE.fullmatch(written)
    if match is not None:
        return Parameter(paths, _range(text, *match.groups()))
    if ".." in written:
        raise InputError("syntax", "", f'"{text}" is not a range; {_EXAMPLE}', text)
    return Parameter(paths, Choice(_values(written)))


def of_each(texts: Iterable[str], tree: dict[str, Any]) -> tuple[str, ...]:
    """Returns parameters in which `*` stands for each member of a list: one parameter for each.

    `hops.b.link.steps.*.rate=1..20 Mbit/s` varies the rate of each step on its own.

    Raises:
        InputError: There is no list where the star is.
    """
    expanded: list[str] = []
    for text in texts:
        path, sign, values = text.partition("=")
        before, star, behind = path.partition(".*.")
        if not star:
            expanded.append(text)
            continue
        members = field(tree, before.strip())
        if not isinstance(members, list) or not members:
            raise InputError("unknown-field", "--vary", f'"{before}" is not a list; "*" stands for '
                             "its members", text)  # fmt: skip
        each = [f"{before}.{index}.{behind}{sign}{values}" for index in range(len(members))]
        expanded += of_each(each, tree)
    return tuple(expanded)


def field(tree: Any, path: str) -> Any:
    """Returns the value of a scenario's field by its path; None if it is not written there."""
    for step in path.split("."):
        if isinstance(tree, list):
            named = (
                member for member in tree if isinstance(member, dict) and member.get("name") == step
            )
            index = int(step) if step.isdecimal() and int(step) < len(tree) else None
            tree = next(named, None if index is None else tree[index])
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def _range(text: str, low: str, first_unit: str | None, high: str, rest: str) -> Range:
    words = rest.split()
    log, whole = _LOG in words, _WHOLE in words
    unit = " ".join(word for word in words if word not in (_LOG, _WHOLE))
    if first_unit and first_unit != unit:
        raise InputError(
            "contradiction", "", f'"{text}" has two units; write both ends in one unit', text
        )
    interval = Range(float(low), float(high), unit, log, whole or unit in _COUNTED)
    if not interval.low < interval.high:
        raise InputError("out-of-range", "", f'"{text}" is empty; write the lower end first', text)
    if log and interval.low <= 0:
        raise InputError(
            "out-of-range", "", f'"{text}" has no logarithm at {low}; begin above zero', text
        )
    if interval.whole and not (interval.low.is_integer() and interval.high.is_integer()):
        raise InputError(
            "out-of-range", "", f'"{text}" counts whole numbers; write whole ends', text
        )
    return interval


def _values(written: str) -> tuple[Any, ...]:
    """Returns the members of a list; `5,10,20 ms` has one unit for all."""
    members = [member.strip() for member in _split(written)]
    last = _QUANTITY.fullmatch(members[-1])
    bare = all(re.fullmatch(_NUMBER, member) for member in members[:-1])
    if last is not None and last[2] and bare:
        members = [*(f"{member} {last[2]}" for member in members[:-1]), members[-1]]
    return tuple(engine.parse_assignment(f"value={member}")[1] for member in members)


def _split(written: str) -> list[str]:
    """Splits at commas that are not within brackets, braces or quotes."""
    members, depth, quoted = [""], 0, False
    for character in written:
        quoted ^= character == '"'
        depth += 0 if quoted else (character in "[{") - (character in "]}")
        if character == "," and depth == 0 and not quoted:
            members.append("")
        else:
            members[-1] += character
    return members


class Column(NamedTuple):
    """The values of a swept path at all points.

    Attributes:
        name: Path and unit.
        path: Path of the scenario.
        unit: Unit of the numbers as written; empty for plain numbers and texts.
        values: Numbers, or texts.
    """

    name: str
    path: str
    unit: str
    values: NDArray[Any] | list[str]


def columns(points: Sequence[dict[str, Any]]) -> list[Column]:
    """Returns a column for each path that the points assign."""
    paths = dict.fromkeys(path for point in points for path in point)
    by_name: dict[str, Column] = {}
    for path in paths:
        column = _column(path, [point.get(path) for point in points])
        # `a-b` and `a_b` are two flows, and one word.
        name = column.name if column.name not in by_name else f"{column.name}_{len(by_name)}"
        by_name[name] = column._replace(name=name)
    return list(by_name.values())


def _column(path: str, values: list[Any]) -> Column:
    name = re.sub(r"\W+", "_", path).strip("_")
    numbers = _numbers(values)
    if numbers is None:
        return Column(name, path, "", [_text(value) for value in values])
    unit, amounts = numbers
    return Column("_".join(filter(None, (name, _spelt(unit)))), path, unit, np.array(amounts))


def _numbers(values: Iterable[Any]) -> tuple[str, list[float]] | None:
    """Returns the common unit and the numbers; None if the values are not all quantities."""
    read = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        match = _QUANTITY.fullmatch(value) if isinstance(value, str) else (None, value, "")
        if match is None:
            return None
        read.append((float(match[1]), str(match[2])))
    if len({unit for _, unit in read}) == 1:
        return read[0][1], [number for number, _ in read]
    try:
        quantities = [units.parse(value) for value in values]
    except InputError:
        return None
    if len({quantity.base for quantity in quantities}) > 1:
        return None
    return quantities[0].base, [quantity.amount for quantity in quantities]


def _spelt(unit: str) -> str:
    """Returns a unit as the end of a column's name."""
    plain = unit.replace("/", "_per_").replace("%", "percent").replace("µ", "u")
    return re.sub(r"\W+", "_", plain).strip("_")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
