"""The loop of the ABR experiments: schemes share the link; the paper's protocol is long enough."""

import numpy as np
import pytest

from ackclock import simulate
from ackclock_papers.abr.efficiency import as_published, efficiencies, gain
from ackclock_papers.abr.loop import (
    BOTTLENECK,
    COARSE,
    CUBIC_TODAY,
    INSTCAP,
    NONE,
    Loop,
    Point,
    Session,
    alone,
    constant,
    effcap,
    effcap_of,
    round_trip_of_measurements,
)
from ackclock_papers.abr.paper import CELLS
from ackclock_papers.replicates import of_replicates

POINTS = (Point(0.4, 100.0), Point(4.0, 200.0))


def capacities(loop: Loop) -> list[list[float]]:
    result = simulate(loop.scenario(POINTS, 2))
    return [of_replicates(result, "capacity", BOTTLENECK, point) for point in range(len(POINTS))]


def test_the_link_is_the_same_whatever_goes_over_it() -> None:
    two = (Session("session 1", 0.24, effcap(8, 88)), Session("session 2", 0.36, effcap(12, 132)))
    loops = [
        alone(NONE, 10),
        alone(INSTCAP, 10),
        alone(effcap(), 12),
        alone(NONE, 10, CUBIC_TODAY),
        alone(constant(22), 10),
        Loop(two, 18),
    ]
    first, *others = (capacities(loop) for loop in loops)
    assert all(other == first for other in others)
    assert len({value for point in first for value in point}) == 4, (
        "but not in two replicates or points"
    )


def test_the_rule_for_m_and_n_gives_the_four_pairs_that_are_known() -> None:
    pairs = {(0.2, 8): (7, 49), (0.05, 4): (2, 6), (0.1, 4): (4, 12), (0.36, 12): (12, 132)}
    for (round_trip_s, memory), (m, n) in pairs.items():
        assert effcap_of(round_trip_s, memory) == effcap(m, n)
    assert round_trip_of_measurements(0.3) == 10
    assert effcap_of(0.2, 1) == effcap(7, 1)


def test_efficiency_is_of_what_the_link_could_have_sent() -> None:
    # The buffer holds what a fall of the rate leaves, so nothing is lost. All of the capacity is
    # then used, whatever the link's random rates.
    result = simulate(alone(INSTCAP, 20, exact=True).scenario([Point(1.0, 400.0)], 4))
    capacity = of_replicates(result, "capacity", BOTTLENECK)
    assert np.ptp(capacity) > 0.02 * np.mean(capacity)
    assert efficiencies(result) == pytest.approx([1.0] * 4, abs=0.002)
    assert efficiencies(result, cells=CELLS) == pytest.approx([CELLS] * 4, abs=0.002)


def test_a_host_of_constant_rate_delivers_that_rate_where_the_link_carries_it() -> None:
    # 20 packets in a round trip are the link's low rate: 50 kB/s, headers included.
    result = simulate(alone(constant(20), 10, exact=True).scenario([Point(1.0, 400.0)], 2))
    bit_per_s = np.array(of_replicates(result, "throughput", "session 1")) * 1e6
    assert bit_per_s == pytest.approx(50_000 * 8, rel=1e-3)
    assert of_replicates(result, "hop_drops", BOTTLENECK) == [0, 0]
    assert constant(20).cells == CELLS


def test_the_papers_protocol_is_four_transfers_of_ten_megabytes() -> None:
    result = simulate(alone(NONE, 8, COARSE).transfers([1.0]))
    [published] = as_published(result)
    assert published.replicates == 4
    # All headers count: 20 000 packets over the mean rate.
    times = of_replicates(result, "completion_time", "session 1")
    assert published.mean == pytest.approx(
        np.mean([20_000 * 0.5 / 75 / time_s for time_s in times])
    )


def test_a_gain_is_of_pairs() -> None:
    assert gain([1.2, 2.4], [1.0, 2.0]) == pytest.approx((20.0, 0.0, 2))
