"""Figures and files: the same figure gives the same bytes."""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.errors import InputError

#: From when to when, in seconds.
Span = tuple[float, float]

#: What the legend calls a mean of flows that have not settled.
UNSETTLED = "not settled"

FORMATS = ("svg", "png", "pdf")

# What fits above axes of the least width, the legend beside them.
_TITLE_CHARACTERS = 90

_LOOKS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "svg.hashsalt": "ackclock",  # else ids are random
    "svg.fonttype": "path",
    "savefig.dpi": 160,
    "path.simplify": True,
}

# No dates in files.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "ackclock"},
    "png": {"Software": "ackclock"},
    "pdf": {"CreationDate": None, "Creator": "ackclock", "Producer": "ackclock"},
}


@contextmanager
def looks() -> Iterator[None]:
    """Within it, figures have ackclock's looks whatever the user's settings are."""
    settings: Any = {
        **matplotlib.rcParamsDefault
    } | _LOOKS  # Any: matplotlib's type lists every name
    with matplotlib.rc_context(settings):
        yield


def new(rows: int = 1, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure of `rows` axes above each other that share their time."""
    figure = Figure(figsize=(7.2, height), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)
    return figure, list(axes[:, 0])


def between(span: Span | None, start_s: float, end_s: float) -> Span:
    """Where an axis of time begins and ends: all that there is, or the part of it in the span.

    Raises:
        ValueError: There is none.
    """
    low, high = span or (start_s, end_s)
    if span is not None and not max(low, start_s) < min(high, end_s):
        until = f"to {high:g} s" if high < np.inf else "on"
        raise InputError(
            "no-data",
            "",
            f"nothing to draw from {low:g} s {until}; it lasts from {start_s:g} s to {end_s:g} s",
        )
    return max(low, start_s), min(high, end_s)


def inside(span: Span | None, time_s: NDArray[Any]) -> NDArray[np.bool_]:
    """Which moments are in the span."""
    low, high = span or (-np.inf, np.inf)
    return np.asarray((time_s >= low) & (time_s <= high))


def entitle(axes: Axes, title: str) -> None:
    """Gives a figure its title, on as many lines as it needs."""
    axes.set_title(textwrap.fill(title, _TITLE_CHARACTERS))


def mark_unsettled(axes: Axes, x: NDArray[Any], y: NDArray[Any], color: str) -> None:
    """Draws hollow marks over the means of flows that have not settled; the legend names the first."""
    if x.size:
        named = axes.get_legend_handles_labels()[1]
        label = "_again" if UNSETTLED in named else UNSETTLED
        axes.plot(
            x, y, linestyle="none", marker="o", markersize=8, markerfacecolor="white", markeredgecolor=color,
            zorder=3, label=label,
        )  # fmt: skip


def save(figure: Figure, path: str | Path) -> Path:
    """Writes a figure; the name's ending says how: .svg, .png or .pdf.

    Raises:
        ValueError: It says something else.
    """
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(
            "unsupported", f"{path}", "has an unknown picture format; choose from .svg, .png, .pdf"
        )
    data = render(figure, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def render(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a file."""
    data = BytesIO()
    with looks():
        figure.savefig(data, format=kind, metadata=_METADATA[kind])
    return data.getvalue()


def inline(svg: bytes, prefix: str) -> str:
    """A drawing to stand within a page: without the XML head, its ids made the page's only ones of their name."""
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r'(\bid="|(?:xlink:)?href="#|url\(#)', lambda match: match[1] + prefix, text)
    # Its box says the proportions; how large it is, the page says.
    head, rest = text.split(">", 1)
    return re.sub(r' (width|height)="[^"]*"', "", head) + ">" + rest
