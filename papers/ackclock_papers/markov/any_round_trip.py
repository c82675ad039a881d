"""The least error of table 7.2 under any law of the round-trip time.

The law behind the table is not printed. For given weights of the windows and a given link rate, a
linear programme finds the law on a fine grid with the smallest largest relative error. Only one
kind of weights comes down to the error that rounding leaves, so the programme identifies the
weights. It also shows what the table does not settle: the link rate.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from ackclock.reproduction import Cell, Comparison, Origin

# From the shortest round trip that could matter to far beyond what the table's mean allows, in s.
SHORTEST_S, LONGEST_S, POINTS = 0.02, 6.0, 600


class Freedom(NamedTuple):
    """Fixed parameters, and the error that remains.

    Attributes:
        mode: Weights of the windows.
        rate: L in segments/s.
        shortest_s: Smallest round-trip time, in seconds.
        left: Largest relative error of the best law, in percent, by the reference computation.
    """

    mode: str
    rate: float
    shortest_s: float
    left: str


FREEDOMS = (
    Freedom("segment", 115.0, SHORTEST_S, "0.129"),
    Freedom("segment_full", 115.0, SHORTEST_S, "1.84"),
    Freedom("round", 115.0, SHORTEST_S, "8.3"),
    Freedom("segment", 100.0, SHORTEST_S, "7.2"),
    Freedom("segment", 105.0, SHORTEST_S, "2.9"),
    Freedom("segment", 108.5, SHORTEST_S, "0.129"),
    Freedom("segment", 122.0, SHORTEST_S, "0.129"),
    Freedom("segment", 125.0, SHORTEST_S, "0.22"),
    Freedom("segment", 115.0, 0.25, "0.13"),
    Freedom("segment", 115.0, 0.30, "0.15"),
    Freedom("segment", 115.0, 0.34, "0.89"),
    Freedom("segment", 115.0, 0.40, "1.18"),
)


def least_error(
    chains: Mapping[Any, Any],
    theirs: Mapping[Any, float],
    mean_s: float,
    rate: float,
    mode: str,
    shortest_s: float,
) -> float:
    """Returns the largest relative error, in percent, of the best law of the round-trip time.

    Args:
        chains: Window chain of each cell.
        theirs: Mean throughput of each cell, in segments/s.
        mean_s: Mean of the law, in seconds.
        rate: L in segments/s.
        mode: Weights of the windows.
        shortest_s: Smallest round-trip time, in seconds.
    """
    r = np.geomspace(shortest_s, LONGEST_S, POINTS)
    # ET of cell c is the sum of q_j E min(w/r_j, L): linear in the law's weights q. The last
    # unknown is the error.
    shares = np.array(
        [
            chains[cell].law(mode) @ np.minimum(chains[cell].windows[:, None] / r, rate) / value
            for cell, value in theirs.items()
        ]
    )
    error, ones = np.ones((len(theirs), 1)), np.ones(len(theirs))
    solution = linprog(
        np.append(np.zeros(POINTS), 1.0),
        A_ub=np.block([[shares, -error], [-shares, -error]]),
        b_ub=np.append(ones, -ones),
        A_eq=np.array([np.append(np.ones(POINTS), 0.0), np.append(r, 0.0)]),
        b_eq=[1.0, mean_s],
    )
    return 100 * float(solution.x[-1])


def comparison(chains: Mapping[Any, Any], theirs: Mapping[Any, float], mean_s: float) -> Comparison:
    """Compares the least error for each choice of fixed parameters."""
    cells = tuple(
        Cell.of(
            (
                freedom.mode,
                f"{freedom.rate:g}",
                "any" if freedom.shortest_s == SHORTEST_S else f"{freedom.shortest_s:g}",
            ),
            "least possible worst error, %",
            freedom.left,
            least_error(chains, theirs, mean_s, freedom.rate, freedom.mode, freedom.shortest_s),
            0.01,
        )
        for freedom in FREEDOMS
    )
    return Comparison(
        "The best of all laws of the round-trip time with that mean",
        Origin.REFERENCE,
        ("weights", "L, segments/s", "at least, s"),
        cells,
        "within 1 % of itself, or within the last digit",
    )
