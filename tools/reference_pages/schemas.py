"""Access to JSON schemas, and the notation of values, links and cells on pages."""

import json
from collections.abc import Iterable
from typing import Any

__all__ = [
    "Json",
    "anchor",
    "cell",
    "choices_of",
    "kind_of",
    "leaves",
    "tagged",
    "toml",
    "transports",
]

Json = dict[str, Any]


def choices_of(definition: Json) -> dict[str, str]:
    """Returns the values of a choice with their meanings; empty for any other definition."""
    variants = definition.get("oneOf", [])
    if not variants or any("const" not in variant for variant in variants):
        return dict.fromkeys(definition.get("enum", []), "")
    return {variant["const"]: variant.get("description", "") for variant in variants}


def kind_of(table: Json) -> Any:
    """Returns the `kind` that a table must have; None if it has none."""
    return table.get("properties", {}).get("kind", {}).get("const")


def transports(described: Json) -> Iterable[Json]:
    """Returns the possible tables of a flow's transport."""
    flow = described.get("$defs", {}).get("Flow", described)
    transports: Iterable[Json] = flow["properties"].get("transport", {}).get("oneOf", ())
    return transports


def tagged(tree: Any, kind: str) -> Json:
    """Returns the first table of this `kind` within a schema; empty if there is none."""
    if isinstance(tree, dict):
        if kind_of(tree) == kind:
            return tree
        tree = list(tree.values())
    if isinstance(tree, list):
        return next(filter(None, (tagged(branch, kind) for branch in tree)), {})
    return {}


def leaves(table: Json, prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yields the values within tables, each with its path."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def toml(value: Any) -> str:
    """Returns a value as in a TOML file, on one line."""
    match value:
        case dict():
            # A missing value cannot be written in TOML.
            written = {name: part for name, part in value.items() if part is not None}
            return (
                "{ "
                + ", ".join(f"{_key(name)} = {toml(part)}" for name, part in written.items())
                + " }"
            )
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    is_bare = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def anchor(name: str) -> str:
    """Returns GitHub's anchor of a heading."""
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter in "-_")


def cell(text: str) -> str:
    """Returns a text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
