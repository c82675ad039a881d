"""The file `run.json` of a result, which says what was run: writing, reading, checks.

It is also the manifest of the tables beside it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ackclock.errors import InputError
from ackclock.limits import RESULT_JSON_BYTES, read_file
from ackclock.result import manifest
from ackclock.result.manifest import Entry

#: Schema version of run.json. It increases when a reader of an older one would misunderstand it.
#: 2: scenarios state facts, and `way` is `method`.
SCHEMA = 2

# Keys that run.json must have.
_RUN = frozenset(
    {
        "method",
        "name",
        "seed",
        "replicates",
        "versions",
        "warnings",
        "controls",
        "scenario",
        "points",
        "files",
    }
)

# Types of some of them.
_KINDS: dict[str, type] = {
    "method": str,
    "name": str,
    "replicates": int,
    "versions": dict,
    "warnings": list,
    "controls": list,
    "points": list,
}

#: Keys that some methods add; their results grow while a run goes on.
MORE: dict[str, frozenset[str]] = {
    "emulate": frozenset({"machine", "folder"}),
    "measure": frozenset({"source", "captures"}),
    "send": frozenset({"session"}),
    "receive": frozenset({"session"}),
}

_OF_PACKETS = ("flows", "samples", "hops", "events")

#: Tables that each method fills.
TABLES: dict[str, tuple[str, ...]] = {
    "simulate": _OF_PACKETS,
    "emulate": (*_OF_PACKETS, "fidelity", "lateness", "settings"),
    "measure": ("flows", "samples", "connections", "limit_periods", "rtt_histogram"),
    "predict": ("predictions",),
    "send": ("flows", "samples", "bursts"),
    "receive": ("flows", "samples"),
}


def run_json(run: dict[str, Any], files: Mapping[str, Entry]) -> str:
    """Returns the text of `run.json`.

    Args:
        run: What was run.
        files: What the files of the tables hold, by the name of the table.
    """
    content = manifest.sealed(run | {"files": manifest.described(files)})
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_run(folder: Path) -> dict[str, Any]:
    """Returns what was run, from the `run.json` of a result folder.

    Raises:
        ValueError: The file is missing, damaged or of a newer version; one line.
    """
    return read(folder)[0]


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Entry]]:
    """Returns what was run and what the files of the tables hold; errors as of `read_run`."""
    place = f"{folder}/run.json"
    try:
        run = json.loads(read_file(folder / "run.json", RESULT_JSON_BYTES))
    except OSError:
        raise InputError("file", f"{folder}", _no_result(folder)) from None
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise InputError("file", place, f"is damaged; {run_again({})}") from None
    if not isinstance(run, dict) or run.get("schema") != SCHEMA:
        raise InputError(
            "file",
            place,
            f"has another format than {SCHEMA}; run again with this version of ackclock",
        )
    problem = _problem(run)
    if problem:
        raise InputError("file", place, f"{problem}; {run_again(run)}")
    content = manifest.unsealed(run)
    if content is None:
        raise InputError("file", place, f"was changed or is damaged; {run_again(run)}")
    return content, manifest.entries(content.pop("files"))


def _problem(run: dict[str, Any]) -> str:
    """Returns what is wrong with the form of a run; empty if nothing is."""
    lacking = sorted((_RUN | MORE.get(str(run.get("method")), frozenset())) - run.keys())
    if lacking:
        return f"has no {', '.join(lacking)}"
    odd = [name for name, kind in _KINDS.items() if not isinstance(run[name], kind)]
    if odd:
        return f"has a damaged {odd[0]}"
    if not run["points"]:
        return "has no points"
    if run["method"] not in TABLES:
        return f'has an unknown method "{run["method"]}"'
    for number, point in enumerate(run["points"]):
        whole = isinstance(point, dict) and isinstance(point.get("assignments"), dict)
        if not whole or not isinstance(point.get("scenario", 0), dict | None):
            return f"has a damaged point {number}"
    return ""


def _no_result(folder: Path) -> str:
    """Returns why there is no result in a folder, and what to do."""
    if (folder / "sweep.json").is_file():
        return "holds a sweep; see ackclock sweep show and ackclock report"
    problem = "holds no run.json" if folder.exists() else "does not exist"
    return f"{problem}; choose a folder written by ackclock simulate, emulate or measure"


def run_again(run: dict[str, Any]) -> str:
    """Returns the remedy for a result that cannot be read."""
    methods = [name for name in TABLES if name == run.get("method")] or ["simulate", "emulate"]
    return f"run ackclock {' or '.join(methods)} again"
