"""Figure 15: the shares of two flows with different round-trip times, by the buffer."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval, rate_ratio
from ackclock.reproduction import Band, Claim, Outcome, Run
from ackclock_papers.hstcp.paper import basis, entry, guessed, stated
from ackclock_papers.hstcp.router import (
    BOTTLENECK,
    DELAY_S,
    PACKET_BYTES,
    TCP,
    highspeed,
    hops,
    of_runs,
)
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.scenarios import packets, scenario

MBIT_PER_S = 1000
#: Round-trip times without queueing, in milliseconds.
ROUND_TRIPS_MS = {"near": 40, "far": 80}
BUFFERS = (250, 500, 1000, 2500, 5000, 10_000)
DURATION_S, WARMUP_S = 200.0, 80.0
#: Who is first in a tie differs from replicate to replicate, and so do shares: three are too few.
REPLICATES = 8
RUN = "two flows"


def runs() -> Mapping[str, Run]:
    """Returns runs of both flows through drop-tail buffers of all sizes."""
    sweep = {f"hops.{BOTTLENECK}.queue.limit": [packets(buffer) for buffer in BUFFERS]}
    flows = [
        highspeed(name, f"{round_trip - 2000 * DELAY_S:g} ms", TCP | {"pacing": "off"})
        for name, round_trip in ROUND_TRIPS_MS.items()
    ]
    made = scenario(
        RUN, hops(MBIT_PER_S), flows, duration_s=DURATION_S, warmup_s=WARMUP_S,
        sample_interval_s=1.0, replicates=REPLICATES, sweep=sweep,
    )  # fmt: skip
    return {RUN: Run(made)}


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the ratio of the near flow's rate to the far flow's, by buffer."""
    result = results[RUN]
    ratios = {
        buffer: of_replicates(result, rate_ratio("near", "far"), "near", point)
        for point, buffer in enumerate(BUFFERS)
    }
    used = {
        buffer: of_replicates(result, "utilisation", BOTTLENECK, point)
        for point, buffer in enumerate(BUFFERS)
    }  # fmt: skip
    least, most = BUFFERS[0], BUFFERS[-1]
    fairer = Claim.of(
        f"with a large buffer it is fairer than with a small one: near over far with {most} "
        f"packets, over that with {least}",
        quotient(ratios[most], ratios[least]), Band(most=1), "times", than=1.0,
    )  # fmt: skip
    unfair = tuple(
        Claim.of(
            "as their round-trip times differ the flows share unfairly: near over far with "
            f"{buffer} packets",
            interval(ratios[buffer]), Band(1), "times", than=1.0, documented=False,
            why="the ratio differs more from one replicate to the next than it differs from 1",
        )
        for buffer in (least, most)
    )  # fmt: skip
    rows: Rows = {
        (str(buffer),): {
            "near over far": interval(ratios[buffer]),
            "link busy, %": interval(used[buffer]),
        }
        for buffer in BUFFERS
    }
    went_in = (
        *stated(link="1 Gbit/s, 10 ms", round_trips="one about twice the other"),
        *guessed(
            round_trip_times=", ".join(f"{ms} ms" for ms in ROUND_TRIPS_MS.values())
            + f", packets of {PACKET_BYTES} bytes",
            buffers=f"{', '.join(map(str, BUFFERS))} packets",
        ),
        *of_runs(results),
    )
    draw = partial(_draw, {buffer: interval(values) for buffer, values in ratios.items()})
    return Outcome(
        basis(),
        (),
        draw,
        (*unfair, fairer),
        went_in,
        (measured("Shares", ("buffer, packets",), rows),),
    )


def _draw(ratios: Mapping[int, Interval]) -> Figure:
    curves = [
        plot.Curve("equal shares", [BUFFERS[0], BUFFERS[-1]], [1, 1], "reference"),
        curve("near over far", list(ratios), list(ratios.values())),
    ]
    title = "Two HighSpeed TCP flows, 40 and 80 ms, 1 Gbit/s, drop-tail"
    return plot.curves(
        curves, "buffer (packets)", "goodput over goodput (ratio)", title, log_x=True
    )


EXPERIMENT = entry(
    "15",
    "Do two flows with different round-trip times share more evenly if the buffer is larger?",
    "One round-trip time is about twice the other; shares are fairer with a large buffer than "
    "with a small one.",
    25.0,
    conclude,
    runs,
)
