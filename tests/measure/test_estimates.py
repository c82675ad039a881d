"""Estimates of captured connections, and their possible errors."""

import math
from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, measure
from ackclock.capture import estimates
from ackclock.metrics.bootstrap import FEWEST_BLOCKS, middle, resampled_sums

from .pretended import Pretended, connection, flow, samples


def test_independent_intervals_spread_as_the_law_of_large_numbers_says() -> None:
    values = np.random.default_rng(7).normal(3, 2, 400)
    sums = resampled_sums(values[None], 1, 4000)
    assert sums is not None
    means = sums[0] / 400
    assert means.mean() == pytest.approx(values.mean(), abs=0.01)
    assert means.std() == pytest.approx(values.std() / math.sqrt(400), rel=0.05)


def test_what_hangs_together_spreads_further_in_blocks() -> None:
    noise = np.random.default_rng(7).normal(0, 1, 2000)
    values = np.zeros(2000)
    for step in range(
        1, 2000
    ):  # an autoregressive series: its mean has (1 + 0.9)/(1 - 0.9) = 19 times the variance
        values[step] = 0.9 * values[step - 1] + noise[step]
    alone, in_blocks = (resampled_sums(values[None], block, 2000) for block in (1, 100))
    assert alone is not None
    assert in_blocks is not None
    assert in_blocks.std() / alone.std() == pytest.approx(math.sqrt(19), rel=0.25)


def test_too_few_blocks_say_nothing() -> None:
    parts = np.ones((2, 10 * FEWEST_BLOCKS))
    assert resampled_sums(parts, 10, 5) is not None
    assert resampled_sums(parts[:, 1:], 10, 5) is None


def test_sums_wrap_around_and_count_every_interval() -> None:
    sums = resampled_sums(np.ones((1, 83)), 10, 7)
    assert sums is not None
    assert sums.tolist() == [[90.0] * 7]  # nine whole blocks
    assert middle(np.array([math.nan, 1.0, 2.0]), 0.5) == (1.25, 1.75)
    assert all(math.isnan(end) for end in middle(np.array([math.nan])))
    infinite = np.array([1.0, *[math.inf] * 9])
    assert middle(infinite, 0.5) == (math.inf, math.inf)


def _measured(pretended: Pretended, folder: Path, **rows: list) -> Result:
    pretended.rows |= rows
    (folder / "web.pcap").write_bytes(b"")
    return measure(folder / "web.pcap", folder / "m", replace=True)


def _row(result: Result) -> dict:
    [row] = result.tables["estimates"].to_pylist()
    assert list(row) == list(estimates.COLUMNS)
    return row


def test_rates_and_their_bounds(pretended: Pretended, tmp_path: Path) -> None:
    row = _row(
        _measured(
            pretended, tmp_path, connections=[connection(losses_lower=3.5, losses_upper=14.0)]
        )
    )
    assert (row["loss_at_least"], row["loss"], row["loss_at_most"]) == (0.005, 0.01, 0.02)
    assert row["indication_rate"] == pytest.approx(5 / 700)
    assert row["segments_per_ack"] == pytest.approx(1e6 / 1460 / 330)
    assert row["link_bit_per_s"] is None
    assert row["block_s"] is None  # a second has fewer than eight blocks
    assert row["rtt_low_s"] is None


@pytest.mark.slow
def test_equal_intervals_have_equal_averages(pretended: Pretended, tmp_path: Path) -> None:
    rows = samples(201)
    for number, row in enumerate(rows):
        row["retransmitted_packets"] = float(number)
    row = _row(_measured(pretended, tmp_path, samples=rows))
    assert row["block_s"] == pytest.approx(0.4)
    assert row["blocks"] == 50
    for name, unit in (
        ("loss", ""),
        ("goodput", "_bit_per_s"),
        ("rtt", "_s"),
        ("indication_rate", ""),
    ):
        value = row["rtt_mean_s" if name == "rtt" else f"{name}{unit}"]
        assert row[f"{name}_low{unit}"] == pytest.approx(value)
        assert row[f"{name}_high{unit}"] == pytest.approx(value)


def test_no_loss_is_no_certainty(pretended: Pretended, tmp_path: Path) -> None:
    lossless = connection(
        losses_lower=0.0, losses_estimate=0.0, losses_upper=0.0, retransmitted_packets=0.0
    )
    row = _row(
        _measured(pretended, tmp_path, connections=[lossless], flows=[flow(fast_retransmits=0.0)])
    )
    assert (row["loss"], row["loss_low"]) == (0, 0)
    # The probability that all 700 segments pass is one in forty.
    assert (1 - row["loss_high"]) ** 700 == pytest.approx(0.025)


def test_a_queue_tells_the_links_rate(pretended: Pretended, tmp_path: Path) -> None:
    from .pretended import stretch

    queued = connection(limit="bottleneck_rate")
    rows = [
        stretch(limit="bottleneck_rate", start_s=0.0, end_s=1.0, rate_bit_per_s=10e6),
        stretch(limit="recovery", start_s=1.0, end_s=2.0, rate_bit_per_s=1e6),
        stretch(limit="bottleneck_rate", start_s=2.0, end_s=5.0, rate_bit_per_s=14e6),
    ]
    result = _measured(pretended, tmp_path, connections=[queued], limit_periods=rows)
    assert _row(result)["link_bit_per_s"] == pytest.approx(13e6)
    says = {row["model"]: row for row in result.tables["predictions"].to_pylist()}
    assert says["pftk"]["goodput_bit_per_s"] <= 13e6
    assert ["link_rate", pytest.approx(13e6 / 8 / 1460)] in [
        list(pair) for pair in says["aimd_chain"]["inputs"]
    ]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ({"flows": [flow(rtt_mean_s=math.nan)]}, "the capture shows no round-trip time"),
        (
            {"flows": [flow(fast_retransmits=math.nan)]},
            "the capture shows no ACKs, hence no losses",
        ),
    ],
)
def test_what_is_not_known_is_not_asked_about(
    pretended: Pretended, tmp_path: Path, rows: dict, why: str
) -> None:
    result = _measured(pretended, tmp_path, **rows)
    says = result.tables["predictions"].to_pylist()
    assert {(row["verdict"], row["note"], row["goodput_bit_per_s"]) for row in says} == {
        ("does not apply", why, None)
    }
    assert len(says) == 6


@pytest.mark.slow
def test_the_receivers_window_caps_what_models_say(pretended: Pretended, tmp_path: Path) -> None:
    long = connection(data_segments=70_000.0, data_packets=70_000)
    result = _measured(pretended, tmp_path, connections=[long], samples=samples(301))
    says = {row["model"]: row for row in result.tables["predictions"].to_pylist()}
    cap = 65_536 * 8 / 0.040
    assert says["square_root"]["limit"] == "receive window"
    assert says["square_root"]["goodput_bit_per_s"] == pytest.approx(cap)
    assert says["square_root"]["note"].startswith(
        "taken for reno: no capture tells; capped by the receive window"
    )
    assert says["square_root"]["measured_bit_per_s"] == 8e6
    unscaled = _measured(pretended, tmp_path, connections=[long | {"receive_window_scaled": 0.0}])
    unlimited = {row["model"]: row for row in unscaled.tables["predictions"].to_pylist()}
    assert unlimited["square_root"]["limit"] == "model"


def test_a_whole_transfer_is_told_as_one(pretended: Pretended, tmp_path: Path) -> None:
    says = {
        row["model"]: row
        for row in _measured(pretended, tmp_path).tables["predictions"].to_pylist()
    }
    inputs = dict(says["cardwell"]["inputs"])
    assert inputs["size"] == math.ceil(1e6 / 1460)
    assert inputs["handshake"] == 1
    midway = _measured(pretended, tmp_path, connections=[connection(begins="midway")])
    says = {row["model"]: row for row in midway.tables["predictions"].to_pylist()}
    assert says["cardwell"]["note"] == "not a transfer of a given size"
