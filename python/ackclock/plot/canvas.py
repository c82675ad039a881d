"""Figures and files. The same figure always gives the same bytes."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import ismethod
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock.errors import InputError
from ackclock.result.folder import whole

#: Start and end, in seconds.
Span = tuple[float, float]

#: Label in the legend for means of flows that have not settled.
UNSETTLED = "not settled"

FORMATS = ("svg", "png", "pdf")

_LOOKS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # part of matplotlib, so that all machines draw the same
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
    "pdf.fonttype": 42,  # TrueType: IEEE and ACM refuse Type 3
    "savefig.dpi": 160,
    "path.simplify": True,
}

# Without dates, so that files are reproducible.
_METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": "ackclock"},
    "png": {"Software": "ackclock"},
    "pdf": {"CreationDate": None, "Creator": "ackclock", "Producer": "ackclock"},
}


@contextmanager
def looks() -> Iterator[None]:
    """Draws figures in ackclock's style within its context, whatever the user's settings."""
    settings: Any = {
        **matplotlib.rcParamsDefault
    } | _LOOKS  # Any: matplotlib's type lists every name
    with matplotlib.rc_context(settings):
        yield


class ShownFigure(Figure):
    """A figure that a notebook shows without more, as a drawing in the look of files."""

    def draw(self, renderer: RendererBase) -> None:
        """Draws it. If the renderer draws nothing, only the layout is made.

        `savefig` does that first. It has then replaced the renderer's methods by functions.
        """
        layout = self.get_layout_engine()
        if layout is None or ismethod(renderer.draw_path):
            super().draw(renderer)
        else:
            layout.execute(self)

    def _repr_svg_(self) -> str:
        return render(self, "svg").decode()

    def _repr_png_(self) -> bytes:
        return render(self, "png")


#: Width of a figure in inches, unless a paper asks for another.
WIDTH_IN = 7.2


def between(span: Span | None, start_s: float, end_s: float) -> Span:
    """Returns the ends of a time axis: the whole run, or the part of it in the span.

    Raises:
        ValueError: The span does not overlap the run.
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
    """Returns True for each time in the span."""
    low, high = span or (-np.inf, np.inf)
    return np.asarray((time_s >= low) & (time_s <= high))


def save(figure: Figure, path: str | Path) -> Path:
    """Writes a figure in the format of the file's extension: .svg, .png or .pdf.

    Raises:
        ValueError: The extension is another one.
    """
    path = Path(path)
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise InputError(
            "unsupported", f"{path}", "has an unknown picture format; choose from .svg, .png, .pdf"
        )
    data = render(figure, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as aside:
        aside.write_bytes(data)
    return path


def render(figure: Figure, kind: str, *, text: bool = False) -> bytes:
    """Returns a figure as the bytes of a file.

    Args:
        figure: The figure.
        kind: One of `FORMATS`.
        text: True for text that can be searched and selected, in the reader's font, in an SVG.
    """
    data = BytesIO()
    with looks(), matplotlib.rc_context({"svg.fonttype": "none" if text else "path"}):
        figure.savefig(data, format=kind, metadata=_METADATA[kind])
    return data.getvalue()


def inline(svg: bytes, prefix: str) -> str:
    """Returns an SVG for embedding in a page, without XML header and with prefixed ids.

    It has the role of a picture, and the words in it as its name.
    """
    text = svg.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r'(\bid="|(?:xlink:)?href="#|url\(#)', lambda match: match[1] + prefix, text)
    # The viewBox gives the proportions; the page sets the size.
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    words = [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]+)</text>", rest)]
    title = next((text for text in words if ": " in text), "Figure")
    return f'{head} role="img" aria-label="{html.escape(title)}">{rest}'
