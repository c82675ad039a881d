"""Looks of series by name: the same in a file and in a page.

A name is that of a method (`simulate`), of a thing that is drawn (`window`), or a place in a list:
`line-1`, `line-2`, …, and `reference-1`, … for models and limits. A slash and another marker may
follow: `line-1/cross`; no marker, `line-1/`. Looks differ by dash and marker as well as by colour,
for print without colour.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

#: Colours by the names that `report/base.css` gives them; these are for white paper. The first
#: seven, of lines, are distinct to the colour-blind (after Okabe and Ito), without yellow, which is
#: too pale for a line.
COLOURS = {
    "simulate": "#0072b2", "emulate": "#d55e00", "measure": "#00855f", "other": "#a2578a",
    "ink": "#16191c", "sky": "#2f8fcb", "amber": "#b87a00",
    "mute": "#687078", "soft": "#4d555c", "line": "#d9dcdf", "faint": "#eceef0",
}  # fmt: skip
_OF_LINES = ("simulate", "emulate", "measure", "other", "ink", "sky", "amber")

#: Markers by name, in matplotlib's terms.
MARKERS = {
    "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "wedge": "v", "plus-filled": "P",
    "cross-filled": "X", "left": "<", "right": ">", "pentagon": "p", "star": "*",
    "cross": "x", "plus": "+", "bar": "|", "point": ".", "": "",
}  # fmt: skip
_OF_PLACES = tuple(MARKERS)[:11]

# Lengths of dashes and gaps in line widths; none for a solid line.
_DASHES: tuple[tuple[float, ...], ...] = (
    (), (5, 2), (1, 1.2), (6, 2, 1, 2), (9, 2), (3, 1, 1, 1, 1, 1),
)  # fmt: skip
_REFERENCE_DASHES: tuple[tuple[float, ...], ...] = ((4, 2), (1, 1.5), (6, 1.5, 1, 1.5), (2, 2))
_REFERENCE_MARKERS = ("", "cross", "plus", "bar")


class Style(NamedTuple):
    """The look of a series.

    Attributes:
        colour: A name of `COLOURS`.
        dashes: Lengths of dashes and gaps in line widths; none for a solid line.
        marker: A name of `MARKERS`.
        hollow: True if its markers are not filled.
        width: Width of its line, in points.
    """

    colour: str
    dashes: tuple[float, ...] = ()
    marker: str = ""
    hollow: bool = False
    width: float = 1.3

    @property
    def hex(self) -> str:
        """The colour on white paper."""
        return COLOURS[self.colour]

    @property
    def linestyle(self) -> Any:
        """The dashes, in matplotlib's terms."""
        return (0, self.dashes) if self.dashes else "-"


_NAMED = {
    "predict": Style("ink", (4, 2), "triangle", hollow=True),
    "simulate": Style("simulate", (), "circle"),
    "emulate": Style("emulate", (5, 2), "square"),
    "measure-simulate": Style("other", (1, 2), "diamond", hollow=True),
    "measure-emulate": Style("measure", (2, 2), "diamond"),
    "measure": Style("measure", (), "diamond"),
    "send": Style("emulate", (), "circle"),
    "receive": Style("emulate", (), "circle"),
    "limit": Style("mute", (1, 2), width=0.9),
    "raw": Style("mute", (), "point", width=0.8),
    "timeout": Style("mute", (), "bar"),
    "window": Style("mute", (4, 2), width=1.0),
    "sent": Style("ink", width=1.2),
    "again": Style("emulate", (), "cross"),
    "ack": Style("measure", width=0.9),
    "sack": Style("other", width=2.2),
    "answer": Style("ink"),
    "target": Style("ink", (5, 2), width=1.0),
}

#: Looks of what limits a connection: colour and hatching, in matplotlib's terms.
BANDS = {
    "application": ("line", ""),
    "receive_window": ("simulate", ""),
    "sender_buffer": ("other", "xx"),
    "congestion_window": ("mute", "//"),
    "bottleneck_rate": ("emulate", "\\\\"),
    "slow_start": ("measure", ".."),
    "recovery": ("ink", ""),
    "unknown": ("faint", "--"),
}


def line(position: int) -> str:
    """Returns the name of the look at a position in a list, from 0."""
    return f"line-{position + 1}"


def reference(position: int) -> str:
    """Returns the name of the look of a model or limit at a position in a list, from 0."""
    return f"reference-{position + 1}"


def look(name: str) -> Style:
    """Returns the look of a name; 462 lines (7 x 6 x 11) and 16 references are distinct."""
    base, has_marker, marker = name.partition("/")
    kind, _, number = base.rpartition("-")
    if kind not in ("line", "reference"):
        style = _NAMED[base]
    elif kind == "line":
        place = int(number) - 1
        style = Style(
            _OF_LINES[place % len(_OF_LINES)],
            _DASHES[place % len(_DASHES)],
            _OF_PLACES[place % len(_OF_PLACES)],
        )
    else:
        rounds, place = divmod(int(number) - 1, len(_REFERENCE_DASHES))
        marker_of_round = _REFERENCE_MARKERS[rounds % len(_REFERENCE_MARKERS)]
        style = Style("soft", _REFERENCE_DASHES[place], marker_of_round, width=1.1)
    return style._replace(marker=marker) if has_marker else style


def method_style(method: str) -> str:
    """Returns the name of a method's look; the name of a look stands for itself."""
    return method if method in _NAMED or method.startswith("line-") else line(0)


def paled(colour: str) -> str:
    """Returns a colour of `COLOURS` as a background, mixed with five times as much white."""
    parts = [int(COLOURS[colour][begin : begin + 2], 16) for begin in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) / 6):02x}" for part in parts)


def style_sheet(names: Iterable[str]) -> str:
    """Returns the CSS rules of looks: the colour of a series, and the dashes of its line."""
    rules = []
    for name in sorted({name.partition("/")[0] for name in names}):
        band = BANDS.get(name)
        if band is not None:
            rules.append(f".b-{name}{{--b:var(--{band[0]})}}")
            continue
        style = look(name)
        dashes = " ".join(f"{1.5 * length:g}" for length in style.dashes) or "none"
        width = f"{1.15 * style.width:.2g}"
        rules.append(
            f".s-{name}{{--c:var(--{style.colour})}}.b-{name}{{--b:var(--{style.colour})}}"
            f".s-{name} .line{{stroke-dasharray:{dashes};stroke-width:{width}}}"
            f".s-{name} .bars{{stroke-width:{width}}}"
        )
    return "\n".join(rules)


def control_styles(run: dict[str, Any]) -> dict[str, str]:
    """Returns the look of each control, by its position in the registry of the run's version."""
    return {entry["name"]: line(position) for position, entry in enumerate(run["controls"])}


def line_styles(run: dict[str, Any], controls: Iterable[str]) -> list[str]:
    """Returns a look for each line: that of its control, or a spare one.

    The first line of a control has its look. A spare look has a colour of its own while there is
    one.
    """
    of_controls, controls = control_styles(run), list(controls)
    own = {control: of_controls[control] for control in controls if control in of_controls}
    taken = list(own.values())
    styles = []
    for control in controls:
        style = own.pop(control, None)
        if style is None:
            style = _spare(len(of_controls), taken)
            taken.append(style)
        styles.append(style)
    return styles


def _spare(first: int, taken: list[str]) -> str:
    """Returns a look from a position on that is not taken, if possible in another colour."""
    colours = {look(name).colour for name in taken}
    positions = range(first, first + len(taken) + len(_OF_LINES))
    free = [name for name in map(line, positions) if name not in taken]
    return next((name for name in free if look(name).colour not in colours), free[0])
