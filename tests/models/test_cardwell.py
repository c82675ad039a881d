"""Transfers: check values, laws of the parts, and limits that can be counted by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import cardwell, pftk

from ..refusals import refused

MODEL = cardwell.MODEL
PAPERS = {"timeout": 0.4, "window": 64, "segments_per_ack": 2, "initial_window": 2, "syn_timer": 3}

sizes = st.integers(1, 10**6)
losses = st.floats(1e-7, 0.4)


def test_the_check_values() -> None:
    says = MODEL.answer(
        size=100, loss=0.01, rtt=0.1, ack_loss=0.01, first_delayed_ack=0.1, **PAPERS
    )
    expected = {
        "slow_start_segments": (63.7628, 4), "slow_start_window": (22.5876, 4),
        "slow_start_time": (0.697895, 6), "loss_time": (0.096922, 6),
        "congestion_avoidance_time": (0.492402, 6), "handshake_time": (0.161224, 6),
        "delayed_ack_time": (0.1, 6), "time": (1.548443, 6),
    }  # fmt: skip
    for name, (value, digits) in expected.items():
        assert says[name] == pytest.approx(value, abs=0.5001 * 10**-digits), name
    lossless = MODEL.answer(size=10, loss=0, rtt=0.1, **PAPERS)
    assert lossless["slow_start_time"] == pytest.approx(0.308969, abs=0.5001e-6)
    assert lossless["loss_time"] == lossless["congestion_avoidance_time"] == 0


@pytest.mark.slow
@given(sizes, losses, st.floats(1e-3, 2), st.integers(1, 100), st.integers(1, 2))
def test_the_parts_make_the_whole(size: int, loss: float, rtt: float, w1: int, b: int) -> None:
    says = MODEL.answer(
        size=size, loss=loss, rtt=rtt, initial_window=w1, segments_per_ack=b, ack_loss=loss
    )
    parts = [says[name] for name in says if name.endswith("_time")]
    assert sum(parts) == pytest.approx(float(says["time"]))
    assert min(parts) >= 0
    assert says["mean_rate"] == pytest.approx(size / float(says["time"]))
    assert 1 <= says["slow_start_segments"] <= size


@pytest.mark.slow
@given(st.integers(1, 10**5), losses, st.floats(1e-3, 1), st.floats(1.01, 3))
def test_longer_ways_and_larger_transfers_take_longer(
    size: int, loss: float, rtt: float, factor: float
) -> None:
    time = MODEL.answer(size=size, loss=loss, rtt=rtt)["time"]
    assert MODEL.answer(size=size, loss=loss, rtt=rtt * factor)["time"] > time
    assert (
        MODEL.answer(size=size * factor, loss=0, rtt=rtt)["time"]
        > MODEL.answer(size=size, loss=0, rtt=rtt)["time"]
    )


@pytest.mark.slow
@given(st.integers(1, 10**5), losses, st.floats(1e-3, 1), st.floats(0.01, 100))
def test_time_has_no_scale_of_its_own(size: int, loss: float, rtt: float, factor: float) -> None:
    def time(scale: float) -> float:
        timers = {"rtt": rtt, "timeout": 4 * rtt, "syn_timer": 1.0, "first_delayed_ack": 0.1}
        return float(
            MODEL.answer(
                size=size, loss=loss, **{name: timer * scale for name, timer in timers.items()}
            )["time"]
        )

    assert time(factor) == pytest.approx(factor * time(1), rel=1e-12)


@pytest.mark.slow
@given(st.integers(1, 14), st.integers(1, 20), st.floats(1e-3, 1))
def test_whole_rounds_of_a_slow_start_are_counted(rounds: int, w1: int, rtt: float) -> None:
    # Doubling from w1 for n round trips sends w1 (2^n - 1).
    size = w1 * (2**rounds - 1)
    says = MODEL.answer(
        size=size, loss=0, rtt=rtt, segments_per_ack=1, initial_window=w1, handshake=0
    )
    assert says["time"] == pytest.approx(rounds * rtt, rel=1e-9)


def test_a_window_limit_makes_a_long_transfer_linear() -> None:
    single, double = (
        float(MODEL.answer(size=size, loss=0, rtt=0.1, window=50)["time"]) for size in (1e5, 2e5)
    )
    assert double - single == pytest.approx(1e5 / 50 * 0.1, rel=1e-9)


def test_a_long_lossy_transfer_goes_at_pftks_rate() -> None:
    says = MODEL.answer(size=1e9, loss=0.02, rtt=0.1, timeout=0.4, segments_per_ack=2)
    assert says["mean_rate"] == pytest.approx(float(pftk.goodput(0.02, 0.1, 0.4)), rel=1e-4)


def test_hardly_any_loss_is_none() -> None:
    seldom, never = (MODEL.answer(size=1000, loss=loss, rtt=0.1)["time"] for loss in (1e-12, 0))
    assert seldom == pytest.approx(float(never), rel=1e-6)


def test_a_window_limit_is_met_without_a_jump() -> None:
    # Where slow start just reaches the limit, both forms agree.
    limit = float(cardwell.slow_start_window(500, 10, 1))
    below, above = (
        cardwell.slow_start_time(500, 0.1, limit * factor, 1, 10) for factor in (1 - 1e-9, 1 + 1e-9)
    )
    assert below == pytest.approx(float(above), rel=1e-6)


def test_arguments_are_broadcast() -> None:
    says = MODEL.answer(size=[[10], [1000]], loss=[0, 0.01, 0.1], rtt=0.1)
    assert {values.shape for values in says.values()} == {(2, 3)}
    assert np.isfinite(list(says.values())).all()


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"loss": 0.5}, "loss"), ({"size": 0}, "size"), ({"initial_window": 0.5}, "initial_window"),
     ({"rtt": math.nan}, "rtt"), ({"handshake": 0.5}, "handshake"),
     ({"ack_loss": -0.1}, "ack_loss")],
)  # fmt: skip
def test_what_it_is_not_meant_for_is_refused(wrong: dict, name: str) -> None:
    with refused("out-of-range", name):
        MODEL.answer(**({"size": 10, "loss": 0.01, "rtt": 0.1} | wrong))
