"""Model inputs from a scenario: round trips, loss, limits, and verdicts for each flow."""

import math

import pytest

from ackclock import Scenario, models, predict
from tests.models.restated import restated


def path_of(tree: dict) -> models.FlowPath:
    return models.flow_paths(restated(tree))[0]


def test_a_scenario_in_the_terms_of_the_models(resolved) -> None:
    path = path_of(resolved())
    serialisation = 1040 * 8 / 45e6 + 1040 * 8 / 11e6 + 40 * 8 / 45e6
    assert path.round_trip.base_s == pytest.approx(0.07 + serialisation, rel=1e-12)
    assert path.loss.rate == pytest.approx(0.005, rel=1e-12)
    assert path.sender.segments_per_ack == 1
    assert path.sender.first_timeout_s == 1  # the minimum of RFC 6298
    assert path.sender.receive_window_segments == math.inf
    assert path.bottleneck.link_bit_per_s == pytest.approx(11e6 * 1000 / 1040)


def test_losses_of_several_hops_combine(resolved) -> None:
    tree = resolved()
    loss = tree["hops"][1]["impairments"][0]
    tree["hops"][0]["impairments"] = [
        loss | {"probability": "10 %"},
        loss | {"probability": "20 %", "applies": "acks"},
    ]
    assert path_of(tree).loss.rate == pytest.approx(1 - 0.9 * 0.995)


def test_byte_counting_undoes_delayed_acks(resolved) -> None:
    change = {"flows.main.transport.byte_counting": "per_ack"}
    assert path_of(resolved(**change)).sender.segments_per_ack == 2
    change["flows.main.transport.byte_counting"] = "all"
    assert path_of(resolved(**change)).sender.segments_per_ack == 1


def test_the_variance_floor_comes_on_top_of_the_round_trip(resolved) -> None:
    change = {
        "flows.main.transport.rto_floor": "variance",
        "flows.main.transport.rto_minimum": "200 ms",
    }
    path = path_of(resolved(**change))
    assert path.sender.first_timeout_s == pytest.approx(path.round_trip.base_s + 0.2)


def test_flows_share_a_link_evenly(resolved) -> None:
    path = path_of(resolved(**{"flows.main.count": 4}))
    assert path.bottleneck.link_bit_per_s == pytest.approx(11e6 / 4 * 1000 / 1040)


def test_where_a_hop_contends_for_a_medium_no_bottleneck_is_known(resolved) -> None:
    tree = resolved(duration="100 s")
    tree["shared_media"] = [{"name": "cell", "kind": "edca"}]
    tree["hops"][1]["link"] = {"kind": "edca", "medium": "cell", "rate": "54 Mbit/s"}
    path = path_of(Scenario(tree).resolve().tree)
    assert path.bottleneck.segments_per_s == path.bottleneck.buffer_segments == math.inf
    assert path.bottleneck.link_bit_per_s == pytest.approx(
        45e6 * 1000 / 1040
    )  # the hop before it still caps
    assert path.bottleneck.varies
    notes = {
        row["model"]: row["note"]
        for row in predict(Scenario(tree)).tables["predictions"].to_pylist()
    }
    assert "rate varies" in notes["sawtooth"]


MARKOV = {"kind": "markov", "rates": ["9 Mbit/s", "4 Mbit/s"], "mean_sojourn": "1 s"}

# Random-loss models for Reno.
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
        "cubic is not AIMD",
        "cubic is not AIMD(1, 1/2)",
    }
    assert [row["model"] for row in cubic if row["goodput_bit_per_s"]] == ["cubic_response"] * 2


@pytest.mark.parametrize(
    ("change", "limit", "bit_per_s"),
    [
        ({"hops.wireless.link.rate": "100 kbit/s"}, "link", 100e3 * 1000 / 1040),
        (
            {"flows.main.transport.receive_window": "2 packets"},
            "receive window",
            2 * 8000 / 0.07095,
        ),
    ],
)
def test_a_prediction_is_capped_by_the_path(
    resolved, change: dict, limit: str, bit_per_s: float
) -> None:
    answers = models.predictions([resolved(**change)])
    assert answers["limit"][0] == limit
    assert answers["goodput_bit_per_s"][0] == pytest.approx(bit_per_s, rel=1e-3)
    assert answers["note"][0].startswith(f"capped by the {limit}")


def test_assumptions_that_a_flow_does_not_meet_are_named(resolved) -> None:
    tree = resolved()
    tree["flows"][0]["traffic"] = {"kind": "transfer", "size": "1 MB"}
    answers = models.predictions([restated(tree)])
    greedy = [
        model.name
        for model in models.MODELS
        if any(assumed.name == "greedy" for assumed in model.assumptions)
    ]
    for name, verdict, violated in zip(
        answers["model"], answers["verdict"], answers["violated"], strict=True
    ):
        if verdict != "does not apply":
            assert ("greedy" in violated) == (name in greedy)
    assert "cardwell" not in greedy


def test_a_flow_of_several_instances_gets_their_sum(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[2].scenario  # 5 % loss: far from the link's share
    [alone, three] = [
        predict(point.replace({"flows.0.count": count})).tables["predictions"].to_pylist()
        for count in (1, 3)
    ]
    assert [row["verdict"] for row in alone] == [row["verdict"] for row in three]
    for single, group in zip(alone, three, strict=True):
        if single["goodput_bit_per_s"] is None:
            continue
        assert group["goodput_bit_per_s"] == pytest.approx(3 * single["goodput_bit_per_s"])
        assert group["instances"] == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "loss recovery is sack"),
        (
            {
                "hops.return.impairments": [
                    {"kind": "iid_loss", "probability": "1 %", "applies": "acks"}
                ]
            },
            "lost ACKs",
        ),
        ({"flows.0.stop": "3 s"}, "not active all the time"),
        ({"flows.0.start": ["0 s", "2 s"]}, "not active all the time"),
        (
            {
                "hops.wired.link": {
                    "kind": "markov",
                    "rates": ["9 Mbit/s", "4 Mbit/s"],
                    "mean_sojourn": "1 s",
                }
            },
            "the link's rate varies",
        ),
    ],
)
def test_assumptions_that_are_not_met_are_named(
    leaky_pipe: Scenario, changes: dict, expected: str
) -> None:
    point = leaky_pipe.expand()[1].scenario.replace(changes)
    [pftk] = [
        row for row in predict(point).tables["predictions"].to_pylist() if row["model"] == "pftk"
    ]
    assert expected in pftk["note"]


def test_the_square_root_says_where_timeouts_matter(leaky_pipe: Scenario) -> None:
    notes = [
        predict(leaky_pipe.expand()[point].scenario).tables["predictions"]["note"][0].as_py()
        for point in (1, 2)
    ]
    assert ["timeouts" in note for note in notes] == [False, True]


def test_the_bottleneck_in_the_terms_of_the_models(resolved) -> None:
    path = path_of(resolved())
    assert path.bottleneck.segments_per_s == pytest.approx(11e6 / 8 / 1040)
    assert (path.bottleneck.buffer_segments, path.bottleneck.queue) == (93, "droptail")
    assert (path.bottleneck.flows, path.bottleneck.flows_are_alike) == (1, True)
    assert path.full_queue_round_trip_s == pytest.approx(
        path.round_trip.base_s + 93 * 1040 * 8 / 11e6
    )
    assert path.share_segments == pytest.approx(11e6 / 8 / 1040 * path.round_trip.base_s)
    assert path.transfer.size_segments == path.sender.receive_window_segments == math.inf


@pytest.mark.parametrize(
    ("queue", "places"),
    [
        ({"limit": "93 packets", "counts_packet_in_service": True}, 92),
        ({"limit": "10400 bytes"}, 10),
        ({"limit": "10 ms"}, 0.01 * 11e6 / 8 / 1040),
        ({"limit": "unlimited"}, math.inf),
    ],
)
def test_a_queues_limit_in_packets(resolved, queue: dict, places: float) -> None:
    path = path_of(resolved(**{"hops.wireless.queue": {"kind": "droptail"} | queue}))
    assert path.bottleneck.buffer_segments == pytest.approx(places)
    assert ("drop-tail" in models.model("sawtooth").applies(path).note) == (places == math.inf)


def test_competing_flows_are_counted_and_compared(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[0].scenario.replace(duration="100 s", warmup="10 s")
    flow = point.tree["flows"][0]
    alike = point.replace(flows=[flow | {"count": 2}, flow | {"name": "other"}])
    unlike = point.replace(flows=[flow, flow | {"name": "far", "access_delay": "50 ms"}])
    verdicts = []
    for scenario in (alike, unlike):
        tree = scenario.resolve().tree
        path = models.flow_paths(tree)[0]
        verdicts.append(
            (
                path.bottleneck.flows,
                path.bottleneck.flows_are_alike,
                models.model("sawtooth").applies(path).note,
            )
        )
    assert verdicts == [
        (3, True, "in_step: 3 flows may lose at different times"),
        (2, False, "in_step: 2 flows differ, and may lose at different times"),
    ]
    per_flow = point.replace(flows=[flow | {"count": 3}], **{"hops.wireless.scope": "per_flow"})
    # Three instances share 45 Mbit/s of wire; each has its own 11 Mbit/s of air.
    assert models.flow_paths(per_flow.resolve().tree)[0].bottleneck.flows == 1


def test_a_transfer_in_the_terms_of_the_models(resolved) -> None:
    tree = resolved(**{"flows.main.transport.initial_window": "1 packet"})
    tree["flows"][0]["traffic"] = {"kind": "transfer", "size": "100500 bytes"}
    path = path_of(tree)
    assert (path.transfer.size_segments, path.transfer.initial_window_segments) == (101, 1)
    assert (path.transfer.syn_timer_s, path.transfer.has_handshake) == (1, True)
    assert path.transfer.first_delayed_ack_s == pytest.approx(0.1)  # half of the receiver's 200 ms
    answers = models.predictions([restated(tree)])
    [of_cardwell] = [index for index, name in enumerate(answers["model"]) if name == "cardwell"]
    inputs, outputs = answers["inputs"][of_cardwell], answers["outputs"][of_cardwell]
    assert inputs["size"] == 101
    assert inputs["loss"] == pytest.approx(0.005)
    alone = models.model("cardwell").answer(**inputs)
    assert outputs == {name: float(value) for name, value in alone.items()}
    assert answers["goodput_bit_per_s"][of_cardwell] == pytest.approx(outputs["mean_rate"] * 8000)
    # With more than one initial segment, or an ACK for each, no flow waits for the receiver's
    # timer.
    for change in (
        {"flows.main.transport.initial_window": "2 packets"},
        {"flows.main.transport.delayed_ack.every": "1 packet"},
    ):
        path = path_of(resolved(**({"flows.main.transport.initial_window": "1 packet"} | change)))
        assert path.transfer.first_delayed_ack_s == 0


def test_a_bulk_flow_has_no_transfer_time(resolved) -> None:
    assert (
        models.model("cardwell").applies(path_of(resolved())).note
        == "not a transfer of a given size"
    )


@pytest.mark.parametrize(
    ("change", "why_not"),
    [
        ({}, "random loss occurs before the queue overflows"),
        (
            {"hops.wireless.impairments": [], "flows.main.transport.receive_window": "20 packets"},
            "receive window",
        ),
        ({"flows.main.transport.control": {"kind": "cubic"}}, "cubic is not AIMD"),
        (
            {
                "hops.wireless.link": {
                    "kind": "markov",
                    "rates": ["9 Mbit/s", "4 Mbit/s"],
                    "mean_sojourn": "1 s",
                }
            },
            "varies",
        ),
    ],
)
def test_where_there_is_no_saw_tooth(resolved, change: dict, why_not: str) -> None:
    verdict = models.model("sawtooth").applies(path_of(resolved(**change)))
    assert not verdict.applies
    assert verdict.words == "does not apply"
    assert why_not in verdict.note


def test_the_saw_tooth_of_a_scenario(resolved) -> None:
    tree = resolved(**{"hops.wireless.impairments": []}, duration="100 s", warmup="10 s")
    path = path_of(tree)
    verdict = models.model("sawtooth").applies(path)
    assert (verdict.within is not None, verdict.violated) == (True, ())
    answers = models.predictions([tree])
    [goodput] = [
        rate
        for rate, name in zip(answers["goodput_bit_per_s"], answers["model"], strict=True)
        if name == "sawtooth"
    ]
    assert 0.99 * path.bottleneck.link_bit_per_s < goodput <= path.bottleneck.link_bit_per_s


def test_windows_that_fill_the_link_violate_a_steady_round_trip(resolved) -> None:
    # At 0.01 % loss Reno's mean window is 122 segments and its peaks 184, the link holds 94.
    path = path_of(resolved(**{"hops.wireless.impairments.0.probability": "0.01 %"}))
    violated = dict(models.model("pftk").applies(path).violated)
    assert violated["steady_rtt"].startswith(
        "windows reach 184 segments and fill the flow's share of the link, 93.8: the round-trip "
        "time rises from 70.95 up to "
    )
    assert "steady_rtt" not in dict(models.model("pftk").applies(path_of(resolved())).violated)


def test_what_a_formula_does_not_take_is_a_verdict(resolved) -> None:
    # The engine refuses such a control, but a tree from elsewhere may have it.
    tree = resolved(**{"hops.wireless.impairments": []})
    tree["flows"][0]["transport"]["control"]["facts"]["kept_after_loss"]["share"] = 0.0
    [path] = models.flow_paths(tree)
    verdict = models.model("sawtooth").applies(path)
    assert verdict.note.startswith("decrease_factor: 0 ")
    assert models.predictions([tree])["goodput_bit_per_s"] == [None] * len(models.MODELS)


def test_udp_has_a_path_but_no_model(resolved) -> None:
    tree = resolved()
    [flow] = tree["flows"]
    flow["transport"] = {"kind": "udp", "mss": "1000 bytes", "header": "28 bytes"}
    flow["traffic"] = {"kind": "cbr", "rate": "1 Mbit/s"}
    assert set(models.predictions([restated(tree)])["note"]) == {
        "not TCP", "no rate control", "its data does not contend for a medium",
    }  # fmt: skip
