#!/usr/bin/env python3
"""Measures how fast quinn runs in the engine: datagrams of both sides per second of CPU time.

One flow over drop-tail of 40 ms. Start-up, a run of one second, is subtracted. Of several repeats
the fastest counts. `make build` first: the engine of tests checks as it runs.

    python3 benches/quic.py
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

from ackclock import Scenario, engine, simulate

REPEATS = 3
#: Simulated seconds by rate in Mbit/s: about 50,000 datagrams each.
SECONDS = {10: 60, 100: 6}


def scenario(rate: int, crypto: str, seconds: float) -> Scenario:
    """Returns a scenario of one flow; the queue holds a bandwidth-delay product."""
    there = {
        "name": "there",
        "link": {"kind": "constant", "rate": f"{rate} Mbit/s"},
        "queue": {"kind": "droptail", "limit": f"{5 * rate} kB"},
        "delay": "20 ms",
    }
    back = there | {"name": "back", "queue": {"kind": "droptail", "limit": "unlimited"}}
    transport = {"kind": "quic", "stack": "quinn", "control": "cubic", "crypto": crypto}
    flow = {"name": "quic", "route": ["there"], "return": ["back"], "transport": transport}
    return Scenario(
        {
            "schema": 1,
            "duration": f"{seconds} s",
            "replicates": 1,
            "sample_interval": f"{seconds} s",
            "hops": [there, back],
            "flows": [flow],
        }
    )


def run(described: Scenario) -> tuple[int, float]:
    """Returns the datagrams of both sides, and the seconds of CPU time."""
    begin = time.process_time()
    result = simulate(described, threads=1)
    took = time.process_time() - begin
    [row] = result.tables["flows"].to_pylist()
    answers = [hop for hop in result.tables["hops"].to_pylist() if hop["hop"] == "back"]
    return row["sent_packets"] + answers[-1]["departures"], took


def rows() -> Iterator[dict[str, Any]]:
    """Yields the fastest of several repeats for each rate and protection."""
    for (rate, seconds), crypto in product(SECONDS.items(), ("tls", "null")):
        whole = [run(scenario(rate, crypto, 1.0 + seconds)) for _ in range(REPEATS)]
        start = [run(scenario(rate, crypto, 1.0)) for _ in range(REPEATS)]
        datagrams = whole[0][0] - start[0][0]
        took = min(seconds for _, seconds in whole) - min(seconds for _, seconds in start)
        yield {"rate": rate, "crypto": crypto, "per_s": datagrams / took, "datagrams": datagrams}


if __name__ == "__main__":
    if engine.is_checking():
        raise SystemExit("the engine checks as it runs, and is slow: make build")
    print("| rate, Mbit/s | protection | datagrams per CPU second |\n|---:|---|---:|")
    for row in rows():
        print(f"| {row['rate']} | {row['crypto']} | {row['per_s']:,.0f} |")
