"""The compiled engine. Pure data in, pure data out."""

from collections.abc import Callable
from typing import Any

class ScenarioError(ValueError):
    """Bad input: one line, "field: value problem; remedy"."""

def version() -> str:
    """Version of the engine."""

def parse_toml(text: str) -> str:
    """The JSON tree of a scenario's text."""

def parse_assignment(text: str) -> tuple[str, str]:
    """`path=value` as path and JSON value."""

def set(tree_json: str, path: str, value_json: str) -> str:
    """The tree with one value replaced."""

def expand(tree_json: str) -> list[tuple[str, str]]:
    """For each point of the sweep: a JSON list of [path, value], and the point's tree."""

def resolve(tree_json: str, folder: str) -> str:
    """The checked tree with all defaults filled in; files are looked up in `folder`."""

def schema() -> str:
    """The JSON schema of a scenario."""

def registry() -> str:
    """Everything registered, as JSON."""

def simulate(
    points: list[str],
    folder: str,
    *,
    threads: int,
    packets: bool,
    pcap_folder: str | None,
    progress: Callable[[float], None] | None,
) -> dict[str, Any]:
    """Runs every replicate of every point; `{"complete": bool, "tables": {name: {column: array}}}`."""
