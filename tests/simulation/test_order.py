"""Effects of the order and names of hops and flows: docs/decisions/0002-event-order.md."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import Result, simulate
from ackclock.metrics import METRICS, by_replicate

from .paths import Tree, flow, hop, loss, scenario, tcp, udp
from .tables import plain

KEYS = ("replicate", "hop", "flow", "instance", "time_s", "event", "kind", "sequence")


def rows(result: Result, name: str) -> pa.Table:
    """Returns all rows of a table, sorted by their keys; unknown values are equal."""
    table = plain(result.tables[name])
    order = [key for key in KEYS if key in table.column_names]
    order += [key for key in table.column_names if key not in order]
    return table.select(order).sort_by([(key, "ascending") for key in order])


def same(result: Result, other: Result) -> bool:
    return all(rows(result, name).equals(rows(other, name)) for name in result.tables)


def ties(result: Result) -> int:
    """Returns the number of ties: packets of two senders at one hop in the same nanosecond."""
    packets = plain(result.tables["packets"])
    arrived = packets.filter(pc.equal(packets["event"], "arrive"))
    senders = arrived.group_by(["time_s", "hop", "flow", "instance"]).aggregate([])
    at_once = senders.group_by(["time_s", "hop"]).aggregate([("flow", "count")])["flow_count"]
    return pc.sum(pc.greater(at_once, 1)).as_py() or 0


QUEUES = st.sampled_from(
    [
        {"kind": "droptail", "limit": "6 packets"},
        {
            "kind": "red",
            "limit": "30 packets",
            "minimum_threshold": "2 packets",
            "maximum_threshold": "8 packets",
        },
        {"kind": "codel", "limit": "20 packets"},
        {"kind": "drr", "limit": "12 packets", "queues": 2},
        {"kind": "fq", "limit": "12 packets", "queues": 2},
        {"kind": "fq_codel", "limit": "20 packets", "queues": 4},
        {"kind": "cake", "limit": "20 kB"},
    ]
)
MEDIA = [{"name": name, "kind": "edca", "profile": "802.11g"} for name in ("cell", "other cell")]
# Few rates and delays, so that packets often meet in the same nanosecond.
LINKS = st.sampled_from(
    [
        {"kind": "constant", "rate": "2 Mbit/s"},
        {"kind": "constant", "rate": "10 Mbit/s"},
        {"kind": "edca", "medium": "cell", "rate": "54 Mbit/s"},
        {"kind": "edca", "medium": "other cell", "rate": "54 Mbit/s"},
    ]
)
HOPS = st.lists(
    st.tuples(
        LINKS,
        st.sampled_from(["0 s", "5 ms"]),
        QUEUES,
        st.sampled_from(["0 %", "2 %"]),
        st.sampled_from(["shared", "shared", "per_flow"]),
    ),
    min_size=4,
    max_size=4,
).map(
    lambda hops: [
        hop(name, link, delay, queue, impairments=[loss(share)], scope=scope)
        for name, (link, delay, queue, share, scope) in zip("abcd", hops, strict=True)
    ]
)
ROUTES = st.sampled_from(
    [(["a"], ["c"]), (["a", "b"], ["c"]), (["d", "b"], ["c", "a"]), (["b", "a"], ["b"])]
)
SENDERS = st.one_of(
    st.sampled_from(["reno", "cubic"]).map(
        lambda control: {"transport": tcp(control, recovery="sack"), "traffic": {"kind": "bulk"}}
    ),
    st.just({"transport": udp(), "traffic": {"kind": "cbr", "rate": "800 kbit/s"}}),
)
INSTANCES = st.sampled_from(
    [
        {},
        {"count": 2},
        {"count": 2, "start": ["0 s", "200 ms"], "access_delay": ["0 s", "5 ms"]},
        {"arrivals": {"kind": "poisson", "mean_interval": "100 ms"}, "stop": "300 ms"},
        {"start": "200 ms", "source": "server"},
        {"destination": "client", "dscp": "EF"},
    ]
)
FLOWS = st.lists(st.tuples(SENDERS, ROUTES, INSTANCES), min_size=2, max_size=4).map(
    lambda drawn: [
        flow(name=f"f{number}", **sender, **instances)
        | {"route": out, "return": back if sender["transport"]["kind"] == "tcp" else []}
        for number, (sender, (out, back), instances) in enumerate(drawn)
    ]
)


@pytest.mark.parametrize("scenarios", [20, pytest.param(200, marks=pytest.mark.long)])
def test_the_order_of_flows_decides_nothing(scenarios: int) -> None:
    """Ties are common in these scenarios."""
    tied = []

    def run(hops: list[Tree], flows: list[Tree]) -> Result:
        described = scenario(hops, flows, "400 ms", sample_interval="50 ms", shared_media=MEDIA)
        return simulate(described, packets=True, threads=1)

    @settings(max_examples=scenarios, derandomize=True, database=None)
    @given(HOPS, FLOWS, st.randoms(use_true_random=False))
    def holds(hops: list[Tree], flows: list[Tree], random: Any) -> None:
        result = run(hops, flows)
        assert same(result, run(hops, random.sample(flows, len(flows))))
        tied.append(ties(result) > 0)

    holds()
    assert sum(tied) > scenarios / 4


@pytest.mark.parametrize("on_the_way", [False, True], ids=["flows", "hops"])
def test_who_is_first_in_the_same_nanosecond(on_the_way: bool) -> None:
    """Two synchronised sources come to a hop with room for one packet of each pair.

    They come from their senders, whose turns are drawn, or from a hop each, in the order of hops.
    Tables list flows and hops as written.
    """
    hops = [
        hop("x", "8 Mbit/s", "1 ms"),
        hop("y", "8 Mbit/s", "1 ms"),
        hop("out", "1 Mbit/s", "0 s", "0 packets"),
    ]
    senders = [
        flow(udp(), name, traffic={"kind": "cbr", "rate": "400 kbit/s"})
        | {"route": [*([name] if on_the_way else []), "out"], "return": []}
        for name in ("x", "y")
    ]

    def first(order_of_hops: int, order: int) -> list[str]:
        """Returns the flow that delivers, by replicate."""
        hops_in_order, flows = hops[::order_of_hops], senders[::order]
        result = simulate(scenario(hops_in_order, flows, "1 s", replicates=12, vary="nothing"))
        of_flows, of_hops = (result.tables[name] for name in ("flows", "hops"))
        assert plain(of_flows)["flow"].to_pylist() == ["x", "y"][::order] * 12
        assert plain(of_hops)["hop"].to_pylist()[:3] == ["x", "y", "out"][::order_of_hops]
        delivering = of_flows.filter(pc.field("delivered_bytes") > 0)
        assert delivering["replicate"].to_pylist() == list(range(12)), "only one of them delivers"
        assert pc.min(delivering["delivered_bytes"]).as_py() > 45_000
        return plain(delivering)["flow"].to_pylist()

    assert first(1, 1) == first(1, -1)
    assert set(first(1, 1)) == ({"x"} if on_the_way else {"x", "y"})
    assert set(first(-1, 1)) == ({"y"} if on_the_way else {"x", "y"})


def test_the_order_of_rows_moves_no_bit_of_a_metric() -> None:
    """Sums of the same numbers in another order differ in their last bits."""
    senders = [flow(tcp(), f"f{number}", route=["out"]) for number in range(9)]
    hops = [hop("out", "9.7 Mbit/s", "10 ms", "20 packets"), hop("back", "10 Mbit/s", "7 ms")]
    orders = (senders, senders[::-1], senders[3:] + senders[:3])
    results = [simulate(scenario(hops, order, "1.7 s")) for order in orders]
    for name, metric in METRICS.items():
        values = [sorted(by_replicate(result, metric).items()) for result in results]
        assert len({repr(value) for value in values}) == 1, name


@pytest.mark.parametrize("draws", [False, True])
def test_names_seed_what_is_drawn_and_nothing_else(draws: bool) -> None:
    """Under another name a flow starts at another time, and a hop loses other packets.

    Nothing else changes.
    """

    def run(out: str, main: str) -> dict[str, Any]:
        hops = [hop(out, "5 Mbit/s", "10 ms", "20 packets"), hop("back", "5 Mbit/s", "10 ms")]
        if draws:
            hops[0]["impairments"] = [loss("1 %")]
        start = ["0 s", "1 s"] if draws else "0 s"
        senders = [
            flow(tcp(), main, route=[out], start=start),
            flow(tcp(), "other", route=[out], start="300 ms"),
        ]
        result = simulate(scenario(hops, senders, "5 s"))
        return {row["flow"]: row for row in result.tables["flows"].to_pylist()}

    usual, renamed, elsewhere = run("out", "main"), run("out", "mine"), run("way", "main")
    mine = renamed["mine"] | {"flow": "main"}
    assert (mine == usual["main"]) is not draws
    assert (elsewhere["main"] == usual["main"]) is not draws
    assert (mine["start_s"] == usual["main"]["start_s"]) is not draws
    assert elsewhere["main"]["start_s"] == usual["main"]["start_s"], (
        "another hop's name moves no draw of the flow"
    )
