"""HighSpeed TCP at a router: published scenarios, laws of the queue, uniqueness of the solution."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models import hstcp_response
from ackclock.models.hstcp_router import DropTail, Red, Timing
from ackclock.models.hstcp_router.fixed_point import Offered, solve
from ackclock.models.hstcp_router.window_simulation import simulate

from ..refusals import refused

# Ten flows at 1 Gbit/s and at 2.5 Gbit/s, packets of 1000 bytes, and the largest buffers, of which
# the scenarios take shares.
A = {"rate": 125_000.0, "shortest": 0.1155, "longest": 0.1245, "flows": 10}
B = {"rate": 312_500.0, "shortest": 0.038, "longest": 0.142, "flows": 10}
LARGEST = {"A": 12_500, "B": 6250}
SCENARIOS = {"A": A, "B": B}
SHARES = np.array([0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1])

DROP_TAIL = {
    "A": [0.8628, 0.9342, 0.9693, 0.9892, 0.9952, 0.9979, 0.9991, 0.9997],
    "B": [0.7197, 0.8545, 0.9296, 0.9741, 0.9882, 0.9947, 0.9977, 0.9992],
}
RED = {
    "A": [0.7775, 0.8808, 0.9388, 0.9760, 0.9885, 0.9947, 0.9976, 0.9992],
    "B": [0.5970, 0.7631, 0.8723, 0.9471, 0.9739, 0.9874, 0.9941, 0.9979],
}
SAW_TOOTH = {
    "A": [0.849, 0.853, 0.859, 0.879, 0.907, 0.950, 0.993, 1.000],
    "B": [0.863, 0.864, 0.866, 0.871, 0.880, 0.897, 0.926, 0.982],
}


def places(scenario: str) -> np.ndarray:
    return np.floor(SHARES * LARGEST[scenario])


def round_trips(scenario: str) -> np.ndarray:
    return np.linspace(SCENARIOS[scenario]["shortest"], SCENARIOS[scenario]["longest"], 10)


def asked(name: str, scenario: str, **more: object) -> dict[str, np.ndarray]:
    numbers = SCENARIOS[scenario]
    return models.model(name).answer(rtt=numbers["shortest"], **numbers, **more)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_fixed_points_of_drop_tail(scenario: str) -> None:
    says = asked("mm1k", scenario, places=places(scenario))
    np.testing.assert_allclose(says["utilisation"], DROP_TAIL[scenario], rtol=0, atol=0.00005)
    first, last = {"A": (1.46e-5, 9.7e-6), "B": (1.05e-5, 6.6e-6)}[scenario]
    assert says["loss_rate"][[0, -1]] == pytest.approx(
        [first, last], abs=1e-7
    )  # a unit of the last digit


def test_queues_and_slopes_of_the_fixed_points() -> None:
    says = asked("mm1k", "A", places=[62, 125, 1250, 12_500])
    assert says["queue"][2:] == pytest.approx([205, 3270], abs=0.5)
    assert says["slope"] == pytest.approx([-46, -93, -875, -8144], abs=0.55)
    assert says["utilisation"][2] > 0.9
    assert asked("mm1k", "A", places=2500)["utilisation"] > 0.98


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_fixed_points_of_red(scenario: str) -> None:
    says = asked("hstcp_red", scenario, places=places(scenario))
    np.testing.assert_allclose(says["utilisation"], RED[scenario], rtol=0, atol=0.00005)
    lower = says["utilisation"] - says["shortcut_utilisation"]
    assert (lower > 0).all()
    assert lower.max() < 0.0033


@pytest.mark.parametrize(
    ("burst", "expected"),
    [
        (8, [0.892, 0.948, 0.976, 0.989]),
        (12, [0.836, 0.920, 0.962, 0.983]),
        (15, [0.794, 0.898, 0.952, 0.978]),
    ],
)
def test_the_fixed_points_with_bursts(burst: int, expected: list[float]) -> None:
    says = asked("mm1k_burst", "A", places=[625, 1250, 2500, 5000], burst=burst)
    np.testing.assert_allclose(says["utilisation"], expected, rtol=0, atol=0.0006)


def test_bursts_of_one_packet_are_none() -> None:
    without, single = (asked(name, "A", places=[7.5, 625], **more) for name, more in
                    (("mm1k", {}), ("mm1k_burst", {"burst": 1})))  # fmt: skip
    for name, values in without.items():
        np.testing.assert_array_equal(values, single[name])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_saw_tooth(scenario: str) -> None:
    says = asked("hstcp_sawtooth", scenario, buffer=SHARES * LARGEST[scenario])
    np.testing.assert_allclose(says["utilisation"], SAW_TOOTH[scenario], rtol=0, atol=0.001)


def test_the_buffer_that_fills_the_link() -> None:
    says = asked("hstcp_sawtooth", "A", buffer=0)
    assert says["share"] == pytest.approx(1500)
    assert says["full_buffer"] == pytest.approx(0.45 * 15_000, rel=0.01)


def test_rates_of_the_fixed_point_go_with_the_inverse_of_the_round_trip() -> None:
    solution = solve(DropTail(np.asarray(6250.0)), 312_500, round_trips("B"))
    shares = solution.rates / solution.rates.sum()
    assert shares[[0, -1]] == pytest.approx([0.198, 0.054], abs=0.006)
    R = round_trips("B") + solution.queue / 312_500
    np.testing.assert_allclose(solution.rates * R, solution.rates[0] * R[0], rtol=1e-12)


rho = st.one_of(
    st.floats(-30, 30), st.floats(-1e-3, 1e-3), st.sampled_from([0.0, 1e-12, -1e-12, 1e-300])
)


@pytest.mark.slow
@given(rho, st.integers(1, 300))
def test_what_a_drop_tail_router_holds_is_the_sum_over_its_states(log_rho: float, K: int) -> None:
    n = np.arange(K + 1.0)
    weights = np.exp(n * log_rho - max(0.0, K * log_rho))
    pi = weights / weights.sum()
    mean, law = float((pi * n).sum()), DropTail(np.asarray(K)).occupancy(np.asarray(log_rho))
    assert np.exp(law.log_loss) == pytest.approx(pi[-1], rel=1e-9, abs=1e-300)
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.variance == pytest.approx(float((pi * (n - mean) ** 2).sum()), rel=1e-7)
    assert law.log_loss_slope == pytest.approx(float((pi * (K - n)).sum()), rel=1e-9)


@pytest.mark.slow
@given(rho, st.integers(1, 300))
def test_red_that_drops_nothing_before_it_is_full_is_drop_tail(log_rho: float, K: int) -> None:
    drop_tail = DropTail(np.asarray(K)).occupancy(np.asarray(log_rho))
    # Resolution of a sum over states: the logarithm of a weight, up to K ln rho, is rounded, and
    # counts up to K packets.
    rounding = 1e-10 + 8 * np.finfo(float).eps * K * K * abs(log_rho)
    for shortcut in (False, True):
        red = Red(K, low=K, high=K + 1.0, p_max=0.5, shortcut=shortcut).occupancy(
            np.asarray(log_rho)
        )
        for name in ("log_loss", "mean", "variance", "log_loss_slope"):
            assert getattr(red, name) == pytest.approx(
                float(getattr(drop_tail, name)), rel=1e-7, abs=rounding
            )


@settings(max_examples=50)
@given(st.floats(-5, 5), st.integers(1, 40), st.floats(0, 0.9), st.floats(0.01, 1))
def test_reds_law_is_that_of_its_balance(log_rho: float, K: int, low: float, p_max: float) -> None:
    # The chain's generator, solved directly: up with rho (1 - d(n)), down with 1.
    red = Red(K, low * K, float(K), p_max)
    up, rates = np.exp(log_rho) * (1 - red.drops), np.zeros((K + 1, K + 1))
    for n in range(K):
        rates[n, n + 1], rates[n + 1, n] = up[n], 1.0
    rates -= np.diag(rates.sum(1))
    pi = np.linalg.lstsq(
        np.vstack([rates.T, np.ones(K + 1)]), np.append(np.zeros(K + 1), 1.0), rcond=None
    )[0]
    law = red.occupancy(np.asarray(log_rho))
    assert law.mean == pytest.approx(float(pi @ np.arange(K + 1)), rel=1e-6, abs=1e-9)
    assert np.exp(law.log_loss) == pytest.approx(float(pi @ red.drops), rel=1e-5, abs=1e-9)


routers = st.one_of(
    (st.sampled_from([1, 2, 10, 1000, 10**6]) | st.integers(1, 10**6)).map(
        lambda K: DropTail(np.asarray(float(K)))
    ),
    st.builds(
        lambda K, low, high, p_max, shortcut: Red(K, low * high * K, high * K, p_max, shortcut),
        st.integers(1, 2000), st.floats(0, 0.99), st.floats(0.01, 1), st.floats(1e-3, 1),
        st.booleans(),
    ),
)  # fmt: skip
delays = st.lists(st.floats(1e-6, 100), min_size=1, max_size=8)
link_rates = st.floats(0, 8).map(lambda power: 10.0**power)


@pytest.mark.long
@settings(max_examples=150)
@given(routers, link_rates, delays)
def test_there_is_one_solution_and_it_is_found(
    router: DropTail | Red, rate: float, delays: list[float]
) -> None:
    solution = solve(router, rate, delays)
    assert np.isfinite(
        [solution.load, solution.loss, solution.utilisation, solution.queue, solution.slope]
    ).all()
    assert 0 < solution.utilisation <= 1
    assert solution.slope <= 0
    # The offered load of the flows is the load.
    offered = Offered(router, np.asarray(rate), np.asarray(delays), np.asarray(1.0))
    steepness = 1 - float(solution.slope)
    assert offered.excess(np.log(solution.load)) == pytest.approx(0, abs=1e-13 * steepness + 1e-11)
    # The excess never falls, so its lowest and highest zero are the same.
    grid = np.unique(np.append(np.linspace(-25, 25, 101), np.log(solution.load)))
    assert (np.diff(offered.excess(grid)) > 0).all()


@pytest.mark.parametrize("K", [1, 2, 30, 1000, 10**5, 10**6])
def test_bisection_from_either_end_comes_to_the_same(K: int) -> None:
    router = DropTail(np.asarray(float(K)))
    offered = Offered(router, np.asarray(125_000.0), round_trips("A"), np.asarray(1.0))

    def root(low: float, high: float) -> float:
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if offered.excess(np.asarray(middle)) > 0 else (middle, high)
        return low

    ends = math.log(1e-6), math.log(50)
    solution = solve(router, 125_000, round_trips("A"))
    assert root(ends[0], math.log(solution.load) + 1e-6) == pytest.approx(
        root(math.log(solution.load) - 1e-6, ends[1]), abs=1e-15
    )
    assert solution.load == pytest.approx(math.exp(root(*ends)), rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("K", [1, 62, 1250, 12_500, 100_000])
@pytest.mark.parametrize("shortcut", [False, True])
def test_the_solution_takes_few_evaluations(
    K: int, shortcut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a million places an evaluation takes a tenth of a second. Bisection takes sixty.
    asked: list[object] = []
    occupancy = Red.occupancy
    monkeypatch.setattr(
        Red, "occupancy", lambda self, log_rho: asked.append(log_rho) or occupancy(self, log_rho)
    )
    solve(Red(K, 0.4 * K, float(K), 0.1, shortcut), 125_000, round_trips("A"))
    assert len(asked) <= 30


@pytest.mark.long
@given(st.integers(1, 10**5), link_rates, st.floats(1e-4, 10))
def test_the_slope_is_that_of_what_is_offered(K: int, rate: float, delay: float) -> None:
    router = DropTail(np.asarray(float(K)))
    solution = solve(router, rate, [delay, 2 * delay])
    offered = Offered(router, np.asarray(rate), np.array([delay, 2 * delay]), np.asarray(1.0))
    t, h = math.log(solution.load), 1e-5 / max(1.0, K**0.5)
    # The corner of the response function is left out.
    if abs(math.log(solution.loss / hstcp_response.LOW_P)) < 0.1:
        return
    before, after = (float(offered.excess(np.asarray(t + step))) for step in (-h, h))
    assert 1 - (after - before) / (2 * h) == pytest.approx(
        float(solution.slope), rel=2e-3, abs=1e-6
    )


def test_plain_substitution_does_what_the_slope_says() -> None:
    def wanders_off(fixed_point: object, router: DropTail, rate: float, delays: np.ndarray) -> bool:
        offered = Offered(router, np.asarray(rate), delays, np.asarray(1.0))
        x = start = math.log(fixed_point.load) + 1e-6
        for _ in range(20):
            x -= float(offered.excess(np.asarray(x)))
        return abs(x - math.log(fixed_point.load)) > abs(start - math.log(fixed_point.load))

    # A pipe of a thousandth of a packet: the offered load hardly depends on the loss.
    for K, rate, delays, converges in (
        (62, 125_000.0, round_trips("A"), False),
        (1, 10.0, np.array([1e-4]), True),
    ):
        router = DropTail(np.asarray(float(K)))
        solution = solve(router, rate, delays)
        assert bool(abs(solution.slope) < 1) == converges
        assert wanders_off(solution, router, rate, delays) != converges


@pytest.mark.long
@given(st.integers(1, 10**5), st.integers(1, 1000), link_rates, delays)
def test_more_places_use_more_and_delay_more(
    K: int, more: int, rate: float, delays: list[float]
) -> None:
    fewer, larger = (solve(DropTail(np.asarray(float(k))), rate, delays) for k in (K, K + more))
    assert larger.utilisation >= fewer.utilisation * (1 - 1e-12)
    assert larger.queue >= fewer.queue * (1 - 1e-9)
    assert larger.loss <= fewer.loss * (1 + 1e-9)


@pytest.mark.slow
def test_the_window_simulation_of_scenario_a() -> None:
    timing = Timing(duration_s=160, warmup_s=60, step_s=5e-3)
    made = simulate(
        125_000,
        round_trips("A"),
        np.repeat([1250, 2500, 12_500], 3),
        np.tile([1, 2, 3], 3),
        timing=timing,
    )
    small, larger, full = made.utilisation.reshape(3, 3)
    np.testing.assert_allclose(small, 0.91, rtol=0, atol=0.01)
    np.testing.assert_allclose(larger, 0.954, rtol=0, atol=0.01)
    np.testing.assert_allclose(full, 1, rtol=0, atol=1e-9)
    # An overflow drops a burst; such events are as rare as the losses of the fixed point.
    answer = asked("mm1k", "A", places=1250)
    assert (made.loss[:3] > 8 * answer["loss_rate"]).all()
    assert made.events[:3] == pytest.approx(float(answer["loss_rate"]), rel=0.3)


@pytest.mark.slow
def test_runs_beside_each_other_do_not_disturb_each_other() -> None:
    timing = Timing(duration_s=20, warmup_s=5, step_s=5e-3)
    both = simulate(125_000, round_trips("A"), [300, 1250], [4, 5], timing=timing)
    alone = simulate(125_000, round_trips("A"), 1250, 5, timing=timing)
    np.testing.assert_array_equal(both.rates[1], alone.rates[0])
    other = simulate(125_000, round_trips("A"), 1250, 6, timing=timing)
    assert (other.rates != alone.rates).any()


@pytest.mark.slow
@pytest.mark.parametrize("sync", [False, True])
def test_what_is_sent_is_carried_waits_or_is_dropped(sync: bool) -> None:
    timing = Timing(duration_s=10, warmup_s=0, step_s=2e-3)
    made = simulate(12_500, [0.05, 0.1], [0, 20, 700], [1, 2, 3], sync=sync, timing=timing)
    carried = made.utilisation * 12_500 * 10
    waiting = made.rates.sum(1) * 10 - carried
    assert (waiting >= -1e-6).all()
    assert (waiting <= np.array([0, 20, 700]) + 1e-6).all()
    assert (np.diff(made.utilisation) > 0).all()
    assert (made.queue <= [0, 20, 700]).all()


def test_alike_flows_that_are_all_hit_stay_alike() -> None:
    timing = Timing(duration_s=10, warmup_s=2, step_s=2e-3)
    made = simulate(12_500, [0.1, 0.1, 0.1], 300, sync=True, timing=timing)
    np.testing.assert_allclose(made.windows[0], made.windows[0, 0], rtol=1e-12)
    chance = simulate(12_500, [0.1, 0.1, 0.1], 300, timing=timing)
    assert np.ptp(chance.windows[0]) > 0


@pytest.mark.parametrize(
    ("name", "wrong", "code", "field", "value"),
    [
        ("mm1k", {"flows": 2.5}, "out-of-range", "flows", "2.5"),
        ("mm1k", {"shortest": 0.2}, "contradiction", "shortest", "0.2"),
        ("mm1k", {"longest": 0.05}, "contradiction", "longest", "0.05"),
        ("mm1k", {"flows": 1, "longest": 0.2}, "contradiction", "flows", "1"),
        ("mm1k", {"places": 0.5}, "out-of-range", "places", "0.5"),
        ("mm1k_burst", {"burst": 60}, "contradiction", "burst", "60"),
        ("hstcp_red", {"min_th": 30, "max_th": 20}, "contradiction", "min_th", "30"),
        ("hstcp_red", {"p_max": 1.5}, "out-of-range", "p_max", "1.5"),
        ("hstcp_window_sim", {"step": 1e-9}, "out-of-range", "step", "1e-09"),
        ("hstcp_window_sim", {"step": 0.09}, "contradiction", "step", "0.09"),
        ("hstcp_window_sim", {"warmup": 200}, "contradiction", "warmup", "200"),
    ],
)
def test_what_contradicts_itself_is_refused(
    name: str, wrong: dict[str, float], code: str, field: str, value: str
) -> None:
    inputs = {"rate": 1000, "rtt": 0.1, "flows": 3, "places": 50, "buffer": 50} | wrong
    record = models.model(name)
    taken = {entry.name for entry in record.inputs}
    with refused(code, field, value):
        record.answer(**{key: value for key, value in inputs.items() if key in taken})


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (lambda: DropTail(np.asarray(0.0)), "places"),
        (lambda: DropTail(np.asarray(2.5)), "places"),
        (lambda: Red(10, 5, 5, 0.1), "low"),
        (lambda: Red(10, 2, 5, 0), "p_max"),
        (lambda: solve(DropTail(np.asarray(5.0)), 0, [0.1]), "rate"),
        (lambda: solve(DropTail(np.asarray(5.0)), 10, [0.1, 0]), "round_trips"),
        (lambda: simulate(1000, [0.1], 10, timing=Timing(step_s=0.2)), "step"),
        (lambda: Timing(duration_s=10, warmup_s=10), "warmup"),
    ],
)
def test_what_functions_are_not_meant_for_is_refused(wrong, field: str) -> None:
    with refused("out-of-range", field):
        wrong()
