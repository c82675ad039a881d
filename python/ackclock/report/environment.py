"""The Jinja environment with the templates of pages, and what templates need to write numbers."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import jinja2

from ackclock.plot.style import style_sheet
from ackclock.report.live import KEYS
from ackclock.report.section import Live, Section
from ackclock.table import Table, compact_json

# Longer texts are broken into lines.
_LONG = 40

# Spaces as wide as a digit and as a point.
_FIGURE, _POINT = "\u2007", "\u2008"
_NUMBER = re.compile(r"([+\-−]?\d+)(\.\d+)?(?:( ± )(\d+)(\.\d+)?)?(.*)", re.DOTALL)


def environment(*more: str) -> jinja2.Environment:
    """Returns an environment that escapes its input.

    It finds templates in this folder and in others.

    Args:
        more: Other folders of templates, relative to that of the package ackclock.
    """
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("ackclock", place) for place in ("report", *more)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["cells"] = cells
    made.filters["written"] = plain_text
    return made


def render_page(sections: Sequence[Section]) -> str:
    """Returns the text of a page about results or a comparison."""
    names = ", ".join(dict.fromkeys(section.name for section in sections))
    data = data_of(
        (f"s{number}-{figure.name}", figure)
        for number, section in enumerate(sections)
        for figure in section.figures
        if isinstance(figure, Live)
    )
    template = environment().get_template("page.html.jinja")
    return template.render(title=names, sections=sections, data=data)


class FigureData(NamedTuple):
    """Figures for a page: JSON for a script element, and the style sheet of their series."""

    text: str
    looks: str


def data_of(figures: Iterable[tuple[str, Live]]) -> FigureData | None:
    """Returns the data of figures, by the id of their place.

    None if there is none: a page without live figures does without their script.
    """
    data: dict[str, Any] = {place: figure.spec for place, figure in figures}
    if not data:
        return None
    names = {key["s"] for spec in data.values() for key in spec["keys"]}
    for spec in data.values():
        names |= {band[2] for panel in spec["panels"] for band in panel.get("bands", ())}
    return FigureData(compact_json(data).replace("<", "\\u003c"), style_sheet({*KEYS, *names}))


def plain_text(text: str) -> str:
    """Returns text with a minus before negative numbers, and percent on the line of its number."""
    text = re.sub(r"(?<![\w.\-])-(?=\d)", "−", text)
    return re.sub(r"(?<=\d) %", "\u00a0%", text)


# The look of a cell that begins with the sign of a verdict.
_SIGNS = {"✓ ": "good", "✗ ": "bad", "! ": "doubt"}


class Shown(NamedTuple):
    """A cell as a page shows it: its text, and the class that places it."""

    text: str
    place: str


def cells(table: Table) -> list[list[Shown]]:
    """Returns the cells of a table row by row, with decimal points under each other."""
    columns = [
        _column([row[number] for row in table.texts], numeric)
        for number, numeric in enumerate(table.numeric)
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(texts: list[str], numeric: bool) -> list[Shown]:
    if not numeric:
        return [Shown(plain_text(text), _place(text)) for text in texts]
    # Words behind a number stand under each other, so that the number begins on the left.
    words = any(re.search("[A-Za-z]", text) for text in texts)
    return [Shown(text, "words" if words else "number") for text in aligned(texts)]


def _place(text: str) -> str:
    if text[:2] in _SIGNS:
        return _SIGNS[text[:2]]
    if len(text) > _LONG:
        return "text"
    return "whole" if "±" in text or "×" in text else ""


def aligned(texts: Sequence[str]) -> list[str]:
    """Returns texts of numbers, filled with spaces so that their parts are under each other.

    The parts are the whole number, its fraction, and those of the half width of an interval.
    """
    matches = [_NUMBER.fullmatch(text) for text in texts]
    numbers = [match for match in matches if match is not None]
    parts = [[part or "" for part in match.groups()] for match in numbers]
    widths = [max((len(match[number]) for match in parts), default=0) for number in range(6)]
    shown = iter(parts)
    return [
        plain_text(text) if match is None else _filled(next(shown), widths)
        for text, match in zip(texts, matches, strict=True)
    ]


def _filled(parts: Sequence[str], widths: Sequence[int]) -> str:
    whole, fraction, sign, half, more, rest = parts
    text = whole.replace("-", "−").rjust(widths[0], _FIGURE)
    if rest.startswith(" %") and not widths[2]:  # The unit stands behind the last digit.
        return plain_text(f"{text}{fraction}{rest}")
    text += _fraction(fraction, widths[1])
    if widths[2]:
        text += (sign or _FIGURE * 3) + half.rjust(widths[3], _FIGURE) + _fraction(more, widths[4])
    room = 0 if re.search("[A-Za-z]", rest) else widths[5] - len(rest)
    return plain_text(text + rest + _FIGURE * room)


def _fraction(digits: str, width: int) -> str:
    """Returns a fraction with spaces behind it; without one, with the point's space too."""
    if not width or digits:
        return digits.ljust(width, _FIGURE)
    return _POINT + _FIGURE * (width - 1)
