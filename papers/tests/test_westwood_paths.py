"""Foundations of the ABSE paper's figures over time: paths, UDP's patterns, and measurements."""

import numpy as np
import pytest

from ackclock import simulate
from ackclock.metrics import metric, summarise
from ackclock_papers.replicates import quotient
from ackclock_papers.westwood import figure_7, figures_13_15, over_time
from ackclock_papers.westwood.paths import (
    one_bottleneck,
    pipe_packets,
    several_hops,
    two_way,
    wired_wireless,
)
from ackclock_papers.westwood.senders import BE, NEWRENO, scenario, settings, tcp, udp


@pytest.mark.parametrize(("rate_mbit_per_s", "packets"), [(5, 42), (10, 84), (11, 92), (45, 378)])
def test_a_pipe_holds_what_the_paper_says(rate_mbit_per_s: float, packets: int) -> None:
    path = one_bottleneck(rate_mbit_per_s)
    assert path.pipe_packets == packets
    assert path.there[0].buffer_packets == packets
    assert pipe_packets(rate_mbit_per_s, 0.07) == pytest.approx(
        rate_mbit_per_s * 1e6 * 0.07 / 8 / 1040
    )


@pytest.mark.parametrize(
    ("path", "hops", "rate_mbit_per_s"),
    [
        (one_bottleneck(5), 1, 5),
        (two_way(10), 1, 10),
        (wired_wireless(0.01), 2, 11),
        (several_hops((20, 10, 30)), 3, 10),
    ],
)
def test_every_path_takes_70_ms_and_is_as_fast_as_its_slowest_link(
    path, hops: int, rate_mbit_per_s: float
) -> None:
    assert path.round_trip_s == pytest.approx(0.07)
    assert path.rate_mbit_per_s == rate_mbit_per_s
    assert [len(path.there), len(path.back)] == [hops, hops]
    result = simulate(
        scenario(
            "alone", path, [tcp("sender", NEWRENO, path)], duration_s=2, warmup_s=0, replicates=1
        )
    )
    [shortest] = result.tables["flows"]["rtt_min_s"].to_pylist()
    # Links also take the service time of a packet and of its ACK, and the sender waits up to a
    # packet's service time.
    serving = sum(1040 * 8e-6 / hop.rate_mbit_per_s for hop in path.there)
    answering = sum(40 * 8e-6 / hop.rate_mbit_per_s for hop in path.back)
    assert shortest == pytest.approx(0.07 + serving + answering, abs=1e-5)


def test_acks_share_the_buffer_of_the_data_the_other_way() -> None:
    path = two_way(10)
    flows = [tcp("forward flow", BE, path), tcp("reverse flow", BE, path, way_back=True)]
    result = simulate(scenario("both", path, flows, duration_s=30, warmup_s=5))
    assert sum(result.tables["flows"]["dropped_acks"].to_pylist()) > 0
    alone = simulate(scenario("one", path, flows[:1], duration_s=30, warmup_s=5))
    assert sum(alone.tables["flows"]["dropped_acks"].to_pylist()) == 0


@pytest.mark.parametrize("name", figure_7.PATTERNS)
def test_udp_leaves_what_the_pattern_says(name: str) -> None:
    pattern, path = figure_7.PATTERNS[name], figure_7.PATH
    result = simulate(
        scenario(name, path, pattern.flows, warmup_s=0, replicates=1, sample_interval_s=0.5)
    )
    hop = result.rows("hops", point=0, replicate=0, hop="bottleneck")
    time_s, served = hop["time_s"].to_numpy(), hop["served_bytes"].to_numpy()
    sent = np.diff(served) * 8e-6 / np.diff(time_s)
    middle = (time_s[1:] + time_s[:-1]) / 2
    # To within a packet: some begin in one interval and end in the next.
    assert sent == pytest.approx(pattern.rate(middle), abs=4 * 1040 * 8e-6 / 0.5)
    assert pattern.left(middle) == pytest.approx((5 - pattern.rate(middle)) / 1.04)


def test_udp_is_as_fast_on_the_wire_as_it_is_asked_to_be() -> None:
    path = several_hops((20, 10))
    flows = [udp("crossing", 5, ["hop 2"])]
    result = simulate(scenario("crossing", path, flows, duration_s=11, warmup_s=1, replicates=1))
    [rate] = result.tables["flows"]["throughput_bit_per_s"].to_pylist()
    assert rate == pytest.approx(5e6, rel=1e-3)


@pytest.mark.parametrize("buffer", [4, 13, 31])
def test_a_window_fits_if_pipe_and_buffer_hold_it_the_packet_on_the_link_included(
    buffer: int,
) -> None:
    path = one_bottleneck(5, buffer)
    still = tcp("sender", NEWRENO, path, jitter_s=0)
    result = simulate(
        scenario(
            "still",
            path,
            [still],
            duration_s=60,
            warmup_s=25,
            replicates=1,
            sample_interval_s=0.005,
        )
    )
    [fits] = figures_13_15.fits(result, 25)
    assert fits == path.pipe_packets + buffer
    [falls_to] = figures_13_15.falls_to(result, 25)
    # The loss is detected a round trip after the first window that does not fit, and halves are
    # whole packets.
    assert (fits + 1) // 2 <= falls_to <= (fits + 2) / 2


def test_series_have_the_means_of_the_table() -> None:
    path = one_bottleneck(5)
    result = simulate(
        scenario("two", path, [tcp("sender", BE, path, count=2)], duration_s=20, replicates=2)
    )
    got = over_time.mean_goodputs(result, "sender", 10, 20, 2)
    [goodput] = summarise(result, metric("goodput"))
    assert np.mean(got) == pytest.approx(goodput.interval.mean / 2e6, rel=1e-9)
    estimates = over_time.mean_estimates(result, "sender", 10, 20, 2)
    [estimate] = summarise(result, metric("rate_estimate"))
    assert np.mean(estimates) == pytest.approx(estimate.interval.mean / 1e6, rel=1e-9)
    columns = over_time.told_and_got(result, "sender", 10, 20, 2)
    assert columns["estimate over goodput"] == quotient(estimates, got)


def test_nothing_is_known_of_an_estimate_that_is_not_made() -> None:
    path = one_bottleneck(5)
    result = simulate(
        scenario("one", path, [tcp("sender", NEWRENO, path)], duration_s=12, replicates=2)
    )
    assert list(over_time.told_and_got(result, "sender", 10, 12)) == ["goodput, Mbit/s"]


def test_settings_say_what_was_run_and_not_what_would_have_been() -> None:
    path = one_bottleneck(5)
    flows = [tcp("sender", NEWRENO, path)]
    results = {
        str(replicates): simulate(
            scenario("short", path, flows, duration_s=3, warmup_s=1, replicates=replicates)
        )
        for replicates in (1, 2)
    }
    [run] = [setting.value for setting in settings(path, results) if setting.name == "run"]
    assert run == "3 s, measured from 1 s on, 1 or 2 replicates"
