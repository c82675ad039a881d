#!/usr/bin/env python3
"""Measures transfers of Linux of all kinds, and compares their limits with the kernel's words.

Takes ten minutes of real time, as root, and writes a table of docs/notes/causes-of-linux.md. The
machine should be quiet. With a folder as argument, keeps the captures there.

    .venv/bin/python benches/causes_of_linux.py
    .venv/bin/python benches/causes_of_linux.py out/causes
"""

import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import section

sys.path.insert(0, str(section.ROOT))

from tests.measure.transfers import (
    EMULATED,
    TRANSFERS,
    captured,
    differences,
    is_first,
)

PAGE = "docs/notes/causes-of-linux.md"

#: Largest difference of a share from the kernel's, beyond what is said to be unknown.
WITHIN = 0.1

_SHARES = ("receive_window", "sender_buffer", "application", "network")


def main() -> None:
    """Runs all transfers and writes the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        lines, off, wrong = [_HEAD, _RULE], 0, 0
        for number, name in enumerate([*TRANSFERS, *EMULATED]):
            place = folder / str(number)
            place.mkdir(parents=True, exist_ok=True)
            theirs, row, ours = captured(name, place)
            difference = max(differences(theirs, ours).values())
            off += difference > WITHIN
            wrong += not is_first(row["limit"], theirs)
            lines.append(_line(name, theirs, ours, row, difference))
            print(lines[-1], flush=True)
    count = len(lines) - 2
    summary = (
        f"Of {count} transfers, {count - off} have each share within {100 * WITHIN:.0f} points of "
        f"the kernel's or said to be unknown, and {count - wrong} have the right first cause or "
        "none."
    )
    section.write(PAGE, "causes", "\n".join([textwrap.fill(summary, 100), "", *lines]))


_HEAD = (
    "| transfer | kernel: window, buffer, application, network | ours, then unknown | "
    "largest difference | first cause |"
)
_RULE = "|---|---|---|---|---|"


def _line(
    name: str,
    theirs: dict[str, float],
    ours: dict[str, float],
    row: dict[str, Any],
    difference: float,
) -> str:
    kernel = ", ".join(f"{100 * theirs[share]:.0f}" for share in _SHARES)
    measured = ", ".join(f"{100 * ours[share]:.0f}" for share in (*_SHARES, "unknown"))
    limit = row["limit"].replace("_", " ")
    first = f"{row['cause']} ({limit})" if row["cause"] else limit
    return f"| {name} | {kernel} | {measured} | {100 * difference:.0f} | {first} |"


if __name__ == "__main__":
    main()
