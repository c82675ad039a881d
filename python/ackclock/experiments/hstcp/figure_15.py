"""Figure 15: do two flows with different round-trip times share more evenly with a larger buffer?"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import plot
from ackclock.experiments.experiment import Run
from ackclock.experiments.hstcp.paper import entry, guessed, reading, stated
from ackclock.experiments.hstcp.router import HEADER_BYTES, MSS_BYTES, PACKET_BYTES, REPLICATES, TCP
from ackclock.experiments.outcome import Band, Claim, Outcome
from ackclock.experiments.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock.experiments.scenarios import (
    AMPLE_PACKETS,
    Tree,
    constant,
    hop,
    packets,
    replicates_run,
    scenario,
    seconds_run,
)
from ackclock.metrics import Interval, interval, rate_ratio
from ackclock.result import Result

MBIT_PER_S, DELAY_S = 1000, 0.010
#: Round trips without queueing, in milliseconds.
ROUND_TRIPS_MS = {"near": 40, "far": 80}
BUFFERS = (250, 500, 1000, 2500, 5000, 10_000)
DURATION_S, WARMUP_S = 200.0, 80.0
BOTTLENECK = "router"
RUN = "two flows"


def runs() -> Mapping[str, Run]:
    """Both through drop-tail buffers of any size."""
    link = constant(MBIT_PER_S)
    hops = [hop(BOTTLENECK, link, packets(1), DELAY_S), hop("back", link, packets(AMPLE_PACKETS), DELAY_S)]
    sweep = {f"hops.{BOTTLENECK}.queue.limit": [packets(buffer) for buffer in BUFFERS]}
    flows = [_flow(name, round_trip) for name, round_trip in ROUND_TRIPS_MS.items()]
    made = scenario(
        RUN, hops, flows, duration_s=DURATION_S, warmup_s=WARMUP_S, sample_interval_s=1.0, replicates=REPLICATES,
        sweep=sweep,
    )  # fmt: skip
    return {RUN: Run(made)}


def _flow(name: str, round_trip_ms: float) -> Tree:
    return {
        "name": name,
        "route": [BOTTLENECK],
        "return": ["back"],
        "extra_delay": f"{round_trip_ms - 2000 * DELAY_S:g} ms",
        "start": ["0 s", "1 s"],
        "transport": TCP | {"pacing": "off", "mss": f"{MSS_BYTES} bytes", "header": f"{HEADER_BYTES} bytes"},
        "traffic": {"kind": "bulk"},
    }


def conclude(results: Mapping[str, Result]) -> Outcome:
    """How many times the far flow's rate the near one has, by buffer."""
    result = results[RUN]
    ratios = {
        buffer: of_replicates(result, rate_ratio("near", "far"), "near", point) for point, buffer in enumerate(BUFFERS)
    }
    used = {
        buffer: of_replicates(result, "utilisation", BOTTLENECK, point) for point, buffer in enumerate(BUFFERS)
    }  # fmt: skip
    least, most = BUFFERS[0], BUFFERS[-1]
    fairer = Claim.of(
        f"with a large buffer it is fairer than with a small one: near over far with {most} packets, over that with "
        f"{least}",
        quotient(ratios[most], ratios[least]), Band(most=1), "times",
    )  # fmt: skip
    rows: Rows = {
        (str(buffer),): {"near over far": interval(ratios[buffer]), "link busy, %": interval(used[buffer])}
        for buffer in BUFFERS
    }
    went_in = stated(link="1 Gbit/s, 10 ms", round_trips="one about twice the other") + guessed(
        times=", ".join(f"{ms} ms" for ms in ROUND_TRIPS_MS.values()) + f", packets of {PACKET_BYTES} bytes",
        buffers=f"{', '.join(map(str, BUFFERS))} packets",
        TCP="as in ns-2 (preset ns2-2002) with SACK, no link before the router",
        runs=f"{seconds_run(results, 'duration')} s, the first {seconds_run(results, 'warmup')} s not counted, "
        f"{replicates_run(results)} times",
    )
    draw = partial(_draw, {buffer: interval(values) for buffer, values in ratios.items()})
    return Outcome(reading(), (), draw, (fairer,), went_in, (measured("Shares", ("buffer, packets",), rows),))


def _draw(ratios: Mapping[int, Interval]) -> Figure:
    curves = [
        plot.Curve("equal shares", [BUFFERS[0], BUFFERS[-1]], [1, 1], "reference"),
        curve("near over far", list(ratios), list(ratios.values())),
    ]
    title = "Two HighSpeed TCP flows, 40 and 80 ms, 1 Gbit/s, drop-tail"
    return plot.curves(curves, "buffer (packets)", "goodput over goodput (ratio)", title, log_x=True)


EXPERIMENT = entry(
    "15",
    "Do two flows with different round-trip times share more evenly with a larger buffer?",
    "One round trip is about twice the other; shares are fairer with a large buffer than with a small one.",
    25.0,
    conclude,
    runs,
)
