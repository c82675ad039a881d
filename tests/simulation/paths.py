"""Scenarios for these tests, built as trees: a path of one hop out and one hop back, and flows over it."""

from __future__ import annotations

from typing import Any

from ackclock import Scenario

Tree = dict[str, Any]

#: A loss recovery each, as the tests that hold for all of them want it.
RECOVERIES = ("tahoe", "reno", "newreno", "sack")


def scenario(hops: list[Tree], flows: list[Tree], duration: str, **more: object) -> Scenario:
    """A scenario of one replicate unless told otherwise."""
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
    """A hop: `rate` is a constant link's or a whole link, `limit` a drop-tail queue's or a whole queue."""
    link = {"kind": "constant", "rate": rate} if isinstance(rate, str) else rate
    queue = {"kind": "droptail", "limit": limit} if isinstance(limit, str) else limit
    return {"name": name, "link": link, "queue": queue, "delay": delay, **more}


def path(
    rate: str | Tree, delay: str, limit: str | Tree = "unlimited", *losses: Tree
) -> list[Tree]:
    """A hop `out` with these impairments and a hop `back` in which nothing queues; each takes `delay`."""
    return [
        hop("out", rate, delay, limit, impairments=list(losses)),
        hop("back", "400 Gbit/s", delay),
    ]


def loss(probability: str, **more: object) -> Tree:
    """Independent loss of data, behind the link."""
    return {"kind": "iid_loss", "probability": probability, **more}


def tcp(control: str | Tree = "reno", preset: str = "rfc", **parameters: object) -> Tree:
    """A TCP transport with packets of 1000 bytes and 40 of headers unless told otherwise."""
    kind = {"kind": control} if isinstance(control, str) else control
    return {
        "kind": "tcp",
        "control": kind,
        "preset": preset,
        "mss": "1000 bytes",
        "header": "40 bytes",
    } | parameters


def udp(mss: str = "1000 bytes") -> Tree:
    """A UDP transport without headers: what is sent is what the wire carries."""
    return {"kind": "udp", "mss": mss, "header": "0 bytes"}


def flow(transport: Tree, name: str = "main", **more: object) -> Tree:
    """A flow out and back."""
    return {"name": name, "route": ["out"], "return": ["back"], "transport": transport, **more}
