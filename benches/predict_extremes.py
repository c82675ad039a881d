#!/usr/bin/env python3
"""Asks every model at the ends of the domains of all pairs of its inputs, and times the answers.

    .venv/bin/python benches/predict_extremes.py [MODEL ...]

An answer takes ten seconds at most, or is announced (`Bound.lasts_s`). Prints a row for each model
with the number of questions, of answers, and of those announced. The last column is the time of the
slowest other answer. Ends with 1 if that took longer.
"""

import itertools
import signal
import sys
import time

import numpy as np

from ackclock.models import MODELS, InputError, inverse

#: Processor time in s that an answer may take if nothing was said before.
MOST_S = 10.0

#: Values of inputs without a default.
GIVEN = {
    "loss": 0.01, "rtt": 0.1, "size": 100.0, "rate": 1000.0, "low_rate": 500.0, "buffer": 50.0,
    "psi": 10.0, "decay": 0.1, "flows": 10.0, "places": 50.0, "stations": 3.0,
    "other_stations": 2.0, "threshold": 20.0, "target": 0.015, "marks": 0.05, "interval": 0.1,
    "cw_min": 31.0, "cw_max": 1023.0, "aifsn": 3.0, "other_aifsn": 2.0, "other_cw_min": 15.0,
    "other_cw_max": 1023.0, "source_rate": 700.0,
}  # fmt: skip


class TooLongError(Exception):
    """Raised in an answer that takes too long."""


def give_up(*_):
    """Ends an answer."""
    raise TooLongError


def ends_of(entry):
    """Returns the ends of an input's domain; where it has none, those of an inverse search."""
    if entry.domain.values:
        return sorted({entry.domain.values[0], entry.domain.values[-1]})
    low, high = entry.domain.low, entry.domain.high
    least, most = inverse.SEARCHED[entry.unit if entry.unit in inverse.SEARCHED else ""]
    if low == 0.0 and entry.domain.ends[0] == "(":
        low = least
    elif entry.domain.ends[0] == "(":
        low = float(np.nextafter(low, np.inf))
    if high == np.inf:
        high = most
    elif entry.domain.ends[1] == ")":
        high = float(np.nextafter(high, -np.inf))
    return sorted({low, high})


def announced_s(model, asked):
    """Returns about how long the command says that an answer takes; 0 if it is refused."""
    try:
        completed = model.completed(**asked)
    except InputError:
        return 0.0
    return sum(bound.lasts_s(completed) for bound in model.bounds)


def questions(model):
    """Yields the inputs of each question: all pairs of inputs at their ends."""
    base = {entry.name: GIVEN[entry.name] for entry in model.inputs if entry.default is None}
    yield base
    for first, other in itertools.combinations(model.inputs, 2):
        for value, second in itertools.product(ends_of(first), ends_of(other)):
            yield base | {first.name: value, other.name: second}


def answer_s(model, asked):
    """Returns the processor time of an answer, and whether there was one."""
    begun, answered = time.process_time(), True
    signal.setitimer(signal.ITIMER_PROF, 3 * MOST_S)
    try:
        model.answer(**asked)
    except InputError:
        answered = False
    except TooLongError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begun, answered


def main():
    """Asks the models that the command line names, or all."""
    signal.signal(signal.SIGPROF, give_up)
    slow = False
    print("model  questions  answered  announced  slowest of the others (s)")
    for model in MODELS:
        if sys.argv[1:] and model.name not in sys.argv[1:]:
            continue
        asked = answered = announced = 0
        slowest, worst = 0.0, {}
        for inputs in questions(model):
            asked += 1
            if announced_s(model, inputs) > MOST_S:
                announced += 1
                continue
            took, gave = answer_s(model, inputs)
            answered += gave
            if took > slowest:
                slowest, worst = took, inputs
        row = f"{model.name}  {asked}  {answered}  {announced}  {slowest:.2f}"
        print(row + (f"  {worst}" if slowest > MOST_S else ""), flush=True)
        slow = slow or slowest > MOST_S
    sys.exit(int(slow))


if __name__ == "__main__":
    main()
