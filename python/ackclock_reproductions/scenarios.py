"""Scenarios as experiments write them: drop-tail hops, flows over them; and how long and how often they were run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ackclock import units
from ackclock.result import Result
from ackclock.scenario import Scenario

Tree = dict[str, Any]

#: Of a direction in which nothing but answers travels: more packets than ever wait.
AMPLE_PACKETS = 100_000


def constant(mbit_per_s: float) -> Tree:
    """A link of one rate."""
    return {"kind": "constant", "rate": f"{mbit_per_s:g} Mbit/s"}


def packets(count: int) -> str:
    """The limit of a queue."""
    return f"{count} packets"


def hop(name: str, link: Tree, limit: str, delay_s: float = 0.0, **more: Any) -> Tree:
    """A link, the drop-tail queue before it, and the delay behind it.

    Args:
        name: In the scenario.
        link: As in a scenario.
        limit: Of the queue.
        delay_s: One way.
        more: Other fields of the hop.
    """
    queue = {"kind": "droptail", "limit": limit}
    return {"name": name, "link": link, "queue": queue, "delay": f"{delay_s * 1000:g} ms"} | more


def scenario(
    name: str, hops: Sequence[Tree], flows: Sequence[Tree], *, duration_s: float, warmup_s: float,
    sample_interval_s: float, replicates: int, **more: Any,
) -> Scenario:  # fmt: skip
    """Flows over hops, several times with other chances."""
    tree = {
        "schema": 1,
        "name": name,
        "duration": f"{duration_s:g} s",
        "warmup": f"{warmup_s:g} s",
        "replicates": replicates,
        "sample_interval": f"{sample_interval_s:g} s",
        "hops": list(hops),
        "flows": list(flows),
    }
    return Scenario(tree | more)


def seconds_run(results: Mapping[str, Result], name: str) -> str:
    """The different values, in seconds, that a field of the scenarios had when they were run: `duration`, `warmup`."""
    return _listed(units.seconds(one.points[0]["scenario"][name]) for one in results.values())


def replicates_run(results: Mapping[str, Result]) -> str:
    """How many replicates there were, likewise."""
    return _listed(one.run["replicates"] for one in results.values())


def _listed(numbers: Iterable[float]) -> str:
    """Each once."""
    return " or ".join(f"{one:g}" for one in sorted(set(numbers)))
