"""Figures 13 and 15: the window at which the buffer overflows, and the window after the loss.

The buffer holds four packets in figure 13, and 160 in figure 15. "Overflow when the window exceeds
46" is the pipe of 42 plus four. This leaves no room for the packet on the link, so it counts among
the four, as in all figures.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Experiment, Origin, Outcome, Run, Setting, words
from ackclock.scenario import Scenario
from ackclock_papers.replicates import Rows, measured, quotient
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import PAYLOAD_BYTES, one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CUBIC,
    NEWRENO,
    Control,
    scenario,
    settings,
    tcp,
)

CONTROLS = (NEWRENO, ABSE, ABSE_LATER, BE, CUBIC)
FLOW = "sender"
#: Time after the first overflows, of slow start, which end later with a larger buffer.
WARMUP_S = {4: 20.0, 160: 60.0}
DURATION_S = {4: 60.0, 160: 240.0}
#: Interval of the figure: some saw-teeth.
SHOWN_S = {4: (20.0, 30.0), 160: (60.0, 240.0)}
#: Between two samples the window grows by less than a tenth of a packet.
SAMPLE_INTERVAL_S = 0.005

Results = Mapping[str, Result]

#: Printed for four packets: the largest window that fits, NewReno's window after a loss, and the
#: pipe.
FITS, FALLS_TO, PIPE = "46", "23", "42"


def _runs(buffer_packets: int) -> Mapping[str, Run]:
    return {control.label: Run(_scenario(control, buffer_packets)) for control in CONTROLS}


def _scenario(control: Control, buffer_packets: int) -> Scenario:
    path = one_bottleneck(5, buffer_packets)
    return scenario(
        control.label, path, [tcp(FLOW, control, path)], duration_s=DURATION_S[buffer_packets],
        warmup_s=WARMUP_S[buffer_packets], sample_interval_s=SAMPLE_INTERVAL_S,
    )  # fmt: skip


def fits(result: Result, since_s: float) -> list[float]:
    """Returns the largest window without an overflow by replicate, in packets.

    It is one less than the window at the first overflow between the end of a recovery and the next
    detected loss.
    """
    windows = []
    for replicate in over_time.replicates(result):
        hop = result.rows("hops", point=0, replicate=replicate, hop="bottleneck")
        time_s, drops = hop["time_s"].to_numpy(), hop["drops_queue"].to_numpy()
        overflows = time_s[1:][np.diff(drops) > 0]
        window = over_time.series(result, "cwnd_bytes", FLOW, replicate)
        recovered = [event["time_s"] for event in _events(result, replicate, "recovery_end")]
        at_overflow = []
        for loss in _events(result, replicate, "fast_retransmit"):
            began = max((time for time in recovered if time < loss["time_s"]), default=since_s)
            own = overflows[(overflows > max(began, since_s)) & (overflows < loss["time_s"])]
            if own.size:
                at_overflow.append(
                    window.values[np.searchsorted(window.time_s, own[0])] / PAYLOAD_BYTES
                )
        windows.append(float(np.mean(np.floor(at_overflow)) - 1) if at_overflow else float("nan"))
    return windows


def falls_to(result: Result, since_s: float) -> list[float]:
    """Returns the mean ssthresh after a loss by replicate, in packets."""
    thresholds = []
    for replicate in over_time.replicates(result):
        losses = _events(result, replicate, "fast_retransmit")
        after = [
            loss["ssthresh_after_bytes"] / PAYLOAD_BYTES
            for loss in losses
            if loss["time_s"] > since_s
        ]
        thresholds.append(float(np.mean(after)) if after else float("nan"))
    return thresholds


def _events(result: Result, replicate: int, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = result.rows(
        "events", point=0, replicate=replicate, kind=kind
    ).to_pylist()
    return events


def _windows_of_13(results: Results, since_s: float) -> tuple[Claim, ...]:
    newreno, abse = results[NEWRENO.label], results[ABSE.label]
    return (
        Claim.printed(
            f"13a: the buffer overflows when the window exceeds {FITS} packets",
            interval(fits(newreno, since_s)), FITS, "packets",
        ),
        Claim.printed(
            f"13a: NewReno sets window and threshold to {FALLS_TO}",
            interval(falls_to(newreno, since_s)), FALLS_TO, "packets",
        ),
        Claim.of(
            "13b: ABSE reduces them to what is very close to the pipe: over 42 packets",
            quotient(falls_to(abse, since_s), [float(PIPE)] * len(over_time.replicates(abse))),
            words.SAME, "times",
        ),
    )  # fmt: skip


def _windows_of_15(results: Results, since_s: float) -> tuple[Claim, ...]:
    newreno, abse = results[NEWRENO.label], results[ABSE.label]
    halves, pipe = falls_to(newreno, since_s), [float(PIPE)] * len(over_time.replicates(newreno))
    half = (int(PIPE) + 160) / 2
    return (
        Claim.of(
            "15a: NewReno reduces its window to half: over what fits",
            quotient(halves, fits(newreno, since_s)), words.about("0.5"), "times",
        ),
        Claim.of(
            "15a: that is much larger than the pipe", quotient(halves, pipe), words.MUCH_MORE,
            "times", than=1.0,
        ),
        Claim.of(
            "15b: ABSE reduces it all the way down to the pipe: over 42 packets",
            quotient(falls_to(abse, since_s), pipe), words.about("1"), "times",
        ),
        Claim.of(
            f"Half of pipe and buffer is {half:g} packets", interval(halves),
            Band(half - 1, half + 1), "packets", origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _rate_of_13(results: Results, since_s: float) -> tuple[Claim, ...]:
    """Claims that the estimate to which the window is reduced is the link's payload rate."""
    estimates = over_time.mean_estimates(results[ABSE.label], FLOW, since_s, DURATION_S[4])
    return (
        Claim.of(
            "13c: ABSE's eligible rate estimate is very close to the optimal value: over the "
            "link's payload",
            quotient(estimates, [one_bottleneck(5).goodput_mbit_per_s] * len(estimates)),
            words.SAME, "times",
        ),
    )  # fmt: skip


Claims = Callable[[Results, float], tuple[Claim, ...]]


def _conclude(
    buffer_packets: int, claims: Claims, draw: Callable[[Results], Figure], results: Results
) -> Outcome:
    since_s = WARMUP_S[buffer_packets]
    rows: Rows = {
        (control.label,): {
            "fits, packets": interval(fits(results[control.label], since_s)),
            "falls to, packets": interval(falls_to(results[control.label], since_s)),
        }
        | over_time.told_and_got(results[control.label], FLOW, since_s, DURATION_S[buffer_packets])
        for control in CONTROLS
    }
    own = (Setting("buffer", f"{buffer_packets} packets", Origin.PRINTED),)
    went_in = settings(one_bottleneck(5, buffer_packets), results, own=own)
    tables = (measured("One sender", ("control",), rows),)
    return Outcome(basis(), (), partial(draw, results), claims(results, since_s), went_in, tables)


def _draw(buffer_packets: int, results: Results) -> Figure:
    path = one_bottleneck(5, buffer_packets)
    ends = SHOWN_S[buffer_packets]
    curves = [
        plot.Curve("pipe and buffer", ends, [path.pipe_packets + buffer_packets] * 2, "reference"),
        plot.Curve("pipe", ends, [path.pipe_packets] * 2, "reference"),
    ]
    for control in (NEWRENO, ABSE):
        window = over_time.series(results[control.label], "cwnd_bytes", FLOW)
        shown = (window.time_s >= ends[0]) & (window.time_s <= ends[1])
        curves.append(
            plot.Curve(control.label, window.time_s[shown], window.values[shown] / PAYLOAD_BYTES)
        )
    title = f"Windows on 5 Mbit/s, a buffer of {buffer_packets} packets"
    return plot.curves(curves, "time (s)", "window (packets)", title)


def _draw_rate(results: Results) -> Figure:
    ends = SHOWN_S[4]
    curves = [
        plot.Curve("link, payload", ends, [one_bottleneck(5).goodput_mbit_per_s] * 2, "reference")
    ]
    for control in (ABSE, BE):
        estimate = over_time.estimate(results[control.label], FLOW)
        shown = (estimate.time_s >= ends[0]) & (estimate.time_s <= ends[1])
        curves.append(plot.Curve(control.label, estimate.time_s[shown], estimate.values[shown]))
    return plot.curves(
        curves, "time (s)", "rate estimate (Mbit/s)", "Estimates on 5 Mbit/s, a buffer of 4 packets"
    )


def _entry(
    number: str, question: str, says: str, buffer_packets: int, cost_s: float, claims: Claims,
    draw: Callable[[Results], Figure],
) -> Experiment:  # fmt: skip
    conclude = partial(_conclude, buffer_packets, claims, draw)
    return entry(number, question, says, cost_s, conclude, partial(_runs, buffer_packets))


FIGURE_13 = _entry(
    "13",
    "How far does the congestion window fall after a loss if the buffer is small?",
    "A buffer of 4 packets overflows when the window exceeds 46; NewReno falls to 23, ABSE to the "
    "bandwidth-delay product, 42.",
    4,
    4.0,
    _windows_of_13,
    partial(_draw, 4),
)
FIGURE_13C = _entry(
    "13c",
    "How accurate is ABSE's rate estimate if the buffer is small?",
    "With a buffer of 4 packets ABSE's estimate, which sets its window after a loss, stays at the "
    "link's rate.",
    4,
    1.0,
    _rate_of_13,
    _draw_rate,
)
FIGURE_15 = _entry(
    "15",
    "How far does the congestion window fall after a loss if the buffer is large?",
    "A buffer of 160 packets: NewReno falls to half of its window, above the bandwidth-delay "
    "product; ABSE falls to the bandwidth-delay product.",
    160,
    8.0,
    _windows_of_15,
    partial(_draw, 160),
)
