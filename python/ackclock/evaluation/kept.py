"""Metrics of reference controls that were simulated before, kept by content.

An evaluation simulates every cell with each reference control, too: two thirds of its runs, which
are the same for all controls that are evaluated. Their metrics are kept in a folder of the user
under the hash of what made them: scenarios, engine, and the code that makes metrics. A file has its
own digest, so a damaged one is made again. Nothing here raises an error: a folder that cannot be
written keeps nothing.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ackclock.evaluation.criteria import Quantity
from ackclock.plugins import packages
from ackclock.result.manifest import read_sealed, write_sealed
from ackclock.run import address
from ackclock.scenario import Scenario

Array = NDArray[np.float64]

#: Metrics of the cells of a grid: for each cell, values by replicate by key of a quantity.
Metrics = list[dict[str, Array]]

#: Most bytes that are kept; the files that were used longest ago go. Ours.
MOST_BYTES = 64_000_000

_FLOAT = np.dtype("<f8")


def folder_of_user() -> Path | None:
    """Returns the folder of this user for what is kept; None without a home.

    `XDG_CACHE_HOME` of the XDG Base Directory Specification, or what it says is the default.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    try:
        caches = Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return caches / "ackclock" / "references"


@dataclass(frozen=True)
class Kept:
    """The folder of what is kept: plain data under the hash of what made it.

    Attributes:
        folder: The folder.
        most_bytes: Most bytes that are kept in it.
    """

    folder: Path
    most_bytes: int = MOST_BYTES

    @classmethod
    def of_user(cls) -> Self | None:
        """Returns the user's; None without a home."""
        folder = folder_of_user()
        return None if folder is None else cls(folder)

    def content(self, made_of: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what is kept; empty if nothing is, or if it is damaged."""
        place = self._file(made_of)
        with contextlib.suppress(OSError, ValueError):
            content = read_sealed(place)
            if content:
                os.utime(place)
            return content
        return {}

    def keep(self, made_of: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        """Keeps plain data."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_sealed(self._file(made_of), content)

    def _file(self, made_of: Mapping[str, Any]) -> Path:
        return self.folder / f"{address.of_content(made_of)}.json"

    def trim(self) -> None:
        """Removes the files that were used longest ago until the rest are few enough."""
        files = []
        with contextlib.suppress(OSError):
            files = [(path.stat(), path) for path in self.folder.glob("*.json")]
        files.sort(key=lambda file: file[0].st_mtime_ns, reverse=True)
        total = 0
        for status, path in files:
            total += status.st_size
            if total > self.most_bytes:
                with contextlib.suppress(OSError):
                    path.unlink()


@dataclass(frozen=True)
class KeptMetrics(Kept):
    """Metrics that are kept."""

    def read(self, scenario: Scenario, quantities: Sequence[Quantity]) -> Metrics | None:
        """Returns the metrics of every point of a scenario; None if they are not kept."""
        content = self.content(_made_of(scenario, quantities))
        if not content:
            return None
        with contextlib.suppress(ValueError):
            return [
                {key: _array(written) for key, written in of_cell.items()}
                for of_cell in content["cells"]
            ]
        return None

    def write(self, scenario: Scenario, quantities: Sequence[Quantity], metrics: Metrics) -> None:
        """Keeps the metrics of every point of a scenario."""
        cells = [{key: _text(values) for key, values in of_cell.items()} for of_cell in metrics]
        self.keep(_made_of(scenario, quantities), {"cells": cells})


def _made_of(scenario: Scenario, quantities: Sequence[Quantity]) -> dict[str, Any]:
    return {
        "run": address.of_run(scenario),
        "metrics": [quantity.key for quantity in quantities],
        "packages": _packages(),
    }


@cache
def _packages() -> dict[str, str]:
    """Returns the addresses of the packages that make metrics."""
    made_by = ("ackclock", *packages("ackclock.metrics"))
    return {name: address.package(name) for name in made_by}


def _text(values: Array) -> str:
    """Returns numbers as text, each to the bit: also those that JSON has not."""
    return values.astype(_FLOAT).tobytes().hex()


def _array(text: str) -> Array:
    return np.frombuffer(bytes.fromhex(text), _FLOAT).astype(float)
