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
    retry_drop_rate: Array  # share of frames
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
    which = np.repeat(np.arange(len(classes)), [one.stations for one in classes])
    aifsn, low, high, retries = (
        np.array([getattr(one, name) for one in classes])[which]
        for name in ("aifsn", "cw_min", "cw_max", "retries")
    )
    collided = np.zeros((cells, len(which)), int)
    left = rng.integers(0, low + 1, collided.shape)
    success, collisions = np.zeros((cells, len(classes))), np.zeros(cells)
    slots, dropped, settled = 0.0, np.zeros(len(classes)), periods // 4
    for period in range(periods):
        at = aifsn + left
        first = at.min(axis=1, keepdims=True)
        left -= np.maximum(0, first - aifsn)
        # Of those that send: cell, station, and what becomes of their frames.
        cell, station = np.nonzero(at == first)
        senders = np.bincount(cell, minlength=cells)
        alone = senders[cell] == 1
        before = collided[cell, station]
        gives_up = ~alone & (before >= retries[station])
        after = np.where(alone | gives_up, 0, before + 1)
        window = np.minimum((low[station] + 1) * 2**after, high[station] + 1)
        collided[cell, station], left[cell, station] = after, rng.integers(0, window)
        if period >= settled:
            success[cell[alone], which[station[alone]]] += 1  # at most one in each cell
            dropped += np.bincount(which[station[gives_up]], minlength=len(classes))
            collisions += senders > 1
            slots += first.sum()
    counted = periods - settled
    success, collisions = success / counted, collisions / counted
    through = success.sum(axis=0) * counted
    return Counted(
        success.mean(axis=0), float(collisions.mean()), slots / counted / cells,
        dropped / (through + dropped),
        success.std(axis=0) / np.sqrt(cells), float(collisions.std() / np.sqrt(cells)),
    )  # fmt: skip
