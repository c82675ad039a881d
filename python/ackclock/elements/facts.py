"""The facts that elements of a resolved scenario state about themselves.

An element is a transport, control, queue, link, impairment, source of traffic or medium. The engine
computes its facts from its parameters and writes them under `facts`, next to the parameters.
Readers use the facts and never the parameters, whose meaning only the element itself knows. A fact
that is not stated is None, which means unknown. It is `NONE` if the element states that it has no
such thing.
"""

from collections.abc import Iterable, Mapping
from math import nan
from typing import Any, Final, Literal

Tree = Mapping[str, Any]


class Nothing:
    """A fact about something that the element does not have. It is false, and no number."""

    def __bool__(self) -> Literal[False]:
        """Returns False: there is nothing."""
        return False

    def __repr__(self) -> str:
        """Returns the name of its only instance."""
        return "NONE"


NONE: Final = Nothing()


class Facts(dict[str, Any]):
    """Facts by name: None for a fact that is not stated, `NONE` for what the element lacks.

    Facts within facts are read alike.
    """

    def __getitem__(self, name: str) -> Any:
        """Returns a fact."""
        return _read(self.get(name))


def _read(fact: Any) -> Any:
    if isinstance(fact, list):
        return [_read(part) for part in fact]
    if not isinstance(fact, dict):
        return fact
    return NONE if fact == {"kind": "none"} else Facts(fact)


def element(tree: Tree | None) -> Facts:
    """Returns the facts of an element; all unknown for None."""
    return Facts((tree or {}).get("facts") or {})


def kind(tree: Tree | None) -> str:
    """Returns the name of an element; empty for None."""
    return str((tree or {}).get("kind", ""))


def whole(owner: Tree, *fields: str) -> Any:
    """Returns an element as written in the scenario, to show or compare it; None if absent."""
    for field in fields:
        owner = (owner or {}).get(field)  # type: ignore[assignment]
    return owner


def transport(flow: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a flow's transport."""
    return _named_element(flow, "transport")


def mss_bytes(flow: Tree) -> float:
    """Returns the payload of a flow's full packet, in bytes; NaN if it is not stated."""
    return _number(transport(flow)[1]["mss_bytes"])


def packet_bytes(flow: Tree) -> float:
    """Returns the size of a flow's full packet, in bytes; NaN if it is not stated."""
    return mss_bytes(flow) + _number(transport(flow)[1]["header_bytes"])


def control(flow: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a flow's congestion or rate control; without one, no name.

    The name is the one in tables: `kernel:bbr` for the kernel's control of that name, `quinn/cubic`
    for the one of an implementation of QUIC. That states nothing, and neither does a control of
    TCP inside it, `quinn/ackclock:cubic`.
    """
    tree, in_tables = flow.get("transport") or {}, transport(flow)[1]["control_name"] or ""
    if "/" in in_tables or not isinstance(tree.get("control"), Mapping):
        return in_tables, Facts()
    name, stated = _named_element(tree, "control")
    return stated["title"] or name, stated


def only_in_kernel(stated: Facts) -> bool:
    """Returns true if only the Linux kernel can run a control with these facts."""
    linux = stated["linux"]
    if not linux or not stated["title"]:
        return False
    program = linux["program"]
    return not program or not program["object"]


def traffic(flow: Tree) -> Facts:
    """Returns the facts of a flow's traffic."""
    return _named_element(flow, "traffic")[1]


def link(hop: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a hop's link."""
    return _named_element(hop, "link")


def constant_rates(hops: Iterable[Tree]) -> list[float]:
    """Returns the rates of the hops' links, in bit/s; empty if one is not known to be constant."""
    stated = [link(hop)[1] for hop in hops]
    steady = all(facts["varies"] is False and facts["contends"] is NONE for facts in stated)
    rates = [
        float(facts["mean_bit_per_s"]) for facts in stated if facts["mean_bit_per_s"] is not None
    ]
    return rates if steady and len(rates) == len(stated) else []


def queue(hop: Tree) -> tuple[str, Facts]:
    """Returns name and facts of a hop's queue."""
    return _named_element(hop, "queue")


def impairments(hop: Tree) -> list[tuple[str, Facts]]:
    """Returns name and facts of each impairment of a hop."""
    return [(kind(impairment), element(impairment)) for impairment in hop.get("impairments", [])]


def media(scenario: Tree) -> dict[str, Facts]:
    """Returns the facts of the shared media of a scenario, by the name of the medium."""
    return {medium["name"]: element(medium) for medium in scenario.get("shared_media", [])}


def _number(fact: Any) -> float:
    return nan if fact is None else float(fact)


def _named_element(owner: Tree, field: str) -> tuple[str, Facts]:
    tree = owner.get(field)
    return kind(tree), element(tree)
