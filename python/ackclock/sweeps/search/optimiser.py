"""Optimisers: each proposes points of the unit cube and receives their values.

An optimiser calls `evaluate` with points by dimensions, and gets a value for each; the lowest is
wanted. It goes on until `evaluate` raises `Spent`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.errors import LackingError

Evaluate = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Points that are evaluated together, about. Our choice: 500 runs of 3 replicates are then ten
#: generations.
_TOGETHER = 16

# Value of a point that failed or has no value: worse than any other.
_WORST = 1e300


class Spent(Exception):  # noqa: N818  No error: the search has used its budget.
    """The budget is spent."""


def evolution(evaluate: Evaluate, dimensions: int, seed: int) -> None:
    """Differential evolution from a Sobol sequence (SciPy)."""
    from scipy.optimize import differential_evolution

    def together(positions: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = np.atleast_2d(positions.T) if positions.ndim == 1 else positions.T
        return finite(evaluate(np.clip(columns, 0, np.nextafter(1, 0))))

    differential_evolution(
        together,
        [(0.0, 1.0)] * dimensions,
        popsize=max(1, math.ceil(_TOGETHER / dimensions)),
        init="sobol",
        rng=seed,
        maxiter=1_000_000,  # The budget ends it.
        tol=0,
        atol=0,
        polish=False,
        updating="deferred",
        vectorized=True,
    )


def tree_parzen(evaluate: Evaluate, dimensions: int, seed: int) -> None:
    """Tree-structured Parzen estimators (Optuna).

    Raises:
        LackingError: Optuna is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise LackingError(
            "lacking", "--optimiser", "optuna is not installed: pip install 'ackclock[search]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
    study: Any = optuna.create_study(sampler=sampler)
    while True:
        trials = [study.ask() for _ in range(_TOGETHER)]
        positions = np.array(
            [
                [
                    trial.suggest_float(f"x{index}", 0, float(np.nextafter(1, 0)))
                    for index in range(dimensions)
                ]
                for trial in trials
            ]
        )
        for trial, value in zip(trials, finite(evaluate(positions)), strict=True):
            study.tell(trial, float(value))


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns values that can be compared: what is unknown is the worst."""
    return np.clip(np.nan_to_num(values, nan=_WORST), -_WORST, _WORST)


#: Every optimiser by name.
OPTIMISERS: dict[str, Callable[[Evaluate, int, int], None]] = {
    "evolution": evolution,
    "tpe": tree_parzen,
}
