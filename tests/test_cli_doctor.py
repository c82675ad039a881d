"""`ackclock doctor`: which parts of an emulation this machine can run."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ackclock.cli import cli
from ackclock.run import doctor
from ackclock.run.host import HOST_COMMAND

ON_LINUX = [
    "namespaces",
    "tun",
    "packet_socket",
    "real_time",
    "wakefulness",
    "congestion_controls",
    "kernel",
    "processors",
    "bpf",
]


def ask(*arguments: str) -> Outcome:
    return CliRunner().invoke(cli, ["doctor", *arguments])


def described(name: str, state: str, remedy: str | None = None) -> dict:
    return {
        "name": name,
        "label": f"the {name}",
        "state": state,
        "description": f"{name} found",
        "remedy": remedy,
    }


def pretend(monkeypatch: pytest.MonkeyPatch, emulation: bool, *findings: dict) -> None:
    monkeypatch.setattr(
        doctor, "examine", lambda: {"emulation": emulation, "findings": list(findings)}
    )


def test_this_machine() -> None:
    outcome = ask("--json")
    examination = json.loads(outcome.stdout)
    assert outcome.exit_code == (0 if examination["emulation"] else 3)
    for finding in examination["findings"]:
        assert finding["state"] in ("yes", "partly", "no")
        assert finding["description"]
    names = [finding["name"] for finding in examination["findings"]]
    assert names == (ON_LINUX if sys.platform == "linux" else ["system"])
    states = {finding["name"]: finding["state"] for finding in examination["findings"]}
    devices = {states.get("tun"), states.get("packet_socket")}
    assert examination["emulation"] == bool(devices & {"yes", "partly"})
    if examination["emulation"]:
        assert states["namespaces"] == "yes"
        assert states["congestion_controls"] != "no"


def test_l4s_on_this_machine() -> None:
    outcome = ask("l4s", "--json")
    examination = json.loads(outcome.stdout)
    assert outcome.exit_code == (0 if examination["emulation"] else 3)
    by_name = {finding["name"]: finding for finding in examination["findings"]}
    if sys.platform == "linux":
        assert list(by_name) == ["hosts", "accurate_ecn", "prague", "dctcp", "own_ecn"]
        needed = ("hosts", "accurate_ecn", "prague")
        assert examination["emulation"] == all(by_name[name]["state"] == "yes" for name in needed)
    for finding in examination["findings"]:
        assert (finding["state"] == "yes") == (finding["remedy"] is None), finding


def test_l4s_has_a_title_and_a_complaint_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"emulation": False, "findings": [described("prague", "no", "use another kernel")]}
    monkeypatch.setattr(doctor, "examine_l4s", lambda: missing)
    outcome = ask("l4s")
    assert outcome.exit_code == 3
    assert outcome.stdout.startswith("emulation of L4S on this machine: not possible\n")
    assert outcome.stderr == (
        "ackclock: no emulation of L4S on this machine: prague found; use another kernel\n"
    )


def test_a_table_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, True, described("tun", "yes"), described("real_time", "no", "run as root"))
    outcome = ask()
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    title, head, _, tun, real_time = outcome.stdout.splitlines()
    assert title == "emulation on this machine: possible"
    assert head.split() == ["what", "there", "found", "remedy"]
    assert tun.split() == ["the", "tun", "yes", "tun", "found"]
    assert real_time.endswith("run as root")


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_no_emulation_is_one_line_with_one_cure(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    pretend(
        monkeypatch, False,
        described("namespaces", "no", "run as root"), described("tun", "no"),
        described("bpf", "no", "install it"),
    )  # fmt: skip
    outcome = ask(*arguments)
    assert outcome.exit_code == 3
    assert (
        outcome.stderr == "ackclock: no emulation on this machine: namespaces found; run as root\n"
    )
    assert outcome.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="hosts are made of Linux's network namespaces")
def test_a_host_is_started_by_nobody_else(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    ended = run_python(*HOST_COMMAND[1:], stdin=subprocess.DEVNULL)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "ackclock starts it by itself" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="hosts are made of Linux's network namespaces")
def test_without_root(
    tmp_path: Path, as_nobody: Callable[..., subprocess.CompletedProcess]
) -> None:
    ended = as_nobody("doctor", "--json", cwd=tmp_path)
    examination = json.loads(ended.stdout)
    assert ended.returncode == (0 if examination["emulation"] else 3)
    by_name = {finding["name"]: finding for finding in examination["findings"]}
    if examination["emulation"]:
        assert by_name["namespaces"]["description"] == "with a user namespace, without root"
    else:
        assert by_name["namespaces"]["remedy"].startswith("run as root, or ")
    assert by_name["bpf"]["state"] != "yes"
