"""Hops and sources: conservation, Little's law, offered and served rates."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import Scenario, simulate
from ackclock.elements.registry import registry
from ackclock.metrics import interval

from . import laws
from .paths import RECOVERIES, Tree, flow, hop, loss, path, scenario, tcp, udp
from .rows import at_end, column, goodput, value_of


def test_little_s_law_in_a_tcp_flow_s_queue() -> None:
    transport = tcp(
        recovery="newreno", delayed_ack={"every": "1 packet"}, rtt_sampling="timestamps"
    )
    hops = path("10 Mbit/s", "20 ms", "60 packets")
    # An interval that is not a simple fraction of the saw-tooth's rounds.
    result = simulate(scenario(hops, [flow(transport)], "300 s", sample_interval="7.3 ms"))
    arrived = at_end(result, "arrivals") - at_end(result, "drops_queue")
    mean_wait = value_of(result, "flows", "rtt_mean_s") - value_of(result, "flows", "rtt_min_s")
    backlog = column(result, "hops", "backlog_packets", hop="out").mean()
    assert backlog == pytest.approx(arrived / 300 * mean_wait, rel=0.02)
    assert backlog > 10


def test_little_s_law_packet_by_packet() -> None:
    sources = [
        flow(
            udp(),
            f"source {number}",
            traffic={"kind": "on_off", "rate": "4 Mbit/s", "mean_on": "50 ms", "mean_off": "50 ms"},
        )
        for number in range(4)
    ]
    hops = path("9 Mbit/s", "5 ms")
    result = simulate(scenario(hops, sources, "50 s", sample_interval="1.7 ms"), packets=True)
    seen = {
        event: column(result, "packets", "time_s", event=event, hop=where, kind="datagram")
        for event, where in (("arrive", "out"), ("receive", ""))
    }
    # First in, first out, and nothing is lost: the n-th arrival at the hop is the n-th at its end.
    served = len(seen["receive"])
    waits = seen["receive"] - seen["arrive"][:served] - 0.005 - 8000 / 9e6
    assert waits.min() > -1e-9
    backlog = column(result, "hops", "backlog_packets", hop="out").mean()
    assert backlog == pytest.approx(served / 50 * waits.mean(), rel=0.02)
    assert backlog > 10


SPANS = st.sampled_from(["0 s", "1 us", "100 us", "3 ms", "40 ms"])
PROBABILITIES = st.sampled_from(["0 %", "1 %", "10 %", "60 %", "100 %"])
SIDES = st.sampled_from(["before_queue", "after_link"])
APPLIES = st.sampled_from(["data", "acks", "all"])
IMPAIRMENTS = st.one_of(
    st.fixed_dictionaries(
        {
            "kind": st.just("iid_loss"),
            "probability": PROBABILITIES,
            "side": SIDES,
            "applies": APPLIES,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("duplicate"),
            "probability": PROBABILITIES,
            "side": SIDES,
            "applies": APPLIES,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("gilbert_elliott"),
            "good_to_bad": PROBABILITIES,
            "bad_to_good": PROBABILITIES,
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("jitter"),
            "distribution": st.fixed_dictionaries({"kind": st.just("exponential"), "mean": SPANS}),
            "reordering": st.sampled_from(["allowed", "forbidden"]),
            "applies": APPLIES,
        }
    ),
)
LINKS = st.one_of(
    st.sampled_from(["0 bit/s", "1 kbit/s", "1 Mbit/s", "20 Mbit/s", "400 Gbit/s"]).map(
        lambda rate: {"kind": "constant", "rate": rate}
    ),
    st.just(
        {"kind": "markov", "rates": ["8 Mbit/s", "0 bit/s", "1 Mbit/s"], "mean_sojourn": "50 ms"}
    ),
    st.lists(st.sampled_from(["0 bit/s", "64 kbit/s", "3 Mbit/s"]), min_size=2, max_size=4).map(
        lambda rates: {
            "kind": "scheduled",
            "steps": [
                {"from": f"{170 * number} ms", "rate": rate} for number, rate in enumerate(rates)
            ],
        }
    ),
)
QUEUES = st.fixed_dictionaries(
    {
        "kind": st.just("droptail"),
        "limit": st.sampled_from(
            ["0 packets", "1 packet", "7 packets", "50 packets", "5 kB", "10 ms"]
        ),
        "counts_packet_in_service": st.booleans(),
    }
)
HOP = st.fixed_dictionaries(
    {
        "link": LINKS,
        "queue": QUEUES,
        "delay": SPANS,
        "impairments": st.lists(IMPAIRMENTS, max_size=2),
    }
)
TCP = st.fixed_dictionaries(
    {
        "control": st.sampled_from(["reno", "cubic"]),
        "preset": st.sampled_from(["rfc", "linux", "ns2-2002", "jacobson1988"]),
        "recovery": st.sampled_from([*RECOVERIES, "timeout_only"]),
        "mss": st.sampled_from(["1 byte", "100 bytes", "1448 bytes", "9000 bytes"]),
        "send_jitter": SPANS,
        "pacing": st.sampled_from(["control", "always"]),
        "receive_window": st.sampled_from(["unlimited", "9000 bytes", "30 packets"]),
        "read_rate": st.sampled_from([None, None, "0 bit/s", "200 kbit/s", "1.3 Mbit/s"]),
        "initial_window": st.sampled_from(["1 packet", "10 packets", "100 packets"]),
    }
).map(lambda parameters: tcp(**parameters) | _receiver(parameters))
ROUTES = st.sampled_from(
    [(["a"], ["b"]), (["a", "b"], ["b"]), (["b", "a", "b"], ["a"]), (["a", "a"], ["a"])]
)
TRAFFIC = st.sampled_from(
    [
        {"kind": "bulk"},
        {"kind": "transfer", "size": "1 byte"},
        {"kind": "transfer", "size": "30 kB"},
        {"kind": "cbr", "rate": "2 Mbit/s"},
    ]
)


def _flows(
    transport: st.SearchStrategy[Tree], traffic: st.SearchStrategy[Tree]
) -> st.SearchStrategy[list]:
    """Draws one to three flows: transport, route, traffic, start, end and count of each."""
    return st.lists(
        st.tuples(
            transport,
            ROUTES,
            traffic,
            st.sampled_from(["0 s", "300 ms"]),
            st.sampled_from(["end", "700 ms"]),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=3,
    )


FLOWS = _flows(TCP, TRAFFIC)


def _known_on_arrival(hop: Tree) -> Tree:
    """Returns the queue, or another one if a shared medium refuses it.

    The wait for a medium is unknown when a packet arrives. A medium decides when it sends, not a
    shaper, and it sends whole packets.
    """
    if hop["link"]["kind"] != "edca":
        return hop["queue"]
    if "rate" in hop["queue"] or hop["queue"]["kind"] == "cells":
        return {"kind": "droptail", "limit": "7 packets"}
    is_time = hop["queue"].get("limit") == "10 ms"
    return hop["queue"] | {"limit": "7 packets"} if is_time else hop["queue"]


def _receiver(parameters: Tree) -> Tree:
    """Returns a window in which a segment fits, and a rate only for one that is finite."""
    fits = parameters["mss"] != "9000 bytes"
    window = parameters["receive_window"] if fits else "unlimited"
    rate = None if window == "unlimited" else parameters["read_rate"]
    return {"receive_window": window, "read_rate": rate}


@pytest.mark.slow
@settings(max_examples=40, derandomize=True, database=None)
@given(st.tuples(HOP, HOP), FLOWS)
def test_nothing_appears_or_vanishes_on_any_path(hops: tuple[Tree, Tree], flows: list) -> None:
    _check(hops, flows)


FEEDBACK = st.fixed_dictionaries(
    {
        "kind": st.just("feedback"),
        "from": st.just("b"),
        "algorithm": st.sampled_from(
            [
                {"kind": "instcap"},
                {"kind": "effcap", "m": 3, "n": 7},
                {"kind": "percentile", "percentile": "10 %", "m": 2, "n": 5},
                {"kind": "mean", "m": 4},
            ]
        ),
        "delay": SPANS,
        "period": st.sampled_from(["1 ms", "30 ms", "2 s"]),
        "sessions": st.integers(1, 3),
    }
)


@pytest.mark.slow
@settings(max_examples=25, derandomize=True, database=None)
@given(st.tuples(HOP, HOP), FEEDBACK, FLOWS)
def test_nothing_appears_or_vanishes_where_one_hop_follows_the_other(
    hops: tuple[Tree, Tree], link: Tree, flows: list
) -> None:
    follower, followed = hops
    _check((follower | {"link": link}, followed), flows)


# Kinds of queues other than drop-tail, with limits that a run reaches.
FURTHER_QUEUES = [
    {
        "kind": "red",
        "limit": "30 packets",
        "minimum_threshold": "2 packets",
        "maximum_threshold": "8 packets",
    },
    {"kind": "adaptive_red", "limit": "40 packets"},
    {"kind": "step_marking", "limit": "30 packets", "threshold": "5 packets"},
    {"kind": "codel"},
    {"kind": "codel", "limit": "9 packets"},
    {"kind": "pie", "burst_allowance": "0 s"},
    {"kind": "pie", "limit": "9 packets", "delay_measure": "departure_rate"},
    {"kind": "pie", "arithmetic": "linux"},
    {"kind": "headdrop", "limit": "9 packets"},
    {"kind": "pi2"},
    {"kind": "pi2", "limit": "9 packets", "arithmetic": "linux"},
    {"kind": "dualpi2"},
    {"kind": "dualpi2", "limit": "9 packets", "arithmetic": "linux"},
    {"kind": "drr", "limit": "20 packets", "flow_limit": "9 packets"},
    {"kind": "fq", "limit": "20 packets", "flow_limit": "9 packets", "ce_threshold": "9 ms"},
    {"kind": "fq_codel", "ce_threshold": "9 ms", "ce_threshold_selector": "l4s"},
    {"kind": "fq_pie", "burst_allowance": "0 s"},
    {"kind": "fq_pie", "limit": "9 packets", "queues": 2, "arithmetic": "linux"},
    {"kind": "tbf", "rate": "500 kbit/s", "burst": "5 kB", "limit": "20 packets"},
    {
        "kind": "ack_regulator",
        "server": {"kind": "constant", "rate": "500 kbit/s"},
        "limit": "9 packets",
    },
    {"kind": "cells", "limit": 300, "line_rate": "2 Mbit/s"},
    {"kind": "cells", "limit": 300, "line_rate": "8 Mbit/s", "discard": "cell"},
    {"kind": "cake"},
    {"kind": "cake", "limit": "9 packets", "isolation": "flows", "classes": "besteffort"},
    {"kind": "cake", "rate": "500 kbit/s", "overhead": "18 bytes", "least_size": "64 bytes"},
    {"kind": "codel", "arithmetic": "linux"},
    {"kind": "fq_codel"},
    {"kind": "fq_codel", "limit": "9 packets", "queues": 2, "quantum": "300 bytes"},
    {"kind": "ebdp"},
    {"kind": "alt"},
    {"kind": "a_star"},
]
EVERY_QUEUE = st.one_of(QUEUES, st.sampled_from(FURTHER_QUEUES))


@pytest.mark.slow
@pytest.mark.parametrize("queue", FURTHER_QUEUES, ids=str)
def test_nothing_appears_or_vanishes_in_any_queue(queue: Tree) -> None:
    """Overloads each queue by what keeps to a window, with ECN, and by what does not."""
    bottleneck = {
        "link": {"kind": "constant", "rate": "1 Mbit/s"},
        "queue": queue,
        "delay": "3 ms",
        "impairments": [],
    }
    greedy = tcp(control="cubic", mss="1448 bytes") | {"ecn": True}
    here = (["a"], ["a"])
    flows = [
        (greedy, here, {"kind": "bulk"}, "0 s", "end", 3),
        (udp(), here, {"kind": "cbr", "rate": "2 Mbit/s"}, "300 ms", "700 ms", 1),
    ]
    _check((bottleneck, bottleneck), flows)


STEPS = ["0 s", "200 ms", "600 ms"]
EVERY_IMPAIRMENT = st.one_of(
    IMPAIRMENTS,
    st.fixed_dictionaries(
        {
            "kind": st.just("scheduled_loss"),
            "steps": st.tuples(PROBABILITIES, PROBABILITIES, PROBABILITIES).map(
                lambda losses: [
                    {"from": time, "probability": loss}
                    for time, loss in zip(STEPS, losses, strict=True)
                ]
            ),
        }
    ),
    st.fixed_dictionaries({"kind": st.just("periodic_loss"), "every": st.integers(2, 30)}),
    st.fixed_dictionaries(
        {
            "kind": st.just("policer"),
            "rate": st.sampled_from(["64 kbit/s", "3 Mbit/s"]),
            "burst": st.sampled_from(["9100 bytes", "60 kB"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("scheduled_delay"),
            "steps": st.tuples(SPANS, SPANS, SPANS).map(
                lambda delays: [
                    {"from": time, "delay": delay}
                    for time, delay in zip(STEPS, delays, strict=True)
                ]
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("leo"),
            "path": SPANS,
            "raised_by": SPANS,
            "outage": st.sampled_from(["0 s", "50 ms"]),
            "phase": st.sampled_from(["0 s", "11800 ms", "11 s"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("jitter"),
            "distribution": st.sampled_from(
                [
                    {"kind": "wifi", "mean": "12 ms"},
                    {"kind": "rbpdv"},
                    {"kind": "rbpdv", "signed": True, "maximum": "3 ms"},
                ]
            ),
            "reordering": st.sampled_from(["allowed", "forbidden"]),
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("aggregation"), "interval": st.sampled_from(["1 ms", "70 ms"])}
    ),
)
TRACES = st.sampled_from(
    [
        {"kind": "trace", "file": "moving-link.csv", "format": "csv"},
        {"kind": "trace", "file": "swinging-downlink.mahimahi", "format": "mahimahi"},
    ]
)
SATELLITES = st.sampled_from(
    [
        {"kind": "leo", "lowest": "1 Mbit/s", "highest": "20 Mbit/s", "phase": "11800 ms"},
        {"kind": "leo", "lowest": "2 Mbit/s", "highest": "2 Mbit/s", "phase": "11 s"}
        | {"outage": "100 ms"},
    ]
)
CONTENDERS = st.sampled_from(["6 Mbit/s", "54 Mbit/s"]).map(
    lambda rate: {"kind": "edca", "medium": "cell", "rate": rate}
)
EVERY_HOP = st.fixed_dictionaries(
    {
        "link": st.one_of(LINKS, TRACES, SATELLITES, CONTENDERS),
        "queue": EVERY_QUEUE,
        "delay": SPANS,
        "impairments": st.lists(EVERY_IMPAIRMENT, max_size=3),
    }
).map(lambda hop: hop | {"queue": _known_on_arrival(hop)})


@pytest.mark.long
def test_every_kind_of_queue_is_drawn() -> None:
    """Draws 1200 hops, and demands each kind that the engine has."""
    drawn: set[str] = set()

    @settings(max_examples=1200, derandomize=True, database=None)
    @given(EVERY_HOP)
    def draw(hop: Tree) -> None:
        drawn.add(hop["queue"]["kind"])

    draw()
    assert drawn == {element["name"] for element in registry()["queues"]}


EVERY_CONTROL = st.sampled_from(
    [element["name"] for element in registry()["controls"] if element["simulated"]]
)
EVERY_TRANSPORT = st.one_of(
    st.builds(
        lambda transport, control, ecn, codepoint: (
            transport | {"control": {"kind": control}, "ecn": ecn, "ecn_codepoint": codepoint}
        ),
        TCP,
        EVERY_CONTROL,
        st.booleans(),
        st.sampled_from(["ect0", "ect1"]),
    ),
    st.sampled_from(registry()["rate_controls"]).map(
        lambda control: {"kind": "udp", "control": {"kind": control["name"]}}
    ),
)
EVERY_TRAFFIC = st.one_of(
    TRAFFIC,
    st.just({"kind": "on_off", "rate": "5 Mbit/s", "mean_on": "30 ms", "mean_off": "90 ms"}),
)
EVERY_FLOW = _flows(EVERY_TRANSPORT, EVERY_TRAFFIC)

#: `SCENARIOS=600 python -m pytest tests/simulation/test_hops.py -k whatever` tries as many.
SCENARIOS = int(os.environ.get("SCENARIOS", "25"))
TRACES_FOLDER = Path(__file__).parents[2] / "traces"


@pytest.mark.slow
@settings(max_examples=SCENARIOS, derandomize=True, database=None, deadline=None)
@given(st.tuples(EVERY_HOP, EVERY_HOP), EVERY_FLOW)
def test_nothing_appears_or_vanishes_whatever_the_elements(
    hops: tuple[Tree, Tree], flows: list
) -> None:
    _check(hops, flows)


def _check(hops: tuple[Tree, Tree], flows: list) -> None:
    described = [{"name": name, **drawn} for name, drawn in zip("ab", hops, strict=True)]
    senders = [
        {
            "name": f"f{number}",
            "transport": transport,
            "route": there,
            "return": back,
            "traffic": traffic,
        }
        | {"start": start, "stop": stop, "count": count, "dscp": ("EF", "CS1", 0)[number % 3]}
        for number, (transport, (there, back), traffic, start, stop, count) in enumerate(flows)
    ]
    media = (
        {"shared_media": [{"name": "cell", "kind": "edca"}]}
        if any(drawn["link"]["kind"] == "edca" for drawn in hops)
        else {}
    )
    tree = scenario(described, senders, "1 s", sample_interval="13 ms", **media).tree
    laws.check(simulate(Scenario(tree, TRACES_FOLDER), threads=1))


def test_constant_bit_rate_arrives_at_its_rate() -> None:
    traffic = {"kind": "cbr", "rate": "3 Mbit/s"}
    result = simulate(
        scenario(path("5 Mbit/s", "20 ms"), [flow(udp(), traffic=traffic)], "60 s", warmup="1 s")
    )
    assert goodput(result)[0] == pytest.approx(3e6, abs=2 * 8000 / 59)
    assert at_end(result, "drops_queue") == 0


def test_constant_bit_rate_over_tcp_is_delivered_too() -> None:
    traffic = {"kind": "cbr", "rate": "3 Mbit/s"}
    result = simulate(
        scenario(path("5 Mbit/s", "20 ms"), [flow(tcp(), traffic=traffic)], "60 s", warmup="5 s")
    )
    assert goodput(result)[0] == pytest.approx(3e6, rel=0.002)


def test_what_a_full_link_cannot_carry_is_dropped() -> None:
    traffic = {"kind": "cbr", "rate": "8 Mbit/s"}
    result = simulate(
        scenario(path("5 Mbit/s", "20 ms", "20 packets"), [flow(udp(), traffic=traffic)], "60 s")
    )
    assert at_end(result, "drops_queue") / at_end(result, "arrivals") == pytest.approx(
        3 / 8, rel=0.002
    )
    assert at_end(result, "busy_s") == pytest.approx(60, rel=1e-4)
    assert at_end(result, "served_bytes") == pytest.approx(60 * 5e6 / 8, abs=2000)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["constant", "exponential", "pareto"])
def test_an_on_off_source_keeps_its_duty_cycle(distribution: str) -> None:
    traffic = {
        "kind": "on_off",
        "rate": "8 Mbit/s",
        "mean_on": "100 ms",
        "mean_off": "300 ms",
        "shape": 2.5,
    }
    traffic |= {"on_distribution": distribution, "off_distribution": distribution}
    result = simulate(
        scenario(path("10 Mbit/s", "1 ms"), [flow(udp(), traffic=traffic)], "200 s", replicates=8)
    )
    sent = interval(column(result, "flows", "sent_packets") * 8000 / 200)
    if distribution == "constant":
        assert sent.mean == pytest.approx(2e6, rel=1e-4)
    else:
        assert sent.half_width < 0.05 * sent.mean
        assert sent.low < 2e6 < sent.high


def saturated(link: Tree, folder: Path = Path(), **more: object) -> Scenario:
    """Returns a link with a permanent queue of packets of 1500 bytes."""
    traffic = {"kind": "cbr", "rate": "40 Mbit/s"}
    tree = scenario(
        path(link, "1 ms", "100 packets"),
        [flow(udp("1500 bytes"), traffic=traffic)],
        "100 s",
        **more,
    ).tree
    return Scenario(tree, folder)


@pytest.mark.slow
def test_a_markov_link_serves_what_its_rate_says() -> None:
    link = {
        "kind": "markov",
        "rates": ["12 Mbit/s", "3 Mbit/s", "0 bit/s"],
        "mean_sojourn": ["200 ms", "100 ms", "100 ms"],
    }
    result = simulate(saturated(link | {"step": "10 ms"}, sample_interval="10 ms", replicates=6))
    served = []
    for replicate in range(6):
        rate = column(result, "hops", "rate_bit_per_s", hop="out", replicate=replicate)
        served.append(at_end(result, "served_bytes", replicate=replicate) * 8 / 100)
        # The rate changes only at multiples of a step, so a sample at each is exact.
        assert served[-1] == pytest.approx(rate[:-1].mean(), rel=1e-3)
        assert at_end(result, "capacity_bytes", replicate=replicate) * 8 / 100 == pytest.approx(
            rate[:-1].mean()
        )
    # Half of the time at 12 Mbit/s, a quarter at 3.
    assert interval(served).low < 6.75e6 < interval(served).high


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"step": "10 ms"}])
def test_capacity_is_what_a_link_with_enough_to_do_sends_whatever_the_sampling_times(
    more: Tree,
) -> None:
    link = {
        "kind": "markov",
        "rates": ["12 Mbit/s", "3 Mbit/s", "0 bit/s"],
        "mean_sojourn": "50 ms",
    } | more
    capacities = {}
    for interval_s in ("7 ms", "1 s"):
        result = simulate(saturated(link, sample_interval=interval_s, replicates=1))
        capacities[interval_s] = at_end(result, "capacity_bytes")
        # The first packet arrives at once; the one in service at the end does not count.
        assert (
            0 <= capacities[interval_s] - at_end(result, "served_bytes") <= 1500 + 12e6 / 8 * 1e-3
        )
    # A mean is rounded down to a bit per second.
    assert capacities["7 ms"] == pytest.approx(capacities["1 s"], rel=1e-6)


def test_a_delivery_trace_serves_its_opportunities(tmp_path: Path) -> None:
    # Four opportunities of 1504 bytes in 10 ms, two of them at once; a packet takes 1500 plus 4 for
    # the tunnel's header.
    (tmp_path / "four").write_text("1\n4\n4\n10\n")
    result = simulate(
        saturated({"kind": "trace", "file": "four", "format": "mahimahi"}, tmp_path, replicates=1)
    )
    assert at_end(result, "served_bytes") / 1500 == pytest.approx(100 / 0.010 * 4, abs=4)


def test_a_rate_trace_serves_its_integral(tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text(
        "time,rate\n0 s,12 Mbit/s\n300 ms,0 bit/s\n400 ms,6 Mbit/s\n1 s,\n"
    )
    result = simulate(saturated({"kind": "trace", "file": "steps.csv", "format": "csv"}, tmp_path))
    assert at_end(result, "served_bytes") * 8 == pytest.approx(
        100 * (0.3 * 12e6 + 0.6 * 6e6), rel=1e-4
    )


@pytest.mark.slow
def test_loss_in_bursts_has_the_mean_of_its_states() -> None:
    bursts = {
        "kind": "gilbert_elliott",
        "good_to_bad": "1 %",
        "bad_to_good": "20 %",
        "loss_in_bad": "50 %",
    }
    flows = [flow(udp(), traffic={"kind": "cbr", "rate": "8 Mbit/s"})]
    result = simulate(
        scenario(path("10 Mbit/s", "1 ms", "unlimited", bursts), flows, "100 s", replicates=8)
    )
    lost = interval(
        column(result, "flows", "dropped_packets") / column(result, "flows", "sent_packets")
    )
    assert lost.low < 0.5 * 1 / 21 < lost.high
    assert lost.half_width < 0.05 * lost.mean


def test_more_buffer_is_more_delay_and_fewer_drops() -> None:
    sizes = [5, 20, 80, 320]
    sweep = {"hops.out.queue.limit": [f"{size} packets" for size in sizes]}
    result = simulate(
        scenario(
            path("10 Mbit/s", "20 ms", "1 packet"),
            [flow(tcp())],
            "60 s",
            warmup="10 s",
            sweep=sweep,
        )
    )
    delay = [value_of(result, "flows", "rtt_mean_s", point=point) for point in range(4)]
    used = [goodput(result, point=point)[0] for point in range(4)]
    assert all(np.diff(delay) > 0), delay
    assert all(np.diff(used) >= -1e-4 * 10e6), used


def test_acks_queue_on_their_way_like_anything_else() -> None:
    # 40 bytes an ACK at 32 kbit/s: 100 ACKs a second, each for two segments of 1000 bytes.
    hops = [hop("out", "100 Mbit/s", "5 ms"), hop("back", "32 kbit/s", "5 ms", "20 packets")]
    result = simulate(scenario(hops, [flow(tcp(byte_counting="per_ack"))], "60 s", warmup="20 s"))
    waiting = column(result, "hops", "backlog_packets", hop="back")
    assert waiting.max() == 20
    assert at_end(result, "busy_s", hop="back") > 55
    assert value_of(result, "flows", "rtt_mean_s") > 0.1


def test_lost_acks_cost_little_and_lost_data_much() -> None:
    def rate(applies: str) -> float:
        spoilt = [
            dict(plain, impairments=[loss("3 %", applies=applies)])
            for plain in path("10 Mbit/s", "20 ms", "100 packets")
        ]
        return goodput(
            simulate(scenario(spoilt, [flow(tcp())], "60 s", warmup="5 s", replicates=3))
        ).mean()

    assert rate("acks") > 2 * rate("data")
