#!/usr/bin/env python3
"""How long the window chain takes through Python: one chain of 10 000 windows, and a thousand of 1000 at once.

    .venv/bin/python benches/window_chain.py

Of several repeats the fastest counts: what disturbs a run only ever makes it slower. The kernel alone is timed by
`cargo bench -p ackclock-markov`.
"""

import time

import numpy as np

from ackclock.models import aimd_chain

REPEATS = 7


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
    print("| largest window | loss rates | time |")
    print("|---:|---|---:|")
    for p in (1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.9):
        taken = fastest(lambda p=p: aimd_chain.solve(aimd_chain.Bernoulli(p), 10_000))
        print(f"| 10,000 | {p:g} | {taken * 1e3:.2f} ms |")
    losses = [aimd_chain.Bernoulli(float(p)) for p in np.geomspace(1e-8, 0.9, 1000)]
    taken = fastest(lambda: aimd_chain.solve_many(losses, 1000))
    print(f"| 1,000 | 1,000 of them, 1e-08 to 0.9 | {taken * 1e3:.0f} ms |")


if __name__ == "__main__":
    main()
