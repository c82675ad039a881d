"""Responses of rates to steps and outages: by hand, by law, and in runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import Scenario, simulate
from ackclock.metrics import (
    by_replicate,
    outage,
    outage_of,
    recovery_rounds,
    response,
    response_to,
    summarise,
)

from .refusals import refused
from .sampled import sampled


def edges(rates: list[float]) -> list[float]:
    return list(range(len(rates) + 1))


def test_a_fall_by_hand() -> None:
    #        before 100      | step at 4
    rates = [100, 90, 110, 100, 80, 60, 50, 30, 40, 40, 40, 40]
    measured = response(edges(rates), rates, 4)
    assert (measured.before, measured.after) == (100, 40)
    assert measured.halved_s == 3  # 50 in the third interval
    assert measured.reached_s == 3  # 40/0.8 = 50
    assert measured.beyond == pytest.approx(1 - 30 / 40)
    assert response(edges(rates), rates, 4, share=0.95).reached_s == 4


def test_a_rise_by_hand() -> None:
    rates = [10, 10, 20, 70, 120, 105, 100, 95, 100, 100]
    measured = response(edges(rates), rates, 2)
    assert (measured.before, measured.after) == (10, 98.75)
    assert measured.reached_s == 3
    assert math.isnan(measured.halved_s)
    assert measured.beyond == pytest.approx(120 / 98.75 - 1)


def test_what_falls_to_nothing_what_stays_and_what_is_not_known() -> None:
    gone = response(edges([5] * 4 + [0] * 4), [5] * 4 + [0] * 4, 4)
    assert (gone.after, gone.reached_s, gone.halved_s, gone.beyond) == (0, 1, 1, 0)
    same = response(edges([10] * 6), [10] * 6, 2)
    assert (same.before, same.after, same.reached_s, same.beyond) == (10, 10, 1, 0)
    unknown = response(edges([10] * 6), [10, 10, 10, 10, math.nan, 10], 2)
    assert math.isnan(unknown.after)
    assert math.isnan(unknown.reached_s)


def test_what_the_step_cuts_in_two_counts_for_neither_side() -> None:
    measured = response([0, 1, 2, 3, 4, 5], [8, 8, 999, 4, 4], 2.5)
    assert (measured.before, measured.after, measured.reached_s, measured.halved_s) == (
        8,
        4,
        1.5,
        1.5,
    )


@pytest.mark.slow
@given(
    st.lists(st.floats(0.1, 100), min_size=2, max_size=30),
    st.data(),
    st.integers(-7, 7),
    st.floats(-50, 50),
)
def test_a_response_knows_no_unit_and_no_zero_of_time(
    rates: list[float], data, power: int, shift: float
) -> None:
    factor = 2.0**power  # exact, so that a rate that is just near remains near
    step = data.draw(st.integers(1, len(rates) - 1))
    share = data.draw(st.floats(0.01, 0.99))
    assert response(edges(rates), rates, step, share).reached_s <= len(rates) - step, (
        "it is reached in any case"
    )
    measured = response(edges(rates), rates, step)
    other = response(np.array(edges(rates)) + shift, np.array(rates) * factor, step + shift)
    assert tuple(other) == pytest.approx(
        (measured.before * factor, measured.after * factor, measured.reached_s, measured.halved_s,
         measured.beyond),
        rel=1e-6, abs=1e-6, nan_ok=True,
    )  # fmt: skip
    assert 0 < measured.reached_s <= len(rates) - step
    assert measured.beyond >= 0
    assert math.isnan(measured.halved_s) or measured.halved_s <= len(rates) - step


def test_an_outage_by_hand() -> None:
    rates = [100, 100, 90, 40, 10, 5, 30, 80, 100, 100]
    measured = outage(edges(rates), rates, 2, 5)
    assert tuple(measured) == (100, 0.9, 0.1, 3)
    assert outage(edges(rates), rates, 2, 5, share=1).recovered_s == 4
    # One that doubles without feedback, and never recovers.
    worse = outage(edges(rates), [10, 10, 20, 40, 80, 1, 1, 1, 1, 1], 2, 5)
    assert (worse.worst, worse.last, worse.recovered_s) == (8, 8, 5)


def test_nothing_before_is_neither_halved_nor_recovered() -> None:
    rates = [0, 0, 0, 0, 5, 5]
    assert math.isnan(response(edges(rates), rates, 4).halved_s)
    assert math.isnan(outage(edges(rates), rates, 2, 4).recovered_s)


@pytest.mark.parametrize("step_s", [0, 4, 9])
def test_a_step_outside_the_measured_time_is_refused(step_s: float) -> None:
    with refused("no-data", "step", step_s):
        response([0, 1, 2, 3, 4], [1, 1, 1, 1], step_s)
    with refused("no-data", "outage", "3 s", "4 s"):
        outage([0, 1, 2, 3, 4], [1, 1, 1, 1], 3, 4)


def test_numbers_of_a_response_are_metrics_of_flows() -> None:
    fall = [200.0] * 60 + [100.0] * 60
    late = [200.0] * 80 + [100.0] * 40
    result = sampled([{"f": [fall, fall]}, {"f": [late, late]}], warmup_s=1)
    assert by_replicate(result, response_to("reached_s", 6, 0.5)) == {
        (0, "f"): pytest.approx({0: 0.5, 1: 2.5})
    }
    [before] = summarise(result, response_to("before", 6, 0.5))
    assert before.interval == pytest.approx((200e3, 0, 2))
    with pytest.raises(KeyError, match="nothing"):
        response_to("nothing", 6, 0.5)
    with refused("contradiction", "time scale"):
        summarise(result, response_to("after", 6, 0.05))


def test_one_step_of_several_and_flows_that_are_not_there() -> None:
    rates = [400.0] * 30 + [200.0] * 30 + [100.0] * 30
    result = sampled([{"f": [rates], "short": [[50.0] * 40]}])
    values = by_replicate(result, response_to("before", 6, 0.5, within_s=(3, 9)))
    assert values[0, "f"] == {0: pytest.approx(200e3)}
    assert math.isnan(values[0, "short"][0])
    assert by_replicate(result, response_to("after", 3, 0.5, within_s=(0, 6)))[0, "f"] == {
        0: pytest.approx(200e3)
    }
    with refused("out-of-range", "at", 9.5):
        summarise(result, response_to("after", 9.5, 0.5))
    with refused("out-of-range", "at", 12):
        summarise(result, outage_of("worst", 3, 12, 0.5))


def test_of_several_instances_it_is_their_mean_that_responds() -> None:
    # One falls and one rises at the same time, so the rate per instance stays.
    result = sampled([{"f": [[200.0] * 50 + [100.0] * 50, [100.0] * 50 + [200.0] * 50]}])
    assert by_replicate(result, response_to("after", 5, 0.5))[0, "f"] == {0: pytest.approx(150e3)}
    assert by_replicate(result, response_to("beyond", 5, 0.5))[0, "f"] == {
        0: pytest.approx(0, abs=1e-9)
    }


def test_intervals_end_at_the_step_wherever_the_measured_time_begins() -> None:
    rates = [200.0] * 57 + [50.0] * 63
    values = by_replicate(
        sampled([{"f": [rates]}], warmup_s=0.3), response_to("reached_s", 5.7, 1.0)
    )
    assert values[0, "f"] == {0: pytest.approx(1)}


def test_rounds_are_round_trips_of_before() -> None:
    rates = [200.0] * 50 + [0.0] * 30 + [50.0] * 20 + [200.0] * 50
    result = sampled([{"f": [rates]}])
    seconds = by_replicate(result, outage_of("recovered_s", 5, 8, 0.5))[0, "f"][0]
    assert seconds == pytest.approx(2.5)
    assert by_replicate(result, recovery_rounds(5, 8, 0.5))[0, "f"][0] == pytest.approx(
        seconds / 0.05
    )


STEPPED = """\
schema = 1
duration = "60 s"
warmup = "10 s"
replicates = 3
sample_interval = "100 ms"

[[hops]]
name = "out"
link.kind = "scheduled"
link.steps = [{ from = "0 s", rate = "10 Mbit/s" }, { from = "30 s", rate = "2.5 Mbit/s" }]
queue = { kind = "droptail", limit = "30 packets" }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "unlimited" }
delay = "20 ms"

[[flows]]
name = "main"
route = ["out"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "rfc", mss = "1000 bytes" }
"""


def test_a_step_of_bandwidth_in_a_run() -> None:
    result = simulate(Scenario.from_toml(STEPPED))
    for name, low, high in (
        ("before", 9e6, 10e6 / 1.04),
        ("after", 2.3e6, 2.5e6),
        ("reached_s", 1, 2),
    ):
        [summary] = summarise(result, response_to(name, 30, 1.0, "delivered"))
        assert low <= summary.interval.mean <= high, name


def test_a_step_of_loss_in_a_run() -> None:
    # 0.1 % allows a mean window of 39 segments, which this link holds; 5 % some five.
    loss = {"kind": "scheduled_loss", "steps": [{"from": "0 s", "probability": "0.1 %"}]}
    loss["steps"].append({"from": "30 s", "probability": "5 %"})
    link = {"kind": "constant", "rate": "10 Mbit/s"}
    result = simulate(
        Scenario.from_toml(STEPPED).replace({"hops.out.link": link, "hops.out.impairments": [loss]})
    )
    [before], [after], [halved] = (
        summarise(result, response_to(name, 30, 1.0)) for name in ("before", "after", "halved_s")
    )
    assert after.interval.high < before.interval.low / 3
    assert 1 <= halved.interval.mean <= 5


def test_a_blackout_in_a_run() -> None:
    steps = [{"from": "30 s", "probability": "100 %"}, {"from": "35 s", "probability": "0 %"}]
    loss = {"kind": "scheduled_loss", "applies": "all", "steps": steps}
    link = {"kind": "constant", "rate": "10 Mbit/s"}
    result = simulate(
        Scenario.from_toml(STEPPED).replace({"hops.out.link": link, "hops.out.impairments": [loss]})
    )
    delivered = summarise(result, outage_of("worst", 30.1, 35, 0.1, "delivered"))[0]
    assert (
        delivered.interval.mean == 0
    )  # except for packets that had crossed the hop, and arrived 20 ms later
    worst, recovered = (
        summarise(result, outage_of(name, 30, 35, 1.0))[0] for name in ("worst", "recovered_s")
    )
    assert 0 < worst.interval.mean < 1
    # Timeouts of 1 s, 2 s and 4 s after one at 30 s: the next is at 37 s, followed by slow start.
    assert 2 <= recovered.interval.mean <= 5
