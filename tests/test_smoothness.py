"""Smoothness and equivalence of rates at a time scale: by hand, and by laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import Scenario, plot, simulate
from ackclock.metrics import (
    by_replicate,
    coefficient_of_variation,
    equivalence_of,
    equivalence_ratio,
    metric,
    rate_cov,
    shown_time_scales,
    summarise,
)
from ackclock.metrics.rates import Series, even_edges
from ackclock.plot.variation import variation

from .refusals import refused
from .sampled import sampled

# The square of every nonzero rate is a finite number above zero.
rates = st.lists(st.just(0.0) | st.floats(1e-3, 1e9), min_size=1, max_size=50)


def test_a_coefficient_of_variation_by_hand() -> None:
    # Mean 3, deviations -2 -1 0 1 2: variance 10/4.
    assert coefficient_of_variation([1, 2, 3, 4, 5]) == pytest.approx(math.sqrt(2.5) / 3)
    assert coefficient_of_variation([7] * 5) == 0
    assert math.isnan(coefficient_of_variation([1, 2, 3, 4]))
    assert math.isnan(coefficient_of_variation([0] * 9))


def test_an_equivalence_by_hand() -> None:
    # 1/2, 1, 0; an interval in which neither sends does not count.
    assert equivalence_ratio([1, 3, 0, 0], [2, 3, 5, 0]) == pytest.approx(0.5)
    assert math.isnan(equivalence_ratio([0, 0], [0, 0]))


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=50))
def test_equivalence_is_symmetric_a_share_and_one_with_itself(
    pairs: list[tuple[float, float]],
) -> None:
    a, b = zip(*pairs, strict=True)
    ratio = equivalence_ratio(a, b)
    if max(*a, *b) == 0:
        assert math.isnan(ratio)
        return
    assert ratio == equivalence_ratio(b, a)
    assert 0 <= ratio <= 1
    if max(a) > 0:
        assert equivalence_ratio(a, a) == 1


@pytest.mark.slow
@given(rates, st.floats(1e-3, 1e3))
def test_variation_knows_no_unit(values: list[float], factor: float) -> None:
    plain, other = (
        coefficient_of_variation(values),
        coefficient_of_variation(np.multiply(values, factor)),
    )
    assert plain == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)
    assert math.isnan(plain) or plain >= 0


def mean(result, quantity) -> float:
    return summarise(result, quantity)[0].interval.mean


def test_a_constant_rate_has_no_variation_at_any_time_scale() -> None:
    result = sampled([{"f": [[800.0] * 600]}])
    for scale in (0.1, 0.2, 0.25, 1, 7):
        # 0.25 s is not a multiple of the samples' 0.1 s: intervals end at samples, and none is cut.
        assert mean(result, rate_cov(scale)) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_the_variation_of_independent_increments_falls_as_the_root_of_the_time_scale() -> None:
    draws = np.random.default_rng(1).gamma(
        4.0, 100.0, (40, 4000)
    )  # a coefficient of variation of 1/2 each
    result = sampled([{"f": list(draws)}])
    for count in (1, 4, 16, 64):
        # 40 x 4000/count values determine a standard deviation to 1/sqrt(2 x that), at most 1.4 %;
        # the tolerance is four times that.
        expected = 0.5 / math.sqrt(count)
        assert mean(result, rate_cov(0.1 * count)) == pytest.approx(
            expected, rel=4 / math.sqrt(320e3 / count)
        )


def test_a_wave_shorter_than_the_time_scale_is_not_seen() -> None:
    result = sampled([{"f": [[100.0, 300.0] * 300]}])
    assert mean(result, rate_cov(0.1)) == pytest.approx(0.5, rel=1e-3)
    assert mean(result, rate_cov(0.2)) == pytest.approx(0, abs=1e-9)


def sampled_at(times: list[float]) -> Series:
    time_s = np.array(times)
    return Series(0, 0, "f", 0, times[0], times[-1], time_s, time_s, is_rate=False)


@given(
    st.lists(st.integers(0, 2000), min_size=2, max_size=40, unique=True),
    st.sampled_from([0.1, 0.2, 1.0, 7.0]),
)
def test_edges_are_the_samples_nearest_to_each_multiple(tenths: list[int], scale: float) -> None:
    series = sampled_at([tenth / 10 for tenth in sorted(tenths)])
    times = series.time_s
    multiples = np.arange(times[0], times[-1] + scale * 1e-6, scale)
    # Of two that are equally near, rounding decides.
    gaps = np.abs(times[:, np.newaxis] - multiples)
    nearest = gaps <= gaps.min(axis=0) + 1e-9
    edges = series.edges(scale, 0, math.inf)
    assert all(nearest[times == edge].any() for edge in edges)
    assert all(np.isin(times[rows], edges).any() for rows in nearest.T)


def test_a_pause_of_centuries_makes_no_bins() -> None:
    times = [0.0, 0.25, 0.5, 2.0**33, 2.0**33 + 0.25]
    assert sampled_at(times).edges(0.25, 0, math.inf).tolist() == times
    assert even_edges(0.25, 0.0, times[-1], len(times)).size == 0
    assert even_edges(0.2, 0.0, 1.0, 10).tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])


def test_only_the_time_counts_in_which_a_flow_is_there_and_measured() -> None:
    wild = np.random.default_rng(1).exponential(500, 200)
    calm = np.full(300, 200.0)
    warm = sampled([{"f": [np.concatenate([wild, calm])]}], warmup_s=20)
    late = sampled([{"f": [np.concatenate([np.zeros(200), calm])]}], start_s=20)
    for result in (warm, late):
        assert mean(result, rate_cov(1)) == pytest.approx(0, abs=1e-9)
    assert mean(sampled([{"f": [np.concatenate([wild, calm])]}]), rate_cov(1)) > 0.1


def test_instances_together_or_each_and_runs_that_are_not_to_be_reliable_are_left_out() -> None:
    wave, flat = [100.0, 300.0] * 50, [200.0] * 100
    replicates = [{"f": [wave, flat]}, {"f": [wave, flat]}, {"f": [wave, wave]}]
    each = {
        summary.subject: summary.interval
        for summary in summarise(sampled(replicates), rate_cov(0.1, each=True))
    }
    swing = coefficient_of_variation(wave)
    assert each["f/0"] == pytest.approx((swing, 0, 3))
    assert each["f/1"].mean == pytest.approx(swing / 3)
    assert each["f/1"].half_width > 0
    [reliable] = summarise(sampled(replicates, reliable=[True, True, False]), rate_cov(0.1))
    assert reliable.interval == pytest.approx((swing / 2, 0, 2))


def test_what_is_sent_is_not_what_is_delivered_or_allowed() -> None:
    result = sampled([{"f": [[100.0] * 60]}], allowed=True)
    packets = result.tables["samples"]["sent_packets"].to_numpy()
    delivered = (packets // 100 * 100 * 125).tolist()  # in bursts of a second's packets
    index = result.tables["samples"].column_names.index("delivered_bytes")
    result.tables["samples"] = result.tables["samples"].set_column(
        index, "delivered_bytes", [delivered]
    )
    assert mean(result, rate_cov(0.1, "delivered")) > 1
    for source in ("sent", "allowed"):
        assert mean(result, rate_cov(0.1, source)) == pytest.approx(0, abs=1e-9)


def test_equivalence_of_two_flows_at_a_time_scale() -> None:
    # In turns: at the samples' time scale only one sends; over two of them they are equal.
    result = sampled([{"a": [[400.0, 0.0] * 50], "b": [[0.0, 400.0] * 50]}] * 2)
    assert by_replicate(result, equivalence_of("a", "b", 0.1)) == {(0, "a and b"): {0: 0, 1: 0}}
    [over_both] = summarise(result, equivalence_of("a", "b", 0.2))
    assert over_both.interval == pytest.approx((1, 0, 2))
    three = sampled([{"a": [[100.0] * 50, [200.0] * 50, [400.0] * 50], "b": [[400.0] * 50]}])
    assert mean(three, equivalence_of("a", "a", 1)) == pytest.approx((1 / 2 + 1 / 4 + 1 / 2) / 3)
    assert mean(three, equivalence_of("a", "b", 1)) == pytest.approx((1 / 4 + 1 / 2 + 1) / 3)


def test_a_time_scale_that_samples_do_not_show_is_refused_in_one_line() -> None:
    result = sampled([{"f": [[100.0] * 100]}], every_s=0.5)
    for quantity in (rate_cov(0.2), equivalence_of("f", "f", 0.2)):
        with refused("contradiction", "time scale", "0.2 s", "0.5 s"):
            summarise(result, quantity)
    with refused("out-of-range", "time scale"):
        summarise(result, rate_cov(0))
    with refused("unknown-name", "flow", "g"):
        summarise(result, equivalence_of("f", "g", 1))
    with refused("no-data", "source", "allowed"):
        summarise(result, rate_cov(1, "allowed"))
    assert shown_time_scales(result) == [0.5, 1, 2, 5, 10]
    # The metric without a time scale of its own reports NaN.
    assert math.isnan(mean(sampled([{"f": [[100.0] * 100]}], every_s=2), metric("rate_cov")))
    assert mean(result, metric("rate_cov")) == pytest.approx(0, abs=1e-9)


def test_the_figure_of_a_run_and_its_numbers(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[1].scenario
    flow = point.tree["flows"][0]
    steady = {"name": "steady", "route": flow["route"], "transport": {"kind": "udp"}}
    steady |= {"traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    result = simulate(point.replace(flows=[flow | {"count": 2}, steady], duration="21 s"))
    of_scale = {
        scale: {
            summary.subject: summary.interval.mean for summary in summarise(result, rate_cov(scale))
        }
        for scale in shown_time_scales(result)
    }
    assert list(of_scale) == [0.2, 0.5, 1, 2]
    # A packet more or less of the 17 in 0.2 s, and TCP's saw-teeth.
    assert all(0 <= means["steady"] < 0.06 < 0.1 < means["main"] for means in of_scale.values())
    [axes] = plot.draw(variation(result)).axes
    lines = {
        line.get_label(): line.get_ydata() for line in axes.lines if line.get_label()[0] != "_"
    }
    assert list(lines) == ["main ×2 (Reno)", "steady (UDP)"]
    np.testing.assert_allclose(
        lines["main ×2 (Reno)"], [means["main"] for means in of_scale.values()]
    )
    with refused("contradiction", "time scale"):
        variation(result, time_scales_s=[0.01])
