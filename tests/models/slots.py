"""Slot-by-slot simulation of 802.11 stations from the rules alone: a reference for the models."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock.models.edca import AccessClass

Array = NDArray[np.float64]


class Counted(NamedTuple):
    """Means over cells, and the standard errors of the first two."""

    success: Array  # share of busy periods, by class
    collision: float
    idle_slots: float
    success_error: Array
    collision_error: float


def count(
    classes: Sequence[AccessClass], *, cells: int = 400, periods: int = 4_000, seed: int = 1
) -> Counted:
    """Simulates many cells side by side, without the first quarter of busy periods.

    In that quarter windows still grow. After a busy period a station sends in slot AIFSN + b; the
    earliest ones do. A counter stops while others send, and after each of their transmissions it
    waits for AIFS again.
    """
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(len(classes)), [access_class.stations for access_class in classes])
    aifsn, low, high, retries = (
        np.array([getattr(access_class, name) for access_class in classes])[which]
        for name in ("aifsn", "cw_min", "cw_max", "retries")
    )
    opens = aifsn[:, np.newaxis]
    collided = np.zeros((len(which), cells), int)
    left = rng.integers(0, low[:, np.newaxis] + 1, collided.shape)
    success, collisions = np.zeros((len(classes), cells)), np.zeros(cells)
    slots, settled = 0.0, periods // 4
    for period in range(periods):
        slot = opens + left
        first = slot.min(axis=0)
        left -= np.maximum(0, first - opens)
        # Of those that send: station, cell, and what becomes of their frames.
        station, cell = np.divmod(np.flatnonzero(slot == first), cells)
        senders = np.bincount(cell, minlength=cells)
        alone = senders[cell] == 1
        before = collided[station, cell]
        gives_up = ~alone & (before >= retries[station])
        after = np.where(alone | gives_up, 0, before + 1)
        window = np.minimum((low[station] + 1) * 2**after, high[station] + 1)
        collided[station, cell], left[station, cell] = after, rng.random(cell.size) * window
        if period >= settled:
            success[which[station[alone]], cell[alone]] += 1  # at most one in each cell
            collisions += senders > 1
            slots += first.sum()
    counted = periods - settled
    success, collisions = success / counted, collisions / counted
    return Counted(
        success.mean(axis=1), float(collisions.mean()), slots / counted / cells,
        success.std(axis=1) / np.sqrt(cells), float(collisions.std() / np.sqrt(cells)),
    )  # fmt: skip
