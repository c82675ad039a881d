#!/usr/bin/env python3
"""Measures the speed of ns-2 on the benchmark dumbbell, in simulated data packets per CPU second.

Prints the packets, the events and the CPU seconds as JSON, for each number of flows and for both
sets of packet headers. The set ``all`` has the headers that a script gets by default; ``needed`` is
the fastest configuration of ns-2. Start-up (loading ns-2, building the network) is a run of zero
simulated seconds and is subtracted. Of several repeats the fastest counts, because disturbances
only make a run slower.

Exit code 3 when ns-2 is not installed. The default is 10 flows.

    .venv/bin/python benches/ns2/run.py
    .venv/bin/python benches/ns2/run.py 1 10 100 1000 --repeats 5
"""

import argparse
import json
import sys

from ackclock.benchmark import ns2
from ackclock.benchmark.network import SECONDS


def main() -> int:
    """Measures and prints. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "flows", nargs="*", type=int, default=[10], help="numbers of flows (default: 10)"
    )
    parser.add_argument(
        "--seconds", type=float, help="simulated seconds (default: about a million packets)"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--scheduler", default="Calendar", choices=["Calendar", "Heap", "Splay", "List"]
    )
    parser.add_argument(
        "--headers", choices=["all", "needed"], help="(default: both, one after the other)"
    )
    arguments = parser.parse_args()
    if not ns2.installed():
        print("ns is not installed (Debian and Ubuntu: apt-get install ns2)", file=sys.stderr)
        return 3
    results = [
        ns2.measure(
            flows,
            arguments.seconds or SECONDS.get(flows, max(1.0, 1000 / flows)),
            arguments.seed,
            arguments.repeats,
            arguments.scheduler,
            headers,
        )
        for flows in arguments.flows
        for headers in ([arguments.headers] if arguments.headers else ns2.HEADERS)
    ]
    print(json.dumps({"simulator": "ns-2", "scenario": "dumbbell", "runs": results}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
