"""The text of a scenario file, from its tree."""

import json
from typing import Any

__all__ = ["toml_text"]

# Lists of tables that a file writes with a heading for each member.
_HEADED = ("hops", "flows", "shared_media")


def toml_text(tree: dict[str, Any], comment: str = "") -> str:
    """Returns a scenario as TOML: plain fields first, then hops and flows, one field a line."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [
        f"{_key(name)} = {_value(value)}" for name, value in tree.items() if name not in _HEADED
    ]
    for name in _HEADED:
        for member in tree.get(name, []):
            lines += ["", f"[[{name}]]"]
            lines += [f"{_key(key)} = {_value(value)}" for key, value in member.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(one)}" for name, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)
