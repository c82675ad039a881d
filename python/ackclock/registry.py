"""What the engine has: controls, queues, links, impairments, traffic and presets, as it lists them itself."""

from functools import cache
from typing import Any

from ackclock import engine


@cache
def registry() -> dict[str, Any]:
    """The lists by kind.

    `controls`, `rate_controls`, `queues`, `links`, `impairments` and `traffic` hold records with `name`, `label`,
    `summary`, `reference` and `parameters` (a JSON schema), in reading order; `presets` maps a name to its TCP
    parameters. Do not change it.
    """
    return engine.registry()


def kinds() -> list[str]:
    """The kinds of elements, which are keys of `registry()`, in the engine's order."""
    return [name for name, listed in registry().items() if isinstance(listed, list) and "parameters" in listed[0]]


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a scenario. Do not change it."""
    return engine.schema()


def controls() -> list[dict[str, Any]]:
    """Name and label of each control of this version, the order of which is that of their looks in figures."""
    return [
        {"name": entry["name"], "label": entry["label"]}
        for kind in ("controls", "rate_controls")
        for entry in registry()[kind]
    ]
