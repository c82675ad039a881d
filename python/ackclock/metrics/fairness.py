"""Fairness between flows by Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984)."""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ackclock.metrics.arrivals import arriving
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.flows import UNCONTROLLED
from ackclock.result.result import Result


def jain(shares: ArrayLike) -> float:
    """Returns Jain's index: 1 for equal shares, 1/n if one of n has all, NaN if all are zero.

    The order of the shares does not matter, not even in the last bit.
    """
    shares = np.sort(np.asarray(shares, float))
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares > 0 else math.nan


def with_shares(result: Result, *names: str) -> Iterator[tuple[tuple[int, int], Columns]]:
    """Yields each run's columns `flow` and `names`, and `shares`: True for instances that share.

    Instances under a congestion or rate control share. Flows whose instances arrive do not: an
    instance's goodput in its short life is not a share.
    """
    arrive = arriving(result)
    keys, columns = ("point", "replicate"), ("flow", "control", *names)
    for (point, replicate), rows in grouped(result.tables["flows"], keys, columns):
        passing = [flow for point_index, flow in arrive if point_index == point]
        shares = (rows["control"] != UNCONTROLLED) & ~np.isin(rows["flow"].astype(str), passing)
        yield (point, replicate), rows | {"shares": shares}
