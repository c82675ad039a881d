"""Figures of one run over time: a panel for each flow or hop, all on one axis of time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ackclock import units
from ackclock.capture.connections import largest
from ackclock.capture.limiting_factor import LIMITS
from ackclock.elements import facts
from ackclock.metrics.tables import Columns, column, grouped
from ackclock.plot.canvas import between
from ackclock.plot.connection import Connection, connection_of
from ackclock.plot.flows import described
from ackclock.plot.series import Line, Replicate, is_known
from ackclock.plot.states import DATA, RATES, state_rows, stays
from ackclock.report import live
from ackclock.report.section import Live
from ackclock.result.result import Result
from ackclock.table import assigned

__all__ = ["of_connection", "of_run", "states"]

# More panels do not fit on a page.
_MOST_PANELS = 6
# Throughput is averaged over so many intervals; shorter ones would show bursts of delivery.
_INTERVALS = 200
_HEIGHT, _KEY_HEIGHT = 220, 330
# So few values make no line.
_FEW = 4
_ZOOM = "Drag to see a part of the time, double-click for all of it."
# An allowed rate this many times above the throughput would flatten everything else.
_FAR = 4
_BYTES_PER_MB, _BYTES_PER_KB = 1e6, 1e3
_LOST = ("drops_queue", "drops_aqm", "drops_impairment", "drops_retries")

Series = dict[str, Any]


def of_run(result: Result, *, is_key: bool) -> list[Live]:
    """Returns window, throughput, round-trip time and queue of point 0, replicate 0.

    Args:
        result: Of any method but `predict`.
        is_key: True if the first one stands beside the answer.
    """
    run = Replicate(result, 0, 0, None)
    drawn = [
        _window(run), *states(run), _throughput(run), _round_trips(run), _queue(run),
        _loss_events(run),
    ]  # fmt: skip
    known = [one for one in drawn if one is not None]
    for number, one in enumerate(known):
        one.spec["height"] = _KEY_HEIGHT if is_key and number == 0 else _HEIGHT
        if is_key and number == 0:
            one.spec["columns"] = 2 if len(one.spec["panels"]) < 5 else 3
    return known


def of_connection(result: Result, *, is_key: bool) -> list[Live]:
    """Returns the data in flight and the sequence numbers of the largest connection."""
    if not largest(result, 1, ("flow",), point=0, replicate=0):
        return []
    observed = connection_of(result, 0, 0, 0)
    found = [_in_flight(observed)]
    found[0].spec["height"] = _KEY_HEIGHT if is_key else _HEIGHT
    if "segments" in result.tables and result.rows("segments", **_where(observed)).num_rows:
        found.append(_sequence(observed))
    if "rate_estimates" in result.tables and result.tables["rate_estimates"].num_rows:
        found.append(_estimates(observed))
    return found


def _figure(
    run: Replicate, name: str, title: str, unit: str, what: str, panels: Sequence[Series],
    keys: Sequence[Any], *, left: int = 0, zero: bool = True,
) -> Live | None:  # fmt: skip
    """Returns the figure; None if it has nothing to show."""
    used = {one["s"] for panel in panels for one in panel["series"]}
    if not used:
        return None
    panels_named = ", ".join(filter(None, (panel["title"] for panel in panels)))
    shown = described(run.result, run.point)
    point = run.result.points[run.point]
    warmup = units.seconds(point["scenario"]["warmup"]) if point["scenario"] else 0.0
    for panel in panels:
        panel["shade"] = [0, warmup] if warmup > 0 else None
    spec = {
        "title": title,
        "description": f"{what} Panels: {panels_named}." if panels_named else what,
        "height": _HEIGHT,
        "columns": 2 if len(panels) in (2, 4) else 3,
        "x": live.time_axis(
            *between(run.span, shown.start_s, max(shown.end_s, shown.start_s + 1e-3))
        ),
        "y": {"kind": "linear", "unit": unit, "zero": zero},
        "link": "time",
        "keys": [entry for entry in keys if entry["s"] in used],
        "panels": list(panels),
    }
    where = ", ".join(assigned(point["assignments"]))
    place = f" Point 0 ({where}), replicate 0." if where else ""
    place += " The shaded warm-up is in no average." if warmup > 0 else ""
    more = f" {left} more are not shown." if left > 0 else ""
    caption = f"{what}{place}{more} {_ZOOM}"
    return Live(f"time-{name}", title, unit, caption, spec, wide=len(panels) > 1)


def _lines(run: Replicate, *names: str) -> tuple[list[Line], int]:
    """Returns the lines that are shown, and how many are left out."""
    if "samples" not in run.result.tables:
        return [], 0
    lines = run.lines("time_s", *names)
    return lines[:_MOST_PANELS], max(0, len(lines) - _MOST_PANELS)


def _line(series: str, draw: str, time: Any, values: Any, most: int) -> list[Series]:
    """Returns a series of known values, a few as dots; none if there is no value."""
    known = int((~np.isnan(values)).sum())
    if known == 0:
        return []
    if draw == "steps":
        time, values = live.steps(np.asarray(time, float), np.asarray(values, float))
    draw = "dots" if known < _FEW else draw
    return [{"s": series, "draw": draw} | live.thinned(time, values, most)]


def _window(run: Replicate) -> Live | None:
    if run.method not in ("simulate", "emulate"):
        return None
    lines, left = _lines(run, "cwnd_bytes", "ssthresh_bytes", "sent_packets")
    most = live.span_of(2 * len(lines))
    panels = []
    for line in lines:
        time = line.rows["time_s"]
        if not line.rows["sent_packets"].any():
            continue  # It never began.
        series = _line(run.method, "line", time, line.rows["cwnd_bytes"] / line.mss_bytes, most)
        threshold = line.rows["ssthresh_bytes"].astype(float)
        threshold[threshold > _FAR * np.nanmax(line.rows["cwnd_bytes"])] = np.nan
        series += _line("limit", "steps", time, threshold / line.mss_bytes, most)
        panels.append({"title": line.label, "series": series + _timeouts(run, line)})
    keys = [
        live.key(run.method, "line", "congestion window"),
        live.key("limit", "steps", "ssthresh"),
        live.key("timeout", "ticks", "timeout"),
    ]
    what = "Congestion window and slow-start threshold; timeouts are marked."
    return _figure(run, "cwnd", "Congestion window", "segments", what, panels, keys, left=left)


def _timeouts(run: Replicate, line: Line) -> list[Series]:
    """Returns the times of a flow's timeouts."""
    if "events" not in run.result.tables:
        return []
    name, _, instance = line.label.partition(" ")[0].partition("/")
    events = run.result.rows(
        "events", point=run.point, replicate=run.replicate, flow=name, kind="timeout",
        instance=int(instance or 0),
    )  # fmt: skip
    times = live.rounded(map(float, column(events, "time_s")))
    return [{"s": "timeout", "draw": "ticks", "x": times, "y": [0] * len(times)}] if times else []


def _throughput(run: Replicate) -> Live | None:
    lines, left = _lines(run, "delivered_bytes")
    name = "allowed_rate_bit_per_s"
    has_allowed = run.method != "measure" and is_known(run.result, name, run.point)
    allowed = {line.label: line for line in _lines(run, name)[0]} if has_allowed else {}
    panels = []
    for line in lines:
        every = max(1, line.rows["time_s"].size // _INTERVALS)
        time, delivered = line.rows["time_s"][::every], line.rows["delivered_bytes"][::every]
        if time.size > 1 and delivered.any():
            rate = np.diff(delivered) * 8e-6 / np.diff(time)
            middle = (time[1:] + time[:-1]) / 2
            series = _line(run.method, "line", middle, rate, _INTERVALS + 10)
            if line.label in allowed:
                series += _allowed(allowed[line.label], _FAR * float(np.nanmax(rate)))
            panels.append({"title": line.label, "series": series})
    acknowledged = "delivered" if run.method in ("simulate", "receive", "send") else "acknowledged"
    what = f"Payload {acknowledged} per second, averaged over at most {_INTERVALS} intervals."
    keys = [
        live.key(run.method, "line", "throughput"), live.key("limit", "steps", "allowed rate"),
    ]  # fmt: skip
    return _figure(run, "throughput", "Throughput", "Mbit/s", what, panels, keys, left=left)


def _allowed(line: Line, most: float) -> list[Series]:
    """Returns the rate that a control allows, where it is at most `most` Mbit/s."""
    rate = line.rows["allowed_rate_bit_per_s"] * 1e-6
    near = np.where(rate <= most, rate, np.nan)
    return _line("limit", "steps", line.rows["time_s"], near, live.span_of(1))


def _round_trips(run: Replicate) -> Live | None:
    if run.method == "receive":
        return None
    lines, left = _lines(run, "rtt_s", "smoothed_rtt_s")
    most = live.span_of(2 * len(lines))
    panels = []
    for line in lines:
        time = line.rows["time_s"]
        series = _line("raw", "dots", time, line.rows["rtt_s"] * 1e3, min(most, 1200))
        series += _line(run.method, "line", time, line.rows["smoothed_rtt_s"] * 1e3, most)
        panels.append({"title": line.label, "series": series})
    keys = [
        live.key(run.method, "line", "smoothed"), live.key("raw", "dots", "latest measurement"),
    ]  # fmt: skip
    what = "The sender's smoothed estimate and the latest measurement."
    return _figure(run, "rtt", "Round-trip time", "ms", what, panels, keys, left=left, zero=False)


def _loss_events(run: Replicate) -> Live | None:
    """Returns the loss rates that rate controls estimate; None if there are none."""
    if run.method == "measure" or not is_known(run.result, "loss_event_rate", run.point):
        return None
    lines, left = _lines(run, "loss_event_rate")
    most = live.span_of(len(lines))
    panels = []
    for line in lines:
        rate = line.rows["loss_event_rate"] * 100
        series = _line(run.method, "line", line.rows["time_s"], rate, most)
        panels.append({"title": line.label, "series": series})
    what = "Loss rate that a rate control estimates, by its own definition."
    keys = [live.key(run.method, "line", "loss event rate")]
    return _figure(run, "loss_event_rate", "Loss event rate", "%", what, panels, keys, left=left)


def states(
    run: Replicate, named: Mapping[str, str] | None = None, marks: Sequence[tuple[float, str]] = ()
) -> list[Live]:
    """Returns what the first flow's control decides ACK by ACK: data, and rates.

    Args:
        run: The replicate, with the part of its time that is shown.
        named: Other names for states, by `mode phase` or by `mode`.
        marks: Times to be marked, with their names.
    """
    if "control_states" not in run.result.tables or not run.rows("control_states").num_rows:
        return []
    columns = ("time_s", *(name for name, _ in (*DATA, *RATES)))
    rows, labels = state_rows(run, columns, run.span)
    time = rows["time_s"]
    known = stays(labels, time, named or {}, float(time[-1]) if run.span is None else run.span[1])
    names = list(dict.fromkeys(name for *_, name in known))
    kinds = [live.ordered(names, name) for name in names]
    bands = [
        [float(f"{begin:.6g}"), float(f"{end:.6g}"), live.ordered(names, name), name]
        for begin, end, name in known
    ]
    found = []
    for title, unit, lines, scale in (
        ("States of the control: data", "kB", DATA, 1e3),
        ("States of the control: rates", "Mbit/s", RATES, 1e6),
    ):
        titles = [label for _, label in lines]
        series, keys = [], []
        for name, label in lines:
            draw = "dots" if name == "sample_bit_per_s" else "steps"
            values = rows[name].astype(float) / scale
            added = _line(live.ordered(titles, label), draw, time, values, live.span_of(4))
            series += added
            keys += [live.key(one["s"], one["draw"], label) for one in added]
        events = [{"x": float(f"{at_s:.6g}"), "text": said} for at_s, said in marks]
        panel = {"title": "", "series": series, "bands": bands, "events": events}
        what = f"What the control of the first flow decides from one ACK to the next, in {unit}."
        shown = _figure(run, f"states-{unit[0]}", title, unit, what, [panel], keys)
        if shown is not None:
            found.append(shown._replace(wide=True, strip=dict(zip(kinds, names, strict=True))))
    return found


def _queue(run: Replicate) -> Live | None:
    """Returns the backlog of each hop that had any or lost something."""
    if "hops" not in run.result.tables or not run.rows("hops").num_rows:
        return None
    hops = run.rows("hops")
    more = [name for name in ("limit_packets", *_LOST) if name in hops.column_names]
    found = [
        (hop, rows)
        for (hop,), rows in grouped(hops, ("hop",), ("time_s", "backlog_packets", *more))
        if rows["backlog_packets"].any() or any(rows[one].any() for one in more if one in _LOST)
    ]
    shown = found[:_MOST_PANELS]
    most = live.span_of(2 * len(shown))
    panels = [_hop(run, hop, rows, most) for hop, rows in shown]
    keys = [
        live.key(run.method, "line", "backlog"),
        live.key("limit", "steps", "adaptive limit"),
        live.key("again", "ticks", "packets lost"),
    ]
    what = "Packets that wait in each hop, and when packets were lost there."
    left = len(found) - len(shown)
    return _figure(run, "queue", "Queue", "packets", what, panels, keys, left=left)


def _hop(run: Replicate, hop: str, rows: Columns, most: int) -> dict[str, Any]:
    time = rows["time_s"]
    series = _line(run.method, "line", time, rows["backlog_packets"].astype(float), most)
    if "limit_packets" in rows:
        series += _line("limit", "steps", time, rows["limit_packets"].astype(float), most)
    lost = sum(np.diff(rows[name], prepend=0) for name in _LOST if name in rows)
    when = time[np.asarray(lost) > 0]
    if when.size:
        every = max(1, when.size // 600)
        times = live.rounded(map(float, when[::every]))
        series.append({"s": "again", "draw": "ticks", "x": times, "y": [0] * len(times)})
    tree = next(
        one for one in run.result.points[run.point]["scenario"]["hops"] if one["name"] == hop
    )
    capacity = facts.queue(tree)[1]["capacity"] or {}
    limit = str(capacity.get("limit", "")) if capacity.get("kind") == "limit" else ""
    limits = [{"y": units.packets(limit), "text": f"limit {limit}"}] if "packet" in limit else []
    return {"title": hop, "series": series, "limits": limits}


def _where(observed: Connection) -> dict[str, Any]:
    return {name: observed.row[name] for name in ("point", "replicate", "flow", "instance")}


def _in_flight(observed: Connection) -> Live:
    """Returns the data in flight, a near receive window, and what limited when."""
    samples, periods = observed.rows("samples"), observed.rows("limit_periods")
    time, in_flight = column(samples, "time_s"), column(samples, "in_flight_bytes")
    series = _line("measure", "line", time, in_flight / _BYTES_PER_KB, live.span_of(1))
    start, end = (column(periods, name).astype(float) for name in ("start_s", "end_s"))
    if observed.window_is_near:
        window = column(periods, "receive_window_mean_bytes").astype(float) / _BYTES_PER_KB
        at = np.stack([start, end], -1).ravel()
        series += _line("window", "steps", at, np.repeat(window, 2), live.span_of(1))
    bands, kinds = _bands(start, end, column(periods, "limit"))
    keys = [
        live.key("measure", "line", "data in flight"),
        live.key("window", "steps", "receiver's window"),
    ]
    used = {one["s"] for one in series}
    panel = {"title": "", "series": series, "bands": bands}
    spec = {
        "title": "Data in flight of the largest connection",
        "description": f"Below, what limited it when: {', '.join(kinds.values())}.",
        "x": live.time_axis(float(observed.row["start_s"]), float(observed.row["end_s"])),
        "y": {"kind": "linear", "unit": "kB", "zero": True},
        "link": "time",
        "keys": [entry for entry in keys if entry["s"] in used],
        "panels": [panel],
    }
    caption = f"The strip at the bottom says what limited the connection. {_ZOOM}"
    return Live("time-outstanding", "Data in flight", "kB", caption, spec, wide=True, strip=kinds)


def _estimates(observed: Connection) -> Live:
    """Returns the rates that estimators infer from ACKs, beside the acknowledged rate."""
    samples = observed.rows("samples")
    time, delivered = column(samples, "time_s"), column(samples, "delivered_bytes")
    passed = np.diff(time)
    rate = 8e-6 * np.diff(delivered)[passed > 0] / passed[passed > 0]
    asked = observed.result.run["estimators"]
    most = live.span_of(1 + len(asked))
    series = _line("limit", "steps", time[1:][passed > 0], rate, most)
    keys = [live.key("limit", "steps", "acknowledged")]
    for name, one in asked.items():
        rows = observed.rows("rate_estimates", estimator=name)
        own = live.ordered(list(asked), name)
        rates = column(rows, "rate_bit_per_s").astype(float) * 1e-6
        series += _line(own, "line", column(rows, "time_s"), rates, most)
        keys.append(live.key(own, "line", str(one["label"])))
    used = {one["s"] for one in series}
    spec = {
        "title": "Rate estimates of the largest connection over time",
        "description": f"Estimators: {', '.join(str(one['label']) for one in asked.values())}.",
        "height": _KEY_HEIGHT,
        "x": live.time_axis(float(observed.row["start_s"]), float(observed.row["end_s"])),
        "y": {"kind": "linear", "unit": "Mbit/s", "zero": True},
        "link": "time",
        "keys": [entry for entry in keys if entry["s"] in used],
        "panels": [{"title": "", "series": series}],
    }
    caption = f"Rates that estimators infer from the connection's ACKs. {_ZOOM}"
    return Live("time-rate_estimates", "Rate estimates", "Mbit/s", caption, spec, wide=True)


def _bands(start: Any, end: Any, limits: Any) -> tuple[list[Any], dict[str, str]]:
    """Returns periods with one limit, neighbours joined, and the names of the limits."""
    bands: list[Any] = []
    for low, high, limit in zip(start, end, limits, strict=True):
        if bands and bands[-1][2] == limit and abs(bands[-1][1] - low) < 1e-6:
            bands[-1][1] = float(f"{high:.6g}")
        else:
            ends = [float(f"{low:.6g}"), float(f"{high:.6g}")]
            bands.append([*ends, str(limit), f"limited by {LIMITS[str(limit)]}"])
    found = {kind for *_, kind, _ in bands}
    return bands, {kind: name for kind, name in LIMITS.items() if kind in found}


def _sequence(observed: Connection) -> Live:
    """Returns Jacobson's and Shepard's plot: bytes sent, acknowledged and sent again over time."""
    segments = observed.rows("segments")
    kinds, time = column(segments, "kind"), column(segments, "time_s")
    low, high = (column(segments, name) / _BYTES_PER_MB for name in ("low_bytes", "high_bytes"))
    series: list[Series] = []
    for kind, name, draw in (
        ("window", "window", "steps"), ("ack", "ack", "steps"), ("sack", "sack", "bars"),
        ("data", "sent", "bars"), ("retransmission", "again", "dots"),
    ):  # fmt: skip
        chosen = kinds == kind
        if not chosen.any() or (kind == "window" and not observed.window_is_near):
            continue
        one = {"s": name, "draw": draw} | _marks(time[chosen], low[chosen], high[chosen], draw)
        series.append(one)
    names = {
        "sent": "sent", "again": "sent again", "ack": "acknowledged", "sack": "SACK",
        "window": "receiver's window",
    }  # fmt: skip
    draws = {one["s"]: one["draw"] for one in series}
    spec = {
        "title": "Sequence numbers of the largest connection over time",
        "description": "Bytes sent, sent again, selectively and cumulatively acknowledged.",
        "height": 380,
        "x": live.time_axis(float(observed.row["start_s"]), float(observed.row["end_s"])),
        "y": {"kind": "linear", "unit": "MB", "zero": False},
        "link": "time",
        "keys": [live.key(one, draws[one], name) for one, name in names.items() if one in draws],
        "panels": [{"title": "", "series": series}],
    }
    caption = (
        "Time-sequence plot (Jacobson, Shepard): a bar for each packet sent, a cross for each "
        f"sent again, a line for what is acknowledged. {_ZOOM} Keys + and − zoom at the cursor."
    )
    return Live("time-sequence", "Time and sequence", "MB", caption, spec, wide=True)


# Marks of one kind in a time-sequence plot; more are joined, so that a page stays small.
_MOST_MARKS = 8_000


def _marks(time: Any, low: Any, high: Any, draw: str) -> dict[str, Any]:
    """Returns marks in their order; of too many, neighbours are joined."""
    order = np.argsort(time, kind="stable")
    time, low, high = time[order], low[order], high[order]
    every = -(-time.size // _MOST_MARKS)
    starts = np.arange(0, time.size, every)
    low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    at = [float(f"{one:.7g}") for one in time[starts]]
    precise = [[float(f"{one:.7g}") for one in values] for values in (low, high)]
    bars = {"low": precise[0]} if draw == "bars" else {}
    return {"x": at, "y": precise[1]} | bars
