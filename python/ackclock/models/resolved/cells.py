"""The cells of IEEE 802.11 of a resolved scenario."""

from collections.abc import Iterable
from math import inf, isnan, nan, sqrt
from typing import Any

from ackclock.elements import facts
from ackclock.models.cell import Access, Answers, Cell, CellSender, Contender, Timing
from ackclock.models.hstcp_response import kept_share
from ackclock.models.path import Control, FlowPath
from ackclock.models.resolved.queues import waiting_places

Tree = dict[str, Any]

#: Hop and scope of a queue, and the senders behind it with the indices of their flows.
Gathered = dict[tuple[str, str], tuple[int, list[tuple[int, CellSender]]]]


def cells(scenario: Tree, paths: list[FlowPath]) -> list[Cell | None]:
    """Returns, for each flow, the cell in which its data contends; None if it does not contend.

    Args:
        scenario: Resolved and without a sweep.
        paths: Paths of its flows, without their cells.
    """
    cells: list[Cell | None] = [None] * len(paths)
    links = [facts.link(hop) for hop in scenario["hops"]]
    unstated = next((name for name, link in links if link["contends"] is None), "")
    if unstated and facts.media(scenario):
        why = f"{unstated} does not state whether it contends for a medium"
        return [Cell(_UNKNOWN, (), 0, why)] * len(paths)
    for name, medium in facts.media(scenario).items():
        for number, cell in _of_medium(scenario, paths, name, medium["timing"]):
            cells[number] = cell
    return cells


def _of_medium(
    scenario: Tree, paths: list[FlowPath], medium: str, timing: Tree | None
) -> Iterable[tuple[int, Cell]]:
    """Yields the cell of a medium for the index of each flow whose data contends for it."""
    if timing is None or any(timing[name] is None for name in (*timing, *_TIMING)):
        why = f"{medium} does not state its timing"
        for number, flow in enumerate(scenario["flows"]):
            if _contending(scenario, medium, flow["route"]):
                yield number, Cell(_UNKNOWN, (), 0, why)
        return
    unclear, gathered = _gathered(scenario, paths, medium, timing)
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    contenders = tuple(
        _contender(timing, hops[name], whose, queues, [sender for _, sender in senders])
        for (name, whose), (queues, senders) in gathered.items()
    )
    for own, (_, senders) in enumerate(gathered.values()):
        for number, _ in senders:
            yield number, Cell(_timing(timing), contenders, own, unclear)


def _gathered(
    scenario: Tree, paths: list[FlowPath], medium: str, timing: Tree
) -> tuple[str, Gathered]:
    """Returns why a medium's queues do not describe the cell, and the senders behind each."""
    unclear = ""
    gathered: Gathered = {}
    for number, (flow, path) in enumerate(zip(scenario["flows"], paths, strict=True)):
        data, acks = (
            _contending(scenario, medium, flow.get(direction, []))
            for direction in ("route", "return")
        )
        if data or acks:
            unclear = unclear or _unclear(scenario, flow, path, data, acks)
        if data:
            apart = data[0].get("scope") == "per_flow"
            queues, behind = (path.instances or 1, 1) if apart else (1, path.instances or 1)
            sender = _sender(flow, path, behind, [_answers(timing, flow, hop) for hop in acks])
            key = data[0]["name"], flow["name"] if apart else ""
            gathered.setdefault(key, (queues, []))[1].append((number, sender))
    return unclear, gathered


def _contention(hop: Tree) -> Tree:
    """Returns how a hop's link contends; empty if it does not."""
    return facts.link(hop)[1]["contends"] or facts.Facts()


def _contending(scenario: Tree, medium: str, names: Iterable[str]) -> list[Tree]:
    """Returns those of the named hops that contend for a medium."""
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    return [hops[name] for name in names if _contention(hops[name]).get("medium") == medium]


def _unclear(scenario: Tree, flow: Tree, path: FlowPath, data: list[Tree], acks: list[Tree]) -> str:
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    contends = sum(bool(_contention(hops[name])) for name in flow["route"])
    size = facts.traffic(flow)["packet_bytes"]
    is_sized = facts.transport(flow)[1]["answer_bytes"] is not None
    is_sized = is_sized and not isnan(facts.packet_bytes(flow))
    reasons = {
        "arrives over time, so that the number of contenders changes": "arrivals" in flow,
        "contends only with its ACKs": not data,
        "contends more than once on its route": contends > 1,
        "does not state the size of its packets": size is None or not is_sized,
        "has packets that are not full": size not in (None, facts.NONE, path.sender.mss_bytes),
        "is acknowledged over the medium, but not by TCP": bool(acks)
        and path.sender.transport != "tcp",
        f"has an unknown loss rate: {path.loss.unknown}": bool(path.loss.unknown),
    }
    return next((f"{flow['name']} {reason}" for reason, holds in reasons.items() if holds), "")


def _contender(
    timing: Tree, hop: Tree, whose: str, queues: int, senders: list[CellSender]
) -> Contender:
    station = _contention(hop)["station"]
    # Hops of scope `per_flow` of one instance belong together. They do not belong to the station of
    # a shared hop.
    named = f"{whose}: {station or hop['name']}" if whose else station or hop["name"]
    places = waiting_places(facts.queue(hop)[1], inf, senders[0].packet_bytes)
    return Contender(hop["name"], named, queues, _access(timing, hop), places, tuple(senders))


def _sender(flow: Tree, path: FlowPath, instances: int, answers: list[Answers]) -> CellSender:
    steady, mss, round_trip_s = (
        facts.traffic(flow)["steady_bit_per_s"],
        path.sender.mss_bytes,
        path.round_trip.base_s,
    )
    most = min(path.bottleneck.link_bit_per_s, path.window_bit_per_s) / 8 / mss if mss else inf
    if path.sender.transport == "tcp" and path.loss.rate > 0 and round_trip_s > 0:
        most = min(most, sqrt(1.5 / path.loss.rate) / round_trip_s)
    if steady:
        most = min(most, steady / 8 / mss)
    kept, unclear = _kept(path.control)
    return CellSender(
        flow=path.flow,
        control=path.control.name,
        instances=instances,
        packet_bytes=facts.packet_bytes(flow),
        round_trip_s=round_trip_s,
        kept_share=kept,
        most_per_s=most,
        is_busy=path.transfer.is_always_active and _is_busy(steady, path.transfer.is_greedy),
        answers=tuple(answers),
        unclear=unclear,
    )


def _is_busy(steady: Any, is_greedy: bool | None) -> bool | None:
    """Returns True if there is always something to send; None if that is not known."""
    if steady or is_greedy:
        return True
    return None if steady is None else is_greedy


def _kept(control: Control) -> tuple[float, str]:
    """Returns the smallest share of the window kept after a loss, and why it may fall otherwise."""
    if not control.name:
        return 1.0, ""
    share = kept_share(control, 1.0)
    if isnan(share):
        return share, f"{control.name} does not state what share of the window a loss leaves"
    if control.reacts_to_delay is None:
        return share, f"{control.name} does not state whether it reacts to delay"
    return share, f"{control.name} reacts to delay as well" if control.reacts_to_delay else ""


def _answers(timing: Tree, flow: Tree, hop: Tree) -> Answers:
    stated = facts.transport(flow)[1]
    delayed, size = stated["delayed_acks"], stated["answer_bytes"] or nan
    return Answers(_access(timing, hop), float(size), 1 / (delayed["segments"] if delayed else 1))


def _access(timing: Tree, hop: Tree) -> Access:
    contention = _contention(hop)
    low, high = (_window(timing, contention[end]) for end in ("cw_min", "cw_max"))
    return Access(contention["aifsn"], low, high, float(contention["bit_per_s"]))


def _window(timing: Tree, window: Tree) -> int:
    """Returns a contention window in slots."""
    if window["kind"] == "constant":
        return int(window["window"])
    return (int(timing[window["bound"]]) + 1) // int(window["divisor"]) - 1


#: Facts of a medium's timing that the models need.
_TIMING = (
    "slot_s",
    "sifs_s",
    "preamble_s",
    "control_preamble_s",
    "symbol_s",
    "service_and_tail_bits",
    "signal_extension_s",
    "basic_bit_per_s",
    "header_bytes",
    "ack_bytes",
    "retries",
    "eifs",
    "rts_bytes",
)


def _timing(timing: Tree) -> Timing:
    return Timing(
        slot=timing["slot_s"],
        sifs=timing["sifs_s"],
        preamble=timing["preamble_s"],
        control_preamble=timing["control_preamble_s"],
        symbol=timing["symbol_s"],
        more_bits=timing["service_and_tail_bits"],
        extension=timing["signal_extension_s"],
        basic_bit_per_s=float(timing["basic_bit_per_s"]),
        header_bytes=float(timing["header_bytes"]),
        ack_bytes=float(timing["ack_bytes"]),
        retries=timing["retries"],
        eifs=timing["eifs"],
        rts_bytes=inf if timing["rts_bytes"] is facts.NONE else float(timing["rts_bytes"]),
    )


#: The timing of a medium that states none. No model uses it.
_UNKNOWN = Timing(
    slot=nan, sifs=nan, preamble=nan, control_preamble=nan, symbol=nan, more_bits=0, extension=nan,
    basic_bit_per_s=nan, header_bytes=nan, ack_bytes=nan, retries=0, eifs=False, rts_bytes=nan,
)  # fmt: skip
