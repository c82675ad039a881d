"""The comparison with Linux on 24 paths: its conclusion, with simulations in Linux's place."""

from collections.abc import Mapping

import pytest

from ackclock import Result, Scenario, simulate
from ackclock.metrics import Interval
from ackclock.reproduction import Kind
from ackclock_papers.emulated import ENGINE, LINUX
from ackclock_papers.own import linux_against_engine
from ackclock_papers.own.linux_against_engine import CONTROLS, FLOW, MOST_PATHS, PATHS

BRIEF = {"duration": "4 s", "warmup": "1 s", "replicates": 2}


def placed(**in_linuxs_place: object) -> dict[str, Result]:
    """Returns short simulations of all the engine's runs, in Linux's place with other values."""
    return {
        name: simulate(
            simulated(name).replace({**BRIEF, **(in_linuxs_place if LINUX in name else {})})
        )
        for name in linux_against_engine.runs()
    }


def simulated(name: str) -> Scenario:
    """Returns what the engine simulates where this run belongs."""
    return linux_against_engine.runs()[name.replace(LINUX, ENGINE)].scenario


@pytest.fixture(scope="module")
def equal() -> Mapping[str, Result]:
    """The engine in Linux's place."""
    return placed()


def test_the_request_is_met() -> None:
    assert len(PATHS) == len({path.label for path in PATHS}) == 24
    assert {path.mbit_per_s for path in PATHS} == {2, 20, 200}
    assert {path.round_trip_s for path in PATHS} == {0.01, 0.04, 0.2}
    runs = linux_against_engine.runs()
    assert len(runs) == 2 * len(PATHS) * len(CONTROLS)
    for run in runs.values():
        assert run.scenario.tree["replicates"] == 10


@pytest.mark.slow
def test_the_engine_in_linuxs_place_agrees(equal: Mapping[str, Result]) -> None:
    outcome = linux_against_engine.conclude(equal)
    assert outcome.draw is not None
    outcome.draw()
    [claim] = outcome.claims
    assert claim.holds
    assert claim.found == f"on {len(PATHS)}"
    assert outcome.verdict.kind is Kind.REPRODUCED
    rows = outcome.tables[0].rows
    assert len(rows) == 2 * len(PATHS) * len(CONTROLS)


@pytest.mark.slow
def test_a_sender_that_stops_early_is_noticed(equal: Mapping[str, Result]) -> None:
    """With another sender on three paths the claim fails, and names them."""
    runs = linux_against_engine.runs()
    three = dict.fromkeys(path.label for path in PATHS[:3])
    other = {
        name: simulate(simulated(name).replace({**BRIEF, f"flows.{FLOW}.stop": "2 s"}))
        for name, run in runs.items()
        if run.method == "emulate" and any(name.endswith(f", {label}") for label in three)
    }
    assert len(other) == 3 * len(CONTROLS)
    [claim] = linux_against_engine.conclude({**equal, **other}).claims
    assert len(PATHS) - 3 < MOST_PATHS
    assert claim.holds is False
    assert claim.found.startswith(f"on {len(PATHS) - 3}; not on: ")
    assert all(label in claim.found for label in three)


@pytest.mark.parametrize(
    ("ours", "theirs", "equal"),
    [
        ((100, 0), (104, 0), True),  # within 5 % of theirs
        ((100, 0), (106, 0), False),
        ((100, 0), (120, 21), True),  # within their interval
        ((100, 21), (120, 0), True),  # theirs within ours
        ((100, 15), (120, 15), False),  # intervals that overlap are not enough
        ((0, 0), (0, 0), True),
        ((0.1, 0), (0, 0), False),
    ],
)
def test_agreement_is_a_mean_in_the_others_interval_or_five_per_cent(
    ours: tuple[float, float], theirs: tuple[float, float], equal: bool
) -> None:
    assert linux_against_engine.agree(Interval(*ours, 10), Interval(*theirs, 10)) is equal


def test_the_engines_runs_are_named_as_the_kernels() -> None:
    names = linux_against_engine.runs().keys()
    ours = {name.removeprefix(f"{ENGINE}, ") for name in names if name.startswith(ENGINE)}
    theirs = {name.removeprefix(f"{LINUX}, ") for name in names if name.startswith(LINUX)}
    assert ours == theirs
