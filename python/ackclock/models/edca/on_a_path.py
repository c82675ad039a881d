"""Inputs, refusals and assumptions of the 802.11 models for a flow of a scenario.

Queues are of one class if they contend in the same way, and their exchanges and the ACKs' addition
to them take the same time. TCP's ACKs are not a class. Either they have absolute priority and
lengthen each success of the data that they acknowledge, or the models do not apply.
"""

from functools import lru_cache
from math import inf, isnan, sqrt
from typing import NamedTuple

from ackclock.models.assumptions import unless
from ackclock.models.cell import Access, Answers, Cell, Contender
from ackclock.models.edca import saturation
from ackclock.models.edca.access_class import AccessClass
from ackclock.models.edca.backoff import Backoff
from ackclock.models.edca.classes import solve
from ackclock.models.edca.phy import Exchange, Phy, exchange
from ackclock.models.model import Assumption
from ackclock.models.path import FlowPath

# A buffer of 0.8 BDP (1 - beta)/beta lets a saw-tooth still use 0.995 of a steady link (Reno,
# fluid), such as that of a queue that contends alone.
_ENOUGH_ALONE = 0.8

# Extra buffer in packets needed when others contend, as waits then vary: the a of eBDP (Li, Leith
# 2008).
_FOR_UNEVEN_WAITS = 40

# Times that differ by less are equal.
_SAME_TIME = 1e-9


class _Kind(NamedTuple):
    """The properties of queues of one class; times in s, without the AIFS that follows.

    Attributes:
        aifsn: AIFSN.
        cw_min: CWmin.
        cw_max: CWmax.
        success: Time of an exchange.
        collision: Time of a collision in which it is the longest.
        priority: Time that ACKs add to a success, with AIFS and backoff.
    """

    aifsn: int
    cw_min: int
    cw_max: int
    success: float
    collision: float
    priority: float


def dcf_inputs_of(path: FlowPath) -> dict[str, float]:
    """Returns the inputs of the model of identical stations; the path must not be refused."""
    cell = _cell(path)
    ((kind, queues),) = _kinds(cell).items()
    times = saturation.with_aifs(_phy(cell), Exchange(kind.success, kind.collision), kind.aifsn)
    return times | _of_the_path(path) | {
        "stations": float(queues), "priority": kind.priority, "cw_min": float(kind.cw_min),
        "cw_max": float(kind.cw_max), "retries": float(cell.timing.retries),
    }  # fmt: skip


def edca_inputs_of(path: FlowPath) -> dict[str, float]:
    """Returns the inputs of the two-class model, the flow's own class first.

    If all queues are identical, the flow's own queue is a class of its own.
    """
    cell = _cell(path)
    kinds, own = _kinds(cell), _kind(cell, cell.contenders[cell.own])
    if len(kinds) == 1:
        each = (("", own, 1), ("other_", own, kinds[own] - 1))
    else:
        other = next(kind for kind in kinds if kind != own)
        each = (("", own, kinds[own]), ("other_", other, kinds[other]))
    timing = {
        "slot": cell.timing.slot,
        "sifs": cell.timing.sifs,
        "retries": float(cell.timing.retries),
    }
    return timing | _of_the_path(path) | {
        prefix + name: float(value)
        for prefix, kind, queues in each
        for name, value in {
            "stations": queues, "aifsn": kind.aifsn, "cw_min": kind.cw_min, "cw_max": kind.cw_max,
            "exchange": kind.success + kind.priority, "collided_exchange": kind.collision,
        }.items()
    }  # fmt: skip


def dcf_refusal(path: FlowPath) -> str:
    """Returns the reason why the model of identical stations does not apply."""
    if reason := _refusal(path):
        return reason
    count = len(_kinds(_cell(path)))
    return unless(
        count == 1,
        f"queues of {count} classes contend, but the model is for identical ones",
    )


def edca_refusal(path: FlowPath) -> str:
    """Returns the reason why the model of two classes does not apply."""
    if reason := _refusal(path):
        return reason
    kinds = _kinds(_cell(path))
    if sum(kinds.values()) == 1:
        return "only one queue of data contends"
    return unless(
        len(kinds) <= 2, f"queues of {len(kinds)} classes contend, but the model is for two"
    )


def _refusal(path: FlowPath) -> str:
    cell = path.cell
    if cell is None:
        return "its data does not contend for a medium"
    if cell.unclear:
        return cell.unclear
    for contender in cell.contenders:
        if len({sender.packet_bytes for sender in contender.senders}) > 1:
            return f"packets of different sizes share the queue of {contender.hop}"
        for answers in _answers(contender):
            if not _goes_first(answers.access, cell):
                ack = answers.access
                return (
                    f"TCP's ACKs contend with data: AIFSN {ack.aifsn}, CWmin {ack.cw_min} is not "
                    "absolute priority"
                )
    return ""


def _goes_first(ack: Access, cell: Cell) -> bool:
    """Returns True if a queue with that access sends before any data counter has moved."""
    return ack.cw_min < min(contender.access.aifsn for contender in cell.contenders) - ack.aifsn


def _cell(path: FlowPath) -> Cell:
    assert path.cell is not None, "refused without"
    return path.cell


def _of_the_path(path: FlowPath) -> dict[str, float]:
    cell = _cell(path)
    return {"rtt": path.round_trip.base_s, "flows": float(cell.contenders[cell.own].flows)}


def _answers(contender: Contender) -> tuple[Answers, ...]:
    return tuple(answers for sender in contender.senders for answers in sender.answers)


def _phy(cell: Cell) -> Phy:
    timing = cell.timing
    return Phy(
        "of a scenario", timing.slot, timing.sifs, timing.preamble, timing.control_preamble,
        timing.symbol, timing.more_bits, timing.extension,
    )  # fmt: skip


def _exchange(cell: Cell, packet_bytes: float, bit_per_s: float) -> Exchange:
    timing = cell.timing
    size = packet_bytes + timing.header_bytes
    return exchange(
        _phy(cell), size, bit_per_s, timing.basic_bit_per_s, rts=size >= timing.rts_bytes,
        eifs=timing.eifs, ack_size=timing.ack_bytes,
    )  # fmt: skip


def _kind(cell: Cell, contender: Contender) -> _Kind:
    """Returns the class of a queue.

    Its flows share it evenly, so a success is followed by the mean of what their ACKs add.
    """
    times = _exchange(cell, contender.senders[0].packet_bytes, contender.access.bit_per_s)
    added = sum(
        sender.instances / contender.flows * answers.per_packet * _after_success(cell, answers)
        for sender in contender.senders
        for answers in sender.answers
    )
    digits = (
        round(time / _SAME_TIME) * _SAME_TIME for time in (times.success, times.collision, added)
    )
    return _Kind(contender.access.aifsn, contender.access.cw_min, contender.access.cw_max, *digits)


def _after_success(cell: Cell, answers: Answers) -> float:
    times = _exchange(cell, answers.packet_bytes, answers.access.bit_per_s)
    return saturation.priority_time(_phy(cell), times, answers.access.aifsn, answers.access.cw_min)


def _kinds(cell: Cell) -> dict[_Kind, int]:
    """Returns the number of queues of each class."""
    counts: dict[_Kind, int] = {}
    for contender in cell.contenders:
        kind = _kind(cell, contender)
        counts[kind] = counts.get(kind, 0) + contender.queues
    return counts


@lru_cache
def _rates(cell: Cell) -> dict[_Kind, float]:
    """Returns the packet rate of a queue of each class, for one class or two."""
    kinds, timing = _kinds(cell), cell.timing
    if len(kinds) == 1:
        ((kind, queues),) = kinds.items()
        times = saturation.with_aifs(_phy(cell), Exchange(kind.success, kind.collision), kind.aifsn)
        backoff = Backoff(kind.cw_min, kind.cw_max, timing.retries)
        return {
            kind: float(saturation.solve(queues, backoff, priority=kind.priority, **times).rate)
        }
    every = [
        AccessClass(
            queues,
            kind.aifsn,
            kind.cw_min,
            kind.cw_max,
            timing.retries,
            kind.success + kind.priority,
            kind.collision,
        )
        for kind, queues in kinds.items()
    ]
    return dict(zip(kinds, solve(every, timing.slot, timing.sifs).rate.tolist(), strict=True))


def _not_saturated(path: FlowPath) -> str:
    """Describes the first queue of the cell that is sometimes empty."""
    cell = path.cell
    if cell is None:
        return ""
    rates = _rates(cell)
    alone = sum(contender.queues for contender in cell.contenders) == 1
    every = (
        _empties(contender, rates[_kind(cell, contender)], alone=alone)
        for contender in cell.contenders
    )
    return next(filter(None, every), "")


def _empties(contender: Contender, rate: float, *, alone: bool) -> str:
    share = rate / contender.flows
    for sender in contender.senders:
        if sender.is_busy is None:
            return f"it is not known whether {sender.flow} always has data to send"
        if not sender.is_busy:
            return f"{sender.flow} does not always have data to send"
        if sender.most_per_s < share:
            return (
                f"{sender.flow} sends at most {sender.most_per_s:.4g} packets/s, but could send "
                f"{share:.4g}"
            )
    if contender.places == inf:
        return ""
    if unclear := next((sender.unclear for sender in contender.senders if sender.unclear), ""):
        return f"it is not known whether the queue of {contender.hop} runs empty: {unclear}"
    # Packets a queue must hold to bridge its flows' reductions, which happen one at a time.
    dips = [
        sender.instances * sender.round_trip_s * (1 - sender.kept_share) / sender.kept_share
        for sender in contender.senders
    ]
    needed = rate * sum(dips) / contender.flows / sqrt(contender.flows)
    if needed > 0:
        needed = _ENOUGH_ALONE * needed if alone else needed + _FOR_UNEVEN_WAITS
    if isnan(contender.places):
        return (
            f"it is not known whether the queue of {contender.hop} runs empty: "
            "its capacity is not stated"
        )
    return unless(
        contender.places + 1 >= needed,
        f"the queue of {contender.hop} runs empty after losses: "
        f"it holds {contender.places + 1:.4g} packets, but needs about {needed:.0f}",
    )


def _within_stations(path: FlowPath) -> str:
    """Describes a station with two queues of data."""
    stations = [contender.station for contender in path.cell.contenders] if path.cell else []
    twice = next((name for name in stations if stations.count(name) > 1), None)
    return unless(twice is None, f"{twice} sends data through several queues")


def _unlike(path: FlowPath) -> str:
    """Returns the reason why flows behind the queue may not share it evenly."""
    if path.cell is None:
        return ""
    senders = path.cell.contenders[path.cell.own].senders
    alike = (
        len({(sender.control, sender.round_trip_s, sender.most_per_s) for sender in senders}) == 1
    )
    return unless(alike, "flows behind its queue differ in control, round-trip time or rate")


# Of busy periods; a class with less is overestimated by up to a third (`edca.classes`).
_STARVED = 0.05


def _starved(path: FlowPath) -> str:
    cell = path.cell
    if cell is None:
        return ""
    rates, kinds = _rates(cell), _kinds(cell)
    own = _kind(cell, cell.contenders[cell.own])
    share = kinds[own] * rates[own] / sum(kinds[kind] * rates[kind] for kind in kinds)
    return unless(
        share >= _STARVED,
        f"the class gets {100 * share:.2g} % of the successes, and nearly starved classes get less "
        "than the model says",
    )


NOT_STARVED = Assumption(
    "not_starved",
    f"each class has {100 * _STARVED:g} % of the successes or more",
    _starved,
)
SATURATED = Assumption("saturated", "every station always has data to send", _not_saturated)
NO_INTERNAL_COLLISIONS = Assumption(
    "no_internal_collisions", "a station has one queue of one class for data", _within_stations
)
EVEN_SHARES = Assumption("even_shares", "flows behind one queue share it evenly", _unlike)
ACKS_DO_NOT_COLLIDE = Assumption(
    "acks_do_not_collide",
    "TCP's ACKs with absolute priority collide with nothing, not even each other",
)
