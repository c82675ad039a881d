#!/usr/bin/env python3
"""Measures the steps a second of `ackclock.gym`, and writes a section of BENCHMARKS.md.

    make .venv/.release && .venv/bin/python benches/learning.py

One flow with a fixed window runs over a drop-tail queue. A step is a smoothed round-trip time, and
`aurora` is observed: ten intervals of three columns. Each number is the best of three, because
disturbances only make a run slower. CPU time is that of the whole process.
"""

import os
import time

import gymnasium
import numpy as np
import section

import ackclock.gym
from ackclock import Scenario

REPEATS = 3

SCENARIO = """
schema = 1
duration = "10000 s"

[[hops]]
name = "there"
link = { kind = "constant", rate = "12 Mbit/s" }
queue = { kind = "droptail", limit = "1 BDP" }
delay = "5 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "5 ms"

[[flows]]
name = "mine"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
"""

#: Rate of the link, delay each way, and window in packets.
SHORT, AURORA, FAST = (
    ("12 Mbit/s", "5 ms", 10),
    ("30 Mbit/s", "25 ms", 130),
    ("96 Mbit/s", "8 ms", 130),
)


def measured(count: int, threads: int, path: tuple[str, str, int]) -> str:
    """Returns the row of a number of environments on a path."""
    rate, delay, packets = path
    scenario = Scenario.from_toml(SCENARIO).replace(
        {"hops.there.link.rate": rate, "hops.there.delay": delay, "hops.back.delay": delay}
    )
    envs = gymnasium.make_vec(
        "ackclock/SingleFlow-v0",
        num_envs=count,
        scenario=scenario,
        action="window",
        threads=threads,
    )
    envs.reset(seed=1)
    action = np.full((count, 1), (np.log2(packets) - 8) / 8, np.float32)
    for _ in range(20):
        envs.step(action)
    steps = max(20, 200_000 // count // max(packets // 10, 1))
    best = (0.0, 0.0)
    delivered = 0.0
    for _ in range(REPEATS):
        wall, cpu, delivered = time.perf_counter(), time.process_time(), 0.0
        for _ in range(steps):
            *_, info = envs.step(action)
            delivered += float((info["throughput_bit_per_s"] * info["interval_s"]).sum())
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        best = max(best, (count * steps / wall, count * steps / cpu))
    each = delivered / 8 / 1448 / steps / count
    return (
        f"| {rate}, {delay} each way | {each:.0f} | {count} | {threads} | {best[0]:,.0f} | "
        f"{best[1]:,.0f} |"
    )


def reset(count: int) -> str:
    """Returns the time of a reset through Python, for each of the environments, in µs."""
    envs = gymnasium.make_vec(
        "ackclock/SingleFlow-v0", num_envs=count, scenario=Scenario.from_toml(SCENARIO), threads=1
    )
    best = float("inf")
    for _ in range(REPEATS):
        began = time.perf_counter()
        for seed in range(20):
            envs.reset(seed=seed)
        best = min(best, (time.perf_counter() - began) / 20 / count * 1e6)
    return f"{best:.0f} µs with {count}"


def main() -> None:
    """Measures, and writes the section."""
    rows = [
        measured(count, threads, path)
        for count, threads, path in (
            (64, 1, SHORT), (256, 1, SHORT), (1024, 1, SHORT), (1024, 2, SHORT), (4096, 2, SHORT),
            (64, 1, AURORA), (64, 1, FAST),
        )
    ]  # fmt: skip
    lines = [
        f"Load average {os.getloadavg()[0]:.1f}.",
        "",
        "| path | packets a step | environments | threads | steps a second | steps a CPU second |",
        "|---|---:|---:|---:|---:|---:|",
        *rows,
        "",
        f"A reset, until the first ACK has come, takes {reset(1)} and {reset(256)} for each.",
    ]
    section.write("BENCHMARKS.md", "learning", "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    assert ackclock.gym.SingleFlows
    main()
