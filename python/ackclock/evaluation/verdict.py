"""Verdicts: from the findings of checks to one word, with a reason that is computed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ackclock.evaluation.checks import Finding
from ackclock.evaluation.suite import ANY, Assertion, Dialect, Origin, Setup
from ackclock.evaluation.trace import DERIVED, PATH_VALUES, Trace


class Verdict(StrEnum):
    """A verdict on a run or a case."""

    PASS = "pass"
    """What the source states holds."""
    FAIL = "fail"
    """Something that the source states does not hold."""
    CONCERN = "concern"
    """A criterion of ours is missed, by no more than its bound of a failure."""
    KNOWN = "known"
    """A criterion of ours is missed, as is known of the control by its design."""
    SILENT = "draft does not say"
    """Nothing stated fails, and what is ours fails or is all that could be checked."""
    NOT = "does not apply"
    """The control reports no such states, or the run does not meet the set-up."""


#: Verdicts from the worst to the best.
ORDER = (
    Verdict.FAIL,
    Verdict.CONCERN,
    Verdict.NOT,
    Verdict.SILENT,
    Verdict.KNOWN,
    Verdict.PASS,
)


@dataclass(frozen=True)
class Judged:
    """An assertion with its finding in one run."""

    assertion: Assertion
    finding: Finding

    @property
    def fails(self) -> bool:
        """True if it does not hold. What cannot be decided does not fail."""
        return self.finding.holds is False

    def __str__(self) -> str:
        ours = " (our bound)" if self.assertion.is_number_ours else ""
        return f"{self.assertion.says}{ours}: {self.finding.words}"


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on one run.

    Attributes:
        verdict: The verdict.
        reason: Why, in words; for a pass, the first thing that holds.
        judged: Every assertion that was checked.
    """

    verdict: Verdict
    reason: str
    judged: tuple[Judged, ...]


def judge(setup: Setup, dialect: Dialect, trace: Trace) -> RunVerdict:
    """Returns the verdict on a run of a control that speaks a dialect."""
    checked = applying(setup, dialect)
    judged = tuple(Judged(assertion, assertion.check(trace)) for assertion in checked)
    if not checked:
        return RunVerdict(Verdict.NOT, _lacking(setup, dialect, trace), judged)
    verdict, reason = _verdict(judged)
    return RunVerdict(verdict, reason, judged)


def applying(setup: Setup, dialect: Dialect) -> list[Assertion]:
    """Returns the assertions that address a control; none if all of them are about the set-up."""
    addressed = [
        assertion for assertion in setup.assertions if {dialect.name, ANY} & {*assertion.dialects}
    ]
    return addressed if any(assertion.origin is not Origin.SETUP for assertion in addressed) else []


def _verdict(judged: Sequence[Judged]) -> tuple[Verdict, str]:
    unmet = _first(judged, Origin.SETUP)
    if unmet is not None:
        return Verdict.NOT, f"the set-up is not reached: {unmet}"
    broken = _first(judged, Origin.STATED)
    if broken is not None:
        return Verdict.FAIL, str(broken)
    ours = _first(judged, Origin.OURS)
    if ours is not None:
        return Verdict.SILENT, f"nothing stated fails; ours does: {ours}"
    holding = [entry for entry in judged if entry.finding.holds]
    stated = [entry for entry in holding if entry.assertion.origin is Origin.STATED]
    if stated:
        count = "1 check holds" if len(holding) == 1 else f"{len(holding)} checks hold"
        return Verdict.PASS, f"{count}; the first stated one: {stated[0]}"
    if any(entry.assertion.origin is Origin.OURS for entry in holding):
        shown = next(entry for entry in holding if entry.assertion.origin is Origin.OURS)
        return Verdict.SILENT, f"only what is ours could be checked, and holds: {shown}"
    undecided = next(entry for entry in judged if entry.finding.holds is None)
    return Verdict.NOT, f"cannot be decided: {undecided}"


def _first(judged: Iterable[Judged], origin: Origin) -> Judged | None:
    """Returns the first assertion of an origin that fails."""
    return next(
        (entry for entry in judged if entry.assertion.origin is origin and entry.fails), None
    )


def _lacking(setup: Setup, dialect: Dialect, trace: Trace) -> str:
    """Returns why no check applies to a control: what they read that it has not got."""
    readable = {*dialect.states.values(), *trace.known_states, *PATH_VALUES, *DERIVED}
    reads = dict.fromkeys(name for assertion in setup.assertions for name in assertion.reads)
    lacking = [name for name in reads if name not in readable and name not in trace.variables]
    if not lacking:
        addressed = sorted({name for assertion in setup.assertions for name in assertion.dialects})
        return f"the case is for {' and '.join(addressed)}; the suite has no check of it for " + (
            dialect.name
        )
    states = ", ".join(trace.known_states) or "none"
    return f"{dialect.name} has no {', '.join(lacking)}; its states are {states}"


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns the verdict on several runs: the worst; what does not apply counts last."""
    those = [verdict for verdict in verdicts if verdict is not Verdict.NOT]
    return min(those, key=ORDER.index, default=Verdict.NOT)
