"""Scenarios for these tests, as trees: a path of one hop out and one hop back, and its flows."""

from __future__ import annotations

from typing import Any

from ackclock import Scenario

Tree = dict[str, Any]

#: The loss recoveries, for tests that hold for all of them.
RECOVERIES = ("tahoe", "reno", "newreno", "sack")


def scenario(hops: list[Tree], flows: list[Tree], duration: str, **more: object) -> Scenario:
    """Returns a scenario, by default with one replicate."""
    tree = {
        "schema": 1,
        "duration": duration,
        "replicates": 1,
        **more,
        "hops": hops,
        "flows": flows,
    }
    return Scenario(tree)


def hop(
    name: str, rate: str | Tree, delay: str, limit: str | Tree = "unlimited", **more: object
) -> Tree:
    """Returns a hop.

    `rate` is that of a constant link, or a link. `limit` is that of a drop-tail queue, or a queue.
    """
    link = {"kind": "constant", "rate": rate} if isinstance(rate, str) else rate
    queue = {"kind": "droptail", "limit": limit} if isinstance(limit, str) else limit
    return {"name": name, "link": link, "queue": queue, "delay": delay, **more}


def path(
    rate: str | Tree, delay: str, limit: str | Tree = "unlimited", *losses: Tree
) -> list[Tree]:
    """Returns a hop `out` with these impairments and a hop `back` without queueing.

    Each has this delay.
    """
    return [
        hop("out", rate, delay, limit, impairments=list(losses)),
        hop("back", "400 Gbit/s", delay),
    ]


def loss(probability: str, **more: object) -> Tree:
    """Returns independent loss of data behind the link."""
    return {"kind": "iid_loss", "probability": probability, **more}


def tcp(control: str | Tree = "reno", preset: str = "rfc", **parameters: object) -> Tree:
    """Returns a TCP transport, by default with packets of 1000 bytes plus 40 of headers."""
    kind = {"kind": control} if isinstance(control, str) else control
    return {
        "kind": "tcp",
        "control": kind,
        "preset": preset,
        "mss": "1000 bytes",
        "header": "40 bytes",
    } | parameters


def udp(mss: str = "1000 bytes") -> Tree:
    """Returns a UDP transport without headers, so the wire carries what is sent."""
    return {"kind": "udp", "mss": mss, "header": "0 bytes"}


def flow(transport: Tree, name: str = "main", **more: object) -> Tree:
    """Returns a flow out and back."""
    return {"name": name, "route": ["out"], "return": ["back"], "transport": transport, **more}
