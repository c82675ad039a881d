"""Figures 2 and 3: the window at which slow start overflows the queue, and what remains of it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.reproduction import (
    Band,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Table,
    words,
)
from ackclock_papers.short_transfers.paper import ACKS, PIPE, RATE, basis, entry, settings
from ackclock_papers.short_transfers.transfers import FLOW, LINK, RENO, modelled, scenario

BUFFERS = (5, 10, 15, 20, 25, 30, 40, 50, 63, 70, 100)
#: Buffers below mu T/2, the pipe being mu T/2 or more at the rate and above it.
SMALL_BUFFERS = BUFFERS[:3]
#: More segments than are sent before the loss is detected, for any buffer.
SIZE = 5000
DURATION_S, SAMPLE_S = 40.0, 0.02
GRID = np.linspace(1, 100, 199)

#: W_B by the theorem, for each buffer.
WINDOWS = {
    1: ("13", "26", "31", "52", "57", "62", "102.5", "112.5", "125.5", "132.5", "162.5"),
    2: (
        "16.4",
        "35.6",
        "53.4",
        "77.7",
        "82.7",
        "92.5",
        "102.5",
        "112.5",
        "125.5",
        "132.5",
        "162.5",
    ),
    3: (
        "22.8",
        "41.6",
        "71.1",
        "82.5",
        "87.5",
        "92.5",
        "102.5",
        "112.5",
        "125.5",
        "132.5",
        "162.5",
    ),
}
#: Window at the first loss, and threshold, by buffer and d: from an unpublished packet-level
#: reference simulation.
PACKET_BY_PACKET = {
    (20, 1): ("53", "13.1"), (20, 2): ("83", "15.5"), (20, 3): ("83", "13.9"),
    (70, 1): ("133", "66.2"), (70, 2): ("133", "24.9"), (70, 3): ("133", "22.1"),
}  # fmt: skip
#: alpha W_B/8, from the same simulation.
EIGHTHS = {
    (20, 1): "13.00",
    (20, 2): "14.56",
    (20, 3): "13.75",
    (70, 1): "33.12",
    (70, 2): "24.84",
    (70, 3): "22.08",
}
#: Between a sample and the first loss the window grows by one or two packets.
PACKETS = 2.0
#: An ACK releases two packets, and the lost packet is the one after the last that fits.
LATER = Band(0.0, 3.0)
#: The smallest buffer from which all d have a timeout. With less and d = 3, a third fast retransmit
#: avoids it.
WITH_TIMEOUT = 10


class Overflow(NamedTuple):
    """Outcome in the engine for one buffer and d.

    Attributes:
        window: Window at the first drop, in segments.
        threshold: Threshold after the timeout, in segments; NaN if there was no timeout.
        detected: Window when the loss was detected, in segments.
    """

    window: float
    threshold: float
    detected: float


Overflows = Mapping[tuple[int, int], Overflow]


def runs() -> Mapping[str, Run]:
    """Returns a transfer with each buffer, for each d."""
    return {f"d = {d}": Run(scenario(RENO, d, [SIZE], BUFFERS, DURATION_S, SAMPLE_S)) for d in ACKS}


def _simulated(results: Mapping[str, Result]) -> Overflows:
    return {
        (buffer, d): overflow
        for d in ACKS
        for buffer, overflow in zip(BUFFERS, _overflows(results[f"d = {d}"]), strict=True)
    }  # fmt: skip


def _overflows(result: Result) -> Iterator[Overflow]:
    def records(name: str, columns: list[str], **wanted: Any) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = result.rows(name, **wanted).select(columns).to_pylist()
        return rows

    for point in range(len(BUFFERS)):
        drops = records("hops", ["time_s", "drops_queue"], point=point, hop=LINK)
        first = next(row["time_s"] for row in drops if row["drops_queue"] > 0)
        samples = records("samples", ["time_s", "cwnd_bytes"], point=point, flow=FLOW)
        window = max(row["cwnd_bytes"] for row in samples if row["time_s"] <= first)
        timeouts = records("events", ["ssthresh_after_bytes"], point=point, kind="timeout")
        fast = records("events", ["cwnd_before_bytes"], point=point, kind="fast_retransmit")
        detected = fast[0]["cwnd_before_bytes"]
        left = timeouts[0]["ssthresh_after_bytes"] / 1000 if timeouts else nan
        yield Overflow(window / 1000, left, detected / 1000)


def _window_cells(simulated: Overflows) -> tuple[Comparison, ...]:
    theorem = [
        Cell((f"{buffer}", f"{d}"), "W_B", text, ours, 0.051 if "." in text else 0.5)
        for d in ACKS
        for buffer, text, ours in zip(
            BUFFERS,
            WINDOWS[d],
            modelled("overflow_window", size=SIZE, buffer=BUFFERS, segments_per_ack=d),
            strict=True,
        )
    ]
    engine = [
        Cell(
            (f"{buffer}", f"{d}"),
            "window at the first loss",
            text,
            simulated[buffer, d].window,
            PACKETS,
        )
        for (buffer, d), (text, _) in PACKET_BY_PACKET.items()
    ]
    keys = ("B", "d")
    return (
        Comparison(
            "The theorem, reference computation",
            Origin.REFERENCE,
            keys,
            tuple(theorem),
            "within the last digit",
        ),
        Comparison(
            "Packet by packet, reference simulation",
            Origin.REFERENCE,
            keys,
            tuple(engine),
            f"within {PACKETS:g} packets",
        ),
    )


def conclude_windows(results: Mapping[str, Result]) -> Outcome:
    """Compares W_B by buffer."""
    simulated = _simulated(results)
    large = [
        simulated[buffer, d].window - (buffer + PIPE) for d in ACKS for buffer in BUFFERS
        if buffer >= PIPE / d
    ]  # fmt: skip
    small = [
        simulated[buffer, d + 1].window / simulated[buffer, d].window
        for d in ACKS[:-1] for buffer in BUFFERS if buffer < PIPE / (d + 1)
    ]  # fmt: skip
    by_rate = {
        factor: modelled("overflow_window", size=1, buffer=SMALL_BUFFERS, rate=factor * RATE)
        for factor in (1, 2, 4)
    }
    claims = (
        Claim(
            "A buffer of mu T/d or more overflows at W_B = B + mu T",
            f"in the engine at {min(large):.1f} to {max(large):.1f} packets more",
            all(LATER.holds(off) for off in large), accepted=f"{LATER} packets more",
        ),
        Claim(
            "With a small buffer a more aggressive sender overflows at a smaller window",
            f"{min(small):.2f} to {max(small):.2f} times as large with d + 1", min(small) >= 1,
        ),
        Claim(
            "With a small buffer the window at the overflow does not depend on the bandwidth: by "
            f"equation 4, {', '.join(map(str, SMALL_BUFFERS))} packets, d = 1",
            "; ".join(
                f"{', '.join(f'{window:g}' for window in windows)} packets at "
                f"{factor:g} times the rate"
                for factor, windows in by_rate.items()
            ),
            all(windows == by_rate[1] for windows in by_rate.values()),
        ),
    )  # fmt: skip
    table = _table(
        "Window at the first loss, engine",
        {key: overflow.window for key, overflow in simulated.items()},
    )
    own = settings({"buffers": "5 to 100 packets, without the one being sent"})
    draw = partial(
        _draw, simulated, "window", "overflow_window", "window at the overflow (packets)", 0
    )
    return Outcome(basis(), _window_cells(simulated), draw, claims, own, (table,))


def conclude_thresholds(results: Mapping[str, Result]) -> Outcome:
    """Compares the threshold with W_D/8, by buffer."""
    simulated = _simulated(results)
    keys = ("B", "d")
    eighths = [
        Cell((f"{b}", f"{d}"), "W_D/8", text, _eighth(b, d), 0.0051)
        for (b, d), text in EIGHTHS.items()
    ]  # fmt: skip
    engine = [
        Cell((f"{b}", f"{d}"), "threshold after the timeout", text, simulated[b, d].threshold, 0.5)
        for (b, d), (_, text) in PACKET_BY_PACKET.items()
    ]
    comparisons = (
        Comparison(
            "An eighth of W_D, reference simulation",
            Origin.REFERENCE,
            keys,
            tuple(eighths),
            "within the last digit",
        ),
        Comparison(
            "Packet by packet, reference simulation",
            Origin.REFERENCE,
            keys,
            tuple(engine),
            "within half a packet",
        ),
    )
    shares = {
        key: overflow.detected / overflow.threshold
        for key, overflow in simulated.items()
        if key[0] >= WITH_TIMEOUT
    }
    quarter = {(b, d) for b, d in shares if d == 1 and b >= 40}
    rest = [share for key, share in shares.items() if key not in quarter]
    fourth = [shares[key] for key in sorted(quarter)]
    eighth = sum(7.5 <= share <= 8.5 for share in shares.values())
    ends = [simulated[buffer, 2].threshold for buffer in (WITH_TIMEOUT, BUFFERS[-1])]
    small = [
        simulated[buffer, d].threshold / simulated[buffer, d + 1].threshold
        for d in ACKS[:-1] for buffer in BUFFERS if WITH_TIMEOUT <= buffer < PIPE / (d + 1)
    ]  # fmt: skip
    large = [buffer for buffer in BUFFERS if buffer >= PIPE / ACKS[0]]
    apart = {
        "W_D/8": [max(row) / min(row) for row in _by_buffer(_eighth, large)],
        "engine": [
            max(row) / min(row)
            for row in _by_buffer(lambda buffer, d: simulated[buffer, d].threshold, large)
        ],
    }
    claims = (
        Claim(
            "Above mu T/d the aggressiveness of slow start has no effect on the estimate: the "
            "largest threshold over the smallest, d = 1 to 3",
            ", ".join(
                f"{name} {min(ratios):.2f} to {max(ratios):.2f} times"
                for name, ratios in apart.items()
            ),
            all(words.SAME.holds(ratio) for ratios in apart.values() for ratio in ratios),
            documented=False, accepted=f"{words.SAME} times",
            why="W_D is alpha W_B by the paper's own equation 5, and alpha falls as d grows",
        ),
        Claim(
            "In most cases two fast retransmits and a timeout leave W_D/8",
            f"in {eighth} of {len(shares)}; W_D over the threshold is {min(shares.values()):.1f} "
            f"to {max(shares.values()):.1f}",
            2 * eighth > len(shares), accepted="more than half of them, to half a packet in eight",
        ),
        Claim(
            "W_D/4 is left where the second loss cannot be detected by duplicate ACKs",
            f"{min(fourth):.1f} to {max(fourth):.1f}, with d = 1 and 40 packets or more",
            all(3.8 <= share <= 4.2 for share in fourth),
        ),
        Claim(
            "The threshold goes to zero as the buffer does",
            f"from {ends[0]:.1f} packets with B = {WITH_TIMEOUT} to "
            f"{ends[1]:.1f} with 100, d = 2",
            ends[0] < ends[1] / 2,
        ),
        Claim(
            "Below mu T/d a more aggressive sender has a lower threshold: d over d + 1",
            f"{min(small):.2f} to {max(small):.2f} times", max(small) < 1,
        ),
        Claim(
            "They leave W_D/8 but with d = 1 and a buffer of 40 or more",
            f"{min(rest):.1f} to {max(rest):.1f}",
            all(7.5 <= share <= 8.5 for share in rest), origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    table = _table(
        "Threshold after the timeout, engine",
        {key: overflow.threshold for key, overflow in simulated.items()},
    )
    own = settings({"buffers": "5 to 100 packets, without the one being sent"})
    draw = partial(
        _draw, simulated, "threshold", "threshold", "threshold after recovery (packets)", 3
    )
    return Outcome(basis(), comparisons, draw, claims, own, (table,))


def _by_buffer(threshold: Callable[[int, int], float], buffers: list[int]) -> list[list[float]]:
    """Returns the thresholds of every d, by buffer."""
    return [[threshold(buffer, d) for d in ACKS] for buffer in buffers]


def _eighth(buffer: int, d: int) -> float:
    [threshold] = modelled("detected_window", size=SIZE, buffer=buffer, segments_per_ack=d)
    return threshold / 8


def _table(title: str, values: Mapping[tuple[int, int], float]) -> Table:
    def written(value: float) -> str:
        return f"{value:.1f}" if isfinite(value) else "–"

    rows = tuple((f"{d}", *(written(values[buffer, d]) for buffer in BUFFERS)) for d in ACKS)
    return Table(title, ("d", *(f"B = {buffer}" for buffer in BUFFERS)), rows)


def _draw(simulated: Overflows, field: str, output: str, label: str, reductions: int) -> Figure:
    curves = []
    for d in ACKS:
        line = modelled(
            output, size=SIZE, buffer=list(GRID), segments_per_ack=d, reductions=reductions
        )
        curves.append(plot.Curve(f"d = {d}" + (", W_D/8" if reductions else ""), GRID, line))
    for place, d in enumerate(ACKS):
        points = [getattr(simulated[buffer, d], field) for buffer in BUFFERS]
        curves.append(plot.Curve(f"d = {d}, engine", BUFFERS, points, "points", style_of=place))
    return plot.curves(
        curves, "buffer (packets)", label, "Slow start over a link of 1 Mbit/s, 0.5 s"
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    entry(
        "2",
        "At which window does slow start overflow a buffer?",
        "Up to B = mu T/d the window is proportional to B (d + 1), in steps; for larger buffers "
        "it is B + mu T.",
        4.0,
        conclude_windows,
        runs,
    ),
    entry(
        "3",
        "Which ssthresh is left after slow start has overflowed a buffer?",
        "An eighth of the window at the loss, after two fast retransmits and a timeout; sometimes "
        "a quarter.",
        4.0,
        conclude_thresholds,
        runs,
    ),
)
