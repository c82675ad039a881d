"""Scenarios that violate one assumption of a model, which must name that one."""

from typing import Any

import pytest

from ackclock import Scenario, models

Tree = dict[str, Any]


def path_of_one_flow(**changes: Any) -> Tree:
    """Returns a flow of Reno at 0.1 % loss on an otherwise empty link, and its way back."""
    hop = {
        "name": "link",
        "link": {"kind": "constant", "rate": "50 Mbit/s"},
        "queue": {"kind": "droptail", "limit": "500 packets"},
        "delay": "20 ms",
    }
    back = {**hop, "name": "back"}
    flow = {
        "name": "flow",
        "route": ["link"],
        "return": ["back"],
        "transport": {"kind": "tcp", "preset": "rfc", "control": {"kind": "reno"}},
        "traffic": {"kind": "bulk"},
    }
    tree: Tree = {
        "schema": 1,
        "name": "planted",
        "duration": "60 s",
        "warmup": "20 s",
        "replicates": 5,
        "hops": [hop | {"impairments": [loss()]}, back],
        "flows": [flow],
    }
    for name, value in changes.items():
        tree[name] = value(tree[name])
    return tree


def loss(kind: str = "iid_loss", **more: Any) -> Tree:
    return {"kind": kind, **({"probability": "0.1 %"} if kind == "iid_loss" else {}), **more}


def hop(number: int = 0, **more: Any) -> Tree:
    """Returns a change of one hop."""
    return {
        "hops": lambda hops: [each | more if n == number else each for n, each in enumerate(hops)]
    }


def flow(**more: Any) -> Tree:
    return {"flows": lambda flows: [flows[0] | more]}


def transport(**more: Any) -> Tree:
    return {"flows": lambda flows: [flows[0] | {"transport": flows[0]["transport"] | more}]}


def transfer(size: str) -> Tree:
    tcp = {"kind": "tcp", "preset": "rfc", "control": {"kind": "reno"}, "recovery": "reno"}
    return flow(transport=tcp, traffic={"kind": "transfer", "size": size})


def beside(**more: Any) -> Tree:
    """Returns a second flow."""
    return {"flows": lambda flows: [flows[0], flows[0] | {"name": "other"} | more]}


def udp(rate: str, route: str = "link") -> Tree:
    source = {"kind": "cbr", "rate": rate, "packet_size": "1000 bytes"}
    other = {"name": "other", "route": [route], "transport": {"kind": "udp"}, "traffic": source}
    return {"flows": lambda flows: [flows[0], other]}


def lasting(duration: str, warmup: str, replicates: int = 1) -> Tree:
    return {
        "duration": lambda _: duration,
        "warmup": lambda _: warmup,
        "replicates": lambda _: replicates,
    }


def both(*changes: Tree) -> Tree:
    return {name: change for each in changes for name, change in each.items()}


NO_LOSS = hop(impairments=[])
LINK = {"kind": "constant", "rate": "10 Mbit/s"}
CUBIC = {"kind": "cubic"}


def queue(**queue: Any) -> Tree:
    return hop(impairments=[], link=LINK, queue=queue)


UPLOAD: Tree = {"route": ["back"], "return": ["link"]}
SMALL = queue(kind="droptail", limit="50 packets")
PI2 = hop(
    impairments=[],
    link={"kind": "constant", "rate": "30 Mbit/s"},
    queue={"kind": "pi2", "limit": "1000 packets"},
)
CODEL = hop(impairments=[], link=LINK, queue={"kind": "codel", "limit": "1000 packets"})
LOSS_STEPS = [{"from": "0 s", "probability": "0.1 %"}, {"from": "30 s", "probability": "0.2 %"}]
DELAY_STEPS = [{"from": "0 s", "delay": "0 s"}, {"from": "30 s", "delay": "20 ms"}]

#: A name, the model, what the scenario changes, and the assumption that it violates.
DEPARTURES: list[tuple[str, str, Tree, str]] = [
    ("nothing", "square_root", {}, ""),
    ("nothing", "mathis", {}, ""),
    ("nothing", "aimd_chain", {}, ""),
    ("reno by timeouts", "mathis", transport(recovery="timeout_only"), "few_timeouts"),
    ("more loss", "mathis", hop(impairments=[loss(probability="2 %")]), "few_timeouts"),
    (
        "losses that Reno's recovery cannot take",
        "mathis",
        both(
            transport(recovery="reno"), hop(impairments=[loss(probability="0.3 %")])
        ),
        "few_timeouts",
    ),
    ("a receive window", "mathis", transport(receive_window="50 packets"), "no_window_limit"),
    ("a receive window", "square_root", transport(receive_window="60 packets"), "no_window_limit"),
    ("losses in step", "mathis", hop(impairments=[loss("periodic_loss", every=1000)]),
     "independent_losses"),
    ("losses in step", "aimd_chain", hop(impairments=[loss("periodic_loss", every=1000)]),
     "independent_losses"),
    ("losses in bursts", "square_root", hop(impairments=[
        loss("gilbert_elliott", good_to_bad="0.05 %", bad_to_good="25 %", loss_in_bad="50 %")]),
     "no_loss_bursts"),
    ("loss that changes", "mathis", hop(impairments=[loss("scheduled_loss", steps=LOSS_STEPS)]),
     "steady_loss"),
    ("a delay that changes", "mathis", hop(impairments=[
        loss(), {"kind": "scheduled_delay", "steps": DELAY_STEPS}]), "steady_rtt"),
    ("lost ACKs", "mathis", hop(1, impairments=[loss(applies="acks")]), "no_lost_acks"),
    ("UDP that fills the link", "mathis", udp("45 Mbit/s"), "steady_rtt"),
    ("UDP that fills the link", "aimd_chain", udp("45 Mbit/s"), "steady_rtt"),
    ("a little UDP", "mathis", udp("5 Mbit/s"), ""),
    ("a slow way back", "mathis", hop(1, link={"kind": "constant", "rate": "100 kbit/s"}),
     "free_acks"),
    ("data on the way back", "mathis", beside(route=["back"], **{"return": ["link"]}),
     "free_acks"),
    ("a way back whose rate varies", "mathis", hop(1, link={
        "kind": "markov", "rates": ["9 Mbit/s", "4 Mbit/s"], "mean_sojourn": "1 s"}),
     "free_acks"),
    ("a narrow link", "mathis", hop(link={"kind": "constant", "rate": "12 Mbit/s"}), "steady_rtt"),
    ("few losses", "mathis", lasting("20 s", "5 s"), "long_run"),
    ("a slow start that counts", "mathis", lasting("20 s", "1 s", 20), "long_run"),
    ("nothing", "sawtooth", SMALL, ""),
    ("ACKs of eight segments", "square_root", both(
        transport(delayed_ack={"every": "8 packets"}), lasting("60 s", "20 s", 10)),
     "frequent_acks"),
    ("a queue that slow start fills", "cubic_response", both(
        transport(control=CUBIC), lasting("60 s", "2 s", 20),
        hop(queue={"kind": "droptail", "limit": "9000 packets"}, impairments=[
            loss(probability="0.06 %")])), "first_repair"),
    ("slow start at each loss", "sawtooth", both(SMALL, transport(recovery="tahoe")),
     "one_loss_at_an_overflow"),
    ("ACKs in the queue", "sawtooth", both(SMALL, beside(
        **UPLOAD, transport={"kind": "tcp", "preset": "rfc", "control": {"kind": "reno"},
                             "receive_window": "4 packets"})), "free_acks"),
    ("two overflows", "sawtooth", both(SMALL, lasting("14 s", "5 s")), "long_run"),
    ("a slow way back", "sawtooth", both(SMALL, {"hops": lambda hops: [
        SMALL["hops"](hops)[0], hops[1] | {"link": {"kind": "constant", "rate": "100 kbit/s"}}]}),
     "free_acks"),
    ("data on the way back", "sawtooth", both(SMALL, beside(**UPLOAD)),
     "free_acks"),
    ("timeouts alone", "sawtooth", both(SMALL, transport(recovery="timeout_only")),
     "one_loss_at_an_overflow"),
    ("UDP beside it", "sawtooth", both(SMALL, udp("2 Mbit/s")), "in_step"),
    ("nothing", "cubic_sawtooth", both(SMALL, transport(control=CUBIC)), ""),
    ("repair one by one", "cubic_sawtooth",
     both(SMALL, transport(control=CUBIC, recovery="newreno")), "one_loss_at_an_overflow"),
    ("two flows", "cubic_sawtooth", both(SMALL, flow(
        count=2, transport={"kind": "tcp", "preset": "rfc", "control": CUBIC})), "in_step"),
    ("nothing", "steered_queue", both(PI2, flow(count=3)), ""),
    ("one flow", "steered_queue", PI2, "steered"),
    ("flows that leave", "steered_queue", both(PI2, flow(count=3), {"flows": lambda flows: [
        flows[0] | {"count": 3}, flows[0] | {"name": "other", "stop": "30 s"}]}), "steady_flows"),
    ("a receive window", "steered_queue", both(PI2, {"flows": lambda flows: [
        flow(count=3, transport={"kind": "tcp", "preset": "rfc", "control": {"kind": "reno"},
                                 "receive_window": "60 packets"})["flows"](flows)[0]]}),
     "no_window_limit"),
    ("nothing", "codel_cycle", CODEL, ""),
    ("a receive window", "codel_cycle", both(CODEL, transport(receive_window="40 packets")),
     "no_window_limit"),
    ("slow start at each loss", "codel_cycle", both(CODEL, transport(recovery="tahoe")),
     "quick_recovery"),
    ("small windows", "codel_cycle", both(CODEL, {"hops": lambda hops: [
        CODEL["hops"](hops)[0] | {"link": {"kind": "constant", "rate": "3 Mbit/s"}}, hops[1]]}),
     "large_windows"),
    ("a short warm-up", "codel_cycle", both(CODEL, lasting("60 s", "3 s")), "settled"),
    ("nothing", "cubic_response", transport(control=CUBIC), ""),
    ("a receive window", "cubic_response", transport(control=CUBIC, receive_window="50 packets"),
     "no_window_limit"),
    ("few round trips", "cardwell", transfer("8 kB"),
     "many_rounds"),
    ("much after the first loss", "cardwell", both(
        hop(impairments=[loss(probability="2 %")]), transfer("500 kB")), "slow_start_decides"),
    ("an initial window above the buffer", "cardwell", both(
        hop(queue={"kind": "droptail", "limit": "4 packets"}),
        transfer("150 kB")), "link_is_not_filled"),
    ("long timeouts", "pftk", both(
        transport(recovery="reno"),
        {"hops": lambda hops: [each | {"delay": "5 ms"} | (
            {"impairments": [loss(probability="3 %")]} if n == 0 else {})
            for n, each in enumerate(hops)]}), "timeouts_do_not_dominate"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "changes", "violated"),
    [departure[1:] for departure in DEPARTURES],
    ids=[f"{name}, {model}" for name, model, _, _ in DEPARTURES],
)
def test_a_departure_is_named(model: str, changes: Tree, violated: str) -> None:
    tree = Scenario(path_of_one_flow(**changes)).resolve().tree
    path = next(path for path in models.flow_paths(tree) if path.flow == "flow")
    answer = models.answer(models.model(model), path)
    assert set(answer["violated"]) == ({violated} if violated else set()), answer["note"]
    assert (answer["within"] is None) == bool(violated)
