"""Made-up traces: a row every 10 ms, with the states and values that a test asks for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ackclock.evaluation.checks import KINDS, Finding
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.trace import PathValues, Trace

PATH = PathValues(((0.0, 10e6), (0.5, 5e6)), 0.04, 1000, {"start": 0.0, "end": 1.0, "losses": 0.3})


def trace(
    stays: Sequence[tuple[str, int]],
    variables: Mapping[str, Any] | None = None,
    events: Mapping[int, str] | None = None,
) -> Trace:
    """Makes a trace of stays in states, each with its number of rows."""
    states = [state for state, rows in stays for _ in range(rows)]
    rows = len(states)
    column = np.full(rows, "ack", object)
    for row, event in (events or {}).items():
        column[row] = event
    values = {
        name: np.broadcast_to(np.asarray(value, float), rows)
        for name, value in (variables or {}).items()
    }
    return Trace(np.arange(rows) / 100, np.array(states), column.astype(str), values, PATH)


def finding_of(run: Trace, /, **fields: Any) -> Finding:
    """Returns the finding of a check, written as in a file; `in_` stands for `in`."""
    tree = {name.rstrip("_"): value for name, value in fields.items()}
    read = Fields(tree, "check")
    check = KINDS[read.choice("kind", KINDS)].read(read)
    read.done()
    return check(run)
