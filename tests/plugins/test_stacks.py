"""Stacks that installed packages announce: found by name, beaten by `--stack`, refused if twice."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock.stacks.template import template

Run = Callable[..., subprocess.CompletedProcess]

SCENARIO = """
schema = 1
duration = "2 s"

[[hops]]
name = "there"
link = { kind = "constant", rate = "1 Mbit/s" }
queue = { kind = "droptail", limit = "30 packets" }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "1 Mbit/s" }
queue = { kind = "droptail", limit = "30 packets" }
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = { kind = "quic", stack = "mine", control = "reno" }
"""


def install(folder: Path, package: str, announced: str, **files: str) -> Path:
    """Makes a package with one entry point of the group, and returns the folder to import from."""
    described = folder / f"{package}-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[ackclock.stacks]\n{announced}\n")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


@pytest.fixture
def source() -> str:
    """The source of a stack in Python."""
    [text] = template("mine", "python").values()
    return text


@pytest.fixture
def simulate(run_python: Run, tmp_path: Path) -> Run:
    """Simulates where packages are installed."""
    (tmp_path / "scenario.toml").write_text(SCENARIO, "utf-8")

    def run(*installed: Path, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, installed))}
        arguments = ("simulate", "scenario.toml", "-o", "run", "--force", *more)
        return run_python("-m", "ackclock", *arguments, env=environment)

    return run


def version(ended: subprocess.CompletedProcess, folder: Path) -> str:
    """Returns the version of the stack that ran."""
    assert ended.returncode == 0, ended.stderr
    run: Any = json.loads((folder / "run" / "run.json").read_text("utf-8"))
    return str(run["points"][0]["scenario"]["flows"][0]["transport"]["version"])


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


@pytest.mark.long
def test_a_class_and_a_path_are_found_by_the_name_of_their_entry_point(
    simulate: Run, tmp_path: Path, source: str
) -> None:
    class_of = install(tmp_path / "one", "one", "mine = one:Stack", one=source)
    assert digest(class_of / "one.py") in version(simulate(class_of), tmp_path)
    path = 'from pathlib import Path\nFILE = Path(__file__).with_name("kept.py")\n'
    path_of = install(tmp_path / "two", "two", "mine = two:FILE", two=path, kept=source)
    assert digest(path_of / "kept.py") in version(simulate(path_of), tmp_path)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_what_the_command_brings_comes_before_what_is_installed(
    simulate: Run, tmp_path: Path
) -> None:
    installed = install(tmp_path / "one", "one", "mine = one:nothing", one="")
    for name, text in template("mine").items():
        (tmp_path / name).write_text(text, "utf-8")
    library = tmp_path / "mine.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "mine.c")]
    subprocess.run(command, check=True)
    ended = simulate(installed, more=("--stack", f"mine={library}"))
    assert digest(library) in version(ended, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("announced", "text", "why"),
    [
        ("mine = one:nothing", "", "AttributeError"),
        ("mine = one:NUMBER", "NUMBER = 4", "neither a path nor a class"),
        ("mine = one:Other", "class Other: pass", "does not derive from"),
        ("mine = one:FILE", 'FILE = "/nowhere/mine.so"', "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    simulate: Run, tmp_path: Path, announced: str, text: str, why: str
) -> None:
    ended = simulate(install(tmp_path / "one", "one", announced, one=text))
    assert (ended.returncode, ended.stdout) == (2, "")
    [line] = ended.stderr.splitlines()
    assert why in line


@pytest.mark.long
def test_a_name_of_two_packages_is_an_error(simulate: Run, tmp_path: Path, source: str) -> None:
    folders = [
        install(tmp_path / name, name, f"mine = {name}:Stack", **{name: source})
        for name in ("one", "two")
    ]
    ended = simulate(*folders)
    assert (ended.returncode, ended.stdout) == (2, "")
    [line] = ended.stderr.splitlines()
    assert '"mine" is announced by one and by two; uninstall one' in line
