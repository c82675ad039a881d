#!/usr/bin/env python3
"""Runs the reference scenarios in ns-2.

As a program it runs all of them and writes the results beside itself, for machines without ns-2:

    python3 tests/peers/ns2.py            # writes reference-ns2.35.json
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if __package__:
    from .outcome import Outcome
else:
    from outcome import Outcome

HERE = Path(__file__).parent
SCRIPT = HERE / "path.tcl"
REFERENCE = HERE / "reference-ns2.35.json"
#: Bits of payload in a packet.
PAYLOAD_BITS = 8000.0

Options = dict[str, object]


def installed() -> bool:
    """Returns whether this machine has ns-2."""
    return shutil.which("ns") is not None


#: Loss recovery in ackclock, and the agent in ns-2.
CONTROLS = {"newreno": "Newreno", "sack": "Sack1"}
#: The same for runs with given single losses.
AGENTS = {"reno": "Reno"} | CONTROLS
#: Overrides of ns2-tcp.tcl for the ten flows.
TIMESTAMPS = "timestamps_ true ts_option_size_ 0"
#: The queue of `scenarios/red.toml` in ns-2's terms.
RED = (
    "thresh_ 50 maxthresh_ 150 linterm_ 10 q_weight_ 0.002 mean_pktsize_ 1040 gentle_ false "
    "adaptive_ 0 bytes_ false queue_in_bytes_ false wait_ false setbit_ false drop_tail_ true"
)
# The parameters of `scenarios/adaptive-red.toml` in ns-2's names; q_weight_ is 1 - exp(-1/C).
ADAPTIVE_RED = (
    "thresh_ 5 maxthresh_ 15 linterm_ 10 q_weight_ 0.00083156 mean_pktsize_ 1040 gentle_ true "
    "adaptive_ 1 interval_ 0.5 alpha_ 0.01 beta_ 0.9 bottom_ 0.01 top_ 0.5 "
    "bytes_ false queue_in_bytes_ false wait_ false setbit_ false drop_tail_ true"
)


def cases() -> dict[str, list[Options]]:
    """Returns the runs of path.tcl by name: one, or one per seed."""
    one_flow = {
        f"one-flow {name} {limit}": [{"control": control, "limit": limit}]
        for name, control in CONTROLS.items()
        for limit in (4, 10, 20, 40, 84)
    }
    long_path = {"long-path sack 20": [{"control": "Sack1", "limit": 20, "delay": 0.15}]}
    ten_flows = {
        f"ten-flows newreno {limit}": [
            {
                "flows": 10,
                "rate": 10e6,
                "limit": limit,
                "start": 1,
                "overhead": 0.0001,
                "settings": TIMESTAMPS,
                "seed": seed,
                "windows": 0,
            }
            for seed in range(1, 21)
        ]
        for limit in (84, 42)
    }
    red = {
        f"{name} newreno": [
            {
                "flows": flows,
                "rate": 10e6,
                "limit": 400,
                "red": parameters,
                "start": 1,
                "overhead": 0.0001,
                "settings": TIMESTAMPS,
                "seed": seed,
                "windows": 0,
            }
            for seed in range(1, runs + 1)
        ]
        for name, flows, parameters, runs in (
            ("red", 20, RED, 20),
            ("adaptive-red", 60, ADAPTIVE_RED, 8),
        )
    }
    on_off = {
        f"on-off sack {limit}": [
            {
                "control": "Sack1",
                "limit": limit,
                "onoff": "4e6 0.5 0.5",
                "duration": 300,
                "seed": seed,
                "windows": 0,
            }
            for seed in range(1, 17)
        ]
        for limit in (20, 84)
    }
    return one_flow | long_path | ten_flows | red | on_off


def simulate(case: str) -> list[Outcome]:
    """Returns the outcome of each run of a case, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(run, cases()[case]))


def run(options: Options) -> Outcome:
    """Runs path.tcl with these options, the others at the script's defaults."""
    duration, warmup = (
        float(options.get(name, default)) for name, default in (("duration", 100), ("warmup", 10))
    )
    return read(printed(SCRIPT, options), warmup, duration)


def printed(script: Path, options: Options) -> list[str]:
    """Returns the lines that a script prints, with these options."""
    command = ["ns", str(script), *(f"{name}={value}" for name, value in options.items())]
    # It flushes every line; a file takes them in without waking us each time.
    with tempfile.TemporaryFile("w+") as output:
        subprocess.run(command, check=True, stdout=output, stderr=subprocess.PIPE)
        output.seek(0)
        return output.read().splitlines()


def read(lines: Iterable[str], warmup: float, duration: float) -> Outcome:
    """Returns the outcome of a run from the output of path.tcl."""
    counts: dict[tuple[str, str, str], dict[str, int]] = {}
    variables: list[tuple[float, int, str, float]] = []
    for line in lines:
        words = line.split()
        if words[0] in ("flow", "link"):
            counts[words[0], words[1], words[2]] = {
                name: int(float(value))
                for name, value in zip(words[3::2], words[4::2], strict=True)
            }
        else:
            variables.append((float(words[0]), int(words[2]), words[5], float(words[6])))
    flows = sorted({key[1] for key in counts if key[0] == "flow"}, key=int)
    reactions = {int(flow): list(fast_retransmits(variables, int(flow))) for flow in flows}
    link = {
        name: value - counts["link", "0", "warmup"][name]
        for name, value in counts["link", "0", "end"].items()
    }

    def delivered(flow: str) -> int:
        return (
            counts["flow", flow, "end"]["delivered"] - counts["flow", flow, "warmup"]["delivered"]
        )

    return Outcome(
        goodput_bit_per_s=[delivered(flow) * PAYLOAD_BITS / (duration - warmup) for flow in flows],
        retransmitted_packets=[counts["flow", flow, "end"]["retransmitted"] for flow in flows],
        timeouts=[counts["flow", flow, "end"]["timeouts"] for flow in flows],
        slow_start_window=[
            reactions[int(flow)][0][1] if reactions[int(flow)] else None for flow in flows
        ],
        overflow_window=[
            max((cwnd for time, cwnd in reactions[int(flow)] if time >= warmup), default=None)
            for flow in flows
        ],
        drop_rate=link["drops"] / link["arrivals"],
    )


def fast_retransmits(
    variables: list[tuple[float, int, str, float]], flow: int
) -> Iterator[tuple[float, float]]:
    """Yields the start of each fast recovery, and cwnd before it, in packets.

    ns-2 counts every reduction of the window in `ncwndcuts_` before it changes cwnd. One that goes
    with a timeout (`nrexmit_` at the same time) does not count.
    """
    timeouts = {time for time, port, name, _ in variables if port == flow and name == "nrexmit_"}
    cwnd = 0.0
    for time, port, name, value in variables:
        if port != flow:
            continue
        if name == "cwnd_":
            cwnd = value
        elif name == "ncwndcuts_" and value > 0 and time not in timeouts:
            yield time, cwnd


def recorded() -> dict[str, list[Outcome]]:
    """Returns the output of `record`, by case."""
    cases_as_written = json.loads(REFERENCE.read_text())["cases"]
    return {name: [Outcome(**run) for run in runs] for name, runs in cases_as_written.items()}


def record(reference: Path, command: str, measure: Callable[[], object]) -> int:
    """Writes ns-2's results into a file, for machines without it; returns the exit code."""
    if not installed():
        print("ns is not installed (Debian and Ubuntu: apt-get install ns2)", file=sys.stderr)
        return 3
    text = json.dumps({"simulator": "ns-2.35", "command": command, "cases": measure()}, indent=1)
    reference.write_text(text + "\n")
    return 0


def measured() -> dict[str, list[dict[str, object]]]:
    """Runs every case in ns-2."""
    return {name: [dataclasses.asdict(outcome) for outcome in simulate(name)] for name in cases()}


if __name__ == "__main__":
    sys.exit(record(REFERENCE, "python3 tests/peers/ns2.py", measured))
