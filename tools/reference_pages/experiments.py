"""The page of experiments."""

from ackclock.reproduction import experiments
from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of experiments, group by group."""
    page = Page("Experiments", registered)
    page.paragraph(
        "Published tables and figures that `ackclock reproduce` computes again. How to read what "
        "it says is in the guide `docs/guides/reproduce.md`."
    )
    for group in dict.fromkeys(one.group for one in experiments()):
        page.heading(2, group)
        members = [one for one in experiments() if one.group == group]
        for source in dict.fromkeys(one.source for one in members):
            page.paragraph(f"{source}.")
            rows = [
                (f"`{one.name}`", one.question, one.says) for one in members if one.source == source
            ]
            page.table(("experiment", "question", "what it says"), rows)
    return page.finish()
