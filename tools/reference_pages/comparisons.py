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
        "A comparison is a folder that `ackclock compare` writes: a result of each way, "
        "`comparison.json` (what was asked, what answered, the explanations by number) and "
        "`comparison.parquet`, one row for each metric, point, flow or hop, and way. How to read "
        "it is in the guide `docs/guides/which-method.md`."
    )
    page.names(("column", "holds"), FIELDS.items())
    page.title("Causes")
    page.paragraph(
        "What may explain a residual. A cause is named where its evidence is in the results, and "
        "where its direction, and its size if that is known, fit."
    )
    page.names(("cause", "what it is"), [(one.name, one.sentence) for one in CAUSES])
    return page.finish()
