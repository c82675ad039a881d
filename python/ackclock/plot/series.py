"""Figures of one replicate over time."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.capture.connections import largest
from ackclock.metrics.tables import Columns, grouped
from ackclock.plot.canvas import Span, between, entitle, inside, looks, new
from ackclock.plot.flows import Described, described
from ackclock.plot.style import REFERENCE_COLOUR, Style, control_label, control_styles, style
from ackclock.result import Result
from ackclock.table import assigned

# More lines than this hide each other.
_MOST_LINES = 8

# With more lines than this, what goes with each (ssthresh, single measurements) hides them and is left out.
_MOST_ASIDES = 2

# A rate allowed that is so many times the highest throughput is not drawn: it would press all else to the ground.
_FAR = 4

# Throughput is averaged over this share of the time shown: shorter intervals show how a repaired loss releases what was
# held back behind it rather than how fast the flow is.
_THROUGHPUT_INTERVALS = 200


_QUEUE = "Queue and losses"


class Line(NamedTuple):
    """One flow instance's series."""

    label: str
    looks: Style
    mss_bytes: float
    rows: Columns


def _drawn(figure: Callable[..., Figure]) -> Callable[..., Figure]:
    @wraps(figure)
    def with_looks(*arguments: Any, **options: Any) -> Figure:
        with looks():
            return figure(*arguments, **options)

    return with_looks


@_drawn
def cwnd(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Congestion window and slow-start threshold in segments; timeouts are marked."""
    figure, [axes] = new()
    lines = list(_lines(result, point, replicate, ("time_s", "cwnd_bytes", "ssthresh_bytes"), span))
    for line in lines:
        time = line.rows["time_s"]
        _draw(axes, time, line.rows["cwnd_bytes"] / line.mss_bytes, line, f"{line.label} cwnd")
        if len(lines) <= _MOST_ASIDES:
            threshold = line.rows["ssthresh_bytes"] / line.mss_bytes
            axes.plot(
                time, threshold, color=line.looks.color, linewidth=0.9, linestyle=(0, (1, 2)), drawstyle="steps-post",
                label=f"{line.label} ssthresh",
            )  # fmt: skip
    _mark_timeouts(axes, result, point, replicate, span)
    axes.set_ylabel("window (segments)")
    return _finish(figure, [axes], result, point, replicate, "Congestion window", span)


@_drawn
def throughput(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Payload delivered in order per second, or acknowledged, averaged over a two-hundredth of the time shown.

    Of a flow under a rate control that is alone also the rate allowed, where it is not far above.
    """
    figure, [axes] = new()
    lines = list(_lines(result, point, replicate, ("time_s", "delivered_bytes"), span))
    for line in lines:
        every = max(1, line.rows["time_s"].size // _THROUGHPUT_INTERVALS)
        time, delivered = line.rows["time_s"][::every], line.rows["delivered_bytes"][::every]
        if time.size > 1:
            # Told at the middle of the interval that it is the mean of.
            _draw(axes, (time[1:] + time[:-1]) / 2, np.diff(delivered) * 8e-6 / np.diff(time), line, line.label)
    told = result.run["way"] != "measure" and is_known(result, "allowed_rate_bit_per_s", point)
    if told and len(lines) == len(axes.lines) == 1:
        for line in _lines(result, point, replicate, ("time_s", "allowed_rate_bit_per_s"), span):
            _draw_allowed(axes, line, _FAR * float(np.max(axes.lines[0].get_ydata())))
    for flow in _unsampled(result, point, replicate):
        axes.plot([], [], linestyle="none", label=f"{flow}: not sampled")
    axes.set_ylabel(f"{_DELIVERED.get(result.run['way'], 'acknowledged')} (Mbit/s)")
    return _finish(figure, [axes], result, point, replicate, "Throughput", span)


@_drawn
def rtt(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Round-trip time: each sample's latest measurement, and the sender's smoothed estimate."""
    figure, [axes] = new()
    lines = list(_lines(result, point, replicate, ("time_s", "rtt_s", "smoothed_rtt_s"), span))
    for line in lines:
        time = line.rows["time_s"]
        if len(lines) <= _MOST_ASIDES and not np.isnan(line.rows["rtt_s"]).all():
            axes.plot(
                time, line.rows["rtt_s"] * 1e3, linestyle="none", marker=".", markersize=2, alpha=0.5,
                color=line.looks.color, label=f"{line.label} measured",
            )  # fmt: skip
        _draw(axes, time, line.rows["smoothed_rtt_s"] * 1e3, line, f"{line.label} smoothed")
    axes.set_ylabel("round-trip time (ms)")
    return _finish(figure, [axes], result, point, replicate, "Round-trip time", span)


@_drawn
def loss_event_rate(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """What a rate control takes for the loss rate, by its own definition: packets lost, or loss events."""
    figure, [axes] = new()
    for line in _lines(result, point, replicate, ("time_s", "loss_event_rate"), span):
        _draw(axes, line.rows["time_s"], line.rows["loss_event_rate"] * 100, line, line.label)
    axes.set_ylabel("loss event rate (%)")
    return _finish(figure, [axes], result, point, replicate, "Loss event rate", span)


@_drawn
def queue(result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None) -> Figure:
    """Backlog of every hop that had any, with its limit if that moves, and below it what was lost in each interval."""
    figure, [backlog, drops] = new(2, 4.6)
    moves = "limit_packets" in _of(result, "hops", point, replicate).column_names  # results of old have none
    names = ("time_s", "backlog_packets", *_CAUSES, *(["limit_packets"] if moves else []))
    shown = []
    for (hop,), rows in grouped(_of(result, "hops", point, replicate), ("hop",), names):
        if rows["backlog_packets"].any() or any(rows[cause].any() for cause in _CAUSES):
            shown.append((hop, rows))
    for position, (hop, rows) in enumerate(shown[:_MOST_LINES]):
        looked = style(position)
        time, in_span = rows["time_s"], inside(span, rows["time_s"])
        _draw(backlog, time[in_span], rows["backlog_packets"][in_span], Line(hop, looked, 1, rows), hop)
        if moves and not np.isnan(rows["limit_packets"][in_span]).all():
            backlog.plot(
                time[in_span], rows["limit_packets"][in_span], color=looked.color, linewidth=0.9,
                linestyle=(0, (1, 2)), label=f"{hop}: limit",
            )  # fmt: skip
        for cause, (marker, meaning) in _CAUSES.items():
            lost = np.diff(rows[cause], prepend=0)
            when = in_span & (lost > 0)
            if when.any():
                drops.plot(
                    time[when], lost[when], linestyle="none", marker=marker, color=looked.color,
                    label=f"{hop}: {meaning}",
                )  # fmt: skip
    backlog.set_ylabel("backlog (packets)")
    interval = result.points[point]["scenario"]["sample_interval"]
    drops.set_ylabel(f"lost per {interval} (packets)")
    drops.set_ylim(bottom=0)
    return _finish(figure, [backlog, drops], result, point, replicate, _QUEUE, span)


# What is known to have been delivered. A real receiver is not asked; its sender knows what was acknowledged.
_DELIVERED = {"simulate": "delivered in order", "send": "arrived, as reported", "receive": "arrived"}

_CAUSES = {
    "drops_queue": ("x", "queue full"),
    "drops_aqm": ("+", "AQM"),
    "drops_impairment": (".", "random loss"),
    "drops_retries": ("+", "given up"),
}


def is_known(result: Result, name: str, point: int) -> bool:
    """Whether any sample of a point tells a column."""
    samples = result.rows("samples", point=point)
    return name in samples.column_names and samples[name].null_count < samples.num_rows


def _of(result: Result, table: str, point: int, replicate: int) -> pa.Table:
    if not 0 <= point < len(result.points):
        raise ValueError(f"there is no point {point}; this result has {len(result.points)}, from 0")
    if table not in result.tables:
        raise ValueError(f'this result has no table "{table}"; a run of ackclock simulate or emulate has')
    return result.rows(table, point=point, replicate=replicate)


def _lines(result: Result, point: int, replicate: int, names: tuple[str, ...], span: Span | None) -> Iterator[Line]:
    """The first instance of each flow, then the second of each, and so on until there are enough.

    Without those of which nothing but the time is known, as of UDP's window.
    """
    samples = _samples(result, point, replicate)
    flows = described(result, point).flows
    series = [
        (whose, rows)
        for whose, rows in grouped(samples, ("flow", "instance"), names)
        if not all(np.isnan(rows[name]).all() for name in names if name != "time_s")
    ]
    order = list(flows)
    series.sort(key=lambda entry: (entry[0][1], order.index(entry[0][0])))
    chosen = sorted(series[:_MOST_LINES], key=lambda entry: order.index(entry[0][0]))
    of_controls = control_styles(result.run)
    alone = {"linestyle": "-"} if len(chosen) == 1 else {}  # nothing to tell it from
    taken: set[Style] = set()
    for (name, instance), rows in chosen:
        flow = flows[name]
        looked = of_controls.get(flow.control, style(len(of_controls)))
        spare = len(of_controls) + 1
        while looked in taken:  # a second flow of the same control
            looked, spare = style(spare), spare + 1
        taken.add(looked)
        label = name if flow.instances == 1 else f"{name}/{instance}"
        label += f" ({control_label(result.run, flow.control)})" if flow.control else ""
        shown = inside(span, rows["time_s"])
        yield Line(label, looked._replace(**alone), flow.mss_bytes, {name: rows[name][shown] for name in names})


def _some(shown: Described) -> str | None:
    """How many flows are drawn, if not all."""
    instances = [flow.instances for flow in shown.flows.values()]
    known = [number for number in instances if number is not None]
    if len(known) < len(instances):
        return f"{_MOST_LINES} flows at most; others arrive"
    return f"{_MOST_LINES} of {sum(known)} flows" if sum(known) > _MOST_LINES else None


def _samples(result: Result, point: int, replicate: int) -> pa.Table:
    """All there are; of a capture, which may have had very many connections, those of the largest."""
    if result.run["way"] != "measure":
        return _of(result, "samples", point, replicate)
    shown = largest(result, _MOST_LINES, ("flow", "instance"), point=point, replicate=replicate)
    parts = [result.rows("samples", point=point, replicate=replicate, **keys) for keys in shown]
    return pa.concat_tables(parts) if parts else _of(result, "samples", point, replicate)


def _unsampled(result: Result, point: int, replicate: int) -> list[str]:
    """Flows that were run and of which there is no sample at all: the kernel tells of TCP only."""
    of_flows, of_samples = (
        dict.fromkeys(_of(result, table, point, replicate)["flow"].to_pylist()) for table in ("flows", "samples")
    )
    return [flow for flow in of_flows if flow not in of_samples] if result.run["way"] == "emulate" else []


def _draw(axes: Axes, time: NDArray[Any], values: NDArray[Any], line: Line, label: str) -> None:
    axes.plot(
        time, values, color=line.looks.color, linestyle=line.looks.linestyle, marker=line.looks.marker,
        markevery=(time.size // 40, max(1, time.size // 15)), label=label,
    )  # fmt: skip


def _draw_allowed(axes: Axes, line: Line, most: float) -> None:
    """The rate that a control allows, in Mbit/s, where it is no more than that."""
    allowed = line.rows["allowed_rate_bit_per_s"] * 1e-6
    near = allowed <= most
    axes.plot(
        line.rows["time_s"], np.where(near, allowed, np.nan), color=line.looks.color, linewidth=0.9,
        linestyle=(0, (1, 2)) if near.any() else "none", drawstyle="steps-post",
        label=f"{line.label} allowed" + ("" if near.any() else ":\nfar above, not drawn"),
    )  # fmt: skip


def _mark_timeouts(axes: Axes, result: Result, point: int, replicate: int, span: Span | None) -> None:
    events = _of(result, "events", point, replicate)
    times = [
        time
        for (kind,), rows in grouped(events, ("kind",), ("time_s",))
        if kind == "timeout"
        for time in rows["time_s"][inside(span, rows["time_s"])]
    ]
    if times:
        axes.plot(
            times, [0.02] * len(times), transform=axes.get_xaxis_transform(), linestyle="none", marker="|",
            markersize=9, color=REFERENCE_COLOUR, label="timeout",
        )  # fmt: skip


def _finish(
    figure: Figure, rows: list[Axes], result: Result, point: int, replicate: int, what: str, span: Span | None
) -> Figure:
    shown = described(result, point)
    title = ", ".join([f"{what}: {shown.name}", *assigned(result.points[point]["assignments"])])
    title += f", replicate {replicate}" if result.points[point]["scenario"] else ""
    title += " (not to be trusted)" if (point, replicate) in result.untrusted else ""
    entitle(rows[0], title + (" (interrupted run)" if result.partial else ""))
    rows[-1].set_xlabel("time (s)")
    rows[-1].set_xlim(*between(span, shown.start_s, max(shown.end_s, shown.start_s + 1e-9)))
    of_flows = result.run["way"] == "measure" or result.is_session
    was_run = _of(result, "flows" if of_flows else "hops", point, replicate).num_rows > 0
    some = None if what == _QUEUE else _some(shown)
    for axes in rows:
        axes.set_ylim(bottom=0)
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            axes.legend(
                handles, labels, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, title=some, title_fontsize=8,
                alignment="left",
            )  # fmt: skip
        else:
            words = "nothing happened" if was_run or result.is_session else "not run: interrupted before"
            axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center")
    return figure
