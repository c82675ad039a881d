"""Each cause is named where its evidence is, and only there."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, load
from ackclock.comparison import CAUSES, Evidence, cause, findings
from ackclock.comparison.causes import SeenPath
from ackclock.metrics import Interval
from ackclock.models import flow_path, model
from ackclock.models.path import Loss
from ackclock.models.prediction import Prediction

CELL = Path(__file__).parents[2] / "examples" / "wifi-cell.toml"

# The loss must be visible in the path, so it is random.
RANDOM = "2 %"


def flow(scenario: Scenario, **transport: Any) -> dict[str, Any]:
    changes = {f"flows.main.transport.{name}": value for name, value in transport.items()}
    resolved = scenario.expand()[0].scenario.replace(changes).resolve().tree
    return resolved | {"flow": resolved["flows"][0]}


def gap(mean: float, half_width: float = 0.0) -> Interval:
    return Interval(mean, half_width, 5)


def prediction(name: str, violated: tuple[str, ...] = (), **inputs: float) -> Prediction:
    record = model(name)
    note = "; ".join(f"{assumption}: so" for assumption in violated)
    return Prediction(1e6, record, violated, note, inputs, record.accuracy[0])


@pytest.fixture(scope="module")
def cubic(leaky_pipe: Scenario) -> Evidence:
    """The kernel's CUBIC, 10 % slower than the engine's under random loss.

    Nothing else is known.
    """
    return beside(leaky_pipe, control={"kind": "cubic"}, preset="linux-2012")


@pytest.fixture(scope="module")
def reno(leaky_pipe: Scenario) -> Evidence:
    """The same for Reno with the preset rfc."""
    return beside(leaky_pipe, control={"kind": "reno"})


def beside(scenario: Scenario, **transport: Any) -> Evidence:
    lossy = scenario.replace({"hops.wireless.impairments.0.probability": RANDOM, "sweep": {}})
    tree = flow(lossy, **transport)
    return Evidence(
        metric="goodput", method="emulate", reference="simulate", difference=gap(-1e5),
        reference_mean=1e6,
        replicates=(5, 5), flow=tree["flow"], path=flow_path(tree, tree["flow"]), duration_s=10.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def modelled(reno: Evidence) -> Evidence:
    """The square-root law, 10 % above the engine's Reno."""
    predicted = prediction("square_root", rtt=0.07, loss=0.02)
    return replace(
        reno, method="predict", difference=gap(1e5), prediction=predicted, replicates=(0, 5)
    )


def shows(name: str, evidence: Evidence, **changes: Any) -> str:
    return cause(name).finds(replace(evidence, **changes))


def test_names_are_unique_and_sentences_end() -> None:
    assert len({record.name for record in CAUSES}) == len(CAUSES)
    assert all(record.sentence.endswith(".") for record in CAUSES)
    with pytest.raises(KeyError):
        cause("gremlins")


def test_without_evidence_nothing_is_named(
    reno: Evidence, cubic: Evidence, modelled: Evidence
) -> None:
    assert findings(reno) == ()
    assert [finding.cause for finding in findings(cubic)] == [
        "friendly_growth"
    ]  # known from the scenario alone
    assert findings(modelled) == ()
    assert findings(replace(reno, flow=None, path=None)) == ()


def test_unreliable_runs(reno: Evidence) -> None:
    assert shows("unreliable_runs", reno) == ""
    assert shows("unreliable_runs", reno, unreliable=1).startswith("1 run that")
    assert shows("unreliable_runs", reno, unreliable=2).startswith("2 runs that")


def test_late_packets_make_round_trips_longer_and_rates_smaller(reno: Evidence) -> None:
    late = {"late_s": 2e-3}  # in both directions: 4 ms of 71
    rtt = late | {"metric": "rtt", "reference_mean": 0.07}
    assert "up to 4 ms" in shows("late_packets", reno, **rtt, difference=gap(3e-3))
    assert shows("late_packets", reno, **rtt, difference=gap(-3e-3)) == ""
    assert shows("late_packets", reno, **rtt, difference=gap(9e-3)) == ""  # more than that
    assert shows("late_packets", reno, **late, difference=gap(-5e4))
    assert shows("late_packets", reno, **late, difference=gap(-9e4)) == ""
    assert shows("late_packets", reno, **late, difference=gap(5e4)) == ""
    assert shows("late_packets", reno, **late, difference=gap(-5e4), method="simulate") == ""


def test_smoothed_round_trips(reno: Evidence, modelled: Evidence) -> None:
    rtt = {"metric": "rtt", "reference_mean": 0.08, "difference": gap(0.02)}
    engine = {"rtt": 0.08, "smoothed_rtt": 0.1}
    sentence = (
        "in the simulation, the mean smoothed RTT is 20 ms larger than the mean of all measurements"
    )
    assert shows("smoothed_round_trips", reno, **rtt, reference_saw=engine) == sentence
    assert shows("smoothed_round_trips", modelled, **rtt, reference_saw=engine) == sentence
    assert shows("smoothed_round_trips", reno, **rtt) == ""
    assert (
        shows("smoothed_round_trips", reno, **rtt, reference_saw=engine | {"smoothed_rtt": 0.06})
        == ""
    )
    assert (
        shows("smoothed_round_trips", reno, **rtt, reference_saw=engine | {"smoothed_rtt": 0.081})
        == ""
    )  # too little
    assert shows("smoothed_round_trips", reno, reference_saw=engine) == ""  # of another metric
    turned = rtt | {"method": "simulate", "reference": "emulate", "difference": gap(-0.02)}
    assert shows("smoothed_round_trips", reno, **turned, saw=engine) == sentence


def test_measured_at_one_end(reno: Evidence) -> None:
    assert "acknowledged" in shows("measured_at_one_end", reno, method="measure")
    assert (
        shows("measured_at_one_end", reno, method="measure", metric="retransmissions") == ""
    )  # the same meaning
    assert shows("measured_at_one_end", reno) == ""


def test_the_last_ack_comes_after_the_last_byte(modelled: Evidence) -> None:
    done = {"metric": "completion_time", "reference_mean": 2.0}
    assert shows("last_ack", modelled, **done, difference=gap(0.04))
    assert shows("last_ack", modelled, **done, difference=gap(0.4)) == ""
    assert shows("last_ack", modelled, **done, difference=gap(-0.04)) == ""
    assert shows("last_ack", modelled, difference=gap(0.04)) == ""


def test_violated_assumptions(modelled: Evidence) -> None:
    predicted = prediction("square_root", ("few_timeouts", "greedy"))
    assert (
        shows("violated_assumption", modelled, prediction=predicted)
        == "square root: few_timeouts: so; greedy: so"
    )
    assert shows("violated_assumption", modelled, prediction=None) == ""


def test_timeouts_that_the_model_leaves_out(modelled: Evidence) -> None:
    seen = {"reference_saw": {"timeouts": 2.0}}  # at least a second each, in ten seconds
    assert (
        shows("timeouts_seen", modelled, **seen)
        == "2 timeouts per run in simulate, which take at least 20 % of its time"
    )
    assert shows("timeouts_seen", modelled, **seen, difference=gap(-1e5)) == ""
    assert shows("timeouts_seen", modelled, reference_saw={"timeouts": 0.05}) == ""  # too few
    assert (
        shows("timeouts_seen", modelled, **seen, prediction=prediction("pftk")) == ""
    )  # which counts them
    assert (
        shows(
            "timeouts_seen",
            modelled,
            **seen,
            prediction=prediction("square_root", ("few_timeouts",)),
        )
        == ""
    )
    assert shows("timeouts_seen", modelled, **seen, metric="rtt") == ""


def test_a_run_that_has_not_settled(modelled: Evidence) -> None:
    falling = {"reference_saw": {"cwnd_drift": -0.3, "early_retransmissions": 0.9}}
    low = {"difference": gap(-5e5)}
    assert "30 % smaller in the second half" in shows("not_settled", modelled, **falling, **low)
    assert (
        shows("not_settled", modelled, **falling) == ""
    )  # it would be even smaller, but the model is higher
    assert shows("not_settled", modelled, reference_saw={"cwnd_drift": -0.02}, **low) == ""
    again = {"metric": "retransmissions", "reference_mean": 0.05, "difference": gap(-0.04)}
    assert shows("not_settled", modelled, **falling, **again).startswith(
        "90 % of the retransmissions"
    )
    assert (
        shows("not_settled", modelled, reference_saw={"early_retransmissions": 0.4}, **again) == ""
    )
    assert shows("not_settled", modelled, prediction=None, **falling, **low) == ""


def test_other_round_trips_than_the_model_was_given(modelled: Evidence) -> None:
    assert "20 % longer" in shows("other_round_trips", modelled, reference_saw={"rtt": 0.084})
    assert shows("other_round_trips", modelled, reference_saw={"rtt": 0.06}) == ""
    assert shows("other_round_trips", modelled, reference_saw={"rtt": 0.0701}) == ""
    assert shows("other_round_trips", modelled, reference_saw={"rtt": 0.084}, metric="cwnd") == ""
    tells_itself = prediction("sawtooth", rtt=0.07)
    assert (
        shows("other_round_trips", modelled, reference_saw={"rtt": 0.084}, prediction=tells_itself)
        == ""
    )


def test_acks_of_a_cell_may_collide() -> None:
    def fields(name: str, uploads: int, **more: Any) -> dict[str, Any]:
        tree = load(CELL).expand()[3].scenario.tree
        tree["flows"][1]["count"] = uploads
        if name == "upload":
            tree["flows"].pop(0)
        tree = Scenario(tree).resolve().tree
        flow = next(flow for flow in tree["flows"] if flow["name"] == name)
        predicted = prediction("edca", rtt=0.2)
        return {
            "metric": "goodput", "method": "predict", "reference": "simulate",
            "difference": gap(3e4), "reference_mean": 1e6, "replicates": (0, 3), "flow": flow,
            "path": flow_path(tree, flow),
            "prediction": predicted,
        } | more  # fmt: skip

    beside = Evidence(**fields("download", 10))
    # For a medium that is always busy round trips and windows say nothing.
    assert shows("other_round_trips", beside, reference_saw={"rtt": 0.3}) == ""
    assert shows("not_settled", beside, reference_saw={"cwnd_drift": 0.1}) == ""


def test_other_loss_than_the_model_was_given(modelled: Evidence) -> None:
    assert "a loss rate of 2 %" in shows(
        "other_loss", modelled, reference_saw={"retransmissions": 0.03}
    )
    assert shows("other_loss", modelled, reference_saw={"retransmissions": 0.01}) == ""
    assert shows("other_loss", modelled, reference_saw={"retransmissions": 0.0201}) == ""
    without = prediction("sawtooth", rtt=0.07)
    assert (
        shows("other_loss", modelled, reference_saw={"retransmissions": 0.03}, prediction=without)
        == ""
    )


def test_the_sending_rate_is_no_goodput(modelled: Evidence) -> None:
    seen = {"reference_saw": {"retransmissions": 0.05}}
    assert (
        shows("sending_rate", modelled, **seen)
        == "square root gives the sending rate, 5 % of which was retransmitted"
    )
    assert (
        shows("sending_rate", modelled, **seen, prediction=prediction("pftk")) == ""
    )  # determines goodput
    assert shows("sending_rate", modelled, **seen, difference=gap(-1e5)) == ""
    assert shows("sending_rate", modelled, reference_saw={"retransmissions": 0.005}) == ""


def setting(name: str, refusal: str = "its own way", has: str = "") -> dict[str, str]:
    return {"name": name, "asked": "1", "has": has, "refusal": refusal}


def test_settings_that_the_kernel_has_otherwise(reno: Evidence) -> None:
    before = "flows.main.transport."
    names = ("byte_counting", "rto_maximum", "ssthresh_from", "idle_restart")
    rows = {"settings": [setting(before + name) for name in names]}
    assert shows("kernel_settings", reno, **rows) == "not as in the scenario: byte_counting"
    lossy = {"saw": {"retransmissions": 0.1, "timeouts": 2.0}}
    sentence = "not as in the scenario: byte_counting, rto_maximum, ssthresh_from"
    assert shows("kernel_settings", reno, **rows, **lossy) == sentence
    assert shows("kernel_settings", reno, settings=[setting(before + "byte_counting", "")]) == ""
    assert (
        shows("kernel_settings", reno, settings=[setting("flows.other.transport.byte_counting")])
        == ""
    )
    assert shows("kernel_settings", reno, **rows, method="predict") == ""


def test_friendly_growth(cubic: Evidence, reno: Evidence, leaky_pipe: Scenario) -> None:
    assert shows("friendly_growth", cubic)
    assert shows("friendly_growth", cubic, difference=gap(1e5)) == ""
    assert shows("friendly_growth", reno) == ""
    slow = {"kind": "cubic", "friendly_speedup": False}
    assert shows("friendly_growth", beside(leaky_pipe, control=slow)) == ""
    assert cubic.path is not None
    assert shows("friendly_growth", cubic, path=replace(cubic.path, loss=Loss(rate=0.0))) == ""


def test_hystart(cubic: Evidence, reno: Evidence, leaky_pipe: Scenario) -> None:
    begun = {
        "saw": {"early_retransmissions": 0.5, "retransmissions": 0.01},
        "reference_saw": {"early_retransmissions": 0.9, "retransmissions": 0.05},
    }
    assert (
        shows("hystart", cubic, **begun)
        == "slow start cost 4 % of the segments in the simulation, 0 % in Linux"
    )
    assert shows("hystart", reno, **begun) == ""
    assert shows(
        "hystart",
        beside(leaky_pipe, control={"kind": "cubic", "slow_start_exit": "hystart++"}),
        **begun,
    )  # another one
    turned = {"saw": begun["reference_saw"], "reference_saw": begun["saw"]}
    assert shows("hystart", cubic, **turned) == ""
    again = {"metric": "retransmissions", "reference_mean": 0.05}
    assert shows("hystart", cubic, **begun, **again, difference=gap(-0.04))
    assert shows("hystart", cubic, **begun, **again, difference=gap(0.04)) == ""


def test_bursts_overflow_a_queue(reno: Evidence, leaky_pipe: Scenario) -> None:
    more = {"saw": {"tail_drop_rate": 0.02}, "reference_saw": {"tail_drop_rate": 0.01}}
    assert (
        shows("bursts", reno, **more)
        == "a full queue dropped 2 % of the packets in Linux, 1 % in the simulation"
    )
    assert (
        shows("bursts", reno, saw={"tail_drop_rate": 0.01}, reference_saw={"tail_drop_rate": 0.02})
        == ""
    )
    assert shows("bursts", reno, **more, metric="retransmissions") == ""  # fewer of them
    assert shows("bursts", reno, **more, metric="retransmissions", difference=gap(1.0))
    in_bursts = beside(leaky_pipe, control={"kind": "reno"}, segmentation_offload=True)
    assert shows("bursts", in_bursts, **more) == ""  # the simulation has them too


def test_whole_segments(reno: Evidence, leaky_pipe: Scenario) -> None:
    small = {
        "saw": {"retransmissions": 0.02},
        "reference_saw": {"retransmissions": 0.02, "cwnd": 8000.0},
    }
    assert "8 segments" in shows("whole_segments", reno, **small)
    assert shows("whole_segments", reno, **small, difference=gap(-2e5)) == ""  # more than a segment
    assert shows("whole_segments", reno, **small, difference=gap(1e5)) == ""
    assert (
        shows("whole_segments", reno, reference_saw={"cwnd": 8000.0}) == ""
    )  # nothing was ever reduced
    whole = beside(leaky_pipe, control={"kind": "reno"}, ssthresh_in_whole_segments=True)
    assert shows("whole_segments", whole, **small) == ""


def test_delayed_acks(cubic: Evidence, leaky_pipe: Scenario) -> None:
    shorter = {"saw": {"rtt": 0.073}, "reference_saw": {"rtt": 0.08}}
    rtt = {"metric": "rtt", "reference_mean": 0.08, "difference": gap(-0.007)}
    sentence = (
        "the simulated receiver delays ACKs by up to 40 ms; round trips in Linux were 8.8 % shorter"
    )
    assert shows("delayed_acks", cubic, **shorter, **rtt) == sentence
    assert shows("delayed_acks", cubic, **shorter, difference=gap(8e4)) == sentence
    assert shows("delayed_acks", cubic, **shorter, difference=gap(-8e4)) == ""
    assert shows("delayed_acks", cubic, **shorter, difference=gap(3e6)) == ""  # far more than that
    longer = {"saw": {"rtt": 0.03}, "reference_saw": {"rtt": 0.08}}
    assert shows("delayed_acks", cubic, **longer, **rtt) == ""  # no ACK is delayed this long
    each = beside(
        leaky_pipe,
        control={"kind": "cubic"},
        preset="linux-2012",
        delayed_ack={"every": "1 packet"},
    )
    assert shows("delayed_acks", each, **shorter, **rtt) == ""
    linux = beside(leaky_pipe, control={"kind": "cubic"}, preset="linux")
    assert shows("delayed_acks", linux, **shorter, **rtt) == ""  # it acknowledges bursts too


def test_recovery(cubic: Evidence) -> None:
    rarer = {"saw": {"timeouts": 2.0}, "reference_saw": {"timeouts": 8.0}, "difference": gap(1e5)}
    assert "RACK, tail-loss" in shows("recovery", cubic, **rarer)
    off = [setting("net.ipv4.tcp_recovery", "", "0")]
    assert "RACK is off" in shows("recovery", cubic, **rarer, settings=off)
    assert shows("recovery", cubic, **(rarer | {"difference": gap(-1e5)})) == ""
    assert shows("recovery", cubic, saw={"timeouts": 8.0}, reference_saw={"timeouts": 8.0}) == ""


def test_what_a_path_does_needs_the_evidence_of_runs(modelled: Evidence) -> None:
    """Whole comparisons with these causes are in test_planted.py."""
    assert shows("cross_traffic", modelled) == ""
    assert shows("reordering", modelled) == ""
    assert shows("return_path", modelled) == ""
    assert modelled.flow is not None
    cross = {**modelled.flow, "name": "cross", "transport": {"kind": "udp"}}
    [hop, *_] = modelled.flow["route"]
    scenario = {"flows": [modelled.flow, cross], "hops": []}
    seen = SeenPath(scenario, {"cross": 4e6}, {hop: 1e7}, {}, {})
    half = {"difference": gap(5e5), "reference_path": seen}
    words = shows("cross_traffic", modelled, **half)
    assert words.endswith(f"takes 4 of 10 Mbit/s at {hop}, 40 %")
    assert shows("cross_traffic", modelled, **half, method="emulate") == ""
    assert shows("cross_traffic", modelled, **(half | {"difference": gap(-5e5)})) == ""


def test_every_cause_is_tested_here() -> None:
    import inspect
    import sys

    text = inspect.getsource(sys.modules[__name__])
    assert [record.name for record in CAUSES if f'shows("{record.name}"' not in text] == []
