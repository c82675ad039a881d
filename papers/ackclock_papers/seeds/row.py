"""The list of what a document describes, and of what answers for each part."""

from dataclasses import dataclass
from typing import NamedTuple

from ackclock.reproduction import PUBLISHED, Outcome


@dataclass(frozen=True)
class Row:
    """A part of a document.

    Attributes:
        item: Number of a figure, table or equation, or a section and a word.
        describes: Its content, restated in a phrase.
        answers: Names of experiments, and commands that begin with `ackclock`.
        lacking: Reason why it is not covered, or not all of it; empty if it is.
    """

    item: str
    describes: str
    answers: tuple[str, ...] = ()
    lacking: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands, those that run the experiments included."""
        return tuple(
            answer if answer.startswith("ackclock ") else f"ackclock reproduce {answer}"
            for answer in self.answers
        )

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the experiments."""
        return tuple(answer for answer in self.answers if not answer.startswith("ackclock "))


class Claimed(NamedTuple):
    """A claim, or several alike, of an experiment.

    Attributes:
        experiment: Name of the experiment.
        begins: Words with which the statement of the claim begins, or the title of a table of
            numbers.
    """

    experiment: str
    begins: str

    def is_in(self, outcome: Outcome) -> bool:
        """Returns whether an outcome has such a claim, or such a table, that its verdict counts."""
        stated = [
            *((claim.said, claim.origin) for claim in outcome.claims),
            *((table.title, table.origin) for table in outcome.comparisons),
        ]
        return any(words.startswith(self.begins) for words, origin in stated if origin in PUBLISHED)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document that states a result: not a method, an aim or an assumption.

    Attributes:
        section: Section of the document, or `Abstract`.
        states: The result, restated in a phrase.
        claims: Claims that answer it. Verdicts count them.
        commands: Commands of models and elements that answer it.
        lacking: Reason why it is not covered, or not all of it; empty if it is.
    """

    section: str
    states: str
    claims: tuple[Claimed, ...] = ()
    commands: tuple[str, ...] = ()
    lacking: str = ""

    @property
    def experiments(self) -> tuple[str, ...]:
        """The names of the experiments, each once."""
        return tuple(dict.fromkeys(claim.experiment for claim in self.claims))


@dataclass(frozen=True)
class Document:
    """A document, row by row.

    Attributes:
        title: Title, shortened.
        source: Authors and year.
        groups: Groups of its experiments.
        numbered: All figures, tables and equations that it numbers.
        rows: Rows in its order; each of the numbered items has one.
        sentences: All sentences of it that state a result, in its order. A result that it repeats
            elsewhere is listed again only if the words differ in what they claim.
    """

    title: str
    source: str
    groups: tuple[str, ...]
    numbered: tuple[str, ...]
    rows: tuple[Row, ...]
    sentences: tuple[Sentence, ...]


def numbers(kind: str, first: int, last: int) -> tuple[str, ...]:
    """Returns the names of numbered items: `numbers("Figure", 1, 3)`."""
    return tuple(f"{kind} {number}" for number in range(first, last + 1))


def row(item: str, describes: str, *answers: str, lacking: str = "") -> Row:
    """Returns a row; arguments as in the record."""
    return Row(item, describes, answers, lacking)


def sentence(
    section: str, states: str, *answers: tuple[str, str] | str, lacking: str = ""
) -> Sentence:
    """Returns a sentence.

    Args:
        section: As in the record.
        states: As in the record.
        answers: Claims, each as experiment and first words, and commands.
        lacking: As in the record.
    """
    return Sentence(
        section,
        states,
        tuple(Claimed(*answer) for answer in answers if not isinstance(answer, str)),
        tuple(answer for answer in answers if isinstance(answer, str)),
        lacking,
    )
