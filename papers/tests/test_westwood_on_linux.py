"""The experiment on the kernel's Westwood+: its conclusions with a simulation in its place.

It is also run without one.
"""

import dataclasses
from pathlib import Path

import pytest

from ackclock import Result
from ackclock.capture import measurement
from ackclock.reproduction import Kind, measured
from ackclock.reproduction.runner import prepare, reproduce
from ackclock.run import simulation
from ackclock_papers.westwood import on_linux


def ran(folder: Path, **changes: object) -> dict[str, Result]:
    """Returns the engine's run, and one with another seed in Linux's place; both are measured."""
    run = on_linux.runs()[on_linux.ENGINE]
    results = {}
    for name, scenario in {
        on_linux.ENGINE: run.scenario,
        on_linux.LINUX: run.scenario.replace(changes, seed=2),
    }.items():
        captures = folder / f"{name}.pcap"
        captures.mkdir()
        results[name] = simulation.simulate(scenario, pcap=captures)
        results[name].save(folder / name, {"pcap": captures})
        results[measured(name)] = measurement.measure(
            folder / name, folder / f"{name}, measured", estimators=run.estimators
        )
    return results


def test_the_replica_is_exact_and_an_equal_sender_agrees(tmp_path: Path) -> None:
    outcome = on_linux.conclude(ran(tmp_path))
    assert outcome.verdict.kind is Kind.REPRODUCED, str(outcome.verdict)
    assert "1.000" in outcome.claims[0].found


def test_a_sender_that_gets_less_is_told(tmp_path: Path) -> None:
    other = {
        "flows.sender.transport.control.estimator": {"kind": "westwood_linux", "hz": 100},
        "flows.sender.stop": "15 s",
    }
    outcome = on_linux.conclude(ran(tmp_path, **other))
    assert [claim.holds for claim in outcome.claims][2] is False
    assert outcome.verdict.kind is Kind.PARTLY


@pytest.mark.usefixtures("emulation")
def test_a_kernel_without_it_is_named(tmp_path: Path) -> None:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if "westwood" in available:
        pytest.skip("this kernel has westwood")
    prepare(tmp_path)
    brief = {"duration": "1 s", "warmup": "0 s", "replicates": 1}
    runs = {
        name: dataclasses.replace(run, scenario=run.scenario.replace(brief))
        for name, run in on_linux.runs().items()
    }
    record = reproduce(dataclasses.replace(on_linux.EXPERIMENT, runs=lambda: runs), tmp_path)
    assert record["verdict"]["kind"] == str(Kind.NOT_RUN)
    assert 'congestion control "westwood"' in record["verdict"]["reason"]
