#!/usr/bin/env python3
"""Compares the versions of BBR with the kernel's `bbr` on one path.

Writes the figure and the table of docs/guides/which-bbr.md. Takes two minutes, as the kernel's run
in real time. With a folder as argument, keeps those runs there and reuses them.

    .venv/bin/python benches/bbr_versions.py
    .venv/bin/python benches/bbr_versions.py out/bbr
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import section
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock import Result, Scenario, emulate, metrics, simulate
from ackclock.metrics import by_replicate, interval
from ackclock.metrics.tables import column
from ackclock.models import bbr_bounds, flow_paths
from ackclock.table import written_interval

FIGURE = section.ROOT / "docs" / "images" / "which-bbr.svg"
PAGE = "docs/guides/which-bbr.md"
FLOW, HOP = "main", "there"
DURATION_S, REPLICATES = 24, 3
#: Width of the intervals over which goodput is drawn.
STEP_S = 0.2

SCENARIO = f"""
schema = 1
name = "which BBR"
duration = "{DURATION_S} s"
warmup = "4 s"
sample_interval = "20 ms"
replicates = {REPLICATES}
seed = 22

[[hops]]
name = "{HOP}"
link = {{ kind = "constant", rate = "10 Mbit/s" }}
queue = {{ kind = "droptail", limit = "133 packets" }}
delay = "20 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "20 ms"

[[flows]]
name = "{FLOW}"
route = ["{HOP}"]
return = ["back"]
start = ["0 s", "100 ms"]
transport = {{ kind = "tcp", control = {{ kind = "bbr1" }}, preset = "linux" }}
"""


class Version(NamedTuple):
    """One version of BBR.

    Attributes:
        label: Name in figure and table.
        method: `simulate` or `emulate`.
        control: Control, as in a scenario.
        style: Style of its line.
    """

    label: str
    method: str
    control: dict[str, Any]
    style: dict[str, Any]


VERSIONS = (
    Version(
        "kernel's bbr",
        "emulate",
        {"kind": "kernel", "name": "bbr"},
        {"color": "black", "linestyle": "-"},
    ),
    Version("bbr1", "simulate", {"kind": "bbr1"}, {"color": "tab:orange", "linestyle": "--"}),
    Version("bbr3", "simulate", {"kind": "bbr3"}, {"color": "tab:blue", "linestyle": "-."}),
)


def scenario(version: Version) -> Scenario:
    """Returns the scenario with one version of BBR."""
    changes = {f"flows.{FLOW}.transport.control": version.control}
    return Scenario.from_toml(SCENARIO).replace(changes)


def answered(version: Version, folder: Path) -> Result:
    """Returns the result of one version, stored earlier if there is one."""
    asked = scenario(version)
    if version.method == "simulate":
        return simulate(asked)
    kept = folder / version.label.replace(" ", "-")
    if (kept / "flows.parquet").exists():
        return Result.load(kept)
    return emulate(asked, kept, replace=True)  # in place of what a kill left


def first_reliable(result: Result) -> int:
    """Returns the first replicate that is reliable."""
    return next(number for number in range(REPLICATES) if (0, number) not in result.unreliable)


def panels(result: Result) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns time against window, queue and goodput of one replicate.

    Window and queue are in packets, goodput in Mbit/s.
    """
    replicate = first_reliable(result)
    samples, hops = result.tables["samples"], result.tables["hops"]
    mine = column(samples, "replicate") == replicate
    time = column(samples, "time_s")[mine]
    window = column(samples, "cwnd_bytes")[mine] / 1448
    grid = np.arange(0, DURATION_S, STEP_S)
    delivered = np.interp(grid, time, column(samples, "delivered_bytes")[mine].astype(float))
    there = (column(hops, "replicate") == replicate) & (column(hops, "hop") == HOP)
    backlog = column(hops, "backlog_packets")[there]
    return [
        (time, window),
        (column(hops, "time_s")[there], backlog),
        (grid[1:], np.diff(delivered) * 8 / STEP_S / 1e6),
    ]


def draw(results: dict[str, Result]) -> Figure:
    """Draws all versions over each other: window, queue and goodput."""
    figure = Figure(figsize=(8, 7.5), layout="constrained")
    axes: list[Axes] = list(figure.subplots(3, 1, sharex=True))
    for version in VERSIONS:
        for axis, (x, y) in zip(axes, panels(results[version.label]), strict=True):
            axis.plot(x, y, linewidth=0.9, label=version.label, **version.style)
    for axis, label in zip(
        axes,
        ("congestion window (segments)", "queue (packets)", "goodput (Mbit/s)"),
        strict=True,
    ):
        axis.set_ylabel(label, fontsize=8)
        axis.set_ylim(bottom=0)
        axis.tick_params(labelsize=8)
    axes[0].legend(fontsize=8, loc="upper right")
    axes[-1].set_xlabel("time (s)", fontsize=8)
    return figure


def row(version: Version, result: Result) -> str:
    """Formats a line of the page's table."""
    shown = []
    for name in ("goodput", "rtt", "retransmissions"):
        metric = metrics.metric(name)
        values = by_replicate(result, metric)[0, FLOW].values()
        shown.append(
            written_interval(interval([value * metric.shown_per_unit for value in values]))
        )
    peak = max(float(panels(result)[1][1].max()), 0.0)
    return f"| {version.label} ({version.method}) | {' | '.join(shown)} | {peak:.0f} |"


def bound(version: Version) -> str:
    """Formats the line of the model of a simulated version."""
    [path] = flow_paths(scenario(version).resolve().tree)
    _, says = bbr_bounds.MODEL.answer_path(path)
    goodput = says["goodput"] * path.sender.mss_bytes * 8 / 1e6
    return (
        f"| `bbr_bounds` of {version.label} (predict) | at least {goodput:.2f} | at most "
        f"{1000 * says['steady_rtt']:.1f} | 0 | at most {says['startup_queue']:.0f} |"
    )


def main() -> None:
    """Runs, draws, and writes the page's table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        results = {version.label: answered(version, folder) for version in VERSIONS}
        draw(results).savefig(FIGURE, metadata={"Date": None})
        head = (
            "| version | goodput, Mbit/s | round trip, ms | retransmitted, % | longest queue |\n"
            "|---|---|---|---|---|\n"
        )
        lines = [row(version, results[version.label]) for version in VERSIONS]
        lines += [bound(version) for version in VERSIONS if version.method == "simulate"]
        section.write(PAGE, "which bbr", head + "\n".join(lines))


if __name__ == "__main__":
    main()
