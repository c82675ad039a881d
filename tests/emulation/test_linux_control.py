"""`ackclock compare --linux`: a control of the kernel in place of the scenario's."""

import json
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.run import kernel_controls
from ackclock.run.kernel_controls import nearest, with_kernel_control

from ..in_process import ackclock
from ..refusals import check, error_of, refused

QUICK = ("--replicates", "1", "--set", "duration=2 s", "--set", "sweep={}", "--methods")


@pytest.fixture(autouse=True)
def offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with these controls."""
    monkeypatch.setattr(kernel_controls, "offered", lambda: ("bbr", "cubic", "reno"))


@pytest.mark.usefixtures("emulation")
def test_linux_runs_another_control(scenario_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    arguments = ("compare", scenario_file, *QUICK, "simulate,emulate", "--linux", "cubic")
    outcome = ackclock(*arguments, "-o", folder)
    assert outcome.exit_code in (0, 4), outcome.stderr
    if outcome.exit_code == 0:  # a column of runs that the machine disturbed is left out
        assert "Linux cubic" in outcome.stdout
    assert "Linux ran its cubic instead." in " ".join(outcome.stdout.split())
    [emulated] = json.loads((folder / "emulate" / "run.json").read_text("utf-8"))["points"]
    control = emulated["scenario"]["flows"][0]["transport"]["control"]
    assert (control["kind"], control["name"]) == ("kernel", "cubic")
    [simulated] = json.loads((folder / "simulate" / "run.json").read_text("utf-8"))["points"]
    assert simulated["scenario"]["flows"][0]["transport"]["control"]["kind"] == "reno"
    assert ackclock("report", folder).exit_code == 0
    page = (folder / "report.html").read_text("utf-8")
    assert "Linux ran its cubic" in page
    assert "--linux cubic" in page
    # The same command goes on, one with another control of Linux does not.
    assert ackclock(*arguments, "-o", folder).exit_code in (0, 4)
    other = ackclock(*arguments[:-1], "reno", "-o", folder)
    check(error_of(other), "file", str(folder), "--force")


def test_a_column_that_is_left_out_is_said(scenario_file: Path, no_emulation: str | None) -> None:
    if no_emulation:
        pytest.skip(no_emulation)
    options = ("--set", "control=bbr3", *QUICK, "simulate,emulate")
    outcome = ackclock("compare", scenario_file, *options)
    assert outcome.exit_code == 0, outcome.stderr
    words = " ".join(outcome.stdout.split())
    assert 'Linux has no answer: --set: flows.main.transport.control: "bbr3"' in words
    assert "With --linux bbr it runs the kernel's bbr beside them." in words


def test_the_nearest_control_begins_the_name(leaky_pipe: Scenario) -> None:
    def stand_in(control: str) -> str:
        changed = leaky_pipe.replace({"flows.main.transport.control": {"kind": control}})
        return nearest(changed.expand()[0].scenario.resolve().tree, ("bbr", "cubic", "reno"))

    assert stand_in("bbr3") == "bbr"
    assert stand_in("copa") == "cubic"
    assert stand_in("reno") == ""


def test_mistakes_are_one_line(leaky_pipe: Scenario, scenario_file: Path) -> None:
    with refused("unknown-name", "linux", "bbr, cubic, reno", 'did you mean "bbr"'):
        with_kernel_control(leaky_pipe, "bbr3")
    swept = leaky_pipe.replace(sweep={"flows.main.transport.control.kind": ["reno", "cubic"]})
    with refused("contradiction", "linux", "sweeps flows.main.transport.control.kind"):
        with_kernel_control(swept, "bbr")
    outcome = ackclock("compare", scenario_file, *QUICK, "simulate", "--linux", "bbr")
    check(error_of(outcome), "contradiction", "--linux", "emulate")
