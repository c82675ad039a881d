"""Access to JSON schemas, and the notation of values, links and cells on pages."""

import json
from collections.abc import Iterable
from typing import Any

__all__ = [
    "COLUMNS",
    "Json",
    "anchor",
    "assignment",
    "cell",
    "choices_of",
    "kind_of",
    "leaves",
    "shortened",
    "tagged",
    "toml",
]

Json = dict[str, Any]

#: Longest line of an example.
COLUMNS = 100


def choices_of(definition: Json) -> dict[str, str]:
    """Returns the values of a choice with their meanings; empty for any other definition."""
    variants = definition.get("oneOf", [])
    if not variants or any("const" not in variant for variant in variants):
        return dict.fromkeys(definition.get("enum", []), "")
    return {variant["const"]: variant.get("description", "") for variant in variants}


def kind_of(table: Json) -> Any:
    """Returns the `kind` that a table must have; None if it has none."""
    return table.get("properties", {}).get("kind", {}).get("const")


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


def assignment(pattern: str, value: Any) -> str:
    """Returns a TOML line, or several if it were too long.

    Args:
        pattern: The line with `{}` for the value, which may stand in a list.
        value: The value.
    """
    line = pattern.format(toml(value))
    if len(line) <= COLUMNS:
        return line
    name, _, place = pattern.partition(" = ")
    if place == "[{}]":
        lines = [assignment(f"{_key(part)} = {{}}", entry) for part, entry in value.items()]
        return "\n".join((f"[[{name}]]", *lines))
    match value:
        case dict():
            # A missing value cannot be written in TOML.
            return "\n".join(
                assignment(f"{name}.{_key(part)} = {{}}", entry)
                for part, entry in value.items()
                if entry is not None
            )
        case list():
            return "\n".join((f"{name} = [", *(f"  {toml(entry)}," for entry in value), "]"))
        case _:
            return line


def shortened(value: Any, schema: Json, definitions: Json) -> Any:
    """Returns a table without the values that are defaults of its fields anyway.

    Args:
        value: A value; others than tables are returned as they are.
        schema: Schema of the value.
        definitions: Definitions that the schema refers to.
    """
    if not isinstance(value, dict):
        return value
    schema = definitions.get(schema.get("$ref", "").removeprefix("#/$defs/"), schema)
    for variant in schema.get("oneOf", []):
        if kind_of(variant) == value.get("kind"):
            schema = variant
    left = {}
    for name, part in value.items():
        field = schema.get("properties", {}).get(name, {})
        shorter = shortened(part, field, definitions)
        if part is not None and part != field.get("default") and shorter != {}:
            left[name] = shorter
    return left


def _key(name: str) -> str:
    is_bare = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def anchor(name: str) -> str:
    """Returns GitHub's anchor of a heading."""
    letters = name.lower().replace(" ", "-")
    return "".join(letter for letter in letters if letter.isalnum() or letter in "-_")


def cell(text: str) -> str:
    """Returns a text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
