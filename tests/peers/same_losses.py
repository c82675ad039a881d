"""The same losses in both simulators: ackclock draws them, and ns-2 loses the same packets.

No sampling error is left between the two. As a program it writes ns-2's results beside itself, for
machines without ns-2:

    python -m tests.peers.same_losses            # writes reference-same-losses.json
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import ackclock

from . import ns2, ours
from .outcome import Outcome

REFERENCE = Path(__file__).with_name("reference-same-losses.json")
#: Shares of the packets that are lost, in percent.
PERCENT = (1, 2, 5, 10)
#: Numbers of runs for each recovery. Those of SACK are compared by their mean.
RUNS = {"reno": 10, "newreno": 10, "sack": 60}

COMMAND = "python -m tests.peers.same_losses"


@cache
def mine(recovery: str, percent: int, seed: int) -> tuple[Outcome, str]:
    """Returns ackclock's run, and the lost packets as text for ns-2. The queue drops nothing."""
    outcome, lost = ours.simulate_with_losses(path(recovery), percent, seed)
    return outcome, " ".join(map(str, lost))


def path(recovery: str) -> str:
    """Returns the case in terms of `ours.load`."""
    return f"random-loss {recovery} 1000"


def goodput(recovery: str, percent: int, seed: int) -> float:
    """Returns ackclock's goodput in bit/s. A table of packets would take three times the run."""
    result = ackclock.simulate(ours.with_losses(path(recovery), percent, seed))
    (rate,) = result.tables["flows"]["goodput_bit_per_s"].to_pylist()
    return float(rate)


def live(recovery: str, percent: int, seed: int) -> dict[str, object]:
    """Returns ns-2's result with the same losses, and the losses."""
    losses = mine(recovery, percent, seed)[1]
    outcome = ns2.run(
        {"control": ns2.AGENTS[recovery], "limit": 1000, "losses": losses, "windows": 0}
    )
    return {
        "losses_sha256": hashlib.sha256(losses.encode()).hexdigest()[:16],
        "goodput_bit_per_s": outcome.goodput_bit_per_s[0],
        "timeouts": outcome.timeouts[0],
    }


@cache
def recorded() -> dict[str, list[dict[str, object]]]:
    """Returns the output of `record`: by recovery and percent, one run per seed."""
    cases: dict[str, list[dict[str, object]]] = json.loads(REFERENCE.read_text())["cases"]
    return cases


def cases() -> list[tuple[str, int]]:
    """Returns recovery and percent of each case."""
    return [(recovery, percent) for recovery in RUNS for percent in PERCENT]


def name(recovery: str, percent: int) -> str:
    """Returns the name of a case in the file."""
    return f"{recovery} {percent} %"


def seeds(recovery: str) -> range:
    """Returns the seeds of a recovery's runs."""
    return range(1, RUNS[recovery] + 1)


def theirs(recovery: str, percent: int, seed: int) -> dict[str, object]:
    """Returns ns-2's recorded result."""
    return recorded()[name(recovery, percent)][seed - 1]


def check(recovery: str, percent: int, seed: int) -> None:
    """Demands that ns-2 was recorded with these very losses."""
    recorded = theirs(recovery, percent, seed)["losses_sha256"]
    losses = mine(recovery, percent, seed)[1]
    assert recorded == hashlib.sha256(losses.encode()).hexdigest()[:16], (
        "ackclock loses other packets than when ns-2 was recorded; where ns-2 is installed: "
        f"{COMMAND}"
    )


def measured() -> dict[str, list[dict[str, object]]]:
    """Runs every case in ns-2."""
    by_case = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for recovery, percent in cases():
            runs = pool.map(
                lambda seed, case=(recovery, percent): live(*case, seed), seeds(recovery)
            )
            by_case[name(recovery, percent)] = list(runs)
    return by_case


if __name__ == "__main__":
    sys.exit(ns2.record(REFERENCE, COMMAND, measured))
