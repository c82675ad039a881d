"""Replicates of scenarios in which nothing is random differ by their phases."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import Result, Scenario, simulate
from ackclock.metrics import by_replicate, interval, metric

from .paths import flow, loss, path, scenario, tcp
from .tables import plain

CODEL = {"kind": "codel"}
#: A time at which CUBIC of Linux under CoDel stands on a knife's edge. With a round trip of 50 ms
#: its window is 310 kB then, with 49.6 or 50.2 ms it is 213 kB.
EDGE_S = 0.8


def on_the_edge(**more: object) -> Scenario:
    """One flow under CoDel, on the knife's edge."""
    hops = path("50 Mbit/s", "25 ms", CODEL)
    linux = {"kind": "tcp", "preset": "linux", "control": {"kind": "cubic"}}
    more = {"sample_interval": "100 ms", "replicates": 5} | more
    return scenario(hops, [flow(linux)], "2 s", **more)


def windows(result: Result) -> list[float]:
    """Returns the window of each replicate on the edge, in kB."""
    samples = result.tables["samples"]
    then = samples.filter(pc.less(pc.abs(pc.subtract(samples["time_s"], EDGE_S)), 1e-6))
    return [window / 1000 for window in then["cwnd_bytes"].to_pylist()]


def of_replicate(result: Result, replicate: int) -> dict[str, pa.Table]:
    """Returns the rows of one replicate in all tables."""
    return {name: result.rows(name, replicate=replicate) for name in result.tables}


def same(some: dict[str, pa.Table], others: dict[str, pa.Table]) -> bool:
    return some.keys() == others.keys() and all(
        plain(table)
        .drop_columns(["replicate"])
        .equals(plain(others[name]).drop_columns(["replicate"]))
        for name, table in some.items()
    )


def test_a_run_on_a_knife_s_edge_does_not_look_certain() -> None:
    certain = simulate(on_the_edge(vary="nothing"))
    varied = simulate(on_the_edge())
    assert len(set(windows(certain))) == 1
    assert certain.identical == {0}
    assert interval(windows(varied)).half_width > 10
    assert varied.identical == frozenset()
    assert interval(list(by_replicate(varied, metric("goodput"))[0, "main"].values()))[1] > 0


def test_the_first_replicate_is_the_scenario_and_seeds_and_replicates_decide_the_others() -> None:
    certain, varied, again = (
        simulate(on_the_edge(**more)) for more in ({"vary": "nothing"}, {}, {"vary": "phase"})
    )
    other = simulate(on_the_edge(seed=2))
    assert same(of_replicate(varied, 0), of_replicate(certain, 0))
    assert same(of_replicate(varied, 0), of_replicate(other, 0))
    for replicate in range(5):
        assert same(of_replicate(varied, replicate), of_replicate(again, replicate))
        assert same(of_replicate(certain, replicate), of_replicate(certain, 0))
    for replicate in range(1, 5):
        assert not same(of_replicate(varied, replicate), of_replicate(varied, 0))
        assert not same(of_replicate(varied, replicate), of_replicate(other, replicate))


def test_tables_and_pages_say_that_phases_are_varied() -> None:
    varied = simulate(on_the_edge())
    assert "5 replicates (phases varied) ± 95 %" in varied.averaging
    assert "phases" not in simulate(on_the_edge(vary="nothing")).averaging
    lossy = path("50 Mbit/s", "25 ms", CODEL, loss("1 %"))
    assert "phases" not in simulate(scenario(lossy, [flow(tcp())], "2 s", replicates=2)).averaging


def test_points_of_a_sweep_vary_each_by_what_is_in_them() -> None:
    swept = on_the_edge(sweep={"hops.out.queue": [CODEL, {"kind": "pie"}]})
    resolved = [point.scenario.resolve().tree["vary"] for point in swept.expand()]
    assert resolved == ["phase", "nothing"]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    rate=st.sampled_from(["2 Mbit/s", "10 Mbit/s", "80 Mbit/s"]),
    delay_ms=st.integers(1, 60),
    queue=st.sampled_from(["20 packets", "1 BDP", "codel", "fq_codel"]),
    control=st.sampled_from(["reno", "cubic"]),
    flows=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_phases_are_less_than_a_round_trip_and_move_little(
    rate: str, delay_ms: int, queue: str, control: str, flows: int, seed: int
) -> None:
    kind = {"kind": queue} if queue.endswith("codel") else queue
    senders = [flow(tcp(control), f"f{number}") for number in range(flows)]
    made = scenario(path(rate, f"{delay_ms} ms", kind), senders, "5 s", replicates=4, seed=seed)
    varied, certain = simulate(made), simulate(made.replace({"vary": "nothing"}))
    assert same(of_replicate(varied, 0), of_replicate(certain, 0))
    starts = np.array(varied.tables["flows"]["start_s"].to_pylist())
    assert (starts >= 0).all()
    assert (starts <= 2 * delay_ms / 1000 + 1e-9).all()
    assert len(set(starts)) == 3 * flows + 1
    # The path is the same but for a packet's time.
    carried = [
        sum(result.rows("flows", replicate=replicate)["delivered_bytes"].to_pylist())
        for result in (varied, certain)
        for replicate in range(4)
    ]
    assert min(carried) > 0
