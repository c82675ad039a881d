"""Reports on results: one self-contained HTML page, the answer first.

It shows the answer, what was asked, how sure the numbers are, figures, tables, and how they were
made.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ackclock.result import Result

if TYPE_CHECKING:
    from ackclock.report.section import Section

__all__ = ["page"]

# Figures that the page draws itself; `plot` draws them to a file. The boxes of `box` show what the
# lines of `cdf` do.
_LIVE = frozenset({
    "sweep", "outstanding", "sequence", "cwnd", "throughput", "queue", "rtt", "states",
    "loss_event_rate", "rate_estimates", "cdf", "box", "variation", "bursts",
})  # fmt: skip


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

        def tell(done: float, start: int = number) -> None:
            if progress is not None:
                progress((start + done) / len(results))

        sections.append(_section(number, result, predicted, tell))
    return render_page(sections)


def _section(
    number: int, result: Result, predicted: Result | None, progress: Callable[[float], None]
) -> "Section":
    from ackclock import plot
    from ackclock.report import capture
    from ackclock.report.run_section import section_of_run, section_of_session
    from ackclock.report.section import Drawing

    if result.run["method"] == "measure":
        section = capture.section(result, predicted)
    elif result.is_session:
        section = section_of_session(result)
    else:
        section = section_of_run(result, predicted)
    drawn = {figure.name for figure in section.figures}
    live = _LIVE if "figure-goodput" in drawn else _LIVE - {"sweep"}
    available = {
        name: draw for name, draw in plot.figures(result, predicted).items() if name not in live
    }
    drawings = []
    for position, (name, draw) in enumerate(available.items()):
        svg = plot.inline(plot.render(draw(), "svg", text=True), f"r{number}-{name}-")
        drawings.append(Drawing(name, svg))
        progress((position + 1) / len(available))
    return replace(section, figures=[*section.figures, *drawings])
