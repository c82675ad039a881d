"""Scenarios of experiments: drop-tail hops and flows, and how long and how often they were run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ackclock import Result, units
from ackclock.scenario import Scenario

Tree = dict[str, Any]

#: The buffer of a direction that carries only ACKs: more packets than ever wait.
AMPLE_PACKETS = 100_000


def constant(mbit_per_s: float) -> Tree:
    """Returns a link of constant rate."""
    return {"kind": "constant", "rate": f"{mbit_per_s:g} Mbit/s"}


def packets(count: int) -> str:
    """Returns the limit of a queue."""
    return f"{count} packets"


def hop(name: str, link: Tree, limit: str, delay_s: float = 0.0, **more: Any) -> Tree:
    """Returns a hop: a link, the drop-tail queue before it, and the delay behind it.

    Args:
        name: Name in the scenario.
        link: Link, as in a scenario.
        limit: Limit of the queue.
        delay_s: One-way delay, in seconds.
        more: Other fields of the hop.
    """
    queue = {"kind": "droptail", "limit": limit}
    return {"name": name, "link": link, "queue": queue, "delay": f"{delay_s * 1000:g} ms"} | more


def scenario(
    name: str, hops: Sequence[Tree], flows: Sequence[Tree], *, duration_s: float, warmup_s: float,
    sample_interval_s: float, replicates: int, **more: Any,
) -> Scenario:  # fmt: skip
    """Returns a scenario of flows over hops, with several replicates."""
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
    """Returns the distinct values, in seconds, that `duration` or `warmup` had in the runs."""
    return _listed(units.seconds(result.points[0]["scenario"][name]) for result in results.values())


def replicates_run(results: Mapping[str, Result]) -> str:
    """Returns the distinct numbers of replicates of the runs."""
    return _listed(result.run["replicates"] for result in results.values())


def _listed(numbers: Iterable[float]) -> str:
    """Returns the numbers in ascending order, each once."""
    return " or ".join(f"{number:g}" for number in sorted(set(numbers)))
