"""Effects of the order and names of hops and flows: docs/decisions/0002-event-order.md."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ackclock import Result, simulate

from .paths import Tree, flow, hop, loss, scenario, tcp, udp

KEYS = ("replicate", "hop", "flow", "instance", "time_s", "event", "kind", "sequence", "position")


def plain(table: pa.Table) -> pa.Table:
    """Returns a table with text instead of codes."""
    return pa.table(
        {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def rows(result: Result, name: str) -> pa.Table:
    """Returns all rows of a table, sorted by their keys; unknown values are equal."""
    table = plain(result.tables[name])
    order = [key for key in KEYS if key in table.column_names]
    order += [key for key in table.column_names if key not in order]
    return table.select(order).sort_by([(key, "ascending") for key in order])


def same(one: Result, other: Result) -> bool:
    return all(rows(one, name).equals(rows(other, name)) for name in one.tables)


def ties(result: Result) -> int:
    """Returns the number of ties: packets of two senders at one hop in the same nanosecond."""
    packets = plain(result.tables["packets"])
    arrived = packets.filter(pc.equal(packets["event"], "arrive"))
    senders = arrived.group_by(["time_s", "hop", "flow", "instance"]).aggregate([])
    at_once = senders.group_by(["time_s", "hop"]).aggregate([("flow", "count")])["flow_count"]
    return pc.sum(pc.greater(at_once, 1)).as_py() or 0


RATES = st.sampled_from(["2 Mbit/s", "10 Mbit/s", "9.7 Mbit/s"])
DELAYS = st.sampled_from(["0 s", "5 ms", "7.31 ms"])
QUEUES = st.sampled_from(
    [
        {"kind": "droptail", "limit": "6 packets"},
        {
            "kind": "red",
            "limit": "30 packets",
            "minimum_threshold": "2 packets",
            "maximum_threshold": "8 packets",
        },
    ]
)
HOPS = st.lists(
    st.tuples(RATES, DELAYS, QUEUES, st.sampled_from(["0 %", "2 %"])).map(
        lambda parts: hop("", *parts[:3], impairments=[loss(parts[3])])
    ),
    min_size=3,
    max_size=3,
).map(lambda hops: [one | {"name": name} for one, name in zip(hops, ("a", "b", "c"), strict=True)])
ROUTES = st.sampled_from(
    [(["a"], ["c"]), (["a", "b"], ["c"]), (["b"], ["c", "a"]), (["b", "a"], ["b"])]
)
# In nanoseconds, so that most scenarios have no ties; each of several instances draws its own.
STARTS = st.integers(0, 199_999_999).map(lambda early: [f"{early} ns", "200 ms"])
SENDERS = st.one_of(
    st.sampled_from(["reno", "cubic"]).map(
        lambda control: (tcp(control, recovery="sack"), {"kind": "bulk"})
    ),
    st.just((udp(), {"kind": "cbr", "rate": "800 kbit/s"})),
)
FLOWS = st.lists(st.tuples(SENDERS, ROUTES, STARTS, st.integers(1, 2)), min_size=2, max_size=3)


def described(drawn: list) -> list[Tree]:
    return [
        flow(transport, f"f{number}", traffic=traffic, route=there, start=start, count=count)
        | {"return": back if transport["kind"] == "tcp" else []}
        for number, ((transport, traffic), (there, back), start, count) in enumerate(drawn)
    ]


@pytest.mark.long
@settings(max_examples=60, derandomize=True, database=None)
@given(HOPS, FLOWS, st.permutations(range(3)), st.randoms(use_true_random=False))
def test_without_ties_order_decides_nothing(
    hops: list[Tree], flows: list, order: list[int], random: Any
) -> None:
    senders = described(flows)
    shuffled = random.sample(senders, len(senders))
    one = simulate(scenario(hops, senders, "1 s", sample_interval="50 ms"), packets=True, threads=1)
    assume(ties(one) == 0)
    other = simulate(
        scenario([hops[number] for number in order], shuffled, "1 s", sample_interval="50 ms"),
        packets=True,
        threads=1,
    )
    assert same(one, other)


def test_who_stands_first_is_first_of_two_in_the_same_nanosecond() -> None:
    """Two synchronised sources, and room for one packet of each pair."""
    hops = [hop("out", "1 Mbit/s", "0 s", "0 packets"), hop("back", "1 Mbit/s", "0 s")]
    senders = [
        flow(udp(), name, traffic={"kind": "cbr", "rate": "400 kbit/s"}) for name in ("x", "y")
    ]
    for order in (senders, senders[::-1]):
        result = simulate(scenario(hops, order, "1 s"))
        delivered = {
            row["flow"]: row["delivered_bytes"] for row in result.tables["flows"].to_pylist()
        }
        assert delivered[order[0]["name"]] > 45_000
        assert delivered[order[1]["name"]] == 0


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
