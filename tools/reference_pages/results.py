"""The page of results."""

from ackclock.capture import estimates
from reference_pages.page import Page, after_the_first_line, first_sentence, repeated
from reference_pages.schemas import Json, anchor

__all__ = ["text"]

#: Columns with one meaning in at least so many tables are explained once.
SHARED_BY = 3
ESTIMATES = (
    "One captured connection, summarised for models with 95 % intervals; for a capture, the "
    "largest connections."
)


def text(registered: Json, _described: Json) -> str:
    """Returns the page of results: every table and its columns."""
    page = Page("Results", registered)
    tables = registered["tables"]
    page.paragraph(
        "A result is a folder with `run.json` and the tables below in Parquet. `run.json` holds "
        "the resolved scenario of each point, the seed, versions and warnings. The name of a "
        "column ends in its unit. An unknown value is null, never zero."
    )
    summaries = [(table["name"], table["summary"]) for table in tables]
    page.table(
        ("table", "one row is"),
        [
            (f"[`{name}`](#{anchor(name)})", first_sentence(summary))
            for name, summary in [*summaries, ("estimates", ESTIMATES)]
        ],
    )
    shared = repeated(
        ((column["name"], column["summary"]) for table in tables for column in table["columns"]),
        SHARED_BY,
    )
    if shared:
        page.title("Shared columns")
        page.paragraph("Tables refer to this list by name.")
        page.names(("column", "meaning"), shared.items())
    for table in tables:
        page.heading(2, table["name"])
        page.paragraph(table["summary"])
        columns = [(column["name"], column["summary"]) for column in table["columns"]]
        own = [column for column in columns if shared.get(column[0]) != column[1]]
        also = ", ".join(f"`{column[0]}`" for column in columns if column not in own)
        if also:
            page.paragraph(f"[Shared columns](#shared-columns): {also}.")
        page.names(("column", "meaning"), own)
        if table["name"] == "counters":
            page.paragraph("These are the counters; a kernel may lack some.")
            listed = [(counter["name"], counter["summary"]) for counter in registered["counters"]]
            page.names(("counter", "counts"), listed)
    page.heading(2, "estimates")
    page.paragraph(ESTIMATES)
    page.paragraph(after_the_first_line(estimates))
    page.names(("column", "meaning"), estimates.COLUMNS.items())
    return page.finish()
