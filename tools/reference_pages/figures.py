"""The page of figures."""

from ackclock.plot import catalogue
from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of figures, with the methods and options of each."""
    page = Page("Figures", registered)
    page.paragraph(
        "What `ackclock plot` draws (`--kind`), and reports show. A figure is drawn if the result "
        "has what it needs; asked for by name, `plot` says why it is not. Without an option a "
        "figure shows the first point, the first replicate, the connection with the most payload, "
        "and all the time."
    )
    rows = [
        (
            f"`{one['name']}`",
            ", ".join(one["methods"]),
            ", ".join(
                "`--from`, `--to`" if option == "span" else f"`--{option}`"
                for option in one["options"]
            )
            or "—",
            one["summary"],
        )
        for one in catalogue().values()
    ]
    page.table(("figure", "of", "takes", "what it shows"), rows)
    return page.finish()
