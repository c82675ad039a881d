"""The page of the scenario."""

from reference_pages.page import Page
from reference_pages.schemas import Json, kind_of, transports

__all__ = ["text"]


def text(registered: Json, described: Json) -> str:
    """Returns the page of the scenario: every field, and the transports."""
    definitions = described.get("$defs", {})
    page = Page("Scenario", registered, definitions)
    page.elsewhere = {"Preset": "presets.md", "tcp": "#tcp", "udp": "#udp"}
    page.paragraph(
        "A scenario is a TOML file, or the same tree in Python. Fields that this page does not "
        'list are errors. A quantity is written with its unit, such as `"10 Mbit/s"`. The JSON '
        "schema is `schema/scenario.schema.json`."
    )
    page.contents()
    page.title("Top level")
    page.fields(described)
    for name in ("Hop", "Flow"):
        if name in definitions:
            page.section(name)
    for transport in transports(described):
        fields, title = transport["properties"], str(kind_of(transport)).upper()
        is_tcp = title == "TCP"
        control = ", control = …" if "control" in fields else ""
        page.title(title if is_tcp or not control else f"{title} with a rate control")
        page.paragraph(
            f'`transport = {{ kind = "{kind_of(transport)}"{control}, … }}` in a flow.'
            + (" *Preset* means the value of the [preset](presets.md)." if is_tcp else "")
        )
        page.fields(transport, missing="preset" if is_tcp else "—")
    return page.finish()
