"""Resolved trees that a test has changed, with the facts that follow."""

from typing import Any

from ackclock import Scenario


def restated(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns the tree resolved again: a test does not write facts, which follow from the rest."""
    return Scenario(without_facts(tree)).resolve().tree


def without_facts(tree: Any, *names: str) -> Any:
    """Returns a copy of a tree without the facts of these names; by default without any fact."""
    if isinstance(tree, list):
        return [without_facts(value, *names) for value in tree]
    if not isinstance(tree, dict):
        return tree
    left_out = names or ("facts",)
    return {
        name: without_facts(value, *names) for name, value in tree.items() if name not in left_out
    }


def facts_in(tree: Any) -> set[str]:
    """Returns the names of all facts that elements of a tree state."""
    if isinstance(tree, list):
        return {name for value in tree for name in facts_in(value)}
    if not isinstance(tree, dict):
        return set()
    return {*tree.get("facts", ()), *facts_in(list(tree.values()))}
