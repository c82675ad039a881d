"""Time scale of rate changes: known answers, and laws of its uncertainty."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.advice import regions, time_scale, traces

from ..refusals import refused
from .made_up import HIGH, LOW, markov_csv, markov_rows, write_csv


def scale_of(path: Path, interval_s: float) -> time_scale.TimeScale:
    trace = traces.read(path)
    scale = time_scale.estimate(
        trace.rates(interval_s), interval_s, time_scale.grain_bit_per_s(trace.format, interval_s)
    )
    assert scale is not None
    return scale


@pytest.mark.parametrize("sojourn_s", [0.02, 0.2, 2.0])
def test_the_time_between_changes_is_known_as_well_as_n_sojourns_tell(
    tmp_path: Path, sojourn_s: float
) -> None:
    # The mean of n exponential times has the standard deviation tau/sqrt(n); the tolerance is three
    # of them.
    number = 2000
    scale = scale_of(markov_csv(tmp_path / "a.csv", sojourn_s, number * sojourn_s), sojourn_s / 50)
    assert scale.sojourn_s.value == pytest.approx(sojourn_s, rel=3 / np.sqrt(number))
    # The interval is 1.96 such deviations to each side. The bootstrap of 1000 and its 200 blocks of
    # ten sojourns are uncertain, too: three times 1/sqrt(2 * 200).
    half_width = (scale.sojourn_s.high - scale.sojourn_s.low) / 2
    assert half_width == pytest.approx(1.96 * sojourn_s / np.sqrt(number), rel=3 / np.sqrt(400))
    assert scale.high_bit_per_s == pytest.approx(
        HIGH, rel=0.02
    )  # an interval with a change in it is neither
    assert scale.low_bit_per_s == pytest.approx(LOW, rel=0.02)


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says(tmp_path: Path) -> None:
    # 95 % of 60 traces should contain it; fewer than 50 do with a probability of 1 in 1000
    # (binomial law).
    held = 0
    for seed in range(60):
        scale = scale_of(markov_csv(tmp_path / "a.csv", 0.1, 20.0, seed), 0.002)
        held += scale.sojourn_s.low <= 0.1 <= scale.sojourn_s.high
    assert held >= 50


def test_few_changes_have_a_wide_interval_that_holds_the_truth(tmp_path: Path) -> None:
    # Six sojourns: too few for blocks. 95 % of 40 are 38; fewer than 33 have a chance of 1 in 200.
    held = 0
    for seed in range(40):
        scale = scale_of(markov_csv(tmp_path / "a.csv", 1.0, 7.0, seed), 0.01)
        held += scale.sojourn_s.low <= 1.0 <= scale.sojourn_s.high
        assert scale.sojourn_s.high > 1.5 * scale.sojourn_s.low
    assert held >= 33


@pytest.mark.slow
def test_unequal_times_are_told_apart(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", *markov_rows(0.3, 0.1, 800.0), 800.0)
    scale = scale_of(path, 0.002)
    number = 800 / 0.4
    for estimate, true in ((scale.high_s, 0.3), (scale.low_s, 0.1), (scale.sojourn_s, 0.2)):
        assert estimate.value == pytest.approx(true, rel=3 / np.sqrt(number))
        assert estimate.low < true < estimate.high
    assert scale.mean_bit_per_s == pytest.approx(traces.read(path).mean_bit_per_s, rel=1e-3)


def test_a_coarser_look_finds_the_same(tmp_path: Path) -> None:
    """Changes between two samples are accounted for: ten times as coarse, still ten per sojourn."""
    path = markov_csv(tmp_path / "a.csv", 0.2, 400.0)
    fine, coarse = scale_of(path, 0.002), scale_of(path, 0.02)
    assert coarse.changes < fine.changes
    # Means over an interval are not samples at one time: at most half of the correction h/tau = 0.1
    # is wrong.
    assert coarse.sojourn_s.value == pytest.approx(fine.sojourn_s.value, rel=0.05)


def test_opportunities_say_the_same_as_the_rates_that_they_come_from(tmp_path: Path) -> None:
    # Evenly spread opportunities: one per millisecond at 12 Mbit/s, one in three at 4.
    begins, rates = markov_rows(0.5, 0.5, 200.0)
    ends = np.append(begins, 200.0)
    reached = np.concatenate(
        [[0.0], np.cumsum(np.diff(ends) * np.where(rates == HIGH, 1000, 1000 / 3))]
    )
    moments = np.interp(np.arange(1, int(reached[-1])), reached, ends)
    path = tmp_path / "a.down"
    path.write_text(
        "".join(f"{int(np.ceil(moment * 1000))}\n" for moment in moments), encoding="utf-8"
    )
    interval_s = time_scale.measuring_interval(
        "mahimahi", traces.read(path).mean_bit_per_s, 200.0, 0.1
    )
    assert interval_s * 1000 == pytest.approx(round(interval_s * 1000))
    scale = scale_of(path, interval_s)
    assert scale.high_bit_per_s == pytest.approx(12e6, rel=0.05)
    assert scale.sojourn_s.low < 0.5 < scale.sojourn_s.high


@given(st.lists(st.sampled_from([1.0, 1.1, 5.0, 9.0, 10.0]), min_size=2, max_size=40))
def test_no_threshold_parts_better(rates: list[float]) -> None:
    values = np.array(rates)

    def within(threshold: float) -> float:
        parts = [values[values > threshold], values[values <= threshold]]
        return sum(float(((part - part.mean()) ** 2).sum()) for part in parts if part.size)

    threshold, explained = time_scale.two_levels(values)
    assert 0 <= explained <= 1 + 1e-9
    assert within(threshold) <= min(within(rate) for rate in rates) + 1e-9


def test_what_never_changes_has_no_time_scale() -> None:
    assert time_scale.estimate(np.full(100, 5e6), 0.01) is None
    # Ten or eleven opportunities in an interval are the same rate.
    counts = np.where(np.arange(100) % 3 == 0, 11, 10)
    grain = time_scale.grain_bit_per_s("mahimahi", 0.01)
    assert time_scale.estimate(counts * grain, 0.01, grain) is None
    assert (
        time_scale.estimate(np.where(np.arange(100) < 50, 10, 12) * grain, 0.01, grain) is not None
    )


def test_the_map_has_no_holes() -> None:
    ends = [region.low for region in regions.REGIONS] + [regions.REGIONS[-1].high]
    assert ends == sorted(ends)
    assert all(
        region.high == other.low
        for region, other in zip(regions.REGIONS, regions.REGIONS[1:], strict=False)
    )
    names = [regions.region(psi).name for psi in (0.1, 0.3, 1, 19.9, 30, 100)]
    assert names == [
        "mean is enough", "between the mean and the danger zone", "danger zone", "danger zone",
        "between the danger zone and tracking", "track the rate",
    ]  # fmt: skip
    assert [region.name for region in regions.across(0.4, 30)] == names[1:3] + names[4:5]


def test_traces_that_end_at_another_rate_are_read(tmp_path: Path) -> None:
    text = "time,rate\n0 s,5 Mbit/s\n1 s,3 Mbit/s\n4 s,{}\n"
    for last in ("", "7 Mbit/s"):
        path = tmp_path / "a.csv"
        path.write_text(text.format(last), encoding="utf-8")
        trace = traces.read(path)
        assert trace.length_s == 4
        assert trace.rates(1.0).tolist() == [5e6, 3e6, 3e6, 3e6]
        assert trace.mean_bit_per_s == 3.5e6


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.txt", "1\n", "unsupported"),
        ("a.up", "", "file"),
        ("a.csv", "", "file"),
        ("a.up", "x\n", "file"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, name: str, text: str, code: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with refused(code, str(path) if code == "unsupported" else "file"):
        traces.read(path)
