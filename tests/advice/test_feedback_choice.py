"""Choice of the advised scheme, from made-up outcomes."""

from typing import Any

import numpy as np
import pytest

from ackclock.advice import feedback
from ackclock.advice.outcomes import Outcome, Outcomes
from ackclock.advice.time_scale import Estimate


def made(spread: float, **schemes: tuple[float, float]) -> Outcomes:
    """Returns outcomes with resamples around efficiencies and waits (s), the simplest first."""
    draw = np.random.default_rng(1)

    def resampled(value: float, share: float) -> np.ndarray:
        return np.concatenate([[value], value * (1 + share * draw.standard_normal(400))])

    class Named:
        def __init__(self, label: str) -> None:
            self.label = label

    efficiency = {name: resampled(pair[0], spread / 10) for name, pair in schemes.items()}
    delay = {name: resampled(pair[1], spread) for name, pair in schemes.items()}
    nothing: Any = Estimate(0.0, 0.0, 0.0)
    each = [
        Outcome(
            Named(name),
            Estimate(pair[0], *(2 * [pair[0]])),
            nothing,
            Estimate(pair[1], *(2 * [pair[1]])),
            nothing,
        )
        for name, pair in schemes.items()
    ]
    return Outcomes(each, 20, 1.0, 0.95, efficiency, delay)


@pytest.mark.parametrize("spread", [0.01, 0.5, 2.0])
def test_of_schemes_that_deliver_the_same_the_one_with_short_waits(spread: float) -> None:
    outcomes = made(spread, none=(0.9, 0.161), instcap=(0.901, 0.063), effcap=(0.7, 0.02))
    assert feedback._chosen(outcomes).scheme.label == "instcap"


def test_of_schemes_that_wait_about_as_long_the_simplest() -> None:
    assert (
        feedback._chosen(made(0.3, none=(0.9, 0.065), instcap=(0.9, 0.063))).scheme.label == "none"
    )


def test_what_is_shown_to_deliver_less_is_not_advised_for_its_waits() -> None:
    assert (
        feedback._chosen(made(0.01, none=(0.9, 0.161), effcap=(0.7, 0.02))).scheme.label == "none"
    )
