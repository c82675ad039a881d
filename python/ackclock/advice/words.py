"""Recommendations about feedback in words and tables, the same for terminal and JSON."""

from math import isnan
from typing import Any

import numpy as np

from ackclock.advice.feedback import OVERFLOW, FeedbackAdvice, little
from ackclock.advice.outcomes import QUANTILE, Outcome
from ackclock.advice.time_scale import Estimate
from ackclock.elements import facts
from ackclock.table import Cell, Column, Table, Written, capital, fixed, table
from ackclock.units import shown

_QUANTILE = f"{QUANTILE * 100:g} %"

# Quantiles between which the feedback lies most of the time.
_MOSTLY = (0.05, 0.95)

# From this number on, means are many: the smallest number of the usual schemes with a memory.
# Chosen here.
_MANY_MEANS = 7


def sentence(advice: FeedbackAdvice) -> str:
    """Returns what to feed back, in a sentence."""
    path, chosen = advice.path, advice.chosen
    if chosen.scheme.algorithm is None:
        unless = ", unless less delay is worth its price" if advice.quicker else ""
        return f"Do not feed back the rate{unless}. {_why_nothing(advice)}"
    low, high = (shown(rate, "bit/s") for rate in fed_back(advice, chosen))
    rates = f"one value every {shown(path.period_s, 's')}, here mostly between {low} and {high}"
    return f"Feed back {chosen.scheme.says} ({rates}). {_against_none(advice)}"


def further(advice: FeedbackAdvice) -> list[str]:
    """Returns further findings, one sentence each."""
    lines = []
    if advice.as_good:
        names = " and ".join(_name(outcome) for outcome in advice.as_good)
        alike = f"{names} cannot be distinguished from {_name(advice.chosen)}."
        lines.append(capital(alike))
    if advice.quicker:
        each = "; ".join(_price(advice, outcome) for outcome in advice.quicker)
        lines.append(f"Less delay has a price: {each}.")
    return lines


def _price(advice: FeedbackAdvice, outcome: Outcome) -> str:
    """Returns the delay of a scheme and what it delivers less than the recommended one."""
    delay = shown(outcome.delay_s.value, "s")
    less = _scaled(advice.outcomes.more_delivered(advice.chosen, outcome), 100)
    return (
        f"with {_name(outcome)} {_QUANTILE} of the packets wait at most {delay}, and {less} points "
        "less is delivered"
    )


def legend(advice: FeedbackAdvice) -> str:
    """Returns what the numbers of the table mean."""
    words = f"gain: over no feedback; delay: {_QUANTILE} of the packets wait no longer"
    if not advice.outcomes.blocks:
        return words
    blocks = f"{advice.outcomes.blocks} blocks of {shown(advice.outcomes.block_s, 's')}"
    return f"{words}; in brackets 95 % intervals, those of gain and added delay joint ({blocks})"


def psi_words(advice: FeedbackAdvice) -> str:
    """Returns the time scale, its region, and whether the map's expectations hold in the runs."""
    scale, psi = advice.scale, advice.psi
    others = [region.name for region in advice.regions if region is not advice.region]
    perhaps = f" (perhaps {' or '.join(others)})" if others else ""
    return (
        f"The link stays at about {shown(scale.high_bit_per_s, 'bit/s')} for "
        f"{_seconds(scale.high_s)} and at about {shown(scale.low_bit_per_s, 'bit/s')} for "
        f"{_seconds(scale.low_s)}. On average that is psi = {_number(psi)} round trips of "
        f'{shown(advice.path.rtt_s, "s")}, in the region "{advice.region.name}"{perhaps}: '
        f"{advice.region.says}. The map of psi, made for senders of 1988, expects: "
        f"{advice.region.expects}. {_by_the_table(advice)}"
    )


def _by_the_table(advice: FeedbackAdvice) -> str:
    """Compares the table with the expectations of the map.

    It names the rate measured last and the schemes with the fewest and the most means.
    """
    compared = advice.outcomes
    smallest = sorted(
        (outcome for outcome in compared.each if outcome.scheme.means > 1),
        key=lambda outcome: outcome.scheme.means,
    )
    last = next(outcome for outcome in compared.each if outcome.scheme.is_last)
    named = list(
        {
            outcome.scheme.label: outcome for outcome in (last, *smallest[:1], *smallest[-1:])
        }.values()
    )
    gains = "; ".join(f"{outcome.scheme.label} {_delivers(outcome.gain)}" for outcome in named)
    many = [outcome for outcome in smallest if outcome.scheme.means >= _MANY_MEANS]
    expected = {
        "every": [
            outcome for outcome in compared.each
            if outcome.scheme.algorithm is not None and outcome.scheme.share == 1
        ],
        "last": [last], "smallest": sorted(many, key=lambda outcome: outcome.efficiency.value)[-1:],
        "none": [],
    }[advice.region.best]  # fmt: skip
    if not expected:
        untried = (
            " No scheme with the smallest of many means was tried."
            if advice.region.best == "smallest"
            else ""
        )
        return f"In the runs: {gains}.{untried}"
    best = max(compared.each, key=lambda outcome: outcome.efficiency.value)
    worst = max(expected, key=lambda outcome: compared.more_delivered(best, outcome).value)
    less = compared.more_delivered(best, worst)
    verdict = "The expectation holds here" if little(less) else "The expectation does not hold here"
    behind = (
        f"{worst.scheme.label} delivers most"
        if worst is best
        else f"{worst.scheme.label} delivers {_scaled(less, 100)} points less than {_name(best)}"
    )
    return f"In the runs: {gains}. {verdict}: {behind}."


def _delivers(gain: Estimate) -> str:
    """Describes a difference of efficiencies from no feedback, as in the table."""
    if gain.low <= 0 <= gain.high:
        return f"cannot be distinguished from no feedback ({_ends(gain, 100)} points)"
    return f"delivers {_points(gain)} {'more' if gain.value > 0 else 'less'}"


def method_words(advice: FeedbackAdvice) -> str:
    """Returns how the time scale was found."""
    scale = advice.scale
    return (
        f"How psi was found: measured over {shown(scale.interval_s, 's')}, the rate crosses "
        f"{shown(scale.threshold_bit_per_s, 'bit/s')} {scale.changes} times. Two rates, above and "
        f"below, explain {scale.explained * 100:.0f} % of its variance; no other threshold "
        "explains more."
    )


def models_words(advice: FeedbackAdvice) -> str:
    """Returns what models of a link of two rates say."""
    path = advice.path
    # A fall of the rate is only known when its measuring period ends.
    later = advice.loss_free_buffer_packets * path.period_s / path.rtt_s
    return (
        "Models of a link with these two rates say: sending at a constant "
        f"{shown(advice.effective_capacity_bit_per_s, 'bit/s')} overflows the buffer with a "
        f"probability of about {OVERFLOW * 100:g} %. A source that follows the rate exactly, one "
        "round trip later, loses nothing with a buffer of "
        f"{np.ceil(advice.loss_free_buffer_packets):.0f} packets, or about "
        f"{later:.0f} more if the rate is measured over {shown(path.period_s, 's')}."
    )


def outcome_table(advice: FeedbackAdvice) -> Table:
    """Returns the table of the schemes that were run."""
    columns = (
        "feedback", Column("delivered", "%", numeric=True),
        Column("delay at link", "ms", numeric=True), "", Column("gain", "points", numeric=True),
        Column("added delay", "ms", numeric=True),
    )  # fmt: skip
    cells = (
        [
            outcome.scheme.label, _cell(outcome.efficiency, 100), _cell(outcome.delay_s, 1e3),
            "recommended" if outcome is advice.chosen else "",
            "" if first else _cell(outcome.gain, 100, sign=True),
            "" if first else _cell(outcome.delay_gain_s, 1e3, sign=True),
        ]
        for outcome in advice.outcomes.each
        for first in [outcome.scheme.algorithm is None]
    )  # fmt: skip
    return table("What was tried", columns, cells, keys=1)


def title(advice: FeedbackAdvice) -> str:
    """Returns the trace and the path of the runs."""
    path, trace = advice.path, advice.path.trace
    number, unit = path.buffer.number, path.buffer.unit
    waiting = shown(number, unit) if unit == "bytes" else f"{number:g} {unit}"
    return (
        f"{trace.path.name}: {shown(trace.length_s, 's')}, "
        f"{shown(advice.scale.mean_bit_per_s, 'bit/s')} on average; RTT "
        f"{shown(path.rtt_s, 's')}, buffer {waiting}, sender {path.sender}"
    )


def plain(advice: FeedbackAdvice) -> dict[str, Any]:
    """Returns everything as plain data for JSON, with units in the names."""
    path, scale = advice.path, advice.scale
    return {
        "trace": {
            "file": str(path.trace.path), "format": path.trace.format,
            "length_s": path.trace.length_s, "mean_bit_per_s": scale.mean_bit_per_s,
        },
        "path": {
            "rtt_s": path.rtt_s, "buffer": f"{path.buffer.number:g} {path.buffer.unit}",
            "mss_bytes": path.mss_bytes, "sender": path.sender, "period_s": path.period_s,
            "replicates": path.replicates, "seed": path.seed,
        },
        "time_scale": {
            name: _plain(getattr(scale, name)) for name in scale.__dataclass_fields__
        },
        "psi": _plain(advice.psi), "high_psi": _plain(advice.high_psi),
        "low_psi": _plain(advice.low_psi), "region": advice.region.name,
        "region_words": psi_words(advice), "regions": [region.name for region in advice.regions],
        "schemes": [_plain_outcome(advice, outcome) for outcome in advice.outcomes.each],
        "advised": advice.chosen.scheme.label,
        "as_good": [outcome.scheme.label for outcome in advice.as_good],
        "quicker": [outcome.scheme.label for outcome in advice.quicker],
        "confidence_of_differences": advice.outcomes.confidence, "blocks": advice.outcomes.blocks,
        "block_s": advice.outcomes.block_s,
        "effective_capacity_bit_per_s": advice.effective_capacity_bit_per_s,
        "overflow_probability": OVERFLOW,
        "loss_free_buffer_packets": advice.loss_free_buffer_packets, "sentence": sentence(advice),
        "further": further(advice), "warnings": list(advice.warnings),
    }  # fmt: skip


def fed_back(advice: FeedbackAdvice, outcome: Outcome) -> tuple[float, float]:
    """Returns the range of rates that a source is told most of the time, in bit/s."""
    rates = advice.path.trace.rates(advice.path.period_s)
    algorithm = outcome.scheme.algorithm or {}
    m, n = (min(algorithm.get(name, 1), rates.size) for name in "mn")
    means = np.convolve(rates, np.full(m, 1 / m), "valid")
    smallest = np.lib.stride_tricks.sliding_window_view(means, min(n, means.size)).min(axis=1)
    _, link = facts.link(advice.result.points[0]["scenario"]["hops"][0])
    least = link["feedback"]["lowest_bit_per_s"]
    low, high = np.maximum(np.quantile(smallest, _MOSTLY) * outcome.scheme.share, least)
    return float(low), float(high)


def _why_nothing(advice: FeedbackAdvice) -> str:
    others = [outcome for outcome in advice.outcomes.each if outcome.scheme.algorithm is not None]
    best = max(others, key=lambda outcome: outcome.efficiency.value)
    return (
        f"Without feedback {_percent(advice.chosen.efficiency)} of what the link can carry is "
        f"delivered, and {_QUANTILE} of the packets wait at most "
        f"{shown(advice.chosen.delay_s.value, 's')} at the link. The best scheme tried, "
        f"{_name(best)}, {_delivers(best.gain)}; its delay is {shown(best.delay_s.value, 's')}."
    )


def _against_none(advice: FeedbackAdvice) -> str:
    chosen, none = advice.chosen, advice.outcomes.each[0]
    return (
        f"Then {_percent(chosen.efficiency)} of what the link can carry is delivered, which "
        f"{_change(chosen.gain)}. {_QUANTILE} of the packets wait at most "
        f"{shown(chosen.delay_s.value, 's')} at the link, {shown(none.delay_s.value, 's')} "
        "without feedback."
    )


def _change(gain: Estimate) -> str:
    """Describes a difference of efficiencies from no feedback, or states that there is none."""
    if gain.low <= 0 <= gain.high:
        return f"cannot be distinguished from no feedback ({_ends(gain, 100)} points)"
    return f"is {_points(gain)} {'more' if gain.value > 0 else 'less'} than without feedback"


def _points(difference: Estimate) -> str:
    """Formats percentage points without their sign."""
    if difference.value < 0:
        difference = Estimate(-difference.value, -difference.high, -difference.low)
    return f"{_scaled(difference, 100)} points"


def _percent(share: Estimate) -> str:
    return f"{share.value:.1%}".replace("%", " %")


def _name(outcome: Outcome) -> str:
    return "no feedback" if outcome.scheme.algorithm is None else outcome.scheme.label


def _seconds(estimate: Estimate) -> str:
    return shown(estimate.value, "s")


def _number(estimate: Estimate) -> str:
    value, low, high = (
        f"{value:.0f}" if value >= 100 else f"{value:.3g}"
        for value in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


def _cell(estimate: Estimate, factor: float, *, sign: bool = False) -> Cell:
    return Written(estimate.value * factor, _scaled(estimate, factor, sign=sign))


def _scaled(estimate: Estimate, factor: float, *, sign: bool = False) -> str:
    value = fixed(estimate.value * factor, 1, sign=sign)
    return value if isnan(estimate.low) else f"{value} ({_ends(estimate, factor, sign=sign)})"


def _ends(estimate: Estimate, factor: float, *, sign: bool = True) -> str:
    return (
        f"{fixed(estimate.low * factor, 1, sign=sign)} to "
        f"{fixed(estimate.high * factor, 1, sign=sign)}"
    )


def _plain_outcome(advice: FeedbackAdvice, outcome: Outcome) -> dict[str, Any]:
    values = {
        name: _plain(getattr(outcome, name))
        for name in outcome.__dataclass_fields__
        if name != "scheme"
    }
    rates = (
        dict(zip(("low", "high"), fed_back(advice, outcome), strict=True))
        if outcome.scheme.algorithm
        else None
    )
    return {
        "label": outcome.scheme.label,
        "algorithm": outcome.scheme.algorithm,
        "fed_back_bit_per_s": rates,
    } | values


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return {"value": value.value, "low": value.low, "high": value.high}
    return value
