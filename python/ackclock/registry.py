"""What the engine has: controls, queues, links, impairments, traffic and presets, as it lists them itself."""

import json
from functools import cache
from typing import Any

from ackclock import _native


@cache
def registry() -> dict[str, Any]:
    """The lists by kind.

    `controls`, `rate_controls`, `queues`, `links`, `impairments` and `traffic` hold records with `name`, `label`,
    `summary`, `reference` and `parameters` (a JSON schema), in reading order; `presets` maps a name to its TCP
    parameters. Do not change it.
    """
    listed: dict[str, Any] = json.loads(_native.registry())
    return listed


@cache
def schema() -> dict[str, Any]:
    """The JSON schema of a scenario. Do not change it."""
    described: dict[str, Any] = json.loads(_native.schema())
    return described


def assignment(text: str) -> tuple[str, Any]:
    """Reads `path=value` as the command line has it.

    Raises:
        ScenarioError: It is none.
    """
    path, value = _native.parse_assignment(text)
    return path, json.loads(value)
