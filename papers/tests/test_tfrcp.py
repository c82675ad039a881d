"""Foundations of the TFRCP paper's figures: path, senders, evaluation, and readings."""

import math

import numpy as np
import pytest

from ackclock import Result, metrics, simulate
from ackclock.reproduction.outcome import Band
from ackclock_papers.tfrcp import (
    causes,
    figure_4,
    figure_6,
    figures_5,
    friendliness,
    readings,
)
from ackclock_papers.tfrcp.friendliness import FRIENDLINESS, by_load
from ackclock_papers.tfrcp.path import BOTTLENECK, CENTRAL, Path, guesses
from ackclock_papers.tfrcp.senders import (
    CUBIC,
    FEW_LOADS,
    OTHER,
    RENO,
    TCP,
    TFRC,
    Mix,
    Sender,
    always,
    s1,
    s2,
    s3,
    settings,
)


def short(sender: Sender, path: Path = CENTRAL, loads: tuple[int, ...] = (4, 10)) -> Result:
    return simulate(Mix(sender, always(path), loads, duration_s=40, replicates=2).scenario)


@pytest.mark.parametrize(
    ("path", "packets"),
    [
        (CENTRAL, 75),
        (Path(pipes=1), 18),
        (Path(packet_bytes=500), 150),
        (Path(delay_s=0.02, pipes=1), 7),
    ],
)
def test_buffers_are_bandwidth_delay_products(path: Path, packets: int) -> None:
    assert path.buffer_packets == packets
    assert path.limit == f"{packets} packets"


def test_every_guess_is_asked_once() -> None:
    paths = guesses()
    assert len(set(paths)) == len(paths) == 2 * 3 * 2
    assert CENTRAL in paths
    assert len({path.label for path in paths}) == len(paths)


@pytest.mark.parametrize(
    "sender", [RENO, CUBIC, TFRC, s1(2), s2(10), s3(1.5, 3.0)], ids=lambda sender: sender.label
)
def test_everybody_sends_packets_of_one_length_and_half_are_tcp(sender: Sender) -> None:
    result = short(sender)
    flows = result.tables["flows"].to_pylist()
    for point, load in enumerate((4, 10)):
        for replicate in range(2):
            groups = [
                flow["flow"]
                for flow in flows
                if (flow["point"], flow["replicate"]) == (point, replicate)
            ]
            assert [groups.count(name) for name in (TCP, OTHER)] == [load // 2, load // 2]
    # The bottleneck serves whole packets of 1000 bytes, so all service is a multiple of them.
    for row in result.rows("hops", hop=BOTTLENECK).to_pylist():
        assert row["served_bytes"] % CENTRAL.packet_bytes == 0
    shortest = min(flow["rtt_min_s"] for flow in flows)
    serving = CENTRAL.service_time_s + 40 * 8e-8
    assert 2 * CENTRAL.delay_s + serving == pytest.approx(shortest, abs=2 * CENTRAL.service_time_s)


def test_the_share_of_figure_4_is_the_same_at_every_load() -> None:
    for load in (10, 50):
        path = figure_4.shared(CENTRAL)(load)
        assert path.rate_mbit_per_s * 1000 / load == pytest.approx(figure_4.SHARE_KBIT_PER_S)
        assert path.buffer_packets * 8000 == pytest.approx(
            4 * path.rate_mbit_per_s * 1e6 * 0.1, rel=0.05
        )
    result = simulate(
        Mix(s1(2), figure_4.shared(CENTRAL), (10, 50), duration_s=20, replicates=1).scenario
    )
    rates = [
        result.rows("hops", point=point, hop=BOTTLENECK)["rate_bit_per_s"][0].as_py()
        for point in range(2)
    ]
    assert rates == [400_000, 2_000_000]


@pytest.mark.parametrize("on_kbit_per_s", figure_6.ON_KBIT_PER_S)
def test_sources_of_figure_6_offer_as_much_whatever_their_rate(on_kbit_per_s: float) -> None:
    beside = figure_6.beside(s1(2), CENTRAL, on_kbit_per_s, (300,))
    [count] = beside.values
    offered = count * on_kbit_per_s * figure_6.SHARE_ON
    assert offered == pytest.approx(1200, rel=0.05)
    assert beside.scenario.expand()[0].scenario.resolve()


def test_f_is_the_product_of_its_causes() -> None:
    result = short(s1(2))
    table = causes.causes({"TFRCP": result}, (4, 10))
    sent = metrics.rate_ratio(OTHER, TCP, column="sent_packets")
    for row, values in zip(table.rows, by_load(result, sent, (4, 10)).values(), strict=True):
        ratio, *factors = (float(cell.partition(" ±")[0]) for cell in row[2:6])
        assert ratio == pytest.approx(np.mean(values), rel=0.01)
        # The mean of a product is only about the product of the means.
        assert math.prod(factors) == pytest.approx(ratio, rel=0.1)


def test_means_over_loads_are_of_each_replicate() -> None:
    values = {10: [1.0, 2.0], 30: [3.0, 4.0], 50: [5.0, 6.0]}
    assert friendliness.over_loads(values).mean == pytest.approx(3.5)
    assert friendliness.over_loads(values, (10,)).mean == pytest.approx(1.5)
    columns = friendliness.f_columns(values)
    assert list(columns) == ["mean", *(f"N = {load}" for load in FEW_LOADS)]
    assert [value.mean for value, _ in columns.values()] == [3.5, 1.5, 3.5, 5.5]


def test_a_star_is_a_mean_outside_its_band() -> None:
    assert friendliness.starred(metrics.interval([1.5, 1.7]), Band(0.7, 1.4)).endswith(" *")
    assert not friendliness.starred(metrics.interval([1.0, 1.2]), Band(0.7, 1.4)).endswith("*")


def test_f_of_like_senders_is_about_one() -> None:
    result = simulate(Mix(RENO, always(CENTRAL), (10,), duration_s=400, replicates=4).scenario)
    [values] = by_load(result, FRIENDLINESS, (10,)).values()
    assert np.mean(values) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("constant", "smallest", "largest", "statements"),
    [
        ((1.0, 1.2), (1.0, 1.5), (2.0, 7.0), (True, True, True, True, True)),
        ((1.0, 1.2), (1.0, 1.5), (1.2, 1.1), (True, True, False, False, False)),
        ((1.0, 1.2), (0.5, 0.7), (0.6, 0.8), (True, False, True, True, False)),
        ((2.0, 2.4), (1.0, 1.5), (2.0, 2.5), (False, True, True, True, False)),
        ((1.0, 1.2), (1.0, 4.5), (2.0, 3.5), (True, True, True, False, True)),
    ],
)
def test_a_reading_is_told_by_what_the_figures_say(
    constant: tuple[float, float],
    smallest: tuple[float, float],
    largest: tuple[float, float],
    statements: tuple[bool, ...],
) -> None:
    by_sender = {
        name: dict(zip(readings.LOADS, ([value, value] for value in values), strict=True))
        for name, values in (("M", constant), ("K", smallest), ("K more", largest))
    }
    assert tuple(readings.Agreement.of(by_sender)) == statements


def test_every_reading_is_another() -> None:
    texts = [
        reading.mix(sender).scenario.to_json()
        for reading in (*readings.ALONE, *readings.GRID.values())
        for sender in reading.senders.values()
    ]
    # The grid, with fewer replicates, includes the figures' own path; there are no other
    # duplicates.
    assert len(set(texts)) == len(texts)


def test_settings_say_what_was_run() -> None:
    [run] = [
        setting.value for setting in settings({"short": short(s1(2))}) if setting.name == "run"
    ]
    assert run.startswith("40 s, 2 replicates")


@pytest.mark.parametrize(("step", "falls"), [(-0.05, True), (0.05, False)])
def test_f_falls_with_m_if_ranks_say_so(step: float, falls: bool) -> None:
    chance = np.random.default_rng(1)
    f = {
        sender.label: {
            point: list(1 + step * m + 0.02 * chance.standard_normal(5)) for point in range(5)
        }
        for m, sender in enumerate(figures_5.CONSTANT)
    }
    claim = figures_5.falls(f, documented=falls)
    assert claim.holds is falls
    assert not claim.fails


@pytest.mark.parametrize(
    "transfers", [figures_5.SMALL, figures_5.LARGE], ids=lambda transfers: transfers.number
)
def test_transfers_of_figure_5_leave_half_of_the_bottleneck(transfers: figures_5.Transfers) -> None:
    mean_kbit = 8 * (transfers.low_kb + transfers.high_kb) / 2
    offered = [mean_kbit / interval_s for interval_s in transfers.intervals_s]
    assert offered == sorted(offered)
    assert offered[-1] <= 0.5 * CENTRAL.rate_mbit_per_s * 1000
    scenario = transfers.beside(s1(2), CENTRAL).scenario.replace(
        {"duration": "60 s", "replicates": 1}
    )
    result = simulate(scenario)
    sizes = [
        flow["delivered_bytes"]
        for flow in result.tables["flows"].to_pylist()
        if flow["flow"] == "background" and flow["completion_time_s"] is not None
    ]
    assert len(sizes) > 20
    assert min(sizes) >= 1000 * transfers.low_kb
    assert max(sizes) <= 1000 * transfers.high_kb
