"""Recommendations about a buffer in words and tables, the same for terminal, JSON and figure."""

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from ackclock.advice.buffer.advise import SCHEMA, Alone, BufferAdvice, middle
from ackclock.advice.buffer.bottleneck import Bottleneck
from ackclock.advice.buffer.confirmation import Confirmation
from ackclock.advice.buffer.measures import (
    MEASURES,
    MET,
    MISSED,
    UNDECIDED,
    Measure,
    Target,
    shown_number,
)
from ackclock.advice.buffer.models import Says
from ackclock.advice.buffer.trials import BATCHES, Outcome
from ackclock.metrics import Interval
from ackclock.table import Cell, Column, Table, Written, capital, table
from ackclock.units import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.plot import FigureSpec


def title(advice: BufferAdvice) -> str:
    """Returns the buffer and path in question."""
    hop = advice.hop
    mean = "" if hop.is_steady else " on average"
    flows = (
        f", {hop.long_flows} long flow{'' if hop.long_flows == 1 else 's'}"
        if hop.long_flows
        else ""
    )
    trip = f", RTT {shown(hop.round_trip_s, 's')}" if hop.paths else ""
    rate = shown(hop.rate_bit_per_s, "bit/s")
    return f"{advice.name}: buffer at {hop.name}, {rate}{mean}{flows}{trip}"


def size_words(hop: Bottleneck, packets: int) -> str:
    """Formats a buffer in packets, bytes and milliseconds."""
    volume, time = shown(packets * hop.packet_bytes, "bytes"), shown(packets * hop.packet_s, "s")
    return f"{_packets(packets)} ({volume}, {time})"


def headline(advice: BufferAdvice) -> str:
    """Returns what the advised queue loses, or the one that comes nearest, and the limit."""
    outcome, loss = advice.advised or advice.nearest, MEASURES["loss"]
    if outcome.setting.is_droptail:
        queue = f"a drop-tail buffer of {size_words(advice.hop, outcome.setting.size)}"
    else:
        queue = outcome.setting.label
    share = f"{shown_number(loss, outcome.intervals[loss.name])} {loss.shown_unit}"
    bounds = [target.bound for target in advice.targets if target.measure is loss]
    limit = f"limit {loss.words(bounds[0])}; --loss changes it" if bounds else "no limit"
    start = f"Loss {share} ({limit}) with {queue} at {advice.hop.name}"
    if advice.advised is None:
        return f"{start}, which comes nearest: no queue tried is shown to meet all targets."
    return f"{start}."


def answer(advice: BufferAdvice) -> list[str]:
    """Returns what to configure, or why no drop-tail buffer will do and what will."""
    parts = [_answer(advice), _alternatives(advice)]
    if advice.recommended is not None and advice.advised is not advice.recommended:
        parts.reverse()
    return [text for part in parts for text in part]


def evidence(advice: BufferAdvice, confirmation: Confirmation | None = None) -> list[str]:
    """Returns what the scenario's queue, models and Linux say, and how it was decided."""
    sentences = [*_present(advice), *_models(advice)]
    sentences += [] if confirmation is None else [_confirmed(advice, confirmation)]
    return [*sentences, _method(advice)]


def advised_queue(advice: BufferAdvice) -> str | None:
    """Returns the queue that, alone, meets all targets, as in a scenario; None if none does."""
    best = advice.advised
    if best is None or best.setting.ecn:  # Its senders change, too.
        return None
    return _toml(best.setting.queue)


def buffer_table(advice: BufferAdvice) -> Table:
    """Returns the table of drop-tail buffers: curve, rules of thumb and the present queue."""
    measures = _measures(advice)
    columns = [
        Column("buffer", "packets", numeric=True),
        Column("", "kB", spare=1, numeric=True),
        Column("", "ms", spare=2, numeric=True),
        *_heads(measures),
        Column("runs", spare=0, numeric=True),
        Column(""),
    ]
    remarks = marks(advice)
    rows = []
    for outcome in _shown(advice):
        size = outcome.setting.size
        remark = ", ".join(remarks.get(size, ()))
        rows.append([*_size(advice.hop, size), *_numbers(advice, outcome, measures), remark])
    places = advice.hop.present_packets()
    unlimited = "unlimited" if advice.hop.is_unlimited else ""
    now = [unlimited, "", ""] if places is None else _size(advice.hop, places)
    kind = "" if advice.hop.is_droptail else f" ({advice.hop.queue_name})"
    rows.append([*now, *_numbers(advice, advice.present, measures), f"now{kind}"])
    return table("Drop-tail buffers", columns, rows)


def aqm_table(advice: BufferAdvice) -> Table | None:
    """Returns the table of active queue management; None if none was tried."""
    if not advice.alternatives:
        return None
    measures = _measures(advice)
    columns = [Column("queue"), *_heads(measures), Column("runs", spare=0, numeric=True)]
    rows = (
        [outcome.setting.label, *_numbers(advice, outcome, measures)]
        for outcome in advice.alternatives
    )
    return table("Active queue management (with its target delay)", columns, rows)


def legend(advice: BufferAdvice) -> str:
    """Returns what the numbers and marks of the tables mean."""
    words = "mean ± 95 % interval over runs"
    if MEASURES["delay_p99_s"] in _measures(advice):
        words += "; p99 delay: what waits is sent within it 99 % of the time"
    verdicts = {
        outcome.judge(target)
        for target in advice.targets
        for outcome in (*_shown(advice), advice.present, *advice.alternatives)
    }
    marked = [
        f"{_MARKS[verdict]} {words}" for verdict, words in _MARKED.items() if verdict in verdicts
    ]
    return "; ".join([words, *marked])


# Marks of numbers in tables, by verdict.
_MARKS = {MET: " ", MISSED: "!", UNDECIDED: "?"}
_MARKED = {MISSED: "misses its target", UNDECIDED: "may miss it"}


def _heads(measures: list[Measure]) -> list[Column]:
    return [Column(measure.label, measure.shown_unit, numeric=True) for measure in measures]


def _size(hop: Bottleneck, packets: float) -> list[Cell]:
    """Formats a buffer in packets, kB and ms."""
    size = packets if isinstance(packets, int) else Written(packets, f"{packets:.4g}")
    in_other_units = (packets * hop.packet_bytes / 1e3, packets * hop.packet_s * 1e3)
    return [size, *(Written(amount, f"{amount:.4g}") for amount in in_other_units)]


def marks(advice: BufferAdvice) -> dict[int, list[str]]:
    """Returns remarks by size."""
    remarks: dict[int, list[str]] = {}
    if advice.recommended is not None and advice.answer is not None:
        remarks[advice.recommended.setting.size] = ["recommended"]
        remarks.setdefault(advice.answer.setting.size, []).append("smallest")
    if advice.largest is not None:
        remarks.setdefault(advice.largest, []).append("largest")
    for tried in advice.rules:
        remarks.setdefault(tried.rule.packets, []).append(tried.rule.name.partition(",")[0])
    for alone in advice.alone if advice.answer is None else ():
        if alone.sizes is not None and alone.sizes.low.missed is not None:
            remarks.setdefault(alone.sizes.low.met, []).append(f"{alone.target.measure.label} met")
        if alone.sizes is not None and alone.sizes.high is not None:
            remarks.setdefault(alone.sizes.high.met, []).append(f"{alone.target.measure.label} met")
    return remarks


def figure(advice: BufferAdvice) -> "Figure":
    """Draws the trade-off curve with targets as lines and the answer marked."""
    from ackclock.plot import draw

    return draw(curve(advice))


def curve(advice: BufferAdvice) -> "FigureSpec":
    """Describes the trade-off curve."""
    from ackclock.plot import Measure, Size, trade_off

    drawn = _shown(advice)
    bounds = {target.measure.name: target.bound for target in advice.targets}
    panels = [
        Measure(
            f"{measure.label} ({measure.shown_unit})",
            [each.intervals[measure.name].mean * measure.shown_per_unit for each in drawn],
            [each.intervals[measure.name].half_width * measure.shown_per_unit for each in drawn],
            bounds[measure.name] * measure.shown_per_unit if measure.name in bounds else None,
            measure.at_least,
        )
        for measure in _measures(advice)
    ]
    answer, allowed, heading = None, None, f"no drop-tail buffer ({advice.status})"
    if advice.answer is not None and advice.recommended is not None:
        size = advice.recommended.setting.size
        answer, heading = Size(size, f"{size} packets"), size_words(advice.hop, size)
        allowed = (advice.answer.setting.size, advice.largest or _most(advice))
    heading = f"{heading}: {_all(advice.targets)}\n{title(advice)}"
    sized = [Size(rule.rule.packets, rule.rule.name) for rule in advice.rules]
    return trade_off(
        [outcome.setting.size for outcome in drawn], panels, heading, answer=answer,
        allowed=allowed, marks=sized, ms_per_packet=advice.hop.packet_s * 1e3,
    )  # fmt: skip


def plain(advice: BufferAdvice, confirmation: Confirmation | None = None) -> dict[str, Any]:
    """Returns everything as plain data for JSON, with units in the names."""
    hop = advice.hop
    written: dict[str, Any] = {
        "schema": SCHEMA, "question": advice.question, "name": advice.name, "status": advice.status,
        "hop": {
            "name": hop.name, "rate_bit_per_s": hop.rate_bit_per_s, "is_steady": hop.is_steady,
            "packet_bytes": hop.packet_bytes, "round_trip_s": hop.round_trip_s,
            "long_flows": hop.long_flows, "queue": hop.queue,
        },
        "targets": [_plain_target(target) for target in advice.targets],
        "advised": None if advice.advised is None else _plain(advice, advice.advised),
        "title": title(advice),
        "recommended": None if advice.recommended is None else _plain(advice, advice.recommended),
        "answer": None if advice.answer is None else _plain(advice, advice.answer),
        "known_from_packets": advice.known_from,
        "largest_packets": advice.largest,
        "binding": None if advice.binding is None else advice.binding.measure.name,
        "alone": [_plain_alone(alone) for alone in advice.alone],
        "buffers": [_plain(advice, rule) for rule in advice.every if rule.setting.size],
        "curve_packets": [outcome.setting.size for outcome in advice.curve],
        "rules": [
            {"name": outcome.rule.name, "says": outcome.rule.says} | _plain(advice, outcome.outcome)
            for outcome in advice.rules
        ],
        "present": {"packets": hop.present_packets(), "verdicts": _verdicts(advice, advice.present)}
        | _plain_measures(advice.present),
        "models": [vars(outcome) for outcome in advice.models],
        "alternatives": [_plain(advice, outcome) for outcome in advice.alternatives],
        "replicates_in_a_batch": advice.replicates, "batches_at_most": BATCHES,
        "warnings": list(advice.warnings), "scenario": advice.trials.scenario.tree,
        "simulated_runs": _runs(advice), "headline": headline(advice), "words": answer(advice),
        "evidence": evidence(advice, confirmation),
    }  # fmt: skip
    if confirmation is not None:
        written["emulation"] = {
            "why_not": confirmation.why or None, "unreliable_runs": confirmation.unreliable,
            "buffers": [_plain(advice, outcome) for outcome in confirmation.outcomes],
        }  # fmt: skip
    return written


def _measures(advice: BufferAdvice) -> list[Measure]:
    return [measure for name, measure in MEASURES.items() if name in advice.present.intervals]


def _shown(advice: BufferAdvice) -> list[Outcome]:
    """Returns the buffers of the table, ascending."""
    wanted = {outcome.setting.size for outcome in advice.curve} | set(marks(advice))
    return [
        outcome
        for outcome in advice.every
        if outcome.setting.is_droptail and outcome.setting.size in wanted
    ]


def _numbers(advice: BufferAdvice, outcome: Outcome, measures: list[Measure]) -> list[Cell]:
    return [*(_number(advice, outcome, measure) for measure in measures), outcome.replicates]


def _number(advice: BufferAdvice, outcome: Outcome, measure: Measure) -> Cell:
    """A mean, marked if it misses its target."""
    scale, interval = measure.shown_per_unit, outcome.intervals[measure.name]
    value = Interval(interval.mean * scale, interval.half_width * scale, interval.replicates)
    verdicts = [
        _MARKS[outcome.judge(target)] for target in advice.targets if target.measure is measure
    ]
    return Written(value, " ".join([shown_number(measure, interval), *verdicts]))


def _answer(advice: BufferAdvice) -> list[str]:
    if advice.answer is None or advice.recommended is None:
        return _no_answer(advice)
    smallest, largest = advice.answer.setting.size, advice.largest or _most(advice)
    tried = "" if advice.largest else ", the largest tried,"
    which = (
        f"{_packets(smallest)} meet" if smallest == largest else
        f"{smallest} to {_packets(largest)}{tried} meet"
    )  # fmt: skip
    sentences = [
        _recommended(advice, advice.recommended, smallest, largest),
        f"queue = {_toml(advice.recommended.setting.queue)}",
        f"Buffers of {which} {_all(advice.targets)}.",
    ]
    if advice.known_from is not None and 1 < advice.known_from < smallest:
        sentences[-1] += f" With fewer than {advice.known_from} a target is missed."
    elif smallest > 1:
        sentences[-1] += " With fewer a target is missed."
    if advice.binding is not None and advice.below is not None:
        name = advice.binding.measure.name
        mean = (
            f"{shown_number(advice.binding.measure, advice.below.intervals[name])} "
            f"{advice.binding.measure.shown_unit}"
        )
        how = "misses it" if advice.below.judge(advice.binding) == MISSED else "may miss it"
        sentences[-1] += (
            f" The limit from below is {advice.binding.words}: "
            f"{_packets(advice.below.setting.size)} give {mean}, which {how}."
        )
    return sentences


def _recommended(advice: BufferAdvice, outcome: Outcome, smallest: int, largest: int) -> str:
    """Returns what to configure, why, and what to expect of it."""
    size = outcome.setting.size
    if smallest == largest:
        why = "the only size that meets all targets"
    elif size != middle(smallest, largest):
        why = "near the middle of the sizes that meet all targets"
    elif size < round((smallest * largest) ** 0.5):
        why = "twice the smallest size that meets all targets"
    else:
        why = "the geometric middle of the sizes that meet all targets"
    expected = _expected(advice, outcome)
    instead = "Set" if advice.advised is outcome else "If the queue stays drop-tail, set"
    return f"{instead} the buffer to {size_words(advice.hop, size)}: {why}. Expect {expected}."


def _present(advice: BufferAdvice) -> list[str]:
    """Returns what the scenario's own queue does, beside an answer."""
    if advice.recommended is None and not advice.alternatives:
        return []
    places = advice.hop.present_packets()
    if not advice.hop.is_droptail:
        queue = f"The scenario's queue ({advice.hop.queue_name})"
    elif places is None:
        queue = "The scenario's queue, without a limit,"
    else:
        queue = f"The scenario's queue of {places:.4g} packets"
    return [f"{queue} gives {_expected(advice, advice.present)}."]


def _expected(advice: BufferAdvice, outcome: Outcome) -> str:
    """All measures of a queue in a sentence."""
    return _list(
        [
            f"{each.label} {shown_number(each, outcome.intervals[each.name])} {each.shown_unit}"
            for each in _measures(advice)
        ]
    )


def _packets(size: int) -> str:
    return f"{size} packet{'' if size == 1 else 's'}"


def _no_answer(advice: BufferAdvice) -> list[str]:
    head = {
        "infeasible": f"No drop-tail buffer meets {_all(advice.targets)} together.",
        "undecided": (
            f"{BATCHES * advice.replicates} replicates do not show whether a drop-tail buffer "
            f"meets {_all(advice.targets)}; give more with --replicates, or a longer duration."
        ),
    }[advice.status]
    return [" ".join([head, *(_alone(advice, alone) for alone in advice.alone)])]


def _alone(advice: BufferAdvice, alone: Alone) -> str:
    """Returns what a single target requires."""
    hop, words = advice.hop, alone.target.words
    if alone.sizes is None:
        measure = alone.target.measure
        mean = shown_number(measure, alone.best.intervals[measure.name])
        return (
            f"No size up to {size_words(hop, _most(advice))} meets {words}; "
            f"{size_words(hop, alone.best.setting.size)} comes nearest with {mean} "
            f"{measure.shown_unit}."
        )
    low, high = alone.sizes.low, alone.sizes.high
    ends = []
    if low.missed is not None or high is None:
        ends.append(f"at least {size_words(hop, low.met)}")
    if high is not None:
        ends.append(f"at most {size_words(hop, high.met)}")
    return f"{capital(words)} alone takes {' and '.join(ends)}."


def _alternatives(advice: BufferAdvice) -> list[str]:
    if not advice.alternatives:
        return []
    best = advice.managed
    if best is not None:
        ecn = "; its senders negotiate ECN" if best.setting.ecn else ""
        verb = (
            "is the better queue and meets"
            if advice.advised is best and advice.recommended
            else "meets"
        )
        meets = f"{best.setting.label} {verb} all targets: {_expected(advice, best)}{ecn}."
        return [f"{meets}{_cost(advice, best)}", f"queue = {_toml(best.setting.queue)}"]
    nearest = [
        f"{outcome.setting.label} has {_expected(advice, outcome)}"
        for outcome in advice.alternatives
    ]
    return [f"No active queue management that was tried meets them either: {'; '.join(nearest)}."]


def _cost(advice: BufferAdvice, managed: Outcome) -> str:
    """Returns what queue management costs beside the recommended drop-tail buffer."""
    if advice.recommended is None:
        return ""
    parts = []
    for each in _measures(advice):
        plain, theirs = (outcome.intervals[each.name] for outcome in (advice.recommended, managed))
        change = (theirs.mean - plain.mean) * each.shown_per_unit
        if isfinite(change):
            parts.append(f"{change:+.2g} {each.shown_unit} in {each.label}")
    buffer = f"the buffer of {_packets(advice.recommended.setting.size)}"
    return f" Beside {buffer} that is {_list(parts)}."


def _models(advice: BufferAdvice) -> list[str]:
    sentences = [_model(advice, says) for says in advice.models]
    return [" ".join(sentences)] if sentences else []


def _model(advice: BufferAdvice, says: Says) -> str:
    """Returns what a model expects, or why it has no answer."""
    if not says.flow:
        return f"Model {says.label} does not apply: {says.note}."
    parts = []
    if says.packets is not None:
        parts.append(f"{_packets(says.packets)} to be enough for the utilisation")
    if says.utilisation is not None and advice.answer is not None:
        parts.append(f"{says.utilisation * 100:.4g} % with {advice.answer.setting.size}")
    note = f" ({says.note})" if says.note else ""
    return f"For {says.flow} model {says.label} expects {_list(parts)}{note}."


def _confirmed(advice: BufferAdvice, confirmation: Confirmation) -> str:
    if confirmation.why:
        return f"Not confirmed by emulation: {confirmation.why}"
    each = [
        (
            f"{outcome.setting.label}: {_expected(advice, outcome)} ({outcome.replicates} "
            f"run{'' if outcome.replicates == 1 else 's'})"
        )
        for outcome in confirmation.outcomes
    ]
    doubt = (
        f"; {confirmation.unreliable} runs are unreliable and left out"
        if confirmation.unreliable
        else ""
    )
    return f"Emulated with the kernel's TCP: {'; '.join(each)}{doubt}."


def _method(advice: BufferAdvice) -> str:
    return (
        f"{_runs(advice)} simulated runs; every buffer had the same seeds. A target is met or "
        "missed if the whole interval is on one side of it; otherwise up to "
        f"{BATCHES * advice.replicates} replicates are run."
    )


def _runs(advice: BufferAdvice) -> int:
    return sum(outcome.replicates for outcome in advice.every)


def _most(advice: BufferAdvice) -> int:
    return max(outcome.setting.size for outcome in advice.every if outcome.setting.is_droptail)


def _all(targets: tuple[Target, ...]) -> str:
    return _list([target.words for target in targets])


def _list(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _toml(queue: dict[str, Any] | None) -> str:
    """Formats a queue as in a scenario."""
    fields = ((name, value) for name, value in (queue or {}).items() if value is not False)
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in fields) + " }"


def _plain_interval(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}


def _plain_measures(outcome: Outcome) -> dict[str, Any]:
    return {name: _plain_interval(interval) for name, interval in outcome.intervals.items()} | {
        "replicates": outcome.replicates
    }


def _verdicts(advice: BufferAdvice, outcome: Outcome) -> dict[str, str]:
    return {target.measure.name: outcome.judge(target) for target in advice.targets}


def _plain(advice: BufferAdvice, outcome: Outcome) -> dict[str, Any]:
    size, hop = outcome.setting.size, advice.hop
    sized = {
        "label": outcome.setting.label,
        "packets": size,
        "bytes": size * hop.packet_bytes,
        "ms": size * hop.packet_s * 1e3,
    }
    tail = outcome.setting.queue is not None and outcome.setting.queue["kind"] == "droptail"
    queue = {
        "queue": outcome.setting.queue,
        "is_drop_tail": tail,
        "senders_use_ecn": outcome.setting.ecn,
    }
    return (
        sized
        | queue
        | _plain_measures(outcome)
        | {"verdicts": _verdicts(advice, outcome), "runs": list(outcome.folders)}
    )


def _plain_target(target: Target) -> dict[str, Any]:
    return {
        "measure": target.measure.name,
        "at_least": target.measure.at_least,
        "bound": target.bound,
    }


def _plain_alone(alone: Alone) -> dict[str, Any]:
    low, high = (None, None) if alone.sizes is None else (alone.sizes.low, alone.sizes.high)
    return {
        "measure": alone.target.measure.name,
        "from_packets": None if low is None else low.met,
        "missed_up_to_packets": None if low is None else low.missed,
        "up_to_packets": None if high is None else high.met,
        "missed_from_packets": None if high is None else high.missed,
        "nearest_packets": alone.best.setting.size,
    }
