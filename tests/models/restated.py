"""Resolved trees that a test has changed, with the facts that follow."""

from typing import Any

from ackclock import Scenario


def restated(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns the tree resolved again: a test does not write facts, which follow from the rest."""
    return Scenario(without_facts(tree)).resolve().tree


def without_facts(tree: Any) -> Any:
    """Returns a copy of a tree without the facts of its elements."""
    if isinstance(tree, dict):
        return {name: without_facts(value) for name, value in tree.items() if name != "facts"}
    return [without_facts(value) for value in tree] if isinstance(tree, list) else tree
