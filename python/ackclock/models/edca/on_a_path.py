"""What a scenario's flow that contends in a cell means to the models, and what they take for granted of it.

Queues are of one class if they contend in the same way, and their exchanges and what ACKs add to
them last the same. TCP's ACKs are no class: either they have absolute priority, and add to each
success of the data they answer, or there is no answer.
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

# A saw-tooth over a buffer of 0.8 BDP (1 - beta)/beta still takes 0.995 of a steady link (Reno,
# fluid): of one whose queue contends alone.
_ENOUGH_ALONE = 0.8

# What a buffer must hold beyond that product where others contend, as waits are long and short: the
# a of eBDP (Li, Leith 2008).
_FOR_UNEVEN_WAITS = 40

# Times that differ by less are equal.
_SAME_TIME = 1e-9


class _Kind(NamedTuple):
    """What queues of one class have in common; times in s, without the AIFS that follows.

    Attributes:
        aifsn: AIFSN.
        cw_min: CWmin.
        cw_max: CWmax.
        success: Of an exchange.
        collision: Of a collision in which it is the longest.
        priority: What ACKs add to a success, AIFS and backoff included.
    """

    aifsn: int
    cw_min: int
    cw_max: int
    success: float
    collision: float
    priority: float


def dcf_inputs_of(path: FlowPath) -> dict[str, float]:
    """The inputs of the model of alike stations; asked only where it does not refuse the path."""
    cell = _known(path)
    ((kind, queues),) = _kinds(cell).items()
    times = saturation.with_aifs(_phy(cell), Exchange(kind.success, kind.collision), kind.aifsn)
    return times | _of_the_path(path) | {
        "stations": float(queues), "priority": kind.priority, "cw_min": float(kind.cw_min),
        "cw_max": float(kind.cw_max), "retries": float(cell.timing.retries),
    }  # fmt: skip


def edca_inputs_of(path: FlowPath) -> dict[str, float]:
    """The inputs of the model of two classes, the flow's own first; of alike queues one is a class for itself."""
    cell = _known(path)
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
        of + name: float(value)
        for of, kind, queues in each
        for name, value in {
            "stations": queues, "aifsn": kind.aifsn, "cw_min": kind.cw_min, "cw_max": kind.cw_max,
            "exchange": kind.success + kind.priority, "collided_exchange": kind.collision,
        }.items()
    }  # fmt: skip


def dcf_refusal(path: FlowPath) -> str:
    """Why the model of alike stations has no answer."""
    if reason := _refusal(path):
        return reason
    count = len(_kinds(_known(path)))
    return unless(count == 1, f"queues of {count} classes contend, it is about alike ones")


def edca_refusal(path: FlowPath) -> str:
    """Why the model of two classes has no answer."""
    if reason := _refusal(path):
        return reason
    kinds = _kinds(_known(path))
    if sum(kinds.values()) == 1:
        return "one queue of data contends alone"
    return unless(len(kinds) <= 2, f"queues of {len(kinds)} classes contend, it takes two")


def _refusal(path: FlowPath) -> str:
    cell = path.cell
    if cell is None:
        return "its data contend for no medium"
    if cell.unclear:
        return cell.unclear
    for one in cell.contenders:
        if len({sender.packet_bytes for sender in one.senders}) > 1:
            return f"packets of different sizes share the queue of {one.hop}"
        for answers in _answers(one):
            if not _goes_first(answers.access, cell):
                ack = answers.access
                return f"TCP's ACKs contend with data: AIFSN {ack.aifsn}, CWmin {ack.cw_min} is not absolute priority"
    return ""


def _goes_first(ack: Access, cell: Cell) -> bool:
    """Whether what contends so is sent before any counter of data has moved."""
    return ack.cw_min < min(one.access.aifsn for one in cell.contenders) - ack.aifsn


def _known(path: FlowPath) -> Cell:
    assert path.cell is not None, "refused without"
    return path.cell


def _of_the_path(path: FlowPath) -> dict[str, float]:
    cell = _known(path)
    return {"rtt": path.round_trip.base_s, "flows": float(cell.contenders[cell.own].flows)}


def _answers(one: Contender) -> tuple[Answers, ...]:
    return tuple(answers for sender in one.senders for answers in sender.answers)


def _phy(cell: Cell) -> Phy:
    timing = cell.timing
    return Phy(
        "of a scenario", timing.slot, timing.sifs, timing.preamble, timing.control_preamble, timing.symbol,
        timing.more_bits, timing.extension,
    )  # fmt: skip


def _exchange(cell: Cell, packet_bytes: float, bit_per_s: float) -> Exchange:
    timing = cell.timing
    size = packet_bytes + timing.header_bytes
    return exchange(
        _phy(cell), size, bit_per_s, timing.basic_bit_per_s, rts=size >= timing.rts_bytes, eifs=timing.eifs,
        ack_size=timing.ack_bytes,
    )  # fmt: skip


def _kind(cell: Cell, one: Contender) -> _Kind:
    """Flows behind a queue share it evenly, and so the mean of what their ACKs add is what a success has behind it."""
    times = _exchange(cell, one.senders[0].packet_bytes, one.access.bit_per_s)
    added = sum(
        sender.instances / one.flows * answers.per_packet * _after_success(cell, answers)
        for sender in one.senders
        for answers in sender.answers
    )
    digits = (
        round(time / _SAME_TIME) * _SAME_TIME for time in (times.success, times.collision, added)
    )
    return _Kind(one.access.aifsn, one.access.cw_min, one.access.cw_max, *digits)


def _after_success(cell: Cell, answers: Answers) -> float:
    times = _exchange(cell, answers.packet_bytes, answers.access.bit_per_s)
    return saturation.priority_time(_phy(cell), times, answers.access.aifsn, answers.access.cw_min)


def _kinds(cell: Cell) -> dict[_Kind, int]:
    """How many queues there are of each."""
    found: dict[_Kind, int] = {}
    for one in cell.contenders:
        kind = _kind(cell, one)
        found[kind] = found.get(kind, 0) + one.queues
    return found


@lru_cache
def _rates(cell: Cell) -> dict[_Kind, float]:
    """What a queue of each class gets, in packets per second, if it is one class or two."""
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
    """The first queue of the cell that is empty at times."""
    cell = path.cell
    if cell is None:
        return ""
    rates = _rates(cell)
    alone = sum(one.queues for one in cell.contenders) == 1
    every = (_empties(one, rates[_kind(cell, one)], alone=alone) for one in cell.contenders)
    return next(filter(None, every), "")


def _empties(one: Contender, rate: float, *, alone: bool) -> str:
    share = rate / one.flows
    for sender in one.senders:
        if sender.is_busy is None:
            return f"it is not known whether {sender.flow} always has data to send"
        if not sender.is_busy:
            return f"{sender.flow} has not always data to send"
        if sender.most_per_s < share:
            return f"{sender.flow} sends {sender.most_per_s:.4g} packets/s at the most, it could have {share:.4g}"
    if one.places == inf:
        return ""
    if unclear := next((sender.unclear for sender in one.senders if sender.unclear), ""):
        return f"it is not known whether the queue of {one.hop} runs empty: {unclear}"
    # How much a queue must hold to last through its flows' reductions, which come one by one.
    dips = [
        sender.instances * sender.round_trip_s * (1 - sender.kept_share) / sender.kept_share
        for sender in one.senders
    ]
    needed = rate * sum(dips) / one.flows / sqrt(one.flows)
    if needed > 0:
        needed = _ENOUGH_ALONE * needed if alone else needed + _FOR_UNEVEN_WAITS
    if isnan(one.places):
        return (
            f"it is not known whether the queue of {one.hop} runs empty: its capacity is not stated"
        )
    return unless(
        one.places + 1 >= needed,
        f"the queue of {one.hop} runs empty after losses: about {needed:.0f} packets would do, it holds "
        f"{one.places + 1:.4g}",
    )


def _within_stations(path: FlowPath) -> str:
    """Two queues of data of one station."""
    stations = [one.station for one in path.cell.contenders] if path.cell else []
    twice = next((name for name in stations if stations.count(name) > 1), None)
    return unless(twice is None, f"{twice} sends data through several queues")


def _unlike(path: FlowPath) -> str:
    """Why flows behind the queue need not share it evenly."""
    if path.cell is None:
        return ""
    senders = path.cell.contenders[path.cell.own].senders
    alike = (
        len({(sender.control, sender.round_trip_s, sender.most_per_s) for sender in senders}) == 1
    )
    return unless(alike, "flows behind its queue differ in control, round-trip time or rate")


SATURATED = Assumption("saturated", "every station always has something to send", _not_saturated)
NO_INTERNAL_COLLISIONS = Assumption(
    "no_internal_collisions", "a station has one queue of one class for data", _within_stations
)
EVEN_SHARES = Assumption("even_shares", "flows behind one queue share it evenly", _unlike)
ACKS_DO_NOT_COLLIDE = Assumption(
    "acks_do_not_collide",
    "TCP's ACKs of absolute priority collide with nothing, each other included",
)
