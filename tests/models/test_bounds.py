"""Every model answers or refuses in one line with bounded work, for any input.

The work is counted, not timed: Python's function calls, and the memory that is asked for.
"""

import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from pathlib import Path

import numpy as np
import pytest

from ackclock import models
from ackclock.models import InputError, Model

from ..refusals import refused
from .test_record import every_model, given_of

#: Function calls, Python's and compiled ones: some ten seconds.
MOST_CALLS = 4_000_000
#: Processor time in seconds after which an answer is not waited for: sixty times that.
GIVEN_UP_S = 600.0
#: Memory in bytes that an answer may take in addition, compiled code included.
MOST_MEMORY = 1_000_000_000
EXTREMES = (1e-100, 1e-12, 1e-3, 1.0, 50.0, 1e6, 1e12, 1e100)
BEYOND = (5e-324, 1e-300, 1e300, 1.7976931348623157e308)
# A longer simulation does the same kind of work; its bound counts `steps of a flow`.
SIMULATED = {"hstcp_window_sim"}


class TooMuchWorkError(AssertionError):
    """Raised for more calls, or more time, than any answer takes."""


def counted(ask: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Returns the answer, within the bounds."""
    profile = Profile()
    with memory_limited(), ended_after(GIVEN_UP_S):
        answer = profile.runcall(ask)
    if sum(function.callcount for function in profile.getstats()) > MOST_CALLS:
        raise TooMuchWorkError
    return answer


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raises `TooMuchWorkError` within what takes more of the processor's time."""

    def give_up(*_: object) -> None:
        raise TooMuchWorkError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def memory_limited() -> Iterator[None]:
    """Lets the process take `MOST_MEMORY` more; an answer that asks for more has a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    most = pages * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def values_of(entry: models.Input) -> list[float]:
    """Returns the ends of the domain, their neighbours, and numbers of every size within it."""
    low, high = entry.domain.low, entry.domain.high
    near = [low, high, np.nextafter(low, np.inf), np.nextafter(high, -np.inf)]
    every = entry.domain.values or (*near, *EXTREMES, *BEYOND)
    return sorted({float(value) for value in every if entry.domain.holds(value)})


@pytest.mark.long
@every_model
def test_every_input_at_every_size(model: Model) -> None:
    base = given_of(model)
    if model.name in SIMULATED:
        base |= {"duration": 0.2, "warmup": 0.1}
    model.answer(**base)  # imports what the model needs, which is not counted
    for entry in model.inputs:
        for value in values_of(entry):
            given = answer_or_refusal(model, base | {entry.name: value})
            if isinstance(given, InputError):
                assert given.field in {each.name for each in model.inputs}, (
                    entry.name,
                    value,
                    given,
                )
                assert "\n" not in str(given)
            else:
                assert not any(np.isnan(number) for number in given.values()), (entry.name, value)


def answer_or_refusal(model: Model, asked: dict[str, float]) -> dict[str, np.ndarray] | InputError:
    try:
        return counted(lambda: model.answer(**asked))
    except InputError as error:
        return error


@pytest.mark.parametrize(
    ("name", "field", "asked"),
    [
        ("mm1k", "flows", {"flows": 1e12}),
        ("mm1k_burst", "flows", {"flows": np.full(20, 1e5)}),
        ("hstcp_red", "places", {"places": 1e7}),
        ("hstcp_red", "flows", {"flows": 1e12}),
        ("hstcp_window_sim", "flows", {"flows": 1e9}),
        ("hstcp_window_sim", "flows", {"runs": 1e9}),
        ("hstcp_window_sim", "flows", {"rtt": np.linspace(0.1, 0.2, 10_000)}),
    ],
)
def test_too_much_work_is_refused_before_it_is_begun(
    name: str, field: str, asked: dict[str, float]
) -> None:
    model = models.model(name)
    with refused("out-of-range", field, "at most"):
        counted(lambda: model.answer(**(given_of(model) | asked)))


def test_more_memory_than_any_answer_takes_is_refused() -> None:
    assert counted(lambda: {"half": np.empty(MOST_MEMORY // 2, np.int8)})
    with pytest.raises(MemoryError):
        counted(lambda: {"twice": np.empty(MOST_MEMORY * 2, np.int8)})


def test_more_calls_than_any_answer_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "MOST_CALLS", 1000)
    assert counted(lambda: {"few": np.array([abs(-1) for _ in range(900)])})
    with pytest.raises(TooMuchWorkError):
        counted(lambda: {"many": np.array([abs(-1) for _ in range(1100)])})


def test_an_answer_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "GIVEN_UP_S", 0.1)
    with pytest.raises(TooMuchWorkError):
        counted(lambda: {"for ever": np.array([0 for _ in iter(int, 1)])})


@pytest.mark.parametrize("value", BEYOND)
def test_extreme_numbers_are_refused(value: float) -> None:
    with refused("out-of-range", "rtt", "too extreme"):
        models.model("square_root").answer(loss=0.01, rtt=value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "unknown", "output", "target"),
    [
        ("aimd_chain", "decrease_factor", "throughput", 250.0),
        ("aimd_chain", "loss", "throughput", 60.0),
        ("instcap", "psi", "efficiency", 0.8),
        ("tcp_alone", "psi", "efficiency", 0.7),
    ],
)
def test_a_question_backwards_takes_few_answers(
    name: str, unknown: str, output: str, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each answer of these models is a chain of some milliseconds; 4,000 would take a minute.
    model, asked = models.model(name), []
    evaluated = Model.evaluated

    def counting(self: Model, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        asked.append(np.broadcast_shapes(*(value.shape for value in inputs.values())))
        return evaluated(self, inputs)

    monkeypatch.setattr(Model, "evaluated", counting)
    given = {key: value for key, value in given_of(model).items() if key != unknown}
    [value] = models.solve(model, unknown, target, output=output, **given).values
    assert model.answer(**given, **{unknown: value})[output] == pytest.approx(target, rel=1e-6)
    assert sum(int(np.prod(shape)) for shape in asked) < 600
