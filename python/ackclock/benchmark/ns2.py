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


def speed(flows: int, seconds: float, headers: str) -> float:
    """Returns the data packets per CPU second of one run, start-up subtracted."""
    (_, idle_s), (counted, whole_s) = (
        run(flows, length, 1, "Calendar", headers) for length in (0, seconds)
    )
    return counted["delivered"] / max(whole_s - idle_s, 1e-6)
