#!/usr/bin/env python3
"""Plays the ACKs of kernel senders to the engine's sender, on ten paths with three controls.

Takes 35 minutes of real time, and writes the table of docs/guides/fidelity-ack-by-ack.md. With a
folder as argument, keeps the runs there and reuses those already there.

    .venv/bin/python benches/twin_of_linux.py
    .venv/bin/python benches/twin_of_linux.py out/twins

Each run lasts 60 s. A run with an unreliable verdict is repeated up to three times.
"""

import sys
import tempfile
from pathlib import Path

import section

from ackclock import Result, Scenario, emulate, twin
from ackclock.capture.twin import Comparison

CONTROLS = ("reno", "cubic", "bbr1")
ATTEMPTS = 4

#: Rate, one-way delay, limit of the queue, impairments there and back.
PATHS = {
    "2 Mbit/s, 40 ms, 10 packets": ("2 Mbit/s", "20 ms", "10 packets", "", ""),
    "10 Mbit/s, 40 ms, 10 packets": ("10 Mbit/s", "20 ms", "10 packets", "", ""),
    "10 Mbit/s, 40 ms, 33 packets": ("10 Mbit/s", "20 ms", "33 packets", "", ""),
    "20 Mbit/s, 10 ms, 17 packets": ("20 Mbit/s", "5 ms", "17 packets", "", ""),
    "20 Mbit/s, 200 ms, 83 packets": ("20 Mbit/s", "100 ms", "83 packets", "", ""),
    "0.1 % loss": ("10 Mbit/s", "20 ms", "133 packets", "0.1 %", ""),
    "1 % loss": ("10 Mbit/s", "20 ms", "133 packets", "1 %", ""),
    "3 % loss": ("10 Mbit/s", "20 ms", "133 packets", "3 %", ""),
    "5 % of ACKs lost": ("10 Mbit/s", "20 ms", "33 packets", "", "5 %"),
    "reordering and 0.2 % loss": ("10 Mbit/s", "20 ms", "133 packets", "reordering", ""),
}

SCENARIO = """
schema = 1
name = "twin of Linux"
duration = "60 s"
seed = 2026
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "{rate}" }}
queue = {{ kind = "droptail", limit = "{limit}" }}
delay = "{delay}"
impairments = [{there}]

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "100 Mbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "{delay}"
impairments = [{back}]

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "{control}" }}, preset = "linux" }}
"""

REORDERING = (
    '{ kind = "jitter", reordering = "allowed", '
    'distribution = { kind = "exponential", mean = "1 ms" } }, '
    '{ kind = "iid_loss", probability = "0.2 %" }'
)


def impairment(kind: str) -> str:
    """Returns an impairment as TOML: a loss rate, `reordering`, or nothing."""
    if kind == "reordering":
        return REORDERING
    return f'{{ kind = "iid_loss", probability = "{kind}" }}' if kind else ""


def scenario(path: str, control: str) -> Scenario:
    """Returns one bulk flow of `control` over `path`."""
    rate, delay, limit, there, back = PATHS[path]
    return Scenario.from_toml(
        SCENARIO.format(
            rate=rate, delay=delay, limit=limit, there=impairment(there), back=impairment(back),
            control=control,
        )
    )  # fmt: skip


def run_of(path: str, control: str, folder: Path) -> Path | None:
    """Returns the folder of a reliable run, made now or before; None if there was none."""
    place = folder / f"{control}-{list(PATHS).index(path)}"
    if (place / "run.json").is_file() and not Result.load(place).unreliable:
        return place
    for _ in range(ATTEMPTS):
        if not emulate(scenario(path, control), place, replace=True).unreliable:
            return place
    return None


def row(path: str, control: str, compared: Comparison | None) -> str:
    """Returns a line of the table."""
    if compared is None:
        return f"| {path} | {control} | no reliable run |  |  |  |  |  |"
    counts = compared.outcome

    def share(equal: str, count: str) -> str:
        return f"{100 * counts[equal] / counts[count]:.2f}" if counts[count] else ""

    odd = counts["silences"] + counts["timers"]
    return (
        f"| {path} | {control} | {counts['acks']:,} | {share('equal_segments', 'segments')} "
        f"| {share('equal_windows', 'readings')} | {share('equal_thresholds', 'readings')} "
        f"| {share('equal_pacing', 'pacing_readings')} | {odd} |"
    )


def main() -> None:
    """Runs, prints, and writes the page's table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            "| path | control | ACKs | segments (%) | window (%) | threshold (%) | pacing (%) "
            "| others |",
            "|---|---|---:|---:|---:|---:|---:|---:|",
        ]
        for path in PATHS:
            for control in CONTROLS:
                place = run_of(path, control, folder)
                compared = None if place is None else twin(place)[0]
                lines.append(row(path, control, compared))
                print(lines[-1], flush=True)
    section.write("docs/guides/fidelity-ack-by-ack.md", "twin", "\n".join(lines))


if __name__ == "__main__":
    main()
