"""What an experiment finds: published numbers beside ours, claims, a verdict, a figure of the same numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock.metrics import Interval
from ackclock.table import written_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Origin(StrEnum):
    """Where a number comes from."""

    PRINTED = "printed"
    """It stands in the publication."""
    INFERRED = "inferred"
    """It is not printed, but follows from what is; worked out apart from this program."""
    GUESSED = "guessed"
    """The publication does not say; it is our choice."""
    STATED = "stated"
    """There is no publication: the experiment is ours, and we say so in a guide."""
    CHOSEN = "chosen"
    """There is no publication: it is what our experiment is about."""


@dataclass(frozen=True)
class Setting:
    """A value that went into the computation.

    Attributes:
        name: What it is.
        value: With its unit.
        origin: Who says so.
    """

    name: str
    value: str
    origin: Origin


class Band(NamedTuple):
    """Where a number must lie for something to be so, both ends included; in the number's unit."""

    least: float = -inf
    most: float = inf

    def holds(self, value: float) -> bool:
        """Whether a value is in it; what is not a number is not."""
        return self.least <= value <= self.most

    def __str__(self) -> str:
        if isfinite(self.least) and isfinite(self.most):
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if isfinite(self.least) else f"at most {self.most:g}"


@dataclass(frozen=True)
class Cell:
    """One number, twice.

    Attributes:
        row: What tells its row from others; as many words as the comparison has keys.
        quantity: What it is, with its unit; the column.
        text: The number to be met, as it is written.
        ours: What we compute.
        within: How far the two may be apart, in the quantity's unit.
        excepted: Why they are not expected to agree; empty if they are.
        half_width: Of the 95 % interval that our number is the middle of; not a number if there is no chance in it.
    """

    row: tuple[str, ...]
    quantity: str
    text: str
    ours: float
    within: float
    excepted: str = ""
    half_width: float = nan

    @classmethod
    def of(
        cls, row: tuple[str, ...], quantity: str, text: str, ours: float, share: float = 0.0, excepted: str = ""
    ) -> "Cell":
        """A cell whose numbers may be half of the last digit that is written apart, or that share of the number."""
        return cls(row, quantity, text, ours, max(_half_of_last_digit(text), share * abs(float(text))), excepted)

    @classmethod
    def simulated(
        cls, row: tuple[str, ...], quantity: str, text: str, ours: Interval, within: float, excepted: str = ""
    ) -> "Cell":
        """A cell whose number is a mean over replicates."""
        return cls(row, quantity, text, ours.mean, within, excepted, ours.half_width)

    @classmethod
    def within_interval(cls, row: tuple[str, ...], quantity: str, text: str, ours: Interval) -> "Cell":
        """A cell whose number is a mean over replicates: the other is to be in its interval, but for the last digit."""
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        return cls.simulated(row, quantity, text, ours, max(_half_of_last_digit(text), chance))

    @property
    def theirs(self) -> float:
        """The number to be met."""
        return float(self.text)

    @property
    def agrees(self) -> bool:
        """Whether the two are as near as they may be."""
        # Not a number agrees with nothing. The last part is for bounds that are met exactly but for rounding.
        return abs(self.ours - self.theirs) <= self.within * (1 + 1e-9)

    @property
    def relative_difference(self) -> float:
        """Ours above theirs, as a share of theirs."""
        return self.ours / self.theirs - 1 if self.theirs else float("nan")


def _half_of_last_digit(text: str) -> float:
    return float(10.0 ** int(Decimal(text).as_tuple().exponent) / 2)


@dataclass(frozen=True)
class Comparison:
    """A table of numbers, each beside the one to be met.

    Attributes:
        title: What is compared.
        origin: Where the numbers to be met come from.
        keys: What tells rows apart.
        cells: Row by row.
        criterion: How near is near enough, in words.
    """

    title: str
    origin: Origin
    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    criterion: str

    @property
    def expected(self) -> tuple[Cell, ...]:
        """The cells that we claim to meet."""
        return tuple(cell for cell in self.cells if not cell.excepted)

    @property
    def worst(self) -> Cell:
        """Of the expected cells, the one that is farthest off for what it may be."""
        return max(self.expected, key=lambda cell: abs(cell.ours - cell.theirs) / cell.within)


@dataclass(frozen=True)
class Table:
    """A table of words: what there is to know beside the comparison. Each row is as long as the head."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Claim:
    """Something that is said, and whether it is so.

    Attributes:
        said: By the publication; by us, where `origin` says so.
        found: What the numbers say.
        holds: Whether it is so.
        documented: Whether we say that it is so, None where that depends on the machine.
        origin: Who says it.
        accepted: What counts as being so, where what is said leaves that open.
    """

    said: str
    found: str
    holds: bool
    documented: bool | None = True
    origin: Origin = Origin.PRINTED
    accepted: str = ""

    @classmethod
    def of(
        cls,
        said: str,
        ours: Interval,
        accepted: Band,
        unit: str = "",
        *,
        documented: bool | None = True,
        origin: Origin = Origin.PRINTED,
    ) -> "Claim":
        """One that holds if the mean over replicates is in a band; `found` tells if an end of the interval is not."""
        holds = accepted.holds(ours.mean)
        found = f"{written_interval(ours)} {unit}".strip()
        if any(accepted.holds(end) != holds for end in (ours.low, ours.high) if isfinite(end)):
            found += "; the interval reaches beyond the band" if holds else "; the interval reaches into the band"
        return cls(said, found, holds, documented, origin, f"{accepted} {unit}".strip())

    @property
    def fails(self) -> bool:
        """Whether it is not as we say: numbers have changed."""
        return self.documented not in (None, self.holds)


class Kind(StrEnum):
    """The kinds of verdict."""

    REPRODUCED = "reproduced"
    READING = "reproduced with reading"
    NOT = "not reproduced"
    CHANGED = "expectation failed"
    QUICK = "quick"
    NOT_RUN = "not run here"
    UNRELIABLE = "unreliable"


@dataclass(frozen=True)
class Verdict:
    """What we say about a published table or figure.

    Attributes:
        kind: In short.
        reason: The reading; or why it is not reproduced, not run or unreliable, or what failed.
        exceptions: What is not reproduced of something that otherwise is, and why.
    """

    kind: Kind
    reason: str = ""
    exceptions: str = ""

    def __str__(self) -> str:
        because = "because " if self.kind is Kind.NOT else ""
        words = f"{self.kind}: {because}{self.reason}" if self.reason else str(self.kind)
        return f"{words}; except {self.exceptions}" if self.exceptions else words


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

    Attributes:
        documented: The verdict if everything that we claim is so.
        comparisons: Numbers beside ours.
        claims: Of the text, and our own.
        settings: What went in.
        tables: What else there is to know.
        distrust: Why what was run is unreliable; empty if it is.
        quick: What was shortened to be quick; empty if nothing was. Then nothing is expected of the numbers.
        draw: Draws the figure from the numbers that were compared; None if there are none.
    """

    documented: Verdict
    comparisons: tuple[Comparison, ...]
    draw: "Callable[[], Figure] | None"
    claims: tuple[Claim, ...] = ()
    settings: tuple[Setting, ...] = ()
    tables: tuple[Table, ...] = ()
    distrust: str = ""
    quick: str = ""

    @property
    def failures(self) -> list[str]:
        """What we claim and is not so, one sentence each."""
        failed = [
            f"{comparison.title}: {', '.join(cell.row)}: {cell.quantity} is {cell.ours:.6g}, not {cell.theirs:.6g}"
            for comparison in self.comparisons
            for cell in comparison.expected
            if not cell.agrees
        ]
        return failed + [
            f'"{claim.said}" was documented to {"hold" if claim.documented else "fail"}, but {claim.found}'
            for claim in self.claims
            if claim.fails
        ]

    @property
    def verdict(self) -> Verdict:
        """The documented one, unless runs are unreliable or were shortened, or a claim of ours failed."""
        if self.distrust:
            return Verdict(Kind.UNRELIABLE, self.distrust)
        failed = self.failures
        if self.quick:
            standing = f"not as documented: {'; '.join(failed)}" if failed else "all that is documented shows"
            return Verdict(Kind.QUICK, f"{self.quick}; {standing}")
        return Verdict(Kind.CHANGED, "; ".join(failed)) if failed else self.documented


def plain(outcome: Outcome) -> dict[str, Any]:
    """Everything but the drawing, for JSON."""
    return {
        "verdict": {
            "kind": str(outcome.verdict.kind),
            "reason": outcome.verdict.reason,
            "exceptions": outcome.verdict.exceptions,
            "text": str(outcome.verdict),
        },
        "quick": outcome.quick,
        "comparisons": [_plain_comparison(comparison) for comparison in outcome.comparisons],
        "claims": [
            {
                "said": claim.said,
                "accepted": claim.accepted,
                "found": claim.found,
                "holds": claim.holds,
                "documented": claim.documented,
                "fails": claim.fails and not outcome.quick,
                "origin": str(claim.origin),
            }
            for claim in outcome.claims
        ],
        "settings": [{"name": one.name, "value": one.value, "origin": str(one.origin)} for one in outcome.settings],
        "tables": [
            {"title": table.title, "head": list(table.head), "rows": [list(row) for row in table.rows]}
            for table in outcome.tables
        ],
    }


def _plain_comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "title": comparison.title,
        "origin": str(comparison.origin),
        "criterion": comparison.criterion,
        "keys": list(comparison.keys),
        "cells": [
            {
                "row": list(cell.row),
                "quantity": cell.quantity,
                "text": cell.text,
                "theirs": cell.theirs,
                "ours": cell.ours,
                "half_width": cell.half_width,
                "relative_difference": cell.relative_difference,
                "within": cell.within,
                "agrees": cell.agrees,
                "excepted": cell.excepted,
            }
            for cell in comparison.cells
        ],
    }
