"""How evenly flows share (Jain, Chiu and Hawe, DEC-TR-301, 1984)."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ackclock.control import UNCONTROLLED
from ackclock.metrics.arrivals import arriving
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import grouped
from ackclock.result import Result


def jain(shares: ArrayLike) -> float:
    """Jain's index: 1 for equal shares, 1/n if one of n has everything; not a number if nobody has anything."""
    shares = np.asarray(shares, float)
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares > 0 else math.nan


def fairness(result: Result) -> list[Value]:
    """Jain's index of the goodput of all instances under a control whose goodput is known.

    That is TCP's control or a rate control's, and of those that were active after the warm-up. Those that arrive and
    end are left aside: they are many, and what one gets in its short time is no share.
    """
    found = []
    keys, names = ("point", "replicate"), ("flow", "goodput_bit_per_s", "control")
    for (point, replicate), rows in grouped(result.tables["flows"], keys, names):
        share = (rows["control"] != UNCONTROLLED) & ~np.isin(rows["flow"].astype(str), list(arriving(result, point)))
        found.append(Value(point, replicate, "all flows", jain(_known(rows["goodput_bit_per_s"][share]))))
    return found


def _known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[~np.isnan(values)]
