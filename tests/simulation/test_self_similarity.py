"""Aggregates of on-off sources: self-similar if their periods have a heavy tail, and only then.

Both estimators are first tested on Gaussian noise with an exact Hurst parameter, which gives their
bias; then on the engine's output.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from ackclock import simulate
from ackclock.metrics import (
    arrivals_per_interval,
    difference,
    hurst_variance_time,
    hurst_wavelet,
    interval,
)

from ..refusals import refused
from .paths import flow, hop, scenario, udp

Array = NDArray[np.float64]

MEAN_ON_S, MEAN_OFF_S = 1.0, 2.0
SOURCES, PACKETS_PER_S = 16, 1
INTERVAL_S, INTERVALS, REPLICATES = 32, 4096, 6
#: Scales in intervals: 256 s, where the slope for a shape of 1.5 is that of its limit, to 4096 s.
SMALLEST, LARGEST = 8, 128


def gaussian(hurst: float, size: int, seed: int) -> Array:
    """Returns fractional Gaussian noise, exact (Davies, Harte 1987, Biometrika 74(1), appendix)."""
    lags = np.arange(size + 1.0)
    law = (
        abs(lags + 1) ** (2 * hurst) - 2 * lags ** (2 * hurst) + abs(lags - 1) ** (2 * hurst)
    ) / 2
    eigenvalues = np.fft.fft(np.concatenate([law, law[-2:0:-1]])).real
    assert eigenvalues.min() > -1e-9
    random = np.random.default_rng(seed)
    noise = random.standard_normal(eigenvalues.size) + 1j * random.standard_normal(eigenvalues.size)
    return np.asarray(
        np.fft.fft(np.sqrt(np.maximum(eigenvalues, 0) / eigenvalues.size) * noise).real[:size]
    )


def estimates(
    series: list[Array], smallest: int = 1, largest: int | None = None
) -> tuple[Array, Array]:
    """Returns estimates by variance over time, and by wavelets."""
    by_variance = [hurst_variance_time(values, smallest, largest).value for values in series]
    by_wavelet = [hurst_wavelet(values, smallest, largest).value for values in series]
    return np.array(by_variance), np.array(by_wavelet)


@pytest.mark.long
@pytest.mark.parametrize("hurst", [0.5, 0.6, 0.75, 0.9])
def test_wavelets_are_unbiased_and_variances_biased_downwards(hurst: float) -> None:
    series = [gaussian(hurst, 8192, seed) for seed in range(60)]
    by_variance, by_wavelet = (interval(values, 0.9999) for values in estimates(series))
    assert abs(by_wavelet.mean - hurst) < by_wavelet.half_width + 0.003
    stated = hurst_wavelet(series[0]).standard_error
    spread = float(np.std(estimates(series)[1], ddof=1))
    # 60 values determine a standard deviation to 9 %; details are not quite independent, and less
    # so for larger H.
    assert 0.7 < spread / stated < 1.6
    assert by_variance.mean < hurst
    assert by_variance.high < hurst or hurst < 0.7, "the larger H, the clearer"
    assert by_variance.mean > hurst - 0.08


def test_the_slopes_are_those_of_the_definitions() -> None:
    """Two series by hand: one of period two, whose sums of two do not vary, and one with known
    details.
    """
    steps = np.repeat([0.0, 1.0, 0.0, 1.0], 64)
    with refused("no-data", "counts"):
        hurst_wavelet(np.ones(256))
    # Sums of m of a series of steps, with m up to a step, are m times 0 or 1. Their means have the
    # same variance for each m.
    assert hurst_variance_time(steps, 1, 8).value == pytest.approx(1.0, abs=0.03)
    noise = np.random.default_rng(3).standard_normal(4096)
    alike = hurst_wavelet(noise), hurst_wavelet(5 * noise + 100)
    assert alike[0].value == pytest.approx(alike[1].value, abs=1e-9), (
        "neither scale nor level matters"
    )
    estimate = hurst_wavelet(noise)
    assert estimate.fluctuations[0] == pytest.approx(np.mean((noise[::2] - noise[1::2]) ** 2) / 2)
    assert (estimate.scales == 2.0 ** np.arange(estimate.scales.size)).all()


def test_too_little_is_refused_in_a_line() -> None:
    with refused("no-data", "counts", 10):
        hurst_variance_time(np.arange(10))
    with refused("out-of-range", "smallest", 0):
        hurst_wavelet(np.arange(1000), 0)


@cache
def aggregate(law: str, shape: float = 1.5, count: int = SOURCES) -> list[Array]:
    """Returns the traffic of many sources in successive intervals, for several replicates."""
    periods = {"on_distribution": law, "off_distribution": law, "shape": shape}
    means = {"mean_on": f"{MEAN_ON_S} s", "mean_off": f"{MEAN_OFF_S} s"}
    traffic = (
        {"kind": "on_off", "rate": f"{8 * PACKETS_PER_S} kbit/s", "stationary": True}
        | means
        | periods
    )
    sources = flow(udp(), "sources", count=count, traffic=traffic)
    del sources["return"]
    hops, duration = [hop("out", "100 Mbit/s", "1 ms")], f"{INTERVALS * INTERVAL_S} s"
    result = simulate(
        scenario(
            hops, [sources], duration, replicates=REPLICATES, sample_interval=f"{INTERVAL_S} s"
        )
    )
    series = [
        arrivals_per_interval(result, "out", replicate=number) for number in range(REPLICATES)
    ]
    assert {values.size for values in series} == {INTERVALS}
    return series


def exact(hurst: float) -> list[Array]:
    """Returns as many series of exact noise of the same length, to find the bias for H."""
    return [gaussian(hurst, INTERVALS, 1000 + number) for number in range(60)]


@pytest.mark.long
@pytest.mark.parametrize("shape", [1.2, 1.5])
def test_many_sources_with_heavy_tails_are_self_similar(shape: float) -> None:
    """H = (3 - shape)/2: both estimators give what they give for exact noise of that H.

    The scales are the same.
    """
    hurst = (3 - shape) / 2
    measured, expected = (
        estimates(aggregate("pareto", shape), SMALLEST, LARGEST),
        estimates(exact(hurst), SMALLEST, LARGEST),
    )
    for ours, theirs in zip(measured, expected, strict=True):
        apart = difference(ours, theirs, 0.99)
        assert apart.low < 0 < apart.high, f"{ours.mean()} where exact noise has {theirs.mean()}"
    by_wavelet = interval(measured[1], 0.99)
    assert by_wavelet.low < hurst < by_wavelet.high
    assert by_wavelet.low > 0.5, "and not without memory"


@pytest.mark.long
def test_many_sources_without_heavy_tails_are_not() -> None:
    for ours, theirs in zip(
        estimates(aggregate("exponential"), SMALLEST, LARGEST),
        estimates(exact(0.5), SMALLEST, LARGEST),
        strict=True,
    ):
        apart = difference(ours, theirs, 0.99)
        assert apart.low < 0 < apart.high
        assert ours.mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.long
def test_a_light_tail_shows_its_own_parameter_at_very_large_scales_only() -> None:
    """With a shape near 2, H is 0.6; the slope approaches it slowly from above."""
    series = aggregate("pareto", 1.8, 2 * SOURCES)
    near, far = (
        interval(estimates(series, *scales)[1], 0.99) for scales in ((1, 8), (SMALLEST, LARGEST))
    )
    assert near.low > (3 - 1.8) / 2
    assert far.mean < near.mean
    assert far.mean < interval(estimates(aggregate("pareto", 1.5), SMALLEST, LARGEST)[1]).mean
