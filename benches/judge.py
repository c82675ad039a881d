#!/usr/bin/env python3
"""Measures a call of a class in Python, and judgements of candidates.

    .venv/bin/python benches/judge.py

Prints the CPU time of a call, beside the engine's own Reno. Of each judgement it prints time and
CPU time, processes included. The shipped controls are run before, once.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path

from ackclock import judge, simulate
from ackclock.controls import template
from ackclock.scenario import one_flow

SECONDS = 60
C = Path(__file__).resolve().parent.parent / "crates/ackclock-core/bpf/reno.bpf.c"
COUNTING = """
CALLS = [0]


class Counting(Mine):
    def pkts_acked(self, call):
        CALLS[0] += 1
        super().pkts_acked(call)

    def cong_avoid(self, call):
        CALLS[0] += 1
        super().cong_avoid(call)
"""


def cpu_seconds() -> float:
    """Returns the CPU time of this process and of those that have ended."""
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in every)


def simulated(control: dict[str, str], folder: Path) -> float:
    """Returns the CPU time of a run over 10 Mbit/s."""
    tcp = {"kind": "tcp", "preset": "linux", "control": control}
    scenario = one_flow(tcp, f"{SECONDS} s", folder)
    before = time.process_time()
    simulate(scenario, threads=1, progress=lambda _share: None)
    return time.process_time() - before


def calls(repeats: int) -> None:
    """Prints the cost of a call."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "mine.py").write_text(template("mine", python=True) + COUNTING, "utf-8")
        python = {"kind": "python", "file": "mine.py", "class": "Mine"}
        simulated({**python, "class": "Counting"}, folder)
        from ackclock.controls.python import load

        count = load(str(folder / "mine.py"), "Counting").cong_avoid.__globals__["CALLS"][0]
        engine = min(simulated({"kind": "reno"}, folder) for _ in range(repeats))
        own = min(simulated(python, folder) for _ in range(repeats))
    each = (own - engine) / count
    print(f"Reno of the engine  {engine:.3f} s")
    print(f"Reno in Python      {own:.3f} s: {count} calls, {1e6 * each:.2f} us each")


def judgements(field: str) -> None:
    """Prints the time of judgements."""
    judge("reno", field)  # Runs the shipped controls, which are kept.
    for name, source in (
        ("parameters", '{ kind = "cubic", beta = 0.8 }'),
        ("C", str(C)),
        ("Python", template("mine", python=True)),
    ):
        began, before = time.monotonic(), cpu_seconds()
        judged = judge(source, field, 60).record
        spent, cpu = time.monotonic() - began, cpu_seconds() - before
        stages = ", ".join(f"{stage} {part:.1f}" for stage, part in judged["stages"].items())
        print(f"{name:<12} {spent:5.1f} s, {cpu:5.1f} s of CPU time: {stages}")


def main() -> None:
    """Prints all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--field", default="wan")
    asked = parser.parse_args()
    calls(asked.repeats)
    judgements(asked.field)


if __name__ == "__main__":
    main()
