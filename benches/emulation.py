#!/usr/bin/env python3
"""Measures the fidelity of emulation on this machine, from 10 Mbit/s up to where it breaks.

Measures goodput, lateness and cost. Takes three minutes, and writes the table of
docs/guides/fidelity.md.

    .venv/bin/python benches/emulation.py

Each run is CUBIC over 20 ms with a queue of twice the bandwidth-delay product, without captures.
It lasts 12 s, of which the last 8 s count. Headers allow 1448 bytes of payload in packets of 1500
bytes.
"""

import os
import platform
import tempfile
from pathlib import Path
from typing import Any

import section

from ackclock import Scenario, emulate

#: Rate in Mbit/s, number of flows, device.
RUNS = [
    (10, 1, "tun"),
    (100, 1, "tun"),
    (100, 50, "tun"),
    (1000, 10, "tun"),
    (1000, 10, "packet_socket"),
    (1500, 10, "tun"),
    (2000, 10, "tun"),
    (3000, 10, "tun"),
]
ROUND_TRIP_S = 0.02
PACKET_BITS, PAYLOAD_SHARE = 12_000, 1448 / 1500

SCENARIO = """
schema = 1
name = "a rate"
duration = "12 s"
warmup = "4 s"
replicates = 1

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "10 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "100000 packets" }
delay = "10 ms"

[[flows]]
name = "bulk"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "cubic" } }
"""


def scenario(rate: int, flows: int) -> Scenario:
    """Returns the scenario of `flows` flows over a link of `rate` Mbit/s."""
    product = rate * 1e6 * ROUND_TRIP_S / PACKET_BITS
    changes: dict[str, Any] = {
        f"hops.{hop}.link.rate": f"{rate} Mbit/s" for hop in ("there", "back")
    }
    changes |= {
        "hops.there.queue.limit": f"{max(40, round(2 * product))} packets",
        "flows.bulk.count": flows,
    }
    return Scenario.from_toml(SCENARIO).replace(changes)


def row(rate: int, flows: int, device: str) -> str:
    """Runs once and formats the result as a line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        result = emulate(scenario(rate, flows), Path(folder) / "run", device=device, pcap=False)
        goodput = sum(result.tables["flows"]["goodput_bit_per_s"].to_pylist()) / 1e6
        (fidelity,) = result.tables["fidelity"].to_pylist()
    micro = {name: f"{1e6 * fidelity[f'lateness_{name}_s']:.0f}" for name in ("p50", "p99", "p999")}
    cells = [
        f"{rate} Mbit/s, {flows} {'flow' if flows == 1 else 'flows'}, {device}",
        f"{goodput:.4g}",
        f"{goodput / (rate * PAYLOAD_SHARE):.1%}",
        " / ".join(micro.values()),
        f"{1e3 * fidelity['longest_gap_s']:.1f}",
        f"{1e6 * fidelity['probe_extra_p50_s']:.0f}",
        f"{fidelity['cpu_share']:.0%}",
        str(fidelity["outside_drops"]),
        "reliable" if fidelity["reliable"] else "unreliable",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Runs, prints, and writes the page's table."""
    titles = [
        "",
        "goodput (Mbit/s)",
        "of what headers allow",
        "lateness p50 / p99 / p99.9 (µs)",
        "longest gap (ms)",
        "probes' extra p50 (µs)",
        "CPU",
        "lost outside",
        "verdict",
    ]
    about = (
        f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}, "
        f"{os.cpu_count()} processors, "
        f"load average {os.getloadavg()[0]:.1f} at the beginning."
    )
    lines = [about, "", f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 2) + "---|"]
    print("\n".join(lines))
    for run in RUNS:
        lines.append(row(*run))
        print(lines[-1], flush=True)
    section.write("docs/guides/fidelity.md", "accuracy", "\n".join(lines))


if __name__ == "__main__":
    main()
