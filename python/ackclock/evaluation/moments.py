"""Moments and spans of a trace, as checks name them.

A moment is a time or a table. A time is `"10 s"`, or `"3 RTT"` in round trips of the path. A table
names the `entry` to a state, the `exit` from it (its last row), or the row after it (`left`). Or it
names an `event` of the set-up, or what `happens` at the sender: `undo`. `start` and `end` are
events of every run. A span is the visits to a state, or lies between two moments.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ackclock import units
from ackclock.errors import InputError
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.trace import Trace, Visit

#: Rows of a trace: from the first to before the second.
Rows = tuple[int, int]

_ROUND_TRIPS = re.compile(r"\s*([\d.]+)\s*RTT\s*")


@dataclass(frozen=True)
class Duration:
    """A time, part of which may be in round trips of the path.

    Attributes:
        seconds: In seconds.
        round_trips: In round trips, besides.
        written: As written.
    """

    seconds: float = 0.0
    round_trips: float = 0.0
    written: str = "0 s"

    @classmethod
    def read(cls, written: Any, path: str) -> "Duration":
        """Reads `"10 s"` or `"3 RTT"`."""
        if isinstance(written, str):
            match = _ROUND_TRIPS.fullmatch(written)
            if match:
                return cls(0.0, float(match[1]), written)
            try:
                return cls(units.seconds(written), 0.0, written)
            except InputError as error:
                raise error.for_field(path) from None
        raise InputError("wrong-type", path, f'{written!r} is not a time; for example "10 s"')

    @classmethod
    def of_field(cls, fields: Fields, name: str) -> "Duration":
        """Takes a field; no time if it is not given."""
        written = fields.any(name)
        return cls() if written is None else cls.read(written, fields.path_of(name))

    def in_s(self, round_trip_s: float) -> float:
        """Returns it in seconds on a path."""
        return self.seconds + self.round_trips * round_trip_s


#: No time.
NO_TIME = Duration()


@dataclass(frozen=True)
class Visits:
    """Some of the visits to a state.

    Attributes:
        state: The state.
        before: Only visits right after this one; empty for all.
        nth: Only the visit with this number, from 1; 0 for all.
        since: Only visits that begin at this event or time, or later; None for all.
    """

    state: str
    before: str = ""
    nth: int = 0
    since: str | Duration | None = None

    @classmethod
    def read(cls, fields: Fields, name: str) -> "Visits":
        """Takes the fields: the state by `name`, `from`, `nth` and `since`."""
        return cls(
            fields.text(name),
            fields.text("from", ""),
            fields.whole("nth", 0),
            _since(fields),
        )

    def within(self, trace: Trace) -> list[Visit]:
        """Returns the visits of a trace."""
        earliest = _since_s(self.since, trace)
        visits = [
            visit
            for visit in trace.visits_to(self.state)
            if self.before in ("", visit.before) and trace.time_s[visit.start] >= earliest
        ]
        return visits[self.nth - 1 : self.nth] if self.nth else visits

    def __str__(self) -> str:
        which = f"visit {self.nth} to {self.state}" if self.nth else self.state
        after = f" after {self.before}" if self.before else ""
        return which + after


def _since(fields: Fields) -> str | Duration | None:
    """Takes a time, or the name of an event."""
    written = fields.any("since")
    if written is None or (isinstance(written, str) and written[:1].isalpha()):
        return written
    return Duration.read(written, fields.path_of("since"))


def _since_s(since: str | Duration | None, trace: Trace) -> float:
    """Returns the time of an event or a time; never, if the event did not come."""
    if since is None:
        return 0.0
    if isinstance(since, Duration):
        return since.in_s(trace.path.round_trip_s)
    return trace.path.events.get(since, math.inf)


# Kinds of moments that a table may name.
_MOMENTS = ("entry", "exit", "left", "event", "happens")


@dataclass(frozen=True)
class Moment:
    """One moment, or one at each visit to a state.

    Attributes:
        kind: `time`, `entry`, `exit`, `left`, `event` or `happens`.
        visits: The visits whose beginning or end it is.
        event: Name of the event, of the set-up or of the sender.
        since: An event of the sender counts from this event or time on; None for all.
        plus: Time since then; for `time`, since the start of the run.
    """

    kind: str
    visits: Visits | None = None
    event: str = ""
    since: str | Duration | None = None
    plus: Duration = NO_TIME

    @classmethod
    def read(cls, tree: Any, path: str) -> "Moment":
        """Reads a time or a table."""
        if isinstance(tree, str):
            return cls("time", plus=Duration.read(tree, path))
        fields = Fields(tree, path)
        kinds = [kind for kind in _MOMENTS if fields.has(kind)]
        if len(kinds) != 1:
            choices = f"{', '.join(_MOMENTS[:-1])} and {_MOMENTS[-1]}"
            raise InputError("missing", path, f"names no moment; give one of {choices}")
        (kind,) = kinds
        if kind in ("event", "happens"):
            event, since = fields.text(kind), _since(fields)
            moment = cls(kind, None, event, since, Duration.of_field(fields, "plus"))
        else:
            visits = Visits.read(fields, kind)
            moment = cls(kind, visits, plus=Duration.of_field(fields, "plus"))
        fields.done()
        return moment

    def times_s(self, trace: Trace) -> list[float]:
        """Returns its times in a trace; none if it never came."""
        plus = self.plus.in_s(trace.path.round_trip_s)
        if self.kind == "time":
            return [plus]
        if self.kind == "event":
            events = trace.path.events
            return [events[self.event] + plus] if self.event in events else []
        return [float(trace.time_s[row]) + plus for row in self._rows(trace)]

    def rows(self, trace: Trace) -> list[int]:
        """Returns its rows in a trace: the last at or before each time."""
        if self.kind not in ("time", "event") and self.plus == NO_TIME:
            return self._rows(trace)
        return [trace.row_at(time_s) for time_s in self.times_s(trace)]

    def _rows(self, trace: Trace) -> list[int]:
        """Returns the rows of an event of the sender, or those where visits begin or end."""
        if self.visits is None:
            begin_s = _since_s(self.since, trace)
            rows = np.flatnonzero((trace.events == self.event) & (trace.time_s >= begin_s))
            return [int(row) for row in rows[:1]]
        visits = self.visits.within(trace)
        if self.kind == "entry":
            return [visit.start for visit in visits]
        later = 0 if self.kind == "left" else -1
        return [visit.end + later for visit in visits if visit.after]

    def __str__(self) -> str:
        plus = "" if self.plus == NO_TIME else f" plus {self.plus.written}"
        match self.kind:
            case "time":
                return f"at {self.plus.written}"
            case "event":
                return f"at the event “{self.event}”{plus}"
            case "happens":
                return f"at the first “{self.event}” of the sender{plus}"
            case "left":
                return f"after {self.visits}{plus}"
        return f"at the {self.kind} of {self.visits}{plus}"


@dataclass(frozen=True)
class Span:
    """The visits to a state, or the time between two moments; by default the whole run.

    Attributes:
        visits: The visits, if it is those.
        begin: The first moment, if it is a time.
        end: The last moment.
    """

    visits: Visits | None = None
    begin: Moment | None = None
    end: Moment | None = None

    @classmethod
    def read(cls, tree: Any, path: str) -> "Span":
        """Reads a table with `state`, or with `begin` and `end`."""
        if tree is None:
            return cls()
        fields = Fields(tree, path)
        if fields.has("state"):
            span = cls(Visits.read(fields, "state"))
        else:
            begin, end = (
                Moment.read(fields.any(name), fields.path_of(name)) if fields.has(name) else None
                for name in ("begin", "end")
            )
            span = cls(None, begin, end)
        fields.done()
        return span

    def rows(self, trace: Trace) -> list[Rows]:
        """Returns its rows in a trace; none if it never came."""
        if self.visits is not None:
            return [(visit.start, visit.end) for visit in self.visits.within(trace)]
        return [(trace.row_at(begin), trace.row_at(end) + 1) for begin, end in self._between(trace)]

    def times_s(self, trace: Trace) -> list[tuple[float, float]]:
        """Returns its beginnings and ends in a trace."""
        if self.visits is None:
            return list(self._between(trace))
        last = len(trace.time_s) - 1
        return [
            (float(trace.time_s[start]), float(trace.time_s[min(end, last)]))
            for start, end in self.rows(trace)
        ]

    def _between(self, trace: Trace) -> Iterator[tuple[float, float]]:
        begins = [0.0] if self.begin is None else self.begin.times_s(trace)
        last = trace.path.events["end"]
        for begin in begins:
            ends = [last] if self.end is None else self.end.times_s(trace)
            later = [end for end in ends if end >= begin]
            if later:
                yield begin, later[0]

    def __str__(self) -> str:
        if self.visits is not None:
            return f"in {self.visits}"
        begin = "the start" if self.begin is None else str(self.begin).removeprefix("at ")
        end = "the end" if self.end is None else str(self.end).removeprefix("at ")
        return f"from {begin} to {end}"
