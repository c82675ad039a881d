"""Progress on standard error, for whatever takes longer than two seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# What is over sooner than this needs no progress.
_PATIENCE_S = 2.0

# Between two lines where standard error is no terminal.
_QUIET_S = 10.0


@contextmanager
def progress(what: str) -> Iterator[Callable[[float], None]]:
    """Gives a function to be told the share done, in [0, 1]. Nothing is shown in the first two seconds."""
    started = time.monotonic()
    bar = None
    last = started

    def tell(share: float) -> None:
        nonlocal bar, last
        now = time.monotonic()
        if now - started < _PATIENCE_S:
            return
        left = (now - started) * (1 - share) / share if share > 0 else None
        if bar is None and sys.stderr.isatty():
            bar = _bar(what)
        if bar is not None:
            bar(share, left)
        elif now - last >= _QUIET_S:
            last = now
            print(f"{what}: {share:.0%}, {_words(left)} left", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if bar is not None:
            bar(None, None)


def _words(seconds: float | None) -> str:
    if seconds is None:
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _bar(what: str) -> Callable[[float | None, float | None], None]:
    """A bar on the terminal; told None, it goes away."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    shown = Progress(
        TextColumn(what), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]} left"),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = shown.add_task(what, total=1.0, left="unknown time")
    shown.start()

    def tell(share: float | None, left: float | None) -> None:
        if share is None:
            shown.stop()
        else:
            shown.update(task, completed=share, left=_words(left))

    return tell
