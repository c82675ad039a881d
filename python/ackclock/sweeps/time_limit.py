"""A limit on the time that a process may take: native code cannot be interrupted otherwise."""

import os
import threading
from collections.abc import Callable
from typing import Self

#: Exit code of a process that ended itself because it took too long.
TOO_LONG = 86


class TimeLimit:
    """Ends the process if the body of its `with` statement takes too long."""

    def __init__(self, seconds: float, last_words: Callable[[], None]) -> None:
        """Begins to count with the `with` statement.

        Args:
            seconds: Time that the body may take.
            last_words: Called before the process ends, from another thread.
        """
        self._last_words = last_words
        self._timer = self._new_timer(seconds)
        self._deciding = threading.Lock()  # Kept by a process that ends.

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._deciding:
            self._timer.cancel()

    def count_anew(self, seconds: float) -> None:
        """Allows the body so much time from now on, whatever was left."""
        with self._deciding:
            self._timer.cancel()
            self._timer = self._new_timer(seconds)
            self._timer.start()

    def _new_timer(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, lambda: self._end(timer))
        timer.daemon = True
        return timer

    def _end(self, timer: threading.Timer) -> None:
        with self._deciding:
            if timer.finished.is_set():  # cancelled meanwhile
                return
            try:
                self._last_words()
            finally:
                os._exit(TOO_LONG)
