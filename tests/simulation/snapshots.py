"""Numbers of six fixed scenarios, to detect changes.

A snapshot says that something has changed, not that it is wrong. The laws beside it
(`test_snapshots.py`) say what must hold. After an intended change, write the numbers again and
state the reason in a file of `changes`, of the kind `numbers`:

    python -m tests.simulation.snapshots --write
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ackclock import Result, Scenario, simulate

from .paths import flow, loss, path, scenario, tcp
from .rows import column

FILE = Path(__file__).with_name("snapshots.json")
COMMAND = "python -m tests.simulation.snapshots --write"

#: Control, preset and loss recovery, by name.
CASES = {
    "Reno, RFC, SACK": ("reno", "rfc", "sack"),
    "Reno, RFC, Reno": ("reno", "rfc", "reno"),
    "Reno, ns-2, NewReno": ("reno", "ns2-2002", "newreno"),
    "Reno, ns-2, Tahoe": ("reno", "ns2-2002", "tahoe"),
    "CUBIC, Linux of 2012, SACK": ("cubic", "linux-2012", "sack"),
    "CUBIC, Linux, RACK": ("cubic", "linux", "rack"),
    "Reno, Linux, RACK": ("reno", "linux", "rack"),
    "Reno, RFC, RACK": ("reno", "rfc-modern", "rack"),
    "CUBIC, RFC, NewReno": ("cubic", "rfc", "newreno"),
}
COLUMNS = ("goodput_bit_per_s", "sent_packets", "retransmitted_packets", "timeouts")

Numbers = dict[str, list[float]]


def case(name: str, probability: str = "0.5 %") -> Scenario:
    """Returns the scenario: 10 Mbit/s, 40 ms and a queue of 40 packets, drops and random loss."""
    control, preset, recovery = CASES[name]
    hops = path("10 Mbit/s", "20 ms", "40 packets", loss(probability))
    return scenario(
        hops,
        [flow(tcp(control, preset, recovery=recovery))],
        "60 s",
        warmup="5 s",
        replicates=2,
        name=name,
    )


def numbers(result: Result) -> Numbers:
    """Returns the recorded numbers: each column's value for each replicate."""
    return {name: column(result, "flows", name).tolist() for name in COLUMNS}


def taken() -> dict[str, Numbers]:
    """Returns the numbers of the current engine."""
    return {name: numbers(simulate(case(name))) for name in CASES}


def written() -> dict[str, Numbers]:
    """Returns the numbers on file."""
    snapshots: dict[str, Numbers] = json.loads(FILE.read_text(encoding="utf-8"))
    return snapshots


def main() -> None:
    """Prints the differences; with `--write` records the numbers."""
    parser = argparse.ArgumentParser(
        description="Compares the numbers of six fixed scenarios with those on file."
    )
    parser.add_argument("--write", action="store_true", help="write them to the file")
    now = taken()
    if parser.parse_args().write:
        FILE.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
        return
    before = written()
    for name in now:
        print(
            name,
            "as before" if now[name] == before.get(name) else f"{before.get(name)} -> {now[name]}",
        )


if __name__ == "__main__":
    main()
