"""The page of results."""

from ackclock.capture import estimates
from reference_pages.page import Page, after_the_first_line
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of results: every table and its columns."""
    page = Page("Results", registered)
    page.paragraph(
        "A result is a folder: `run.json` (the resolved scenario of each point, seed, versions, "
        "warnings) and these tables in Parquet. The name of a column ends in its unit. What is not "
        "known is null, never zero."
    )
    for table in registered["tables"]:
        page.heading(2, table["name"])
        page.paragraph(table["summary"])
        page.names(
            ("column", "holds"),
            [(column["name"], column["summary"]) for column in table["columns"]],
        )
    page.heading(2, "estimates")
    page.paragraph(
        "What one captured connection means in the terms of models, with 95 % intervals; of a "
        "capture, the largest connections."
    )
    page.paragraph(after_the_first_line(estimates))
    page.names(("column", "holds"), estimates.COLUMNS.items())
    return page.finish()
