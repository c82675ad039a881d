#!/usr/bin/env python3
"""How long models take through Python: a million points of each formula, and the chain of windows.

    .venv/bin/python benches/models.py

Formulas are asked through their records (all outputs) for loss rates from 1e-6 to 0.4, logarithmically spaced; what
else a model needs is one number. The chain is solved for 10 000 windows, and a thousand times for 1000; its kernel
alone is timed by `cargo bench -p ackclock-markov`. Of several repeats the fastest counts: what disturbs a run only ever
makes it slower.
"""

import time

import numpy as np

from ackclock.models import MODELS, aimd_chain, solve
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


def formulas() -> None:
    """Prints the table of formulas, and how long a question backwards takes."""
    varied = {"loss": np.geomspace(1e-6, 0.4, POINTS), "rate": np.geomspace(1, 1e6, POINTS)}
    print("| model | a million points |")
    print("|---|---:|")
    for model in MODELS:
        if model.name == "aimd_chain":
            continue  # it solves a chain for each point
        given = {one.name: (GIVEN | varied)[one.name] for one in model.inputs if one.default is None}
        print(f"| {model.name} | {fastest(lambda model=model, given=given: model.answer(**given)) * 1e3:.0f} ms |")
    question = fastest(lambda: solve(named("pftk"), "loss", 100.0, rtt=0.1, timeout=0.4))
    print(f"\nThe loss rate at which PFTK gives a throughput: {question * 1e3:.1f} ms.")


def chains() -> None:
    """Prints the table of chains."""
    print("| largest window | loss rates | time |")
    print("|---:|---|---:|")
    for p in (1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.9):
        taken = fastest(lambda p=p: aimd_chain.solve(aimd_chain.Bernoulli(p), 10_000))
        print(f"| 10,000 | {p:g} | {taken * 1e3:.2f} ms |")
    losses = [aimd_chain.Bernoulli(float(p)) for p in np.geomspace(1e-8, 0.9, 1000)]
    taken = fastest(lambda: aimd_chain.solve_many(losses, 1000))
    print(f"| 1,000 | 1,000 of them, 1e-08 to 0.9 | {taken * 1e3:.0f} ms |")


if __name__ == "__main__":
    formulas()
    print()
    chains()
