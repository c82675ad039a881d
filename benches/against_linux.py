#!/usr/bin/env python3
"""Compares the kernel's reno and cubic with the engine's on the same five paths.

Compares goodput, round-trip time and retransmissions. Takes about 40 minutes, and writes the table
and the figure of docs/notes/linux-2012.md. With a folder as argument, keeps the runs there and
reuses those already there.

    .venv/bin/python benches/against_linux.py
    .venv/bin/python benches/against_linux.py out/linux

Both methods get the same scenario with the preset `linux`. Rates are after the warm-up. The
round-trip time is the time average of the smoothed one, which both methods have. Confidence
intervals are Student's, at 95 %, over the replicates. Of the kernel's replicates, only reliable
ones count.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import section
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from ackclock import Result, Scenario, emulate, simulate
from ackclock.metrics.tables import column

FIGURE = section.ROOT / "docs" / "images" / "against-linux.svg"

#: Limit of the queue, loss and number of replicates on each path. The bandwidth-delay product of
#: 10 Mbit/s and 40 ms is 33 packets of 1500 bytes.
PATHS = {
    "¼ BDP": ("8 packets", "0 %", 5),
    "1 BDP": ("33 packets", "0 %", 5),
    "4 BDP": ("133 packets", "0 %", 5),
    "0.5 % loss": ("133 packets", "0.5 %", 15),
    "2 % loss": ("133 packets", "2 %", 15),
}
#: Linux's cubic has HyStart and the Reno-friendly growth of RFC 8312, so the engine's gets both.
CONTROLS = {
    "reno": {"kind": "reno"},
    "cubic": {"kind": "cubic", "slow_start_exit": "hystart++", "friendly_speedup": False},
}
METHODS = ("Linux", "engine")
WARMUP_S = 5

SCENARIO = """
schema = 1
name = "against linux"
duration = "25 s"
warmup = "5 s"
sample_interval = "20 ms"
seed = 2026

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "133 packets" }
delay = "20 ms"
impairments = [{ kind = "iid_loss", probability = "0 %" }]

[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
start = ["0 s", "100 ms"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "linux-2012" }
"""


def scenario(path: str, control: str) -> Scenario:
    """Returns the scenario of one bulk flow on one of the paths."""
    limit, loss, replicates = PATHS[path]
    return Scenario.from_toml(SCENARIO).replace(
        {
            "replicates": replicates,
            "hops.there.queue.limit": limit,
            "hops.there.impairments.0.probability": loss,
            "flows.main.transport.control": CONTROLS[control],
        }
    )


def answered(method: str, path: str, control: str, folder: Path) -> Result:
    """Returns the result of one method, stored earlier if there is one."""
    described = scenario(path, control)
    if method == "engine":
        return simulate(described)
    kept = folder / f"{control}-{list(PATHS).index(path)}"
    if (kept / "flows.parquet").exists():
        return Result.load(kept)
    return emulate(described, kept, replace=True)  # in place of what a kill left


def reliable(result: Result) -> list[int]:
    """Returns the numbers of the reliable replicates."""
    return [
        number for number in range(result.run["replicates"]) if (0, number) not in result.unreliable
    ]


def measured(result: Result) -> dict[str, list[float]]:
    """Returns three values of each reliable replicate.

    These are goodput in Mbit/s, mean smoothed round-trip time in ms and retransmissions in %.
    """
    flows = {row["replicate"]: row for row in result.tables["flows"].to_pylist()}
    samples = {
        name: column(result.tables["samples"], name)
        for name in ("replicate", "time_s", "smoothed_rtt_s")
    }
    warm = samples["time_s"] >= WARMUP_S
    counted = reliable(result)
    return {
        "goodput": [flows[number]["goodput_bit_per_s"] / 1e6 for number in counted],
        "rtt": [
            1e3
            * float(np.nanmean(samples["smoothed_rtt_s"][warm & (samples["replicate"] == number)]))
            for number in counted
        ],
        "retransmitted": [
            100 * flows[number]["retransmitted_packets"] / flows[number]["sent_packets"]
            for number in counted
        ],
    }


def interval(values: list[float]) -> str:
    """Formats the mean and the half width of its confidence interval."""
    if len(values) < 2:
        return "–"
    half = stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.2f} ± {half:.2f}"


def row(path: str, control: str, by_method: dict[str, dict[str, list[float]]]) -> str:
    """Formats a line of the page's table."""
    cells = []
    for name in ("goodput", "rtt", "retransmitted"):
        linux, engine = (by_method[method][name] for method in METHODS)
        cells += [interval(linux), interval(engine)]
        if name != "retransmitted":
            cells.append(f"{np.mean(engine) / np.mean(linux) - 1:+.1%}".replace("-0.0", "+0.0"))
    return f"| {' | '.join([control, path, *cells])} |"


def draw(axes: Axes, results: dict[str, Result], title: str) -> None:
    """Draws the congestion windows of the first reliable replicate of both methods."""
    for method, style in zip(METHODS, ("-", "--"), strict=True):
        samples = results[method].tables["samples"]
        first = np.flatnonzero(column(samples, "replicate") == reliable(results[method])[0])[::5]
        colour = "black" if method == "Linux" else "tab:orange"
        segments = column(samples, "cwnd_bytes")[first] / 1448
        axes.plot(
            column(samples, "time_s")[first],
            segments,
            style,
            color=colour,
            linewidth=0.9,
            label=method,
        )
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_ylim(bottom=0)
    axes.tick_params(labelsize=8)


def main() -> None:
    """Runs, draws, and writes the page's table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        figure = Figure(figsize=(9, 11), layout="constrained")
        grid = figure.subplots(len(PATHS), len(CONTROLS), sharex=True)
        lines = []
        for column, control in enumerate(CONTROLS):
            for place, path in enumerate(PATHS):
                results = {method: answered(method, path, control, folder) for method in METHODS}
                by_method = {method: measured(result) for method, result in results.items()}
                lines.append(row(path, control, by_method))
                print(lines[-1], f"({len(by_method['Linux']['goodput'])} reliable)", flush=True)
                draw(grid[place, column], results, f"{control}, {path}")
    grid[0, 0].legend(fontsize=8)
    figure.supxlabel("time (s)")
    figure.supylabel("congestion window (segments)")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE)
    titles = ["control", "path"]
    for quantity in ("goodput (Mbit/s)", "RTT (ms)", "retransmitted (%)"):
        titles += [f"{quantity}: Linux", "engine"] + ["difference"] * (
            quantity != "retransmitted (%)"
        )
    head = f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    table = head + "\n".join(lines)
    section.write("docs/notes/linux-2012.md", "against linux", table)


if __name__ == "__main__":
    main()
