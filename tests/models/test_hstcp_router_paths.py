"""Inputs of the router models from scenarios with HighSpeed TCP, and refused flows."""

import pytest

from ackclock import models
from ackclock.elements import facts
from ackclock.models.path import Competitor, Control, FlowPath, Thresholds
from tests.models.changed_paths import changed

OF_DROP_TAIL = ("mm1k", "mm1k_burst", "hstcp_sawtooth", "hstcp_window_sim")


HIGHSPEED = {"flows.main.transport.control": {"kind": "highspeed"}, "hops.wireless.impairments": []}


@pytest.fixture
def path(resolved) -> FlowPath:
    """One of three HighSpeed TCP flows that fill 11 Mbit/s."""
    return models.flow_paths(resolved(**HIGHSPEED, **{"flows.main.count": 3}))[0]


def competitor(
    control: str, growth: str, kept: str, count: int = 1, round_trip_s: float = 0.1
) -> Competitor:
    """Returns equal flows at the bottleneck."""
    stated = Control(control, growth=growth, kept=kept, reacts_to_delay=False)
    return Competitor("tcp", stated, count, round_trip_s)


def crossed_by(path: FlowPath, spread: tuple) -> FlowPath:
    """Returns the path with flows of these base round-trip times at the bottleneck.

    Each time comes with its number of flows.
    """
    competitors = tuple(
        competitor("highspeed", "highspeed", "by_window", count, time) for time, count in spread
    )
    return changed(path, {"bottleneck.competitors": competitors})


def answer_of(name: str, path: FlowPath) -> dict:
    return models.answer(models.model(name), path)


def test_a_path_knows_who_competes(resolved) -> None:
    tree = resolved(**{"flows.main.count": 2})
    other = tree["flows"][0] | {"name": "far", "count": 3, "access_delay": "50 ms"}
    tree["flows"].append(other | {"transport": other["transport"] | {"control": {"kind": "cubic"}}})
    near, far = models.flow_paths(tree)
    assert near.bottleneck.round_trips == far.bottleneck.round_trips
    assert near.bottleneck.round_trips == ((near.round_trip.base_s, 2), (far.round_trip.base_s, 3))
    assert far.round_trip.base_s == pytest.approx(near.round_trip.base_s + 0.05)
    assert [each.name for each in near.bottleneck.competitors] == ["reno", "cubic"]


def test_on_a_hop_of_its_own_a_flow_competes_with_itself(resolved) -> None:
    path = models.flow_paths(
        resolved(**HIGHSPEED, **{"hops.wireless.scope": "per_flow", "flows.main.count": 2})
    )[0]
    assert path.bottleneck.competitors == (
        Competitor("tcp", path.control, 1, path.round_trip.base_s, most_bit_per_s=11e6),
    )
    assert answer_of("mm1k", path)["inputs"]["flows"] == 1


@pytest.mark.slow
def test_a_scenarios_numbers(path: FlowPath) -> None:
    for name in OF_DROP_TAIL:
        row = answer_of(name, path)
        assert row["verdict"].startswith("applies")
        assert row["inputs"]["flows"] == 3
        assert row["inputs"]["rate"] == pytest.approx(11e6 / 8 / 1040)
        assert row["inputs"]["shortest"] == row["inputs"]["longest"] == path.round_trip.base_s
        # The packets that may wait, and the places with the one in service.
        if "buffer" in row["inputs"]:
            assert row["inputs"]["buffer"] == path.bottleneck.buffer_segments
        else:
            assert row["inputs"]["places"] == path.bottleneck.buffer_segments + 1
        assert row["goodput_bit_per_s"] == pytest.approx(
            row["outputs"]["utilisation"] * 11e6 * 1000 / 1040, rel=0.03
        )
    assert (
        answer_of("hstcp_red", path)["note"]
        == "droptail does not have fixed thresholds of random drops"
    )


@pytest.mark.slow
def test_flows_that_share_ask_for_one_simulation(path: FlowPath) -> None:
    spread = (
        (path.round_trip.base_s, 1),
        (path.round_trip.base_s + 0.05, 1),
        (path.round_trip.base_s + 0.1, 1),
    )
    paths = [changed(crossed_by(path, spread), {"round_trip.base_s": time}) for time, _ in spread]
    rows = [answer_of("hstcp_window_sim", flow_path) for flow_path in paths]
    total = sum(row["outputs"]["goodput"] for row in rows) / path.bottleneck.segments_per_s
    assert total == pytest.approx(rows[0]["outputs"]["utilisation"], rel=0.01)
    assert (
        rows[0]["outputs"]["goodput"]
        > rows[1]["outputs"]["goodput"]
        > rows[2]["outputs"]["goodput"]
    )
    assert {row["outputs"]["mean_queue"] for row in rows} == {rows[0]["outputs"]["mean_queue"]}


def test_reds_thresholds_are_the_paths(path: FlowPath) -> None:
    thresholds = Thresholds(low=10.0, high=60.0, p_max=0.05, gentle=True)
    red = changed(path, {"bottleneck.drops": "early", "bottleneck.thresholds": thresholds})
    row = answer_of("hstcp_red", red)
    # The places include the segment in service.
    assert (row["inputs"]["min_th"], row["inputs"]["max_th"], row["inputs"]["p_max"]) == (
        11,
        61,
        0.05,
    )
    assert "not_gentle" in row["violated"]
    assert {answer_of(name, red)["note"] for name in OF_DROP_TAIL} == {
        "the bottleneck has no drop-tail queue with a limit"
    }


@pytest.mark.parametrize(
    ("thresholds", "segments"),
    [
        (("5 packets", "15 packets"), (5, 15)),
        (("10.4 kB", "20.8 kB"), (10, 20)),
        (("2 ms", "6 ms"), (2.6442, 7.9327)),
    ],
)
def test_thresholds_of_a_queue_are_in_segments(
    resolved, thresholds: tuple, segments: tuple
) -> None:
    red = {
        "kind": "red", "limit": "100 packets", "minimum_threshold": thresholds[0],
        "maximum_threshold": thresholds[1], "maximum_probability": "5 %", "gentle": False,
    }  # fmt: skip
    path = models.flow_paths(resolved(**{"hops.wireless.queue": red}))[0]
    in_segments = path.bottleneck.thresholds
    assert in_segments is not None
    assert in_segments[:2] == pytest.approx(segments, rel=1e-4)
    assert in_segments[2:] == (pytest.approx(0.05), False)


def test_thresholds_that_move_are_not_given(resolved) -> None:
    adaptive = {"kind": "adaptive_red", "limit": "100 packets"}
    assert (
        models.flow_paths(resolved(**{"hops.wireless.queue": adaptive}))[0].bottleneck.thresholds
        is facts.NONE
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "why_not"),
    [
        (
            {"sender.control": Control("cubic", growth="cubic", kept="constant")},
            "cubic is not HighSpeed TCP",
        ),
        (
            {"sender.control": Control("fresh", growth="highspeed")},
            "fresh does not state what share of the window a loss leaves",
        ),
        (
            {"sender.transport": "udp", "sender.control": Control("tfrc")},
            "not TCP, but the rate control tfrc",
        ),
        (
            {"bottleneck.competitors": (competitor("reno", "linear", "constant"),)},
            "the bottleneck is shared with reno",
        ),
        ({"bottleneck.varies": True}, "the bottleneck's rate varies"),
        ({"bottleneck.varies": None}, "it is not known whether the bottleneck's rate varies"),
        ({"bottleneck.drops": "head"}, "the bottleneck has no drop-tail queue with a limit"),
        ({"bottleneck.drops": None}, "droptail does not state which packets it drops"),
        ({"bottleneck.buffer_segments": float("nan")}, "droptail does not state how much it holds"),
        (
            {"bottleneck.buffer_segments": float("inf")},
            "the bottleneck has no drop-tail queue with a limit",
        ),
        (
            {"sender.receive_window_segments": 40.0},
            "the receive window keeps the queue from overflowing",
        ),
        ({"loss.rate": 0.01}, "random loss keeps windows too small to fill the link"),
    ],
)
@pytest.mark.parametrize("name", OF_DROP_TAIL)
def test_flows_without_an_answer(path: FlowPath, name: str, changes: dict, why_not: str) -> None:
    row = answer_of(name, changed(path, changes))
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
    row = answer_of("mm1k", changed(crossed_by(path, spread), {"round_trip.base_s": 0.1}))
    assert ("even_round_trips" in row["violated"]) == violated


def test_random_loss_that_leaves_windows_large_comes_on_top(path: FlowPath) -> None:
    assert (
        "no_random_loss: there is random loss too"
        in answer_of("mm1k", changed(path, {"loss.rate": 1e-5}))["note"]
    )
