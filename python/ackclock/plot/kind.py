"""The record of a kind of figure: its content, its methods, and why a result may lack it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ackclock.comparison import Comparison, SideBySide
from ackclock.errors import InputError
from ackclock.plot.canvas import Span
from ackclock.plot.spec import Spec
from ackclock.result.result import Result

#: Subjects of figures.
Subject = Result | Comparison | SideBySide

#: Every method that writes a folder, and the name of such a folder.
METHODS = {
    "predict": "a prediction",
    "simulate": "a simulation",
    "emulate": "an emulation",
    "measure": "a measurement of captures",
    "send": "a session of ackclock send",
    "receive": "a session of ackclock receive",
    "compare": "a comparison",
    "results": "several results",
}


@dataclass(frozen=True)
class View:
    """The part of a result that figures show. Each figure takes some of the fields.

    Attributes:
        predicted: The answers of models to the same scenario.
        metric: Name of the metric of figures against the swept parameter.
        point: Index of the point.
        replicate: Index of the replicate.
        connection: Index of a captured connection; 0 is the one with the most payload.
        span: Start and end of figures over time, in seconds; None for the whole run.
        x: Path of the swept value on the horizontal axis; None for the usual one.
        y: That on the vertical axis of a heat map.
        subject: Flow or hop that figures of a sweep show; None for the bottleneck or the only flow.
    """

    predicted: Result | None = None
    metric: str = "goodput"
    point: int = 0
    replicate: int = 0
    connection: int = 0
    span: Span | None = None
    x: str | None = None
    y: str | None = None
    subject: str | None = None


#: The fields of a view that a user chooses.
OPTIONS = ("metric", "point", "replicate", "connection", "span", "x", "y", "subject")


def _nothing(_subject: Any, _view: View) -> str | None:
    return None


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure.

    Attributes:
        name: Name on the command line and of the file. A comparison may have a figure of the same
            name.
        summary: Description, in a sentence or two.
        methods: Names of the methods whose results have it, from `METHODS`.
        make: Makes its description; takes the result, and the fields of `takes` by name.
        takes: Fields of a `View` that it depends on.
        tables: Tables that it needs.
        lacks: Returns the reason why a result with these tables cannot show it, and the remedy;
            None if it can.
        on_pages: True if pages show it, too.
    """

    name: str
    summary: str
    methods: tuple[str, ...]
    make: Callable[..., Spec]
    takes: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    lacks: Callable[[Any, View], str | None] = _nothing
    on_pages: bool = True

    @property
    def is_over_time(self) -> bool:
        """True if it can show a part of the time."""
        return "span" in self.takes

    def why_not(self, subject: Subject, view: View) -> str | None:
        """Returns the reason why a result has no such figure, and the remedy; None if it has."""
        if method_of(subject) not in self.methods:
            return f"is {METHODS[method_of(subject)]}, which does not show it"
        if isinstance(subject, Result):
            missing = next((name for name in self.tables if name not in subject.tables), None)
            if missing is not None:
                return f'has no table "{missing}"'
        return self.lacks(subject, view)

    def spec(self, subject: Subject, view: View) -> Spec:
        """Returns the description of what it shows of a result and a view.

        Raises:
            ValueError: The view shows nothing; one line.
        """
        return self.make(subject, **{name: getattr(view, name) for name in self.takes})


def method_of(subject: Subject) -> str:
    """Returns the method that wrote a result, from `METHODS`."""
    if isinstance(subject, SideBySide):
        return "results"
    return "compare" if isinstance(subject, Comparison) else str(subject.run["method"])


def check_numbers(subject: Subject, **numbers: int) -> None:
    """Raises `InputError` if there is no such point or replicate.

    Args:
        subject: The result, comparison, or results.
        numbers: Any of `point` and `replicate`; the error names it.
    """
    counts = {"point": len(subject.points), "replicate": int(subject.run["replicates"])}
    for name, number in numbers.items():
        if not 0 <= number < counts[name]:
            raise InputError(
                "out-of-range", name,
                f"{number} does not exist; {name}s are numbered from 0 to {counts[name] - 1}",
                number,
            )  # fmt: skip


def refusal(arrange: Callable[[], object]) -> str | None:
    """Returns the reason why a figure cannot be arranged; None if it can."""
    try:
        arrange()
    except InputError as error:
        return error.message
    return None
