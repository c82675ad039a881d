"""The list of what a document describes, and of what answers for each part."""

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Document:
    """A document, row by row.

    Attributes:
        title: Title, shortened.
        source: Authors and year.
        groups: Groups of its experiments.
        numbered: All figures, tables and equations that it numbers.
        rows: Rows in its order; each of the numbered items has one.
    """

    title: str
    source: str
    groups: tuple[str, ...]
    numbered: tuple[str, ...]
    rows: tuple[Row, ...]


def numbers(kind: str, first: int, last: int) -> tuple[str, ...]:
    """Returns the names of numbered items: `numbers("Figure", 1, 3)`."""
    return tuple(f"{kind} {number}" for number in range(first, last + 1))


def row(item: str, describes: str, *answers: str, lacking: str = "") -> Row:
    """Returns a row; arguments as in the record."""
    return Row(item, describes, answers, lacking)
