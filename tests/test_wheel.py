"""The three wheels of this repository in one environment that is otherwise empty.

The wheels are built here, of the sources as they are. Their dependencies are those that the tests
run with, so that nothing is fetched; the workflow file installs them by name. That takes minutes
where nothing is compiled yet.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import check_wheel
import lab_engine
import portable_wheel

from .emulation.loading import why_not

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "ackclock-kernel"
PAPERS = ROOT / "papers"
# A folder on PYTHONPATH is not a site folder: the editable ackclock in it stays unseen.
DEPENDENCIES = {"PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONNOUSERSITE": "1"}
MATURIN = shutil.which("maturin", path=str(Path(sys.executable).parent))


def run(*command: str | Path, **options: object) -> str:
    """Runs a program and returns what it prints."""
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


# One process for many commands: to import takes longer than most of them.
IN_TURN = """\
import json, sys
from click.testing import CliRunner
from ackclock.cli import cli
outcomes = [CliRunner().invoke(cli, one) for one in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in outcomes]))
"""


class Installed:
    """An environment with wheels and nothing else, and an empty folder to work in."""

    def __init__(self, wheels: list[Path], folder: Path) -> None:
        self.place, self.folder = folder / "elsewhere", folder / "empty"
        self.folder.mkdir()
        # Installed from outside: a pip of its own would take seconds to install.
        venv.create(self.place, symlinks=True)
        pip = [sys.executable, "-m", "pip", "--python", self.place / "bin" / "python"]
        run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--no-compile", *wheels)

    def python(self, *arguments: str, **more: str) -> str:
        """Runs its Python, which finds other packages where the tests find them."""
        return self._run("python", *arguments, more=more)

    def ackclock(self, *arguments: str) -> str:
        """Runs its command."""
        return self._run("ackclock", *arguments, more={})

    def in_turn(self, *commands: list[str]) -> list[str]:
        """Runs commands in one process; returns what each prints."""
        outcomes = json.loads(self.python("-c", IN_TURN, json.dumps(commands)))
        for command, (code, _, errors) in zip(commands, outcomes, strict=True):
            assert code == 0, f"{command}: {errors}"
        return [printed for _, printed, _ in outcomes]

    def _run(self, program: str, *arguments: str, more: Mapping[str, str]) -> str:
        environment = os.environ | DEPENDENCIES | more
        return run(self.place / "bin" / program, *arguments, cwd=self.folder, env=environment)


def is_the_package_of_the_wheel(installed: Installed) -> None:
    printed = installed.python("-c", "import ackclock; print(ackclock.__file__)")
    assert Path(printed.strip()).is_relative_to(installed.place)


def simulates_evaluates_and_has_what_lies_beside_the_code(installed: Installed) -> None:
    installed.ackclock("new", "one-link", "-o", "path.toml")
    short = ["--set", "duration=5 s", "--set", "warmup=1 s", "--replicates", "2"]
    startup = ["--only", "start-up", "--seeds", "2"]
    _, table, _, _, listed = installed.in_turn(
        ["simulate", "path.toml", *short, "-o", "result"],
        ["table", "result", "goodput", "--json"],
        ["report", "result", "-o", "page.html"],
        ["evaluate", "reno", *startup, "-o", "done"],
        ["reproduce", "--list"],
    )
    assert json.loads(table)
    page = (installed.folder / "page.html").read_text(encoding="utf-8")
    assert "--simulate" in page, "the style sheet is in it"
    assert "data-figure" in page
    assert (installed.folder / "done" / "index.html").exists()
    assert "markov" in listed


def does_what_the_readme_says(installed: Installed) -> None:
    """Runs README's commands in an empty folder, with what the wheel installs and nothing else."""
    folder = installed.place.parent / "readme"
    folder.mkdir()
    path = os.pathsep.join([str(installed.place / "bin"), "/usr/bin", "/bin"])
    environment = os.environ | DEPENDENCIES | {"PATH": path}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"^```(sh|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in snippets] == ["sh", "sh", "python"]
    for language, block in snippets:
        runner = ["bash", "-euo", "pipefail"] if language == "sh" else ["python"]
        run(*runner, "-c", block, cwd=folder, env=environment)
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert {"first.toml", "out/reno/run.json", "out/all/report.html"} <= written


def has_the_examples(installed: Installed) -> None:
    for name in ("wifi-cell", "lab/saw-tooth"):
        installed.ackclock("new", "--example", name)
        copied = installed.folder / f"{Path(name).name}.toml"
        assert copied.read_bytes() == (ROOT / "examples" / f"{name}.toml").read_bytes()


def exports_the_lab_page(installed: Installed) -> None:
    installed.ackclock("lab", "export", "path.toml", "-o", "page")
    names = {path.name for path in (installed.folder / "page").iterdir()}
    assert {"index.html", "engine.wasm", "base.css", "figures.js"} <= names


def finds_the_loader_of_the_other_wheel(installed: Installed) -> Path:
    where = "import ackclock.run.host as host; print(host.loader())"
    loader = Path(installed.python("-c", where, PATH="/usr/bin:/bin").strip())
    assert loader == installed.place / "bin" / "ackclock-kernel-host"
    return loader


def links_what_its_list_says(loader: Path) -> None:
    needed = {line.split()[0] for line in run("ldd", loader).splitlines()}
    ours = {name for name, library in linked().items() if library.get("scope") == "excluded"}
    # What else a program of Rust needs is the C library and its parts.
    common = {"linux-vdso.so.1", "libgcc_s.so.1", "libc.so.6"}
    assert {Path(name).name for name in needed if "ld-linux" not in name} - common == ours


def loads_a_control(loader: Path) -> None:
    objects = ROOT / "crates" / "ackclock-core" / "bpf"
    answer = json.loads(run(loader, "check", objects / "aimd.bpf.o"))
    assert answer["loaded"]["parameters"] == {"alpha": 1, "beta_percent": 50}


def lacking() -> str | None:
    """What this machine lacks to build the wheel of the loader, or None."""
    if not shutil.which("cc"):
        return "there is no cc"
    for header in ("libelf.h", "zlib.h"):
        asked = subprocess.run(
            ["cc", "-E", "-x", "c", "-"], input=f"#include <{header}>\n", text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        if asked.returncode != 0:
            return f"{header} is missing; apt install libelf-dev zlib1g-dev"
    return None


def built(dist: Path, crate: Path, target: Path, *profile: str) -> Path:
    """Builds the wheel of a crate."""
    run(
        str(MATURIN), "build", "--quiet", "--out", dist, "--target-dir", target, *profile, cwd=crate
    )
    [wheel] = dist.glob("*.whl")
    return wheel


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(
    MATURIN is None or shutil.which("cargo") is None,
    reason="NO WHEEL: it was not built; install maturin and Rust",
)
def test_the_wheels_are_whole(tmp_path: Path) -> None:
    # The engine's wheel is that of the tests, which is built already.
    wheels = [built(tmp_path / "ours", ROOT, ROOT / "target", "--profile", "quick")]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", tmp_path / "papers", PAPERS)
    wheels += (tmp_path / "papers").glob("*.whl")
    missing = lacking()
    if missing is None:
        loaders = built(tmp_path / "loader's", CRATE, ROOT / "target" / "kernel", "--release")
        with zipfile.ZipFile(loaders) as archive:
            names = {Path(name).name for name in archive.namelist()}
        assert names >= {"linked.cyclonedx.json", "libbpf.txt", "libbpf-sys.txt"}
        wheels.append(loaders)
    installed = Installed(wheels, tmp_path)
    is_the_package_of_the_wheel(installed)
    simulates_evaluates_and_has_what_lies_beside_the_code(installed)
    has_the_examples(installed)
    does_what_the_readme_says(installed)
    if lab_engine.MODULE.exists():
        exports_the_lab_page(installed)
    if missing:
        pytest.skip(f"all but the wheel of the loader, which cannot be built: {missing}")
    loader = finds_the_loader_of_the_other_wheel(installed)
    links_what_its_list_says(loader)
    if why_not() is None:
        loads_a_control(loader)


def test_a_wheel_of_any_folder_passes_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """maturin's list of components names the folder of the build."""
    monkeypatch.chdir(tmp_path)
    wheel = tmp_path / "ackclock-1-cp311-abi3-manylinux_2_34_x86_64.whl"
    components = "ackclock-1.dist-info/sboms/ackclock-py.cyclonedx.json"
    members = {
        "ackclock/laboratory/static/engine.wasm": "engine",
        "ackclock/scenario/examples/first.toml": "schema = 1",
        components: json.dumps({"bom-ref": f"path+{tmp_path.as_uri()}/crates/ackclock-py#1"}),
        "ackclock-1.dist-info/RECORD": f"{components},sha256=former,1\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert len(check_wheel.complaints(wheel)) == 1
    portable_wheel.make_portable(wheel, tmp_path)
    assert check_wheel.complaints(wheel) == []
    with zipfile.ZipFile(wheel) as archive:
        listed = archive.read(components)
        record = archive.read("ackclock-1.dist-info/RECORD").decode()
    assert json.loads(listed) == {"bom-ref": "path+file:///ackclock/crates/ackclock-py#1"}
    digest = base64.urlsafe_b64encode(hashlib.sha256(listed).digest()).rstrip(b"=").decode()
    assert record.splitlines()[0] == f"{components},sha256={digest},{len(listed)}"


def test_the_papers_are_of_this_version_and_need_it() -> None:
    papers = tomllib.loads((PAPERS / "pyproject.toml").read_text("utf-8"))["project"]
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    assert papers["version"] == engine["version"]
    assert f"ackclock=={engine['version']}" in papers["dependencies"]


def test_the_extra_names_the_wheel_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    crate = tomllib.loads((CRATE / "Cargo.toml").read_text("utf-8"))["package"]
    engine = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    [asked] = project["optional-dependencies"]["kernel"]
    assert asked == f"{crate['name']}=={crate['version']}; sys_platform == 'linux'"
    assert crate["version"] == engine["version"]


def linked() -> dict[str, dict[str, object]]:
    """The libraries that the program links, by name."""
    listed = json.loads((CRATE / "linked.cyclonedx.json").read_text("utf-8"))
    return {library["name"]: library for library in listed["components"]}


def test_the_list_of_linked_libraries_names_the_libbpf_that_is_compiled() -> None:
    packages = tomllib.loads((CRATE / "Cargo.lock").read_text("utf-8"))["package"]
    [sources] = [package["version"] for package in packages if package["name"] == "libbpf-sys"]
    assert linked()["libbpf"]["version"] == sources.partition("+v")[2]
