"""The way to the compiled kernels: arrays in, arrays out. Nothing else of the models touches compiled code."""

import numpy as np
from numpy.typing import NDArray

from ackclock.engine import climbing_chain_with_channel, climbing_chains, epoch_chain, jumping_chain

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def stationary(survive: Array, lose: Array, down: Indices, above: Array) -> Array:
    """The stationary laws of chains that climb one state per step.

    Args:
        survive: Probability to climb from each state; shape (..., states). At the top it is the one
            to stay.
        lose: Probability to fall, same shape.
        down: Index of the state each one falls to, never higher and non-decreasing; shape
            (states,).
        above: Share of its falls that end one state higher; shape (states,), or empty if none do.

    Returns:
        Shape of `survive`, each law sums to one. Every component above about 1e-300 is accurate to
        some 1e-13.
    """
    law = climbing_chains(
        _float(survive), _float(lose), np.ascontiguousarray(down, np.int64), _float(above)
    )
    return np.frombuffer(law).reshape(survive.shape)


def stationary_with_channel(survive: Array, lose: Array, down: Indices) -> Array:
    """The same beside a channel of two states.

    Args:
        survive: Matrix over channel states per level, shape (levels, 2, 2).
        lose: The same for a fall; the two add up to a stochastic matrix.
        down: As above, shape (levels,).

    Returns:
        Mass of (level, channel state), shape (levels, 2).
    """
    law = climbing_chain_with_channel(
        _float(survive), _float(lose), np.ascontiguousarray(down, np.int64)
    )
    return np.frombuffer(law).reshape(-1, 2)


def stationary_of_jumps(offsets: Indices, targets: Indices, probabilities: Array) -> Array:
    """The stationary law of a chain that climbs by a few states at once; the arguments are as for epochs.

    It takes time with the square of the number of states.
    """
    offsets, targets = (
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(targets, np.int64),
    )
    return np.frombuffer(jumping_chain(offsets, targets, _float(probabilities)))


def stationary_of_epochs(offsets: Indices, targets: Indices, probabilities: Array) -> Array:
    """The stationary law of a chain with sparse rows: row k is `offsets[k]` to `offsets[k + 1]`."""
    offsets, targets = (
        np.ascontiguousarray(offsets, np.int64),
        np.ascontiguousarray(targets, np.int64),
    )
    return np.frombuffer(epoch_chain(offsets, targets, _float(probabilities)))


def _float(values: Array) -> Array:
    return np.ascontiguousarray(values, np.float64)
