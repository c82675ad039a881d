"""The kinds of checks on a trace: a small vocabulary, each a record and a pure function.

A check either holds, fails, or cannot be decided because the trace lacks what it reads. Its finding
gives the numbers, and of a failure the first row that shows it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.evaluation.amounts import Amount, unit_of, variable, written
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.moments import Duration, Moment, Span, Visits
from ackclock.evaluation.trace import Trace, Visit


@dataclass(frozen=True)
class Finding:
    """The finding of a check.

    Attributes:
        holds: True or false; None if it cannot be decided.
        words: The numbers in words, or why it cannot be decided.
        value: The number that decides, in the base unit; NaN if there is none.
        unit: Its base unit.
        at_s: Time of the row that decides; NaN if there is none.
    """

    holds: bool | None
    words: str
    value: float = float("nan")
    unit: str = ""
    at_s: float = float("nan")

    @classmethod
    def undecided(cls, why: str) -> "Finding":
        """Makes a finding that decides nothing: the trace lacks what the check reads."""
        return cls(None, why)

    @classmethod
    def never(cls, words: str) -> "Finding":
        """Makes the finding of a check whose moment never came, which fails."""
        return cls(False, words)


Check = Callable[[Trace], Finding]

# Differences of times in seconds are right to this.
_ROUNDING_S = 1e-9
# Steps are compared up to this share of the congestion window: our choice.
_SMALL_STEP = 0.25


@dataclass(frozen=True)
class Kind:
    """A kind of check.

    Attributes:
        name: Name in a file.
        says: What it demands.
        fields: Its fields with their meanings.
        read: Reads its fields, all but `kind`.
    """

    name: str
    says: str
    fields: Mapping[str, str]
    read: Callable[[Fields], Check]


@dataclass(frozen=True)
class Limits:
    """A least and a largest amount, either of which may be missing.

    Attributes:
        least: The least amount.
        most: The largest amount.
    """

    least: Amount | None
    most: Amount | None

    @classmethod
    def read(cls, fields: Fields) -> "Limits":
        """Takes `least`, `most` and `equals`."""
        equals = Amount.of_field(fields, "equals")
        if equals is not None:
            return cls(equals, equals)
        return cls(Amount.of_field(fields, "least"), Amount.of_field(fields, "most"))

    def miss(self, values: NDArray[Any], trace: Trace, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Returns by how much values miss the limits; None if a limit is unknown.

        Zero or less is within. Differences below a millionth are rounding.
        """
        beyond = np.full(len(values), -np.inf)
        for limit, sign in ((self.least, -1.0), (self.most, 1.0)):
            if limit is None:
                continue
            bound = limit.values(trace)
            if bound is None:
                return None
            limits = bound[rows]
            # A bound that is infinite is met by what is infinite too.
            with np.errstate(invalid="ignore"):
                missing = sign * (values - limits) - 1e-6 * np.abs(
                    np.where(np.isinf(limits), 0, limits)
                )
            beyond = np.maximum(beyond, np.where(values == limits, -np.inf, missing))
        return beyond

    def in_words(self, trace: Trace, row: int, unit: str) -> str:
        """Returns the limits at a row, in words."""
        words = []
        equal = self.least is self.most
        for name, limit in (("least", self.least), ("most", None if equal else self.most)):
            bound = None if limit is None else limit.values(trace)
            if limit is not None and bound is not None:
                amount = written(float(bound[row]), unit)
                source = f" ({limit})" if limit.name else ""
                words.append(f"{'expected' if equal else f'at {name}'} {amount}{source}")
        return ", ".join(words)


def _bound(fields: Fields) -> Check:
    name, limits = variable(fields, "of"), Limits.read(fields)
    moment = Moment.read(fields.any("at"), fields.path_of("at")) if fields.has("at") else None
    span = Span.read(fields.any("in"), fields.path_of("in"))
    once = bool(fields.take("once", bool, "true or false", default=False))

    def check(trace: Trace) -> Finding:
        values = trace.values(name)
        if values is None:
            return Finding.undecided(f"the trace has no {name}")
        if moment is not None:
            rows = np.array(moment.rows(trace), int)
        else:
            spans = span.rows(trace)
            rows = np.concatenate([np.arange(*stretch) for stretch in spans] or [np.array([], int)])
        where = str(span if moment is None else moment)
        if not rows.size:
            return Finding.never(f"it never came {where}")
        rows = rows[~np.isnan(values[rows])]
        if not rows.size:
            return Finding.undecided(f"no value of {name} {where}")
        missing = limits.miss(values[rows], trace, rows)
        if missing is None:
            return Finding.undecided(f"the trace lacks what {name} is compared with")
        holds = bool((missing <= 0).any() if once else (missing <= 0).all())
        if once or holds:
            place = int(np.argmin(missing)) if once else int(np.argmax(missing))
        else:
            place = int(np.flatnonzero(missing > 0)[0])
        return _at_row(trace, name, int(rows[place]), holds, limits)

    return check


def _at_row(trace: Trace, name: str, row: int, holds: bool, limits: Limits) -> Finding:
    """Returns the finding that a row decides."""
    values = trace.values(name)
    value = float("nan") if values is None else float(values[row])
    unit, at_s = unit_of(name), float(trace.time_s[row])
    words = f"{name} {written(value, unit)} at {at_s:.3f} s in {trace.states[row]}"
    return Finding(holds, f"{words}; {limits.in_words(trace, row, unit)}", value, unit, at_s)


def _state(fields: Fields) -> Check:
    moment, allowed = Moment.read(fields.any("at"), fields.path_of("at")), fields.texts("is")

    def check(trace: Trace) -> Finding:
        rows = moment.rows(trace)
        if not rows:
            return Finding.never(f"it never came {moment}")
        wrong = [row for row in rows if str(trace.states[row]) not in allowed]
        row = wrong[0] if wrong else rows[0]
        at_s = moment.times_s(trace)[rows.index(row)]
        return Finding(not wrong, f"in {trace.states[row]} at {at_s:.3f} s", at_s=at_s)

    return check


def _next(fields: Fields) -> Check:
    visits, allowed = Visits.read(fields, "state"), fields.texts("is")
    may_stay = bool(fields.take("may_stay", bool, "true or false", default=False))

    def check(trace: Trace) -> Finding:
        within = visits.within(trace)
        ended = [visit for visit in within if visit.after]
        if not ended:
            stays = bool(within) and may_stay
            words = f"{visits.state} never ends" if within else f"{visits.state} never comes"
            return Finding(stays, words)
        wrong = next((visit for visit in ended if visit.after not in allowed), None)
        shown = wrong or ended[0]
        at_s = float(trace.time_s[shown.end])
        times = f", {len(ended)} of {len(ended)} times" if wrong is None else ""
        words = f"{shown.state} is followed by {shown.after} at {at_s:.3f} s{times}"
        return Finding(wrong is None, words, at_s=at_s)

    return check


def _visits(fields: Fields) -> Check:
    visits, span = Visits.read(fields, "state"), Span.read(fields.any("in"), fields.path_of("in"))
    least, most = fields.number("least", 0), fields.number("most", float("inf"))

    def check(trace: Trace) -> Finding:
        between = span.times_s(trace)
        if not between:
            return Finding.never(f"there is no time {span}")
        begins = [float(trace.time_s[visit.start]) for visit in visits.within(trace)]
        inside = [begin for begin in begins if any(low <= begin <= high for low, high in between)]
        words = f"{len(inside)} visit{'' if len(inside) == 1 else 's'} to {visits.state}"
        first = f", the first at {inside[0]:.3f} s" if inside else ""
        return Finding(
            least <= len(inside) <= most,
            words + first,
            float(len(inside)),
            "",
            inside[0] if inside else float("nan"),
        )

    return check


def _lasts(fields: Fields) -> Check:
    visits = Visits.read(fields, "state")
    least, most = Duration.of_field(fields, "least"), Duration.of_field(fields, "most")
    rounds = (fields.number("least_rounds", 0), fields.number("most_rounds", float("inf")))

    def length(trace: Trace, visit: Visit) -> tuple[float, float]:
        counted = trace.values("round_count")
        last = min(visit.end, len(trace.time_s) - 1)
        passed = np.nan if counted is None else counted[last] - counted[visit.start]
        return float(trace.time_s[last] - trace.time_s[visit.start]), float(passed)

    def check(trace: Trace) -> Finding:
        ended = [visit for visit in visits.within(trace) if visit.after]
        if not ended:
            return Finding.never(f"no visit to {visits.state} ended")
        round_trip = trace.path.round_trip_s
        longest = most.in_s(round_trip) or float("inf")
        lengths = [length(trace, visit) for visit in ended]
        counts_rounds = rounds != (0, float("inf"))
        if counts_rounds and any(np.isnan(passed) for _, passed in lengths):
            return Finding.undecided("the trace counts no round trips")
        fits = [
            least.in_s(round_trip) - _ROUNDING_S <= time <= longest + _ROUNDING_S
            and (not counts_rounds or rounds[0] <= passed <= rounds[1])
            for time, passed in lengths
        ]
        place = fits.index(False) if False in fits else 0
        time, passed = lengths[place]
        in_rounds = "" if np.isnan(passed) else f" and {passed:g} round trips"
        at_s = float(trace.time_s[ended[place].start])
        words = f"{visits.state} from {at_s:.3f} s on lasts {written(time, 's')}{in_rounds}"
        return Finding(all(fits), words, time, "s", at_s)

    return check


def _apart(fields: Fields) -> Check:
    state = fields.text("state")
    least, most = Duration.of_field(fields, "least"), Duration.of_field(fields, "most")

    def check(trace: Trace) -> Finding:
        visits = list(trace.visits_to(state))
        gaps = [
            (float(trace.time_s[later.start] - trace.time_s[earlier.end - 1]), later)
            for earlier, later in pairwise(visits)
        ]
        if not gaps:
            return Finding.never(f"there are fewer than two visits to {state}")
        low = least.in_s(trace.path.round_trip_s)
        high = most.in_s(trace.path.round_trip_s) or float("inf")
        wrong = [gap for gap in gaps if not low - _ROUNDING_S <= gap[0] <= high + _ROUNDING_S]
        gap, later = wrong[0] if wrong else min(gaps, key=lambda pair: pair[0])
        at_s = float(trace.time_s[later.start])
        words = f"{written(gap, 's')} without {state} before {at_s:.3f} s"
        return Finding(not wrong, words, gap, "s", at_s)

    return check


def _goodput(fields: Fields) -> Check:
    span, limits = Span.read(fields.any("in"), fields.path_of("in")), Limits.read(fields)

    def check(trace: Trace) -> Finding:
        between, delivered = span.times_s(trace), trace.values("delivered")
        if delivered is None:
            return Finding.undecided("the trace has no delivered")
        if not between:
            return Finding.never(f"there is no time {span}")
        begin, end = between[0]
        first, last = trace.row_at(begin), trace.row_at(end)
        if end <= begin:
            return Finding.never(f"there is no time {span}")
        rate = 8 * float(delivered[last] - delivered[first]) / (end - begin)
        missing = limits.miss(np.array([rate]), trace, np.array([last]))
        if missing is None:
            return Finding.undecided("the trace lacks what goodput is compared with")
        words = f"goodput {written(rate, 'bit/s')} from {begin:.3f} s to {end:.3f} s"
        shown = f"{words}; {limits.in_words(trace, last, 'bit/s')}"
        return Finding(bool(missing[0] <= 0), shown, rate, "bit/s", begin)

    return check


def _loss(fields: Fields) -> Check:
    span, limits = Span.read(fields.any("in"), fields.path_of("in")), Limits.read(fields)

    def check(trace: Trace) -> Finding:
        rows = span.rows(trace)
        lost, delivered = trace.values("lost"), trace.values("delivered")
        if lost is None or delivered is None:
            return Finding.undecided("the trace has no lost or no delivered")
        if not rows:
            return Finding.never(f"there is no time {span}")
        first, last = rows[0][0], min(rows[-1][1], len(trace.time_s)) - 1
        away = float(lost[last] - lost[first])
        sent = away + float(delivered[last] - delivered[first])
        share = away / sent if sent else 0.0
        missing = limits.miss(np.array([share]), trace, np.array([last]))
        if missing is None:
            return Finding.undecided("the trace lacks what losses are compared with")
        words = f"{100 * share:.2f} % of the payload sent is deemed lost {span}"
        return Finding(bool(missing[0] <= 0), words, share, "", float(trace.time_s[first]))

    return check


def _reaches(fields: Fields) -> Check:
    name, limits = variable(fields, "of"), Limits.read(fields)
    since = Moment.read(fields.any("since"), fields.path_of("since"))
    within = Duration.of_field(fields, "within")

    def check(trace: Trace) -> Finding:
        values, begins = trace.values(name), since.times_s(trace)
        if values is None:
            return Finding.undecided(f"the trace has no {name}")
        if not begins:
            return Finding.never(f"it never came {since}")
        end = begins[0] + within.in_s(trace.path.round_trip_s)
        rows = np.flatnonzero((trace.time_s >= begins[0]) & ~np.isnan(values))
        missing = limits.miss(values[rows], trace, rows)
        if missing is None or not rows.size:
            return Finding.undecided(f"no value of {name} {since}")
        there = rows[missing <= 0]
        if not there.size:
            row = int(rows[np.argmin(missing)])
            return _at_row(trace, name, row, False, limits)
        took = float(trace.time_s[there[0]]) - begins[0]
        finding = _at_row(trace, name, int(there[0]), begins[0] + took <= end, limits)
        words = f"after {written(took, 's')}, {finding.words}"
        return Finding(finding.holds, words, took, "s", finding.at_s)

    return check


def _happens(fields: Fields) -> Check:
    event, span = fields.text("event"), Span.read(fields.any("in"), fields.path_of("in"))
    least, most = fields.number("least", 0), fields.number("most", float("inf"))

    def check(trace: Trace) -> Finding:
        between = span.times_s(trace)
        if not between:
            return Finding.never(f"there is no time {span}")
        times = trace.time_s[trace.events == event]
        inside = [
            time_s
            for time_s in times.tolist()
            if any(low <= time_s <= high for low, high in between)
        ]
        first = f", the first at {inside[0]:.3f} s" if inside else ""
        words = f"{len(inside)} times “{event}”{first}"
        at_s = inside[0] if inside else float("nan")
        return Finding(least <= len(inside) <= most, words, float(len(inside)), "", at_s)

    return check


def _steps(
    values: NDArray[Any], counted: NDArray[Any], cwnd: NDArray[Any], visit: Visit
) -> NDArray[Any]:
    """Returns the growth of a variable by round trip of a visit, up to a share of the window.

    It begins with the first round trip that grows, and ends before the first that does not.
    """
    rows = np.arange(visit.start, visit.end)
    ends = rows[np.flatnonzero(np.diff(counted[rows]) > 0)]
    steps = np.diff(values[ends])
    grows = np.flatnonzero(np.isfinite(steps) & (steps > 0))
    if not grows.size:
        return np.array([])
    steps, ends = steps[grows[0] :], ends[grows[0] :]
    counts = np.isfinite(steps) & (steps > 0)
    # Larger steps are limited by what a round trip acknowledges.
    counts[1:] &= steps[:-1] <= _SMALL_STEP * cwnd[ends[1:-1]]
    return np.asarray(steps[: len(steps) if counts.all() else int(np.argmin(counts))])


def _doubles(fields: Fields) -> Check:
    name, visits = variable(fields, "of"), Visits.read(fields, "state")
    least_rounds = fields.whole("least_rounds", 3)

    def check(trace: Trace) -> Finding:
        values, counted, cwnd = (trace.values(name) for name in (name, "round_count", "cwnd"))
        if values is None or counted is None or cwnd is None:
            return Finding.undecided(f"the trace has no {name}, or counts no round trips")
        every = [_steps(values, counted, cwnd, visit) for visit in visits.within(trace)]
        best = max(every, key=len, default=np.array([]))
        segment = trace.path.segment_bytes
        shown = ", ".join(f"{step / segment:.1f}" for step in best)
        if len(best) < least_rounds:
            return Finding.undecided(
                f"{name} grew in {len(best)} round trips of one visit to {visits.state}, "
                f"of {least_rounds} that are needed ({shown or 'none'} segments)"
            )
        ratios = best[1:] / best[:-1]
        middle = float(np.median(ratios))
        words = f"steps of {name} by round trip: {shown} segments; median ratio {middle:.2f}"
        return Finding(1.5 <= middle <= 2.5, words, middle)

    return check


_LIMITS = {
    "least": "least amount",
    "most": "largest amount",
    "equals": "the amount, in place of both",
}
_VISITS = {
    "state": "the state",
    "from": "only visits right after this state",
    "nth": "only this visit, from 1",
    "since": "only visits that begin at this event or time, or later",
}
_IN = {"in": "the span; by default the whole run"}

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "bound",
            "A variable is within limits: at a moment, or in all rows of a span.",
            {
                "of": "the variable",
                "at": "the moment",
                **_IN,
                **_LIMITS,
                "once": "true if one row of the span suffices",
            },
            _bound,
        ),
        Kind(
            "state",
            "The control is in one of these states at a moment.",
            {"at": "the moment", "is": "the states"},
            _state,
        ),
        Kind(
            "next",
            "A state is always followed by one of these.",
            {
                **_VISITS,
                "is": "the states",
                "may_stay": "true if a visit that does not end is as good",
            },
            _next,
        ),
        Kind(
            "visits",
            "A state is visited so many times in a span.",
            {**_VISITS, **_IN, "least": "least number", "most": "largest number"},
            _visits,
        ),
        Kind(
            "lasts",
            "Every visit to a state that ended lasted so long.",
            {
                **_VISITS,
                "least": "least time",
                "most": "longest time",
                "least_rounds": "least number of round trips",
                "most_rounds": "largest number of round trips",
            },
            _lasts,
        ),
        Kind(
            "apart",
            "From the end of a visit to the next one, so much time passes.",
            {"state": "the state", "least": "least time", "most": "longest time"},
            _apart,
        ),
        Kind(
            "goodput",
            "Payload delivered per second in a span is within limits.",
            {**_IN, **_LIMITS},
            _goodput,
        ),
        Kind(
            "loss",
            "The share of payload sent in a span that is deemed lost is within limits.",
            {**_IN, **_LIMITS},
            _loss,
        ),
        Kind(
            "reaches",
            "A variable comes within limits in time.",
            {
                "of": "the variable",
                "since": "the moment from which on",
                "within": "the time that it may take",
                **_LIMITS,
            },
            _reaches,
        ),
        Kind(
            "happens",
            "An event of the sender occurs so many times in a span.",
            {
                "event": "`loss`, `timeout`, `undo` …",
                **_IN,
                "least": "least number",
                "most": "largest number",
            },
            _happens,
        ),
        Kind(
            "doubles",
            "In some visit to a state, a variable grows by steps that double each round trip, up "
            "to a quarter of the congestion window.",
            {"of": "the variable", **_VISITS, "least_rounds": "least number of such steps"},
            _doubles,
        ),
    )
}
