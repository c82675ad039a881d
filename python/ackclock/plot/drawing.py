"""Draws the description of a figure with matplotlib."""

import math
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from ackclock.plot.canvas import UNSETTLED, WIDTH_IN, ShownFigure, looks
from ackclock.plot.paper import AS_DRAWN, Paper, fit
from ackclock.plot.spec import ASIDES, Axis, FigureSpec, Panel, Series
from ackclock.plot.style import BANDS, COLOURS, MARKERS, Style, look, paled

# With more groups in one panel, what stands beside their curves would hide these.
_MOST_WITH_ASIDES = 2
# With more marks a vector drawing would be larger than a bitmap.
_MOST_VECTORS = 20_000
# More error bars would hide the line.
_MOST_BARS = 60
# Inches: a lone panel, one of several below each other, title and axis; a panel of a grid, a row of
# panels, and what stands round them.
_LONE, _STACKED, _ROUND_STACK = 3.5, 2.0, 0.9
_IN_GRID, _IN_ROW, _ROUND_GRID = 1.25, 2.1, 0.75
# Longest line of a title above the narrowest axes, beside the legend.
_TITLE_CHARACTERS = 90
# Inches: a character in the title of a panel and in a legend, the rest of an entry of a legend, a
# line of a figure's title and of a legend.
_CHARACTER, _ENTRY, _TITLE_LINE, _LEGEND_LINE = 0.07, 0.6, 0.2, 0.19
_TITLE_CHARACTERS_PER_IN = 12
# A name is written into a band that is wider than this share of the axis.
_WIDE_ENOUGH = 0.05
# Logarithmic axes over fewer decades have more ticks than one each.
_FEW_DECADES = 1000
# Numbers between these are written plainly, not as powers of ten.
_PLAIN = (5e-4, 5e5)
# A limit this many times above what is drawn would flatten it.
_NEAR = 1.5
# Height of a strip of bands relative to the panel above it.
_STRIP = 1 / 7


class Drawing(ShownFigure):
    """A drawn figure that keeps its description.

    Attributes:
        spec: What it shows; None for a heat map.
    """

    spec: FigureSpec | None = None


def draw(spec: FigureSpec, paper: Paper = AS_DRAWN) -> Drawing:
    """Draws a figure as a paper has it."""
    with looks():
        figure = _grid(spec, paper) if spec.columns else _stack(spec)
        figure.spec = spec
        fit(figure, paper)
    return figure


def _stack(spec: FigureSpec) -> Drawing:
    """Draws panels below each other."""
    panels = spec.panels
    each = spec.height_in or (_LONE - _ROUND_STACK if len(panels) == 1 else _STACKED)
    heights = [1.0] * len(panels) + ([_STRIP] if spec.strip else [])
    figure = Drawing(
        figsize=(WIDTH_IN, _ROUND_STACK + each * len(panels)), layout="constrained"
    )  # fmt: skip
    every = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
    all_axes: list[Axes] = list(every[:, 0])
    for axes, panel in zip(all_axes, panels, strict=False):
        _draw_panel(axes, spec, panel)
        y = panel.y or spec.y
        axes.set_ylabel(f"{panel.title}\n{y.words}" if panel.title and not panel.y else y.words)
    has_own_axes = any(panel.y for panel in panels)
    for axes in all_axes[: len(panels) if has_own_axes else 1]:
        shown = [axes] if has_own_axes else all_axes[: len(panels)]
        entries = _entries(shown)
        if entries:
            axes.legend(
                list(entries.values()), list(entries), loc="upper left", bbox_to_anchor=(1.0, 1.0),
                fontsize=8, title=spec.left_out or None, title_fontsize=8, alignment="left",
            )  # fmt: skip
    if spec.strip:
        _draw_strip(all_axes[-1], panels[0], spec.strip)
    elif panels[0].bands:
        _name_bands(all_axes[0], panels[0])
    _name_events(all_axes[0], panels[0])
    all_axes[-1].set_xlabel(spec.x.words)
    title = "\n".join(
        textwrap.fill(part, _TITLE_CHARACTERS) for part in spec.heading.split("\n")
    )  # fmt: skip
    all_axes[0].set_title(title)
    if spec.x.above is not None:
        _draw_scale_above(all_axes[0], *spec.x.above)
    return figure


def _grid(spec: FigureSpec, paper: Paper) -> Drawing:
    """Draws panels with common axes in rows and columns."""
    rows = len(spec.panels) // spec.columns
    title = paper.titled(spec.heading)
    entries = list(dict.fromkeys(series.name for series in spec.series if series.name))
    if any(series.unsettled is not None and series.unsettled.any() for series in spec.series):
        entries.append(UNSETTLED)
    figure, all_axes = grid_of_axes(
        spec.columns, [panel.column for panel in spec.panels[: spec.columns]],
        [panel.row for panel in spec.panels[spec.columns - 1 :: spec.columns]],
        width_in=paper.panels_width_in, panel_in=_IN_GRID if rows > 1 else _IN_ROW,
        round_in=_ROUND_GRID, title=title, entries=entries,
    )  # fmt: skip
    for axes, panel in zip(all_axes, spec.panels, strict=True):
        _draw_panel(axes, spec, panel)
        axes.tick_params(labelsize=8)
    for axes in all_axes:  # They share their ends, which the last one drawn may have moved.
        _set_axis(axes.xaxis, spec.x, list(spec.series))
        _set_axis(axes.yaxis, spec.y, list(spec.series))
    figure.supxlabel(spec.x.words, fontsize=9)
    figure.supylabel(spec.y.words, fontsize=9)
    set_legend_above(figure, _entries(all_axes), title)
    return figure


def grid_of_axes(
    columns: int, column_titles: Sequence[str], row_titles: Sequence[str], *, width_in: float,
    panel_in: float, round_in: float, title: str = "", beside_in: float = 0.9,
    entries: Collection[str] = (),
) -> tuple[Drawing, list[Axes]]:  # fmt: skip
    """Makes a figure with a grid of axes that share their scales, and writes what each is.

    Args:
        columns: Panels in a row.
        column_titles: Titles of columns.
        row_titles: Titles of rows.
        width_in: Width of the figure, in inches.
        panel_in: Height of a panel.
        round_in: Height of labels and titles of columns.
        title: Title of the figure; empty for none.
        beside_in: Width of what stands beside the panels.
        entries: Labels of the legend, for which there is room above the panels.

    Returns:
        The figure, and its axes row by row.
    """
    words = textwrap.fill(title, int(_TITLE_CHARACTERS_PER_IN * width_in))
    title_in = _TITLE_LINE * len(words.splitlines())
    legend_in = 0.0
    if entries:
        legend_in = _LEGEND_LINE * math.ceil(len(entries) / _legend_columns(entries, width_in))
    height = panel_in * len(row_titles) + round_in + title_in + legend_in
    # The room for title and legend is set aside, as the layout would let them overlap.
    layout = ConstrainedLayoutEngine(rect=(0, 0, 1, 1 - (title_in + legend_in) / height))
    figure = Drawing(figsize=(width_in, height), layout=layout)
    every = figure.subplots(len(row_titles), columns, sharex=True, sharey=True, squeeze=False)
    room = (width_in - beside_in) / columns
    for axes, named in zip(every[0], column_titles, strict=True):
        if named:
            axes.set_title(_on_two_lines(named, room), loc="center", fontsize=8)
    for axes, named in zip(every[:, -1], row_titles, strict=True):
        if named:
            axes.annotate(
                named, (1.0, 0.5), (4, 0), xycoords="axes fraction", textcoords="offset points",
                rotation=270, va="center", fontsize=8,
            )  # fmt: skip
    if words:
        figure.text(0.01, 1 - 0.04 / height, words, fontsize=10, va="top")
    return figure, list(every.ravel())


def _on_two_lines(title: str, width_in: float) -> str:
    """Returns a title with its number on a line of its own if it is wider than that."""
    name, _, number = title.partition(" ")
    is_wide = number and _CHARACTER * len(title) > width_in
    return f"{name}\n{number}" if is_wide else title


def set_legend_above(figure: Drawing, entries: dict[str, Any], title: str) -> None:
    """Draws one legend for all panels of a grid, above them and below the title."""
    if not entries:
        return
    width_in, height_in = figure.get_size_inches()
    words = textwrap.fill(title, int(_TITLE_CHARACTERS_PER_IN * width_in))
    top = 1 - (_TITLE_LINE * len(words.splitlines()) + 0.02) / height_in
    drawn = figure.legend(
        entries.values(), entries.keys(), loc="upper center", bbox_to_anchor=(0.5, top), fontsize=8,
        ncols=_legend_columns(entries, width_in), borderaxespad=0.0,
    )  # fmt: skip
    drawn.set_in_layout(False)


def _legend_columns(entries: Collection[str], width_in: float) -> int:
    """Returns how many entries fit side by side."""
    fit = int(width_in / (_ENTRY + _CHARACTER * max(map(len, entries))))
    return max(1, min(len(entries), fit))


def _entries(all_axes: Sequence[Axes]) -> dict[str, Any]:
    """Returns the entries of a legend, each label once; that about all lines is the last."""
    entries: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if UNSETTLED in entries:
        entries[UNSETTLED] = entries.pop(UNSETTLED)
    return entries


def _draw_panel(axes: Axes, spec: FigureSpec, panel: Panel) -> None:
    shown = _shown(panel)
    beside = panel.series if panel.y else spec.series
    is_alone = len({series.style for series in beside if series.part not in ASIDES}) == 1
    if not spec.strip:
        for band in panel.bands:
            _draw_background(axes, band)
    for event in panel.events:
        style = look(event.style)
        axes.axvline(
            event.x, color=style.hex, linewidth=style.width, linestyle=style.linestyle
        )  # fmt: skip
    named = set[str]()
    for series in shown:
        style = look(series.style)
        if is_alone and series.form in ("line", "steps", "points") and series.part not in ASIDES:
            style = style._replace(dashes=())  # needs none
        label = series.name if series.name and series.name not in named else "_"
        named.add(series.name)
        _FORMS[series.form](axes, series, style, label)
    _draw_limits(axes, panel, shown)
    if not any(series.is_known for series in shown):
        words = spec.absent or "not known"
        axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center")
    if not spec.columns:
        _set_axis(axes.xaxis, spec.x, shown)
        _set_axis(axes.yaxis, panel.y or spec.y, shown)


def _draw_limits(axes: Axes, panel: Panel, shown: Sequence[Series]) -> None:
    """Draws named values that are near what is drawn, if they are those of all lines."""
    most = _most(shown)
    for limit in panel.limits:
        if limit.y > _NEAR * most or (limit.group and len(panel.limits) > 1):
            continue
        style = look(limit.style)
        axes.axhline(limit.y, color=style.hex, linewidth=style.width, linestyle=style.linestyle)
        axes.annotate(
            limit.text, (1, limit.y), xycoords=("axes fraction", "data"), fontsize=7,
            xytext=(-2, 2), textcoords="offset points", ha="right", va="bottom",
        )  # fmt: skip


def _most(shown: Sequence[Series]) -> float:
    """Returns the greatest value of some series; 0 if none is known."""
    tops = (series.y if series.high is None else series.high for series in shown if series.is_known)
    return max((float(np.nanmax(top)) for top in tops), default=0.0)


def _shown(panel: Panel) -> list[Series]:
    """Returns the series of a panel that do not hide others."""
    many = len({series.group for series in panel.series}) > _MOST_WITH_ASIDES
    return [
        series for series in panel.series if not (many and series.group and series.part in ASIDES)
    ]


def _line_of(series: Series, style: Style) -> dict[str, Any]:
    """Returns matplotlib's options of a series' line."""
    width = style if series.part not in ASIDES else look(series.part)
    return {
        "color": style.hex, "linestyle": width.linestyle, "linewidth": width.width,
        "rasterized": series.x.size > _MOST_VECTORS,
    }  # fmt: skip


def _marks_of(style: Style) -> dict[str, Any]:
    """Returns matplotlib's options of a series' markers."""
    face = "none" if style.hollow else style.hex
    return {"marker": MARKERS[style.marker], "markerfacecolor": face, "color": style.hex}


def _draw_line(axes: Axes, series: Series, style: Style, label: str) -> None:
    x, marks = series.x, {}
    if style.marker and series.part not in ASIDES:
        marks = _marks_of(style) | {"markevery": (x.size // 40, max(1, x.size // 15))}
    axes.plot(x, series.y, label=label, **(marks | _line_of(series, style)))
    if series.inner is not None:
        axes.fill_betweenx(series.y, *series.inner, color=style.hex, alpha=0.2, linewidth=0)


def _draw_steps(axes: Axes, series: Series, style: Style, label: str) -> None:
    line = _line_of(series, style)
    axes.plot(series.x, series.y, label=label, drawstyle="steps-post", **line)


def _draw_points(axes: Axes, series: Series, style: Style, label: str) -> None:
    marks = _marks_of(style) if style.marker else {}
    axes.plot(series.x, series.y, label=label, **(marks | _line_of(series, style)))
    _draw_intervals(axes, series, style.hex, banded=True)


def _draw_marks(axes: Axes, series: Series, style: Style, label: str) -> None:
    _draw_intervals(axes, series, style.hex, banded=False)
    marks = _marks_of(style) | {"markerfacecolor": "none"}
    axes.plot(series.x, series.y, linestyle="none", label=label, **marks)


def _draw_dots(axes: Axes, series: Series, style: Style, label: str) -> None:
    is_aside = series.part in ASIDES
    marker = look(series.part).marker if is_aside else style.marker
    is_small = marker in ("point", "")
    axes.plot(
        series.x, series.y, linestyle="none", marker=MARKERS[marker] or ".",
        markersize=2.5 if is_small else 4, color=style.hex, alpha=0.5 if is_aside else 1,
        label=label, rasterized=series.x.size > _MOST_VECTORS, zorder=2 if is_small else 3,
    )  # fmt: skip


def _draw_bars(axes: Axes, series: Series, style: Style, label: str) -> None:
    x, y = series.x, series.y
    low = np.zeros_like(y) if series.low is None else series.low
    ends = np.stack([np.stack([x, low], -1), np.stack([x, y], -1)], 1)
    axes.add_collection(
        LineCollection(
            list(ends), color=style.hex, linewidth=style.width, label=label,
            rasterized=x.size > _MOST_VECTORS,
        )
    )  # fmt: skip
    axes.autoscale_view()


def _draw_columns(axes: Axes, series: Series, style: Style, label: str) -> None:
    # The edge keeps a column visible if the axis is so long that it has no width.
    axes.bar(series.x, series.y, color=style.hex, edgecolor=style.hex, label=label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _draw_ticks(axes: Axes, series: Series, style: Style, label: str) -> None:
    axes.plot(
        series.x, np.full_like(series.x, 0.02), transform=axes.get_xaxis_transform(),
        linestyle="none", marker=MARKERS[style.marker], markersize=9, color=style.hex, label=label,
    )  # fmt: skip


def _draw_intervals(axes: Axes, series: Series, colour: str, *, banded: bool) -> None:
    x, y = series.x, series.y
    if series.half is not None and np.isfinite(series.half).any():
        half = np.nan_to_num(series.half)
        if banded:
            axes.fill_between(x, y - half, y + half, color=colour, alpha=0.18, linewidth=0)
        if x.size <= _MOST_BARS:  # They show the ends of a band that is narrower than the line.
            axes.errorbar(x, y, half, fmt="none", ecolor=colour, elinewidth=0.8, capsize=2.5)
    if series.unsettled is not None and series.unsettled.any():
        named = axes.get_legend_handles_labels()[1]
        axes.plot(
            x[series.unsettled], y[series.unsettled], linestyle="none", marker="o", markersize=7,
            markerfacecolor="white", markeredgecolor=colour, zorder=3,
            label="_" if UNSETTLED in named else UNSETTLED,
        )  # fmt: skip


def _draw_boxes(axes: Axes, series: Series, _style: Style, _label: str) -> None:
    assert series.low is not None
    assert series.high is not None
    assert series.inner is not None
    parts = zip(series.low, series.inner[0], series.y, series.inner[1], series.high, strict=True)
    names = ("whislo", "q1", "med", "q3", "whishi")
    boxes = [dict(zip(names, part, strict=True)) | {"label": ""} for part in parts]
    edge, middle = {"color": COLOURS["simulate"]}, {"color": COLOURS["emulate"]}
    if boxes:
        axes.bxp(
            boxes, positions=list(series.x), showfliers=False, widths=0.6, patch_artist=True,
            boxprops={"facecolor": paled("simulate"), "edgecolor": COLOURS["simulate"]},
            medianprops=middle, whiskerprops=edge, capprops=edge,
        )  # fmt: skip
    axes.grid(visible=False, axis="x")


_FORMS = {
    "line": _draw_line, "steps": _draw_steps, "points": _draw_points, "marks": _draw_marks,
    "dots": _draw_dots, "bars": _draw_bars, "columns": _draw_columns, "ticks": _draw_ticks,
    "boxes": _draw_boxes,
}  # fmt: skip


def _draw_background(axes: Axes, band: Any) -> None:
    axes.axvspan(
        band.begin, band.end, linewidth=0, color=paled(look(band.style).colour), zorder=0
    )  # fmt: skip


def _name_bands(axes: Axes, panel: Panel) -> None:
    """Writes the names of bands that are wide enough."""
    low, high = axes.get_xlim()
    for band in panel.bands:
        begin, end = max(low, band.begin), min(high, band.end)
        if end - begin > _WIDE_ENOUGH * (high - low):
            axes.text(
                (begin + end) / 2, 0.97, band.name.replace(" ", "\n"),
                transform=axes.get_xaxis_transform(), ha="center", va="top", fontsize=7,
                color=COLOURS["mute"],
            )  # fmt: skip


def _name_events(axes: Axes, panel: Panel) -> None:
    """Writes the names of events upright beside their lines."""
    low, high = axes.get_xlim()
    for event in panel.events:
        if low <= event.x <= high:
            axes.annotate(
                event.text, (event.x, 0.04), xycoords=("data", "axes fraction"), xytext=(-2, 0),
                textcoords="offset points", rotation=90, horizontalalignment="right",
                verticalalignment="bottom", fontsize=7,
                fontweight="bold" if event.style == "answer" else "normal",
            )  # fmt: skip


def _draw_strip(axes: Axes, panel: Panel, heading: str) -> None:
    """Draws a bar for each band, distinguished by shade and hatching."""
    kinds = {band.style: band.name for band in panel.bands}
    for style in (name for name in BANDS if name in kinds):
        colour, hatch = BANDS[style]
        spans = [(band.begin, band.end - band.begin) for band in panel.bands if band.style == style]
        axes.broken_barh(
            spans, (0, 1), facecolor=COLOURS[colour] if not hatch else paled(colour),
            edgecolor="#000000", linewidth=0.3, hatch=hatch, label=kinds[style],
        )  # fmt: skip
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.6), fontsize=8, title=heading, title_fontsize=8
    )  # fmt: skip


def _draw_scale_above(axes: Axes, label: str, factor: float) -> None:
    functions: Any = (lambda x: x * factor, lambda x: x / factor)
    above = axes.secondary_xaxis("top", functions=functions)
    above.set_xlabel(label)
    _label_few_decades(above.xaxis)


def _set_axis(axis: Any, spec: Axis, shown: Sequence[Series]) -> None:
    axes, letter = axis.axes, axis.axis_name
    set_scale, set_ends = getattr(axes, f"set_{letter}scale"), getattr(axes, f"set_{letter}lim")
    if spec.scale == "symlog":
        least = next(tick for tick, _ in spec.ticks if tick > 0)
        set_scale("symlog", linthresh=least)
        set_ends(-0.15 * least)
    elif spec.scale == "log":
        set_scale("log")
        _label_few_decades(axis)
    elif spec.begin is not None:
        set_ends(spec.begin)
        if letter == "y":
            # The margin is a share of the data's range. Measured from the beginning it may be too
            # small for a marker.
            most = _most(shown)
            enough = spec.begin + 1.05 * (most - spec.begin)
            set_ends(top=max(axes.get_ylim()[1], enough))
    if spec.ends is not None:
        set_ends(*spec.ends)
    if spec.ticks:
        axis.set_ticks([tick for tick, _ in spec.ticks], [name for _, name in spec.ticks])
        axis.set_ticks([], minor=True)
    if spec.is_choice and letter == "x":
        set_ends(-0.5, len(spec.ticks) - 0.5)


def _label_few_decades(axis: Any) -> None:
    """Labels a logarithmic axis with plain numbers, of few decades also 2 and 5, or with powers."""
    least, most = axis.get_view_interval()
    if most < _FEW_DECADES * least:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_formatter(NullFormatter())
    if most < _FEW_DECADES * least or (least > _PLAIN[0] and most < _PLAIN[1]):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
