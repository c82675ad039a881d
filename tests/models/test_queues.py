"""Models of PIE, PI2, CoDel and DualPI2 in steady state, against numbers computed by hand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ackclock.models import codel_cycle, dualpi2_shares, steered_queue

#: 10 Mbit/s in packets of 12 kbit.
MU = 1e7 / 12_000


def test_reno_through_pie() -> None:
    """W = C (R + 15 ms)/N and p = 1.5/W^2, with R = 100 ms."""
    says = steered_queue.MODEL.answer(rate=MU, rtt=0.1, target=0.015, flows=[1, 5])
    np.testing.assert_allclose(says["window"], [95.83, 19.17], rtol=3e-4)
    np.testing.assert_allclose(says["loss_rate"], [1.633e-4, 4.083e-3], rtol=3e-4)
    np.testing.assert_allclose(says["base_probability"] ** 2, says["loss_rate"])
    np.testing.assert_allclose(says["mean_rtt"], 0.115)


@given(
    rate=st.floats(1e2, 1e7),
    rtt=st.floats(1e-3, 1),
    target=st.floats(1e-4, 0.1),
    flows=st.integers(1, 100),
)
def test_flows_share_the_window(rate: float, rtt: float, target: float, flows: int) -> None:
    """N flows have an Nth of the window, and N^2 times the drop probability up to 1."""
    one = steered_queue.MODEL.answer(rate=rate, rtt=rtt, target=target)
    many = steered_queue.MODEL.answer(rate=rate, rtt=rtt, target=target, flows=flows)
    assert many["window"] == pytest.approx(float(one["window"]) / flows)
    if one["loss_rate"] < 1:
        expected = min(1.0, float(one["loss_rate"]) * flows**2)
        assert many["loss_rate"] == pytest.approx(expected)


def test_the_cycle_of_codel() -> None:
    """With a target and an interval near zero the cycle is mu T^2/2 = 4.17 s.

    The segment by which the window grows until the sender hears of the drop is left out of it.
    """
    says = codel_cycle.MODEL.answer(
        rate=MU, rtt=0.1, target=1e-9, interval=1e-9, additive_increase=1e-6
    )
    assert says["period"] * 1e-6 == pytest.approx(MU * 0.1**2 / 2, rel=1e-5)
    assert says["utilisation"] == pytest.approx(0.75, rel=1e-5)
    usual = codel_cycle.MODEL.answer(rate=MU, rtt=0.1, target=0.005, interval=0.1)
    # 5 ms are 4.17 packets, and in an interval and a round trip the window grows by 1 + 100/105.
    assert usual["longest_queue"] == pytest.approx(0.005 * MU + 1 + 100 / 105)
    assert 0.75 < usual["utilisation"] < 0.85
    assert usual["period"] > says["period"] * 1e-6


def test_the_shares_of_dualpi2() -> None:
    """At 40 Mbit/s: round-trip times of 10.5 and 25 ms, queues included."""
    says = dualpi2_shares.MODEL.answer(rate=4e7 / 12_000, rtt=0.01, low_latency_delay=0.0005)
    assert says["base_probability"] == pytest.approx(0.0433, abs=5e-5)
    assert says["mark_probability"] == pytest.approx(0.0865, abs=5e-5)
    assert says["classic_probability"] == pytest.approx(0.001872, abs=5e-7)
    assert says["low_latency_rate"] == pytest.approx(2201, abs=0.5)
    assert says["classic_rate"] == pytest.approx(1132, abs=0.5)


def test_equal_round_trips_give_the_printed_ratio_of_windows() -> None:
    says = dualpi2_shares.MODEL.answer(rate=1000, rtt=0.05, classic_target=0, low_latency_delay=0)
    assert says["low_latency_window"] / says["classic_window"] == pytest.approx(0.8165, abs=5e-5)


@given(
    rate=st.floats(1e3, 1e6),
    rtts=st.tuples(st.floats(5e-3, 0.2), st.floats(5e-3, 0.2)),
    flows=st.tuples(st.integers(0, 5), st.integers(1, 5)),
)
def test_the_link_is_full(rate: float, rtts: tuple[float, float], flows: tuple[int, int]) -> None:
    scalable, reno = flows[0] / (rtts[0] + 0.0005), 1.5**0.5 * flows[1] / (rtts[1] + 0.015)
    assume(scalable + reno < rate / 2)  # no overload: the coupled probability is below 1
    says = dualpi2_shares.MODEL.answer(
        rate=rate,
        low_latency_rtt=rtts[0],
        rtt=rtts[1],
        low_latency_flows=flows[0],
        classic_flows=flows[1],
    )
    total = flows[0] * says["low_latency_rate"] + flows[1] * says["classic_rate"]
    assert total == pytest.approx(rate)
