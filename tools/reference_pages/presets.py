"""The page of presets."""

from reference_pages.page import Page
from reference_pages.schemas import Json, leaves, tagged, toml

__all__ = ["text"]


def text(registered: Json, described: Json) -> str:
    """Returns the page of presets, side by side."""
    presets = registered["presets"]
    parameters = tagged(described, "tcp").get("properties", {})
    page = Page("Presets", registered, described.get("$defs", {}))
    page.paragraph(
        'Named sets of TCP parameters, chosen by `preset` in `transport = { kind = "tcp", … }`. '
        "What is written beside it replaces the preset's value. Values that differ between presets "
        "are in bold."
    )
    meanings = page.choices("Preset")
    page.names(("preset", "is"), [(name, meanings.get(name, "")) for name in presets])
    rows = []
    flat = {name: dict(leaves(values)) for name, values in presets.items()}
    for path in dict.fromkeys(path for values in flat.values() for path in values):
        values = [f"`{toml(values[path])}`" if path in values else "—" for values in flat.values()]
        if len(set(values)) > 1:
            values = [f"**{value}**" for value in values]
        rows.append((f"`{path}`", *values, page.meaning(path, parameters)))
    page.table(("parameter", *(f"`{name}`" for name in presets), "meaning"), rows)
    return page.finish()
