"""Reference pages and the scenario's JSON schema, made from the registries."""

import json
from collections.abc import Mapping
from pathlib import Path

from reference_pages import INDEX, PAGES, elements
from reference_pages.schemas import Json

__all__ = ["pages"]


def pages(registered: Json, described: Json) -> dict[str, str]:
    """Returns all files.

    Args:
        registered: Registry of the engine, as from `ackclock.elements.registry.registry`.
        described: JSON schema of a scenario.

    Returns:
        Texts by their path within the documentation.
    """
    kinds = [kind["name"] for kind in registered["kinds"]]
    texts = {f"docs/reference/{kind}.md": elements.text(kind, registered) for kind in kinds}
    texts |= {
        f"docs/reference/{name}.md": text(registered, described) for name, text in PAGES.items()
    }
    texts["docs/reference/README.md"] = _index(texts, registered)
    texts["docs/reference/scenario.schema.json"] = (
        json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    )
    return texts


def _index(texts: Mapping[str, str], registered: Json) -> str:
    """Returns a page with links to all others, by group."""
    pages = {Path(name).stem: text for name, text in texts.items() if name.endswith(".md")}
    titles = {name: text.partition("\n# ")[2].partition("\n")[0] for name, text in pages.items()}
    labels = {
        kind["name"]: ", ".join(entry["label"] for entry in registered[kind["name"]])
        for kind in registered["kinds"]
    }
    parts = [
        "# Reference",
        "Every field, parameter and column, generated from the code that uses it. To learn how to "
        "do something, read the [guides](../guides/README.md).",
    ]
    for group, lines in INDEX.items():
        listed = [
            f"- [{titles.pop(name)}]({name}.md): {line.format(labels=labels.get(name))}"
            for name, line in lines.items()
            if name in titles
        ]
        parts += [f"## {group}", "\n".join(listed)]
    if titles:
        raise ValueError(f"reference_pages.INDEX: add {', '.join(titles)}")
    parts.append(
        "Not generated: the [Python API](../api.md) and the [wire format](../wire-format.md) of "
        "`ackclock send`. For editors and other programs there is a [JSON schema of a "
        "scenario](scenario.schema.json), which `ackclock show schema` prints, too."
    )
    return "\n\n".join(parts) + "\n"
