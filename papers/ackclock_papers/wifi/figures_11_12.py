"""Figures 11 and 12: an eBDP buffer when ten stations begin to upload at 200 s.

Its size follows the service time. Figure 11 is the buffer, figure 12 the throughput in percent of
that with a buffer of 400 packets in the same phase. The only printed number of either is the time
at which the uploads begin.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import (
    Band,
    Cell,
    Claim,
    Comparison,
    Origin,
    Outcome,
    Run,
    Setting,
    words,
)
from ackclock_papers.replicates import Rows, curve, measured
from ackclock_papers.wifi.cell import (
    DOWNLOAD,
    WARMUP_S,
    Array,
    cell,
    fixed,
    over_time,
    settings,
)
from ackclock_papers.wifi.figures_9_10 import ADDED, LARGEST, ebdp
from ackclock_papers.wifi.paper import basis, entry

RUN, FIXED = "uploads begin", "uploads begin, 400 packets"
UPLOADS, FROM_S, DURATION_S = 10, 200.0, 350.0
LIMIT, QUEUE = "limit_packets", "backlog_packets"
#: The limit before the uploads, and by the seconds since they began. From an unpublished reference
#: simulation of the same rules.
BEFORE, AFTER_S = "382", {10: "85", 20: "75", 60: "72"}
#: The reading at 60 s was a range, 70 to 73. Its end may be farther off than the other readings.
NEAR, NEAR_BEFORE = 10.0, 5.0
#: The step is over when the limit is below this many packets. Our choice, since nothing is printed.
BELOW = 100.0
#: Averaging interval of throughput, and of the queue in the table, in seconds.
OVER_S = 10.0
#: By then two time constants of the limit have passed: a thousand packets, at the 150 a second that
#: ten uploads leave.
SETTLED_S = 15.0


def runs() -> Mapping[str, Run]:
    """Returns runs of a download and later ten uploads, with eBDP and with a large buffer."""
    queues = {RUN: ebdp(ADDED[0]), FIXED: fixed(LARGEST)}
    return {
        name: Run(cell(name, queue, UPLOADS, upload_from_s=FROM_S, duration_s=DURATION_S))
        for name, queue in queues.items()
    }


def conclude(results: Mapping[str, Result], column: str) -> Outcome:
    """Compares the limit and the queue over time."""
    result = results[RUN]
    times, limits = over_time(result, LIMIT)
    queues = over_time(result, QUEUE)[1]
    comparison = Comparison(
        "Limit, beside a reference simulation", Origin.REFERENCE, ("since uploads begin",),
        _cells(times, limits), f"within {NEAR:g} packets, before uploads {NEAR_BEFORE:g}",
    )  # fmt: skip
    rows: Rows = {
        (f"{since:+g} s",): {
            "limit, packets": interval(_value_at(times, limits, since)),
            "waiting, mean of 10 s, packets": interval(_mean(times, queues, since, since + OVER_S)),
        }
        for since in (-50, -10, 0, 2, 5, 10, 15, 20, 30, 60, 100, 140)
    }
    table = measured("The buffer", ("since uploads begin",), rows)
    began = Setting("uploads", f"{UPLOADS}, from {FROM_S:g} s on", Origin.PRINTED)
    went_in = (began, *settings(results))
    shares = _shares(results)
    if column == LIMIT:
        draw, claims = partial(_draw, times, limits), _of_limit(times, limits)
    else:
        draw, claims = partial(_draw_shares, shares), _of_shares(shares)
    of_shares = measured("Throughput over that with 400 packets", ("from",), _share_rows(shares))
    return Outcome(basis(), (comparison,), draw, claims, went_in, (table, of_shares))


def _value_at(times: Array, values: Array, since_s: float) -> list[float]:
    """Returns the value at a time after the uploads begin, by replicate."""
    return [float(value) for value in values[:, np.searchsorted(times, FROM_S + since_s)]]


def _mean(times: Array, values: Array, since_s: float, until_s: float) -> list[float]:
    chosen = (times >= FROM_S + since_s) & (times < FROM_S + until_s)
    return [float(value) for value in values[:, chosen].mean(axis=1)]


def _cells(times: Array, limits: Array) -> tuple[Cell, ...]:
    before = Cell.simulated(
        ("-10 s",), "limit, packets", BEFORE, interval(_value_at(times, limits, -10)), NEAR_BEFORE
    )  # fmt: skip
    return (
        before,
        *(
            Cell.simulated(
                (f"{since:+g} s",),
                "limit, packets",
                text,
                interval(_value_at(times, limits, since)),
                NEAR,
            )
            for since, text in AFTER_S.items()
        ),
    )


def _of_limit(times: Array, limits: Array) -> tuple[Claim, ...]:
    after = times >= FROM_S
    steps = [float(times[after][np.argmax(limit[after] < BELOW)] - FROM_S) for limit in limits]
    settled = np.array(_mean(times, limits, SETTLED_S, DURATION_S - FROM_S))
    before = np.array(_mean(times, limits, -50.0, 0.0))
    highest = interval(limits[:, times >= FROM_S + 60].max(axis=1))
    return (
        Claim.of(
            f"The buffer adapts to changed conditions: the mean from {SETTLED_S:g} s of uploads "
            "on, over that before",
            interval(settled / before), words.MUCH_LESS, "times", than=1.0,
        ),
        Claim.of(
            "It adapts rapidly: a tenth of the change is left after",
            interval(_adapted(times, limits, before, settled)),
            Band(0, words.RAPID * (DURATION_S - FROM_S)), "s",
        ),
        Claim.of(
            f"It is below {BELOW:g} packets after", interval(steps), Band(0, SETTLED_S), "s",
            origin=Origin.INFERRED
        ),
        Claim.of(
            "The highest from 60 s on", highest, Band(most=BELOW), "packets",
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _adapted(times: Array, limits: Array, before: Array, settled: Array) -> list[float]:
    """Returns the time until all but a tenth of the change has been made, by replicate."""
    after = times >= FROM_S
    levels = settled + words.ABOUT * (before - settled)
    return [
        float(times[after][np.argmax(limit[after] < level)] - FROM_S)
        for limit, level in zip(limits, levels, strict=True)
    ]


#: Throughput over the mean with a large buffer and the same uploads, in percent: by the start of
#: the interval and replicate.
Shares = Mapping[float, list[float]]


def _shares(results: Mapping[str, Result]) -> Shares:
    delivered = {name: _delivered(results[name]) for name in (RUN, FIXED)}
    starts = np.arange(WARMUP_S, DURATION_S - OVER_S / 2, OVER_S)
    phases = ((WARMUP_S, FROM_S), (FROM_S + OVER_S, DURATION_S))

    def rate(name: str, since_s: float, until_s: float) -> Array:
        times, values = delivered[name]
        first, last = np.searchsorted(times, [since_s, until_s])
        return (values[:, min(last, len(times) - 1)] - values[:, first]) / (until_s - since_s)

    full = [rate(FIXED, *phase) for phase in phases]
    return {
        float(start): list(100 * rate(RUN, start, start + OVER_S) / full[int(start >= FROM_S)])
        for start in starts
    }


def _delivered(result: Result) -> tuple[Array, Array]:
    """Returns sampling times, and the bytes that the download delivered by replicate and time."""
    rows = result.rows("samples", point=0, flow=DOWNLOAD)
    replicate, time_s, values = (
        rows[name].to_numpy() for name in ("replicate", "time_s", "delivered_bytes")
    )
    each = [values[replicate == number] for number in np.unique(replicate)]
    return np.asarray(time_s[replicate == replicate[0]], float), np.array(each, float)


def _share_rows(shares: Shares) -> Rows:
    return {(f"{start:g} s",): {"%": interval(values)} for start, values in shares.items()}


def _of_shares(shares: Shares) -> tuple[Claim, ...]:
    parts = {
        "before the uploads": [values for start, values in shares.items() if start < FROM_S],
        "from then on": [values for start, values in shares.items() if start >= FROM_S],
    }
    return tuple(
        Claim.of(
            f"High throughput is kept: over that with a large buffer, {when}",
            interval(np.mean(values, axis=0)), Band(100 * (1 - words.THE_SAME)), "%",
        )
        for when, values in parts.items()
    )  # fmt: skip


def _draw(times: Array, limits: Array) -> Figure:
    """Draws every fifth second; more cannot be seen."""
    chosen = np.flatnonzero(np.isin(times % 5.0, 0.0) & (times > 0))
    curves = [
        curve(
            "limit, mean of replicates",
            list(times[chosen]),
            [interval(limits[:, i]) for i in chosen],
        ),
        plot.Curve("uploads begin", [FROM_S, FROM_S], [0, float(np.nanmax(limits))], "reference"),
    ]
    return plot.curves(curves, "time (s)", "packets (count)", "An access point's buffer under eBDP")


def _draw_shares(shares: Shares) -> Figure:
    starts = list(shares)
    curves = [
        curve(
            "mean of replicates",
            [start + OVER_S / 2 for start in starts],
            [interval(values) for values in shares.values()],
        ),
        plot.Curve("uploads begin", [FROM_S, FROM_S], [0, 120], "reference"),
    ]
    title = "A download under eBDP, ten uploads from 200 s on"
    return plot.curves(curves, "time (s)", "throughput over that with 400 packets (%)", title)


FIGURE_11 = entry(
    "11",
    "Does the adaptive buffer follow when ten stations begin to upload?",
    "Within about ten seconds its limit falls from that of an idle cell to that of a busy one.",
    4.0,
    partial(conclude, column=LIMIT),
    runs,
)
FIGURE_12 = entry(
    "12",
    "Does the adaptive buffer keep the throughput when ten stations begin to upload?",
    "The download's throughput, as a percentage of that with a large buffer.",
    4.0,
    partial(conclude, column="throughput"),
    runs,
)
