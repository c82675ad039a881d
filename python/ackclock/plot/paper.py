"""Figures for print: width, font, title."""

import math
import re
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.text import Text

from ackclock.errors import InputError

#: Widths of a column and of the text of a page in two columns, in inches: those of IEEE's template
#: for conferences and transactions (IEEEtran: 21 pc, and two of them with 1 pc between).
COLUMN_WIDTH_IN, TEXT_WIDTH_IN = 3.5, 7.16

#: Fonts that are part of matplotlib, so that all machines draw the same.
FONTS = {"sans": "DejaVu Sans", "serif": "STIXGeneral"}

# Inches.
_LENGTHS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
_SMALLEST, _LARGEST = 1.5, 40.0


@dataclass(frozen=True)
class Paper:
    """The form in which a figure is printed.

    Attributes:
        width_in: Width in inches; None as drawn.
        font: `sans` or `serif`.
        font_size: Size of labels, in points; None as drawn.
        title: Title; None as drawn, empty for none.
    """

    width_in: float | None = None
    font: str = "sans"
    font_size: float | None = None
    title: str | None = None

    @property
    def panels_width_in(self) -> float:
        """Width of figures that arrange panels; by default that of the text."""
        return self.width_in or TEXT_WIDTH_IN

    def titled(self, usual: str) -> str:
        """Returns the title, or the usual one if none is asked for."""
        return usual if self.title is None else self.title


#: Nothing is asked for.
AS_DRAWN = Paper()


def width_in(written: str) -> float:
    """Returns a width in inches: `column`, `text`, or a length such as `84 mm`.

    Raises:
        InputError: It is neither, or too small or too large for a figure.
    """
    words = {"column": COLUMN_WIDTH_IN, "text": TEXT_WIDTH_IN}
    if written in words:
        return words[written]
    match = re.fullmatch(r"\s*([\d.]+)\s*(\w+)\s*", written)
    try:
        width = float(match[1]) * _LENGTHS[match[2]] if match else math.nan
    except (KeyError, ValueError):
        width = math.nan
    if math.isnan(width):
        raise InputError(
            "wrong-type", "", f'"{written}" is not a width; for example column, text or "84 mm"'
        )
    if not _SMALLEST <= width <= _LARGEST:
        raise InputError(
            "out-of-range", "", f'"{written}" is not between {_SMALLEST:g} in and {_LARGEST:g} in'
        )
    return width


#: Size of labels as drawn, in points.
_DRAWN_SIZE = 9.0


def fit(figure: Figure, paper: Paper) -> None:
    """Gives a figure the width, font and title that a paper has."""
    if paper == AS_DRAWN:
        return
    entitled = [axes for axes in figure.axes if axes.get_title(loc="left")]
    if paper.title is not None:
        for position, axes in enumerate(entitled):
            axes.set_title(paper.title if position == 0 else "", loc="left")
    if paper.width_in is not None:
        figure.set_size_inches(paper.width_in, figure.get_size_inches()[1])
    scale = 1.0 if paper.font_size is None else paper.font_size / _DRAWN_SIZE
    for text in figure.findobj(Text):
        text.set_fontfamily(FONTS[paper.font])
        text.set_fontsize(float(text.get_fontsize()) * scale)
