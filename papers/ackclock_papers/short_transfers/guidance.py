"""Sections II.B and V: what the paper advises for slow start on paths with small buffers.

Section II.B: begin with a small d, and change to a larger one before the buffer overflows. Section
V: a threshold that is to avoid losses must take account of the buffer. The threshold of section I
is that of Hoe, the bandwidth-delay product by the spacing of the first ACKs.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.reproduction import Claim, Experiment, Origin, Outcome, Run, Table
from ackclock_papers.short_transfers.paper import (
    GROUP,
    PIPE,
    SEGMENT_BYTES,
    SOURCE,
    basis,
    settings,
)
from ackclock_papers.short_transfers.throughput import AROUND, SIZES, Curves, Line
from ackclock_papers.short_transfers.transfers import FLOW, LINK, RENO, modelled, scenario

BUFFER = 20
#: With d = 1 the windows of slow start are powers of two, and a buffer of 20 overflows at 52: the
#: last window before that is 32. From there d = 3 opens the window by less than 20 a round trip.
CHANGE, LATER = 32, 3
#: Largest size over which performance is compared, in segments: that of the paper's figures.
LARGEST = 600
DURATION_S, SAMPLE_S = 400.0, 10.0


def _sender(change: int, later: int) -> Line:
    """Returns a sender whose slow start has d = `later` from the window `change` on."""
    control = {"kind": "reno", "slow_start_change": change, "slow_start_divisor": later}
    label = f"d = {later}" if change == 1 else f"d = 1, {later} from {change} on"
    return Line(
        label,
        RENO._replace(label=label, control=control),
        1,
        {
            "change_window": change,
            "later_segments_per_ack": later,
            "avoidance_segments_per_ack": 1,
        },
    )


CHANGED = _sender(CHANGE, LATER)
CONSTANT = tuple(_sender(1, d) for d in (1, 2, 3))
SENDERS = (*CONSTANT, CHANGED)


def change_runs() -> Mapping[str, Run]:
    """Returns transfers of all sizes by each sender."""
    return {
        sender.label: Run(scenario(sender.sender, 1, SIZES, [BUFFER], DURATION_S, SAMPLE_S))
        for sender in SENDERS
    }


def conclude_change(results: Mapping[str, Result]) -> Outcome:
    """Compares a d that changes before the overflow with constant ones."""
    curves = Curves(BUFFER, SENDERS, results)
    first, last = CONSTANT[0].jump(BUFFER), CHANGED.jump(BUFFER)
    window = _window(CHANGED)
    claims = (
        *(_better_on_the_mean(curves, constant) for constant in CONSTANT),
        *(
            Claim(
                "Where d = 1 loses packets and the changed one does not, it is the fastest: beside "
                f"{constant.label}",
                *curves.faster(CHANGED, constant, AROUND[1] * first, AROUND[0] * last, (1, np.inf)),
            )
            for constant in CONSTANT
        ),
        Claim(
            "It builds the window until the pipe is full: W_B, and B + mu T",
            f"{window:g} of {BUFFER + PIPE:g} packets; {_window(CONSTANT[0]):g} with d = 1",
            window == BUFFER + PIPE, origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    own = settings({
        "sender": f"d = 1 up to a window of {CHANGE}, then {LATER}; an ACK for each segment",
        "buffer": f"{BUFFER} packets",
        "sizes": f"{SIZES[0]} to {SIZES[-1]} segments",
    })  # fmt: skip
    return Outcome(basis(), (), partial(_draw_change, curves), claims, own, (_rates(curves),))


def _window(line: Line) -> float:
    return modelled("overflow_window", size=1, buffer=BUFFER, **line.inputs)[0]


def _better_on_the_mean(curves: Curves, constant: Line) -> Claim:
    shown = [place for place, size in enumerate(SIZES) if size <= LARGEST]
    means = {
        name: float(
            np.mean(rates_of[CHANGED.label][shown] / rates_of[constant.label][shown])
        )
        for name, rates_of in (("engine", curves.engine), ("model", curves.model))
    }  # fmt: skip
    return Claim(
        "The best performance begins with a small d and changes to a larger one before the "
        f"overflow: over {constant.label}, mean over sizes up to {LARGEST}",
        ", ".join(f"{name} {ratio:.2f} times" for name, ratio in means.items()),
        min(means.values()) > 1,
    )


def _rates(curves: Curves) -> Table:
    rows = tuple(
        (line.label, *(f"{curves.engine[line.label][SIZES.index(size)]:.1f}" for size in SHOWN))
        for line in SENDERS
    )
    return Table("Packets/s, engine", ("sender", *(f"S = {size}" for size in SHOWN)), rows)


SHOWN = (60, 100, 200, 240, 300, 400, 600)


def _draw_change(curves: Curves) -> Figure:
    sizes = [size for size in SIZES if size <= LARGEST]
    grid = np.arange(sizes[0], LARGEST + 1, 5)
    drawn = [
        plot.Curve(f"{line.label}, model", grid, line.modelled(BUFFER, list(grid)))
        for line in SENDERS
    ]
    for place, line in enumerate(SENDERS):
        values = curves.engine[line.label][: len(sizes)]
        drawn.append(plot.Curve(f"{line.label}, engine", sizes, values, "points", style_of=place))
    title = f"d changed in slow start; 1 Mbit/s, 0.5 s, a buffer of {BUFFER} packets"
    return plot.curves(drawn, "size of the transfer (packets)", "throughput (packets/s)", title)


# Hoe's threshold

BUFFERS = (5, 10, 15, 20, 25, 30, 40, 50, 63, 70, 100)
ACKS = (1, 2, 3)
#: Segments: sent before congestion avoidance could overflow a buffer of 40 or more.
SIZE = 300
HOE = RENO._replace(label="Hoe", control={"kind": "reno", "slow_start_exit": "hoe"})
HOE_DURATION_S, HOE_SAMPLE_S = 60.0, 0.02


def threshold_runs() -> Mapping[str, Run]:
    """Returns a transfer through each buffer, for each d of the receiver."""
    return {
        f"d = {d}": Run(scenario(HOE, d, [SIZE], BUFFERS, HOE_DURATION_S, HOE_SAMPLE_S))
        for d in ACKS
    }


def conclude_threshold(results: Mapping[str, Result]) -> Outcome:
    """Compares losses with a threshold at the bandwidth-delay product, by buffer."""
    lost = {
        (buffer, d): _drops(results[f"d = {d}"], point)
        for d in ACKS
        for point, buffer in enumerate(BUFFERS)
    }
    expected = {
        (buffer, d): modelled(
            "lost", size=SIZE, buffer=buffer, segments_per_ack=d, initial_threshold=PIPE
        )[0]
        for d in ACKS
        for buffer in BUFFERS
    }
    ended = {
        d: [
            _threshold(results[f"d = {d}"], point)
            for point, buffer in enumerate(BUFFERS)
            if lost[buffer, d] == 0
        ]
        for d in ACKS
    }
    small = [buffer for buffer in BUFFERS if lost[buffer, 1] > 0]
    agree = sum((lost[buffer, 1] > 0) == (expected[buffer, 1] > 0) for buffer in BUFFERS)
    claims = (
        Claim(
            "On paths with small buffers losses may not be avoided unless the threshold takes "
            "account of the buffer: with Hoe's, and d = 1",
            f"packets are lost with buffers of {', '.join(map(str, small)) or 'no size'}",
            bool(small) and max(small) < PIPE,
        ),
        Claim(
            "A threshold at the bandwidth-delay product avoids losses on paths with large buffers, "
            "of mu T or more: with d = 1",
            f"{sum(lost[buffer, 1] for buffer in BUFFERS if buffer >= PIPE)} packets lost with "
            f"{', '.join(str(buffer) for buffer in BUFFERS if buffer >= PIPE)}",
            all(lost[buffer, 1] == 0 for buffer in BUFFERS if buffer >= PIPE),
        ),
        Claim(
            "The stream of ACKs gives the bandwidth-delay product: window at the end of slow "
            "start, d = 1",
            f"{min(ended[1]):.1f} to {max(ended[1]):.1f} packets, of {PIPE:g}",
            all(0 <= window - PIPE <= 1 for window in ended[1]), origin=Origin.INFERRED,
            accepted=f"{PIPE:g} packets, and the one that an ACK adds",
        ),
        Claim(
            "It does so with delayed ACKs, too, d = 2 and 3",
            f"{min(ended[2] + ended[3]):.1f} to {max(ended[2] + ended[3]):.1f} packets, of "
            f"{PIPE:g}",
            all(0 <= window - PIPE <= 1 for window in ended[2] + ended[3]),
            documented=False, origin=Origin.INFERRED,
            why="an ACK by the receiver's timer comes 100 ms late, and the line goes through it",
        ),
        Claim(
            "Packets are lost where the theorem says so, W_B being below the threshold: d = 1",
            f"in {agree} of {len(BUFFERS)} cases", agree == len(BUFFERS), origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    rows = tuple((f"{d}", *(f"{lost[buffer, d]}" for buffer in BUFFERS)) for d in ACKS)
    table = Table(
        "Packets lost with Hoe's threshold, engine",
        ("d", *(f"B = {buffer}" for buffer in BUFFERS)),
        rows,
    )
    own = settings({
        "threshold": "by three ACKs within half a round trip",
        "size": f"{SIZE} segments",
    })  # fmt: skip
    draw = partial(_draw_threshold, lost, expected)
    return Outcome(basis(), (), draw, claims, own, (table,))


def _drops(result: Result, point: int) -> int:
    rows = result.rows("hops", point=point, hop=LINK).select(["drops_queue"]).to_pylist()
    return max(int(row["drops_queue"]) for row in rows)


def _threshold(result: Result, point: int) -> float:
    """Returns the last ssthresh, in segments."""
    rows = result.rows("samples", point=point, flow=FLOW).select(["ssthresh_bytes"]).to_pylist()
    thresholds = [row["ssthresh_bytes"] for row in rows if row["ssthresh_bytes"] is not None]
    return float(thresholds[-1]) / SEGMENT_BYTES


def _draw_threshold(
    lost: Mapping[tuple[int, int], int], expected: Mapping[tuple[int, int], float]
) -> Figure:
    curves = [
        plot.Curve(f"d = {d}, model", BUFFERS, [expected[buffer, d] for buffer in BUFFERS])
        for d in ACKS
    ]
    for place, d in enumerate(ACKS):
        values = [lost[buffer, d] for buffer in BUFFERS]
        curves.append(plot.Curve(f"d = {d}, engine", BUFFERS, values, "points", style_of=place))
    title = f"A threshold at mu T = {PIPE:g}, by the first ACKs"
    return plot.curves(curves, "buffer (packets)", "packets lost (packets)", title)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        f"{GROUP}-section-2", GROUP, SOURCE, "Section 2",
        "Does a d that grows before the overflow give the best performance with a small buffer?",
        "Slow start that begins with d = 1 and changes to 3 fills the path without loss, and is "
        "the fastest on the mean.",
        4.0, conclude_change, change_runs,
    ),
    Experiment(
        f"{GROUP}-section-5", GROUP, SOURCE, "Section 5",
        "Does a threshold at the bandwidth-delay product avoid losses?",
        "Only on paths with large buffers: a threshold must take account of the buffer, too.",
        4.0, conclude_threshold, threshold_runs,
    ),
)  # fmt: skip
