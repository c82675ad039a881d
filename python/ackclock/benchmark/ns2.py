"""ns-2 on the dumbbell."""

import resource
import shutil
import subprocess
from pathlib import Path

from ackclock.errors import InputError

SCRIPT = Path(__file__).parent / "dumbbell.tcl"
#: Sets of packet headers: `all` is the default of a script, `needed` is the fastest.
HEADERS = ("all", "needed")


def installed() -> bool:
    """Returns True if this machine has ns-2."""
    return shutil.which("ns") is not None


def run(
    flows: int, seconds: float, seed: int, scheduler: str, headers: str
) -> tuple[dict[str, int], float]:
    """Runs ns-2 once. Returns its counts and its CPU seconds (user and system).

    Raises:
        InputError: ns-2 failed, so this `ns` is another program or another version.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    arguments = ["ns", str(SCRIPT), str(flows), str(seconds), str(seed), scheduler, headers]
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = done.stdout.split()
    if done.returncode != 0 or not words:
        raise InputError("failed", "ns", "ended with an error; is it ns-2 (2.35)?")
    counted = {name: int(value) for name, value in zip(words[::2], words[1::2], strict=True)}
    return counted, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(
    flows: int, seconds: float, seed: int, repeats: int, scheduler: str, headers: str
) -> dict[str, object]:
    """Returns the record of the fastest of `repeats` runs, start-up subtracted."""
    start_up = min(run(flows, 0, seed, scheduler, headers)[1] for _ in range(repeats))
    runs = [run(flows, seconds, seed, scheduler, headers) for _ in range(repeats)]
    counted, total = min(runs, key=lambda pair: pair[1])
    cpu = total - start_up
    return {
        "flows": flows,
        "simulated_s": seconds,
        "seed": seed,
        "scheduler": scheduler,
        "headers": headers,
        "sent_packets": counted["sent"],
        "retransmitted_packets": counted["resent"],
        "delivered_packets": counted["delivered"],
        "events": counted["events"],
        "start_up_cpu_s": round(start_up, 4),
        "cpu_s": round(cpu, 4),
        "cpu_s_of_each_repeat": [round(pair[1] - start_up, 4) for pair in runs],
        "packets_per_cpu_s": round(counted["sent"] / cpu),
        "delivered_packets_per_cpu_s": round(counted["delivered"] / cpu),
        "events_per_packet": round(counted["events"] / counted["sent"], 2),
    }


def speed(flows: int, seconds: float, headers: str) -> float:
    """Returns the data packets per CPU second of one run, start-up subtracted."""
    (_, idle_s), (counted, whole_s) = (
        run(flows, length, 1, "Calendar", headers) for length in (0, seconds)
    )
    return counted["delivered"] / max(whole_s - idle_s, 1e-6)
