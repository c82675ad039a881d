"""What a scenario with HighSpeed TCP means to the models of a router, and which flows they refuse."""

import pytest
from tests.models.changed_paths import changed

from ackclock import models
from ackclock.models.path import Competitor, Control, FlowPath, Thresholds

OF_DROP_TAIL = ("mm1k", "mm1k_burst", "hstcp_sawtooth", "hstcp_window_sim")


@pytest.fixture
def path(resolved) -> FlowPath:
    """Of a flow that fills 11 Mbit/s: as of HighSpeed TCP, which a path knows by its control's name alone."""
    tree = resolved(**{"hops.wireless.impairments": [], "flows.main.count": 3})
    return as_highspeed(models.flow_paths(tree)[0])


def as_highspeed(path: FlowPath) -> FlowPath:
    competitors = tuple(one._replace(control="highspeed") for one in path.bottleneck.competitors)
    control = Control("highspeed", is_aimd=False)
    return changed(path, {"sender.control": control, "bottleneck.competitors": competitors})


def crossed_by(path: FlowPath, spread: tuple) -> FlowPath:
    """Returns the path with these base round-trip times at the bottleneck, each with how many flows have it."""
    competitors = tuple(Competitor("highspeed", count, round_trip_s) for round_trip_s, count in spread)
    return changed(path, {"bottleneck.competitors": competitors})


def said(name: str, path: FlowPath) -> dict:
    return models.answer(models.model(name), path)


def test_a_path_knows_who_competes(resolved) -> None:
    tree = resolved(**{"flows.main.count": 2})
    other = tree["flows"][0] | {"name": "far", "count": 3, "extra_delay": "50 ms"}
    tree["flows"].append(other | {"transport": other["transport"] | {"control": {"kind": "cubic"}}})
    near, far = models.flow_paths(tree)
    assert near.bottleneck.round_trips == far.bottleneck.round_trips
    assert near.bottleneck.round_trips == ((near.round_trip.base_s, 2), (far.round_trip.base_s, 3))
    assert far.round_trip.base_s == pytest.approx(near.round_trip.base_s + 0.05)
    assert [one.control for one in near.bottleneck.competitors] == ["reno", "cubic"]


def test_on_a_hop_of_its_own_a_flow_competes_with_itself(resolved) -> None:
    tree = resolved(**{"hops.wireless.scope": "per_flow", "flows.main.count": 2})
    path = models.flow_paths(tree)[0]
    assert path.bottleneck.competitors == (Competitor("reno", 1, path.round_trip.base_s),)
    alone = as_highspeed(changed(path, {"loss.rate": 0.0}))
    assert said("mm1k", alone)["inputs"]["flows"] == 1


def test_a_scenarios_numbers(path: FlowPath) -> None:
    for name in OF_DROP_TAIL:
        row = said(name, path)
        assert (row["verdict"], row["inputs"]["flows"]) in {
            ("applies", 3.0), ("applies with violated assumptions", 3.0)}  # fmt: skip
        assert row["inputs"]["rate"] == pytest.approx(11e6 / 8 / 1040)
        assert row["inputs"]["shortest"] == row["inputs"]["longest"] == path.round_trip.base_s
        # What may wait, and with the one that is being sent what there is.
        if "buffer" in row["inputs"]:
            assert row["inputs"]["buffer"] == path.bottleneck.buffer_segments
        else:
            assert row["inputs"]["places"] == path.bottleneck.buffer_segments + 1
        assert row["goodput_bit_per_s"] == pytest.approx(row["outputs"]["utilisation"] * 11e6 * 1000 / 1040, rel=0.03)
    assert said("hstcp_red", path)["note"] == "the bottleneck's queue is no RED with fixed thresholds"


def test_flows_that_share_ask_for_one_simulation(path: FlowPath) -> None:
    spread = ((path.round_trip.base_s, 1), (path.round_trip.base_s + 0.05, 1), (path.round_trip.base_s + 0.1, 1))
    paths = [changed(crossed_by(path, spread), {"round_trip.base_s": time}) for time, _ in spread]
    rows = [said("hstcp_window_sim", one) for one in paths]
    total = sum(row["outputs"]["goodput"] for row in rows) / path.bottleneck.segments_per_s
    assert total == pytest.approx(rows[0]["outputs"]["utilisation"], rel=0.01)
    assert rows[0]["outputs"]["goodput"] > rows[1]["outputs"]["goodput"] > rows[2]["outputs"]["goodput"]
    assert {row["outputs"]["mean_queue"] for row in rows} == {rows[0]["outputs"]["mean_queue"]}


def test_reds_thresholds_are_the_paths(path: FlowPath) -> None:
    thresholds = Thresholds(low=10.0, high=60.0, p_max=0.05, gentle=True)
    red = changed(path, {"bottleneck.queue": "red", "bottleneck.thresholds": thresholds})
    row = said("hstcp_red", red)
    # With the segment that is being sent, as the places.
    assert (row["inputs"]["min_th"], row["inputs"]["max_th"], row["inputs"]["p_max"]) == (11, 61, 0.05)
    assert "not_gentle" in row["violated"]
    assert {said(name, red)["note"] for name in OF_DROP_TAIL} == {"the bottleneck's queue is not drop-tail"}


@pytest.mark.parametrize(
    ("thresholds", "segments"),
    [(("5 packets", "15 packets"), (5, 15)), (("10.4 kB", "20.8 kB"), (10, 20)), (("2 ms", "6 ms"), (2.6442, 7.9327))],
)
def test_thresholds_of_a_queue_are_in_segments(resolved, thresholds: tuple, segments: tuple) -> None:
    tree = resolved()
    tree["hops"][1]["queue"] = {
        "kind": "red", "limit": "100 packets", "minimum_threshold": thresholds[0], "maximum_threshold": thresholds[1],
        "maximum_probability": "5 %", "gentle": False,
    }  # fmt: skip
    path = models.flow_paths(tree)[0]
    assert path.bottleneck.thresholds is not None
    assert path.bottleneck.thresholds[:2] == pytest.approx(segments, rel=1e-4)
    assert path.bottleneck.thresholds[2:] == (pytest.approx(0.05), False)
    tree["hops"][1]["queue"]["kind"] = "adaptive_red"
    assert models.flow_paths(tree)[0].bottleneck.thresholds is None


@pytest.mark.parametrize(
    ("changes", "why_not"),
    [
        ({"sender.control.name": "cubic"}, "cubic is not HighSpeed TCP"),
        ({"sender.transport": "udp", "sender.control.name": "tfrc"}, "no TCP, but the rate control tfrc"),
        ({"bottleneck.competitors": (Competitor("reno", 1, 0.1),)}, "the bottleneck is shared with reno"),
        ({"bottleneck.varies": True}, "the bottleneck has no constant rate"),
        ({"bottleneck.queue": "codel"}, "the bottleneck's queue is not drop-tail"),
        ({"bottleneck.buffer_segments": float("inf")}, "the bottleneck's queue has no limit"),
        ({"sender.receive_window_segments": 40.0}, "the receiver's window keeps the queue from overflowing"),
        ({"loss.rate": 0.01}, "random loss keeps windows below what the link takes"),
    ],
)
@pytest.mark.parametrize("name", OF_DROP_TAIL)
def test_flows_without_an_answer(path: FlowPath, name: str, changes: dict, why_not: str) -> None:
    row = said(name, changed(path, changes))
    assert (row["verdict"], row["note"]) == ("does not apply", why_not)


@pytest.mark.parametrize(
    ("spread", "violated"),
    [
        (((0.1, 1), (0.15, 1), (0.2, 1)), False),
        (((0.1, 1), (0.2, 2)), True),
        (((0.1, 1), (0.1004, 2)), False),
    ],
)
def test_uneven_round_trips_are_said(path: FlowPath, spread: tuple, violated: bool) -> None:
    row = said("mm1k", changed(crossed_by(path, spread), {"round_trip.base_s": 0.1}))
    assert ("even_round_trips" in row["violated"]) == violated


def test_random_loss_that_leaves_windows_large_comes_on_top(path: FlowPath) -> None:
    assert "no_random_loss: random loss comes on top" in said("mm1k", changed(path, {"loss.rate": 1e-5}))["note"]
