#!/usr/bin/env python3
"""Measures the speed of the engine, and compares it with ns-2 and with the floor.

The floor is the work that any such engine must do. The table of BENCHMARKS.md is written, which
takes minutes. `ackclock bench` measures the dumbbell with 10 flows alone. The engine of tests
checks as it runs: make build.

    .venv/bin/python benches/run.py

Programs take turns, so that other load of the machine affects all of them. Of several repeats the
fastest counts, because disturbances only make a run slower. Start-up is a run of almost no
simulated time and is subtracted. Valgrind's callgrind counts instructions, which do not depend on
other load.
"""

import argparse
import json
import math
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from functools import cache, partial
from pathlib import Path

import section

from ackclock import engine as extension
from ackclock.benchmark import Turns, compare_programs, programs, take_turns
from ackclock.benchmark.network import DUMBBELL, SECONDS, START_UP_S
from ackclock.benchmark.network import dumbbell as changes
from ackclock.benchmark.turns import Ratio

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
#: The preset of today's Linux, with as many ACKs as the other senders have.
LINUX = {"preset": "linux", "recovery": "rack", "delayed_ack.every": "1 packet"}
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
#: Queues of the bottleneck whose costs are compared, with 100 flows. Issue 25 allows FQ-CoDel 1.6
#: times the CPU time of drop-tail.
QUEUES = {"drop-tail": [], "FQ-CoDel": ['hops.bottleneck.queue={kind="fq_codel"}']}
#: Features whose costs are compared, on the dumbbell: with them, and without.
LOSS = '{{kind="iid_loss", probability="{}", side="before_queue"}}'
JITTER = '{kind="jitter", distribution={kind="uniform", maximum="2 ms"}, reordering="allowed"}'
TCP = 'flows.bulk.transport={{kind="tcp", preset="linux", control={{kind="{}"}}}}'
RARELY = 'sample_interval="100 s"'
FEATURES: dict[str, tuple[list[str], list[str]]] = {
    **{
        f"samples every {interval}": ([f'sample_interval="{interval}"'], [RARELY])
        for interval in ("100 ms", "10 ms", "1 ms")
    },
    "the table of packets": (["--trace", RARELY], [RARELY]),
    "1 % loss": ([f"hops.bottleneck.impairments=[{LOSS.format('1 %')}]"], []),
    "jitter that reorders": ([f"hops.bottleneck.impairments=[{JITTER}]"], []),
    "pacing": (['flows.bulk.transport.pacing="always"'], []),
    "SACK": (['flows.bulk.transport.recovery="sack"'], []),
    **{
        f"`{control}` beside `cubic`, preset `linux`": (
            [TCP.format(control)],
            [TCP.format("cubic")],
        )
        for control in ("bbr1", "bbr3", "prague")
    },
}
OFTEN = 'sample_interval="100 ms"'
#: Networks that differ in how hops are named, shared, delayed and sampled: whether the access hops
#: have names, and what else differs from the dumbbell.
NETWORKS: dict[str, tuple[bool, list[str]]] = {
    "the dumbbell": (False, []),
    "access hops by name": (True, []),
    "samples every 100 ms": (False, [OFTEN]),
    "access hops by name, samples every 100 ms": (True, [OFTEN]),
    "samples every 10 ms": (False, ['sample_interval="10 ms"']),
    "access hops by name, samples every 10 ms": (True, ['sample_interval="10 ms"']),
    "no delay at shared hops": (
        False,
        [f'hops.{hop}.delay="0 s"' for hop in ("bottleneck", "bottleneck back")],
    ),
    "no delay at access hops": (
        False,
        [
            f'hops.{side} access{way}.delay="0 s"'
            for side in ("sender", "receiver")
            for way in ("", " back")
        ],
    ),
    "no access hops": (
        False,
        ['flows.bulk.route=["bottleneck"]', 'flows.bulk.return=["bottleneck back"]'],
    ),
    "all hops shared": (
        False,
        [
            f'hops.{side} access{way}.scope="shared"'
            for side in ("sender", "receiver")
            for way in ("", " back")
        ],
    ),
    "ACKs return over access hops only": (
        False,
        ['flows.bulk.return=["receiver access back", "sender access back"]'],
    ),
    "one flow": (
        False,
        [
            "flows.bulk.count=1",
            'hops.bottleneck.link.rate="10 Mbit/s"',
            'hops.bottleneck.queue.limit="50 packets"',
            'duration="200 s"',  # for as many packets
        ],
    ),
}
#: Simulated seconds by number of stations of a cell.
CELL_SECONDS = {2: 200, 11: 200, 50: 200, 200: 200}


def dumbbell(flows: int, seconds: float) -> list[str]:
    """Returns the engine's arguments for the dumbbell; rate and queue grow with the flows."""
    assigned = (f"{path}={toml(value)}" for path, value in changes(flows, seconds).items())
    return [str(DUMBBELL), *assigned]


def by_name(folder: Path) -> Path:
    """Writes the dumbbell with 10 flows whose access hops have names instead of a scope."""
    scenario = tomllib.loads(DUMBBELL.read_text())
    [bulk] = scenario["flows"]
    shared = [hop for hop in scenario["hops"] if "scope" not in hop]
    hops, flows = list(shared), []
    for number in range(bulk.pop("count")):
        own = [hop | {"name": f"{hop['name']} {number}"} for hop in scenario["hops"]]
        hops += [hop for hop in own if hop.pop("scope", "")]
        own[0]["delay"] = f"{5 + 2 * number} ms"  # the access delay of `bulk`, 0 to 18 ms

        def named(hop: str, number: int = number) -> str:
            return hop if any(hop == other["name"] for other in shared) else f"{hop} {number}"

        routes = {way: [named(hop) for hop in bulk[way]] for way in ("route", "return")}
        flows.append({**bulk, **routes, "name": f"flow {number}", "access_delay": "0 s"})
    path = folder / "by-name.toml"
    fields = (scenario | {"hops": hops, "flows": flows}).items()
    path.write_text("".join(f"{name} = {toml(value)}\n" for name, value in fields))
    return path


def toml(value: object) -> str:
    """Returns a value in TOML, on one line."""
    if isinstance(value, dict):
        fields = ", ".join(f"{name} = {toml(field)}" for name, field in value.items())
        return f"{{ {fields} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def cell(stations: int, seconds: float) -> list[str]:
    """Returns the engine's arguments for the cell with that many stations."""
    return [
        str(HERE / "cell.toml"),
        f'duration="{seconds} s"',
        f"flows.upload.count={stations - 1}",
    ]


def spend(arguments: list[str]) -> tuple[dict[str, int], float]:
    """Runs a program that prints JSON. Returns the JSON and the CPU seconds (user and system)."""
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(arguments, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"{arguments} failed")
        out.seek(0)
        printed = json.load(out)
    return printed, usage.ru_utime + usage.ru_stime


def engine(arguments: list[str]) -> list[str]:
    """Returns the command line of the engine."""
    return [str(TARGET / "engine"), *arguments]


def packets_per_cpu_s(arguments: list[str], start_up: list[str]) -> float:
    """Returns the data packets per CPU second of one run, start-up subtracted."""
    printed, cpu = spend(arguments)
    return printed["data_packets"] / less_start_up(cpu, start_up)


def less_start_up(cpu_s: float, start_up: list[str]) -> float:
    """Returns the CPU seconds of a run without those of its start-up.

    Raises:
        SystemExit: The start-up took half of the run or more, so that little is left to compare.
    """
    idle = start_up_s(tuple(start_up))
    if cpu_s < 2 * idle:
        raise SystemExit(f"start-up takes {idle:.3f} s of the {cpu_s:.3f} s of {start_up[0]}")
    return cpu_s - idle


@cache
def start_up_s(start_up: tuple[str, ...]) -> float:
    """Returns the CPU seconds of a run of hardly any simulated time, the fastest of five."""
    return min(spend(list(start_up))[1] for _ in range(5))


def speed(flows: int, seconds: float, more: list[str]) -> float:
    """Returns the data packets per CPU second of the engine on the dumbbell with changes."""
    arguments, start_up = (
        engine([*dumbbell(flows, length), *more]) for length in (seconds, START_UP_S)
    )
    return packets_per_cpu_s(arguments, start_up)


def scaling(repeats: int) -> dict[int, float]:
    """Returns the nanoseconds of CPU time per data packet by number of flows, the best of each."""
    turns = take_turns(
        {str(flows): partial(speed, flows, seconds, []) for flows, seconds in SECONDS.items()},
        repeats,
    )
    return {flows: 1e9 / turns.fastest(str(flows)) for flows in SECONDS}


def queues(repeats: int) -> dict[str, float]:
    """Returns the nanoseconds of CPU time per data packet by queue, the best of each."""
    turns = take_turns(
        {name: partial(speed, 100, SECONDS[100], queue) for name, queue in QUEUES.items()}, repeats
    )
    return {name: 1e9 / turns.fastest(name) for name in QUEUES}


def features(repeats: int) -> dict[str, Ratio]:
    """Returns the CPU time per data packet by feature, to that without it."""
    both = {
        f"{name}, {has}": partial(speed, 10, 20, more)
        for name, pair in FEATURES.items()
        for has, more in zip(("with", "without"), pair, strict=True)
    }
    turns = take_turns(both, repeats)
    return {name: turns.ratio(f"{name}, without", f"{name}, with") for name in FEATURES}


def networks(repeats: int, folder: Path) -> dict[str, Ratio]:
    """Returns the CPU time per data packet by network, to that of the dumbbell.

    Args:
        repeats: Number of rounds.
        folder: Where to write a scenario.
    """
    named = str(by_name(folder))
    turns = take_turns(
        {
            name: partial(network_speed, named if is_named else str(DUMBBELL), more)
            for name, (is_named, more) in NETWORKS.items()
        },
        repeats,
    )
    plain = next(iter(NETWORKS))
    return {name: turns.ratio(plain, name) for name in NETWORKS}


def network_speed(file: str, more: list[str]) -> float:
    """Returns the data packets per CPU second of a file of the dumbbell with changes."""
    start_up = engine([file, *more, f'duration="{START_UP_S} s"'])
    return packets_per_cpu_s(engine([file, 'duration="20 s"', *more]), start_up)


def cells(repeats: int) -> dict[int, float]:
    """Returns the simulated seconds per CPU second by number of stations, the best of each."""
    best: dict[int, float] = {}
    for _ in range(repeats):
        for stations, seconds in CELL_SECONDS.items():
            cpu = spend(engine(cell(stations, seconds)))[1]
            faster = seconds / less_start_up(cpu, engine(cell(stations, 0.001)))
            best[stations] = max(faster, best.get(stations, 0.0))
    return best


def instructions(arguments: list[str]) -> int:
    """Returns the number of instructions executed, counted by callgrind."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *engine(arguments)]
    log = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(next(line for line in log.splitlines() if "Collected" in line).split(":")[1])


def instruction_counts(folder: Path) -> dict[str, float]:
    """Returns the instructions per data packet of fixed scenarios, start-up subtracted.

    Args:
        folder: Where to write a scenario.
    """
    first, lossy = (
        str(ROOT / "examples/first.toml"),
        str(ROOT / "tests/peers/scenarios/random-loss.toml"),
    )
    sack = 'flows.bulk.transport.recovery="sack"'
    linux = [f'flows.bulk.transport.{name}="{value}"' for name, value in LINUX.items()]
    named = by_name(folder)
    scenarios = {
        "dumbbell, 10 NewReno flows": dumbbell(10, 20),
        "the same, each access hop by name": [str(named), 'duration="20 s"'],
        "examples/first.toml, one CUBIC flow": [first, 'duration="60 s"'],
        "1 % random loss, SACK": [lossy, sack, 'duration="100 s"'],
        "1 % random loss, Linux": [lossy, *linux, 'duration="100 s"'],
        **{f"dumbbell, 100 flows, {name}": [*dumbbell(100, 2), *q] for name, q in QUEUES.items()},
    }
    counts = {}
    for name, arguments in scenarios.items():
        base = instructions([*arguments, 'duration="1 ms"', 'warmup="0 s"'])
        packets = spend(engine(arguments))[0]["data_packets"]
        counts[name] = (instructions(arguments) - base) / packets
    return counts


def memory() -> dict[str, float]:
    """Returns the bytes per idle flow and per packet in flight; empty if unknown.

    Both are slopes between two runs of different size.
    """
    idle = [
        spend(engine([str(HERE / "idle.toml"), f"flows.idle.count={count}"]))[0]
        for count in (1_000, 21_000)
    ]
    window = "flows.bulk.transport.initial_window"
    far = [
        spend(engine([str(HERE / "far.toml"), f'{window}="{packets} packets"']))[0]
        for packets in (50_000, 400_000)
    ]
    if idle[0]["peak_bytes"] is None:
        return {}

    def slope(runs: list[dict[str, int]], steps: int) -> float:
        return (runs[1]["peak_bytes"] - runs[0]["peak_bytes"]) / steps

    return {
        "bytes per idle flow": slope(idle, 20_000),
        "bytes per packet in flight": slope(far, far[1]["most_packets"] - far[0]["most_packets"]),
    }


def ratio_cells(ratio: Ratio) -> str:
    """Returns two cells of a table: a ratio, and how low and high it was in single rounds."""
    return f"{ratio.fastest:.2f} | {ratio.low:.2f} to {ratio.high:.2f}"


def table(
    turns: Turns,
    costs: dict[int, float],
    queueing: dict[str, float],
    costs_of_features: dict[str, Ratio],
    costs_of_networks: dict[str, Ratio],
    faster: dict[int, float],
    counts: dict[str, float],
    held: dict[str, float],
) -> str:
    """Formats the tables of BENCHMARKS.md."""
    ask = ["git", "rev-parse", "--short", "HEAD"]
    commit = (
        subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
        or "unknown"
    )
    load = os.getloadavg()[1]
    lines = [
        f"Commit {commit}, {platform.machine()}, {os.cpu_count()} CPUs, load average {load:.1f}.",
        "",
        "| dumbbell, 10 flows | data packets per CPU second | engine is faster by | in single "
        "rounds |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {turns.fastest(name):,.0f} | "
            f"{ratio_cells(turns.ratio(programs.ENGINE, name))} |"
            for name in turns.speeds
        ),
        "",
        "| flows | CPU time per data packet | to that of 10 flows |",
        "|---:|---:|---:|",
        *(
            f"| {flows:,} | {cost:.0f} ns | {cost / costs[10]:.2f} |"
            for flows, cost in costs.items()
        ),
        "",
        "| queue, 100 flows | CPU time per data packet | to drop-tail |",
        "|---|---:|---:|",
        *(
            f"| {name} | {cost:.0f} ns | {cost / queueing['drop-tail']:.2f} |"
            for name, cost in queueing.items()
        ),
        "",
        "| feature, 10 flows | CPU time per data packet to that without it | in single rounds |",
        "|---|---:|---:|",
        *(f"| {name} | {ratio_cells(cost)} |" for name, cost in costs_of_features.items()),
        "",
        "| network, the slowest first | CPU time per data packet to that of the dumbbell | in "
        "single rounds |",
        "|---|---:|---:|",
        *(
            f"| {name} | {ratio_cells(cost)} |"
            for name, cost in sorted(costs_of_networks.items(), key=lambda row: -row[1].fastest)
        ),
        "",
        "| stations of a busy 802.11g cell | simulated seconds per CPU second |",
        "|---:|---:|",
        *(f"| {stations} | {times:,.0f} |" for stations, times in faster.items()),
        "",
    ]
    if counts:
        lines += ["| scenario | instructions per data packet |", "|---|---:|"]
        lines += [f"| {name} | {count:,.0f} |" for name, count in counts.items()]
        lines += [""]
    lines += [
        "| memory | |",
        "|---|---:|",
        *(f"| {name} | {value:,.0f} |" for name, value in held.items()),
    ]
    return "\n".join(lines)


def command_start_up_s() -> float | None:
    """Returns the CPU seconds of `ackclock simulate` for 1 ms: loading Python and the scenario.

    Its modules have been compiled before, as for a user. The fastest of three counts; none if the
    command is not installed.
    """
    program = ROOT / ".venv/bin/ackclock"
    if not program.exists():
        return None
    changes = ("duration=1 ms", "warmup=0 s", "replicates=1")
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), "simulate", str(ROOT / "examples/first.toml")]
        command += [word for change in changes for word in ("--set", change)]
        command += ["-o", f"{folder}/out"]
        environment = os.environ | {"PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        spent = []
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(spent[1:])


def main() -> int:
    """Builds, runs, prints, and writes the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if extension.is_checking():
        raise SystemExit("the engine checks as it runs, and is slow: make build")
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "ackclock-bench"], cwd=ROOT, check=True
    )
    turns = compare_programs(10, arguments.repeats, math.inf)
    few = min(arguments.repeats, 3)
    with tempfile.TemporaryDirectory() as folder:
        counts = instruction_counts(Path(folder)) if shutil.which("valgrind") else {}
        costs = networks(few, Path(folder))
    measured = table(
        turns, scaling(few), queues(few), features(few), costs, cells(few), counts, memory()
    )
    if (seconds := command_start_up_s()) is not None:
        measured += f"\n\n`ackclock simulate`, start-up: {seconds:.2f} s of CPU time."
    print(measured)
    section.write("BENCHMARKS.md", "measured", measured)
    programs.publish({name: turns.ratio(programs.ENGINE, name).fastest for name in turns.speeds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
