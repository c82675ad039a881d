"""Several classes of EDCA that always have something to send: own windows, AIFSN, retries and number of stations each.

Time is cut at the ends of busy periods. After one, a station of a class that has drawn b sends
AIFSN + b slots later, if nobody was earlier: slots before its AIFSN belong to the classes of
smaller ones alone (contention zones: Robinson and Randhawa 2004; Bianchi, Tinnirello, Scalia 2005).
In their analyses a class attempts with the same probability in each slot where it may. Then a class
that is always ready within CWmin slots would still leave a chance to one that must wait longer. So
the law g(b) of what a station has left to count is kept here, and the fixed point is one of these
laws:

- From g of each class follows in which slot the others of a station are the first to send, f(m).
- From f follows what becomes of a draw b: the station is first (success), with others (collision),
  or counts on with what is left. So each stage k has a collision probability p_k of its own, a
  frame comes to stage k with probability p_0 ... p_{k-1}, and visits to each b add up to g.

What is approximated is one thing, that stations are independent at the end of a busy period. With
`freezing` counters stand still while others send, as the standard has it: in the slot after a busy
period nobody who has waited through it can send at the end of AIFS, only those who have drawn anew.
Without it the busy slot counts like any other, as in Bianchi's chain, and from the largest AIFSN on
attempts are alike in each slot, as there: classes that are alike are then exactly what `saturation`
says of them. In both, a class whose windows end before another's AIFSN leaves that nothing.

How right it is beside a simulation by slots, with freezing: shares of busy periods within 0.003 for
windows of 16 and more, whatever the AIFSN, and within 0.02 where a class is a handful of stations
with windows of 4 and 8, as those have often just collided with each other. A class that is all but
starved (less than 0.02 of busy periods) gets less than is counted, by 7 % to a third, and the last
of four almost nothing. Without freezing: within 0.02, and 0.07.

Left out is that two queues of a station collide within it: each class's queues are stations. Steps
come to the same laws from the smallest and the largest windows wherever we looked, but that there
is one solution is not proved, and not always so: with CWmin 0 one of two alike stations may keep
the medium for itself (Ramaiyan, Kumar, Altman 2008 say when there is one). All laws are moved at
once: alike classes stay alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.models.domain import POSITIVE, check
from ackclock.models.edca.access_class import AccessClass
from ackclock.models.edca.counters import Counters
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

_CLOSE = 1e-13
_MOST_STEPS = 5000


@dataclass(frozen=True)
class Contention:
    """What classes get; arrays have one number for each.

    Attributes:
        success: Of busy periods, the share that is a success of the class.
        collision: Of busy periods, the share that is a collision.
        idle_slots: Mean slots from SIFS after a busy period to the next.
        cycle: Mean time from the end of a busy period to that of the next, in s.
        rate: Frames per second of each station, that come through.
        collision_probability: Of an attempt.
        retry_drop_rate: Share of frames that are given up.
        airtime: Shares of time: SIFS and idle slots, successes of each class, collisions. They add
            up to one.
    """

    success: Array
    collision: float
    idle_slots: float
    cycle: float
    rate: Array
    collision_probability: Array
    retry_drop_rate: Array
    airtime: Array


def solve(
    classes: Sequence[AccessClass],
    slot: float,
    sifs: float,
    *,
    freezing: bool = True,
    patient: bool = False,
) -> Contention:
    """The fixed point.

    Args:
        classes: At least one.
        slot: In s.
        sifs: In s.
        freezing: Whether counters stand still while others send, see above.
        patient: Whether to begin with the largest windows; it ends the same.

    Raises:
        ValueError: An argument is out of its domain, or steps do not end.
    """
    check(slot=(slot, POSITIVE), sifs=(sifs, POSITIVE))
    if not classes:
        refuse("classes", "none", "leaves nothing to contend; give at least one")
    slots = max(one.aifsn + one.cw_max for one in classes) + 1
    common = None if freezing else max(one.aifsn for one in classes)
    laws = [Counters.begun(one, slots, common, patient) for one in classes]
    for _ in range(_MOST_STEPS):
        after = [law.answering(_nobody(laws, but=number)) for number, law in enumerate(laws)]
        moved = max(
            float(np.abs(new.waiting - old.waiting).max())
            for new, old in zip(after, laws, strict=True)
        )
        laws = after
        if moved < _CLOSE:
            break
    else:
        refuse(
            "classes",
            f"of {len(classes)}",
            f"have no solution within {_MOST_STEPS} steps; give other windows",
        )
    return _contention(laws, slot, sifs)


def _nobody(laws: Sequence[Counters], but: int | None = None) -> Array:
    """Probability that nobody has sent before slot m, or none of the others of a station of one class."""
    each = [one.waiting ** (one.of.stations - (place == but)) for place, one in enumerate(laws)]
    return np.asarray(np.prod(each, axis=0))


def _contention(laws: Sequence[Counters], slot: float, sifs: float) -> Contention:
    nobody, weights = _weighted(laws)
    slots = len(weights)
    success = np.array([
        one.of.stations * (weights * (one.waiting[:slots] - one.waiting[1 : slots + 1]) * others[1 : slots + 1]).sum()
        for one, others in ((one, _nobody(laws, but=place)) for place, one in enumerate(laws))
    ])  # fmt: skip
    idle_slots = float((weights * nobody[1 : slots + 1]).sum())
    longest = _longest(laws, weights) - success
    times = np.array([[one.of.success, one.of.collision] for one in laws])
    spent = np.concatenate(
        [[sifs + slot * idle_slots], success * times[:, 0], [(longest * times[:, 1]).sum()]]
    )
    cycle = float(spent.sum())
    return Contention(
        success=success,
        collision=float(longest.sum()),
        idle_slots=idle_slots,
        cycle=cycle,
        rate=success / np.array([one.of.stations for one in laws]) / cycle,
        collision_probability=np.array([one.collision_probability for one in laws]),
        retry_drop_rate=np.array([one.retry_drop_rate for one in laws]),
        airtime=spent / cycle,
    )


def _weighted(laws: Sequence[Counters]) -> tuple[Array, Array]:
    """Probability that nobody has sent before slot m, and how often to count what happens in each slot.

    Once attempts are alike in each slot, the first of these stands for all that follow.
    """
    nobody, common = _nobody(laws), laws[0].common
    if common is None:
        return nobody, np.ones(len(nobody) - 1)
    weights = np.ones(common + 1)
    if nobody[common] > 0:
        weights[common] = 1 / (1 - nobody[common + 1] / nobody[common])
    return nobody, weights


def _longest(laws: Sequence[Counters], weights: Array) -> Array:
    """Of busy periods, the share in which each class sends, and none whose collisions last longer."""
    order = np.argsort([one.of.collision for one in laws], kind="stable")
    slots = len(weights)
    silent = np.array([one.waiting**one.of.stations for one in laws])[order]
    here, after = silent[:, :slots], silent[:, 1 : slots + 1]
    # Nobody of the longer ones in this slot; less the same of the next shorter.
    up_to = [
        np.prod(np.concatenate([here[:count], after[count:]]), axis=0)
        for count in range(len(laws) + 1)
    ]
    shares = np.empty(len(laws))
    shares[order] = (weights * np.diff(up_to, axis=0)).sum(axis=1)
    return shares
