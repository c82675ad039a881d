"""Progress on standard error, for anything that takes longer than two seconds."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from ackclock.cli.output import say, visible

# Shorter work needs no progress.
_PATIENCE_S = 2.0

# Time between two lines if standard error is not a terminal.
_QUIET_S = 10.0


class Tell(Protocol):
    """Reports how far the work is."""

    def __call__(self, share: float | None, now: str = "") -> None:
        """Shows the share done, in [0, 1] or None if unknown, and a few words about the state."""


@contextmanager
def progress(task: str, duration_s: float | None = None) -> Iterator[Tell]:
    """Returns a context manager whose value takes the share done.

    Nothing is shown in the first two seconds.

    Args:
        task: The work.
        duration_s: Its duration, if known beforehand. Progress is then shown at once if it exceeds
            ten seconds.
    """
    started = time.monotonic()
    announced = duration_s is not None and duration_s > _QUIET_S
    bar = None
    last = -math.inf if announced else started

    def tell(share: float | None, now: str = "") -> None:
        nonlocal bar, last
        moment = time.monotonic()
        if moment - started < _PATIENCE_S and not announced:
            return
        words = ", ".join(filter(None, (now, _left(share, moment - started, duration_s))))
        if bar is None and sys.stderr.isatty():
            bar = _bar(visible(task))
        if bar is not None:
            bar(share, visible(words))
        elif moment - last >= _QUIET_S:
            last = moment
            done = "" if share is None else f"{share:.0%}, "
            say(f"{task}: {done}{words}", err=True)

    try:
        yield tell
    finally:
        if bar is not None:
            bar(None, None)


def _left(share: float | None, passed_s: float, duration_s: float | None) -> str:
    """Returns how much time is left; empty if the amount of work is unknown."""
    if share is None:
        return ""
    if duration_s is not None:
        return f"{_words(duration_s * (1 - share))} left"
    return f"{_words(passed_s * (1 - share) / share if share > 0 else None)} left"


def _words(seconds: float | None) -> str:
    if seconds is None:
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _bar(words: str) -> Callable[[float | None, str | None], None]:
    """Returns a function that draws a bar on the terminal with words behind it.

    The bar swings if the share is unknown. Without words it disappears.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    shown = Progress(
        TextColumn(words), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[words]}"),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = shown.add_task(words, total=1.0, words="")
    shown.start()

    def tell(share: float | None, words: str | None) -> None:
        if words is None:
            shown.stop()
        elif share is None:
            shown.update(task, total=None, words=words)
        else:
            shown.update(task, completed=share, words=words)

    return tell
