"""The two wheels, ackclock and ackclock-kernel, installed into an empty environment."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from .loading import why_not

ROOT = Path(__file__).parents[2]
CRATE = ROOT / "crates" / "ackclock-kernel"


def lacking() -> str | None:
    """What this machine lacks to build the wheels, or None."""
    tools = [name for name in ("cargo", "cc") if not shutil.which(name)]
    if tools:
        return f"there is no {tools[0]}"
    for header in ("libelf.h", "zlib.h"):
        asked = subprocess.run(
            ["cc", "-E", "-x", "c", "-"], input=f"#include <{header}>\n", text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        if asked.returncode != 0:
            return f"{header} is missing; apt install libelf-dev zlib1g-dev"
    return None


def run(*command: str | Path, **options: object) -> str:
    """Runs a program and returns what it prints."""
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


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
    return {one["name"]: one for one in listed["components"]}


def test_the_list_of_linked_libraries_names_the_libbpf_that_is_compiled() -> None:
    packages = tomllib.loads((CRATE / "Cargo.lock").read_text("utf-8"))["package"]
    [sources] = [one["version"] for one in packages if one["name"] == "libbpf-sys"]
    assert linked()["libbpf"]["version"] == sources.partition("+v")[2]


@pytest.mark.slow
def test_both_wheels_work_in_an_empty_environment(tmp_path: Path) -> None:
    missing = lacking()
    if missing:
        pytest.skip(f"the wheel of the loader cannot be built: {missing}")
    maturin = Path(sys.executable).parent / "maturin"
    build = [maturin, "build", "--quiet", "--out", tmp_path / "dist", "--target-dir"]
    # The engine's wheel is that of the tests, which is built already.
    run(*build, ROOT / "target", "--profile", "quick", "--auditwheel", "skip", cwd=ROOT)
    run(*build, ROOT / "target" / "kernel", "--release", cwd=CRATE)
    wheels = sorted((tmp_path / "dist").glob("*.whl"))
    assert [wheel.name.split("-")[0] for wheel in wheels] == ["ackclock", "ackclock_kernel"]
    with zipfile.ZipFile(wheels[1]) as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert names >= {"linked.cyclonedx.json", "libbpf.txt", "libbpf-sys.txt"}

    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--no-index", "--no-deps", *wheels)
    # Other packages are those of the tests: there is no network here.
    places = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    others = sysconfig.get_path("purelib")
    (Path(places.strip()) / "others.pth").write_text(others, "utf-8")
    elsewhere = {**os.environ, "PATH": "/usr/bin:/bin"}
    elsewhere.pop("PYTHONPATH", None)
    where = "import ackclock.run.host as host; print(host.__file__, host.loader())"
    module, loader = run(python, "-c", where, cwd=tmp_path, env=elsewhere).split()
    assert Path(module).is_relative_to(tmp_path / "venv")
    assert Path(loader) == tmp_path / "venv" / "bin" / "ackclock-kernel-host"
    needed = {line.split()[0] for line in run("ldd", loader).splitlines()}
    ours = {name for name, one in linked().items() if one.get("scope") == "excluded"}
    # What else a program of Rust needs is the C library and its parts.
    common = {"linux-vdso.so.1", "libgcc_s.so.1", "libc.so.6"}
    assert {Path(name).name for name in needed if "ld-linux" not in name} - common == ours
    if why_not() is None:
        objects = ROOT / "crates" / "ackclock-core" / "bpf"
        said = json.loads(run(loader, "check", objects / "aimd.bpf.o"))
        assert said["loaded"]["parameters"] == {"alpha": 1, "beta_percent": 50}
