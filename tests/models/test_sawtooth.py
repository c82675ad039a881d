"""The saw-tooth: tabulated utilisations, integrals against a sum over rounds, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import sawtooth

from ..refusals import refused

MODEL = sawtooth.MODEL

paths = {
    "rate": st.floats(10, 1e6),
    "rtt": st.floats(1e-3, 1),
    "buffer": st.just(0.0) | st.floats(1e-9, 1e5),
}
aimd = {"additive_increase": st.floats(0.1, 4), "decrease_factor": st.floats(0.1, 0.95)}


def test_the_tabulated_utilisations_of_reno() -> None:
    buffers = [5, 30, 70, 100, 150, 200, 270, 338]
    expected = [0.761, 0.810, 0.873, 0.909, 0.952, 0.978, 0.995, 1.000]
    says = MODEL.answer(rate=3420, rtt=0.1, buffer=buffers)
    np.testing.assert_allclose(says["utilisation"], expected, rtol=0, atol=0.0005)


@given(**{name: paths[name] for name in ("rate", "rtt")})
def test_no_buffer_wastes_a_quarter(rate: float, rtt: float) -> None:
    says = MODEL.answer(rate=rate, rtt=rtt, buffer=0)
    assert says["utilisation"] == pytest.approx(0.75, rel=1e-12)
    assert says["mean_queue"] == 0


@given(**paths, **aimd)
def test_a_full_buffer_and_no_less_keeps_the_link_busy(
    rate: float, rtt: float, buffer: float, additive_increase: float, decrease_factor: float
) -> None:
    says = MODEL.answer(
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        additive_increase=additive_increase,
        decrease_factor=decrease_factor,
    )
    full = float(says["full_buffer"])
    assert full == pytest.approx(rate * rtt * (1 - decrease_factor) / decrease_factor)
    if buffer < full * (1 - 1e-3):
        assert says["utilisation"] < 1
    if buffer > full * (1 + 1e-9):
        assert says["utilisation"] == 1


@pytest.mark.slow
@given(**paths, **aimd, flows=st.integers(1, 50))
def test_its_laws(
    rate: float,
    rtt: float,
    buffer: float,
    additive_increase: float,
    decrease_factor: float,
    flows: int,
) -> None:
    says = MODEL.answer(
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        additive_increase=additive_increase,
        decrease_factor=decrease_factor,
        flows=flows,
    )
    assert 0 < says["utilisation"] <= 1
    assert 0 <= says["mean_queue"] <= buffer
    assert rtt <= says["mean_rtt"] <= says["largest_rtt"] * (1 + 1e-12)
    # Little's law in another form: the flows together get the link's throughput.
    assert says["goodput"] * flows == pytest.approx(float(says["utilisation"]) * rate)
    # A cycle with whole segments, detection and repair carries more than the fluid one.
    lost = max(additive_increase, 1.0)
    assert says["loss_rate"] * says["goodput"] * says["period"] < lost


@pytest.mark.slow
@given(**paths, **aimd, more=st.floats(1.01, 3))
def test_a_larger_buffer_uses_more_and_delays_more(
    rate: float,
    rtt: float,
    buffer: float,
    additive_increase: float,
    decrease_factor: float,
    more: float,
) -> None:
    less = MODEL.answer(
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        additive_increase=additive_increase,
        decrease_factor=decrease_factor,
    )
    larger = MODEL.answer(
        rate=rate,
        rtt=rtt,
        buffer=buffer * more,
        additive_increase=additive_increase,
        decrease_factor=decrease_factor,
    )
    assert larger["utilisation"] >= less["utilisation"] - 1e-12
    assert larger["mean_queue"] >= less["mean_queue"] * (1 - 1e-9)
    assert larger["loss_rate"] <= less["loss_rate"]


@pytest.mark.slow
@given(**paths, factor=st.floats(0.1, 10))
def test_time_has_no_scale_of_its_own(
    rate: float, rtt: float, buffer: float, factor: float
) -> None:
    unscaled, other = (
        MODEL.answer(rate=rate / scale, rtt=rtt * scale, buffer=buffer) for scale in (1, factor)
    )
    assert other["utilisation"] == pytest.approx(float(unscaled["utilisation"]))
    assert other["mean_queue"] == pytest.approx(float(unscaled["mean_queue"]), rel=1e-6, abs=1e-6)
    assert other["period"] == pytest.approx(float(unscaled["period"]) * factor)


@pytest.mark.parametrize("buffer", [0, 50, 400, 2000, 6000])
@pytest.mark.parametrize(
    ("alpha", "beta", "flows", "b"), [(1, 0.5, 1, 1), (0.2, 0.875, 1, 1), (1, 0.7, 10, 2)]
)
def test_the_integrals_are_the_sum_over_rounds(
    buffer: float, alpha: float, beta: float, flows: int, b: int
) -> None:
    mu, T = 10_000, 0.2
    top, step = mu * T + buffer, flows * alpha / b
    W = np.arange(beta * top + step / 2, top, step)  # each round at its middle
    length = np.maximum(T, W / mu)
    queue = np.maximum(W - mu * T, 0)
    says = MODEL.answer(
        rate=mu,
        rtt=T,
        buffer=buffer,
        additive_increase=alpha,
        decrease_factor=beta,
        flows=flows,
        segments_per_ack=b,
    )
    assert says["period"] == pytest.approx(length.sum(), rel=0.01)
    assert says["utilisation"] == pytest.approx(W.sum() / mu / length.sum(), rel=1e-3)
    # One loss of each flow in a cycle, whose last window overflows and is followed by a repair.
    cycle = W.sum() + ((1 + beta) / 2 + (1 + step) / step) * W[-1] - (1 + step) / step * beta * W[0]
    assert says["loss_rate"] == pytest.approx(flows / cycle, rel=0.01)
    assert says["mean_queue"] == pytest.approx(
        (queue * length).sum() / length.sum(), rel=0.01, abs=0.01
    )


def test_gentle_decrease_and_tiny_buffers_do_not_cancel() -> None:
    # beta -> 1: the queue stays at its limit, and the loss depends on alpha alone.
    says = MODEL.answer(rate=1000, rtt=0.1, buffer=100, decrease_factor=1 - 1e-9)
    assert says["mean_queue"] == pytest.approx(100, rel=1e-6)
    tiny = MODEL.answer(rate=1000, rtt=0.1, buffer=1e-6)
    # A = x^3/3 + P x^2/2 over the cycle's five seconds (a = 1, mu = 1000, P = 100).
    assert tiny["mean_queue"] == pytest.approx((1e-18 / 3 + 100 * 1e-12 / 2) / 1000 / 5, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"rate": 0}, "rate"), ({"buffer": -1}, "buffer"), ({"buffer": math.inf}, "buffer"),
        ({"decrease_factor": 1}, "decrease_factor"),
     ({"flows": 0.5}, "flows"), ({"rtt": math.nan}, "rtt")],
)  # fmt: skip
def test_what_it_is_not_meant_for_is_refused(wrong: dict, name: str) -> None:
    with refused("out-of-range", name):
        MODEL.answer(**({"rate": 1000, "rtt": 0.1, "buffer": 10} | wrong))
