"""The page of comparisons."""

from ackclock.comparison import CAUSES
from ackclock.comparison.rows import FIELDS
from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of comparisons: columns and causes."""
    page = Page("Comparisons", registered)
    page.paragraph(
        "`ackclock compare` answers one scenario by several methods and writes a folder: a result "
        "of each method, `comparison.json` and `comparison.parquet`. The JSON file holds the "
        "request, the methods used, and the explanations. The guide is "
        "[Which method?](../guides/which-method.md)"
    )
    page.title("Columns")
    page.paragraph(
        "`comparison.parquet` has one row for each metric, point, flow or hop, and method."
    )
    page.names(("column", "meaning"), FIELDS.items())
    page.title("Causes")
    page.paragraph(
        "A cause may explain a residual, the difference between two methods. It is named if "
        "the results contain evidence of it, and if its direction and its known size fit."
    )
    page.names(("cause", "meaning"), [(cause.name, cause.sentence) for cause in CAUSES])
    return page.finish()
