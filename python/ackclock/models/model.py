"""The record of a model, which answers for scenarios, plain numbers and inverse questions."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.errors import InputError
from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import POSITIVE, Domain
from ackclock.models.path import FlowPath
from ackclock.models.refusal import RefusedInputsError, refuse_inputs

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """A default that follows from other inputs.

    Attributes:
        words: The rule in words, for people.
        value: Computes it from the inputs before it in the record, by name.
    """

    words: str
    value: Callable[[Mapping[str, Array]], ArrayLike]


@dataclass(frozen=True)
class Input:
    """One input of a model.

    Attributes:
        name: Name in Python and, with hyphens, on the command line.
        letter: Letter in the paper's formula.
        unit: `s`, `segments`, `segments/s`, or empty for a plain number or share.
        meaning: Its meaning, in a phrase.
        default: Value if it is not given; None if it is required.
        domain: The numbers it may have.
        on_wire: True if its segments include headers, as for a link; False as for a connection.
        whole: True if it counts things, so that a value that is asked for must be whole. Between
            whole numbers the formula still is continuous, for inverse questions.
        backwards: True if an inverse question may ask for it; False if each value is too slow to
            evaluate.
    """

    name: str
    letter: str
    unit: str
    meaning: str
    default: float | Rule | None = None
    domain: Domain = POSITIVE
    on_wire: bool = False
    whole: bool = False
    backwards: bool = True


@dataclass(frozen=True)
class TableInput:
    """A table that replaces inputs by a law, as a file of rows on the command line.

    Attributes:
        name: Name in Python and, with hyphens, on the command line.
        replaces: Names of the inputs that it replaces.
        columns: Columns that it must have, with numbers.
        others: Columns that it may have.
        meaning: Its meaning, in a phrase.
        means: Computes the numbers that rules for defaults take for the replaced inputs, in their
            order.
    """

    name: str
    replaces: tuple[str, ...]
    columns: tuple[str, ...]
    others: tuple[str, ...]
    meaning: str
    means: Callable[[Mapping[str, Array]], tuple[float, ...]]


@dataclass(frozen=True)
class Output:
    """One output of a model; the attributes are as in `Input`.

    Attributes:
        metric: Name of the flow metric to which it is compared; empty for none, or for
            `Model.goodput`.
    """

    name: str
    letter: str
    unit: str
    meaning: str
    metric: str = ""


@dataclass(frozen=True)
class Bound:
    """A limit on the work of an answer.

    Attributes:
        input: Name of the input that determines the work.
        unit: Unit of work, in words: `flows`, `steps of a flow`.
        most: Largest total work of one call.
        count: Computes the work of each answer from the inputs by name.
        most_s: Time that the largest work takes on one processor, about.
    """

    input: str
    unit: str
    most: float
    count: Callable[[Mapping[str, Array]], ArrayLike]
    most_s: float = 2.0

    def lasts_s(self, inputs: Mapping[str, Array]) -> float:
        """Returns about how long the work of a call takes on one processor, in seconds."""
        asked = np.broadcast_arrays(inputs[self.input], np.asarray(self.count(inputs), float))
        return self.most_s * float(asked[1].sum()) / self.most

    def check(self, inputs: Mapping[str, Array]) -> None:
        """Refuses a call that takes too much work.

        Raises:
            InputError: It does; the message has the work asked for and the limit.
        """
        asked = np.broadcast_arrays(inputs[self.input], np.asarray(self.count(inputs), float))
        total = float(asked[1].sum())
        if not total <= self.most:
            value = float(np.ravel(asked[0])[np.argmax(asked[1])])
            words = (
                f"{{{self.input}}} asks for {total:.3g} {self.unit}; give less, at most "
                f"{self.most:,.0f} are allowed"
            )
            refuse_inputs("out-of-range", words, value=value, **{self.input: value})


#: Larger and smaller numbers are refused: their squares and products leave the range of doubles.
SMALLEST, LARGEST = 1e-100, 1e100


def in_unit(value: float, unit: str) -> str:
    """Formats a value with its unit."""
    return f"{value:.6g} {unit}".rstrip()


def _slow_reader(path: FlowPath) -> str:
    """Returns why no model answers for a receiver whose window may close; empty if it cannot."""
    rate = path.sender.read_bit_per_s
    if rate == inf:
        return ""
    return (
        f"the receiver's application reads {rate / 1e6:g} Mbit/s (read_rate), and the receive "
        "window closes when its buffer is full"
    )


def _closed_loop(path: FlowPath) -> str:
    """Returns why no model answers for data that a client asks for; empty if it does not."""
    if not path.transfer.is_asked_for:
        return ""
    return (
        "a client asks for its data (a closed loop), so that what arrives decides what is sent "
        "next; models know only data that is there"
    )


def _other_start(path: FlowPath) -> str:
    """Returns why no model answers for a transfer without slow start; empty if it has one."""
    if path.transfer.size_segments == inf:
        return ""
    if path.transfer.resumes:
        return (
            "it may begin with the window of an earlier connection (resume); models know only a "
            "slow start from the initial window"
        )
    if path.control.start_growth != 2.0:
        return (
            f"its first slow start opens the window {path.control.start_growth:g}-fold in a round "
            "trip (rapid_start); models know only one that doubles it"
        )
    return ""


def _cannot_tell(_path: FlowPath) -> str:
    return ""


@dataclass(frozen=True)
class Assumption:
    """An assumption of a model.

    Attributes:
        name: One word, or several with underscores, for verdicts.
        sentence: The assumption, as a sentence.
        violation: Describes how a flow violates it; empty if it does not, or if a path cannot tell.
    """

    name: str
    sentence: str
    violation: Callable[[FlowPath], str] = _cannot_tell


@dataclass(frozen=True)
class Verdict:
    """The verdict on a model and a flow.

    Attributes:
        why_not: The reason why the model does not apply; empty if it does.
        violated: Each violated assumption: its name, and how the flow violates it.
        accuracy: The error band of the goodput if nothing is violated; None without an answer.
    """

    why_not: str = ""
    violated: tuple[tuple[str, str], ...] = ()
    accuracy: Accuracy | None = None

    @property
    def applies(self) -> bool:
        """True if the model has an answer."""
        return not self.why_not

    @property
    def words(self) -> str:
        """`does not apply`, `applies with violated assumptions`, or `applies, within 5 %`."""
        if self.why_not:
            return "does not apply"
        if self.violated:
            return "applies with violated assumptions"
        return f"applies, {self.accuracy.words}" if self.accuracy else "applies"

    @property
    def within(self) -> float | None:
        """The error band of the goodput, as a share; None if an assumption is violated."""
        return None if self.why_not or self.violated or not self.accuracy else self.accuracy.within

    @property
    def note(self) -> str:
        """The reason why it does not apply, or how assumptions are violated."""
        return self.why_not or "; ".join(f"{name}: {how}" for name, how in self.violated)


@dataclass(frozen=True)
class Model:
    """The record of one model.

    Attributes:
        name: Name in tables and on the command line.
        label: Label in figures.
        summary: One sentence.
        reference: Paper or RFC.
        formula: Formula as text, in the paper's letters.
        inputs: Inputs of the formula.
        outputs: Outputs of the formula; the first is the primary one.
        goodput: Name of the output, in segments per second, that is compared to a flow's measured
            goodput.
        assumptions: Assumptions of the model.
        evaluate: The formula: arrays by the inputs' names to arrays by the outputs' names. Call
            `answer` instead.
        inputs_of: Computes the inputs for a flow's path. Called only if `refusal` returns nothing.
        refusal: Returns the reason why the model does not apply to a flow; empty if it does.
        accuracy: Error bands of its outputs, where no assumption is violated. Each output that is
            compared with a flow has one.
        usual: True if tables and figures of simulations show it by default.
        tables: Tables that may replace inputs.
        evaluate_tables: The formula for such tables. It maps their columns by name and the inputs
            that they do not replace, as numbers, to the outputs, as numbers.
        bounds: Limits on the work of an answer that grows with an input.
        points: Number of values that an inverse question tries first.
        evaluate_goodput: The formula of the output `goodput` alone, if that is much less work than
            all outputs.
        divides_link: True if it says how unlike flows divide the link. Then the whole link caps its
            answer, not an equal share.
    """

    name: str
    label: str
    summary: str
    reference: str
    formula: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    goodput: str
    assumptions: tuple[Assumption, ...]
    evaluate: Callable[..., Mapping[str, ArrayLike]]
    inputs_of: Callable[[FlowPath], dict[str, float]]
    refusal: Callable[[FlowPath], str]
    accuracy: tuple[Accuracy, ...]
    usual: bool = False
    tables: tuple[TableInput, ...] = ()
    evaluate_tables: Callable[..., Mapping[str, float]] | None = None
    evaluate_goodput: Callable[..., Array] | None = None
    bounds: tuple[Bound, ...] = ()
    points: int = 2001
    divides_link: bool = False

    def __post_init__(self) -> None:
        names = [entry.name for entry in self.inputs] + [entry.name for entry in self.outputs]
        if len(set(names)) < len(names) or self.output(self.goodput).unit != "segments/s":
            raise InputError(
                "contradiction",
                self.name,
                "inputs and outputs need different names, goodput is an output's in segments/s",
            )
        banded = [name for band in self.accuracy for name in band.outputs]
        compared = {entry.name for entry in self.outputs if entry.metric} | {self.goodput}
        outputs = {entry.name for entry in self.outputs}
        if len(set(banded)) < len(banded) or not compared <= set(banded) <= outputs:
            raise InputError(
                "contradiction",
                self.name,
                "accuracy needs one band for each output that is compared with a flow: "
                + ", ".join(sorted(compared)),
            )

    def input(self, name: str) -> Input:
        """Returns the input of that name.

        Raises:
            InputError: There is no such input.
        """
        for entry in self.inputs:
            if entry.name == name:
                return entry
        raise InputError(
            "unknown-field",
            name,
            f"unknown input; choose from {', '.join(entry.name for entry in self.inputs)}",
        )

    def output(self, name: str = "") -> Output:
        """Returns the output of that name; without a name, the primary one.

        Raises:
            InputError: There is no such output.
        """
        for entry in self.outputs:
            if entry.name == (name or self.outputs[0].name):
                return entry
        raise InputError(
            "unknown-field",
            name,
            f"unknown output; choose from {', '.join(entry.name for entry in self.outputs)}",
        )

    def accuracy_of(self, output: str) -> Accuracy | None:
        """Returns the error band of an output; None if none is stated."""
        return next((band for band in self.accuracy if output in band.outputs), None)

    def completed(self, **inputs: ArrayLike) -> dict[str, Array]:
        """Returns all inputs in the record's order, checked, with defaults for those not given.

        Raises:
            InputError: One is unknown, missing or out of its domain.
        """
        completed: dict[str, Array] = {}
        for entry, numbers in self._filled(inputs):
            inside = entry.domain.holds(numbers)
            if not inside.all():
                bad = float(numbers[~inside].flat[0])
                raise InputError(
                    "out-of-range",
                    entry.name,
                    f"{bad:g} {entry.domain.refusal(entry.name, bad)}",
                    bad,
                )
            size = np.abs(numbers)
            far = (numbers != 0) & (size < np.inf) & ((size < SMALLEST) | (size > LARGEST))
            if far.any():
                bad = float(numbers[far].flat[0])
                end, limit = ("most", LARGEST) if abs(bad) > 1 else ("least", SMALLEST)
                limited = f"{end}_{entry.name}"
                refuse_inputs(
                    "out-of-range",
                    f"{{{entry.name}}} is too extreme to compute; give at {end} {{{limited}}}",
                    value=bad,
                    **{entry.name: bad, limited: limit},
                )
            completed[entry.name] = numbers
        for bound in self.bounds:
            bound.check(completed)
        return completed

    def inside(self, **inputs: ArrayLike) -> NDArray[np.bool_]:
        """Returns, for each element of the broadcast inputs, True if all are in their domains.

        Raises:
            InputError: One is unknown or missing.
        """
        each = [entry.domain.holds(numbers) for entry, numbers in self._filled(inputs)]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*each)))

    def _filled(self, inputs: Mapping[str, ArrayLike]) -> Iterator[tuple[Input, Array]]:
        """Yields every input in the record's order with its given value or default."""
        for name in inputs:
            self.input(name)
        filled: dict[str, Array] = {}
        for entry in self.inputs:
            value = inputs.get(entry.name, entry.default)
            if value is None:
                unit = f", in {entry.unit}" if entry.unit else ""
                raise InputError(
                    "missing",
                    entry.name,
                    f"is missing; {self.name} needs it ({entry.meaning}{unit})",
                )
            filled[entry.name] = np.asarray(
                value.value(filled) if isinstance(value, Rule) else value, float
            )
            yield entry, filled[entry.name]

    def answer(self, **inputs: ArrayLike) -> dict[str, Array]:
        """Returns the outputs by name, each of the shape to which the inputs are broadcast.

        Args:
            inputs: Inputs by name, in the record's units; those with a default are optional.

        Raises:
            InputError: One is unknown, missing or out of its domain, or the answer takes too much
                work or is not a number.
        """
        completed = self.completed(**inputs)
        answered = self.evaluated(completed)
        for name, values in answered.items():
            if (undefined := np.isnan(values)).any():
                raise self._beyond(
                    {
                        each: np.broadcast_to(v, values.shape)[undefined]
                        for each, v in completed.items()
                    },
                    name,
                )
        return answered

    def evaluated(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the outputs for completed inputs, as `answer` does, but NaN without an error."""
        shape = np.broadcast_shapes(*(value.shape for value in inputs.values()))
        try:
            with np.errstate(all="ignore"):
                given = self.evaluate(**inputs)
        except RefusedInputsError as error:
            raise self._in_units(error) from None
        except (ArithmeticError, MemoryError):
            raise self._beyond(inputs, self.outputs[0].name) from None
        return {
            entry.name: _shaped(np.asarray(given[entry.name], float), shape)
            for entry in self.outputs
        }

    def _in_units(self, error: RefusedInputsError) -> RefusedInputsError:
        """Returns the error with quantities in the units of the record."""
        return error.formatted(lambda name, number: in_unit(number, self.input(name).unit))

    def _beyond(self, inputs: Mapping[str, Array], output: str) -> RefusedInputsError:
        """Returns the error for an answer that is NaN; it names the most extreme input."""
        sizes = {
            entry.name: np.abs(np.ravel(inputs[entry.name]))
            for entry in self.inputs
            if not entry.domain.values
        }
        extremes = {name: size[(size > 0) & (size < np.inf)] for name, size in sizes.items()}
        far = {
            name: float(np.abs(np.log(size)).max(initial=0.0)) for name, size in extremes.items()
        }
        name = max(far, key=lambda name: far[name])
        value = float(
            np.ravel(inputs[name])[np.argmax(np.abs(np.log(np.maximum(sizes[name], SMALLEST))))]
        )
        side = "less" if abs(value) > 1 else "more"
        words = f"{{{name}}} makes {output} undefined with the other inputs; give {side}"
        return self._in_units(
            RefusedInputsError("out-of-range", name, words, value, {name: (name, value)})
        )

    def goodputs(self, **inputs: ArrayLike) -> Array:
        """Returns the output `goodput` alone, as `answer` gives it, for many inputs at once."""
        if self.evaluate_goodput is None:
            return self.answer(**inputs)[self.goodput]
        with np.errstate(all="ignore"):
            return np.asarray(self.evaluate_goodput(**self.completed(**inputs)), float)

    def answer_path(self, path: FlowPath) -> tuple[dict[str, float], dict[str, float]]:
        """Returns all inputs and outputs by name for a flow to which the model applies.

        It uses the path's law of the round-trip time, if there is one and the model can use it.
        """
        inputs = {
            name: float(value) for name, value in self.completed(**self.inputs_of(path)).items()
        }
        law = path.round_trip.law
        if law is not None and any(table.name == "rtt_samples" for table in self.tables):
            samples = {"rtt_s": np.asarray(law.times_s), "weight": np.asarray(law.weights)}
            others = {name: value for name, value in inputs.items() if name != "rtt"}
            return inputs, self.answer_tables({"rtt_samples": samples}, **others)
        return inputs, {name: float(value) for name, value in self.answer(**inputs).items()}

    def answer_tables(
        self, tables: Mapping[str, Mapping[str, Array]], **inputs: float
    ) -> dict[str, float]:
        """Returns the outputs by name, with tables instead of the inputs that they replace.

        Args:
            tables: Columns of each table, by the names in `tables`.
            inputs: The other inputs by name; those with a default are optional.

        Raises:
            InputError: As `answer`; also if a table replaces an input that is given.
        """
        if self.evaluate_tables is None:
            raise InputError("unsupported", "", f"{self.name} takes no tables")
        try:
            with np.errstate(all="ignore"):
                given = self.evaluate_tables(tables, **self.beside_tables(tables, **inputs))
        except RefusedInputsError as error:
            raise self._in_units(error) from None
        return {entry.name: float(given[entry.name]) for entry in self.outputs}

    def beside_tables(
        self, tables: Mapping[str, Mapping[str, Array]], **inputs: float
    ) -> dict[str, float]:
        """Returns the inputs that tables leave, checked and completed with defaults.

        Raises:
            InputError: One is unknown, missing, out of its domain, or replaced by a table.
        """
        means: dict[str, float] = {}
        for table in self.tables:
            if table.name not in tables:
                continue
            for name in table.replaces:
                if name in inputs:
                    raise InputError(
                        "contradiction", name, f"is replaced by {table.name}; give one of the two"
                    )
            means |= zip(table.replaces, table.means(tables[table.name]), strict=True)
        numbers = self.completed(**inputs, **means)
        return {name: float(value) for name, value in numbers.items() if name not in means}

    def applies(self, path: FlowPath) -> Verdict:
        """Returns whether the model applies to a flow, and which assumptions the flow violates."""
        why_not = (
            path.loss.unknown
            or _slow_reader(path)
            or _closed_loop(path)
            or _other_start(path)
            or self.refusal(path)
        )
        if path.instances is None:
            why_not = (
                "its instances arrive over time, and the rate of each depends on how many are "
                "active"
            )
        if why_not:
            return Verdict(why_not)
        try:
            self.completed(**self.inputs_of(path))
            violations = [(each.name, each.violation(path)) for each in self.assumptions]
        except InputError as error:  # inputs out of their domains, or that contradict each other
            return Verdict(str(error))
        return Verdict(
            violated=tuple((name, how) for name, how in violations if how),
            accuracy=self.accuracy_of(self.goodput),
        )

    def described(self) -> dict[str, Any]:
        """Returns the record as plain data."""
        fields = ("name", "label", "summary", "reference", "formula", "goodput", "usual")
        return {name: getattr(self, name) for name in fields} | {
            "inputs": [_described_input(entry) for entry in self.inputs],
            "tables": [
                {
                    "name": table.name,
                    "replaces": list(table.replaces),
                    "columns": list(table.columns),
                    "others": list(table.others),
                    "meaning": table.meaning,
                }
                for table in self.tables
            ],
            "outputs": [_described(entry) for entry in self.outputs],
            "assumptions": [
                {"name": assumption.name, "sentence": assumption.sentence}
                for assumption in self.assumptions
            ],
            "accuracy": [
                {
                    "outputs": list(band.outputs),
                    "within": band.within,
                    "origin": band.origin,
                    "source": band.source,
                }
                for band in self.accuracy
            ],
        }


def _shaped(values: Array, shape: tuple[int, ...]) -> Array:
    """Returns a writable array of that shape, broadcast if necessary."""
    return values if values.shape == shape else np.array(np.broadcast_to(values, shape))


def _described(entry: Input | Output) -> dict[str, str]:
    return {
        "name": entry.name,
        "letter": entry.letter,
        "unit": entry.unit,
        "meaning": entry.meaning,
    }


def _described_input(entry: Input) -> dict[str, str]:
    default = entry.default.words if isinstance(entry.default, Rule) else entry.default
    if default is None:
        default = "required"
    elif not isinstance(default, str):
        default = "unlimited" if default == np.inf else f"{default:g}"
    return _described(entry) | {
        "default": default,
        "domain": entry.domain.words(entry.letter or entry.name),
    }
