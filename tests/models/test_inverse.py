"""Inverse questions: a solution gives the target, and a missing solution is reported."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models import Accuracy, Assumption, Domain, Input, Model, Output, solve

from ..refusals import refused

PFTK, SQUARE_ROOT, SAWTOOTH = (models.model(name) for name in ("pftk", "square_root", "sawtooth"))

few = settings(max_examples=25)


@few
@given(st.floats(1e-7, 0.5), st.floats(1e-3, 1))
def test_the_loss_rate_that_gives_a_throughput(loss: float, rtt: float) -> None:
    target = float(PFTK.answer(loss=loss, rtt=rtt, timeout=0.5)["throughput"])
    solution = solve(PFTK, "loss", target, rtt=rtt, timeout=0.5)
    assert solution.values == pytest.approx((loss,), rel=1e-9)
    assert (solution.unknown, solution.unit, solution.output, solution.target) == (
        "loss",
        "",
        "throughput",
        target,
    )


@few
@given(st.floats(1e-6, 0.5), st.floats(1e-3, 1))
def test_the_square_root_is_inverted_as_algebra_does(loss: float, rtt: float) -> None:
    rate = math.sqrt(1.5 / loss) / rtt
    assert solve(SQUARE_ROOT, "loss", rate, rtt=rtt).values == pytest.approx((loss,), rel=1e-9)
    assert solve(SQUARE_ROOT, "rtt", rate, loss=loss).values == pytest.approx((rtt,), rel=1e-9)


def test_an_answer_that_lies_on_the_grid_is_found() -> None:
    # Rounding moves it to either side of the grid's point.
    for rtt in np.linspace(0.01, 1, 200):
        rate = math.sqrt(1.5 / 1e-6) / rtt
        assert solve(SQUARE_ROOT, "loss", rate, rtt=float(rtt)).values == pytest.approx(
            (1e-6,), rel=1e-9
        )


@few
@given(st.floats(0.76, 0.999))
def test_the_buffer_for_a_utilisation(utilisation: float) -> None:
    path = {"rate": 3420.0, "rtt": 0.1}
    [buffer] = solve(SAWTOOTH, "buffer", utilisation, output="utilisation", **path).values
    assert SAWTOOTH.answer(buffer=buffer, **path)["utilisation"] == pytest.approx(
        utilisation, rel=1e-6
    )
    # The capacity that gives a goodput.
    [rate] = solve(SAWTOOTH, "rate", 1000.0, rtt=0.1, buffer=50).values
    assert SAWTOOTH.answer(rate=rate, rtt=0.1, buffer=50)["goodput"] == pytest.approx(1000)


def test_the_window_that_gives_a_throughput() -> None:
    [window] = solve(PFTK, "window", 300.0, loss=1e-4, rtt=0.1, timeout=0.4).values
    assert PFTK.answer(loss=1e-4, rtt=0.1, timeout=0.4, window=window)[
        "throughput"
    ] == pytest.approx(300, rel=1e-6)


def test_the_end_of_a_domain_is_in_it() -> None:
    assert solve(SAWTOOTH, "buffer", 0.75, output="utilisation", rate=1000, rtt=0.1).values == (0,)


def test_no_solution_says_the_best_there_is() -> None:
    # With random loss, no window gives more than this.
    most = float(PFTK.answer(loss=0.01, rtt=0.1, timeout=0.4)["throughput"])
    with refused("no-solution", ""):
        solve(PFTK, "window", 2 * most, loss=0.01, rtt=0.1, timeout=0.4)
    with refused("no-solution", ""):
        solve(SAWTOOTH, "buffer", 0.5, output="utilisation", rate=1000, rtt=0.1)


def made_of(evaluate) -> Model:
    """Returns a model of one input with any output."""
    return Model(
        name="any", label="any", summary="any", reference="none", formula="y(x)",
        inputs=(Input("x", "x", "", "x", domain=Domain(0, 10)),),
        outputs=(Output("y", "y", "segments/s", "y"),), goodput="y",
        assumptions=(Assumption("none", "none"),), evaluate=lambda x: {"y": evaluate(x)},
        inputs_of=lambda _: {}, refusal=lambda _: "",
        accuracy=(Accuracy(("y",), 0.0, "proof", "none"),),
    )  # fmt: skip


def test_all_solutions_are_found_where_there_are_several() -> None:
    model = made_of(lambda x: (x - 2) * (x - 5))
    assert solve(model, "x", 0.0).values == pytest.approx((2, 5))
    assert solve(model, "x", -2.0).values == pytest.approx((3, 4))
    with refused("no-solution", ""):
        solve(model, "x", -3.0)


def test_of_a_stretch_of_solutions_the_smallest_is_named() -> None:
    # Every buffer of at least a bandwidth-delay product keeps the link busy.
    [buffer] = solve(SAWTOOTH, "buffer", 1.0, output="utilisation", rate=3420, rtt=0.1).values
    assert buffer == pytest.approx(342, rel=1e-6)
    assert solve(made_of(lambda x: np.maximum(x, 4)), "x", 4.0).values[0] < 1e-9


def test_a_jump_is_no_solution() -> None:
    model = made_of(lambda x: np.where(x < 3, 1.0, 2.0))
    with refused("no-solution", ""):
        solve(model, "x", 1.5)


def test_an_input_of_a_few_values() -> None:
    mathis = models.model("mathis")
    rate = float(mathis.answer(loss=0.01, rtt=0.1, segments_per_ack=2)["periodic_losses"])
    assert solve(mathis, "segments_per_ack", rate, loss=0.01, rtt=0.1).values == (2,)
    with refused("no-solution", ""):
        solve(mathis, "segments_per_ack", 100.0, loss=0.01, rtt=0.1)


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        ({"unknown": "los"}, "unknown-field", "los"),
        ({"rtt": None}, "missing", "rtt"),
        ({"loss": 0.1}, "contradiction", "loss"),
        ({"output": "speed"}, "unknown-field", "speed"),
        ({"target": math.nan}, "out-of-range", "throughput"),
        ({"rtt": -1}, "out-of-range", "rtt"),
    ],
)
def test_a_wrong_question_is_refused(arguments: dict, code: str, field: str) -> None:
    asked = {"unknown": "loss", "target": 100.0, "rtt": 0.1} | arguments
    asked = {name: value for name, value in asked.items() if value is not None}
    with refused(code, field):
        solve(PFTK, **asked)
