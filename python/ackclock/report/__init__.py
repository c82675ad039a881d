"""Reports on results: one self-contained HTML page, the answer first.

It shows the answer, what was asked, how sure the numbers are, figures, tables, and how they were
made.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ackclock.result.result import Result

if TYPE_CHECKING:
    from ackclock.report.section import Section


def page(
    results: Sequence[tuple[Result, Result | None]], progress: Callable[[float], None] | None = None
) -> str:
    """Returns the text of the page. The same results give the same text.

    Args:
        results: Each with its predictions, or None.
        progress: Takes the share done.
    """
    # Matplotlib and Jinja are slow to import, and tables on a terminal, which are in this package,
    # do without.
    from ackclock.report.environment import render_page

    sections = []
    for number, (result, predicted) in enumerate(results):
        sections.append(_section(result, predicted))
        if progress is not None:
            progress((number + 1) / len(results))
    return render_page(sections)


def _section(result: Result, predicted: Result | None) -> "Section":
    from ackclock.report import capture
    from ackclock.report.run_section import section_of_run, section_of_session

    if result.run["method"] == "measure":
        return capture.section(result, predicted)
    if result.is_session:
        return section_of_session(result)
    return section_of_run(result, predicted)
