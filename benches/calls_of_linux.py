#!/usr/bin/env python3
"""Counts calls that the kernel makes of controls loaded into it, and gives them to the engine.

Needs Linux 6.4, root and `make kernel`; takes five minutes of real time.

    .venv/bin/python benches/calls_of_linux.py

Four controls run over three paths of 100 Mbit/s. The aim is 100,000 calls of each control on each
path. The engine must answer all of them bit by bit as the kernel did, and each must be recorded
(the design of kernel controls, acceptance 1). The exit code is 4 if that is missed.
"""

import sys
import tempfile
from pathlib import Path

from ackclock import Scenario, emulate
from ackclock.capture import calls

CONTROLS = ("aimd", "reno", "westwood_crb", "cubic")
AIM = 100_000

#: One-way delay, impairments, flows and duration. One flow that loses 1 %, or one of westwood_crb
#: over 100 ms, is far below the rate.
PATHS = {
    "clean, 20 ms": ("10 ms", "", 1, "18 s"),
    "clean, 100 ms": ("50 ms", "", 3, "25 s"),
    "1 % loss, 10 ms": ("5 ms", '{ kind = "iid_loss", probability = "1 %" }', 6, "18 s"),
}

SCENARIO = """
schema = 1
name = "calls"
duration = "{duration}"
seed = 2026
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "100 Mbit/s" }}
queue = {{ kind = "droptail", limit = "200 packets" }}
delay = "{delay}"
impairments = [{impairments}]

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "100 Mbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "{delay}"

[[flows]]
name = "main"
count = {count}
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "kernel", shipped = "{control}" }} }}
"""


def main() -> int:
    """Prints a line for each control and path. Returns the exit code."""
    missed = False
    print(f"{'control':14} {'path':16} {'calls':>8} {'alike':>8} {'lost':>5} {'moved':>6}")
    for path, (delay, impairments, count, duration) in PATHS.items():
        for control in CONTROLS:
            scenario = Scenario.from_toml(
                SCENARIO.format(
                    control=control, delay=delay, impairments=impairments, count=count,
                    duration=duration,
                )
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place) / "run"
                emulate(scenario, folder)
                [compared] = calls.twin(folder)
            counts = compared.outcome
            alike = counts["equal"] == counts["calls"]
            missed |= counts["calls"] < AIM or not alike or compared.missed != 0
            print(
                f"{control:14} {path:16} {counts['calls']:8} {counts['equal']:8} "
                f"{compared.missed:5} {counts['moved']:6}",
                flush=True,
            )
    return 4 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
