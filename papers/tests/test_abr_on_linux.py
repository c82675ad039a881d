"""The study on Linux: its conclusions with a simulation in Linux's place, and a tiny part live."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ackclock import Result, simulate
from ackclock.capture import measurement
from ackclock.capture.measurement import measure
from ackclock.metrics.tables import column
from ackclock.reproduction import Kind, Run, measured
from ackclock.reproduction.runner import prepare, reproduce
from ackclock.run.emulation import emulate
from ackclock_papers.abr import on_linux
from ackclock_papers.abr.loop import BOTTLENECK, INSTCAP, NONE
from ackclock_papers.abr.on_linux import (
    CASES,
    CUBIC,
    ENGINE,
    ENGINE_OF_1998,
    IMITATED,
    LINUX,
    RENO,
    Case,
    named,
)

FILTER = "SO_ATTACH_BPF"
PSIS = (on_linux.CAPTURED, 100.0)


def test_what_is_run() -> None:
    runs = on_linux.runs()
    assert set(runs) == {
        named(method, psi)
        for method in (ENGINE, ENGINE_OF_1998, LINUX)
        for psi in on_linux.DURATIONS_S
    }
    for psi in on_linux.DURATIONS_S:
        linux, engine = runs[named(LINUX, psi)], runs[named(ENGINE, psi)]
        assert (linux.method, engine.method) == ("emulate", "simulate")
        assert linux.scenario == engine.scenario
        assert linux.side_by_side == len(CASES) * on_linux.REPLICATES > 20
    assert [name for name, run in runs.items() if run.measured] == [named(LINUX, on_linux.CAPTURED)]
    quick = [run.quickly().scenario.expand()[0].scenario.resolve().tree for run in runs.values()]
    assert {(tree["duration"], tree["replicates"]) for tree in quick} == {("12 s", 2)}


def test_points_are_the_cases_and_packets_are_as_long_for_all() -> None:
    points = [point.scenario.resolve().tree for point in on_linux.scenario(20, 60).expand()]
    assert len(points) == len(CASES)
    for tree, case in zip(points, CASES, strict=True):
        [flow] = tree["flows"]
        transport = flow["transport"]
        assert transport["preset"] == case.sender.preset
        assert transport["recovery"] == ("timeout_only" if case.sender is IMITATED else "rack")
        sizes = [int(transport[name].removesuffix(" bytes")) for name in ("mss", "header")]
        assert sum(sizes) == 500
        hosts = [
            hop["link"]["algorithm"] for hop in tree["hops"] if hop["name"] in flow["route"][:-1]
        ]
        assert [algorithm["kind"] for algorithm in hosts] == (
            [case.feedback.algorithm["kind"]] if case.feedback.algorithm else []
        )


def ran(folder: Path, seed: int, **changes: object) -> Mapping[str, Result]:
    """Returns all runs of two psi, with another simulation in Linux's place."""
    results = {}
    for name, run in on_linux.runs().items():
        if not any(name.endswith(f"psi {psi:g}") for psi in PSIS):
            continue
        own = {"seed": seed, **changes} if run.method == "emulate" else {}
        scenario = run.scenario.replace({"duration": "100 s", "replicates": 3, **own})
        place = folder / name / "pcap" if run.measured else None
        if place is not None:
            place.mkdir(parents=True)
        results[name] = simulate(scenario, pcap=place)
        if place is not None:
            results[name].save(folder / "run", {"pcap": place})
            results[measured(name)] = measurement.measure(folder / "run", folder / "measured")
    return results


@pytest.mark.slow
def test_the_engine_in_linuxs_place_is_the_engine(tmp_path: Path) -> None:
    results = ran(tmp_path, seed=1)
    outcome = on_linux.conclude(results)
    assert outcome.draw is not None
    outcome.draw()
    for psi in PSIS:
        for case in CASES:
            assert on_linux.residual(results, psi, case)[:2] == (0, 0)
    titles = [table.title for table in outcome.tables]
    assert len(titles) == len(set(titles)) == 4
    assert all(claim.documented is None for claim in outcome.claims)
    # Senders that repair losses at once get more than those that wait for a timer.
    slow = results[named(LINUX, 100)]
    for sender in (RENO, CUBIC):
        better, then = (
            on_linux.efficiencies(slow, Case(compared, NONE)).mean()
            for compared in (sender, IMITATED)
        )
        assert better > then


def test_replicates_that_are_not_to_be_reliable_are_left_out_of_pairs() -> None:
    result = simulate(on_linux.scenario(1, 20, 3))
    case = Case(IMITATED, INSTCAP)
    whole = on_linux.efficiencies(result, case)
    assert np.all((whole > 0) & (whole < 1))

    reliable = [
        {"point": CASES.index(case), "replicate": replicate, "reliable": int(replicate != 1)}
        for replicate in range(3)
    ]
    doubtful = replace(result, tables={**result.tables, "fidelity": pa.Table.from_pylist(reliable)})
    assert np.array_equal(np.isnan(on_linux.efficiencies(doubtful, case)), [False, True, False])
    assert np.array_equal(on_linux.efficiencies(doubtful, case)[[0, 2]], whole[[0, 2]])
    assert on_linux.gain(doubtful, IMITATED, INSTCAP).replicates == 2


@pytest.mark.usefixtures("emulation")
def test_a_tiny_part_in_real_time(tmp_path: Path) -> None:
    """Runs nine cases in parallel, and asserts only laws.

    Neither chance nor a busy machine can break them.
    """

    def shortened() -> Mapping[str, Run]:
        return {
            name: replace(
                run,
                scenario=run.scenario.replace({"duration": "8 s", "replicates": 1}),
                spare=len(CASES),
            )
            for name, run in on_linux.runs().items()
            if name.endswith(f"psi {on_linux.CAPTURED:g}")
        }

    seen: list[Mapping[str, Result]] = []

    def conclude(results: Mapping[str, Result]) -> object:
        seen.append(results)
        return on_linux.conclude(
            {name: replace(result, averages_unreliable=True) for name, result in results.items()}
        )

    prepare(tmp_path)
    record = reproduce(replace(on_linux.EXPERIMENT, runs=shortened, conclude=conclude), tmp_path)
    [results] = seen
    assert record["verdict"]["kind"] in (str(Kind.READING), str(Kind.PARTLY), str(Kind.NOT))
    linux, engine = (results[named(method, on_linux.CAPTURED)] for method in (LINUX, ENGINE))
    # The links are those of the simulation, and no flow gets more than they carry.
    rates = [
        {
            (row["point"], row["time_s"]): row["capacity_bytes"]
            for row in result.rows("hops", hop=BOTTLENECK).to_pylist()
        }
        for result in (linux, engine)
    ]
    assert rates[0] == rates[1]
    taken = replace(linux, averages_unreliable=True)
    for case in CASES:
        assert np.all(
            on_linux.efficiencies(taken, case, 1) < 1.05
        )  # packets queued at the start of the measurement are delivered after it


def refused(result: Result, name: str) -> str:
    """Returns the kernel's reason for not applying a setting; empty if it was applied."""
    rows = result.tables["settings"].to_pylist()
    return str(next(row["refusal"] for row in rows if row["name"].endswith(name)))


@pytest.mark.usefixtures("emulation")
def test_every_recovery_of_the_imitated_sender_is_a_timeout(tmp_path: Path) -> None:
    cases = tuple(on_linux.Case(on_linux.IMITATED, feedback) for feedback in (NONE, INSTCAP))
    scenario = on_linux.scenario(5, 20, 2, cases)
    emulated = emulate(scenario, tmp_path / "run", side_by_side=4)
    if refused(emulated, FILTER):
        pytest.skip(f"duplicate ACKs cannot be kept from sockets here: {refused(emulated, FILTER)}")
    measured = measure(tmp_path / "run", tmp_path / "measured")

    # First by the kernel's report: it was never in fast recovery, and its timer did expire.
    states = set(emulated.tables["tcp_info"]["loss_state"].to_pylist())
    assert states <= {"open", "disorder", "loss"}, states
    flows = emulated.tables["flows"].to_pylist()
    assert sum(row["dropped_packets"] for row in flows) > 0
    assert sum(row["timeouts"] for row in flows) > 0

    # Then by the captures: every retransmission follows a timeout.
    sent = [row for row in measured.tables["connections"].to_pylist() if row["payload_bytes"] > 0]
    assert len(sent) == 4
    for row in sent:
        assert (
            row["fast_recoveries"],
            row["retransmissions_fast"],
            row["retransmissions_tail_probe"],
        ) == (0, 0, 0)
    resent = sum(
        row["retransmissions_timeout"] + row["retransmissions_after_timeout"] for row in sent
    )
    assert resent == sum(row["retransmitted_packets"] for row in sent) > 0

    # The route's minimum timeout is applied: a round trip and 0.8 s.
    info = emulated.tables["tcp_info"]
    sampled = column(info, "smoothed_rtt_s") > 0
    timeouts, trips = (column(info, name)[sampled] for name in ("rto_s", "smoothed_rtt_s"))
    tick = 0.01  # the kernel counts in ticks
    assert np.all(timeouts >= 0.8 + 0.2 - tick)
    assert np.all(trips >= 0.2 - tick)
