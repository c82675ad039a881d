"""Models know an element by the facts it states, and say so where a fact is missing."""

import math
from pathlib import Path
from typing import Any

import pytest

from ackclock import load, models
from ackclock.capture import predictions as capture_predictions
from tests.models.restated import facts_in, without_facts

Tree = dict[str, Any]
#: Time for many overflows, and for a slow start before.
LONG = {"duration": "100 s", "warmup": "20 s"}

EXAMPLES = sorted(path.name for path in Path("examples").glob("*.toml"))
OF_ELEMENTS = ("control", "link", "queue", "traffic")

#: What a queue states that leaves the rate to its link.
OWN_RATE = {"highest_bit_per_s": {"kind": "none"}}

#: Growth by a segment per round trip, however long it is.
LINEAR = {"kind": "linear", "segments_per_rtt": 1.0, "least_rtt_s": {"kind": "none"}}

#: A delay-based control: its beta is a number of segments, not a share of the window.
VEGAS_LIKE = {"kind": "vegas_like", "alpha": 2.0, "beta": 4.0}


def points(example: str) -> list[Tree]:
    return [point.scenario.resolve().tree for point in load(Path("examples") / example).expand()]


def answers(tree: Tree, models_asked: str = "all") -> dict[str, list[Any]]:
    return models.predictions([tree], models.chosen(models_asked))


def bare(tree: Any, *, element: bool = False) -> Any:
    """Returns a copy of a tree in which elements have only their name and their facts."""
    if isinstance(tree, list):
        return [bare(item, element=element) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if element:
        return {name: tree[name] for name in ("kind", "name", "facts") if name in tree}
    return {
        name: bare(value, element=name in (*OF_ELEMENTS, "impairments", "shared_media"))
        for name, value in tree.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_models_read_no_parameter_of_an_element(example: str) -> None:
    for tree in points(example)[:3]:
        stripped = bare(tree)
        assert stripped != tree
        # Only names and facts are left, and nothing else is needed.
        assert repr(answers(stripped)) == repr(answers(tree))


@pytest.mark.parametrize("example", EXAMPLES)
def test_of_elements_that_state_nothing_models_know_nothing(example: str) -> None:
    for tree in points(example)[:3]:
        table = answers(without_facts(tree))
        assert set(table["verdict"]) == {"does not apply"}
        assert set(table["goodput_bit_per_s"]) == {None}


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES)
def test_any_one_fact_may_be_unknown(example: str) -> None:
    for tree in points(example)[:2]:
        for name in sorted(facts_in(tree)):
            notes = answers(without_facts(tree, name))["note"]
            assert not [note for note in notes if "nan" in note.split()], name


@pytest.mark.parametrize(
    ("model", "queue", "fact"),
    [
        ("steered_queue", {"kind": "pi2"}, "steering"),
        ("codel_cycle", {"kind": "codel"}, "steering"),
        ("dualpi2_shares", {"kind": "dualpi2"}, "low_latency"),
        ("sawtooth", {"kind": "droptail", "limit": "50 packets"}, "highest_bit_per_s"),
    ],
)
def test_of_a_queue_models_say_what_is_known(resolved, model: str, queue: Tree, fact: str) -> None:
    tree = resolved(**{"hops.wireless.impairments": [], "hops.wireless.queue": queue})
    [before], [note] = (
        answers(tree, model)["note"],
        answers(without_facts(tree, fact), model)["note"],
    )
    assert "does not state" not in before
    assert "does not state" in note


@pytest.mark.parametrize("name", ["dcf", "edca"])
def test_what_a_loss_leaves_of_a_window_is_not_guessed_in_a_cell(name: str) -> None:
    [tree] = points("wifi-cell.toml")[:1]
    [before] = [
        note
        for note, flow in zip(*(answers(tree, name)[key] for key in ("note", "flow")), strict=True)
        if flow == "download"
    ]
    assert before.startswith("saturated: the queue of ap-data runs empty after losses")
    for flow in tree["flows"]:
        flow["transport"]["control"] = VEGAS_LIKE
    table = answers(tree, name)
    assert set(table["verdict"]) == {"applies with violated assumptions"}
    assert set(table["note"]) == {
        "saturated: it is not known whether the queue of ap-data runs empty: vegas_like does not "
        "state what share of the window a loss leaves"
    }


def test_where_a_control_reacts_to_delay_losses_do_not_say_how_far_its_window_falls() -> None:
    scenario = load(Path("examples/wifi-cell.toml")).expand()[0].scenario
    vegas = {
        f"flows.{flow}.transport.control": {"kind": "vegas"} for flow in ("download", "upload")
    }
    table = answers(scenario.replace(vegas).resolve().tree, "dcf,edca,sawtooth")
    note = (
        "saturated: it is not known whether the queue of ap-data runs empty: vegas reacts to delay "
        "as well"
    )
    assert set(table["note"]) == {note, "vegas is not AIMD"}


def test_the_saw_tooth_asks_what_a_loss_leaves(resolved) -> None:
    tree = resolved(**{"hops.wireless.impairments": []}, **LONG)
    flow = tree["flows"][0]["transport"]
    assert answers(tree, "sawtooth")["within"] != [None]
    flow["control"] = VEGAS_LIKE
    assert answers(tree, "sawtooth")["note"] == ["vegas_like does not state how its window grows"]
    flow["control"] = VEGAS_LIKE | {"facts": {"growth": LINEAR}}
    assert answers(tree, "sawtooth")["note"] == [
        "vegas_like does not state what share of the window a loss leaves"
    ]
    flow["control"]["facts"] |= {"kept_after_loss": {"kind": "constant", "share": 0.5}}
    assert answers(tree, "sawtooth")["note"] == [
        "vegas_like does not state whether it reacts to delay"
    ]
    flow["control"]["facts"] |= {"reacts_to_delay": False}
    assert answers(tree, "sawtooth")["within"] != [None]
    flow["control"]["facts"] |= {"kept_after_loss": {"kind": "by_estimate"}}
    assert answers(tree, "sawtooth")["note"] == ["vegas_like is not AIMD"]


def test_a_buffer_is_known_by_what_the_queue_states(resolved) -> None:
    tree = resolved(**{"hops.wireless.impairments": []})
    hop = next(hop for hop in tree["hops"] if hop["name"] == "wireless")
    capacity = {"kind": "limit", "limit": "57 packets", "counts_packet_in_service": True}
    hop["queue"] = {
        "kind": "fresh",
        "places": "57 packets",
        "facts": OWN_RATE | {"capacity": capacity, "drops": "tail"},
    }
    [path] = models.flow_paths(tree)
    assert (path.bottleneck.buffer_segments, path.bottleneck.is_droptail) == (56, True)
    assert answers(tree, "sawtooth")["inputs"][0]["buffer"] == 56
    hop["queue"] = {"kind": "fresh", "places": "57 packets", "facts": OWN_RATE | {"drops": "tail"}}
    [path] = models.flow_paths(tree)
    assert math.isnan(path.bottleneck.buffer_segments)
    assert answers(tree, "sawtooth,short_transfer")["note"] == [
        "not a transfer of a given size", "fresh does not state how much it holds",
    ]  # fmt: skip
    hop["queue"] = {"kind": "fresh", "limit": "57 packets", "facts": OWN_RATE}
    assert answers(tree, "sawtooth")["note"] == ["fresh does not state which packets it drops"]


def test_a_queue_that_does_not_state_a_rate_may_be_the_bottleneck(resolved) -> None:
    tree = resolved(**{"hops.wireless.impairments": []})
    hop = next(hop for hop in tree["hops"] if hop["name"] == "wireless")
    hop["queue"] = {"kind": "fresh", "rate": "1 Mbit/s", "facts": {"drops": "tail"}}
    assert (
        answers(tree, "sawtooth,codel_cycle")["note"]
        == ["the bottleneck is not known: fresh does not state whether it limits the rate"] * 2
    )


@pytest.mark.parametrize(
    ("marks", "note"),
    [
        (False, ""),
        (True, "fresh marks packets before it is full"),
        (None, "it is not known whether fresh marks packets before it is full"),
    ],
)
def test_a_queue_that_marks_has_no_saw_tooth(resolved, marks: bool | None, note: str) -> None:
    ecn = {"flows.main.transport.ecn": True}
    tree = resolved(**{"hops.wireless.impairments": []}, **ecn, **LONG)
    hop = next(hop for hop in tree["hops"] if hop["name"] == "wireless")
    hop["queue"]["kind"] = "fresh"
    hop["queue"]["facts"]["marks"] = marks
    assert answers(tree, "sawtooth")["note"] == [note]
    tree["flows"][0]["transport"]["facts"]["sent_ecn"] = {"kind": "none"}
    assert answers(tree, "sawtooth")["within"] != [None], "nothing is marked without ECN"


def test_a_mark_that_is_not_answered_as_a_loss_is_said(resolved) -> None:
    codel = {"kind": "codel", "limit": "1000 packets", "ecn": True}
    gentle = {"kind": "reno", "beta_after_mark": 0.85}
    same = {"hops.wireless.impairments": [], "flows.main.transport.ecn": True}
    tree = resolved(**same, **{"hops.wireless.queue": codel})
    assert "a mark" not in answers(tree, "codel_cycle")["note"][0]
    changes = {"hops.wireless.queue": codel, "flows.main.transport.control": gentle}
    tree = resolved(**same, **changes)
    note = "the queue marks, and reno does not answer a mark as it does a loss"
    assert note in answers(tree, "codel_cycle")["note"][0]
    next(hop for hop in tree["hops"] if hop["name"] == "wireless")["queue"]["facts"]["marks"] = None
    note = "it is not known whether the queue marks packets"
    assert note in answers(tree, "codel_cycle")["note"][0]


def test_feedback_that_is_not_stated_may_be_there(resolved) -> None:
    tree = resolved()
    for hop in tree["hops"]:
        del hop["link"]["facts"]["feedback"]
    assert answers(tree, "instcap,tcp_alone")["note"] == [
        "there is not known to be feedback of the link's rate to the sender's host",
        "it is not known whether the sender's host follows a fed-back rate",
    ]


def test_a_loss_rate_that_is_not_stated_is_not_zero(resolved) -> None:
    tree = resolved()
    hop = next(hop for hop in tree["hops"] if hop["name"] == "wireless")
    hop["impairments"] = [{"kind": "fading", "probability": "5 %"}]
    assert set(answers(tree)["note"]) == {"fading does not state how much it loses"}


def test_a_link_without_a_rate_may_be_the_bottleneck(resolved) -> None:
    tree = resolved(**{"hops.wireless.impairments": []})
    hop = next(hop for hop in tree["hops"] if hop["name"] == "wireless")
    hop["link"] = {"kind": "fresh", "rate": "1 Mbit/s"}
    [path] = models.flow_paths(tree)
    assert (path.bottleneck.segments_per_s, path.bottleneck.queue, path.bottleneck.competitors) == (
        math.inf,
        "",
        (),
    )
    assert answers(tree, "sawtooth")["note"] == [
        "it is not known whether the bottleneck's rate varies"
    ]


def test_a_medium_without_timing_has_no_model() -> None:
    [tree] = points("wifi-cell.toml")[:1]
    for medium in tree["shared_media"]:
        medium["facts"] = {"timing": None}
    assert set(answers(tree, "dcf,edca")["note"]) == {"cell does not state its timing"}


def test_a_captured_connection_may_be_reno_or_cubic_with_the_parameters_of_their_rfcs() -> None:
    reno, cubic = capture_predictions.possible_controls()
    assert reno.is_reno
    assert (cubic.growth, cubic.kept, cubic.kept_share, cubic.cubic_c) == (
        "cubic",
        "constant",
        0.7,
        0.4,
    )


def wireless(tree: Tree) -> Tree:
    return next(hop for hop in tree["hops"] if hop["name"] == "wireless")


def notes(tree: Tree, model: str, flow: str = "main") -> str:
    table = answers(tree, model)
    return str(
        next(note for note, name in zip(table["note"], table["flow"], strict=True) if name == flow)
    )


RARE = {"hops.wireless.impairments": [{"kind": "iid_loss", "probability": "0.01 %"}]}
NO_LOSS: Tree = {"hops.wireless.impairments": []}


def test_a_rate_that_is_not_stated_is_not_infinite(resolved) -> None:
    tree = resolved(**RARE)
    wireless(tree)["link"]["facts"]["highest_bit_per_s"] = None
    assert "leaves out" not in notes(resolved(**RARE), "mathis")
    for model in ("mathis", "pftk"):
        assert "leaves out a serialisation: constant does not state its" in notes(tree, model)
    tree = resolved(**RARE)
    wireless(tree)["queue"]["facts"]["highest_bit_per_s"] = None
    assert "it is not known whether windows fill the link" in notes(tree, "mathis")
    transfer = {"flows.main.traffic": {"kind": "transfer", "size": "1 MB"}}
    tree = resolved(**NO_LOSS, **transfer)
    wireless(tree)["queue"]["facts"]["highest_bit_per_s"] = None
    assert "it is not known whether slow start fills the link" in notes(tree, "cardwell")
    tree = resolved(**NO_LOSS)
    tree["hops"][-1]["link"]["facts"]["highest_bit_per_s"] = None
    assert tree["hops"][-1]["name"] == "return"
    assert "leaves out a serialisation" in notes(tree, "sawtooth")


def test_a_link_that_follows_a_hop_elsewhere_may_be_slower(resolved) -> None:
    tree = resolved(**NO_LOSS)
    for followed, is_known in (("wireless", True), ("return", False)):
        link = {"measures": followed, "highest_bit_per_s": None}
        tree["hops"][0]["link"]["facts"] |= link
        [path] = models.flow_paths(tree)
        assert (path.bottleneck.queue != "") is is_known
    assert notes(tree, "sawtooth") == (
        "the bottleneck is not known: the link of wired follows the rate of return"
    )


def test_growth_that_depends_on_the_round_trip_is_not_constant(resolved) -> None:
    prague = {"flows.main.transport.control": {"kind": "prague"}}
    tree = resolved(**NO_LOSS, **prague)
    assert notes(tree, "sawtooth") == "prague grows by less in round trips below 25 ms"
    tree["flows"][0]["transport"]["control"]["facts"]["growth"]["least_rtt_s"] = None
    assert notes(tree, "sawtooth") == "prague does not state how fast its window grows"


def test_contention_that_is_not_stated_leaves_a_cell_unknown() -> None:
    [tree] = points("wifi-cell.toml")[:1]
    for hop in tree["hops"]:
        if hop["name"] == "ap-acks":
            del hop["link"]["facts"]["contends"]
    assert set(answers(tree, "dcf,edca")["note"]) == {
        "edca does not state whether it contends for a medium"
    }


@pytest.mark.parametrize("kind", ["vegas", "cubic"])
def test_a_steered_queue_is_for_flows_that_are_alike(resolved, kind: str) -> None:
    queue = {"kind": "pi2", "limit": "1000 packets"}
    tree = resolved(**NO_LOSS, **LONG, **{"hops.wireless.queue": queue, "flows.main.count": 4})
    assert answers(tree, "steered_queue")["within"] == [0.05]
    other = resolved(
        **NO_LOSS, **{"hops.wireless.queue": queue, "flows.main.transport.control": {"kind": kind}}
    )["flows"][0]
    tree["flows"].append(other | {"name": "other"})
    assert notes(tree, "steered_queue") == f"{kind} shares the bottleneck"


def test_an_answer_to_marks_that_is_not_stated_is_not_another(resolved) -> None:
    marked = {"flows.main.transport.ecn": True}
    codel = {"hops.wireless.queue": {"kind": "codel", "limit": "1000 packets", "ecn": True}}
    tree = resolved(**NO_LOSS, **marked, **codel)
    tree["flows"][0]["transport"]["control"]["facts"]["kept_after_mark"] = None
    assert "reno does not state how it answers a mark" in notes(tree, "codel_cycle")


def test_a_size_that_is_not_stated_is_not_unlimited(resolved) -> None:
    tree = resolved(**NO_LOSS, **{"flows.main.traffic": {"kind": "transfer", "size": "1 MB"}})
    tree["flows"][0]["traffic"]["facts"]["size_bytes"] = None
    for model in ("cardwell", "short_transfer"):
        assert notes(tree, model) == "the size of the transfer is not known"
