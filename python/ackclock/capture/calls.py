"""The twin of calls: what a kernel asked of a control, asked again of the same program.

An emulation records every call of a program in the kernel, with what went in and what came out.
The engine gives the calls to the same object and compares the answers bit by bit.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import InputError

__all__ = ["Comparison", "recorded", "twin"]

# Beside each record lie the object that was loaded and a summary.
_CALLS, _OBJECT, _SUMMARY = ".calls", ".bpf.o", ".json"


@dataclass(frozen=True)
class Comparison:
    """The calls of a control in one run.

    Attributes:
        record: Name of the record in the result.
        control: Name of the control.
        missed: Calls that the kernel had no room to record; the record then has gaps.
        found: Counts: `calls`, `equal` (answered alike), `connections`, `moved` (calls that found
            another window than the one before had left), `skipped` (calls of connections whose
            first call is not recorded), and `kinds` by name. `first`: None, or the first call that
            differs, with `call`, ours (`window`, `result`), and the ten calls `before` it.
    """

    record: str
    control: str
    missed: int
    found: dict[str, Any]

    @property
    def differs(self) -> bool:
        """True if a call was answered otherwise."""
        return self.found["first"] is not None


def recorded(folder: str | Path) -> list[Path]:
    """Returns the records of calls in a result; none if its controls are not programs."""
    return sorted((Path(folder) / "record").glob(f"*{_CALLS}"))


def twin(folder: str | Path) -> list[Comparison]:
    """Gives the recorded calls of a result to their programs, and compares the answers.

    Raises:
        InputError: A record or what lies beside it cannot be read.
    """
    return [_compare(record) for record in recorded(folder)]


def _compare(record: Path) -> Comparison:
    stem = str(record).removesuffix(_CALLS)
    try:
        summary = json.loads(Path(stem + _SUMMARY).read_text("utf-8"))
        control = Path(stem + _OBJECT).read_bytes()
        calls = record.read_bytes()
    except FileNotFoundError as error:
        words = "is missing; the emulation did not end well, emulate again"
        raise InputError("file", f"{error.filename}", words) from None
    except ValueError:
        raise InputError("file", f"{stem}{_SUMMARY}", "is not JSON; emulate again") from None
    parameters = {name: int(value) for name, value in (summary["parameters"] or {}).items()}
    try:
        found = engine.twin_calls(control, parameters, calls)
    except ValueError as error:
        subject, _, words = str(error).partition(" ")
        at = Path(stem + (_OBJECT if subject == "object" else _CALLS))
        raise InputError("file", f"{at}", words) from None
    return Comparison(record.name, str(summary["control"]), int(summary["missed"]), found)
