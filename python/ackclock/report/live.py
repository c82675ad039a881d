"""Figures as a page draws them: their description as data for `figures.js`.

A page has a panel for each flow, hop or line, in which a series looks as its part or its method
does. Numbers have four significant digits, as in tables, and long series are thinned.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ackclock.comparison import COLUMNS
from ackclock.plot.spec import Event, FigureSpec, Panel, Series, Values
from ackclock.plot.style import look
from ackclock.report.section import Live

#: Names of methods in legends, and what answers by each.
KEYS: Mapping[str, tuple[str, str]] = {
    "predict": ("predict", "models"),
    "simulate": ("simulate", "engine"),
    "measure-simulate": ("measure", "of engine"),
    "emulate": ("emulate", "Linux"),
    "measure-emulate": ("measure", "of Linux"),
    "measure": ("measure", "capture"),
}

#: More panels do not fit on a page.
MOST_PANELS = 6

# A figure over time holds at most so many values, and a line between these numbers of them.
_MOST_OF_FIGURE, _MOST_OF_LINE, _FEWEST_OF_LINE = 16_000, 4_000, 300
# Marks alone that one can tell apart.
_MOST_MARKS = 1_200
# A figure with more entries in its legend is as wide as the page.
_MOST_NARROW = 4
# So few values make no line.
_FEW = 4
# A cursor steps from value to value if there are at most so many, else it runs along the axis.
_MOST_STEPS = 2_000

# Heights of a panel in pixels, beside the answer and elsewhere.
_KEY_HEIGHT, _HEIGHT = 340, 230

_LABELS = {label for label, _ in COLUMNS.values()}


def live(
    spec: FigureSpec, name: str = "", *, is_key: bool = False, caption: str = ""
) -> list[Live]:
    """Returns the figures of a page for one description: one for each vertical axis.

    Args:
        spec: The description.
        name: Its id; by default that of its kind.
        is_key: True if the first stands beside the answer.
        caption: More sentences below it.
    """
    shown = [
        _live(part, name or spec.name, number, caption)
        for number, part in enumerate(_by_axis(spec))
    ]
    figures = [figure for figure in shown if figure is not None]
    if figures and is_key:
        first = figures[0]
        columns = 2 if len(first.spec["panels"]) in (2, 4) else 3
        data = first.spec | {"height": _KEY_HEIGHT, "columns": columns}
        figures[0] = first._replace(spec=data)
    return figures


def _by_axis(spec: FigureSpec) -> list[FigureSpec]:
    """Returns a figure for each panel with an axis of its own, with a panel for each group."""
    spec = replace(spec, panels=tuple(map(_with_events, spec.panels)))
    if not any(panel.y for panel in spec.panels):
        return [spec.apart()]
    return [
        replace(
            spec, title=f"{spec.title}: {panel.title or panel.y.label}", y=panel.y,
            panels=(replace(panel, y=None, title=""),),
        ).apart()
        for panel in spec.panels
        if panel.y is not None
    ]  # fmt: skip


def _with_events(panel: Panel) -> Panel:
    """Returns a panel whose lines that stand on one value of the horizontal axis are events."""
    upright = [
        series for series in panel.series
        if series.style.startswith("reference") and series.x.size > 1 and np.ptp(series.x) == 0
    ]  # fmt: skip
    events = tuple(Event(float(series.x[0]), series.label, series.style) for series in upright)
    others = tuple(series for series in panel.series if not any(series is line for line in upright))
    return replace(panel, series=others, events=(*panel.events, *events))


def _live(spec: FigureSpec, name: str, number: int, caption: str) -> Live | None:
    """Returns a figure; None if it has nothing to show."""
    panels = [panel for panel in spec.panels if any(series.is_known for series in panel.series)]
    shown = replace(spec, panels=tuple(panels[:MOST_PANELS]))
    if not panels or _is_flat(shown):
        return None
    keys = _keys(shown)
    left = len(panels) - len(shown.panels)
    x = _horizontal(shown)
    log = spec.y.scale == "log"
    data = {
        "title": shown.heading,
        "description": _described(shown),
        "height": _KEY_HEIGHT if spec.height_in else _HEIGHT,
        "columns": 2 if len(shown.panels) in (2, 4) else 3,
        "x": x,
        "y": {"kind": "log" if log else "linear", "unit": spec.y.unit, "zero": spec.y.begin == 0},
        "link": "time" if x["label"] == "time, s" else f"{name}-{number}",
        "keys": [key for _, key in keys.values()],
        "panels": [_panel(panel, shown, keys) for panel in shown.panels],
    }
    axes = "both axes logarithmic" if log and spec.x.scale == "log" else ""
    axes = axes or ("logarithmic axis" if log else "")
    words = "" if spec.y.label == spec.title.lower() else spec.y.label
    intervals = any(series.half is not None for series in shown.series)
    means = "mean and 95 % interval" if intervals else ""
    sub = ", ".join(filter(None, [words, spec.y.unit, means, axes]))
    doubts = any(any(series.doubts) for series in shown.series)
    sentences = [
        shown.summary,
        f"Of {shown.where}." if shown.where and x["kind"] == "time" and spec.x.unit == "s" else "",
        "The shaded warm-up is in no average."
        if any(panel.shade for panel in shown.panels)
        else "",
        "? violates an assumption of the model; ackclock predict says which." if doubts else "",
        f"{spec.left_out[0].upper()}{spec.left_out[1:]}." if spec.left_out else "",
        f"{len(shown.panels)} of {len(panels)} panels." if left else "",
        caption,
        "Drag to see a part, double-click for all of it." if x["kind"] == "time" else "",
    ]
    is_wide = bool(spec.strip or spec.height_in) or len(keys) > _MOST_NARROW
    strip = {band.style: band.name for panel in shown.panels for band in panel.bands}
    return Live(
        f"{name}-{number}" if number else name, spec.title, sub,
        " ".join(filter(None, sentences)), data,
        wide=len(shown.panels) > (1 if spec.x.is_dense else 2) or is_wide, strip=strip,
    )  # fmt: skip


def _is_flat(spec: FigureSpec) -> bool:
    """True if all curves along an axis stand on one value of it, such as a delay that never is."""
    every = np.concatenate(
        [curve.x for curve in spec.series if curve.form == "line"] or [np.empty(0)]
    )
    return spec.x.is_dense and every.size > 1 and np.ptp(every) == 0


def _described(spec: FigureSpec) -> str:
    """Returns what a figure shows, for those who do not see it."""
    titles = [panel.title for panel in spec.panels]
    events = [event.text for panel in spec.panels for event in panel.events]
    named = [*(curve.label for curve in spec.series), *events]
    parts = [spec.summary]
    for heading, names in (("Panels", titles), ("Shown", named)):
        words = ", ".join(dict.fromkeys(filter(None, names)))
        parts += [f"{heading}: {words}."] if words else []
    return " ".join(parts)


def _keys(spec: FigureSpec) -> dict[tuple[str, str], tuple[Any, dict[str, Any]]]:
    """Returns the entries of the legend by look and label, each with what identifies its series.

    Those of methods are the same in all figures of a page, and are switched together.
    """
    keys: dict[tuple[str, str], tuple[Any, dict[str, Any]]] = {}
    for series in spec.series:
        place = (series.style, series.label)
        if place in keys or not series.is_known:
            continue
        base, style = series.style.partition("/")[0], look(series.style)
        is_method = base in KEYS and (series.form in ("points", "marks") or series.label in _LABELS)
        words, method = (
            KEYS[base] if is_method else (series.label or spec.y.label or spec.title.lower(), "")
        )
        own = {} if is_method else {"id": str(len(keys))}
        entry = own | {
            "s": base, "draw": _form(series), "name": words, "of": method, "mark": style.marker,
            "hollow": style.hollow or series.form == "marks",
        }  # fmt: skip
        keys[place] = (own, entry | ({"off": True} if series.is_off else {}))
    return keys


def _form(series: Series) -> str:
    if series.form == "line" and np.isfinite(series.y).sum() < _FEW:
        return "line" if series.y.size > 1 else "dots"
    return series.form


def _panel(panel: Panel, spec: FigureSpec, keys: Any) -> dict[str, Any]:
    most = max(_FEWEST_OF_LINE, _MOST_OF_FIGURE // max(1, len(list(spec.series))))
    drawn = [series for series in panel.series if series.is_known]
    data: dict[str, Any] = {
        "title": panel.title,
        "series": [
            keys[series.style, series.label][0]
            | _series(series, min(most, _MOST_OF_LINE), is_dense=spec.x.is_dense)
            for series in drawn
        ],
    }
    more: dict[str, Any] = {
        "limits": [{"y": rounded([limit.y])[0], "text": limit.text} for limit in panel.limits],
        "bands": [
            [float(f"{band.begin:.6g}"), float(f"{band.end:.6g}"), band.style, band.name]
            for band in panel.bands
        ],
        "events": [{"x": float(f"{event.x:.6g}"), "text": event.text} for event in panel.events],
        "shade": panel.shade,
    }
    if panel.residual is not None:
        gap = panel.residual
        low, high = rounded(gap.ends)
        note = {"x": gap.x, "from": low, "to": high, "text": gap.text, "needs": gap.needs}
        more["notes"] = [note]
    return data | {key: value for key, value in more.items() if value}


def _series(series: Series, most: int, *, is_dense: bool) -> dict[str, Any]:
    style = look(series.style)
    data: dict[str, Any] = {"s": series.style.partition("/")[0], "draw": _form(series)}
    data |= {"mark": style.marker, "hollow": style.hollow or series.form == "marks"}
    if not is_dense or series.form in ("points", "marks", "columns", "bars", "ticks"):
        return data | _values(series)
    x, y = series.x, series.y
    if series.form == "steps":
        x, y = steps(x, y)
    order = np.argsort(x, kind="stable")
    return data | thinned(x[order], y[order], _MOST_MARKS if series.form == "dots" else most)


def _values(series: Series) -> dict[str, Any]:
    """Returns single values with all that is known of each; of too many marks every so many."""
    order = np.argsort(series.x, kind="stable")
    kept: list[int] = order[np.isfinite(series.x[order])].tolist()
    if series.form in ("marks", "ticks"):
        kept = kept[:: max(1, len(kept) // _MOST_MARKS)]
    more: dict[str, Any] = {
        "half": None if series.half is None else rounded(series.half[kept]),
        "low": None if series.low is None else rounded(series.low[kept]),
        "runs": [rounded(series.runs[index]) for index in kept]
        if any(map(len, series.runs))
        else None,
        "notes": [series.notes[index] for index in kept] if any(series.notes) else None,
        "doubts": [bool(series.doubts[index]) for index in kept] if any(series.doubts) else None,
    }
    if series.form == "columns":
        more["low"] = [
            0.5 if min(series.y) > 1 and max(series.y) > 30 * min(series.y) else 0
        ] * len(kept)
    values = {"x": [_precise(x) for x in series.x[kept]], "y": rounded(series.y[kept])}
    return values | {key: value for key, value in more.items() if value is not None}


def _horizontal(spec: FigureSpec) -> dict[str, Any]:
    axis = spec.x
    label = f"{axis.label}, {axis.unit}" if axis.unit and axis.unit != "%" else axis.label
    if axis.is_choice:
        return {"kind": "category", "label": label, "ticks": [list(tick) for tick in axis.ticks]}
    if not axis.is_dense:
        ending = " %" if axis.unit == "%" else ""
        ticks = [[value, f"{name}{ending}"] for value, name in axis.ticks] or None
        return {"kind": axis.scale, "label": label, "ticks": ticks}
    log = axis.scale == "log"
    low, high = axis.ends or _ends(spec, log=log)
    data = {"kind": "time", "label": label, "span": [_short(low), _short(high)], "log": log}
    if axis.label == "time":
        return data
    every = np.concatenate([series.x for series in spec.series])
    snaps = axis.ends is None and np.unique(every).size <= _MOST_STEPS
    return data | {"unit": axis.unit, "snaps": bool(snaps)}


def _ends(spec: FigureSpec, *, log: bool) -> tuple[float, float]:
    """Returns the ends of an axis with some room round what is drawn."""
    every = np.concatenate([series.x for series in spec.series])
    every = every[np.isfinite(every) & ((every > 0) if log else True)]
    low, high = float(every.min()), float(every.max())
    if log:
        far = (high / low) ** 0.03
        return low / far, high * far
    room = 0.03 * (high - low or 1.0)
    return low - room, high + room


def rounded(values: Iterable[float | None]) -> list[float | None]:
    """Returns numbers with four significant digits; None for those that are not finite."""
    return [_short(value) for value in values]


def _short(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def _precise(value: float) -> float:
    return float(f"{value:.6g}")


def thinned(time: Values, values: Values, most: int) -> dict[str, Any]:
    """Returns `x` or `x0` and `dx`, and `y`, of at most about `most` values.

    More values than that are replaced by the least and the greatest of each of `most / 2` equal
    intervals of time, in their order.
    """
    finite = np.isfinite(time)
    time, values = time[finite], values[finite]
    if time.size > most:
        time, values = _extremes(time, values, most // 2)
    gaps = np.diff(time)
    where: dict[str, Any] = {"x": [_precise(value) for value in time]}
    if time.size > 2 and np.allclose(gaps, gaps[0], rtol=1e-3, atol=0):
        step = (time[-1] - time[0]) / gaps.size
        where = {"x0": _short(float(time[0])), "dx": float(f"{step:.7g}")}
    return where | {"y": rounded(map(float, values))}


def steps(time: Values, values: Values) -> tuple[Values, Values]:
    """Returns the values of a series that changes in steps: those that differ from the one before.

    The last value stays, as it says where the series ends.
    """
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    kept = np.concatenate([[True], ~same])
    kept[-1] = True
    return time[kept], values[kept]


def _extremes(time: Values, values: Values, count: int) -> tuple[Values, Values]:
    """Returns the least and the greatest value of each interval, at its first and third quarter."""
    step = (time[-1] - time[0]) / count
    bucket = np.minimum(((time - time[0]) / step).astype(int), count - 1)
    kept = np.full((count, 2), np.nan)
    for number in range(count):
        low, high = np.searchsorted(bucket, [number, number + 1])
        part = values[low:high]
        if part.size and not np.isnan(part).all():
            ends = sorted((int(np.nanargmin(part)), int(np.nanargmax(part))))
            kept[number] = part[ends]
    quarters = time[0] + step * (np.arange(2 * count) * 0.5 + 0.25)
    return quarters, kept.ravel()
