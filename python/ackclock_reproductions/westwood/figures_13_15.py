"""Figures 13 and 15: when does the buffer overflow, and to what does the window fall?

In 13 it holds four packets, in 15 160. "Overflow when the window exceeds 46" is the pipe of 42 and four, which leaves
no room for the packet that is on the link: it counts among the four. Here a queue holds what waits, hence one
less.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ackclock import plot
from ackclock.metrics import interval
from ackclock.reproduction import Cell, Comparison, Experiment, Origin, Outcome, Run, Setting
from ackclock.result import Result
from ackclock.scenario import Scenario
from ackclock_reproductions.replicates import Rows, measured
from ackclock_reproductions.westwood import over_time
from ackclock_reproductions.westwood.paper import entry, reading
from ackclock_reproductions.westwood.paths import PAYLOAD_BYTES, one_bottleneck
from ackclock_reproductions.westwood.senders import ABSE, BE, CUBIC, NEWRENO, Control, scenario, settings, tcp

CONTROLS = (NEWRENO, ABSE, BE, CUBIC)
FLOW = "sender"
#: After the first overflows, of slow start, which end later the larger the buffer is.
WARMUP_S = {4: 20.0, 160: 60.0}
DURATION_S = {4: 60.0, 160: 240.0}
#: In the figure: some saw-teeth.
SHOWN_S = {4: (20.0, 30.0), 160: (60.0, 240.0)}
#: Between two samples the window grows by less than a tenth of a packet.
SAMPLE_INTERVAL_S = 0.005

#: How the packet on the link counts, and so how many may wait.
READINGS = {"packet on the link counted": -1, "not counted": 0}
TAKEN = "packet on the link counted"

#: Printed: the largest window that fits, and what NewReno and ABSE fall to.
FITS = {4: "46"}
FALLS_TO = {4: {"NewReno": "23", "ABSE": "42"}, 160: {"NewReno": "101"}}
#: A window is whole packets, and the losses are learnt of a round trip late: half a packet more, when halved.
WITHIN_PACKETS = 1.0


def _runs(buffer_packets: int) -> Mapping[str, Run]:
    return {
        f"{control.label}, {name}": Run(_scenario(control, buffer_packets, READINGS[name]))
        for control in CONTROLS
        for name in READINGS
    }


def _scenario(control: Control, buffer_packets: int, waiting: int) -> Scenario:
    path = one_bottleneck(5, buffer_packets + waiting)
    return scenario(
        control.label, path, [tcp(FLOW, control, path)], duration_s=DURATION_S[buffer_packets],
        warmup_s=WARMUP_S[buffer_packets], sample_interval_s=SAMPLE_INTERVAL_S,
    )  # fmt: skip


def fits(result: Result, since_s: float) -> list[float]:
    """Of each replicate the largest window without an overflow, in packets: one less than that at an overflow.

    Taken at the first overflow between a recovery and the next loss that is learnt of.
    """
    found = []
    for replicate in over_time.replicates(result):
        hop = result.rows("hops", point=0, replicate=replicate, hop="bottleneck")
        time_s, drops = hop["time_s"].to_numpy(), hop["drops_queue"].to_numpy()
        overflows = time_s[1:][np.diff(drops) > 0]
        window = over_time.series(result, "cwnd_bytes", FLOW, replicate)
        recovered = [one["time_s"] for one in _events(result, replicate, "recovery_end")]
        at_overflow = []
        for loss in _events(result, replicate, "fast_retransmit"):
            began = max((time for time in recovered if time < loss["time_s"]), default=since_s)
            own = overflows[(overflows > max(began, since_s)) & (overflows < loss["time_s"])]
            if own.size:
                at_overflow.append(window.values[np.searchsorted(window.time_s, own[0])] / PAYLOAD_BYTES)
        found.append(float(np.mean(np.floor(at_overflow)) - 1) if at_overflow else float("nan"))
    return found


def falls_to(result: Result, since_s: float) -> list[float]:
    """Of each replicate ssthresh after a loss, in packets."""
    found = []
    for replicate in over_time.replicates(result):
        losses = _events(result, replicate, "fast_retransmit")
        after = [one["ssthresh_after_bytes"] / PAYLOAD_BYTES for one in losses if one["time_s"] > since_s]
        found.append(float(np.mean(after)) if after else float("nan"))
    return found


def _events(result: Result, replicate: int, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = result.rows("events", point=0, replicate=replicate, kind=kind).to_pylist()
    return events


def _conclude(buffer_packets: int, title: str, results: Mapping[str, Result]) -> Outcome:
    since_s = WARMUP_S[buffer_packets]
    cells = []
    for control, printed in FALLS_TO[buffer_packets].items():
        result = results[f"{control}, {TAKEN}"]
        if buffer_packets in FITS:
            fitting = interval(fits(result, since_s))
            cells.append(Cell.simulated((control,), "fits", FITS[buffer_packets], fitting, WITHIN_PACKETS))
        falling = interval(falls_to(result, since_s))
        cells.append(Cell.simulated((control,), "falls to", printed, falling, WITHIN_PACKETS))
    comparison = Comparison("Window, packets", Origin.PRINTED, ("control",), tuple(cells), "within a packet")
    rows: Rows = {
        (control.label, name): {
            "fits": interval(fits(results[f"{control.label}, {name}"], since_s)),
            "falls to": interval(falls_to(results[f"{control.label}, {name}"], since_s)),
        }
        for control in CONTROLS
        for name in READINGS
    }
    path = one_bottleneck(5, buffer_packets)
    own = (
        Setting("buffer", f"{buffer_packets} packets", Origin.PRINTED),
        Setting("packet on the link", "counts among them", Origin.INFERRED),
    )
    went_in = settings(path, results, own=own)
    return Outcome(
        reading("the packet on the link counts among the buffer's"),
        (comparison,),
        partial(_draw, buffer_packets, title, results),
        (),
        went_in,
        (measured("Window, packets", ("control", "buffer"), rows),),
    )


def _draw(buffer_packets: int, title: str, results: Mapping[str, Result]) -> Figure:
    path = one_bottleneck(5, buffer_packets)
    ends = SHOWN_S[buffer_packets]
    curves = [
        plot.Curve("pipe and buffer", ends, [path.pipe_packets + buffer_packets] * 2, "reference"),
        plot.Curve("pipe", ends, [path.pipe_packets] * 2, "reference"),
    ]
    for control in (NEWRENO, ABSE):
        window = over_time.series(results[f"{control.label}, {TAKEN}"], "cwnd_bytes", FLOW)
        shown = (window.time_s >= ends[0]) & (window.time_s <= ends[1])
        curves.append(plot.Curve(control.label, window.time_s[shown], window.values[shown] / PAYLOAD_BYTES))
    return plot.curves(curves, "time (s)", "window (packets)", title)


def _entry(number: str, question: str, says: str, buffer_packets: int, cost_s: float) -> Experiment:
    title = f"Windows on 5 Mbit/s, a buffer of {buffer_packets} packets"
    conclude = partial(_conclude, buffer_packets, title)
    return entry(number, question, says, cost_s, conclude, partial(_runs, buffer_packets))


FIGURE_13 = _entry(
    "13",
    "To what does the window fall where the buffer is small?",
    "A buffer of 4 packets overflows when the window exceeds 46; NewReno falls to 23, ABSE to the pipe, 42.",
    4,
    4.0,
)
FIGURE_15 = _entry(
    "15",
    "To what does it fall where the buffer is large?",
    "A buffer of 160 packets: NewReno halves to about 101, above the pipe.",
    160,
    8.0,
)
