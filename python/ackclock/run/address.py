"""Content addresses of results.

The address of a result is a hash of everything that it was made of. Nothing is computed twice, and
a changed line of code is noticed.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.engine import version
from ackclock.limits import NAMED_FILE_BYTES, read_file
from ackclock.plugins import packages

if TYPE_CHECKING:
    from ackclock.capture.estimators import Estimators
    from ackclock.scenario import Scenario

# Libraries whose versions may change a result or a figure.
_LIBRARIES = ("numpy", "scipy", "matplotlib")

# No two emulations agree in both files.
_TELLING = ("run.json", "flows.parquet")


def of_content(content: Mapping[str, Any]) -> str:
    """Returns the address of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def of_run(scenario: "Scenario") -> str:
    """Returns the address of a run: scenario with all defaults, files it names, and engine."""
    return of_content(_content(scenario) | {"engine": engine()})


def of_emulation(scenario: "Scenario", device: str = "automatic") -> str:
    """Returns the address of an emulation: scenario, version of ackclock, kernel and device.

    An emulation is not a function of these. Another build of the same version would forward other
    packets too, so the build does not count.
    """
    asked = {
        "method": "emulate",
        "device": device,
        "version": version(),
        "kernel": platform.release(),
    }
    return of_content(_content(scenario) | asked)


def of_measurement(folder: Path, estimators: "Estimators" = ()) -> str:
    """Returns the address of a measurement: the run's result, all of ackclock, and other models.

    Estimates and models are part of a measurement, so whole packages count.

    Args:
        folder: Folder of the run.
        estimators: Rate estimators that are driven by its ACKs.
    """
    came_to = {name: _digest(folder / name) for name in _TELLING}
    from ackclock.capture.estimators import asked  # Slow to import, and unused by simulations.

    made_by = {name: package(name) for name in ("ackclock", *packages("ackclock.models"))}
    return of_content({"measured": came_to, "estimators": asked(estimators), "packages": made_by})


@cache
def package(name: str = "ackclock") -> str:
    """Returns the address of all files of a package, and of the libraries that compute and draw."""
    from importlib import metadata  # slow to import, and simulations need it not

    spec = find_spec(name)
    files: dict[str, str] = {}
    for root in map(Path, (spec and spec.submodule_search_locations) or ()):
        files |= {
            path.relative_to(root).as_posix(): _digest(path)
            for path in sorted(root.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
    if spec is not None and spec.submodule_search_locations is None and spec.origin:
        files[name] = _digest(Path(spec.origin))  # A module in a single file.
    versions = {name: metadata.version(name) for name in _LIBRARIES}
    return of_content({"files": files, "python": platform.python_version(), **versions})


def _content(scenario: "Scenario") -> dict[str, Any]:
    trees = [point.scenario.resolve().tree for point in scenario.expand()]
    files = {name: _named(scenario.folder / name) for name in sorted(named_files(trees))}
    return {"points": trees, "files": files}


@cache
def engine() -> str:
    """Returns the address of the compiled engine.

    Builds between two releases have the same version number, so it would not do.
    """
    here = Path(__file__).parents[1]
    return of_content({path.name: _digest(path) for path in sorted(here.glob("_native*"))})


def named_files(tree: Any) -> set[str]:
    """Returns every value of a field `file` in a tree."""
    if isinstance(tree, dict):
        own = {tree["file"]} if isinstance(tree.get("file"), str) else set()
        return own.union(*map(named_files, tree.values()))
    return set().union(*map(named_files, tree)) if isinstance(tree, list) else set()


def _named(path: Path) -> str:
    return hashlib.sha256(read_file(path, NAMED_FILE_BYTES)).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
