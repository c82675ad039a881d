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
    for group in dict.fromkeys(experiment.group for experiment in EXPERIMENTS):
        page.heading(2, group)
        members = [experiment for experiment in EXPERIMENTS if experiment.group == group]
        for source in dict.fromkeys(experiment.source for experiment in members):
            page.paragraph(f"{markdown(source)}.")
            rows = []
            last = ""
            for experiment in members:
                if experiment.source == source:
                    question = "As above" if experiment.question == last else experiment.question
                    rows.append((f"`{experiment.name}`", question, experiment.says))
                    last = experiment.question
            page.table(("experiment", "question", "result"), rows)
    return page.finish()
