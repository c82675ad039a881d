#!/usr/bin/env python3
"""Tests whether the verdict of an emulation notices the effect of a busy machine.

Each run is one CUBIC flow over 300 Mbit/s with 5 ms each way. The quiet runs come first, so run
nothing else then. The other runs share the machine with zero to eight busy loops. Each loop works a
random share of the time in periods of random length.

The measured value is goodput; its reference is the median of the quiet runs. The test requires
that no reliable run differs by more than 3 % from it, and that nine in ten of the quiet runs are
reliable. Exits with 1 if that does not hold. The default of 100 runs under load and 10 quiet runs
takes half an hour.

    .venv/bin/python benches/fidelity_under_load.py
    .venv/bin/python benches/fidelity_under_load.py --runs 6 --quiet 2

As root the hosts have real-time priority, and load hardly affects them. Without the right to make
namespaces, they are in user namespaces, where no process gets that priority. That shows the effect
on hosts that have to wait while the emulator is punctual.

    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \\
      .venv/bin/python benches/fidelity_under_load.py --quiet 0 --reference 289.3
"""

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ackclock import Scenario, emulate

#: Largest relative difference of a reliable run from the reference, and least share of quiet runs
#: that are reliable.
TOLERANCE, QUIET_RELIABLE = 0.03, 0.9
MOST_LOOPS = 8

SCENARIO = """
schema = 1
name = "fidelity under load"
duration = "6 s"
warmup = "1 s"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "300 Mbit/s" }
queue = { kind = "droptail", limit = "250 packets" }
delay = "5 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "300 Mbit/s" }
queue = { kind = "droptail", limit = "10000 packets" }
delay = "5 ms"

[[flows]]
name = "bulk"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" } }
"""


def spin(duty: float, period_s: float) -> None:
    """Works a share `duty` of each period, for ever."""
    while True:
        begin = time.perf_counter()
        while time.perf_counter() - begin < duty * period_s:
            pass
        time.sleep(max(0.0, (1 - duty) * period_s))


@contextmanager
def busy(loops: list[tuple[float, float]]) -> Iterator[None]:
    """Runs busy loops during the block; each is a share of the time and a period in seconds."""
    processes = [multiprocessing.Process(target=spin, args=loop, daemon=True) for loop in loops]
    try:
        for process in processes:
            process.start()
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def measure(scenario: Scenario) -> dict[str, Any]:
    """Runs once. Returns the goodput in Mbit/s and the row of the table `fidelity`."""
    with tempfile.TemporaryDirectory() as folder:
        result = emulate(scenario, Path(folder) / "run", pcap=False)
        [flow] = result.tables["flows"].to_pylist()
        [fidelity] = result.tables["fidelity"].to_pylist()
    return fidelity | {"goodput": flow["goodput_bit_per_s"] / 1e6}


def print_line(title: str, run: dict[str, Any]) -> None:
    """Prints a line for a run."""
    softirqs = run["softirq_wait_share"]
    waited = "-" if softirqs is None else f"{softirqs:.2%}"
    print(
        f"{title:28} {run['goodput']:7.2f} Mbit/s, gap {1e3 * run['longest_gap_s']:6.2f} ms, "
        f"host {1e3 * (run['host_wait_max_s'] or 0):6.2f} ms, "
        f"stalled {run['host_stalled_share']:.2%}, "
        f"softirqs {waited}, p99 {1e3 * run['lateness_p99_s']:.2f} ms: {run['verdict']}",
        flush=True,
    )


def main() -> int:
    """Runs, and prints the confusion table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100, help="under load")
    parser.add_argument("--quiet", type=int, default=10, help="without")
    parser.add_argument(
        "--reference", type=float, help="goodput of a quiet machine in Mbit/s, if it is known"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    scenario, draws = Scenario.from_toml(SCENARIO), random.Random(options.seed)
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the beginning")
    quiet = [measure(scenario) for _ in range(options.quiet)]
    for number, run in enumerate(quiet):
        print_line(f"quiet {number}", run)
    reference = options.reference or statistics.median(run["goodput"] for run in quiet)
    print(f"a quiet machine's goodput: {reference:.2f} Mbit/s")
    table = {(near, reliable): 0 for near in (True, False) for reliable in (True, False)}
    for number in range(options.runs):
        loops = [
            (draws.uniform(0.1, 1), 10 ** draws.uniform(-3, 0))
            for _ in range(draws.randint(0, MOST_LOOPS))
        ]
        with busy(loops):
            run = measure(scenario)
        print_line(f"{number}: {len(loops)} loops, {sum(duty for duty, _ in loops):.1f} busy", run)
        table[abs(run["goodput"] / reference - 1) <= TOLERANCE, bool(run["reliable"])] += 1
    print(f"\n|  | within {TOLERANCE:.0%} | further away |\n|---|---:|---:|")
    for reliable, name in ((True, "reliable"), (False, "unreliable")):
        print(f"| {name} | {table[True, reliable]} | {table[False, reliable]} |")
    fine = sum(run["reliable"] for run in quiet)
    print(f"\nquiet runs that are reliable: {fine} of {len(quiet)}")
    return int(table[False, True] > 0 or fine < QUIET_RELIABLE * len(quiet))


if __name__ == "__main__":
    raise SystemExit(main())
