"""The facts that elements of a resolved scenario state about themselves.

An element is a control, queue, link, impairment, source of traffic or medium. The engine computes
its facts from its parameters and writes them under `facts`, next to the parameters. Readers use the
facts and never the parameters, whose meaning only the element itself knows. A fact that is not
stated is None, which means unknown.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "Facts",
    "constant_rates",
    "control",
    "element",
    "impairments",
    "kind",
    "link",
    "media",
    "queue",
    "traffic",
    "whole",
]

Tree = Mapping[str, Any]


class Facts(dict[str, Any]):
    """Facts by name; None for a fact that is not stated."""

    def __missing__(self, _name: str) -> None:
        """Returns None, for unknown."""
        return


def element(tree: Tree | None) -> Facts:
    """Returns the facts of an element; all unknown for None."""
    return Facts((tree or {}).get("facts") or {})


def kind(tree: Tree | None) -> str:
    """Returns the name of an element; empty for None."""
    return str((tree or {}).get("kind", ""))


def whole(owner: Tree, field: str) -> Any:
    """Returns an element as written in the scenario, to show or compare it; None if absent."""
    return owner.get(field)


def control(transport: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a transport's congestion or rate control; without one, no name.

    The name is the one in tables: `kernel:bbr` for the kernel's control of that name.
    """
    name, stated = _of(transport, "control")
    return stated["title"] or name, stated


def only_in_kernel(stated: Facts) -> bool:
    """Returns true if only the Linux kernel can run a control with these facts."""
    linux = stated["linux"]
    if linux is None or not stated["title"]:
        return False
    program = linux.get("program")
    return program is None or program["object"] is None


def traffic(flow: Tree) -> Facts:
    """Returns the facts of a flow's traffic."""
    return _of(flow, "traffic")[1]


def link(hop: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a hop's link."""
    return _of(hop, "link")


def constant_rates(hops: Iterable[Tree]) -> list[float]:
    """Returns the rates of the hops' links, in bit/s; empty if one is not known to be constant."""
    stated = [link(hop)[1] for hop in hops]
    steady = all(one["varies"] is False and not one["contends"] for one in stated)
    rates = [float(one["mean_bit_per_s"]) for one in stated if one["mean_bit_per_s"] is not None]
    return rates if steady and len(rates) == len(stated) else []


def queue(hop: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a hop's queue."""
    return _of(hop, "queue")


def impairments(hop: Tree) -> list[tuple[str, Facts]]:
    """Returns name and facts of each impairment of a hop."""
    return [(kind(one), element(one)) for one in hop.get("impairments", [])]


def media(scenario: Tree) -> dict[str, Facts]:
    """Returns the facts of the shared media of a scenario, by the name of the medium."""
    return {one["name"]: element(one) for one in scenario.get("shared_media", [])}


def _of(owner: Tree, field: str) -> tuple[str, Facts]:
    tree = owner.get(field)
    return kind(tree), element(tree)
