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
    """Returns a style for each line: that of its control, or a spare one.

    The first line of a control has its style. A spare style has a colour of its own while there is
    one.
    """
    of_controls, controls = control_styles(run), list(controls)
    own = {control: of_controls[control] for control in controls if control in of_controls}
    taken = list(own.values())
    found = []
    for control in controls:
        looked = own.pop(control, None)
        if looked is None:
            looked = _spare(len(of_controls), taken)
            taken.append(looked)
        found.append(looked)
    return found


def _spare(first: int, taken: list[Style]) -> Style:
    """Returns a style from a position on that is not taken, if possible in another colour."""
    colours = {one.color for one in taken}
    positions = range(first, first + len(taken) + len(_COLOURS))
    free = [one for one in map(style, positions) if one not in taken]
    return next((one for one in free if one.color not in colours), free[0])
