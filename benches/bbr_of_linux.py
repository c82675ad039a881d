#!/usr/bin/env python3
"""Gives the calls that the kernel makes of its own `bbr` to the engine's `bbr1`, on ten paths.

Needs Linux 6.10 with `bbr`, root and `make kernel`. Takes five minutes of real time, and writes a
table of docs/guides/fidelity-ack-by-ack.md. With a folder as argument, keeps the runs there and
reuses those already there.

    .venv/bin/python benches/bbr_of_linux.py
    .venv/bin/python benches/bbr_of_linux.py out/bbr

The paths are those of `twin_of_linux.py`. Each run lasts 25 s, so that the smallest round-trip time
is measured again twice. Whether packets were late does not matter: both get the same calls.

The exit code is 4 if on a path windows or rates are equal after less than 99 % of the calls (issue
22).
"""

import sys
import tempfile
from pathlib import Path

import section
from twin_of_linux import PATHS, SCENARIO, impairment

from ackclock import Scenario, emulate
from ackclock.capture import calls

LEAST_SHARE = 0.99
DURATION = "25 s"


def scenario(path: str) -> Scenario:
    """Returns one bulk flow of the kernel's `bbr` over `path`."""
    rate, delay, limit, there, back = PATHS[path]
    text = SCENARIO.format(
        rate=rate, delay=delay, limit=limit, there=impairment(there), back=impairment(back),
        control="bbr1",
    )  # fmt: skip
    return Scenario.from_toml(text).replace(
        {
            "duration": DURATION,
            "flows.main.transport.control": {"kind": "kernel", "shipped": "linux_bbr"},
        }
    )


def main() -> int:
    """Runs, prints, and writes the page's table. Returns the exit code."""
    lines = [
        "| path | calls | window (%) | pacing rate (%) | calls that differ | cycles begun |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines))
    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        for number, path in enumerate(PATHS):
            place = folder / str(number)
            if not (place / "run.json").is_file():
                emulate(scenario(path), place)
            [compared] = calls.twin(place)
            counts = compared.outcome
            window, rate = (
                counts[equal] / counts["calls"] for equal in ("equal_windows", "equal_answers")
            )
            missed |= min(window, rate) < LEAST_SHARE or compared.missed != 0
            lines.append(
                f"| {path} | {counts['calls']:,} | {100 * window:.2f} | {100 * rate:.2f} "
                f"| {counts['calls'] - counts['equal']:,} | {counts['draws']} |"
            )
            print(lines[-1], flush=True)
    section.write("docs/guides/fidelity-ack-by-ack.md", "bbr calls", "\n".join(lines))
    return 4 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
