"""Pages about reproduced experiments: figure, statement, numbers and verdict in one HTML file."""

from collections.abc import Sequence
from typing import Any

from ackclock import plot
from ackclock.report import publications
from ackclock.report.environment import data_of, environment
from ackclock.report.section import Live
from ackclock.reproduction import sentences, tables
from ackclock.reproduction.outcome import Kind

# Sign and colour of each verdict. Beside them stands the word: colour is never the only sign.
_SIGNS = {
    Kind.REPRODUCED: ("✓", "good"),
    Kind.READING: ("✓", "good reading"),
    Kind.PARTLY: ("◐", "caution"),
    Kind.NOT: ("✗", "bad"),
    Kind.CHANGED: ("!", "bad"),
    Kind.QUICK: ("…", ""),
    Kind.NOT_RUN: ("–", ""),
    Kind.UNRELIABLE: ("!", "caution"),
}
_FAILING = (Kind.PARTLY, Kind.NOT, Kind.CHANGED)


def gallery(experiments: Sequence[tuple[dict[str, Any], Live | bytes | None]]) -> str:
    """Returns the text of the page. The same experiments give the same text.

    Args:
        experiments: Record of each, with its figure if it has one: live, or a drawing as SVG.
    """
    sections = [
        {
            "record": record,
            "place": _place(record),
            "figure": figure if isinstance(figure, Live) else None,
            "picture": plot.inline(figure, f"{_place(record)}-")
            if isinstance(figure, bytes)
            else "",
            "failing": sentences.failing(record) if record["verdict"]["kind"] in _FAILING else [],
            "reasons": sentences.reasons(record),
            "tables": tables.tables(record),
            "notes": tables.notes(record),
        }
        for record, figure in experiments
    ]
    sources = list(dict.fromkeys((record["group"], record["source"]) for record, _ in experiments))
    quick = any(record["quick"] for record, _ in experiments)
    template = environment("reproduction").get_template("gallery.html.jinja")
    return template.render(
        title="Reproduced experiments", sections=sections, sources=sources, quick=quick,
        signs=_SIGNS, linked=publications.html,
        summary=sentences.summary([record for record, _ in experiments]),
        data=data_of(
            (_place(record), figure) for record, figure in experiments if isinstance(figure, Live)
        ),
    )  # fmt: skip


def _place(record: dict[str, Any]) -> str:
    """Returns the id of an experiment's figure."""
    return f"{record['name'].replace('.', '-')}-figure"
