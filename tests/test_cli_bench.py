"""`ackclock bench`: what is measured, how turns become ratios, and what is printed."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, engine, simulate
from ackclock.benchmark import features, ns2, own, programs, take_turns, turns

from .conftest import LEAKY_PIPE
from .in_process import ackclock
from .refusals import check_refusal


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every program do little."""
    monkeypatch.setattr(programs, "SECONDS", {10: 0.2})
    monkeypatch.setattr(programs, "_FLOOR_PACKETS", 1_000)
    monkeypatch.setattr(features, "_PACKETS", 100)
    monkeypatch.setattr(features, "_FIRST_S", 0.5)


def one_run(**changes: Any) -> Scenario:
    return Scenario.from_toml(LEAKY_PIPE).replace(changes).expand()[0].scenario


def test_programs_take_turns_and_the_fastest_counts() -> None:
    called = []

    def program(name: str, speeds: list[float]) -> Any:
        left: Iterator[float] = iter(speeds)

        def run() -> float:
            called.append(name)
            return next(left)

        return run

    done: list[float] = []
    measured = take_turns(
        {"a": program("a", [4, 8, 6]), "b": program("b", [2, 1, 2])}, 3, tell=done.append
    )
    assert called == ["a", "b"] * 3
    assert done == [0, 1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6]
    assert measured.rounds == 3
    assert measured.fastest("a") == 8
    assert measured.ratio("a", "b") == (4, 2, 8)
    assert measured.ratio("b", "b") == (1, 1, 1)


@pytest.mark.parametrize(("limit_s", "rounds"), [(9, 1), (19, 1), (20, 2), (35, 3), (1000, 5)])
def test_no_round_begins_that_would_end_after_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit_s: float, rounds: int
) -> None:
    now = 0.0
    monkeypatch.setattr(turns.time, "monotonic", lambda: now)

    def program() -> float:
        nonlocal now
        now += 10
        return 1.0

    assert take_turns({"only": program}, 5, limit_s).rounds == rounds


def test_the_packets_counted_are_those_that_arrive() -> None:
    scenario = own.short(one_run(), 2)
    arrived = simulate(scenario, packets=True).tables["packets"].to_pylist()
    kinds = [row["kind"] for row in arrived if row["event"] == "receive"]
    # The segment that opens the connection counts, too.
    assert own.simulated(scenario) == kinds.count("data") + kinds.count("syn") > 100


def test_the_floor_does_two_events_for_each_packet() -> None:
    delivered, events = engine.floor(10, 5_000)
    assert delivered == 5_000
    # Each packet delivered has one event at a shared pipe and its ACK another, but for those that
    # are on their way at the end: 100 in each of 10 flows.
    assert 2 * delivered - 1_000 <= events <= 2 * delivered + 1_000


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_bench_compares_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ns2, "installed", lambda: False)
    outcome = ackclock("bench", "--rounds", 2, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    printed = json.loads(outcome.stdout)
    rows = {row["name"]: row for row in printed["rows"]}
    assert (printed["rounds"], set(rows)) == (2, {"engine", "floor"})
    assert rows["engine"]["ratio"] == 1
    assert rows["floor"]["ratio"] * rows["floor"]["packets_per_cpu_s"] == pytest.approx(
        rows["engine"]["packets_per_cpu_s"]
    )
    assert rows["floor"]["published_ratio"] == programs.published()["floor"]
    assert "engine" in ackclock("bench", "--rounds", 1).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("brief")
def test_bench_says_what_a_scenario_spends_on_what_is_recorded(scenario_file: Path) -> None:
    outcome = ackclock("bench", "--scenario", scenario_file, "--rounds", 1, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    rows = {row["name"]: row for row in json.loads(outcome.stdout)["rows"]}
    assert list(rows) == [
        "as written",
        "without samples",
        "with the files of the result",
        "with the table of packets",
        "with captures",
    ]
    assert rows["as written"]["ratio"] == 1
    assert all(row["packets_per_cpu_s"] > 0 for row in rows.values())
    # Nothing is left where it was called.
    assert [path.name for path in Path().iterdir()] == [scenario_file.name]


@pytest.mark.usefixtures("brief")
def test_a_run_is_as_long_as_it_needs_and_no_longer_than_the_scenario() -> None:
    seconds, packets = features.length_s(one_run())
    assert packets == own.simulated(own.short(one_run(), seconds)) >= 100
    assert seconds < 5
    whole, few = features.length_s(one_run(duration="200 ms", warmup="0 s"))
    assert (whole, 0 < few < 100_000) == (0.2, True)


@pytest.mark.usefixtures("brief")
def test_a_scenario_without_packets_is_refused(scenario_file: Path) -> None:
    silent = ("--set", "flows.main.start=4.9999 s")
    refused = ackclock("bench", "--scenario", scenario_file, *silent)
    check_refusal(refused, "no-data", "--scenario", "no data packet arrives")


def test_what_only_the_first_run_costs_is_not_subtracted() -> None:
    durations = []

    def run(described: Scenario) -> int:
        durations.append(described.tree["duration"])
        works_until = time.process_time() + (0.2 if len(durations) == 1 else 0.0)
        works_until += 0.05 if durations[-1] == "1.0 s" else 0.0
        while time.process_time() < works_until:
            pass
        return 100

    assert own.speed(one_run(), 1.0, run) <= 100 / 0.04
    assert durations == ["0.001 s", "0.001 s", "1.0 s"]


@pytest.mark.peer
@pytest.mark.skipif(not ns2.installed(), reason="ns-2 is not installed")
def test_ns2_runs_the_dumbbell_from_the_package() -> None:
    counted, cpu_s = ns2.run(2, 2, 1, "Calendar", "needed")
    assert counted["delivered"] > 100
    assert cpu_s > 0


def test_another_program_named_ns_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "ns"
    other.write_text("#!/bin/sh\necho hello\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ValueError, match="is it ns-2"):
        ns2.run(1, 1, 1, "Calendar", "all")
