#!/usr/bin/env python3
"""Measures how fast quinn runs in the engine: datagrams of both sides per second of CPU time.

One flow over drop-tail of 40 ms. Start-up is subtracted. Runs take turns, and of several repeats
the fastest counts. `make build` first: the engine of tests checks as it runs.

    .venv/bin/python benches/quic.py
"""

from functools import partial
from itertools import product

from ackclock import Scenario, engine, simulate
from ackclock.benchmark import own, take_turns

REPEATS = 3
#: Simulated seconds by rate in Mbit/s: about 50,000 datagrams each.
SECONDS = {10: 60, 100: 6}


def scenario(rate: int, crypto: str) -> Scenario:
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
            "duration": "1 s",
            "sample_interval": "60 s",
            "hops": [there, back],
            "flows": [flow],
        }
    )


def datagrams(described: Scenario) -> int:
    """Simulates a scenario. Returns the datagrams that both sides sent."""
    result = simulate(described, threads=1)
    [row] = result.tables["flows"].to_pylist()
    answers = [hop for hop in result.tables["hops"].to_pylist() if hop["hop"] == "back"]
    return int(row["sent_packets"] + answers[-1]["arrivals"])


def main() -> None:
    """Measures and prints."""
    if engine.is_checking():
        raise SystemExit("the engine checks as it runs, and is slow: make build")
    programs = {
        f"{rate} Mbit/s, {crypto}": partial(own.speed, scenario(rate, crypto), seconds, datagrams)
        for (rate, seconds), crypto in product(SECONDS.items(), ("tls", "null"))
    }
    turns = take_turns(programs, REPEATS)
    print("| rate, protection | datagrams per CPU second |\n|---|---:|")
    for name in programs:
        print(f"| {name} | {turns.fastest(name):,.0f} |")


if __name__ == "__main__":
    main()
