"""The page of figures."""

from ackclock.plot import catalogue
from reference_pages.page import Page
from reference_pages.schemas import Json

__all__ = ["text"]


def text(registered: Json, _described: Json) -> str:
    """Returns the page of figures, with the methods and options of each."""
    page = Page("Figures", registered)
    page.paragraph(
        "These are the figures of `ackclock plot`; reports have their own. By default `plot` draws "
        "all for which the result has data. With `--kind` it draws one, or says why it cannot. "
        "Without options a figure shows the first point, the first replicate, the connection with "
        "the most payload, and the whole time."
    )
    rows = [
        (
            f"`{figure['name']}`",
            ", ".join(figure["methods"]),
            ", ".join(
                "`--from`, `--to`" if option == "span" else f"`--{option}`"
                for option in figure["options"]
            )
            or "—",
            figure["summary"],
        )
        for figure in catalogue().values()
    ]
    page.table(("figure", "methods", "options", "content"), rows)
    return page.finish()
