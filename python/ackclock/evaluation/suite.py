"""Suites of test cases as records.

A suite is data. Each run of a case is a scenario, in which a flow's transport `"X"` stands for what
is evaluated. What must hold is a check on the trace of a control's states, or a criterion on a
metric, perhaps beside the same run of a reference control.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.evaluation.checks import Check
from ackclock.evaluation.criteria import Criterion
from ackclock.evaluation.moments import Duration, Moment

#: The name of a dialect that every control speaks: checks that need no states.
ANY = "any"

#: In a suite's scenarios, the transport of a flow or the queue of a hop that is evaluated.
CANDIDATE = "X"


def is_candidate(element: Any) -> bool:
    """Returns true if a transport or queue of a suite's scenario stands for what is evaluated."""
    kind = facts.kind(element) if isinstance(element, dict) else element
    return bool(kind == CANDIDATE)


class Origin(StrEnum):
    """The origin of an assertion."""

    STATED = "stated"
    """The source states it. If its number is ours, the assertion says so."""
    OURS = "ours"
    """The source does not state it: our choice, or our reading where it contradicts itself."""
    SETUP = "set-up"
    """The run must meet it for the case to apply."""


@dataclass(frozen=True)
class Assertion:
    """One thing that must hold in the trace of a run.

    Attributes:
        says: It in words.
        origin: Its origin.
        is_number_ours: True if the source states it without a number, and the number is ours.
        dialects: Names of the controls of the suite that it applies to; `any` for every control.
        kind: Kind of check.
        reads: States and variables that it names.
        check: The check.
    """

    says: str
    origin: Origin
    is_number_ours: bool
    dialects: tuple[str, ...]
    kind: str
    reads: tuple[str, ...]
    check: Check


@dataclass(frozen=True)
class Event:
    """The time of an event, which a run finds: a value of the scenario by the event's name.

    Attributes:
        name: Name of the event, and of the value.
        moment: The moment.
        otherwise: The moment for a control that never enters the state which `moment` names.
    """

    name: str
    moment: Moment
    otherwise: Duration


@dataclass(frozen=True)
class TestPath:
    """A path on which every case is run.

    Attributes:
        name: Its name in reports.
        changes: What it changes in each scenario, by path of a field.
    """

    name: str
    changes: Mapping[str, Any]


@dataclass(frozen=True)
class Setup:
    """One run of a case: a scenario, and what must hold.

    A run has assertions on a trace, or criteria on metrics.

    Attributes:
        name: Name of the run; empty if the case has one.
        scenario: Tree of the scenario, with `"X"` as transport of what is evaluated.
        changes: What it changes in the suite's scenario, by path of a field.
        grid: Values of fields, by path; each combination is a cell.
        wide_grid: The values of a full evaluation.
        campaign_grid: The values of a campaign: cells too large for an evaluation in one go.
        events: Events whose times a run finds, in order.
        carries: Rate that the path carries, if a policer lets less through than the link sends.
        assertions: Assertions in order.
        criteria: Criteria in order.
        limits: What is known of a control by its kind, in place of a concern or failure.
    """

    name: str
    scenario: Mapping[str, Any]
    changes: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    wide_grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    campaign_grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    carries: str = ""
    assertions: tuple[Assertion, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)

    def is_on(self, path: TestPath, first: TestPath) -> bool:
        """Returns true unless the run sets what the path sets otherwise than the first path."""
        own = {*self.changes, *self.grid, *self.wide_grid, *self.campaign_grid}
        return not any(
            name in own and value != first.changes.get(name) for name, value in path.changes.items()
        )


@dataclass(frozen=True)
class Case:
    """A test case, or a question.

    Attributes:
        id: Name on the command line.
        number: Number in the source.
        section: Section of the source.
        title: Title, in our words.
        stated: Statements of the source, in our words.
        ours: Our choices.
        defect: A contradiction of the source, with our reading; empty if there is none.
        lacks: Why it cannot be evaluated; empty if it can.
        least_bdp_packets: Least bandwidth-delay product at which the case can exist.
        setups: Its runs.
    """

    id: str
    number: str
    section: str
    title: str
    stated: tuple[str, ...]
    ours: tuple[str, ...]
    defect: str
    lacks: str
    least_bdp_packets: float
    setups: tuple[Setup, ...]


@dataclass(frozen=True)
class Dialect:
    """The names of a control's states in the words of the suite.

    Attributes:
        name: Kind of the control.
        title: What it is.
        states: Names of the suite by the control's own.
        unbounded: Bounds that the control may do without: unknown means there is none.
    """

    name: str
    title: str
    states: Mapping[str, str]
    unbounded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """A suite of test cases.

    Attributes:
        name: Name on the command line.
        title: Title.
        source: The source of its cases.
        revision: Its revision.
        date: Date of the revision.
        url: Where it can be read.
        noun: Its word for the source, such as `the draft`.
        notes: Remarks for readers of a report.
        demands: What the source asks of a document about the control, which no run shows.
        paths: The path of every case, then further ones for a full evaluation.
        least_round_trips: Least length of a run in round trips.
        references: Controls or queues that runs are compared with, by name.
        is_of_queues: True if it evaluates queues.
        states: The states that checks may name, with their meanings.
        dialects: Controls whose states are known, by their kind.
        cases: The cases in the order of the source.
        seeds: Number of seeds, and that of a full evaluation.
        digest: Hash of the file.
    """

    name: str
    title: str
    source: str
    revision: str
    date: str
    url: str
    noun: str
    notes: tuple[str, ...]
    demands: tuple[str, ...]
    paths: tuple[TestPath, ...]
    least_round_trips: float
    references: Mapping[str, Mapping[str, Any]]
    is_of_queues: bool
    states: Mapping[str, str]
    dialects: Mapping[str, Dialect]
    cases: tuple[Case, ...]
    seeds: tuple[int, int]
    digest: str

    def chosen(self, wanted: str) -> tuple[Case, ...]:
        """Returns the cases with these ids or numbers, separated by commas; all if empty."""
        by_name = {name: case for case in self.cases for name in (case.id, case.number)}
        asked = [part.strip() for part in wanted.split(",") if part.strip()]
        for name in asked:
            if name not in by_name:
                raise InputError.unknown("--only", "case", name, [case.id for case in self.cases])
        return tuple(case for case in self.cases if not asked or case in map(by_name.get, asked))
