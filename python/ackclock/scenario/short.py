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

# The lists of a scenario in which a short path is looked for; a path that begins with one of these,
# or with another table, is whole.
_MEMBERS = ("hops", "flows", "shared_media")
_TABLES = (*_MEMBERS, "values", "sweep")
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
    if steps[0] in _TABLES or (len(steps) == 1 and steps[0] in scenario.tree):
        return path
    if len(steps) == 1 and steps[0] in scenario.tree.get("values", {}):
        return f"values.{steps[0]}"
    wanted = (*steps[:-1], *ALIASES.get(steps[-1], (steps[-1],)))
    for tree in _trees(scenario):
        fits = [
            ".".join(steps)
            for steps, _ in fields(tree)
            if steps[0] in _MEMBERS and _fits(wanted, steps)
        ]
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
    return any(
        ".".join(steps) == path and isinstance(value, dict) and "kind" in value
        for tree in _trees(scenario)
        for steps, value in fields(tree)
    )


def _trees(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Yields the tree as written, then with all defaults if the scenario can be resolved."""
    yield scenario.tree
    try:
        yield scenario.expand()[0].scenario.resolve().tree
    except InputError:
        return


def fields(tree: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the path and value of each field and table; members of lists have name or number."""
    if isinstance(tree, dict):
        members = [(name, value) for name, value in tree.items() if name not in ("name", "facts")]
    elif isinstance(tree, list) and any(isinstance(member, dict) for member in tree):
        members = [(member.get("name", str(index)), member) for index, member in enumerate(tree)]
    else:
        members = []
    for name, value in members:
        yield (*above, name), value
        yield from fields(value, (*above, name))


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
