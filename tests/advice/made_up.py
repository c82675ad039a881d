"""Traces of a link that stays at each of two rates for exponential times, in a user's format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: 100 and 50 kB/s, the link of the publication.
HIGH, LOW = 800_000, 400_000


def markov_rows(
    high_s: float, low_s: float, length_s: float, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the times of the rate changes and the new rates, beginning with the high one."""
    generator = np.random.default_rng(seed)
    count = int(2 * length_s / (high_s + low_s) * 1.5) + 100
    sojourns = generator.exponential(np.where(np.arange(count) % 2 == 0, high_s, low_s))
    begins = np.concatenate([[0.0], np.cumsum(sojourns)])
    begins = begins[begins < length_s]
    return begins, np.where(np.arange(begins.size) % 2 == 0, HIGH, LOW)


def write_csv(path: Path, begins: np.ndarray, rates: np.ndarray, length_s: float) -> Path:
    """Writes rows of time and rate; the last one only marks the end of the trace."""
    rows = [f"{time_s:.9f},{rate}" for time_s, rate in zip(begins, rates, strict=True)]
    path.write_text(
        "\n".join(["time_s,rate_bit_per_s", *rows, f"{length_s},{rates[-1]}", ""]), encoding="utf-8"
    )
    return path


def markov_csv(path: Path, sojourn_s: float, length_s: float, seed: int = 1) -> Path:
    """Writes a trace with equal mean times at both rates."""
    return write_csv(path, *markov_rows(sojourn_s, sojourn_s, length_s, seed), length_s)
