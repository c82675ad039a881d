"""Interface to the compiled kernels. Nothing else in the models calls compiled code."""

import numpy as np
from numpy.typing import NDArray

from ackclock.engine import climbing_chain_with_channel, climbing_chains, epoch_chain, jumping_chain
from ackclock.models.model import Array

Indices = NDArray[np.int64]


def stationary(survive: Array, lose: Array, down: Indices, above: Array) -> Array:
    """Returns the stationary laws of chains that climb one state per step.

    Args:
        survive: Probability to climb from each state; shape (..., states). In the top state it is
            the probability to stay.
        lose: Probability to fall, same shape.
        down: Index of the state to which each one falls, never higher and non-decreasing; shape
            (states,).
        above: Share of its falls that end one state higher; shape (states,), or empty for zeros.

    Returns:
        Shape of `survive`; each law sums to one. Every component above about 1e-300 is accurate to
        about 1e-13.
    """
    law = climbing_chains(
        _float(survive), _float(lose), np.ascontiguousarray(down, np.int64), _float(above)
    )
    return np.frombuffer(law).reshape(survive.shape)


def stationary_with_channel(survive: Array, lose: Array, down: Indices) -> Array:
    """Returns the stationary law of such a chain combined with a channel of two states.

    Args:
        survive: Matrix over channel states per level, shape (levels, 2, 2).
        lose: The same for a fall; both add up to a stochastic matrix.
        down: As in `stationary`, shape (levels,).

    Returns:
        Mass of (level, channel state), shape (levels, 2).
    """
    law = climbing_chain_with_channel(
        _float(survive), _float(lose), np.ascontiguousarray(down, np.int64)
    )
    return np.frombuffer(law).reshape(-1, 2)


def stationary_of_jumps(offsets: Indices, targets: Indices, probabilities: Array) -> Array:
    """Returns the stationary law of a chain that climbs up to a few states at once.

    Arguments as for `stationary_of_epochs`. Time is quadratic in the number of states.
    """
    offsets, targets = (
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(targets, np.int64),
    )
    return np.frombuffer(jumping_chain(offsets, targets, _float(probabilities)))


def stationary_of_epochs(offsets: Indices, targets: Indices, probabilities: Array) -> Array:
    """Returns the law of a chain with sparse rows; row k is `offsets[k]` to `offsets[k + 1]`."""
    offsets, targets = (
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(targets, np.int64),
    )
    return np.frombuffer(epoch_chain(offsets, targets, _float(probabilities)))


def _float(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float64)
