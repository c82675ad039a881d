"""Recommends rate feedback for a path: whether a sender should learn the link's rate, and how.

The inputs are a capacity trace and a round-trip time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isnan, log
from pathlib import Path as FilePath

from ackclock import units
from ackclock.advice import time_scale, traces, trials
from ackclock.advice.outcomes import Outcome, Outcomes, outcomes, packet_bytes
from ackclock.advice.regions import Region, across, region
from ackclock.advice.time_scale import Estimate, TimeScale
from ackclock.advice.trials import Path
from ackclock.errors import InputError, ScenarioError
from ackclock.models.explicit_rate import effective_capacity
from ackclock.result.result import Result

#: Delivering less by at most this share of the link's capacity counts as equal. Chosen here.
LITTLE = 0.02

#: Effective capacity is the rate at which the buffer overflows with about this probability. Chosen
#: here.
OVERFLOW = 0.01

# A shorter trace shows nothing about a transfer. Chosen here.
_SHORTEST_ROUND_TRIPS = 100

# Number of measurements of a trace below which its variation is unknown. Chosen here.
_FEWEST_INTERVALS = 100

# Smallest default buffer, in packets. If a round trip carries hardly one packet, room for a single
# one would decide everything. Linux's initial window (RFC 6928). Chosen here.
_LEAST_BUFFER = 10

# With fewer changes than this the time between them is hardly known. Chosen here.
_FEW_CHANGES = 10

# A trace is also measured over twice the interval, to see whether it has a single time scale. The
# time between changes grows with the interval if counting noise dominates, or if capacity varies on
# many scales. Chosen here.
_COARSER, _SAME_SCALE = 2, 1.4


@dataclass(frozen=True)
class FeedbackAdvice:
    """The recommendation and its evidence.

    Attributes:
        path: The path asked about.
        scale: The trace, approximated as a link of two rates.
        psi: Mean time between rate changes (tau) over the round-trip time.
        high_psi: Mean time at the high rate over the round-trip time.
        low_psi: Mean time at the low rate over the round-trip time.
        regions: Regions of the psi map that the interval of psi covers; psi itself is in `region`.
        outcomes: Results of each scheme on this trace.
        chosen: The recommended scheme.
        as_good: Schemes that cannot be distinguished from it by delivery or by delay.
        quicker: Schemes with less delay, highest delivery first. Those are left out that have both
            less delivery and more delay than another of them.
        effective_capacity_bit_per_s: Rate that the link of two rates carries with an overflow
            probability of `OVERFLOW`.
        loss_free_buffer_packets: Delta (1 - 1/r): the buffer with which a source that follows the
            rate one round trip later loses nothing.
        warnings: One line each.
        result: The simulations, one point per scheme.
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
        """The region of psi on the map."""
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
    """Recommends whether a sender should be told the rate of a link, and in which form.

    Args:
        trace: Capacity of the link: a Mahimahi packet-delivery trace, or rows of time and rate as
            for a `trace` link.
        rtt: Round-trip time without queues, from the sender to the receiver and back: `"100 ms"`.
        buffer: Buffer at the link, in packets, data or time. The default is what the link carries
            on average in a round trip, at least 10 packets.
        mss: Payload of a full segment.
        sender: `cubic` (as Linux sends), `reno` (the same except for the control), or
            `jacobson1988` (as in the publication).
        effcap: Pairs of M and N to try instead of the usual ones.
        interval: Measuring interval of the trace, to count its rate changes; by default as short as
            the trace allows.
        period: Measuring period of the capacity, and the period of feedback. The default is a
            seventh of the round trip. For a Mahimahi trace it is at least the time of ten
            opportunities.
        form: Format of the trace; by default that of its file ending.
        replicates: Number of runs of each scheme.
        seed: Seed of the start times.
        progress: Takes the share done, about ten times a second.

    Returns:
        The recommendation.

    Raises:
        ScenarioError: The trace is missing or malformed.
        ValueError: An argument is invalid, or the trace never changes or is too short.
    """
    path = _asked(trace, rtt, buffer, mss, sender, period, form, replicates, seed)
    scale, warnings = _scale(path, interval)
    tried = trials.schemes(path.measurements, effcap)
    result = trials.run(path, tried, progress)
    compared = outcomes(result, path, tried, scale.sojourn_s.value)
    chosen = _chosen(compared)
    psi = scale.sojourn_s.over(path.rtt_s)
    regions = across(psi.low, psi.high)
    if compared.blocks == 0:
        warnings.append("the trace is too short for confidence intervals; record a longer one")
    packet = packet_bytes(result)
    return FeedbackAdvice(
        path, scale, psi, scale.high_s.over(path.rtt_s), scale.low_s.over(path.rtt_s), regions,
        compared, chosen, _as_good(compared, chosen), _quicker(compared, chosen),
        _effective_capacity(path, scale, packet),
        (scale.high_bit_per_s - scale.low_bit_per_s) * path.rtt_s / 8 / packet, tuple(warnings),
        result,
    )  # fmt: skip


def _asked(
    trace: str | FilePath, rtt: str, buffer: str | None, mss: str, sender: str, period: str | None,
    form: str | None, replicates: int, seed: int,
) -> Path:  # fmt: skip
    """Checks the arguments; returns the path."""
    if sender not in trials.SENDERS:
        raise InputError.unknown("sender", "sender", sender, trials.SENDERS)
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
        takes = (
            f"{time_scale.OPPORTUNITIES} opportunities take {units.shown(measured, 's')} on the "
            "mean"
        )
        raise ScenarioError(
            "out-of-range",
            f"{trace}",
            f"{takes}; use a trace of at least {_FEWEST_INTERVALS} times that",
        )
    if period is not None:
        period_s = _fitting("period", period, "15 ms", read)
    elif measured < least:
        over = units.shown(least, "s")
        problem = (
            f'"{rtt}" cuts {trace} into too many measurements; measure over {over} at least, '
            "with --period"
        )
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
    """Returns the shortest and longest period over which a trace can be measured, in seconds.

    Shorter periods are too many; longer ones are too few.
    """
    return trace.length_s / time_scale.MOST_INTERVALS, trace.length_s / _FEWEST_INTERVALS


def _fitting(name: str, written: str, example: str, trace: traces.CapacityTrace) -> float:
    """Returns a period in seconds if the trace can be measured over it."""
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
    """Returns the trace as a link of two rates, and warnings about it."""
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
            f"the rate changes only {scale.changes} times, so its time scale is uncertain; "
            f"record a longer trace"
        )
    if coarser is not None and coarser.sojourn_s.value > _SAME_SCALE * scale.sojourn_s.value:
        psi = coarser.sojourn_s.value / path.rtt_s
        warnings.append(
            f"no single time scale: measured over {units.shown(coarser.interval_s, 's')} psi is "
            f"{psi:.3g}; "
            "trust the runs more than the region"
        )
    return scale, warnings


def _looked_at(path: Path, interval_s: float) -> TimeScale | None:
    grain = time_scale.grain_bit_per_s(path.trace.format, interval_s)
    return time_scale.estimate(path.trace.rates(interval_s), interval_s, grain)


# Delays within this factor count as equal. Chosen here.
_LITTLE_LONGER = 1.1


def _chosen(compared: Outcomes) -> Outcome:
    """Returns the scheme with the least delay among those that deliver about as much as the best.

    If several have about the same delay, the simplest is taken, which comes first. A wide interval
    does not make schemes equal: a scheme whose delay is more than a tenth longer is not taken for
    its simplicity, even where chance could explain the difference.
    """
    best = max(compared.each, key=lambda outcome: outcome.efficiency.value)
    equal = [outcome for outcome in compared.each if little(compared.more_delivered(best, outcome))]
    quickest = min(equal, key=lambda outcome: outcome.delay_s.value)
    return next(
        outcome
        for outcome in equal
        if outcome.delay_s.value <= _LITTLE_LONGER * quickest.delay_s.value
        and not _more(compared.longer_wait_s(outcome, quickest))
    )


def _as_good(compared: Outcomes, chosen: Outcome) -> tuple[Outcome, ...]:
    differences = [
        (
            outcome,
            (compared.more_delivered(chosen, outcome), compared.longer_wait_s(chosen, outcome)),
        )
        for outcome in compared.each
        if outcome is not chosen
    ]
    return tuple(
        outcome for outcome, both in differences if all(each.low <= 0 <= each.high for each in both)
    )


def _quicker(compared: Outcomes, chosen: Outcome) -> tuple[Outcome, ...]:
    quicker = [
        outcome for outcome in compared.each if _more(compared.longer_wait_s(chosen, outcome))
    ]
    by_rate = sorted(quicker, key=lambda outcome: -outcome.efficiency.value)
    return tuple(
        outcome
        for index, outcome in enumerate(by_rate)
        if all(outcome.delay_s.value < more.delay_s.value for more in by_rate[:index])
    )


def little(less: Estimate) -> bool:
    """Returns true if less delivery is at most `LITTLE`, and no more can be shown."""
    return less.value <= LITTLE and (isnan(less.high) or less.high <= LITTLE or less.low <= 0)


def _more(difference: Estimate) -> bool:
    """Returns true if a difference is above zero with its whole interval.

    Without an interval its value decides.
    """
    return difference.value > 0 if isnan(difference.low) else difference.low > 0


def _effective_capacity(path: Path, scale: TimeScale, packet: float) -> float:
    """Returns the effective capacity of the link of two rates.

    It is computed in slots of the measuring interval, in which that link can change.
    """
    packets_per_slot = scale.interval_s / 8 / packet
    gamma = effective_capacity.of_two_rates(
        scale.high_bit_per_s * packets_per_slot, scale.low_bit_per_s * packets_per_slot, scale.fall,
        scale.rise, -log(OVERFLOW) / trials.buffer_packets(path, packet),
    )  # fmt: skip
    return float(gamma) / packets_per_slot
