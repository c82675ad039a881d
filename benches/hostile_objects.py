#!/usr/bin/env python3
"""Measures damaged objects for BPF: each within 300 MB, and 2 s of processor time if asked.

The objects are those that come with ackclock, with damages or much of something
(`tests/controls/mutated.py`). The engine reads each in a process that ends after a batch. With
`--kernel` each is also given to `ackclock-kernel-host`, which needs root and Linux 6.4. Prints the
cost of the worst. Exits with 1 if one exceeds a bound, or ends in anything but a program or a
refusal in one line. The default of 20,000 takes some minutes.

    .venv/bin/python benches/hostile_objects.py --seconds 2
    .venv/bin/python benches/hostile_objects.py --count 2000 --from 5000 --kernel
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.controls.mutated import mutated
from tests.controls.paths import under

from ackclock import InputError, engine
from ackclock.run.host import loader

#: Most memory of the whole process.
MOST_BYTES = 300e6

_BATCH = 200


class Cost(NamedTuple):
    """The cost of reading an object.

    Attributes:
        processor_s: Processor time in seconds.
        memory_bytes: Largest memory of the process.
        outcome: Empty if it was accepted, or else the reason in one line.
    """

    processor_s: float
    memory_bytes: float
    outcome: str


def read_by_engine(first: int, end: int) -> None:
    """Reads a batch of objects in this process, and prints seed and cost of each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mutated.bpf.o"
        scenario = under({"kind": "kernel", "file": file.name}, Path(folder))
        for seed in range(first, end):
            file.write_bytes(mutated(seed))
            Path("/proc/self/clear_refs").write_text("5")  # forgets the peak (proc(5))
            begun, outcome = time.process_time(), ""
            try:
                engine.check_simulation(scenario.tree, scenario.folder)
            except InputError as error:
                outcome = str(error)
            took = time.process_time() - begun
            status = Path("/proc/self/status").read_text()
            [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
            print(json.dumps([seed, took, 1024 * float(peak), outcome]), flush=True)


def by_engine(seeds: range) -> Iterator[tuple[int, Cost | str]]:
    """Yields what reading cost, or how it ended. Goes on behind an object that ended a process."""
    first = seeds.start
    while first < seeds.stop:
        command = [sys.executable, __file__, "--batch", str(first), str(seeds.stop)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            seed, *cost = json.loads(line)
            first = seed + 1
            yield seed, Cost(*cost)
        if first < seeds.stop:
            yield first, f"the engine ended with {done.returncode}: {done.stderr[-500:]}"
            first += 1


def by_loader(seeds: range) -> Iterator[tuple[int, Cost | str]]:
    """Yields what loading cost, or how it ended."""
    program = loader()
    assert program is not None, "ackclock-kernel-host is not installed"
    for seed in seeds:
        with tempfile.TemporaryFile() as file:
            file.write(mutated(seed))
            file.seek(0)
            process = subprocess.Popen(
                [program, "check", "-"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        assert process.stdout is not None
        assert process.stderr is not None
        answer, errors = process.stdout.read(), process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.communicate()  # closes its pipes
        try:
            refused = json.loads(answer).get("refused", {})
        except ValueError:
            yield seed, f"the loader ended with {process.returncode}: {answer!r} {errors!r}"
            continue
        if errors or process.returncode != (2 if refused else 0):
            yield seed, f"the loader ended with {process.returncode}: {refused} {errors!r}"
            continue
        took = used.ru_utime + used.ru_stime
        yield seed, Cost(took, 1024 * used.ru_maxrss, refused.get("reason", ""))


def tried(
    read: Callable[[range], Iterator[tuple[int, Cost | str]]],
    seeds: range,
    reader: str,
    most_s: float,
) -> bool:
    """Tries objects and prints the worst; returns whether all were within the bounds."""
    costs: dict[int, Cost] = {}
    wrong: dict[int, Cost | str] = {}
    batches = [seeds[begin : begin + _BATCH] for begin in range(0, len(seeds), _BATCH)]
    with ThreadPoolExecutor(2) as pool:
        for results in pool.map(lambda batch: list(read(batch)), batches):
            for seed, result in results:
                if isinstance(result, str):
                    wrong[seed] = result
                    continue
                costs[seed] = result
                lines = len(result.outcome.splitlines())
                if result.processor_s >= most_s or result.memory_bytes >= MOST_BYTES or lines > 1:
                    wrong[seed] = result
    slowest = max(costs, key=lambda seed: costs[seed].processor_s)
    largest = max(costs, key=lambda seed: costs[seed].memory_bytes)
    refused = sum(bool(cost.outcome) for cost in costs.values())
    print(
        f"{len(costs)} damaged objects, {refused} of them refused by {reader}: at most "
        f"{costs[slowest].processor_s:.2f} s (seed {slowest}) and "
        f"{costs[largest].memory_bytes / 1e6:.0f} MB (seed {largest})"
    )
    for seed, fault in wrong.items():
        print(f"seed {seed}: {fault}")
    return not wrong


def main() -> int:
    """Tries the objects; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=20_000, help="number of objects")
    parser.add_argument("--from", dest="first", type=int, default=0, help="first seed")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="most processor time of an object"
    )
    parser.add_argument("--kernel", action="store_true", help="give them to the loader instead")
    parser.add_argument("--batch", type=int, nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.batch:
        read_by_engine(*asked.batch)
        return 0
    seeds = range(asked.first, asked.first + asked.count)
    read, reader = (by_loader, "the loader") if asked.kernel else (by_engine, "the engine")
    return 0 if tried(read, seeds, reader, asked.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
