"""The parts of a page about one result or comparison, in the order in which it shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ackclock.plot import spec
from ackclock.table import Table

# Columns of a heat map that fit beside another figure.
_NARROW = 6


class Asked(NamedTuple):
    """The question.

    Attributes:
        drawing: An SVG drawing of the path; empty if it cannot be drawn small.
        facts: Lines about the path, the flows and the time.
    """

    drawing: str
    facts: list[str]


class Sure(NamedTuple):
    """A reason to trust the numbers, or not to.

    Attributes:
        good: True for a reason to trust them.
        lead: The reason in a few words.
        rest: The rest of the sentence.
        link: Id of the part of the page that says more; empty for none.
    """

    good: bool
    lead: str
    rest: str = ""
    link: str = ""


class Bar(NamedTuple):
    """A relative difference on an axis in percent.

    Attributes:
        label: Metric and place.
        text: The difference with its interval, for people.
        position: Position of the difference on the axis, 0 to 100; None if it has none.
        low: Position of the lower end of its interval.
        high: Position of the upper end.
    """

    label: str
    text: str
    position: float | None = None
    low: float = 0.0
    high: float = 0.0


class Reason(NamedTuple):
    """A cause of differences; its number is `?` for those without a known cause.

    Without evidence it is a heading of bars.
    """

    number: str
    title: str
    evidence: str
    bars: list[Bar]
    left: int


class Group(NamedTuple):
    """The differences of a method from its reference.

    Attributes:
        title: `Linux against the simulation`.
        note: How many differences, and how many are explained.
        series: Name of the method's series in figures.
        zero: Position of zero on the axis of its bars, 0 to 100.
        reasons: The largest difference first.
    """

    title: str
    note: str
    series: str
    zero: float
    reasons: list[Reason]


class Live(NamedTuple):
    """A figure that the page draws itself from data.

    Attributes:
        name: Its id.
        title: Its heading.
        sub: Unit and axes, beside the heading.
        caption: The sentence below it.
        spec: Data, for `figures.js`.
        wide: True if it takes the whole width.
        strip: Kinds and names of the coloured periods in it.
    """

    name: str
    title: str
    sub: str
    caption: str
    spec: dict[str, Any]
    wide: bool = False
    strip: Mapping[str, str] = {}


class HeatMap(NamedTuple):
    """A heat map, which the page shows as tables with coloured cells."""

    name: str
    title: str
    caption: str
    spec: spec.HeatMap

    @property
    def is_wide(self) -> bool:
        """True if it takes the whole width."""
        return len(self.spec.panels) * len(self.spec.x.ticks) > _NARROW


class Made(NamedTuple):
    """The provenance of the numbers.

    Attributes:
        commands: Commands that give them.
        note: What is the same when they are repeated.
        facts: Name to value.
        toml: The scenario as a file; empty for none.
    """

    commands: list[str]
    note: str
    facts: Mapping[str, Any]
    toml: str


@dataclass(frozen=True)
class Section:
    """One result or comparison, as a page shows it.

    Attributes:
        name: Name of the scenario, capture or session.
        question: The heading.
        answer: Sentences with numbers, the most important one first.
        asked: What was asked.
        sure: How sure the numbers are.
        figures: Figures; the first one stands beside the answer if it is live.
        tables: Tables.
        made: How the numbers were made.
        groups: Why methods differ.
        groups_title: Heading above the groups.
        lead: Sentence above the groups.
        settings: Lines of TOML to put into a scenario.
        models: A line about models that have no answer and further evidence; may be empty.
        others: Heading and answer of each further connection.
        others_title: Heading above them.
    """

    name: str
    question: str
    answer: list[str]
    asked: Asked
    sure: list[Sure]
    figures: list[Live | HeatMap]
    tables: list[Table]
    made: Made
    groups: list[Group] = field(default_factory=list)
    groups_title: str = "Why they differ"
    lead: str = ""
    settings: list[str] = field(default_factory=list)
    models: str = ""
    others: list[tuple[str, str]] = field(default_factory=list)
    others_title: str = ""

    @property
    def key(self) -> Live | None:
        """The figure beside the answer."""
        first = self.figures[0] if self.figures else None
        return first if isinstance(first, Live) else None

    @property
    def more(self) -> list[Live | HeatMap]:
        """The other figures."""
        return self.figures[1:] if self.key else self.figures
