"""Models of PIE, PI2, CoDel and DualPI2 in steady state, against numbers computed by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ackclock import Scenario
from ackclock.models import codel_cycle, dualpi2_shares, steered_queue
from ackclock.models.path import FlowPath
from ackclock.models.resolved import flow_paths

#: 10 Mbit/s in packets of 12 kbit.
MU = 1e7 / 12_000


def test_reno_through_pie() -> None:
    """W = C (R + 15 ms)/N and p = 1.5/W^2, with R = 100 ms."""
    says = steered_queue.MODEL.answer(rate=MU, rtt=0.1, target=0.015, flows=[1, 5])
    np.testing.assert_allclose(says["window"], [95.83, 19.17], rtol=3e-4)
    np.testing.assert_allclose(says["loss_rate"], [1.633e-4, 4.083e-3], rtol=3e-4)
    np.testing.assert_allclose(says["base_probability"] ** 2, says["loss_rate"])
    np.testing.assert_allclose(says["mean_rtt"], 0.115)


@pytest.mark.slow
@given(
    rate=st.floats(1e2, 1e7),
    rtt=st.floats(1e-3, 1),
    target=st.floats(1e-4, 0.1),
    flows=st.integers(1, 100),
)
def test_flows_share_the_window(rate: float, rtt: float, target: float, flows: int) -> None:
    """N flows have an Nth of the window, and N^2 times the drop probability up to 1."""
    single = steered_queue.MODEL.answer(rate=rate, rtt=rtt, target=target)
    many = steered_queue.MODEL.answer(rate=rate, rtt=rtt, target=target, flows=flows)
    assert many["window"] == pytest.approx(float(single["window"]) / flows)
    if single["loss_rate"] < 1:
        expected = min(1.0, float(single["loss_rate"]) * flows**2)
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


@pytest.mark.slow
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


def test_a_flow_that_acts_as_if_its_round_trip_were_longer_gets_less() -> None:
    """Prague has its two marks in 25 ms instead of 10.5 ms. The window is rate times 10.5 ms."""
    says = dualpi2_shares.MODEL.answer(
        rate=4e7 / 12_000, rtt=0.01, least_rtt=0.025, of_scalable=[0, 1]
    )
    assert says["rate_ratio"][0] == pytest.approx(1 / 1.5**0.5)
    assert says["low_latency_window"][0] == pytest.approx(says["low_latency_rate"][0] * 0.0105)
    rates = says["classic_rate"][0], says["low_latency_rate"][0]
    assert says["goodput"] == pytest.approx(rates)
    assert sum(rates) == pytest.approx(4e7 / 12_000)


L4S = Path(__file__).parents[2] / "examples/l4s-coexistence.toml"


def _coexisting(**changes: Any) -> dict[str, FlowPath]:
    """Returns the paths of the example's first point, by flow, after changes of its text."""
    text = L4S.read_text(encoding="utf-8")
    for before, after in changes.items():
        assert OLD[before] in text
        text = text.replace(OLD[before], after)
    scenario = Scenario.from_toml(text).expand()[0].scenario
    return {path.flow: path for path in flow_paths(scenario.resolve().tree)}


#: Parts of the example that tests change.
OLD = {
    "queue": 'kind = "dualpi2", arithmetic = "linux"',
    "classic": 'preset = "linux", ecn = true, control = { kind = "cubic" }',
    "scalable": 'preset = "l4s", control = { kind = "prague" }',
}


def test_the_flows_of_a_scenario_are_put_into_their_queues() -> None:
    paths = _coexisting(
        queue='kind = "dualpi2", arithmetic = "linux", coupling = 3, target = "20 ms"'
    )
    answers = {}
    for name, path in paths.items():
        assert dualpi2_shares.MODEL.applies(path).applies
        inputs, answers[name] = dualpi2_shares.MODEL.answer_path(path)
        assert inputs["of_scalable"] == (name == "scalable")
        assert (inputs["low_latency_flows"], inputs["classic_flows"]) == (1, 1)
        assert (inputs["coupling"], inputs["classic_target"], inputs["least_rtt"]) == (
            3,
            0.02,
            0.025,
        )
    assert answers["scalable"]["goodput"] == answers["classic"]["low_latency_rate"]
    total = answers["scalable"]["goodput"] + answers["classic"]["goodput"]
    assert total == pytest.approx(paths["classic"].bottleneck.segments_per_s)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"queue": 'kind = "pi2"'}, "pi2 does not have a coupled queue"),
        ({"classic": 'preset = "l4s", control = { kind = "prague" }'}, "no classic flow"),
        (
            {"classic": 'preset = "linux", control = { kind = "bbr3" }'},
            "not known to be Reno or CUBIC",
        ),
        (
            {"scalable": 'preset = "l4s", ecn_feedback = "classic", control = { kind = "prague" }'},
            "prague joins the low-latency queue and is not known to be scalable",
        ),
        (
            {"scalable": 'preset = "l4s", ecn_codepoint = "ect0", control = { kind = "prague" }'},
            "prague joins the classic queue and is not known to be Reno or CUBIC",
        ),
    ],
)
def test_flows_in_the_wrong_queue_have_no_answer(changes: dict[str, str], words: str) -> None:
    for path in _coexisting(**changes).values():
        assert words in dualpi2_shares.MODEL.applies(path).why_not


def test_a_queue_that_takes_every_ect_packet_takes_dctcp() -> None:
    """And then CUBIC must not have ECN."""
    dctcp = 'preset = "linux", control = { kind = "dctcp" }'
    queue = 'kind = "dualpi2", low_latency = "any_ect"'
    together = _coexisting(scalable=dctcp, queue=queue)["scalable"]
    assert "cubic joins the low-latency queue" in dualpi2_shares.MODEL.applies(together).why_not
    alone = _coexisting(
        scalable=dctcp, queue=queue, classic='preset = "linux", control = { kind = "cubic" }'
    )
    inputs, outputs = dualpi2_shares.MODEL.answer_path(alone["scalable"])
    assert (inputs["of_scalable"], inputs["least_rtt"]) == (1, 0)
    low, classic = inputs["low_latency_rtt"] + 0.0005, inputs["rtt"] + 0.015
    assert outputs["rate_ratio"] == pytest.approx(2 / (2 * low) / (1.5**0.5 / classic))


def test_unlike_round_trips_in_one_queue_have_no_answer() -> None:
    text = L4S.read_text(encoding="utf-8")
    other = '[[flows]]\nname = "far"\naccess_delay = "40 ms"\nroute = ["line"]\nreturn = ["back"]\n'
    other += (
        'transport = { kind = "tcp", preset = "linux", control = { kind = "cubic" } }\n\n[sweep]'
    )
    scenario = Scenario.from_toml(text.replace("[sweep]", other)).expand()[0].scenario
    path = flow_paths(scenario.resolve().tree)[0]
    assert (
        "the classic flows have round-trip times from" in dualpi2_shares.MODEL.applies(path).why_not
    )


def test_cubic_beyond_reno_and_an_overload_are_violations() -> None:
    """At 80 ms CUBIC's window grows past Reno's; 400 Prague flows need marks beyond 1."""
    text = L4S.read_text(encoding="utf-8")
    far = Scenario.from_toml(text).expand()[2].scenario
    verdict = dualpi2_shares.MODEL.applies(flow_paths(far.resolve().tree)[0])
    assert "reno: cubic's window would be" in verdict.note
    many = Scenario.from_toml(text.replace('name = "scalable"', 'name = "scalable"\ncount = 400'))
    path = flow_paths(many.expand()[0].scenario.resolve().tree)[0]
    assert (
        "no_overload: the coupled probability would be" in dualpi2_shares.MODEL.applies(path).note
    )


def test_a_base_probability_that_varies_is_a_violation() -> None:
    """It does with one flow, and at 80 ms; with five at 20 ms it nearly does not."""
    single = L4S.read_text(encoding="utf-8")
    five = single.replace('name = "classic"', 'name = "classic"\ncount = 5')
    for text, point, varies in ((five, 1, False), (five, 2, True), (single, 1, True)):
        scenario = Scenario.from_toml(text).expand()[point].scenario
        path = flow_paths(scenario.resolve().tree)[0]
        violated = [name for name, _ in dualpi2_shares.MODEL.applies(path).violated]
        assert ("steady_probability" in violated) is varies
