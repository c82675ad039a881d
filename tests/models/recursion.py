"""TCP with INSTCAP over a link of two rates, interval by interval, with random draws.

It follows the rules of the publication for one state at a time, and nothing else. The low rate is
half the high.
"""

from collections import Counter
from math import ceil, log2

import numpy as np

# Intervals at the start of each walk that are left out.
_FORGOTTEN = 300


def walked(
    intervals: int, psi: float, delta: int, buffer: int, largest: int, seed: int
) -> Counter[str]:
    """Counts intervals, losses, and packets credited by two rules in one long walk."""
    draw = np.random.default_rng(seed)
    met: Counter[str] = Counter()
    a, b, d, rate, before = 0, 0, 1, 1, 1
    passed = 0

    def change() -> None:
        nonlocal rate, before
        rate, before = (3 - rate if draw.random() < 1 / psi else rate), rate

    while passed < intervals + _FORGOTTEN:
        window = a + b + d
        grown = min(int(draw.binomial(d, 1 / window)), largest - window)
        sent = min(a + d + grown, delta // before)
        counts: Counter[str] = Counter()
        if before < rate and b + sent / 2 > buffer:
            accepted = 2 * (buffer - b)
            reached = min(
                largest, window + grown + int(draw.binomial(b + accepted, 1 / (window + grown)))
            )
            half = max(reached // 2, 1)
            rounds = ceil(log2(half))
            counts.update(intervals=3 + rounds, losses=1, conservative=d + b, window=reached)
            counts["optimistic"] = d + b + accepted + window + 2**rounds - 1
            for _ in range(3 + rounds):
                change()
            d = min(half, delta // max(rate, before))
            a, b = half - d, 0
        else:
            counts.update(intervals=1, conservative=d, optimistic=d)
            served = min(b + sent, delta // rate)
            a, b, d = a + d + grown - sent, b + sent - served, served
            change()
        passed += counts["intervals"]
        if passed > _FORGOTTEN:
            met += counts
    return met
