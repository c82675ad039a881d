"""Line styles, distinguished by dash and marker as well as by colour, for print without colour."""

from collections.abc import Iterable
from typing import Any, NamedTuple

# Okabe and Ito's colours (distinct to the colour-blind), darkest first, without yellow, which is
# too pale for a line.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (9, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")

# Colour of lines that belong to no control: models, limits, thresholds.
REFERENCE_COLOUR = "#444444"
_REFERENCE_DASHES: tuple[Any, ...] = (
    (0, (4, 2)),
    (0, (1, 1.5)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (2, 2)),
)
_REFERENCE_MARKERS = ("", "x", "+", "1", "|")


class Style(NamedTuple):
    """A line's style, in matplotlib's terms."""

    color: str
    linestyle: Any
    marker: str


def style(position: int) -> Style:
    """Returns the style at a position in a list; 462 (7 x 6 x 11) styles are distinct."""
    return Style(
        _COLOURS[position % len(_COLOURS)],
        _DASHES[position % len(_DASHES)],
        _MARKERS[position % len(_MARKERS)],
    )


def reference_style(position: int) -> Style:
    """Returns the style of a model or limit; 20 are distinct, the first four without markers."""
    marker = _REFERENCE_MARKERS[position // len(_REFERENCE_DASHES) % len(_REFERENCE_MARKERS)]
    return Style(REFERENCE_COLOUR, _REFERENCE_DASHES[position % len(_REFERENCE_DASHES)], marker)


def control_styles(run: dict[str, Any]) -> dict[str, Style]:
    """Returns a style for each control, by its position in the registry of the run's version."""
    return {entry["name"]: style(position) for position, entry in enumerate(run["controls"])}


def line_styles(run: dict[str, Any], controls: Iterable[str]) -> list[Style]:
    """Returns a style for each line: that of its control, or a spare one if it is taken."""
    of_controls = control_styles(run)
    taken: list[Style] = []
    for position, control in enumerate(controls):
        spare = style(len(of_controls) + position)
        looked = of_controls.get(control, spare)
        taken.append(spare if looked in taken else looked)
    return taken
