"""Self-sizing buffers of an access point against fixed ones: throughput kept, delay saved.

The cell is that of the Letter of 2008, and so is eBDP. ALT and A* come from its successor of 2011.
Their parameters are from memory, so their results are ours and not the publication's.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
)
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.scenarios import Tree
from ackclock_papers.wifi.cell import (
    BUFFER,
    DOWNLOAD,
    MSS_BYTES,
    PACKET_BYTES,
    REPLICATES,
    cell,
    fixed,
    last_limit,
)
from ackclock_papers.wifi.figures_9_10 import ADDED, ebdp

#: Numbers of downloads and uploads, by the name of the traffic.
TRAFFIC = {"one download": (1, 0), "with ten uploads": (1, 10), "ten downloads": (10, 0)}
QUEUES: Mapping[str, Tree] = {
    "31 packets": fixed(31),
    "338 packets": fixed(338),
    "eBDP": ebdp(ADDED[0]),
    "ALT": {"kind": "alt"},
    "A*": {"kind": "a_star"},
}
#: ALT raises its limit by ten packets a second and lowers it by one, so it takes minutes to settle.
DURATION_S, WARMUP_OF_ALL_S = 400.0, 150.0
#: Numbers in the guide: Mbit/s and mean round-trip time in ms, by queue and traffic.
SAID = {
    "31 packets": ("10.98", "202", "1.01", "253", "12.30", "205"),
    "338 packets": ("13.67", "314", "1.32", "1567", "13.68", "345"),
    "eBDP": ("13.68", "326", "1.29", "383", "13.68", "370"),
    "ALT": ("13.38", "252", "1.22", "296", "12.99", "214"),
    "A*": ("13.38", "252", "1.12", "270", "12.99", "214"),
}
#: Relative tolerance; a recomputed number is the same except for its last digit.
NEAR = 0.005

Replicates = Mapping[tuple[str, str], list[float]]


def runs() -> Mapping[str, Run]:
    """Returns runs of each traffic through each queue."""
    sweep = {f"hops.{BUFFER}.queue": list(QUEUES.values())}
    return {
        traffic: Run(
            cell(
                f"{traffic}, adaptive buffers", fixed(1), uploads, downloads=downloads, sweep=sweep,
                duration_s=DURATION_S, warmup_s=WARMUP_OF_ALL_S,
            )
        )
        for traffic, (downloads, uploads) in TRAFFIC.items()
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares throughput, round-trip times and limits, by queue and traffic."""
    keys = [(queue, traffic) for queue in QUEUES for traffic in TRAFFIC]
    points = {queue: point for point, queue in enumerate(QUEUES)}
    rates, times = {}, {}
    rows: Rows = {}
    for queue, traffic in keys:
        result, point = results[traffic], points[queue]
        goodput = of_replicates(result, "goodput", DOWNLOAD, point)
        rates[queue, traffic] = [value * PACKET_BYTES / MSS_BYTES for value in goodput]
        times[queue, traffic] = of_replicates(result, "rtt", DOWNLOAD, point)
        rows[queue, traffic] = {
            "downloads, Mbit/s": interval(rates[queue, traffic]),
            "mean RTT, ms": interval(times[queue, traffic]),
            "limit at the end, packets": interval(last_limit(result, point)),
        }
    comparison = Comparison(
        "Downloads", Origin.STATED, ("buffer", "traffic"), _cells(rates, times), "to the last digit"
    )
    settings = (
        Setting("cell", "802.11g, 200 ms of wire, as for wifi-figure-8", Origin.CHOSEN),
        Setting(
            "ALT and A*",
            "a1 = 10 and b1 = 1 packets/s, 5 to 1600 packets, from 50 on, a = 5",
            Origin.CHOSEN,
        ),
        Setting(
            "runs",
            f"{DURATION_S:g} s, the first {WARMUP_OF_ALL_S:g} s not counted, {REPLICATES} times",
            Origin.CHOSEN,
        ),
    )
    draw = partial(_draw, times)
    table = measured("Downloads", ("buffer", "traffic"), rows)
    return Outcome(Basis(), (comparison,), draw, _claims(rates, times), settings, (table,))


def _cells(rates: Replicates, times: Replicates) -> tuple[Cell, ...]:
    cells = []
    for queue, texts in SAID.items():
        for number, traffic in enumerate(TRAFFIC):
            rate, rtt = texts[2 * number : 2 * number + 2]
            row = (queue, traffic)
            cells.append(
                Cell.simulated(row, "Mbit/s", rate, interval(rates[row]), NEAR * float(rate))
            )
            cells.append(
                Cell.simulated(row, "mean RTT, ms", rtt, interval(times[row]), NEAR * float(rtt))
            )
    return tuple(cells)


def _claims(rates: Replicates, times: Replicates) -> tuple[Claim, ...]:
    def kept(queue: str, traffic: str, least: float) -> Claim:
        statement = f"{queue}, {traffic}: throughput over that with 338 packets"
        ratio = quotient(rates[queue, traffic], rates["338 packets", traffic])
        return Claim.of(statement, ratio, Band(least=least), "times", origin=Origin.STATED)

    def shorter(queue: str, other: str, traffic: str, most: float) -> Claim:
        statement = f"{queue}, {traffic}: mean RTT over that with {other}"
        ratio = quotient(times[queue, traffic], times[other, traffic])
        return Claim.of(statement, ratio, Band(most=most), "times", origin=Origin.STATED)

    return (
        *(kept("eBDP", traffic, 0.95) for traffic in TRAFFIC),
        shorter("eBDP", "338 packets", "with ten uploads", 0.5),
        *(kept("A*", traffic, 0.8) for traffic in TRAFFIC),
        shorter("A*", "eBDP", "ten downloads", 0.7),
    )


def _draw(times: Replicates) -> Figure:
    places = range(len(TRAFFIC))
    curves = [
        curve(
            queue, list(places), [interval(times[queue, traffic]) for traffic in TRAFFIC], "points"
        )
        for queue in QUEUES
    ]
    title = "Downloads in an 802.11g cell, by the access point's buffer"
    return plot.curves(
        curves, "traffic (kind)", "mean round-trip time (ms)", title, categories=tuple(TRAFFIC),
        log_y=True
    )  # fmt: skip


EXPERIMENT = Experiment(
    "buffers-figure-2",
    "buffers",
    "ackclock, guide “Sizing a buffer”, 2026",
    "Figure 2",
    "Do buffers that size themselves keep an access point's throughput and reduce its delay?",
    "Beside uploads eBDP keeps the throughput of a large buffer at a quarter of its round-trip "
    "time; A* also sees that many downloads need less buffer.",
    25.0,
    conclude,
    runs,
)
