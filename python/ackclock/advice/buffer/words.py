"""Recommendations about a buffer in words and tables, the same for terminal, JSON and figure."""

import json
from typing import TYPE_CHECKING, Any

from ackclock.advice.buffer.advise import SCHEMA, Alone, BufferAdvice, middle
from ackclock.advice.buffer.bottleneck import Bottleneck
from ackclock.advice.buffer.confirmation import Confirmation
from ackclock.advice.buffer.measures import MEASURES, MET, Measure, Target, shown_number
from ackclock.advice.buffer.trials import BATCHES, Outcome
from ackclock.metrics import Interval
from ackclock.table import Cell, Column, Table, Written, table
from ackclock.units import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["buffer_table", "figure", "marks", "paragraphs", "plain", "size_words", "title"]


def title(advice: BufferAdvice) -> str:
    """Returns the buffer and path in question."""
    hop = advice.hop
    mean = "" if hop.is_steady else " on average"
    flows = (
        f", {hop.long_flows} long flow{'' if hop.long_flows == 1 else 's'}"
        if hop.long_flows
        else ""
    )
    trip = f", mean RTT {shown(hop.round_trip_s, 's')} without queueing" if hop.paths else ""
    return (
        f"{advice.name}: buffer at {hop.name}, {shown(hop.rate_bit_per_s, 'bit/s')}{mean}, "
        f"packets of {hop.packet_bytes:g} bytes{flows}{trip}"
    )


def size_words(hop: Bottleneck, packets: int) -> str:
    """Formats a buffer in packets, bytes and milliseconds."""
    volume, time = shown(packets * hop.packet_bytes, "bytes"), shown(packets * hop.packet_s, "s")
    return f"{packets} packet{'' if packets == 1 else 's'} ({volume}, {time})"


def paragraphs(advice: BufferAdvice, confirmation: Confirmation | None = None) -> list[str]:
    """Returns the answer and its evidence, one paragraph each."""
    said = [*_answer(advice), *_alternatives(advice), *_models(advice)]
    said += [] if confirmation is None else [_confirmed(advice, confirmation)]
    return [*said, _method(advice)]


def buffer_table(advice: BufferAdvice) -> Table:
    """Returns the table of buffers: curve, rules of thumb, present queue and AQM."""
    measures = _measures(advice)
    columns = [
        *map(Column, ("packets", "kB", "ms")),
        *(Column(one.label, one.shown_unit) for one in measures),
    ]
    columns += map(Column, ("runs", "meets all", ""))
    remarks = marks(advice)
    rows = []
    for one in _shown(advice):
        size = one.setting.size
        remark = ", ".join(remarks.get(size, ()))
        rows.append([*_size(advice.hop, size), *_numbers(advice, one, measures), remark])
    places = advice.hop.present_packets()
    unlimited = "unlimited" if advice.hop.is_unlimited else ""
    now = [unlimited, "", ""] if places is None else _size(advice.hop, places)
    kind = "" if advice.hop.is_droptail else f" ({advice.hop.queue_name})"
    rows.append([*now, *_numbers(advice, advice.present, measures), f"scenario's queue{kind}"])
    rows += [
        ["", "", "", *_numbers(advice, one, measures), one.setting.label]
        for one in advice.alternatives
    ]
    return table(title(advice), columns, rows)


def _size(hop: Bottleneck, packets: float) -> list[Cell]:
    """Formats a buffer in packets, kB and ms."""
    size = packets if isinstance(packets, int) else Written(packets, f"{packets:.4g}")
    in_other_units = (packets * hop.packet_bytes / 1e3, packets * hop.packet_s * 1e3)
    return [size, *(Written(one, f"{one:.4g}") for one in in_other_units)]


def marks(advice: BufferAdvice) -> dict[int, list[str]]:
    """Returns remarks by size."""
    said: dict[int, list[str]] = {}
    if advice.recommended is not None and advice.answer is not None:
        said[advice.recommended.setting.size] = ["recommended"]
        said.setdefault(advice.answer.setting.size, []).append("smallest that meets all")
    if advice.largest is not None:
        said.setdefault(advice.largest, []).append("largest that meets all")
    for tried in advice.rules:
        said.setdefault(tried.rule.packets, []).append(tried.rule.name)
    for one in advice.alone if advice.answer is None else ():
        if one.sizes is not None and one.sizes.low.missed is not None:
            said.setdefault(one.sizes.low.met, []).append(
                f"smallest for {one.target.measure.label}"
            )
        if one.sizes is not None and one.sizes.high is not None:
            said.setdefault(one.sizes.high.met, []).append(
                f"largest for {one.target.measure.label}"
            )
    return said


def figure(advice: BufferAdvice) -> "Figure":
    """Draws the trade-off curve with targets as lines and the answer marked."""
    from ackclock.plot import Mark, Panel, trade_off

    drawn = _shown(advice)
    bounds = {target.measure.name: target.bound for target in advice.targets}
    panels = [
        Panel(
            f"{one.label} ({one.shown_unit})",
            [each.found[one.name].mean * one.shown_per_unit for each in drawn],
            [each.found[one.name].half_width * one.shown_per_unit for each in drawn],
            bounds[one.name] * one.shown_per_unit if one.name in bounds else None,
            one.at_least,
        )
        for one in _measures(advice)
    ]
    answer, allowed, heading = None, None, f"no drop-tail buffer ({advice.status})"
    if advice.answer is not None and advice.recommended is not None:
        size = advice.recommended.setting.size
        answer, heading = Mark(size, f"{size} packets"), size_words(advice.hop, size)
        allowed = (advice.answer.setting.size, advice.largest or _most(advice))
    heading = f"{heading}: {_all(advice.targets)}\n{title(advice)}"
    sized = [Mark(one.rule.packets, one.rule.name) for one in advice.rules]
    return trade_off(
        [one.setting.size for one in drawn], panels, heading, answer=answer, allowed=allowed,
        marks=sized, ms_per_packet=advice.hop.packet_s * 1e3,
    )  # fmt: skip


def plain(advice: BufferAdvice, confirmation: Confirmation | None = None) -> dict[str, Any]:
    """Returns everything as plain data for JSON, with units in the names."""
    hop = advice.hop
    told: dict[str, Any] = {
        "schema": SCHEMA, "question": advice.question, "name": advice.name, "status": advice.status,
        "hop": {
            "name": hop.name, "rate_bit_per_s": hop.rate_bit_per_s, "is_steady": hop.is_steady,
            "packet_bytes": hop.packet_bytes, "round_trip_s": hop.round_trip_s,
            "long_flows": hop.long_flows, "queue": hop.queue,
        },
        "targets": [_plain_target(one) for one in advice.targets],
        "recommended": None if advice.recommended is None else _plain(advice, advice.recommended),
        "answer": None if advice.answer is None else _plain(advice, advice.answer),
        "known_from_packets": advice.known_from,
        "largest_packets": advice.largest,
        "binding": None if advice.binding is None else advice.binding.measure.name,
        "alone": [_plain_alone(one) for one in advice.alone],
        "buffers": [_plain(advice, one) for one in advice.every if one.setting.size],
        "curve_packets": [one.setting.size for one in advice.curve],
        "rules": [
            {"name": one.rule.name, "says": one.rule.says} | _plain(advice, one.outcome)
            for one in advice.rules
        ],
        "present": {"packets": hop.present_packets(), "verdicts": _verdicts(advice, advice.present)}
        | _found(advice.present),
        "models": [vars(one) for one in advice.models],
        "alternatives": [_plain(advice, one) for one in advice.alternatives],
        "replicates_in_a_batch": advice.replicates, "batches_at_most": BATCHES,
        "warnings": list(advice.warnings),
        "sentences": paragraphs(advice, confirmation),
    }  # fmt: skip
    if confirmation is not None:
        told["emulation"] = {
            "why_not": confirmation.why or None, "unreliable_runs": confirmation.unreliable,
            "buffers": [_plain(advice, one) for one in confirmation.outcomes],
        }  # fmt: skip
    return told


def _measures(advice: BufferAdvice) -> list[Measure]:
    return [one for name, one in MEASURES.items() if name in advice.present.found]


def _shown(advice: BufferAdvice) -> list[Outcome]:
    """Returns the buffers of the table, ascending."""
    wanted = {one.setting.size for one in advice.curve} | set(marks(advice))
    return [one for one in advice.every if one.setting.is_droptail and one.setting.size in wanted]


def _numbers(advice: BufferAdvice, one: Outcome, measures: list[Measure]) -> list[Cell]:
    numbers = [_number(measure, one.found[measure.name]) for measure in measures]
    verdicts = {one.judge(target) for target in advice.targets}
    met = "yes" if verdicts == {MET} else "no" if "missed" in verdicts else "perhaps"
    return [*numbers, one.replicates, met]


def _number(measure: Measure, found: Interval) -> Cell:
    scale = measure.shown_per_unit
    value = Interval(found.mean * scale, found.half_width * scale, found.replicates)
    return Written(value, shown_number(measure, found))


def _answer(advice: BufferAdvice) -> list[str]:
    if advice.answer is None or advice.recommended is None:
        return _no_answer(advice)
    size, hop = advice.answer.setting.size, advice.hop
    said = [
        _recommended(advice, advice.recommended, size),
        f"queue = {_toml(advice.recommended.setting.queue)}",
    ]
    said.append(
        f"{size_words(hop, size)} is the smallest drop-tail buffer shown to meet "
        f"{_all(advice.targets)}."
    )
    if advice.known_from is not None and advice.known_from < size:
        said[-1] += f" The smallest possible has {advice.known_from} to {size} packets"
        said[-1] += ": with fewer a target is missed." if advice.known_from > 1 else "."
    elif size > 1:
        said[-1] += " With fewer packets a target is missed."
    if advice.binding is not None and advice.below is not None:
        name = advice.binding.measure.name
        found = (
            f"{shown_number(advice.binding.measure, advice.below.found[name])} "
            f"{advice.binding.measure.shown_unit}"
        )
        how = "misses it" if advice.below.judge(advice.binding) == "missed" else "may miss it"
        said.append(
            f"The binding target is {advice.binding.words}: with {advice.below.setting.size} "
            f"packets {found} {how}."
        )
    if advice.largest is not None and advice.largest >= size:
        said.append(f"All targets are met from {size} up to {size_words(hop, advice.largest)}.")
    else:
        said.append(
            f"No larger buffer tried misses a target, up to {size_words(hop, _most(advice))}."
        )
    return said


def _recommended(advice: BufferAdvice, one: Outcome, smallest: int) -> str:
    """Returns what to configure, why, and what to expect of it."""
    size, largest = one.setting.size, advice.largest or _most(advice)
    tried = "" if advice.largest else " tried"
    those = f"the buffers{tried} that meet all targets, {smallest} to {largest} packets"
    if smallest == largest:
        why = f"the only buffer{tried} that meets all targets"
    elif size != middle(smallest, largest):
        why = f"nearest to the middle of {those}, among those shown to meet them"
    elif size < round((smallest * largest) ** 0.5):
        why = f"twice the smallest of {those}"
    else:
        why = f"the geometric middle of {those}"
    found = _list(
        [
            f"{each.label} {shown_number(each, one.found[each.name])} {each.shown_unit}"
            for each in _measures(advice)
        ]
    )
    runs = f"{one.replicates} run{'' if one.replicates == 1 else 's'}"
    return f"Recommended: {size_words(advice.hop, size)}, {why}. Expect {found} ({runs})."


def _no_answer(advice: BufferAdvice) -> list[str]:
    head = {
        "infeasible": f"Infeasible: no drop-tail buffer meets {_all(advice.targets)}.",
        "undecided": (
            f"Undecided: {BATCHES * advice.replicates} replicates do not show whether a drop-tail "
            f"buffer meets {_all(advice.targets)}; give more with --replicates, or a longer "
            "duration."
        ),
    }[advice.status]
    return [head, *(_alone(advice, one) for one in advice.alone)]


def _alone(advice: BufferAdvice, one: Alone) -> str:
    """Returns what a single target requires."""
    hop = advice.hop
    if one.sizes is None:
        found = f"{shown_number(one.target.measure, one.best.found[one.target.measure.name])}"
        return (
            f"{one.target.words} alone: no buffer up to {size_words(hop, _most(advice))} meets it; "
            f"{size_words(hop, one.best.setting.size)} comes nearest with {found} "
            f"{one.target.measure.shown_unit}."
        )
    low, high = one.sizes.low, one.sizes.high
    ends = []
    if low.missed is not None or high is None:
        ends.append(f"from {size_words(hop, low.met)} on")
    if high is not None:
        ends.append(f"up to {size_words(hop, high.met)}")
    return f"{one.target.words} alone: met {' and '.join(ends)}."


def _alternatives(advice: BufferAdvice) -> list[str]:
    if not advice.alternatives:
        return []
    last = advice.alternatives[-1]
    if last.meets_all(advice.targets):
        ecn = "; its senders negotiate ECN" if last.setting.ecn else ""
        meets = f"{last.setting.label} meets all targets: {_found_words(advice, last)}{ecn}."
        return [meets, f"queue = {_toml(last.setting.queue)}"]
    nearest = [
        f"{one.setting.label} has {_found_words(advice, one)}" for one in advice.alternatives
    ]
    return [
        "No active queue management that was tried meets them either; nearest: "
        f"{'; '.join(nearest)}."
    ]


def _found_words(advice: BufferAdvice, one: Outcome) -> str:
    measures = [target.measure for target in advice.targets]
    return ", ".join(
        f"{each.label} {shown_number(each, one.found[each.name])} {each.shown_unit}"
        for each in measures
    )


def _models(advice: BufferAdvice) -> list[str]:
    said = []
    for one in advice.models:
        if not one.flow:
            said.append(f"{one.label}: does not apply ({one.note})")
            continue
        parts = []
        if one.packets is not None:
            parts.append(f"{one.packets} packets are enough for the utilisation")
        if one.utilisation is not None and advice.answer is not None:
            parts.append(f"{one.utilisation * 100:.4g} % with {advice.answer.setting.size} packets")
        said.append(
            f"{one.label} (for {one.flow}): {', '.join(parts)}{f'; {one.note}' if one.note else ''}"
        )
    return [f"Models: {'. '.join(said)}."] if said else []


def _confirmed(advice: BufferAdvice, confirmation: Confirmation) -> str:
    if confirmation.why:
        return f"Not confirmed by emulation: {confirmation.why}"
    each = [
        (
            f"{one.setting.label}: {_found_words(advice, one)} ({one.replicates} "
            f"run{'' if one.replicates == 1 else 's'})"
        )
        for one in confirmation.outcomes
    ]
    doubt = (
        f"; {confirmation.unreliable} runs are unreliable and left out"
        if confirmation.unreliable
        else ""
    )
    return f"Emulated with the kernel's TCP: {'; '.join(each)}{doubt}."


def _method(advice: BufferAdvice) -> str:
    runs = sum(one.replicates for one in advice.every)
    return (
        f"From {runs} simulated runs, with the same seeds for every buffer. A target counts as met "
        "or missed if the whole 95 % interval of the mean over replicates is on one side of it; "
        f"otherwise up to {BATCHES * advice.replicates} replicates are run. The p99 delay is over "
        "time, not over packets: the time to send what waits at each sampling time."
    )


def _most(advice: BufferAdvice) -> int:
    return max(one.setting.size for one in advice.every if one.setting.is_droptail)


def _all(targets: tuple[Target, ...]) -> str:
    return _list([target.words for target in targets])


def _list(words: list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _toml(queue: dict[str, Any] | None) -> str:
    """Formats a queue as in a scenario."""
    fields = ((name, value) for name, value in (queue or {}).items() if value is not False)
    return "{ " + ", ".join(f"{name} = {json.dumps(value)}" for name, value in fields) + " }"


def _plain_interval(found: Interval) -> dict[str, float]:
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _found(one: Outcome) -> dict[str, Any]:
    return {name: _plain_interval(found) for name, found in one.found.items()} | {
        "replicates": one.replicates
    }


def _verdicts(advice: BufferAdvice, one: Outcome) -> dict[str, str]:
    return {target.measure.name: one.judge(target) for target in advice.targets}


def _plain(advice: BufferAdvice, one: Outcome) -> dict[str, Any]:
    size, hop = one.setting.size, advice.hop
    sized = {"packets": size, "bytes": size * hop.packet_bytes, "ms": size * hop.packet_s * 1e3}
    queue = {"queue": one.setting.queue, "senders_use_ecn": one.setting.ecn}
    return (
        sized
        | queue
        | _found(one)
        | {"verdicts": _verdicts(advice, one), "runs": list(one.folders)}
    )


def _plain_target(target: Target) -> dict[str, Any]:
    return {
        "measure": target.measure.name,
        "at_least": target.measure.at_least,
        "bound": target.bound,
    }


def _plain_alone(one: Alone) -> dict[str, Any]:
    low, high = (None, None) if one.sizes is None else (one.sizes.low, one.sizes.high)
    return {
        "measure": one.target.measure.name,
        "from_packets": None if low is None else low.met,
        "missed_up_to_packets": None if low is None else low.missed,
        "up_to_packets": None if high is None else high.met,
        "missed_from_packets": None if high is None else high.missed,
        "nearest_packets": one.best.setting.size,
    }
