#!/usr/bin/env python3
"""Measures damaged captures: each within 300 MB of memory, and 2 s of processor time if asked.

The captures are those of Linux in `tests/captures`, with one to forty damages each
(`tests/measure/mutated.py`). Processes of their own measure 25 of them each. What exceeds a bound
is measured again in a fresh process, where no earlier capture has left memory. One that takes ten
seconds, or 4 GB of addresses, is ended by the system and counts as a fault. Prints the cost of the
worst. Exits with 1 if one exceeds a bound, or ends in anything but a measurement or a refusal in
one line, a warning of NumPy included. The default of 20,000 takes about an hour on two processors.
With --record the result goes into docs/guides/measuring-accuracy.md. Ctrl-C ends it early.

    .venv/bin/python benches/mutated_captures.py --seconds 2 --record
    .venv/bin/python benches/mutated_captures.py --count 200 --from 5000
"""

import argparse
import contextlib
import gzip
import math
import multiprocessing
import multiprocessing.connection
import resource
import statistics
import sys
import tempfile
import textwrap
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import section

sys.path.insert(0, str(section.ROOT))

from tests.measure.mutated import CAPTURES, MOST_BYTES, Cost, cost, mutated

PAGE = "docs/guides/measuring-accuracy.md"

#: Processor time in seconds and addresses in bytes after which the system ends a process.
ENDED_AFTER_S, ENDED_AFTER_BYTES = 10, 4 << 30


#: Captures after which a process is replaced: what it keeps of each must not count for the next.
CAPTURES_PER_PROCESS = 25


def serve(pipe: Connection) -> None:
    """Measures the damaged captures of the seeds that come, until None comes."""
    resource.setrlimit(resource.RLIMIT_AS, (ENDED_AFTER_BYTES, ENDED_AFTER_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        cost(gzip.decompress(CAPTURES[0].read_bytes()), Path(folder))  # imports the rest
        while (seed := pipe.recv()) is not None:
            limit = math.ceil(time.process_time()) + ENDED_AFTER_S
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            try:
                pipe.send(cost(mutated(seed), Path(folder)))
            except BaseException:
                pipe.send(traceback.format_exc())


class Worker:
    """A process that measures one capture after the other."""

    def __init__(self) -> None:
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.seed = -1
        self.left = CAPTURES_PER_PROCESS

    def ask(self, seed: int) -> None:
        """Gives the process a seed."""
        self.seed = seed
        self.left -= 1
        self.pipe.send(seed)

    def answer(self) -> Cost | str:
        """Returns the cost, or the error that should not have been."""
        try:
            answer: Cost | str = self.pipe.recv()
        except EOFError:
            self.process.join()
            return f"the process ended with {self.process.exitcode}"
        return answer

    def end(self) -> None:
        """Ends the process."""
        if self.process.is_alive():
            self.pipe.send(None)
        self.process.join()


def trials(seeds: range, processes: int) -> Iterator[tuple[int, Cost | str]]:
    """Yields each seed with the cost of its capture, or the error that should not have been."""
    left = iter(seeds)
    workers = [Worker() for _ in range(min(processes, len(seeds)))]
    for worker in workers:
        worker.ask(next(left))
    while workers:
        pipes = multiprocessing.connection.wait([worker.pipe for worker in workers])
        for number, worker in enumerate(list(workers)):
            if worker.pipe not in pipes:
                continue
            yield worker.seed, worker.answer()
            seed = next(left, None)
            if seed is None:
                worker.end()
                workers.remove(worker)
                continue
            if not worker.left or not worker.process.is_alive():
                worker.end()
                workers[number] = worker = Worker()
            worker.ask(seed)


def alone(seed: int) -> Cost | str:
    """Measures one damaged capture in a fresh process."""
    worker = Worker()
    worker.ask(seed)
    answer = worker.answer()
    worker.end()
    return answer


def until_interrupted(
    results: Iterator[tuple[int, Cost | str]],
) -> Iterator[tuple[int, Cost | str]]:
    """Yields results until Ctrl-C, which still leaves a summary of those so far."""
    with contextlib.suppress(KeyboardInterrupt):
        yield from results


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
    parser.add_argument("--record", action="store_true", help="write the result into the guide")
    asked = parser.parse_args()
    costs: dict[int, Cost] = {}
    faults: dict[int, Cost | str] = {}
    seeds = range(asked.first, asked.first + asked.count)

    def is_within(result: Cost | str) -> bool:
        return not isinstance(result, str) and (
            result.processor_s < asked.seconds and result.memory_bytes < MOST_BYTES
        )

    for seed, first in until_interrupted(trials(seeds, asked.processes)):
        result = first if is_within(first) else alone(seed)
        if not isinstance(result, str):
            costs[seed] = result
        if not is_within(result):
            faults[seed] = result
        if seed in faults:
            print(f"seed {seed}: {faults[seed]}", flush=True)
    sentence = summary(costs, len(faults))
    print(sentence)
    if asked.record and costs:
        section.write(PAGE, "damaged", textwrap.fill(sentence, 100))
    return 1 if faults else 0


def summary(costs: dict[int, Cost], faults: int) -> str:
    """Returns the counts and the worst costs in words."""
    if not costs:
        return f"0 damaged captures; {faults} end in another way."
    slowest = max(costs, key=lambda seed: costs[seed].processor_s)
    largest = max(costs, key=lambda seed: costs[seed].memory_bytes)
    refused = sum(bool(cost.refused) for cost in costs.values())
    median = statistics.median(cost.processor_s for cost in costs.values())
    return (
        f"Of {len(costs):,} damaged captures, {refused:,} were refused in one line and {faults} at "
        f"fault. The median took {median:.2f} s of processor time. The worst took "
        f"{costs[slowest].processor_s:.2f} s (seed {slowest}) and "
        f"{costs[largest].memory_bytes / 1e6:.0f} MB (seed {largest})."
    )


if __name__ == "__main__":
    sys.exit(main())
