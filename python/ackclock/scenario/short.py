"""Short paths of a scenario: `control`, `left.control`, `bottleneck.rate`, `buffer`.

A short path has some steps of a path, in order, and its last one. `buffer` stands for
`queue.limit`. It means a field if no other field has such steps, and is refused otherwise. Of hops
only those count that carry data: a hop that carries ACKs alone is named.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.errors import InputError
from ackclock.scenario import Scenario

#: Words for what a scenario calls otherwise.
ALIASES: Mapping[str, tuple[str, ...]] = {"buffer": ("queue", "limit")}

# The lists and tables of a scenario: a path that begins with one is whole.
_LISTS = ("hops", "flows", "shared_media", "values", "sweep")
# Named as candidates at most.
_MOST_NAMED = 6


def whole_path(scenario: Scenario, path: str) -> str:
    """Returns the path that a short one stands for; a path that is whole, or of nothing, as it is.

    A whole path begins with a field of the scenario. What is not written is looked for among the
    defaults, too.

    Raises:
        InputError: Several fields have such steps; the message names them.
    """
    steps = path.split(".")
    if steps[0] in _LISTS or (len(steps) == 1 and steps[0] in scenario.tree):
        return path
    if len(steps) == 1 and steps[0] in scenario.tree.get("values", {}):
        return f"values.{steps[0]}"
    wanted = (*steps[:-1], *ALIASES.get(steps[-1], (steps[-1],)))
    for tree in _trees(scenario):
        fits = [".".join(steps) for steps in _paths(tree) if _fits(wanted, steps)]
        carrying = [path for path in fits if _carries_data(tree, path)]
        if len(fits) == 1 or len(carrying) == 1:
            return (carrying if len(carrying) == 1 else fits)[0]
        if fits:
            named = ", ".join(fits[:_MOST_NAMED]) + (", …" if len(fits) > _MOST_NAMED else "")
            words = f'"{path}" may be {named}; name one, or more of its steps'
            raise InputError("contradiction", path, words)
    return path


def value_of(scenario: Scenario, path: str, value: Any) -> Any:
    """Returns what is put at a path: an element's name alone stands for the element."""
    is_name = isinstance(value, str) and value.isidentifier()
    return {"kind": value} if is_name and _is_element(scenario, path) else value


def varied_path(scenario: Scenario, path: str) -> str:
    """Returns the whole path that is varied; of an element it is the kind."""
    whole = whole_path(scenario, path)
    return f"{whole}.kind" if _is_element(scenario, whole) else whole


def _is_element(scenario: Scenario, path: str) -> bool:
    steps = path.split(".")
    elements = (_part(tree, steps) for tree in _trees(scenario))
    return any(isinstance(element, dict) and "kind" in element for element in elements)


def _trees(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Yields the tree as written, then with all defaults if the scenario can be resolved."""
    yield scenario.tree
    try:
        yield scenario.expand()[0].scenario.resolve().tree
    except InputError:
        return


def _paths(tree: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the path of every field in the lists of a scenario, members by their names."""
    if not before:
        for name in _LISTS[:3]:
            yield from _paths(tree.get(name, []), (name,))
        return
    if isinstance(tree, list):
        for number, member in enumerate(tree):
            own = member.get("name") if isinstance(member, dict) else None
            yield from _paths(member, (*before, str(own if own is not None else number)))
        return
    if isinstance(tree, dict):
        for name, value in tree.items():
            if name != "facts":
                yield (*before, name)
                yield from _paths(value, (*before, name))


def _fits(wanted: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Returns true if the wanted steps are among the steps in order, and the last is the last."""
    if wanted[-1] != steps[-1]:
        return False
    rest = iter(steps)
    return all(step in rest for step in wanted)


def _carries_data(tree: Mapping[str, Any], path: str) -> bool:
    """Returns true unless it is a path of a hop that is on the way of no flow's data."""
    kind, name, *_ = path.split(".")
    return kind != "hops" or any(name in flow.get("route", []) for flow in tree.get("flows", []))


def _part(tree: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(tree, list):
            names = [member.get("name") for member in tree if isinstance(member, dict)]
            tree = tree[names.index(step)] if step in names else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree
