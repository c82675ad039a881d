"""Figures 11 and 12: how soon does a buffer that follows the service time follow it, when stations begin to upload?"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Cell, Claim, Comparison, Origin, Outcome, Run
from ackclock.result import Result
from ackclock_reproductions.replicates import Rows, curve, measured
from ackclock_reproductions.wifi.cell import Array, cell, over_time, settings
from ackclock_reproductions.wifi.figures_9_10 import ADDED, ebdp
from ackclock_reproductions.wifi.paper import entry, reading

RUN = "uploads begin"
UPLOADS, FROM_S, DURATION_S = 10, 200.0, 350.0
LIMIT, QUEUE = "limit_packets", "backlog_packets"
#: What another simulation of the same rules has for the limit: before uploads, and after so many seconds of them.
BEFORE, AFTER_S = "382", {10: "85", 20: "75", 60: "72"}
#: Where the reading at 60 s was a range, 70 to 73, its end is farther off than the others may be.
NEAR, NEAR_BEFORE = 10.0, 5.0
#: The step is over when the limit is below so many packets; it is to be so after so many seconds.
BELOW, WITHIN_S = 100.0, 15.0
#: The queue follows within "a few seconds": the mean over so long, from that moment on.
SOON_S, OVER_S = 20.0, 10.0


def runs() -> Mapping[str, Run]:
    """A download, and after a while ten uploads."""
    made = cell(RUN, ebdp(ADDED[0]), UPLOADS, upload_from_s=FROM_S, duration_s=DURATION_S)
    return {RUN: Run(made)}


def conclude(results: Mapping[str, Result], column: str) -> Outcome:
    """The limit and the queue over time."""
    result = results[RUN]
    times, limits = over_time(result, LIMIT)
    queues = over_time(result, QUEUE)[1]
    comparison = Comparison(
        "Limit, beside another simulation", Origin.INFERRED, ("since uploads begin",), _cells(times, limits),
        f"within {NEAR:g} packets, before uploads {NEAR_BEFORE:g}",
    )  # fmt: skip
    rows: Rows = {
        (f"{since:+g} s",): {
            "limit, packets": interval(_at(times, limits, since)),
            "waiting, mean of 10 s, packets": interval(_mean(times, queues, since, since + OVER_S)),
        }
        for since in (-50, -10, 0, 2, 5, 10, 15, 20, 30, 60, 100, 140)
    }
    table = measured("The buffer", ("since uploads begin",), rows)
    went_in = settings(results, uploads=f"{UPLOADS}, from {FROM_S:g} s on")
    draw = partial(_draw, times, {LIMIT: limits, QUEUE: queues}, column)
    claims = _of_limit(times, limits) if column == LIMIT else _of_queue(times, queues)
    return Outcome(reading(), (comparison,), draw, claims, went_in, (table,))


def _at(times: Array, values: Array, since_s: float) -> list[float]:
    """At a moment after the uploads begin: of replicates."""
    return [float(value) for value in values[:, np.searchsorted(times, FROM_S + since_s)]]


def _mean(times: Array, values: Array, since_s: float, until_s: float) -> list[float]:
    chosen = (times >= FROM_S + since_s) & (times < FROM_S + until_s)
    return [float(value) for value in values[:, chosen].mean(axis=1)]


def _cells(times: Array, limits: Array) -> tuple[Cell, ...]:
    before = Cell.simulated(
        ("-10 s",), "limit, packets", BEFORE, interval(_at(times, limits, -10)), NEAR_BEFORE
    )  # fmt: skip
    return (
        before,
        *(
            Cell.simulated((f"{since:+g} s",), "limit, packets", text, interval(_at(times, limits, since)), NEAR)
            for since, text in AFTER_S.items()
        ),
    )


def _of_limit(times: Array, limits: Array) -> tuple[Claim, ...]:
    after = times >= FROM_S
    steps = [float(times[after][np.argmax(of[after] < BELOW)] - FROM_S) for of in limits]
    highest = interval(limits[:, times >= FROM_S + 60].max(axis=1))
    return (
        Claim.of(f"seconds until the limit is below {BELOW:g} packets", interval(steps), Band(0, WITHIN_S), "s"),
        Claim.of("it stays there: the highest from 60 s on", highest, Band(most=BELOW), "packets"),
    )


def _of_queue(times: Array, queues: Array) -> tuple[Claim, ...]:
    soon = interval(_mean(times, queues, SOON_S, SOON_S + OVER_S))
    said = f"the queue follows soon: {SOON_S:g} s after uploads begin the mean of {OVER_S:g} s"
    return (Claim.of(said, soon, Band(most=BELOW), "packets"),)


def _draw(times: Array, values: Mapping[str, Array], column: str) -> Figure:
    """Every five seconds: what is in between cannot be seen."""
    chosen = np.flatnonzero(np.isin(times % 5.0, 0.0) & (times > 0))
    name = {LIMIT: "limit", QUEUE: "waiting"}[column]
    curves = [
        curve(f"{name}, mean of replicates", list(times[chosen]), [interval(values[column][:, i]) for i in chosen]),
        plot.Curve("uploads begin", [FROM_S, FROM_S], [0, float(np.nanmax(values[LIMIT]))], "reference"),
    ]
    return plot.curves(curves, "time (s)", "packets (count)", "An access point's buffer under eBDP")


FIGURE_11 = entry(
    "11",
    "How soon does the limit follow when ten stations begin to upload?",
    "Within some ten seconds it falls from that of a free cell to that of a busy one.",
    4.0,
    partial(conclude, column=LIMIT),
    runs,
)
FIGURE_12 = entry(
    "12",
    "How soon does the queue follow?",
    "It is below the new limit a few seconds later.",
    4.0,
    partial(conclude, column=QUEUE),
    runs,
)
