"""Our transport on Linux: its conclusions with a simulation in Linux's place; a tiny part live."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from ackclock import Result, simulate
from ackclock.reproduction import Kind, Outcome, Run
from ackclock.reproduction.runner import prepare, reproduce
from ackclock_papers.emulated import ENGINE, LINUX
from ackclock_papers.tfrcp import on_linux
from ackclock_papers.tfrcp.friendliness import CLOSENESS, FRIENDLINESS
from ackclock_papers.tfrcp.on_linux import MODELLED, PAIRS, PATHS, REPLICATES, named
from ackclock_papers.tfrcp.path import Path as NetworkPath
from ackclock_papers.tfrcp.senders import OTHER, TCP

#: A path that the buffer decides, and one that random loss decides.
FEW = (PATHS[0], PATHS[-1])


def test_what_is_run() -> None:
    runs = on_linux.runs()
    assert len(runs) == len(on_linux.METHODS) * len(PATHS), "no two paths are called alike"
    for path in PATHS:
        linux, engine = runs[named(LINUX, path)], runs[named(ENGINE, path)]
        assert (linux.method, engine.method) == ("emulate", "simulate")
        assert linux.scenario == engine.scenario
        assert linux.side_by_side == len(PAIRS) * REPLICATES
    quick = [run.quickly().scenario.expand()[0].scenario.resolve().tree for run in runs.values()]
    assert {(tree["duration"], tree["replicates"]) for tree in quick} == {("15 s", 2)}


@pytest.mark.parametrize("path", FEW, ids=lambda path: named("", path))
def test_points_are_the_pairs_and_packets_are_as_long_for_all(path: NetworkPath) -> None:
    points = [point.scenario.resolve().tree for point in on_linux.scenario(path, 10, 1, 1).expand()]
    for tree, pair in zip(points, PAIRS, strict=True):
        transports = {flow["name"]: flow["transport"] for flow in tree["flows"]}
        assert transports[TCP]["control"]["kind"] == pair.tcp.transport["control"]["kind"]
        assert transports[OTHER]["control"]["kind"] == pair.other.transport["control"]["kind"]
        # The kernel adds no random delay.
        late = {name: transport["send_jitter"] != "0 s" for name, transport in transports.items()}
        assert late == {TCP: False, OTHER: True}
        for transport in transports.values():
            sizes = [int(transport[name].removesuffix(" bytes")) for name in ("mss", "header")]
            assert sum(sizes) == on_linux.PACKET_BYTES
        lossy = [
            impairment["kind"] for hop in tree["hops"] for impairment in hop.get("impairments", ())
        ]
        assert lossy == (["iid_loss"] if path.loss else [])


def ran(seed: int) -> Mapping[str, Result]:
    """Returns all runs of two paths, with another simulation in Linux's place."""
    results = {}
    for name, run in on_linux.runs().items():
        if any(name == named(method, path) for method in on_linux.METHODS for path in FEW):
            own = {"seed": seed} if run.method == "emulate" else {}
            results[name] = simulate(
                run.scenario.replace({"duration": "40 s", "replicates": 4, **own})
            )
    return results


@pytest.mark.slow
def test_the_engine_in_linuxs_place_is_the_engine() -> None:
    results = ran(seed=1)
    for path in FEW:
        for pair in PAIRS:
            assert on_linux.apart(results, path, pair).mean == 0
    outcome = on_linux.conclude(results)
    assert outcome.draw is not None
    outcome.draw()
    same = [claim for claim in outcome.claims if "the engine's" in claim.said]
    assert len(same) == len(PAIRS) + 1
    assert all(claim.holds for claim in same)
    titles = [table.title for table in outcome.tables]
    assert len(titles) == len(set(titles)) == len(PAIRS) + 5
    assert all(claim.documented is None for claim in outcome.claims)


@pytest.mark.slow
def test_another_seed_is_no_other_law() -> None:
    """F is that of the result, E is never below 1, and differences are those of the logarithms."""
    results = ran(seed=2)
    apart = [on_linux.apart(results, path, pair) for path in FEW for pair in PAIRS]
    assert all(difference.mean != 0 and difference.replicates == 4 for difference in apart)
    for pair in MODELLED:
        f, e = (
            on_linux.values(results, LINUX, FEW[0], pair, metric)
            for metric in (FRIENDLINESS, CLOSENESS)
        )
        assert e == pytest.approx([max(ratio, 1 / ratio) for ratio in f])


def test_what_is_not_to_be_reliable_is_in_no_average() -> None:
    path, pair = FEW[0], PAIRS[1]
    result = simulate(on_linux.scenario(path, 20, 2, 3))
    reliable = [
        {"point": PAIRS.index(pair), "replicate": replicate, "reliable": int(replicate != 1)}
        for replicate in range(3)
    ]
    doubtful = replace(result, tables={**result.tables, "fidelity": pa.Table.from_pylist(reliable)})
    all_of_them = on_linux.values({named(LINUX, path): result}, LINUX, path, pair, FRIENDLINESS)
    left = on_linux.values({named(LINUX, path): doubtful}, LINUX, path, pair, FRIENDLINESS)
    assert left == [all_of_them[0], all_of_them[2]]


def test_luck_is_counted_as_the_binomial_law_has_it() -> None:
    # Of 32, more than 4 miss with probability 0.024, more than 3 with 0.083.
    assert on_linux._by_luck(32) == 4
    assert on_linux._by_luck(0) == 0


@pytest.mark.usefixtures("emulation")
def test_a_tiny_part_in_real_time(tmp_path: Path) -> None:
    """Runs four pairs in parallel, and asserts only laws.

    Neither chance nor a busy machine can break them.
    """

    def shortened() -> Mapping[str, Run]:
        brief = {"duration": "8 s", "warmup": "2 s", "replicates": 1}
        return {
            name: replace(run, scenario=run.scenario.replace(brief), spare=len(PAIRS))
            for name, run in on_linux.runs().items()
            if name in [named(method, FEW[0]) for method in on_linux.METHODS]
        }

    seen: list[Mapping[str, Result]] = []

    def conclude(results: Mapping[str, Result]) -> Outcome:
        seen.append(results)
        return on_linux.conclude(
            {name: replace(result, averages_unreliable=True) for name, result in results.items()}
        )

    prepare(tmp_path)
    record = reproduce(replace(on_linux.EXPERIMENT, runs=shortened, conclude=conclude), tmp_path)
    [results] = seen
    assert record["verdict"]["kind"] in (str(Kind.REPRODUCED), str(Kind.PARTLY), str(Kind.NOT))
    flows = results[named(LINUX, FEW[0])].tables["flows"].to_pylist()
    for row in flows:
        pair = PAIRS[row["point"]]
        sender = pair.tcp if row["flow"] == TCP else pair.other
        assert row["control"] == sender.transport["control"]["kind"]
        assert row["delivered_bytes"] > 0
    # No flow gets more than the link carries. Packets queued at the start of the measurement are
    # delivered after it.
    for point in range(len(PAIRS)):
        rates = [row["throughput_bit_per_s"] for row in flows if row["point"] == point]
        assert sum(rates) < 1.1 * FEW[0].rate_mbit_per_s * 1e6
