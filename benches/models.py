#!/usr/bin/env python3
"""How long the closed-form models take for a million points each, through their records (all outputs).

    .venv/bin/python benches/models.py

Loss rates from 1e-6 to 0.4, logarithmically spaced; what else a model needs is one number. Of several repeats the
fastest counts: what disturbs a run only ever makes it slower.
"""

import time

import numpy as np

from ackclock.models import MODELS, solve
from ackclock.models import model as named

POINTS = 1_000_000
REPEATS = 5
#: Of inputs without a default, besides the loss rate.
GIVEN = {"rtt": 0.1, "size": 100.0, "buffer": 50.0}


def fastest(work) -> float:
    """Seconds of the fastest of some repeats."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Prints the table."""
    varied = {"loss": np.geomspace(1e-6, 0.4, POINTS), "rate": np.geomspace(1, 1e6, POINTS)}
    print("| model | a million points |")
    print("|---|---:|")
    for model in MODELS:
        given = {one.name: (GIVEN | varied)[one.name] for one in model.inputs if one.default is None}
        print(f"| {model.name} | {fastest(lambda model=model, given=given: model.answer(**given)) * 1e3:.0f} ms |")
    question = fastest(lambda: solve(named("pftk"), "loss", 100.0, rtt=0.1, timeout=0.4))
    print(f"\nThe loss rate at which PFTK gives a throughput: {question * 1e3:.1f} ms.")


if __name__ == "__main__":
    main()
