"""Addresses by content: what a result was made of, so that nothing is computed twice and a changed line is noticed."""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.engine import version

if TYPE_CHECKING:
    from ackclock.estimators import Estimators
    from ackclock.scenario import Scenario

__all__ = ["of", "of_emulation", "of_measurement", "of_run", "package"]

# Whose versions may change an outcome or a figure, apart from ackclock's own files.
_LIBRARIES = ("numpy", "scipy", "matplotlib")

# No two emulations agree in both.
_TELLING = ("run.json", "flows.parquet")


def of(content: Mapping[str, Any]) -> str:
    """The address of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def of_run(scenario: "Scenario") -> str:
    """What a run is made of: the scenario with all defaults, the files it names, the engine."""
    return of(_content(scenario) | {"engine": _engine()})


def of_emulation(scenario: "Scenario", device: str = "automatic") -> str:
    """What an emulation is asked for: the scenario as above, by which version of ackclock, of which kernel and device.

    It is no function of that. Another build of the same version would carry other packets too, and
    so does not count.
    """
    asked = {
        "method": "emulate",
        "device": device,
        "version": version(),
        "kernel": platform.release(),
    }
    return of(_content(scenario) | asked)


def of_measurement(folder: Path, estimators: "Estimators" = ()) -> str:
    """What measuring a run is made of: what the run came to, and all of ackclock, as estimates and models are in it.

    Args:
        folder: Of the run.
        estimators: Rate estimators that run along.
    """
    came_to = {name: _digest(folder / name) for name in _TELLING}
    from ackclock.estimators import asked  # heavy, and of no use to a simulation

    return of({"measured": came_to, "estimators": asked(estimators), "package": package()})


@cache
def package(name: str = "ackclock") -> str:
    """The address of all files of an installed package, and of the libraries that compute and draw."""
    root = _folder_of(name)
    files = {
        path.relative_to(root).as_posix(): _digest(path)
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    return of({"files": files, "python": platform.python_version(), **versions})


def _content(scenario: "Scenario") -> dict[str, Any]:
    trees = [point.scenario.resolve().tree for point in scenario.expand()]
    files = {name: _digest(scenario.folder / name) for name in sorted(_files(trees))}
    return {"points": trees, "files": files}


@cache
def _engine() -> str:
    """The compiled engine's content: a version number would be the same for every build on the way to it."""
    return of(
        {path.name: _digest(path) for path in sorted(_folder_of("ackclock").glob("_native*"))}
    )


def _folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.origin).parent


def _files(tree: Any) -> set[str]:
    """Every value of a field `file` in a tree."""
    if isinstance(tree, dict):
        own = {tree["file"]} if isinstance(tree.get("file"), str) else set()
        return own.union(*map(_files, tree.values()))
    return set().union(*map(_files, tree)) if isinstance(tree, list) else set()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
