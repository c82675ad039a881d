#!/usr/bin/env python3
"""Measures the CPU time per packet of a capture of `ackclock measure`, tcptrace and tshark.

Takes four minutes, and writes the section "Measuring" of BENCHMARKS.md.

    .venv/bin/python benches/measure.py

The capture is of ten bulk connections at the senders, and every program reads the same two files.
The difference between the two files is the CPU time (user and system, of all threads) of the
additional packets, without start-up. Programs take turns, so that other load of the machine affects
all of them. Of several repeats the fastest counts. Programs that are not installed are left out.
For the analysis alone, run `cargo bench --bench measure`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import section

from ackclock import Scenario, measure, simulate

REPEATS = 5
#: Simulated seconds of the two files: 0.13 and 1.5 million packets.
SHORT_S, LONG_S = 10, 120

SCENARIO = """
schema = 1
name = "captured"
duration = "10 s"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "300 packets" }
delay = "20 ms"
impairments = [{ kind = "iid_loss", probability = "0.02 %" }]

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "bulk"
count = 10
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" }, preset = "linux" }
"""

#: The fields of tshark's analysis of each packet that are closest to our measurements.
FIELDS = ("frame.time_epoch", "tcp.stream", "tcp.analysis.retransmission", "tcp.analysis.ack_rtt")
FIELDS += ("tcp.analysis.bytes_in_flight",)
#: Name and command line, to which the file is appended.
OURS = "`ackclock measure`"
PROGRAMS = {
    OURS: [str(Path(sys.executable).parent / "ackclock"), "measure", "-o", "measured"],
    "`tcptrace -n -l -r`": ["tcptrace", "-n", "-l", "-r"],
    "`tshark -n -q -z conv,tcp`": ["tshark", "-n", "-q", "-z", "conv,tcp", "-r"],
    f"`tshark -n -T fields`, {len(FIELDS)} fields": [
        *(
            "tshark",
            "-n",
            "-T",
            "fields",
            *(word for field in FIELDS for word in ("-e", field)),
            "-r",
        ),
    ],
}


def capture(folder: Path, seconds: int) -> Path:
    """Captures a simulation of that many seconds. Returns the file."""
    place = folder / str(seconds)
    place.mkdir()
    simulate(Scenario.from_toml(SCENARIO).replace({"duration": f"{seconds} s"}), pcap=place)
    return place / "point-0-replicate-0-senders.pcap"


def packets(file: Path) -> int:
    """Returns the number of packets of a capture."""
    with tempfile.TemporaryDirectory() as folder:
        (capture,) = measure(file, folder).run["captures"]
    return int(capture["packets"])


def cpu_s(command: list[str], file: Path) -> float:
    """Returns the CPU seconds of one run."""
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [*command, str(file)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime


def race(files: tuple[Path, Path], programs: list[str]) -> dict[str, float]:
    """Returns the additional seconds for the longer file, from the fastest run on each file."""
    least: dict[tuple[str, Path], float] = {}
    for _ in range(REPEATS):
        for name in programs:
            for file in files:
                taken = cpu_s(PROGRAMS[name], file)
                least[name, file] = min(taken, least.get((name, file), taken))
    return {name: least[name, files[1]] - least[name, files[0]] for name in programs}


def main() -> None:
    """Prints the table and writes it into BENCHMARKS.md."""
    there = [name for name, (program, *_) in PROGRAMS.items() if shutil.which(program)]
    with tempfile.TemporaryDirectory() as folder:
        files = (capture(Path(folder), SHORT_S), capture(Path(folder), LONG_S))
        more = packets(files[1]) - packets(files[0])
        taken = race(files, there)
    rows = [
        f"| {name} | {1e9 * seconds / more:,.0f} ns | {more / seconds:,.0f} "
        f"| {seconds / taken[OURS]:.1f} |"
        for name, seconds in taken.items()
    ]
    missing = sorted({PROGRAMS[name][0] for name in PROGRAMS if name not in there})
    lines = [f"{more:,} packets. Load average {os.getloadavg()[1]:.1f}.", ""]
    lines += [
        "| | CPU time per packet | packets per CPU second | to that of ackclock |",
        "|---|---:|---:|---:|",
        *rows,
    ]
    lines += ["", *(f"{program} is not installed here." for program in missing)]
    measured = "\n".join(lines).rstrip()
    print(measured)
    section.write("BENCHMARKS.md", "measuring", measured)


if __name__ == "__main__":
    main()
