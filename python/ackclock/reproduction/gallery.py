"""Pages about reproduced experiments: figure, statement, numbers and verdict in one HTML file."""

from collections.abc import Sequence
from typing import Any

from ackclock import plot
from ackclock.report.environment import environment
from ackclock.reproduction import tables

__all__ = ["gallery"]


def gallery(experiments: Sequence[tuple[dict[str, Any], bytes | None]]) -> str:
    """Returns the text of the page. The same experiments give the same text.

    Args:
        experiments: Record of each, with its figure as an SVG drawing if it has one.
    """
    sections = [
        {
            "record": record,
            "figure": None
            if figure is None
            else plot.inline(figure, f"{record['name'].replace('.', '-')}-"),
            "tables": tables.tables(record),
            "notes": tables.notes(record),
        }
        for record, figure in experiments
    ]
    sources = list(dict.fromkeys((record["group"], record["source"]) for record, _ in experiments))
    quick = any(record["quick"] for record, _ in experiments)
    template = environment("reproduction").get_template("gallery.html.jinja")
    return template.render(sections=sections, sources=sources, quick=quick)
