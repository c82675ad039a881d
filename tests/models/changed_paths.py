"""Paths that differ from a given one in some fields."""

from dataclasses import replace
from typing import Any

from ackclock.models import FlowPath


def changed(path: FlowPath, changes: dict[str, Any]) -> FlowPath:
    """Returns the path with other values; `bottleneck.varies` is a field of `bottleneck`."""
    for name, value in changes.items():
        path = _with(path, name.split("."), value)
    return path


def _with(record: Any, names: list[str], value: Any) -> Any:
    first, *rest = names
    return replace(record, **{first: _with(getattr(record, first), rest, value) if rest else value})
