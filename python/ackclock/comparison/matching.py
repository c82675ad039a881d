"""The same point, flow or hop in two results, and what differs between their scenarios."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ackclock.errors import InputError
from ackclock.result.result import Result
from ackclock.table import as_written

# Fields of a resolved scenario that say how often it is run and what it is called, or that follow
# from others.
_NO_CHANGE = frozenset({"schema", "name", "question", "seed", "replicates", "facts"})

# Stands for what a scenario does not have.
_ABSENT = "–"


class Change(NamedTuple):
    """A difference between two results in what was asked for.

    Attributes:
        path: Path in the scenario, or a word such as `method`.
        before: The value in the reference.
        now: The value in the other result.
    """

    path: str
    before: str
    now: str


class Matched(NamedTuple):
    """Names in a reference that are found in another result.

    Attributes:
        names: Name in the reference to name in the other.
        alone: Names that only the reference has.
        others: Names that only the other has.
    """

    names: Mapping[str, str]
    alone: Sequence[str]
    others: Sequence[str]

    @property
    def renamed(self) -> list[str]:
        """Pairs that were matched by their order, in words."""
        return [f"{name} with {other}" for name, other in self.names.items() if name != other]


def matched(names: Iterable[str], others: Iterable[str]) -> Matched:
    """Matches names: equal ones, and the rest by order if equally many are left of both."""
    own, theirs = list(dict.fromkeys(names)), list(dict.fromkeys(others))
    pairs = {name: name for name in own if name in theirs}
    left = [name for name in own if name not in pairs]
    right = [name for name in theirs if name not in pairs]
    if len(left) == len(right):
        pairs |= dict(zip(left, right, strict=True))
        left, right = [], []
    return Matched({name: pairs[name] for name in own if name in pairs}, left, right)


def points(reference: Result, other: Result) -> dict[int, int]:
    """Returns the index of the same point in another result, by the index in the reference.

    Points are the same if the same values are assigned; two results of one point each are compared
    whatever their values.

    Raises:
        InputError: There is no such point.
    """
    if len(reference.points) == len(other.points) == 1:
        return {0: 0}
    theirs = [point["assignments"] for point in other.points]
    both = {
        own: theirs.index(point["assignments"])
        for own, point in enumerate(reference.points)
        if point["assignments"] in theirs
    }
    if not both:
        words = f"{_counted(other)} and {_counted(reference)} have no point in common"
        raise InputError("no-data", "", f"{words}; compare results of the same sweep")
    return both


def _counted(result: Result) -> str:
    count = len(result.points)
    return f"{count} point{'' if count == 1 else 's'} of {result.run['name']}"


def flow_names(result: Result, point: int) -> list[str]:
    """Returns the names of flows of a point, in their order; those of a capture as it has them."""
    scenario = result.points[point]["scenario"]
    if scenario is not None:
        return [flow["name"] for flow in scenario["flows"]]
    return list(dict.fromkeys(result.rows("flows", ("flow",), point=point)["flow"].to_pylist()))


def changes(reference: Result, other: Result, same: Mapping[int, int]) -> list[Change]:
    """Returns what differs between two results: method, versions, runs, then the scenarios.

    Args:
        reference: The reference.
        other: The other result.
        same: Their common points, as `points` returns them.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    for path, before, now in [*_of_runs(reference, other)]:
        pairs.setdefault(path, []).append((before, now))
    for own, their in same.items():
        trees = reference.points[own]["scenario"], other.points[their]["scenario"]
        if None in trees:
            continue
        for path, before, now in _of_trees(*trees, ()):
            pair = (before, now)
            if pair not in pairs.setdefault(path, []):
                pairs[path].append(pair)
    return [Change(path, *_several(values)) for path, values in pairs.items()]


def _several(pairs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Returns both values, each time all that points have."""
    before, now = (", ".join(dict.fromkeys(values)) for values in zip(*pairs, strict=True))
    return before, now


def _of_runs(reference: Result, other: Result) -> Iterator[Change]:
    runs = reference.run, other.run
    names = [("method", "method"), ("seed", "seed"), ("replicates", "replicates")]
    for word, field in names:
        yield from _if_different(word, *(run.get(field) for run in runs))
    for table in ("versions", "machine"):
        tables = [run.get(table) or {} for run in runs]
        for field in dict.fromkeys([*tables[0], *tables[1]]):
            # A method that has no machine says nothing about one.
            if all(tables) or table == "versions":
                yield from _if_different(field, *(values.get(field) for values in tables))


def _if_different(path: str, before: Any, now: Any) -> Iterator[Change]:
    if before != now:
        yield Change(path, _written(before), _written(now))


def _of_trees(before: Any, now: Any, above: tuple[str, ...]) -> Iterator[Change]:
    """Yields the differences of two trees; of elements of other kinds the kinds alone."""
    if isinstance(before, dict) and isinstance(now, dict):
        if before.get("kind") == now.get("kind"):
            for name in dict.fromkeys([*before, *now]):
                if name not in _NO_CHANGE:
                    yield from _of_trees(before.get(name), now.get(name), (*above, name))
            return
    elif _is_named(before) and _is_named(now):
        yield from _of_members(before, now, above)
        return
    elif _are_tables(before, now):
        for position, entries in enumerate(zip(before, now, strict=True)):
            yield from _of_trees(*entries, (*above, str(position)))
        return
    if before != now:
        yield Change(".".join(above), _written(before), _written(now))


def _of_members(
    before: list[dict[str, Any]], now: list[dict[str, Any]], above: tuple[str, ...]
) -> Iterator[Change]:
    """Yields the differences of two lists of named members."""
    own, their = ({entry["name"]: entry for entry in tree} for tree in (before, now))
    pairs = matched(own, their)
    for name in pairs.alone:
        yield Change(".".join((*above, name)), "there", _ABSENT)
    for name, same in pairs.names.items():
        yield from _of_trees(own[name], their[same], (*above, name))
    for name in pairs.others:
        yield Change(".".join((*above, name)), _ABSENT, "there")


def _are_tables(before: Any, now: Any) -> bool:
    """Returns true for two lists of equally many tables."""
    return (
        isinstance(before, list)
        and isinstance(now, list)
        and len(before) == len(now)
        and all(isinstance(entry, dict) for entry in (*before, *now))
    )


def _is_named(tree: Any) -> bool:
    return (
        isinstance(tree, list)
        and len(tree) > 0
        and all(isinstance(entry, dict) and "name" in entry for entry in tree)
    )


def _written(value: Any) -> str:
    if value is None or value == []:
        return _ABSENT
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return as_written(value)
