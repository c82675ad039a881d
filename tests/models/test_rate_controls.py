"""Flows with a rate control over UDP, in the models and in the tables."""

import math

import pytest

from ackclock import Scenario, models, predict, simulate
from ackclock.metrics import metric, summarise
from ackclock.models import pftk, square_root, tfrc
from ackclock.report.run_tables import flow_rows
from tests.models.restated import restated

UDP = {"kind": "udp", "mss": "1000 bytes", "header": "28 bytes", "feedback_size": "40 bytes"}

# Resolved controls, as far as the models read them.
TFRC = {"kind": "tfrc", "b": 1.0, "t_rto": "four_rtt"}
TFRCP = {
    "kind": "tfrcp",
    "packets_per_ack": 2.0,
    "rto_minimum": "400 ms",
    "receive_window": "64 packets",
}


def under(resolved, control: dict, **transport: object) -> dict:
    """Returns the leaky pipe at 0.5 %, its flow with a rate control."""
    tree = resolved(duration="200 s", warmup="20 s")
    tree["flows"][0]["transport"] = UDP | {"control": control} | transport
    return restated(tree)


def answers(tree: dict) -> dict[str, dict]:
    table = models.predictions([restated(tree)])
    return {
        name: {key: table[key][row] for key in table} for row, name in enumerate(table["model"])
    }


def test_the_round_trip_has_the_feedbacks_own_size(resolved) -> None:
    [path] = models.flow_paths(under(resolved, TFRC, feedback_size="400 bytes"))
    assert path.round_trip.base_s == pytest.approx(
        0.07 + 1028 * 8 / 45e6 + 1028 * 8 / 11e6 + 400 * 8 / 45e6, rel=1e-12
    )
    assert (path.sender.transport, path.control.name, path.control.is_aimd) == (
        "udp",
        "tfrc",
        False,
    )


def test_rfc_5348_says_what_a_tfrc_flow_may_send(resolved) -> None:
    tree = under(resolved, TFRC)
    [path] = models.flow_paths(restated(tree))
    says = answers(tree)
    assert says["tfrc"]["outputs"]["rate"] == pytest.approx(
        float(tfrc.rate(0.005, path.round_trip.base_s)), rel=1e-12
    )
    # What is lost is not sent again.
    assert says["tfrc"]["goodput_bit_per_s"] == pytest.approx(
        0.995 * says["tfrc"]["outputs"]["rate"] * 8000
    )
    assert (says["tfrc"]["verdict"], says["tfrc"]["note"]) == ("applies, within 20 %", "")
    assert says["tfrc"]["control"] == "tfrc"
    assert says["pftk"]["note"] == "not TCP, but the rate control tfrc"
    assert [name for name, row in says.items() if row["goodput_bit_per_s"] is not None] == ["tfrc"]
    # A minimum timeout of a second, which RFC 5348 allows, slows it down.
    slower = answers(under(resolved, TFRC | {"t_rto": "four_rtt_or_a_second"}))["tfrc"]
    assert slower["inputs"]["tcp_timeout"] == 1
    assert slower["goodput_bit_per_s"] < says["tfrc"]["goodput_bit_per_s"]


def test_pftk_says_what_a_tfrcp_flow_may_send(resolved) -> None:
    tree = under(resolved, TFRCP)
    [path] = models.flow_paths(restated(tree))
    says = answers(tree)
    expected = float(pftk.full(0.005, path.round_trip.base_s, 0.4, 64, 2))
    assert says["tfrcp"]["outputs"] == pytest.approx(
        {"rate": expected, "goodput": 0.995 * expected}, rel=1e-12
    )
    assert says["tfrcp"]["goodput_bit_per_s"] == pytest.approx(0.995 * expected * 8000)
    assert says["pftk"]["note"] == "not TCP, but the rate control tfrcp"
    assert says["tfrc"]["goodput_bit_per_s"] is None


def test_a_tcp_flow_is_not_under_tfrcp(resolved) -> None:
    assert answers(resolved())["tfrcp"]["note"] == "no rate control"


def test_without_random_loss_there_is_no_equation(resolved) -> None:
    for control in (TFRC, TFRCP):
        tree = under(resolved, control)
        tree["hops"][1]["impairments"] = []
        assert answers(tree)[control["kind"]]["note"] == "no random loss"


def test_the_square_root_is_of_any_aimd_on_a_rate_too(resolved) -> None:
    tree = under(resolved, {"kind": "rap", "increase": 0.31, "decrease": 0.875})
    [path] = models.flow_paths(restated(tree))
    C = square_root.constant(1, 0.31, 0.875)
    says = answers(tree)
    assert says["square_root"]["outputs"]["rate"] == pytest.approx(
        float(square_root.rate(0.005, path.round_trip.base_s, C))
    )
    assert [name for name, row in says.items() if row["goodput_bit_per_s"] is not None] == [
        "square_root"
    ]


def test_scheduled_loss_counts_with_its_mean_and_is_said_to_change(resolved) -> None:
    tree = resolved()  # 5 s, of which the first is the warm-up
    steps = [("500 ms", "2 %"), ("2 s", "8 %"), ("4 s", "0 %"), ("9 s", "100 %")]
    loss = {"kind": "scheduled_loss", "applies": "data", "side": "after_link"}
    loss["steps"] = [{"from": begin, "probability": share} for begin, share in steps]
    tree["hops"][1]["impairments"] = [loss]
    [path] = models.flow_paths(restated(tree))
    assert path.loss.rate == pytest.approx((1 * 0.02 + 2 * 0.08) / 4)
    assert dict(models.model("pftk").applies(path).violated)["steady_loss"].startswith(
        "the loss rate changes"
    )
    assert "steady_loss" not in dict(
        models.model("pftk").applies(models.flow_paths(resolved())[0]).violated
    )


def test_a_scheduled_links_rate_is_its_highest(resolved) -> None:
    tree = resolved()
    steps = [{"from": "0 s", "rate": "2 Mbit/s"}, {"from": "3 s", "rate": "8 Mbit/s"}]
    tree["hops"][1]["link"] = {"kind": "scheduled", "steps": steps}
    [path] = models.flow_paths(restated(tree))
    assert path.bottleneck.link_bit_per_s == pytest.approx(8e6 * 1000 / 1040)
    assert path.bottleneck.varies


def test_a_run_beside_its_model(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[1].scenario
    [flow] = point.tree["flows"]
    controlled = {name: flow[name] for name in ("route", "return")} | {"name": "rate"}
    controlled["transport"] = {"kind": "udp", "control": {"kind": "rap"}, "mss": "1000 bytes"}
    plain = {"name": "voice", "route": flow["route"], "transport": {"kind": "udp"}}
    plain |= {"traffic": {"kind": "cbr", "rate": "64 kbit/s"}}
    result = simulate(point.replace(flows=[flow, controlled, plain], duration="10 s"))
    rows = {row["flow"]: row for row in flow_rows(result, predict(result, "square_root"))}
    assert [row["control"] for row in rows.values()] == ["reno", "rap", "udp"]
    assert rows["main"]["fairness"] == rows["rate"]["fairness"] is not None
    assert 0 < rows["rate"]["fairness"].mean <= 1
    assert list(rows["rate"]["predicted"]) == ["square root"]
    shares = {
        value.subject: value.value
        for value in metric("friendliness").values(result)
        if value.replicate == 0
    }
    assert shares["main"] + shares["rate"] == pytest.approx(2)
    assert math.isnan(shares["voice"])
    allowed = {value.subject: value.value for value in metric("allowed_rate").values(result)}
    assert math.isnan(allowed["main"])
    assert allowed["rate"] > 0


def test_what_the_engine_resolves_is_what_the_models_ask_for(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[1].scenario
    [flow] = point.tree["flows"]
    control = {
        "kind": "tfrcp",
        "packets_per_ack": 2,
        "rto_minimum": "200 ms",
        "receive_window": "64000 bytes",
    }
    changed = flow | {"transport": {"kind": "udp", "control": control, "mss": "1000 bytes"}}
    [path] = models.flow_paths(point.replace(flows=[changed]).resolve().tree)
    assert (path.control.name, path.sender.segments_per_ack) == ("tfrcp", 2)
    assert (path.sender.first_timeout_s, path.sender.receive_window_segments) == (0.2, 64)
    [row] = [
        row
        for row in predict(point.replace(flows=[changed])).tables["predictions"].to_pylist()
        if row["model"] == "tfrcp"
    ]
    expected = float(pftk.full(0.005, path.round_trip.base_s, 0.2, 64, 2)) * 0.995 * 8000
    assert row["goodput_bit_per_s"] == pytest.approx(expected)


def test_tfrcp_sends_what_its_model_says(leaky_pipe: Scenario) -> None:
    # A link far larger than the rate; a round of 5 s has some hundreds of packets and a few losses.
    point = leaky_pipe.expand()[1].scenario
    [flow] = point.tree["flows"]
    transport = {"kind": "udp", "control": {"kind": "tfrcp", "round": "5 s"}, "mss": "1000 bytes"}
    fast = point.replace(
        {"hops.wired.link.rate": "100 Mbit/s", "hops.wireless.link.rate": "100 Mbit/s",
         "duration": "520 s", "warmup": "20 s", "hops.wireless.impairments.0.probability": "1 %"},
        flows=[flow | {"transport": transport}],
    )  # fmt: skip
    [row] = predict(fast, "tfrcp").tables["predictions"].to_pylist()
    [summary] = summarise(simulate(fast), metric("goodput"))
    # f is convex in p, so a noisy p gives more than its mean: by half the second derivative times
    # the variance.
    p, h = 0.01, 1e-4
    inputs = dict(row["inputs"])
    f = [float(pftk.full(x, inputs["rtt"], inputs["timeout"], b=1)) for x in (p - h, p, p + h)]
    packets = 5 * f[1]
    more = (f[0] - 2 * f[1] + f[2]) / h**2 / 2 * p * (1 - p) / packets / f[1]
    assert 0.05 < more < 0.2
    assert summary.interval.mean / row["goodput_bit_per_s"] == pytest.approx(1 + more, abs=0.15)
