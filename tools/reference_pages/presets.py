"""The page of presets."""

from reference_pages.page import Page
from reference_pages.schemas import Json, leaves, toml

__all__ = ["text"]


def text(registered: Json, described: Json) -> str:
    """Returns the page of presets, side by side."""
    presets = registered["presets"]
    page = Page("Presets", registered, described.get("$defs", {}))
    page.paragraph(
        'A preset is a named set of TCP parameters: `transport = { kind = "tcp", preset = …, … }`. '
        "A parameter in that table replaces the value of the preset."
    )
    meanings = page.choices("Preset")
    page.names(("preset", "meaning"), [(name, meanings.get(name, "")) for name in presets])
    page.paragraph(
        "Values that differ between presets are in bold. [TCP](transports.md#tcp) explains the "
        "parameters."
    )
    rows = []
    flat = {name: dict(leaves(values)) for name, values in presets.items()}
    for path in dict.fromkeys(path for values in flat.values() for path in values):
        values = [f"`{toml(values[path])}`" if path in values else "—" for values in flat.values()]
        if len(set(values)) > 1:
            values = [f"**{value}**" for value in values]
        rows.append((f"`{path}`", *values))
    page.table(("parameter", *(f"`{name}`" for name in presets)), rows)
    return page.finish()
