"""Rate estimators in plain Python: a reading of the published equations, independent of the engine.

Times are integer nanoseconds, rates bytes per second. A trace is a list of `Ack`. Every estimator
is a function from the trace to the estimate after each ACK. None forgets anything, so they are slow
and short. Where the last digit of a floating-point number decides a branch, the estimate is NaN:
two correct programs may differ.

Sources:

* Mascolo and others (Mobicom 2001) for the counting of delivered data and BE;
* Wang and others (ISCC 2002) for RE and CRB;
* Wang and others (ICNP 2002), equations 1 to 6, for ABSE;
* Mascolo and others (2004) for Westwood+;
* the module tcp_westwood of Linux for its integers;
* the Westwood module of ns-2 for the handling of silence.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Ack(NamedTuple):
    """One ACK: time, number without wrap-around, and the sender's round-trip times and window."""

    time: int
    number: int
    rtt: int | None
    srtt: int | None
    cwnd: int
    delivered: int | None = None


def s(nanoseconds: int) -> float:
    return nanoseconds / 1e9


def in_order(trace: list[Ack]) -> Iterator[tuple[int, Ack, int | None]]:
    """Yields row, ACK and advance, None for the first; old ACKs are left out."""
    last = None
    for row, ack in enumerate(trace):
        if last is None or ack.number >= last:
            yield row, ack, None if last is None else ack.number - last
            last = ack.number


class AckedCount:
    """Data delivered by an ACK, by duplicate and cumulative ACKs."""

    def __init__(self, mss: int) -> None:
        self.mss, self.accounted = mss, 0

    def __call__(self, cumul: int) -> int:
        if cumul == 0:
            self.accounted += self.mss
            cumul = self.mss
        elif cumul > self.mss:
            if self.accounted >= cumul:
                self.accounted -= cumul
                cumul = self.mss
            else:
                cumul -= self.accounted
                self.accounted = 0
        return cumul


@dataclass
class Moment:
    """All ACKs of one instant so far: the data they deliver, and the last of them."""

    time: int
    bytes: int
    ack: Ack


def moments(
    trace: list[Ack], mss: int, sack: bool = False
) -> Iterator[tuple[int, list[Moment], int | None]]:
    """Yields after each ACK its row, all moments so far, and the least round-trip time.

    The first ACK delivers nothing.
    """
    count, seen, least = AckedCount(mss), [], None
    for row, ack, cumul in in_order(trace):
        if ack.rtt is not None:
            least = ack.rtt if least is None else min(least, ack.rtt)
        delivered = 0
        if cumul is not None:
            delivered = count(cumul)
            if sack:
                delivered = cumul if ack.delivered is None else ack.delivered
        if seen and seen[-1].time == ack.time:
            seen[-1] = Moment(ack.time, seen[-1].bytes + delivered, ack)
        else:
            seen.append(Moment(ack.time, delivered, ack))
        yield row, seen, least


def _rows(trace: list[Ack], by_row: dict[int, float]) -> list[float]:
    """Returns a rate for each row; an old ACK changes nothing."""
    rates, rate = [], 0.0
    for row in range(len(trace)):
        rate = by_row.get(row, rate)
        rates.append(rate)
    return rates


@dataclass
class Filter:
    """The low-pass filter of BE and RE: its state, and a step between two moments.

    A step includes the handling of silence.
    """

    kind: str = "tustin"
    tau: float = 0.5
    m: int = 2
    shortest: float = 0.010
    value: float = 0.0
    last: float = 0.0

    def step(self, silence: float, sample: Callable[[float], float]) -> "Filter":
        new = Filter(self.kind, self.tau, self.m, self.shortest, self.value, self.last)
        rest = silence
        if self.kind == "tustin":
            part = self.tau / self.m
            n = math.floor(silence / part)
            rest = silence - n * part
            if n > 0 and rest < self.shortest:
                n, rest = n - 1, part
            for _ in range(n):
                new._feed(0.0, part)
        new._feed(sample(rest), rest)
        return new

    def _feed(self, b: float, step: float) -> None:
        if self.kind == "tustin":
            share = (2 * self.tau - step) / (2 * self.tau + step)
            self.value = share * self.value + step * (b + self.last) / (2 * self.tau + step)
        elif self.kind == "ns2_type_0":
            self.value = 0.9 * self.value + 0.1 * b
        else:
            kept, whole = {"ns2_type_1": (19, 21), "ns2_type_2": (29, 31)}[self.kind]
            self.value = kept / whole * self.value + (b + self.last) / whole
        self.last = b


def _filtered(
    trace: list[Ack],
    mss: int,
    low_pass: Filter,
    sample: Callable[[list[Moment], float], float | None],
    sack: bool,
) -> list[float]:
    by_row: dict[int, float] = {}
    # The filter after the previous moment, and after the present one.
    before = after = low_pass
    present = None
    for row, seen, _ in moments(trace, mss, sack):
        now = seen[-1].time
        if present is None:
            present = now
        if now > present:
            before, present = after, now
        if len(seen) > 1 and sample(seen, 1.0) is not None:
            after = before.step(s(now - seen[-2].time), lambda rest, seen=seen: sample(seen, rest))
        by_row[row] = after.value
    return _rows(trace, by_row)


def be(trace: list[Ack], mss: int, *, sack: bool = False, **low_pass: object) -> list[float]:
    return _filtered(trace, mss, Filter(**low_pass), lambda seen, rest: seen[-1].bytes / rest, sack)


def re(
    trace: list[Ack], mss: int, *, interval: int | None = None, **low_pass: object
) -> list[float]:
    def sample(seen: list[Moment], _rest: float) -> float | None:
        span = seen[-1].ack.srtt if interval is None else interval
        if not span:
            return None
        return sum(moment.bytes for moment in seen if moment.time > seen[-1].time - span) / s(span)

    return _filtered(trace, mss, Filter(**low_pass), sample, False)


def crb(trace: list[Ack], mss: int, *, theta: float = 1.4, compared: str = "re") -> list[float]:
    by_be, by_re, by_row = be(trace, mss), re(trace, mss), {}
    for row, seen, least in moments(trace, mss):
        rate = {"be": by_be, "re": by_re}[compared][row]
        cwnd, fits = seen[-1].ack.cwnd, theta * rate * s(least or 0)
        congested = least is not None and cwnd > fits
        by_row[row] = math.nan if math.isclose(cwnd, fits) else (by_re if congested else by_be)[row]
    return _rows(trace, by_row)


class TieError(ArithmeticError):
    """Raised if a time lies between two nanoseconds, so that rounding decides."""


@dataclass
class Abse:
    """ABSE's switches, A to E of our table of readings, and its state."""

    compared: str = "throughput"
    edge: str = "aligned"
    sampling: str = "adaptive"
    tau: float | None = None
    horizon: int = 10
    step: str = "ack_interval"
    round_trip: str = "smoothed"
    beta: float = 0.6
    stretch: float = 10.0

    def __call__(self, trace: list[Ack], mss: int) -> list[float]:
        by_row: dict[int, float] = {}
        state, before, present, tied = _State(0.0, 0.0, 0.0, 0.0, ()), None, None, False
        for row, seen, least in moments(trace, mss):
            now = seen[-1].time
            if present is None or now > present:
                before, present = state, now
            ack = seen[-1].ack
            rtt = ack.srtt
            if self.round_trip == "latest" and ack.rtt is not None:
                rtt = ack.rtt
            if len(seen) > 1 and rtt and not tied:
                try:
                    state = self._sampled(before, seen, rtt, least)
                except TieError:
                    tied = True
            by_row[row] = math.nan if tied else state.estimate
        return _rows(trace, by_row)

    def _sampled(self, old: "_State", seen: list[Moment], rtt: int, least: int | None) -> "_State":
        now, gap, cwnd = seen[-1].time, seen[-1].time - seen[-2].time, seen[-1].ack.cwnd
        lately = sum(moment.bytes for moment in seen if moment.time > now - rtt)
        throughput = 0.6 * old.throughput + 0.4 * lately / s(rtt)
        # (2)
        fits = (throughput if self.compared == "throughput" else old.estimate) * s(least or 0)
        interval = gap
        if self.sampling == "adaptive" and fits < cwnd:
            waits = rtt * (cwnd - fits) / cwnd
            if abs(waits % 1 - 0.5) < 1e-6:
                raise TieError
            interval = max(gap, min(rtt, round(waits)))
        # (4)
        inside = [moment for moment in seen if moment.time > now - interval]
        outside = [moment for moment in seen if moment.time <= now - interval]
        count = sum(moment.bytes for moment in inside)
        if self.edge == "literal":
            sample = count / s(interval)
        else:
            sample = count / s(now - (outside[-1] if outside else seen[0]).time)
        # (5)
        difference = abs(sample - old.sample)
        if difference <= 1e-12 * max(sample, old.sample):
            difference = 0.0  # rounding errors of equal samples must not choose the time constant
        variation = self.beta * old.variation + (1 - self.beta) * difference
        variations = (*old.variations, variation)[-self.horizon :]
        # (6)
        most = max(variations)
        tau = s(rtt) * (1 + self.stretch * (variation / most if most > 0 else 0.0))
        tau = tau if self.tau is None else self.tau
        # (1)
        step = s(gap if self.step == "ack_interval" else interval)
        alpha = max(0.0, (2 * tau - step) / (2 * tau + step))
        estimate = alpha * old.estimate + (1 - alpha) * sample
        return _State(estimate, sample, variation, throughput, variations)


class _State(NamedTuple):
    estimate: float
    sample: float
    variation: float
    throughput: float
    variations: tuple[float, ...]


def westwood_plus(
    trace: list[Ack], mss: int, *, kept: float = 0.9, shortest: int = 0
) -> list[float]:
    """Returns the estimates.

    A sample ends before the first ACK more than a round trip after its start.
    """
    by_row: dict[int, float] = {}
    count = AckedCount(mss)
    begin, total, rtt, rate = 0, 0, None, None
    for row, ack, cumul in in_order(trace):
        if cumul is None:
            begin = ack.time
        else:
            elapsed = ack.time - begin
            if rtt is not None and elapsed > max(rtt, shortest):
                sample = total / s(elapsed)
                rate = sample if rate is None else kept * rate + (1 - kept) * sample
                begin, total = ack.time, 0
            total += count(cumul)
        rtt = rtt if ack.rtt is None else ack.rtt
        by_row[row] = rate or 0.0
    return _rows(trace, by_row)


def westwood_linux(trace: list[Ack], mss: int, *, hz: int = 1000) -> list[float]:
    """Returns the estimates in the module's integers, bytes per jiffy; no timeouts."""
    by_row: dict[int, float] = {}
    count = AckedCount(mss)
    window_start, bk, ns, bw, rtt = 0, 0, 0, 0, 20 * hz
    for row, ack, cumul in in_order(trace):
        jiffies = ack.time * hz // 10**9
        if cumul is None:
            window_start = jiffies
        delta = jiffies - window_start
        if delta > max(rtt, hz // 20):
            if ns == 0 and bw == 0:
                ns = bw = bk // delta
            else:
                ns = (7 * ns + bk // delta) >> 3
                bw = (7 * bw + ns) >> 3
            bk, window_start = 0, jiffies
        if cumul is not None:
            bk += count(cumul)
        if ack.rtt:
            rtt = -(-ack.rtt * hz // 10**9)
        by_row[row] = float(bw * hz)
    return _rows(trace, by_row)
