"""The page of the scenario."""

from reference_pages.page import Page
from reference_pages.schemas import Json, kind_of, transports

__all__ = ["text"]


def text(registered: Json, described: Json) -> str:
    """Returns the page of the scenario: every field, and the transports."""
    page = Page("Scenario", registered, described.get("$defs", {}))
    page.paragraph(
        "A scenario is a TOML file, or the same tree in Python. Fields that are not named here are "
        "refused. Quantities are written with their unit. The same as JSON schema: "
        "`schema/scenario.schema.json`."
    )
    page.fields(described)
    page.explain()
    for transport in transports(described):
        kind, control = (
            kind_of(transport),
            ", control = …" if "control" in transport["properties"] else "",
        )
        page.heading(2, f'transport = {{ kind = "{kind}"{control}, … }}')
        page.fields(transport, missing="[preset](presets.md)" if kind == "tcp" else "—")
    return page.finish()
