"""What a scenario means to the models: round trips, loss, limits, and verdicts for each flow."""

import math

import pytest

from ackclock import Scenario, models, predict


def path_of(tree: dict) -> models.FlowPath:
    return models.flow_paths(tree)[0]


def test_a_scenario_in_the_terms_of_the_models(resolved) -> None:
    path = path_of(resolved())
    serialisation = 1040 * 8 / 45e6 + 1040 * 8 / 11e6 + 40 * 8 / 45e6
    assert path.round_trip_s == pytest.approx(0.07 + serialisation, rel=1e-12)
    assert path.loss == pytest.approx(0.005, rel=1e-12)
    assert path.segments_per_ack == 1
    assert path.first_timeout_s == 1  # the smallest of RFC 6298
    assert path.receive_window_segments == math.inf
    assert path.link_bit_per_s == pytest.approx(11e6 * 1000 / 1040)


def test_losses_of_several_hops_combine(resolved) -> None:
    tree = resolved()
    loss = tree["hops"][1]["impairments"][0]
    tree["hops"][0]["impairments"] = [loss | {"probability": "10 %"}, loss | {"probability": "20 %", "applies": "acks"}]
    assert path_of(tree).loss == pytest.approx(1 - 0.9 * 0.995)


def test_byte_counting_undoes_delayed_acks(resolved) -> None:
    change = {"flows.main.transport.window_counting": "per_ack"}
    assert path_of(resolved(**change)).segments_per_ack == 2
    change["flows.main.transport.window_counting"] = "bytes"
    assert path_of(resolved(**change)).segments_per_ack == 1


def test_the_variance_floor_comes_on_top_of_the_round_trip(resolved) -> None:
    change = {"flows.main.transport.rto_floor": "variance", "flows.main.transport.rto_minimum": "200 ms"}
    path = path_of(resolved(**change))
    assert path.first_timeout_s == pytest.approx(path.round_trip_s + 0.2)


def test_flows_share_a_link_evenly(resolved) -> None:
    assert path_of(resolved(**{"flows.main.count": 4})).link_bit_per_s == pytest.approx(11e6 / 4 * 1000 / 1040)


# Models of random loss that are Reno's.
OF_RENO = {"square_root", "floyd_fall", "mathis", "pftk", "tfrc", "reno_response"}


def test_without_random_loss_models_of_it_do_not_apply(leaky_pipe: Scenario) -> None:
    rows = predict(leaky_pipe).tables["predictions"].to_pylist()
    assert {row["model"] for row in rows} == {model.name for model in models.MODELS}
    for row in rows:
        if row["model"] not in OF_RENO:
            continue
        if row["point"] == 0:
            assert row["goodput_bit_per_s"] is None
            assert (row["verdict"], row["note"]) == ("does not apply", "no random loss")
        elif row["control"] == "reno":
            assert 0 < row["goodput_bit_per_s"] <= row["model_bit_per_s"]


def test_a_model_of_aimd_does_not_apply_to_cubic(leaky_pipe: Scenario) -> None:
    rows = predict(leaky_pipe).tables["predictions"].to_pylist()
    cubic = [row for row in rows if row["control"] == "cubic" and row["point"] != 3]
    assert {row["note"] for row in cubic if row["model"] in OF_RENO} == {
        "cubic is no AIMD",
        "cubic is not AIMD(1, 1/2)",
    }
    assert [row["model"] for row in cubic if row["goodput_bit_per_s"]] == ["cubic_response"] * 2


@pytest.mark.parametrize(
    ("change", "limit", "bit_per_s"),
    [
        ({"hops.wireless.link.rate": "100 kbit/s"}, "link", 100e3 * 1000 / 1040),
        ({"flows.main.transport.receive_window": "2 packets"}, "receive window", 2 * 8000 / 0.07095),
    ],
)
def test_a_prediction_is_capped_by_the_path(resolved, change: dict, limit: str, bit_per_s: float) -> None:
    answers = models.predictions([resolved(**change)])
    assert answers["limit"][0] == limit
    assert answers["goodput_bit_per_s"][0] == pytest.approx(bit_per_s, rel=1e-3)
    assert answers["note"][0].startswith(f"capped by the {limit}")


def test_assumptions_that_a_flow_does_not_meet_are_named(resolved) -> None:
    tree = resolved()
    tree["flows"][0]["traffic"] = {"kind": "transfer", "size": "1 MB"}
    answers = models.predictions([tree])
    greedy = [one.name for one in models.MODELS if any(assumed.name == "greedy" for assumed in one.assumptions)]
    for name, verdict, violated in zip(answers["model"], answers["verdict"], answers["violated"], strict=True):
        if verdict != "does not apply":
            assert ("greedy" in violated) == (name in greedy)
    assert "cardwell" not in greedy


def test_a_flow_of_several_instances_gets_their_sum(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[2].scenario  # 5 % loss: far from the link's share
    [one, three] = [
        predict(point.replace({"flows.0.count": count})).tables["predictions"].to_pylist() for count in (1, 3)
    ]
    assert [row["verdict"] for row in one] == [row["verdict"] for row in three]
    for single, group in zip(one, three, strict=True):
        if single["goodput_bit_per_s"] is None:
            continue
        assert group["goodput_bit_per_s"] == pytest.approx(3 * single["goodput_bit_per_s"])
        assert group["instances"] == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "loss recovery is sack"),
        ({"hops.return.impairments": [{"kind": "iid_loss", "probability": "1 %", "applies": "acks"}]}, "lost ACKs"),
        ({"flows.0.stop": "3 s"}, "not active all the time"),
        ({"flows.0.start": ["0 s", "2 s"]}, "not active all the time"),
        (
            {"hops.wired.link": {"kind": "markov", "rates": ["9 Mbit/s", "4 Mbit/s"], "mean_sojourn": "1 s"}},
            "the link's rate varies",
        ),
    ],
)
def test_assumptions_that_are_not_met_are_named(leaky_pipe: Scenario, changes: dict, expected: str) -> None:
    point = leaky_pipe.expand()[1].scenario.replace(changes)
    [pftk] = [row for row in predict(point).tables["predictions"].to_pylist() if row["model"] == "pftk"]
    assert expected in pftk["note"]


def test_the_square_root_says_where_timeouts_matter(leaky_pipe: Scenario) -> None:
    notes = [predict(leaky_pipe.expand()[point].scenario).tables["predictions"]["note"][0].as_py() for point in (1, 2)]
    assert ["timeouts" in note for note in notes] == [False, True]
