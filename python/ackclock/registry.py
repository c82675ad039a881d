"""What the engine has: controls, queues, links, impairments, traffic and presets, as it lists them itself."""

from functools import cache
from typing import Any

from ackclock import engine


@cache
def registry() -> dict[str, Any]:
    """The lists by kind.

    `kinds` names the kinds of elements. Under the name of each stand its elements in reading order:
    records with `name`, `label`, `summary`, `reference`, `parameters` (a JSON schema) and `facts`
    (those of a sample, None for a kind without). `presets` maps a name to its TCP parameters. Do
    not change it.
    """
    return engine.registry()


def kinds() -> list[str]:
    """Names of the kinds of elements: `controls`, `queues`, `links`, and so on, in reading order."""
    return [kind["name"] for kind in registry()["kinds"]]


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
