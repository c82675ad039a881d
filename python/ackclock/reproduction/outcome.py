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
    """It is not printed, but follows from what is, or it is ours about what is; no verdict counts it."""
    REFERENCE = "reference"
    """An unpublished reference computation, made apart from this program; no verdict counts it."""
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


#: The origins of what a verdict is about.
PUBLISHED = (Origin.PRINTED, Origin.STATED)


class Band(NamedTuple):
    """Where a number must lie for something to be so, both ends included; in the number's unit.

    `ackclock.reproduction.words` has the bands of what publications say in words.
    """

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
        half_width: Of the 95 % interval that our number is the middle of; not a number if there is
            no chance in it.
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
        cls,
        row: tuple[str, ...],
        quantity: str,
        text: str,
        ours: float,
        share: float = 0.0,
        excepted: str = "",
    ) -> "Cell":
        """A cell whose numbers may be half of the last digit that is written apart, or that share of the number."""
        return cls(
            row,
            quantity,
            text,
            ours,
            max(_half_of_last_digit(text), share * abs(float(text))),
            excepted,
        )

    @classmethod
    def simulated(
        cls,
        row: tuple[str, ...],
        quantity: str,
        text: str,
        ours: Interval,
        within: float,
        excepted: str = "",
    ) -> "Cell":
        """A cell whose number is a mean over replicates."""
        return cls(row, quantity, text, ours.mean, within, excepted, ours.half_width)

    @classmethod
    def within_interval(
        cls, row: tuple[str, ...], quantity: str, text: str, ours: Interval
    ) -> "Cell":
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
        # Not a number agrees with nothing. The last part is for bounds that are met exactly but for
        # rounding.
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
        why: Why it is not so, if it is not and that is known.
    """

    said: str
    found: str
    holds: bool
    documented: bool | None = True
    origin: Origin = Origin.PRINTED
    accepted: str = ""
    why: str = ""

    @classmethod
    def of(
        cls,
        said: str,
        ours: Interval,
        accepted: Band,
        unit: str = "",
        *,
        than: float | None = None,
        documented: bool | None = True,
        origin: Origin = Origin.PRINTED,
        why: str = "",
    ) -> "Claim":
        """One that holds if the mean over replicates is in a band; `found` tells if an end of the interval is not.

        Args:
            said: As in the record.
            ours: What we compute.
            accepted: Where its mean must be.
            unit: Of both.
            than: Where a difference is said, the value at which there is none: the whole interval
                must be off it.
            documented: As in the record.
            origin: As in the record.
            why: As in the record.
        """
        holds = accepted.holds(ours.mean)
        found = f"{written_interval(ours)} {unit}".strip()
        band = f"{accepted} {unit}".strip()
        if than is not None:
            band += f", all of the interval off {than:g}"
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        if holds and than is not None and abs(ours.mean - than) <= chance:
            return cls(
                said, f"{found}; the interval holds {than:g}", False, documented, origin, band, why
            )
        if any(accepted.holds(end) != holds for end in (ours.low, ours.high) if isfinite(end)):
            found += (
                "; the interval reaches beyond the band"
                if holds
                else "; the interval reaches into the band"
            )
        return cls(said, found, holds, documented, origin, band, why)

    @classmethod
    def printed(
        cls,
        said: str,
        ours: Interval,
        text: str,
        unit: str = "",
        *,
        documented: bool | None = True,
        why: str = "",
    ) -> "Claim":
        """One that a number which is printed as `text` is ours: to half of its last digit, or within our interval."""
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        within = max(_half_of_last_digit(text), chance)
        holds = abs(ours.mean - float(text)) <= within * (1 + 1e-9)
        accepted = f"{text} ± {within:.2g} {unit}".strip()
        return cls(
            said,
            f"{written_interval(ours)} {unit}".strip(),
            holds,
            documented,
            Origin.PRINTED,
            accepted,
            why,
        )

    @property
    def fails(self) -> bool:
        """Whether it is not as we say: numbers have changed."""
        return self.documented not in (None, self.holds)


class Kind(StrEnum):
    """The kinds of verdict."""

    REPRODUCED = "reproduced"
    READING = "reproduced with reading"
    PARTLY = "partly reproduced"
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
        failing: Of what is published, that which does not come out, a phrase each.
        why: Why it does not; empty if that is not known.
        reading: What is taken for meant where the publication does not say, or contradicts itself.
        reason: Why it is not run or unreliable; or what was shortened or changed.
    """

    kind: Kind
    failing: tuple[str, ...] = ()
    why: str = ""
    reading: str = ""
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.kind}: {self.reason}"
        fails = "; ".join(self.failing)
        taken = f"taken: {self.reading}" if fails and self.reading else self.reading
        parts = (fails, self.why and f"why: {self.why}", taken)
        words = "; ".join(part for part in parts if part)
        return f"{self.kind}: {words}" if words else str(self.kind)


#: What is said where nothing that is published could be compared.
NOTHING_PRINTED = "no sentence and no number that could be read says what came out"


class Basis(NamedTuple):
    """What a verdict rests on beside what comes out and what does not.

    Attributes:
        taken: What is taken for meant where the publication does not say, or contradicts itself;
            empty if nothing is.
        why: Why what does not come out does not, as far as no claim says so itself.
    """

    taken: str = ""
    why: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment.

    Attributes:
        basis: What was taken for meant, and why what does not come out does not.
        comparisons: Numbers beside ours.
        claims: Of the text, and our own.
        settings: What went in.
        tables: What else there is to know.
        unrun: The verdict where nothing could be run.
        distrust: Why what was run is unreliable; empty if it is.
        quick: What was shortened to be quick; empty if nothing was. Then nothing is expected of the
            numbers.
        draw: Draws the figure from the numbers that were compared; None if there are none.
    """

    basis: Basis
    comparisons: tuple[Comparison, ...]
    draw: "Callable[[], Figure] | None"
    claims: tuple[Claim, ...] = ()
    settings: tuple[Setting, ...] = ()
    tables: tuple[Table, ...] = ()
    unrun: Verdict | None = None
    distrust: str = ""
    quick: str = ""

    @classmethod
    def not_run(cls, kind: Kind, reason: str) -> "Outcome":
        """One without numbers: why there are none."""
        return cls(Basis(), (), None, unrun=Verdict(kind, reason=reason))

    @property
    def failures(self) -> list[str]:
        """What is not as we document it, one sentence each."""
        failed = [
            (
                f"{comparison.title}: {', '.join(cell.row)}: {cell.quantity} is {cell.ours:.6g}, "
                f"not {cell.theirs:.6g}"
            )
            for comparison in self.comparisons
            for cell in comparison.expected
            if not cell.agrees
        ]
        return failed + [
            (
                f'"{claim.said}" was documented to {"hold" if claim.documented else "fail"}, but '
                f"{claim.found}"
            )
            for claim in self.claims
            if claim.fails
        ]

    @property
    def judged(self) -> Verdict:
        """The verdict that follows from what is published: from claims, and from cells of comparisons."""
        claims = [claim for claim in self.claims if claim.origin in PUBLISHED]
        compared = [comparison for comparison in self.comparisons if comparison.origin in PUBLISHED]
        failing = [f"“{claim.said}” ({claim.found})" for claim in claims if not claim.holds]
        reasons = [claim.why for claim in claims if not claim.holds]
        held = sum(claim.holds for claim in claims)
        for comparison in compared:
            apart = [cell for cell in comparison.cells if not cell.agrees]
            held += len(comparison.cells) - len(apart)
            if apart:
                failing.append(_apart(comparison, apart))
                reasons += [cell.excepted for cell in apart]
        if not claims and not any(comparison.cells for comparison in compared):
            return Verdict(Kind.NOT, (NOTHING_PRINTED,), self.basis.why, self.basis.taken)
        why = "; ".join(dict.fromkeys(one for one in (*reasons, self.basis.why) if one))
        if failing:
            return Verdict(Kind.PARTLY if held else Kind.NOT, tuple(failing), why, self.basis.taken)
        return Verdict(
            Kind.READING if self.basis.taken else Kind.REPRODUCED, reading=self.basis.taken
        )

    @property
    def verdict(self) -> Verdict:
        """What follows from claims and numbers, unless runs say nothing of it or something is not as documented."""
        if self.unrun is not None:
            return self.unrun
        if self.distrust:
            return Verdict(Kind.UNRELIABLE, reason=self.distrust)
        failed = self.failures
        if self.quick:
            standing = (
                f"not as documented: {'; '.join(failed)}"
                if failed
                else "all that is documented shows"
            )
            return Verdict(Kind.QUICK, reason=f"{self.quick}; {standing}")
        return Verdict(Kind.CHANGED, reason="; ".join(failed)) if failed else self.judged


def _apart(comparison: Comparison, apart: list[Cell]) -> str:
    """Cells of a table that are not met."""
    listed = ", ".join(
        f"{', '.join(cell.row)}: {cell.quantity} {cell.text} (ours {cell.ours:.4g})"
        for cell in apart
    )
    return f"{len(apart)} of {len(comparison.cells)} numbers of “{comparison.title}” ({listed})"


def plain(outcome: Outcome) -> dict[str, Any]:
    """Everything but the drawing, for JSON."""
    return {
        "verdict": {
            "kind": str(outcome.verdict.kind),
            "failing": list(outcome.verdict.failing),
            "why": outcome.verdict.why,
            "reading": outcome.verdict.reading,
            "reason": outcome.verdict.reason,
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
                "why": claim.why,
            }
            for claim in outcome.claims
        ],
        "settings": [
            {"name": one.name, "value": one.value, "origin": str(one.origin)}
            for one in outcome.settings
        ],
        "tables": [
            {
                "title": table.title,
                "head": list(table.head),
                "rows": [list(row) for row in table.rows],
            }
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
