"""Runs and measurements of experiments, with stand-ins: which ones are kept."""

import json
import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ackclock import LackingError, Result, Scenario, plot
from ackclock.capture import measurement
from ackclock.reproduction import (
    Basis,
    Claim,
    Experiment,
    Kind,
    Origin,
    Outcome,
    Run,
    measured,
    runner,
    runs,
)
from ackclock.run import address, emulation, simulation

from ..emulation.pretended import names_of
from ..in_process import ackclock

LACKING = "user namespaces are forbidden; become root"
LATE = "unreliable: the emulator was away for 53 ms (at most 20 ms)."


@dataclass
class Machine:
    """A stand-in for emulations and measurements.

    Attributes:
        lacking: Reason why it cannot emulate.
        verdict: Verdict of emulations.
        ends: True if emulations come to their end.
        measures: True if measurements come to their end.
        failure: Reason why an emulation fails.
        side_by_side: Expected number of parallel runs.
        done: Actions, in order.
    """

    lacking: str = ""
    verdict: str = "reliable"
    ends: bool = True
    measures: bool = True
    terminated: bool = False
    failure: str = ""
    side_by_side: int = 1
    done: list[str] = field(default_factory=list)

    def emulate(
        self,
        scenario: Scenario,
        folder: Path,
        *,
        device: str,
        pcap: bool,
        side_by_side: int,
        replace: bool,
        progress: object,
    ) -> Result:
        assert (device, side_by_side) == ("automatic", self.side_by_side)
        if self.lacking:
            raise LackingError("lacking", "", self.lacking)
        self.done.append("emulate")
        if self.terminated:
            os.kill(os.getpid(), signal.SIGTERM)
        assert callable(progress)
        progress({"fraction": 0.5})
        result = self.computed(scenario)
        first_run = {"point": 0, "replicate": 0}
        fidelity = first_run | {
            "reliable": int(self.verdict == "reliable"),
            "verdict": self.verdict,
        }
        tables = {
            name: pa.Table.from_pylist([dict.fromkeys(names_of(name)) | row])
            for name, row in (
                ("fidelity", fidelity),
                ("lateness", first_run),
                ("settings", first_run),
            )
        }
        run = result.run | {
            "method": "emulate",
            "machine": {"kernel": "Linux 6.0"},
            "folder": ".",
            "failed": bool(self.failure),
        }
        run |= {"partial": not self.ends or bool(self.failure), "seed": str(len(self.done))}
        if self.failure:
            run["warnings"] = [f"a run failed, replicates or points are missing: {self.failure}"]
        Result(run, result.tables | tables).save(folder, replace=replace)
        if pcap:
            (folder / "pcap").mkdir()
            (folder / "pcap" / "point-0-replicate-0-to-senders.pcap").write_bytes(b"packets")
        return Result.load(folder)

    def measure(
        self, source: Path, folder: Path, *, estimators: object, replace: bool, progress: object
    ) -> Result:
        assert not estimators
        self.done.append("measure")
        assert any((source / "pcap").iterdir())
        assert callable(progress)
        progress({"fraction": None})
        if not self.measures:
            raise KeyboardInterrupt
        run = Result.load(source)
        tables = {name: run.tables[name] for name in ("flows", "samples")}
        for name in ("connections", "limit_periods", "rtt_histogram"):
            tables[name] = pa.table(dict.fromkeys(names_of(name), pa.array([], pa.int64())))
        Result(run.run | {"method": "measure", "source": str(source), "captures": []}, tables).save(
            folder, replace=replace
        )
        return Result.load(folder)

    def simulate(self, scenario: Scenario, **options: Any) -> Result:
        self.done.append("simulate")
        return self.computed(scenario, **options)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    monkeypatch.chdir(tmp_path)
    made = Machine()
    made.computed = staticmethod(simulation.simulate)  # type: ignore[attr-defined]
    for module, name in (
        (emulation, "emulate"),
        (measurement, "measure"),
        (simulation, "simulate"),
    ):
        monkeypatch.setattr(module, name, getattr(made, name))
    return made


class Toy:
    """An experiment with one run."""

    def __init__(self, scenario: Scenario, method: str, *, is_measured: bool) -> None:
        self.run = Run(
            scenario.replace({"duration": "2 s", "replicates": 1, "sweep": {}}), method, is_measured
        )
        self.seen: list[Mapping[str, Result]] = []
        self.record = Experiment(
            "toy-validation",
            "toy",
            "A. Toy, 1999",
            "Tables",
            "Is it so?",
            "Rates.",
            1.0,
            self.conclude,
            lambda: {"x": self.run},
        )

    def conclude(self, results: Mapping[str, Result]) -> Outcome:
        self.seen.append(results)
        claim = Claim("It rises", "it falls", holds=False, documented=None, origin=Origin.PRINTED)
        curve = plot.Curve("ours", [0.1, 0.9], [1.0, 2.0])
        return Outcome(
            Basis(), (), lambda: plot.curves([curve], "p", "rate (segments/s)", "Toy"), (claim,)
        )


@pytest.fixture
def emulated(leaky_pipe: Scenario, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Toy:
    """An experiment with an emulated and measured run, the only one in the catalogue."""
    del machine
    toy = Toy(leaky_pipe, "emulate", is_measured=True)
    monkeypatch.setattr("ackclock.reproduction.experiments", lambda: (toy.record,))
    return toy


def reproduced(toy: Toy) -> dict[str, Any]:
    return runner.reproduce(toy.record, Path.cwd())


@pytest.mark.slow
def test_an_emulation_and_what_was_measured_of_it_reach_the_conclusion(
    emulated: Toy, machine: Machine
) -> None:
    record = reproduced(emulated)
    assert machine.done == ["emulate", "measure"]
    [results] = emulated.seen
    assert set(results) == {"x", measured("x")}
    assert (results["x"].run["method"], results[measured("x")].run["method"]) == (
        "emulate",
        "measure",
    )
    assert record["verdict"]["kind"] == Kind.NOT
    # Once is enough.
    assert reproduced(emulated) == record
    assert machine.done == ["emulate", "measure"]


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_what_depends_on_the_machine_never_fails() -> None:
    answer = ackclock("reproduce", "toy", "-o", "gallery")
    assert answer.exit_code == 0
    assert re.search(r"- “It rises” \(it falls\)$", answer.stdout, re.MULTILINE)


@pytest.mark.long
def test_an_emulation_is_kept_by_scenario_version_and_kernel(
    emulated: Toy, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduced(emulated)
    # Another build measures again, since estimates and models may differ. It does not emulate
    # again.
    monkeypatch.setattr(address, "engine", lambda: "another build")
    monkeypatch.setattr(address, "package", lambda *_name: "another build")
    reproduced(emulated)
    assert machine.done == ["emulate", "measure", "measure"]
    for change in (("platform.release", "6.1"), ("version", "9.9")):
        monkeypatch.setattr(f"ackclock.run.address.{change[0]}", lambda change=change: change[1])
        reproduced(emulated)
    assert machine.done[3:] == ["emulate", "measure"] * 2
    emulated.run = Run(emulated.run.scenario.replace({"seed": 2}), "emulate", measured=True)
    reproduced(emulated)
    assert machine.done[7:] == ["emulate", "measure"]


@pytest.mark.slow
def test_where_nothing_can_be_emulated_the_verdict_says_so(emulated: Toy, machine: Machine) -> None:
    machine.lacking = LACKING
    answer = ackclock("reproduce", "toy", "-o", "gallery")
    assert answer.exit_code == 0, answer.stderr
    assert f"Not run here: {LACKING}" in " ".join(answer.stdout.split())
    page = Path("gallery/index.html").read_text(encoding="utf-8")
    assert "not run here</span>" in page
    assert LACKING in page
    assert "data-figure" not in page
    assert not Path("gallery/toy-validation/figure.svg").exists()
    assert emulated.seen == []
    # It is tried again, but not where there is no need.
    machine.lacking = ""
    assert (
        "Not reproduced: the printed statement does not hold."
        in ackclock("reproduce", "toy", "-o", "gallery").stdout
    )
    assert "data-figure" in Path("gallery/index.html").read_text(encoding="utf-8")
    machine.lacking = LACKING
    assert (
        "Not reproduced: the printed statement does not hold."
        in ackclock("reproduce", "toy", "-o", "gallery").stdout
    )


@pytest.mark.usefixtures("emulated")
def test_a_quick_look_emulates_nothing(machine: Machine) -> None:
    answer = ackclock("reproduce", "toy", "--quick", "-o", "gallery")
    assert answer.exit_code == 0
    assert "Not run here: it takes real time; run without --quick" in answer.stdout
    assert machine.done == []


@pytest.mark.slow
def test_a_quick_look_emulates_what_says_how_it_can_be_short(
    emulated: Toy, machine: Machine
) -> None:
    shorter = emulated.run.scenario.replace({"duration": "1 s", "warmup": "0 s"})
    emulated.run = replace(emulated.run, quick=shorter)
    answer = ackclock("reproduce", "toy", "--quick", "-o", "gallery")
    assert machine.done == ["emulate", "measure"]
    assert "Quick: 1 s instead of 2 s" in answer.stdout
    [results] = emulated.seen
    assert results["x"].points[0]["scenario"]["duration"] == "1 s"


@pytest.mark.slow
def test_runs_that_can_be_spared_cost_no_trust(emulated: Toy, machine: Machine) -> None:
    machine.verdict = LATE
    emulated.run = replace(emulated.run, spare=1)
    record = reproduced(emulated)
    assert record["verdict"]["kind"] == Kind.NOT
    # It stays: there is no new emulation for it.
    reproduced(emulated)
    assert machine.done == ["emulate", "measure"]
    [results] = emulated.seen
    assert results["x"].left_out == {(0, 0)}


@pytest.mark.slow
def test_who_asks_for_runs_side_by_side_gets_them(emulated: Toy, machine: Machine) -> None:
    emulated.run = replace(emulated.run, side_by_side=7)
    machine.side_by_side = 7
    reproduced(emulated)
    assert machine.done == ["emulate", "measure"]


@pytest.mark.long
@pytest.mark.usefixtures("emulated")
def test_an_emulation_that_is_not_to_be_reliable_is_shown_and_done_again(machine: Machine) -> None:
    machine.verdict = LATE
    answer = ackclock("reproduce", "toy", "-o", "gallery")
    assert answer.exit_code == 4
    assert answer.stderr == "ackclock: unreliable: toy-validation; run it again\n"
    assert "Unreliable: x: unreliable: the emulator was away for 53 ms (at most 20 ms)" in " ".join(
        answer.stdout.split()
    )
    assert "- “It rises” (it falls)" in answer.stdout
    page = Path("gallery/index.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="verdict caution">.*unreliable</span>', page)
    machine.verdict = "reliable"
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    assert machine.done == ["emulate", "measure"] * 2


def test_an_emulation_that_failed_says_why(emulated: Toy, machine: Machine) -> None:
    machine.failure = "a host vanished"
    answer = ackclock("reproduce", "toy", "-o", "gallery")
    assert answer.exit_code == 4
    assert (
        "Unreliable: a run failed, replicates or points are missing: a host vanished"
        in " ".join(answer.stdout.split())
    )
    assert emulated.seen == []


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_an_interrupted_emulation_is_done_again(machine: Machine) -> None:
    machine.ends = False
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 130
    assert not Path("gallery/toy-validation").exists()
    machine.ends = True
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    assert machine.done == ["emulate", "emulate", "measure"]


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_an_emulation_that_is_terminated_is_done_again(machine: Machine) -> None:
    machine.terminated = True
    answer = ackclock("reproduce", "toy", "-o", "gallery")
    assert answer.exit_code == 143
    assert answer.stderr.endswith("the same command continues\n")
    assert not Path("gallery/toy-validation").exists()
    machine.terminated = False
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    assert machine.done == ["emulate", "emulate", "measure"]


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_an_interrupted_measurement_needs_no_second_emulation(machine: Machine) -> None:
    machine.measures = False
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 130
    machine.measures = True
    assert ackclock("reproduce", "toy", "-o", "gallery").exit_code == 0
    assert machine.done == ["emulate", "measure", "measure"]


@pytest.mark.long
def test_captures_of_an_emulation_stay_and_those_of_a_simulation_do_not(
    emulated: Toy, leaky_pipe: Scenario, machine: Machine
) -> None:
    reproduced(emulated)
    assert len(list(Path().glob("runs/*/pcap/*.pcap"))) == 1
    runner.prepare(Path("gallery"))
    simulated = Toy(leaky_pipe, "simulate", is_measured=True)
    runner.reproduce(simulated.record, Path("gallery"))
    assert machine.done[2:] == ["simulate", "measure"]
    assert list(Path("gallery").glob("runs/*/pcap")) == []
    assert [name.name for name in Path("gallery/runs").iterdir() if len(name.name) != 32] == []
    # All files there are ours, the emulation's record and captures, too.
    runner.prepare(Path("gallery"))


@pytest.mark.long
def test_captures_that_were_given_up_are_made_again_if_they_are_needed(
    leaky_pipe: Scenario, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Toy(leaky_pipe, "simulate", is_measured=False)
    reproduced(plain)
    asking = Toy(leaky_pipe, "simulate", is_measured=True)
    reproduced(asking)
    assert machine.done == ["simulate", "simulate", "measure"]
    for run in Path("runs").iterdir():
        if json.loads((run / "run.json").read_text(encoding="utf-8"))["method"] == "measure":
            (run / "run.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(address, "package", lambda *_name: "another line of code")
    reproduced(asking)
    assert machine.done[3:] == ["simulate", "measure"]


def test_progress_grows_to_the_end(emulated: Toy) -> None:
    shares: list[float] = []
    runs.results({"x": emulated.run, "y": emulated.run}, Path("runs"), shares.append)
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] <= 1
