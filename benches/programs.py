#!/usr/bin/env python3
"""Measures what it costs to run a control's program in the engine's machine.

    cargo build --release --package ackclock-bench --bin engine
    python3 benches/programs.py

Runs take turns, and of several the fastest counts, in CPU time. The bound of the specification is
twice the time of the engine's own Reno.
"""

import argparse
import json
import resource
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENGINE = HERE.parent / "target" / "release" / "engine"
FIELD = "flows.flow.transport.control"
CONTROLS = {
    "reno of the engine": '{ kind = "reno", arithmetic = "linux" }',
    "reno as a program": '{ kind = "kernel", shipped = "reno" }',
    "cubic of the engine": '{ kind = "cubic", arithmetic = "linux" }',
    "cubic as a program": '{ kind = "kernel", shipped = "cubic" }',
}


def cpu_seconds(control: str) -> tuple[float, int]:
    """Returns the CPU time of a run, and its data packets."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [ENGINE, HERE / "programs.toml", f"{FIELD}={control}"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return spent, int(json.loads(done.stdout)["data_packets"])


def main() -> None:
    """Prints a line for each control."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    best: dict[str, tuple[float, int]] = {}
    for _ in range(asked.repeats):
        for name, control in CONTROLS.items():
            measured = cpu_seconds(control)
            best[name] = min(best.get(name, measured), measured)
    first = best["reno of the engine"][0]
    for name, (spent, packets) in best.items():
        each = 1e9 * spent / packets
        print(f"{name:22} {spent:6.2f} s  {each:6.0f} ns a packet  {spent / first:5.2f} of Reno's")


if __name__ == "__main__":
    main()
