#!/usr/bin/env python3
"""Measures damaged captures: each within 300 MB of memory, and 2 s of processor time if asked.

The captures are those of Linux senders in `tests/captures`, with one to forty damages each
(`tests/measure/mutated.py`). Prints the cost of the worst. Exits with 1 if one exceeds a bound, or
ends in anything but a measurement or a refusal in one line, a warning of NumPy included. The
default of 20,000 takes about half an hour on two processors.

    .venv/bin/python benches/mutated_captures.py --seconds 2
    .venv/bin/python benches/mutated_captures.py --count 200 --from 5000
"""

import argparse
import math
import multiprocessing
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.measure.mutated import MOST_BYTES, Cost, cost, mutated


def tried(seed: int) -> tuple[int, Cost | str]:
    """Returns the cost of a damaged capture, or the error that should not have been."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return seed, cost(mutated(seed), Path(folder))
        except BaseException:
            return seed, traceback.format_exc()


def main() -> int:
    """Tries the captures and prints the worst; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="number of captures")
    parser.add_argument("--from", dest="first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=2, help="number of processes")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="most processor time of a capture"
    )
    asked = parser.parse_args()
    costs: dict[int, Cost] = {}
    wrong: dict[int, Any] = {}
    with multiprocessing.Pool(asked.processes) as pool:
        seeds = range(asked.first, asked.first + asked.count)
        for seed, result in pool.imap_unordered(tried, seeds, chunksize=10):
            if isinstance(result, str):
                wrong[seed] = result
            else:
                costs[seed] = result
                if result.processor_s >= asked.seconds or result.memory_bytes >= MOST_BYTES:
                    wrong[seed] = result
    slowest = max(costs, key=lambda seed: costs[seed].processor_s)
    largest = max(costs, key=lambda seed: costs[seed].memory_bytes)
    refused = sum(bool(cost.refused) for cost in costs.values())
    print(
        f"{len(costs)} damaged captures, {refused} of them refused: at most "
        f"{costs[slowest].processor_s:.2f} s (seed {slowest}) and "
        f"{costs[largest].memory_bytes / 1e6:.0f} MB (seed {largest})"
    )
    for seed, fault in wrong.items():
        print(f"seed {seed}: {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
