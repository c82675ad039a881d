"""The page of experiments."""

from ackclock.report.publications import markdown
from ackclock_papers import EXPERIMENTS
from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of experiments, group by group."""
    page = Page("Experiments", registered)
    page.paragraph(
        "`ackclock reproduce` computes these tables and figures and compares them with what the "
        "source says. It takes the name of an experiment or of a group. The guide "
        "is [Reproducing published results](../guides/reproduce.md)."
    )
    page.contents()
    for group in dict.fromkeys(one.group for one in EXPERIMENTS):
        page.heading(2, group)
        members = [one for one in EXPERIMENTS if one.group == group]
        for source in dict.fromkeys(one.source for one in members):
            page.paragraph(f"{markdown(source)}.")
            rows = []
            last = ""
            for one in members:
                if one.source == source:
                    question = "As above" if one.question == last else one.question
                    rows.append((f"`{one.name}`", question, one.says))
                    last = one.question
            page.table(("experiment", "question", "result"), rows)
    return page.finish()
