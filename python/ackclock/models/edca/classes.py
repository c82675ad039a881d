"""Several saturated classes of EDCA, each with its windows, AIFSN, retries and stations.

Time is divided at the ends of busy periods. After one, a station of a class that has drawn b sends
AIFSN + b slots later, unless another was earlier. Slots before its AIFSN belong only to the classes
with a smaller AIFSN (contention zones: Robinson and Randhawa 2004; Bianchi, Tinnirello, Scalia
2005). In their analyses a class attempts with the same probability in each slot where it may. A
class that always sends within CWmin slots would then still leave a chance to one that must wait
longer. So this analysis keeps the law g(b) of a station's remaining backoff. The fixed point is one
of these laws.

From g of each class follows f(m): the others of a station are the first to send, in slot m. From f
follows the fate of a draw b: the station is first (success), first with others (collision), or
continues with the rest of its backoff. So each stage k has its own collision probability p_k. A
frame reaches stage k with probability p_0 ... p_{k-1}. The visits to each b add up to g.

The only approximation is that stations are independent at the end of a busy period. With `freezing`
counters stop while others send, as in the standard. A station that has waited through a busy period
then cannot send at the end of its AIFS; only one with a new draw can. Without freezing the busy
slot counts like any other, as in Bianchi's chain, and from the largest AIFSN on attempts are
equally likely in each slot, as there. Identical classes then match `saturation` exactly. In both
cases, a class whose windows end before another's AIFSN starves the other.

Accuracy against a slot simulation with freezing: shares of busy periods are within 0.003 for
windows of 16 and more, whatever the AIFSN. They are within 0.02 if a class is a handful of stations
with windows of 4 and 8, as those have often just collided with each other. For a nearly starved
class (less than 0.02 of busy periods) the result is too high, by 7 % to a third. The last of four
classes in fact gets almost nothing. Without freezing they are within 0.02, or 0.07 for small
windows.

Collisions between two queues of a station are ignored: each queue counts as a station. The
iteration reached the same laws from the smallest and the largest windows in all cases tried, but
uniqueness is not proved and not always true. With CWmin 0 one of two identical stations may capture
the medium (Ramaiyan, Kumar, Altman 2008 give conditions for uniqueness). All laws are updated at
once, so that identical classes stay identical.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import NoReturn

import numpy as np

from ackclock.models.domain import POSITIVE, check
from ackclock.models.edca.access_class import AccessClass
from ackclock.models.edca.counters import Counters
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# Laws that move by less are the same. With thousands of stations rounding moves them by more, which
# is accepted after some hundred steps.
_CLOSE, _CLOSE_ENOUGH = 1e-13, 1e-9
_MANY_STEPS, _MOST_STEPS = 500, 2000


@dataclass(frozen=True)
class Contention:
    """Results of the contention; arrays have one entry per class.

    Attributes:
        success: Share of busy periods that are a success of the class.
        collision: Share of busy periods that are a collision.
        idle_slots: Mean number of slots from SIFS after a busy period to the next.
        cycle: Mean time from the end of a busy period to that of the next, in s.
        rate: Frames per second delivered by each station.
        collision_probability: Collision probability of an attempt.
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
    """Returns the fixed point.

    Args:
        classes: At least one class.
        slot: Slot in s.
        sifs: SIFS in s.
        freezing: True if counters stop while others send, as described above.
        patient: True to begin with the largest windows; the result is the same.

    Raises:
        ValueError: An argument is out of its domain, or the iteration does not converge.
    """
    check(slot=(slot, POSITIVE), sifs=(sifs, POSITIVE))
    if not classes:
        refuse("classes", "none", "leaves nothing to contend; give at least one")
    slots = max(access.aifsn + access.cw_max for access in classes) + 1
    common = None if freezing else max(access.aifsn for access in classes)
    laws = [Counters.begun(access, slots, common, patient) for access in classes]
    for step in range(_MOST_STEPS):
        after = [law.answering(_nobody(laws, but=number)) for number, law in enumerate(laws)]
        moves = [
            np.abs(new.waiting - old.waiting).max() for new, old in zip(after, laws, strict=True)
        ]
        laws, moved = after, float(np.max(moves))
        if isnan(moved):  # a station has more visits than doubles can count
            _refuse_unsolved(classes)
        if moved < (_CLOSE if step < _MANY_STEPS else _CLOSE_ENOUGH):
            break
    else:
        _refuse_unsolved(classes)
    return _contention(laws, slot, sifs)


def _refuse_unsolved(classes: Sequence[AccessClass]) -> NoReturn:
    refuse(
        "classes",
        f"of {len(classes)}",
        f"have no solution within {_MOST_STEPS} steps; give other windows",
    )


def _nobody(laws: Sequence[Counters], but: int | None = None) -> Array:
    """Returns the probability that nobody, or nobody but one of class `but`, sent before slot m."""
    each = [law.waiting ** (law.access.stations - (place == but)) for place, law in enumerate(laws)]
    return np.asarray(np.prod(each, axis=0))


def _contention(laws: Sequence[Counters], slot: float, sifs: float) -> Contention:
    nobody, weights = _weighted(laws)
    slots = len(weights)
    success = np.array([
        law.access.stations
        * (
            weights * (law.waiting[:slots] - law.waiting[1 : slots + 1]) * others[1 : slots + 1]
        ).sum()
        for law, others in ((law, _nobody(laws, but=place)) for place, law in enumerate(laws))
    ])  # fmt: skip
    idle_slots = float((weights * nobody[1 : slots + 1]).sum())
    longest = _longest(laws, weights) - success
    times = np.array([[law.access.success, law.access.collision] for law in laws])
    spent = np.concatenate(
        [[sifs + slot * idle_slots], success * times[:, 0], [(longest * times[:, 1]).sum()]]
    )
    cycle = float(spent.sum())
    return Contention(
        success=success,
        collision=float(longest.sum()),
        idle_slots=idle_slots,
        cycle=cycle,
        rate=success / np.array([law.access.stations for law in laws]) / cycle,
        collision_probability=np.array([law.collision_probability for law in laws]),
        retry_drop_rate=np.array([law.retry_drop_rate for law in laws]),
        airtime=spent / cycle,
    )


def _weighted(laws: Sequence[Counters]) -> tuple[Array, Array]:
    """Returns the probability that nobody has sent before slot m, and a weight for each slot.

    Once attempts are equally likely in each slot, the first such slot stands for all that follow.
    """
    nobody, common = _nobody(laws), laws[0].common
    if common is None:
        return nobody, np.ones(len(nobody) - 1)
    weights = np.ones(common + 1)
    if nobody[common] > 0:
        weights[common] = 1 / (1 - nobody[common + 1] / nobody[common])
    return nobody, weights


def _longest(laws: Sequence[Counters], weights: Array) -> Array:
    """Returns the share of busy periods in which each class has the longest frame."""
    order = np.argsort([law.access.collision for law in laws], kind="stable")
    slots = len(weights)
    silent = np.array([law.waiting**law.access.stations for law in laws])[order]
    here, after = silent[:, :slots], silent[:, 1 : slots + 1]
    # Nobody of the longer classes sends in this slot; minus the same for the next shorter class.
    up_to = [
        np.prod(np.concatenate([here[:count], after[count:]]), axis=0)
        for count in range(len(laws) + 1)
    ]
    shares = np.empty(len(laws))
    shares[order] = (weights * np.diff(up_to, axis=0)).sum(axis=1)
    return shares
