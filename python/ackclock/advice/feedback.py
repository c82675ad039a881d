"""Can rate feedback help on this path, and which? A capacity trace and a round-trip time in, a sentence out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isnan, log
from pathlib import Path as FilePath

from ackclock import traces, units
from ackclock.advice import time_scale, trials
from ackclock.advice.outcomes import Outcome, Outcomes, outcomes, packet_bytes
from ackclock.advice.regions import Region, across, region
from ackclock.advice.time_scale import Estimate, TimeScale
from ackclock.advice.trials import Path
from ackclock.errors import InputError, ScenarioError
from ackclock.models.explicit_rate import effective_capacity
from ackclock.result import Result

__all__ = ["FeedbackAdvice", "advise_feedback", "little"]

#: Delivering less by so much of what the link can carry is as good as not less. Chosen here.
LITTLE = 0.02

#: Effective capacity is the rate at which the buffer overflows with about this probability. Chosen
#: here.
OVERFLOW = 0.01

# A shorter trace shows nothing of a transfer. Chosen here.
_SHORTEST_ROUND_TRIPS = 100

# Of a trace: with fewer measurements there is no saying how it moves. Chosen here.
_FEWEST_INTERVALS = 100

# In packets, unless told otherwise: where a round trip carries hardly one, room for one alone would
# decide everything. What Linux sends at once to begin with (RFC 6928). Chosen here.
_LEAST_BUFFER = 10

# With fewer changes than this the time between them is hardly known. Chosen here.
_FEW_CHANGES = 10

# A trace is looked at twice as coarsely, to see whether it has one time scale. Counting noise, or
# capacity that moves at many scales, makes the time between changes grow with the interval. Chosen
# here.
_COARSER, _SAME_SCALE = 2, 1.4


@dataclass(frozen=True)
class FeedbackAdvice:
    """The advice and what it comes from.

    Attributes:
        path: What was asked about.
        scale: The trace as a link of two rates.
        psi: tau over the round trip.
        high_psi: Mean time at the high rate over the round trip.
        low_psi: At the low rate.
        regions: Of the psi map between the ends of psi's interval; that of psi itself is `region`.
        outcomes: What became of each scheme on this trace.
        chosen: The one that is advised.
        as_good: Others that cannot be told from it, neither by what is delivered nor by how long
            packets wait.
        quicker: Those that let packets wait less, those left out that both deliver less and let
            them wait longer than another of them; what delivers most comes first.
        effective_capacity_bit_per_s: What the link of two rates carries with an overflow
            probability of `OVERFLOW`.
        loss_free_buffer_packets: Delta (1 - 1/r), with which a source that follows it a round trip
            later loses nothing.
        warnings: What is to be known, a line each.
        result: The simulations, a point for each scheme.
    """

    path: Path
    scale: TimeScale
    psi: Estimate
    high_psi: Estimate
    low_psi: Estimate
    regions: tuple[Region, ...]
    outcomes: Outcomes
    chosen: Outcome
    as_good: tuple[Outcome, ...]
    quicker: tuple[Outcome, ...]
    effective_capacity_bit_per_s: float
    loss_free_buffer_packets: float
    warnings: tuple[str, ...]
    result: Result

    @property
    def region(self) -> Region:
        """Where psi lies on the map."""
        return region(self.psi.value)


def advise_feedback(
    trace: str | FilePath,
    rtt: str,
    *,
    buffer: str | None = None,
    mss: str = "1448 bytes",
    sender: str = "cubic",
    effcap: Sequence[tuple[int, int]] = (),
    interval: str | None = None,
    period: str | None = None,
    form: str | None = None,
    replicates: int = 3,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> FeedbackAdvice:
    """Says whether a sender should be told the rate of a link, and what it should be told.

    Args:
        trace: The link's capacity: a Mahimahi packet-delivery trace or rows of time and rate, as
            for a `trace` link.
        rtt: The round trip without queues, all the way from the sender to the receiver and back:
            `"100 ms"`.
        buffer: What may wait at the link: packets, an amount of data, or a time; by default what
            the link carries in a round trip on the mean, 10 packets at least.
        mss: Payload of a full segment.
        sender: `cubic` (as Linux sends), `reno` (the same but for the control), or `jacobson1988`
            (the publication's).
        effcap: Pairs of M and N to try instead of the usual ones.
        interval: At which the trace is looked at to see how often its rate changes; by default as
            fine as it tells.
        period: How long the capacity is measured at a time, and how often it is fed back; by
            default a seventh of the round trip, or of a Mahimahi trace as long as ten opportunities
            take.
        form: The trace's format; by default what the ending of its name says.
        replicates: How often each scheme is run.
        seed: Of the moments at which they start.
        progress: Is told the share done, about ten times a second.

    Returns:
        The advice.

    Raises:
        ScenarioError: The trace is missing or malformed. ValueError: An argument cannot be, the
        trace never changes or is too short; what, its value, what to do.
    """
    path = _asked(trace, rtt, buffer, mss, sender, period, form, replicates, seed)
    scale, warnings = _scale(path, interval)
    tried = trials.schemes(path.measurements, effcap)
    result = trials.run(path, tried, progress)
    found = outcomes(result, path, tried, scale.sojourn_s.value)
    chosen = _chosen(found)
    psi = scale.sojourn_s.over(path.rtt_s)
    regions = across(psi.low, psi.high)
    if found.blocks == 0:
        warnings.append("the trace is too short for confidence intervals; record a longer one")
    packet = packet_bytes(result)
    return FeedbackAdvice(
        path, scale, psi, scale.high_s.over(path.rtt_s), scale.low_s.over(path.rtt_s), regions, found, chosen,
        _as_good(found, chosen), _quicker(found, chosen), _effective_capacity(path, scale, packet),
        (scale.high_bit_per_s - scale.low_bit_per_s) * path.rtt_s / 8 / packet, tuple(warnings), result,
    )  # fmt: skip


def _asked(
    trace: str | FilePath, rtt: str, buffer: str | None, mss: str, sender: str, period: str | None, form: str | None,
    replicates: int, seed: int,
) -> Path:  # fmt: skip
    """The path that is asked about, checked."""
    if sender not in trials.SENDERS:
        raise InputError(
            "unknown-name",
            "sender",
            f'unknown sender "{sender}"; choose from {", ".join(trials.SENDERS)}',
        )
    if replicates < 1:
        raise InputError("out-of-range", "replicates", f"{replicates} is less than 1")
    rtt_s = _positive("rtt", rtt, "100 ms", units.seconds)
    mss_bytes = round(_positive("mss", mss, "1448 bytes", units.data_bytes))
    read = traces.read(trace, form)
    if 0 < read.length_s < _SHORTEST_ROUND_TRIPS * rtt_s:
        problem = (
            f"lasts {units.shown(read.length_s, 's')}, {read.length_s / rtt_s:.3g} round trips"
        )
        raise ScenarioError(
            "out-of-range",
            f"{trace}",
            f"{problem}; use a trace of at least {_SHORTEST_ROUND_TRIPS}",
        )
    if read.length_s == 0:
        raise ScenarioError(
            "no-data",
            f"{trace}",
            "it has a single row, so its rate never changes",
        )
    mean = read.mean_bit_per_s
    if mean == 0:
        raise ScenarioError("no-data", f"{trace}", "the link never sends; choose another trace")
    measured = time_scale.enough(read.format, mean, rtt_s / trials.MEASUREMENTS_PER_ROUND_TRIP)
    least, most = _measurable(read)
    if measured > most:
        takes = f"{time_scale.OPPORTUNITIES} opportunities take {units.shown(measured, 's')} on the mean"
        raise ScenarioError(
            "out-of-range",
            f"{trace}",
            f"{takes}; use a trace of at least {_FEWEST_INTERVALS} times that",
        )
    if period is not None:
        period_s = _fitting("period", period, "15 ms", read)
    elif measured < least:
        over = units.shown(least, "s")
        problem = f'"{rtt}" cuts {trace} into too many measurements; measure over {over} at least, with --period'
        raise InputError("contradiction", "rtt", problem)
    else:
        period_s = measured
    carried = ceil(mean * rtt_s / 8)
    usual = (
        f"{carried} bytes" if carried > _LEAST_BUFFER * mss_bytes else f"{_LEAST_BUFFER} packets"
    )
    may_wait = _buffer(usual if buffer is None else buffer)
    return Path(read, rtt_s, may_wait, sender, mss_bytes, period_s, replicates, seed)


def _measurable(trace: traces.CapacityTrace) -> tuple[float, float]:
    """Over how long a trace can be measured at a time, in seconds: not too often, and not too few times."""
    return trace.length_s / time_scale.MOST_INTERVALS, trace.length_s / _FEWEST_INTERVALS


def _fitting(name: str, written: str, example: str, trace: traces.CapacityTrace) -> float:
    """Seconds over which it can be."""
    asked = _positive(name, written, example, units.seconds)
    least, most = _measurable(trace)
    if not least <= asked <= most:
        between = f"{units.shown(least, 's')} and {units.shown(most, 's')}"
        raise InputError(
            "contradiction",
            name,
            f'"{written}" does not fit {trace.path}; choose between {between}',
        )
    return asked


def _buffer(written: str) -> units.Quantity:
    try:
        read = units.parse(written)
    except ValueError:
        read = units.parse(0)
    whole = read.base == "s" or read.amount == round(read.amount)
    if read.base not in ("packets", "bytes", "s") or read.amount <= 0 or not whole:
        raise InputError(
            "wrong-type",
            "buffer",
            f'"{written}" is not a queue limit; for example "100 packets", "150 kB" or "100 ms"',
        )
    return read


def _positive(name: str, written: str, example: str, read: Callable[[str], float]) -> float:
    try:
        amount = read(written)
    except ValueError:
        base = units.parse(example).base
        raise units.refusal(name, str(written), (base,), example=example) from None
    if amount <= 0:
        raise InputError(
            "out-of-range", name, f'"{written}" is not positive; for example "{example}"'
        )
    return amount


def _scale(path: Path, interval: str | None) -> tuple[TimeScale, list[str]]:
    """The trace as a link of two rates, and reservations about it."""
    trace = path.trace
    mean = trace.mean_bit_per_s
    if interval is None:
        interval_s = time_scale.measuring_interval(trace.format, mean, trace.length_s, path.rtt_s)
    else:
        interval_s = _fitting("interval", interval, "10 ms", trace)
    scale, coarser = (_looked_at(path, interval_s * times) for times in (1, _COARSER))
    if scale is None:
        rate = units.shown(mean, "bit/s")
        raise ScenarioError(
            "no-data",
            f"{trace.path}",
            f"its rate is always {rate}, so there is nothing to follow",
        )
    warnings = []
    if scale.changes < _FEW_CHANGES:
        warnings.append(
            f"the rate changes only {scale.changes} times, so its time scale is uncertain; record a longer trace"
        )
    if coarser is not None and coarser.sojourn_s.value > _SAME_SCALE * scale.sojourn_s.value:
        psi = coarser.sojourn_s.value / path.rtt_s
        warnings.append(
            f"no single time scale: measured over {units.shown(coarser.interval_s, 's')} psi is {psi:.3g}; "
            "trust the runs more than the region"
        )
    return scale, warnings


def _looked_at(path: Path, interval_s: float) -> TimeScale | None:
    grain = time_scale.grain_bit_per_s(path.trace.format, interval_s)
    return time_scale.estimate(path.trace.rates(interval_s), interval_s, grain)


# Waits that are longer by less are alike. Chosen here.
_LITTLE_LONGER = 1.1


def _chosen(found: Outcomes) -> Outcome:
    """Of what delivers about as much as the best, what lets packets wait least.

    Of several that wait about as long the simplest, which comes first. A wide interval makes
    nothing alike: what waits longer by more than a tenth is not chosen for being simple, even where
    chance could have made the difference.
    """
    best = max(found.each, key=lambda one: one.efficiency.value)
    equal = [one for one in found.each if little(found.more_delivered(best, one))]
    quickest = min(equal, key=lambda one: one.delay_s.value)
    return next(
        one
        for one in equal
        if one.delay_s.value <= _LITTLE_LONGER * quickest.delay_s.value
        and not _more(found.longer_wait_s(one, quickest))
    )


def _as_good(found: Outcomes, chosen: Outcome) -> tuple[Outcome, ...]:
    differences = [
        (one, (found.more_delivered(chosen, one), found.longer_wait_s(chosen, one)))
        for one in found.each
        if one is not chosen
    ]
    return tuple(
        one for one, both in differences if all(each.low <= 0 <= each.high for each in both)
    )


def _quicker(found: Outcomes, chosen: Outcome) -> tuple[Outcome, ...]:
    quicker = [one for one in found.each if _more(found.longer_wait_s(chosen, one))]
    by_rate = sorted(quicker, key=lambda one: -one.efficiency.value)
    return tuple(
        one
        for at, one in enumerate(by_rate)
        if all(one.delay_s.value < more.delay_s.value for more in by_rate[:at])
    )


def little(less: Estimate) -> bool:
    """Whether what is delivered less is `LITTLE` at most, and no more can be shown."""
    return less.value <= LITTLE and (isnan(less.high) or less.high <= LITTLE or less.low <= 0)


def _more(difference: Estimate) -> bool:
    """Whether a difference is one: above zero with all of its interval; if there is none, at all."""
    return difference.value > 0 if isnan(difference.low) else difference.low > 0


def _effective_capacity(path: Path, scale: TimeScale, packet: float) -> float:
    """In slots of the measuring interval, in which the link of two rates has its chances to change."""
    packets_per_slot = scale.interval_s / 8 / packet
    gamma = effective_capacity.of_two_rates(
        scale.high_bit_per_s * packets_per_slot, scale.low_bit_per_s * packets_per_slot, scale.fall, scale.rise,
        -log(OVERFLOW) / trials.buffer_packets(path, packet),
    )  # fmt: skip
    return float(gamma) / packets_per_slot
