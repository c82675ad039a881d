"""Refusing what a formula is not meant for."""

from typing import Any

import numpy as np


def check(**arguments: tuple[Any, Any]) -> None:
    """Raises `ValueError` naming the first argument that is out of its domain.

    Args:
        arguments: Letter to (value, whether it is in the domain); arrays are in it if all their members are.
    """
    for letter, (value, inside) in arguments.items():
        inside = np.asarray(inside)
        if not inside.all():
            values = np.broadcast_to(np.asarray(value), inside.shape)
            raise ValueError(f"{letter} = {values[~inside].flat[0]:g} is outside the formula's domain")
