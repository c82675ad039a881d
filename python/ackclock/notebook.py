"""Parts that Jupyter shows: lines and a table for an object, progress while something runs.

Nothing here needs IPython, which is there if and only if a notebook runs.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from ackclock.table import Table

#: Takes the share done, or a mapping that has it as `fraction`; None if unknown.
Tell = Callable[[Any], None]

# Shorter work needs no progress; and the time between two updates.
_PATIENCE_S, _EVERY_S = 1.0, 0.2

# Rows that an object shows of its table.
_MOST_ROWS = 12

_RIGHT = "text-align:right;font-variant-numeric:tabular-nums"


def block(title: str, lines: Sequence[str], shown: Table | None = None) -> str:
    """Returns HTML: a title, lines below it, and at most twelve rows of a table without its title.

    Args:
        title: What the object is.
        lines: What there is to say of it; empty ones are left out.
        shown: The table; None for none.
    """
    parts = [f"<b>{escape(title)}</b>", *(escape(line) for line in lines if line)]
    text = f"<div>{'<br>'.join(parts)}</div>"
    if shown is None or not shown.rows:
        return text
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in shown.head)
    rows = "".join(
        f"<tr>{''.join(map(_cell, row, shown.numeric))}</tr>" for row in shown.texts[:_MOST_ROWS]
    )
    more = len(shown.rows) - _MOST_ROWS
    left = f"<div>{more} more rows</div>" if more > 0 else ""
    return f"{text}<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{left}"


def _cell(text: str, is_number: bool) -> str:
    style = f' style="{_RIGHT}"' if is_number else ""
    return f"<td{style}>{escape(text)}</td>"


@contextmanager
def progress(task: str, given: Tell | None) -> Iterator[Tell | None]:
    """Gives what takes the progress of some work.

    In a notebook it is a bar below the cell, which goes when the work ends. Elsewhere there is
    none.

    Args:
        task: The work.
        given: What the caller wants to take the progress instead.
    """
    display = _display() if given is None else None
    if display is None:
        yield given
        return
    started = last = time.monotonic()
    handle: Any = None

    def tell(now: Any) -> None:
        nonlocal handle, last
        moment = time.monotonic()
        if moment - started < _PATIENCE_S or moment - last < _EVERY_S:
            return
        last = moment
        share = now.get("fraction") if isinstance(now, Mapping) else now
        shown = _Shown(_bar(task, share, moment - started))
        if handle is None:
            handle = display(shown, display_id=True)
        else:
            handle.update(shown)

    try:
        yield tell
    finally:
        if handle is not None:
            handle.update(_Shown(""))


class _Shown:
    """A text of HTML that displays itself."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return ""


def _bar(task: str, share: float | None, lasted_s: float) -> str:
    value = "" if share is None else f' value="{share:.3f}"'
    done = "" if share is None else f" {share:.0%}"
    left = "" if not share else f", {lasted_s * (1 - share) / share:.0f} s left"
    return f"<progress{value}></progress> {escape(task)}{done}{left}"


def _display() -> Callable[..., Any] | None:
    """Returns IPython's function that displays an object, in a kernel; else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    shown: Callable[..., Any] = import_module("IPython.display").display
    return shown
