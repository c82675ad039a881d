"""The engine's own list of what it has: controls, queues, links, impairments, traffic, presets."""

from functools import cache
from typing import Any

from ackclock import engine


@cache
def registry() -> dict[str, Any]:
    """Returns the lists by kind. Do not change them.

    `kinds` lists the kinds of elements. The name of each kind maps to its elements in reading
    order. Each is a record with `name`, `label`, `summary`, `reference`, `simulated` (False if
    only `emulate` runs it), `parameters` (a JSON schema) and `facts` (those of a sample; None if
    the kind has no facts). `presets` maps a name to its TCP parameters. `tables` and `counters`
    describe the tables of results, and the names in the table of counters.
    """
    return engine.registry()


def kinds() -> list[str]:
    """Returns the kinds of elements in reading order: `controls`, `queues`, `links` and so on."""
    return [kind["name"] for kind in registry()["kinds"]]


@cache
def schema() -> dict[str, Any]:
    """Returns the JSON schema of a scenario. Do not change it."""
    return engine.schema()


def label(name: str, *kinds: str) -> str:
    """Returns the name for people of an element of these kinds; the name itself if it has none."""
    entries = (entry for kind in kinds for entry in registry()[kind])
    return next((str(entry["label"]) for entry in entries if entry["name"] == name), name)


def controls() -> list[dict[str, Any]]:
    """Returns name and label of each control. Figures assign styles to controls in this order.

    Those of a kernel are not listed: there is no end to them.
    """
    return [
        {"name": entry["name"], "label": entry["label"]}
        for kind in ("controls", "rate_controls")
        for entry in registry()[kind]
        if entry["simulated"]
    ]
