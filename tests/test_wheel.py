"""A wheel in an empty environment: everything that commands read is in it.

The wheel is built here, of the sources as they are. Its dependencies are those that the tests run
with, so that nothing is fetched; the workflow file installs them by name. That takes minutes where
nothing is compiled yet.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# A folder on PYTHONPATH is not a site folder: the editable ackclock in it stays unseen.
DEPENDENCIES = {"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONNOUSERSITE": "1"}
MATURIN = shutil.which("maturin", path=str(Path(sys.executable).parent))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        MATURIN is None or shutil.which("cargo") is None,
        reason="NO WHEEL: it was not built; install maturin and Rust",
    ),
]


class Installed:
    """An environment with a wheel and nothing else, and an empty folder to work in."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.place, self.folder = folder / "elsewhere", folder / "empty"
        venv.create(self.place, with_pip=True)
        self.folder.mkdir()
        install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
        self._run(["python", *install], {})

    def python(self, *arguments: str) -> str:
        """Runs its Python, which finds other packages where the tests find them."""
        return self._run(["python", *arguments], DEPENDENCIES)

    def ackclock(self, *arguments: str) -> str:
        """Runs its command."""
        return self._run(["ackclock", *arguments], DEPENDENCIES)

    def _run(self, command: Sequence[str], more: Mapping[str, str]) -> str:
        program, *arguments = command
        done = subprocess.run(
            [str(self.place / "bin" / program), *arguments], cwd=self.folder,
            env=os.environ | more, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


def is_the_package_of_the_wheel(installed: Installed) -> None:
    found = installed.python("-c", "import ackclock; print(ackclock.__file__)")
    assert Path(found.strip()).is_relative_to(installed.place)


def writes_simulates_and_shows_a_scenario(installed: Installed) -> None:
    installed.ackclock("new", "one-link", "-o", "path.toml")
    short = ["--set", "duration=5 s", "--set", "warmup=1 s", "--replicates", "2"]
    installed.ackclock("simulate", "path.toml", *short, "-o", "result")
    told = json.loads(installed.ackclock("table", "result", "goodput", "--json"))
    assert told
    installed.ackclock("report", "result", "-o", "page.html")
    page = (installed.folder / "page.html").read_text(encoding="utf-8")
    assert "--simulate" in page, "the style sheet is in it"
    assert "data-figure" in page


def has_what_lies_beside_the_code(installed: Installed) -> None:
    installed.ackclock("new", "one-link", "-o", "other.toml")
    installed.ackclock("lab", "export", "other.toml", "-o", "page")
    names = {one.name for one in (installed.folder / "page").iterdir()}
    assert {"index.html", "engine.wasm", "base.css", "uPlot.min.js"} <= names
    installed.ackclock(
        "evaluate", "reno", "--only", "startup-plateau", "--seeds", "1", "-o", "done"
    )
    assert (installed.folder / "done" / "index.html").exists()
    assert "markov" in installed.ackclock("reproduce", "--list")


def test_a_wheel_is_whole(tmp_path: Path) -> None:
    build = [str(MATURIN), "build", "--profile", "quick", "--out", str(tmp_path)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    installed = Installed(wheel, tmp_path)
    is_the_package_of_the_wheel(installed)
    writes_simulates_and_shows_a_scenario(installed)
    has_what_lies_beside_the_code(installed)
