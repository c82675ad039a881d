"""Outcomes of experiments: published and computed numbers, claims, verdict and figure."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock.metrics import Interval
from ackclock.table import written_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Origin(StrEnum):
    """The origin of a number."""

    PRINTED = "printed"
    """It is in the publication."""
    INFERRED = "inferred"
    """It follows from what is printed, or is our statement about it; no verdict counts it."""
    REFERENCE = "reference"
    """An unpublished computation, independent of this program; no verdict counts it."""
    GUESSED = "guessed"
    """The publication does not state it; it is our choice."""
    STATED = "stated"
    """There is no publication: the experiment is ours, and a guide of ours states it."""
    CHOSEN = "chosen"
    """There is no publication: it is a setting of our own experiment."""


@dataclass(frozen=True)
class Setting:
    """A value that went into the computation.

    Attributes:
        name: Name of the value.
        value: The value with its unit.
        origin: Its origin.
    """

    name: str
    value: str
    origin: Origin


#: Origins that verdicts count.
PUBLISHED = (Origin.PRINTED, Origin.STATED)


class Band(NamedTuple):
    """A range in which a number must lie for a claim to hold, ends included, in the number's unit.

    `ackclock.reproduction.words` has the bands of what publications say in words.
    """

    least: float = -inf
    most: float = inf

    def holds(self, value: float) -> bool:
        """Returns true if a value is in the band; NaN never is."""
        return self.least <= value <= self.most

    def __str__(self) -> str:
        if isfinite(self.least) and isfinite(self.most):
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if isfinite(self.least) else f"at most {self.most:g}"


@dataclass(frozen=True)
class Cell:
    """One number of a comparison: as published and as computed.

    Attributes:
        row: Keys of its row, as many as the comparison has.
        quantity: Quantity with its unit; the column.
        text: The number to be met, as written.
        ours: The number that we compute.
        within: Largest difference that counts as agreement, in the quantity's unit.
        excepted: Why the two are not expected to agree; empty if they are.
        half_width: Half width of the 95 % interval of our number; NaN if it is not random.
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
        """Makes a cell with a tolerance of half the last digit, or of a share of the number."""
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
        """Makes a cell whose number is a mean over replicates."""
        return cls(row, quantity, text, ours.mean, within, excepted, ours.half_width)

    @classmethod
    def within_interval(
        cls, row: tuple[str, ...], quantity: str, text: str, ours: Interval
    ) -> "Cell":
        """Makes a cell whose interval over replicates must contain the number to be met.

        Half of the last digit is allowed in any case.
        """
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        return cls.simulated(row, quantity, text, ours, max(_half_of_last_digit(text), chance))

    @property
    def theirs(self) -> float:
        """The number to be met."""
        return float(self.text)

    @property
    def agrees(self) -> bool:
        """True if the two differ by no more than allowed."""
        # NaN agrees with nothing. The last factor allows for rounding of differences that are
        # exactly at the limit.
        return abs(self.ours - self.theirs) <= self.within * (1 + 1e-9)

    @property
    def excess(self) -> float:
        """The difference of the two, over what is allowed; infinite for NaN."""
        difference = abs(self.ours - self.theirs)
        return inf if isnan(difference) or not self.within else difference / self.within

    @property
    def relative_difference(self) -> float:
        """Our number minus the published one, relative to the latter."""
        return self.ours / self.theirs - 1 if self.theirs else float("nan")


def _half_of_last_digit(text: str) -> float:
    return float(10.0 ** int(Decimal(text).as_tuple().exponent) / 2)


@dataclass(frozen=True)
class Comparison:
    """A table of numbers, each beside the one to be met.

    Attributes:
        title: Title of the table.
        origin: Origin of the numbers to be met.
        keys: Names of the columns that identify rows.
        cells: By row.
        criterion: The tolerance, in words.
    """

    title: str
    origin: Origin
    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    criterion: str

    @property
    def expected(self) -> tuple[Cell, ...]:
        """The cells that are expected to agree."""
        return tuple(cell for cell in self.cells if not cell.excepted)


@dataclass(frozen=True)
class Table:
    """A table of words beside the comparison. Each row is as long as the head."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Claim:
    """A statement, and whether it holds.

    Attributes:
        said: The statement, by the publication unless `origin` says otherwise.
        found: The numbers found.
        holds: True if the statement holds.
        documented: Documented value of `holds`; None if it depends on the machine.
        origin: Origin of the statement.
        accepted: What counts as holding, where the statement leaves that open.
        why: Why it does not hold, if it does not and that is known.
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
        statement: str,
        ours: Interval,
        accepted: Band,
        unit: str = "",
        *,
        than: float | None = None,
        documented: bool | None = True,
        origin: Origin = Origin.PRINTED,
        why: str = "",
    ) -> "Claim":
        """Makes a claim that holds if the mean over replicates is in a band.

        `found` tells if an end of the interval is not.

        Args:
            statement: `said` in the record.
            ours: The number that we compute.
            accepted: Band of its mean.
            unit: Unit of both.
            than: For a claimed difference, the value that means none; the interval must exclude it.
            documented: As in the record.
            origin: As in the record.
            why: As in the record.
        """
        holds = accepted.holds(ours.mean)
        measured = f"{written_interval(ours)} {unit}".strip()
        band = f"{accepted} {unit}".strip()
        if than is not None:
            band += f", all of the interval off {than:g}"
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        if holds and than is not None and abs(ours.mean - than) <= chance:
            return cls(
                statement,
                f"{measured}; the interval holds {than:g}",
                False,
                documented,
                origin,
                band,
                why,
            )
        if any(accepted.holds(end) != holds for end in (ours.low, ours.high) if isfinite(end)):
            measured += (
                "; the interval reaches beyond the band"
                if holds
                else "; the interval reaches into the band"
            )
        return cls(statement, measured, holds, documented, origin, band, why)

    @classmethod
    def printed(
        cls,
        statement: str,
        ours: Interval,
        text: str,
        unit: str = "",
        *,
        documented: bool | None = True,
        why: str = "",
    ) -> "Claim":
        """Makes a claim that our number equals a printed one.

        The tolerance is half of the last printed digit, or the half width of our interval.
        """
        chance = ours.half_width if isfinite(ours.half_width) else 0.0
        within = max(_half_of_last_digit(text), chance)
        holds = abs(ours.mean - float(text)) <= within * (1 + 1e-9)
        accepted = f"{text} ± {within:.2g} {unit}".strip()
        return cls(
            statement,
            f"{written_interval(ours)} {unit}".strip(),
            holds,
            documented,
            Origin.PRINTED,
            accepted,
            why,
        )

    @property
    def fails(self) -> bool:
        """True if it is not as documented: numbers have changed."""
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
    """The verdict on a published table or figure.

    Attributes:
        kind: The verdict in short.
        failing: Published statements that do not come out, one phrase each.
        why: Why they do not; empty if that is unknown.
        reading: Our reading where the publication is silent or contradicts itself.
        reason: Why it is not run or unreliable, or what was shortened or changed.
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


#: A verdict names so many numbers of a table that are not met: of more, the farthest ones.
_FEW = 5

#: Said where nothing published could be compared.
NOTHING_PRINTED = "no sentence and no number that could be read says what came out"


class Basis(NamedTuple):
    """Assumptions and reasons behind a verdict.

    Attributes:
        taken: Our reading where the publication is silent or contradicts itself; empty if it is
            clear.
        why: Why statements do not come out, unless their claims say so themselves.
    """

    taken: str = ""
    why: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment.

    Attributes:
        basis: Our reading, and why statements do not come out.
        comparisons: Published numbers beside ours.
        claims: Statements of the text, and our own.
        settings: Values that went in.
        tables: Further tables.
        unrun: The verdict if nothing could be run.
        distrust: Why runs are unreliable; empty if they are reliable.
        quick: What was shortened to be quick; empty if nothing was. The numbers of a quick run need
            not be as documented.
        draw: Draws the figure from the compared numbers; None if there are none.
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
        """Makes an outcome without numbers, with the reason."""
        return cls(Basis(), (), None, unrun=Verdict(kind, reason=reason))

    @property
    def failures(self) -> list[str]:
        """The differences from the documentation, one sentence each."""
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
        """The verdict from what is published: claims, and cells of comparisons."""
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
        why = "; ".join(dict.fromkeys(reason for reason in (*reasons, self.basis.why) if reason))
        if failing:
            return Verdict(Kind.PARTLY if held else Kind.NOT, tuple(failing), why, self.basis.taken)
        return Verdict(
            Kind.READING if self.basis.taken else Kind.REPRODUCED, reading=self.basis.taken
        )

    @property
    def verdict(self) -> Verdict:
        """The verdict from claims and numbers.

        Runs that are missing or unreliable, and differences from the documentation, come first.
        """
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
    """Describes the cells of a table that do not agree; of many, the farthest ones."""
    few = len(apart) <= _FEW
    named = apart if few else sorted(apart, key=lambda cell: cell.excess, reverse=True)[:_FEW]
    listed = ", ".join(
        f"{', '.join(cell.row)}: {cell.quantity} {cell.text} (ours {_distinct(cell)})"
        for cell in named
    )
    farthest = "" if few else "farthest beyond the tolerance: "
    count = f"{len(apart)} of {len(comparison.cells)}"
    return f"{count} numbers of “{comparison.title}” ({farthest}{listed})"


def _distinct(cell: Cell) -> str:
    """Writes our number of a cell, with more digits where four give the one to be met."""
    written = f"{cell.ours:.4g}"
    return f"{cell.ours:.6g}" if float(written) == cell.theirs else written


def plain(outcome: Outcome) -> dict[str, Any]:
    """Returns everything except the drawing, for JSON."""
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
            {"name": setting.name, "value": setting.value, "origin": str(setting.origin)}
            for setting in outcome.settings
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
