"""The path of a case, as words or as commands for another rig: to make a trace or a capture there.

Commands set the path at the start of a run. What changes during it is listed with its time.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ackclock import units
from ackclock.elements import facts
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.suite import Case, Setup, Suite, is_candidate

_PACKET_BYTES = 1500
# Mahimahi's link delivers packets of this size at each opportunity (mm-link(1)).
_MAHIMAHI_BYTES = 1504


def described(suite: Suite, cases: tuple[Case, ...], rig: str) -> list[str]:
    """Returns lines that say how to set up each run of some cases."""
    lines = []
    for case in cases:
        for setup in case.setups:
            title = ", ".join(filter(None, (f"{case.number} {case.id}", setup.name)))
            lines += [f"# {title}", *_lines(suite, case, setup, rig), ""]
    return lines


def _lines(suite: Suite, case: Case, setup: Setup, rig: str) -> list[str]:
    candidate = Candidate.of_tcp({"kind": "reno"})
    cell = Cell(case.id, setup, suite.paths[0], candidate, 1, 1, suite.least_round_trips)
    tree = cell.scenario().resolve().tree
    rates = facts.link(tree["hops"][0])[1]["steps"] or ()
    first = rates[0]["bit_per_s"] if rates else cell.values.get("rate", 0.0)
    changes = [
        f"# at {step['from_s']:g} s: {units.shown(step['bit_per_s'], 'bit/s')}"
        for step in rates[1:]
        if step["from_s"] < cell.duration_s
    ]
    grid = [
        f"# cells: {path} = {', '.join(map(str, values))}" for path, values in setup.grid.items()
    ]
    waits = [
        f"# at an event: {event.name}" for event in setup.events if event.moment.kind != "time"
    ]
    return [*_words(cell, tree), *changes, *waits, *grid, *RIGS[rig](cell, tree, float(first))]


def _words(cell: Cell, tree: Mapping[str, Any]) -> list[str]:
    lines = [f"# {cell.duration_s:g} s, of which {tree['warmup']} are warm-up"]
    for hop in tree["hops"]:
        impairments = ", ".join(kind for kind, _ in facts.impairments(hop))
        queue = facts.queue(hop)
        limit = facts.whole(hop, "queue", "limit") or ""
        link = facts.whole(hop, "link", "rate") or facts.link(hop)[0]
        extra = f"; {impairments}" if impairments else ""
        lines.append(f"# hop {hop['name']}: {link}, {hop['delay']}, {queue[0]} {limit}{extra}")
    flows = cell.setup.scenario["flows"]
    evaluated = [flow["name"] for flow in flows if is_candidate(facts.whole(flow, "transport"))]
    for flow in tree["flows"]:
        traffic = facts.whole(flow, "traffic", "kind")
        count = flow.get("count") or "arriving"
        control = "yours" if flow["name"] in evaluated else facts.control(flow)[0]
        lines.append(f"# flows {flow['name']}: {count}, {control}, {traffic}")
    return lines


def _limit_bytes(tree: Mapping[str, Any]) -> int:
    """Returns the buffer of the bottleneck in bytes; a megabyte if its queue has no such limit."""
    limit = facts.whole(tree["hops"][0], "queue", "limit")
    quantity = units.parse(limit) if isinstance(limit, str) and limit != "unlimited" else None
    if quantity is None:
        return 1_000_000
    return round(quantity.amount * (_PACKET_BYTES if quantity.base == "packets" else 1))


def _plain(_cell: Cell, _tree: Mapping[str, Any], _rate: float) -> list[str]:
    return []


def _netem(_cell: Cell, tree: Mapping[str, Any], rate: float) -> list[str]:
    """Returns tc(8) commands for the device that leads to the receiver."""
    there, back = (units.seconds(hop["delay"]) * 1e3 for hop in tree["hops"][:2])
    return [
        f"tc qdisc add dev $TO_RECEIVER root handle 1: tbf rate {rate:.0f}bit "
        f"burst {2 * _PACKET_BYTES} limit {_limit_bytes(tree)}",
        f"tc qdisc add dev $TO_RECEIVER parent 1: handle 2: netem delay {there:g}ms limit 100000",
        f"tc qdisc add dev $TO_SENDER root netem delay {back:g}ms limit 100000",
    ]


def _mahimahi(_cell: Cell, tree: Mapping[str, Any], rate: float) -> list[str]:
    """Returns a trace of delivery opportunities and the shells of mm-delay(1) and mm-link(1)."""
    delay_ms = units.seconds(tree["hops"][0]["delay"]) * 1e3
    packets = max(_limit_bytes(tree) // _PACKET_BYTES, 1)
    each_ms = _MAHIMAHI_BYTES * 8e3 / rate
    return [
        f"python3 -c 'for k in range(1000): print(round((k + 1) * {each_ms:g}))' > rate.trace",
        f"mm-delay {delay_ms:.0f} mm-link rate.trace rate.trace "
        f"--uplink-queue=droptail --uplink-queue-args=packets={packets} -- $SENDER",
    ]


#: What writes the commands of a rig, by its name.
RIGS: Mapping[str, Callable[[Cell, Mapping[str, Any], float], list[str]]] = {
    "plain": _plain,
    "netem": _netem,
    "mahimahi": _mahimahi,
}
