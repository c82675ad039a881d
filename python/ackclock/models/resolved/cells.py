"""The cells of IEEE 802.11 of a resolved scenario."""

from collections.abc import Iterable
from math import inf, sqrt
from typing import Any

from ackclock import units
from ackclock.models.cell import Access, Answers, Cell, CellSender, Contender, Timing
from ackclock.models.path import FlowPath
from ackclock.models.resolved.queues import waiting_places

__all__ = ["cells"]

# AIFSN, and of which windows each access category is (IEEE 802.11-2016 table 9-137), as in the engine: those of the
# physical layer, or from one divisor of aCWmin + 1 to another.
_ACCESS: dict[str, tuple[int, tuple[int, int] | None]] = {
    "background": (7, None), "best_effort": (3, None), "dcf": (2, None), "video": (2, (2, 1)), "voice": (2, (4, 2)),
}  # fmt: skip
_WINDOWS = {"802.11b": (31, 1023)}
_OFDM_WINDOWS = 15, 1023


def cells(scenario: dict[str, Any], paths: list[FlowPath]) -> list[Cell | None]:
    """Returns for each flow the cell that its data contend in; None if they contend in none.

    Args:
        scenario: Resolved and without a sweep.
        paths: Paths of its flows, without their cells.
    """
    found: list[Cell | None] = [None] * len(paths)
    for medium in scenario.get("media", []):
        unclear = ""
        gathered: dict[tuple[str, str], tuple[int, list[tuple[int, CellSender]]]] = {}
        for number, (flow, path) in enumerate(zip(scenario["flows"], paths, strict=True)):
            data, acks = (_contending(scenario, medium, flow.get(way, [])) for way in ("route", "return"))
            if data or acks:
                unclear = unclear or _unclear(scenario, flow, data, acks)
            if data:
                apart = data[0].get("scope") == "per_flow"
                queues, behind = (path.instances or 1, 1) if apart else (1, path.instances or 1)
                sender = _sender(flow, path, behind, [_answers(medium, flow, hop) for hop in acks])
                key = data[0]["name"], flow["name"] if apart else ""
                gathered.setdefault(key, (queues, []))[1].append((number, sender))
        hops = {hop["name"]: hop for hop in scenario["hops"]}
        contenders = tuple(
            _contender(medium, hops[name], whose, queues, [sender for _, sender in senders])
            for (name, whose), (queues, senders) in gathered.items()
        )
        for own, (_, senders) in enumerate(gathered.values()):
            for number, _ in senders:
                found[number] = Cell(_timing(medium), contenders, own, unclear)
    return found


def _contending(scenario: dict[str, Any], medium: dict[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Returns the hops, of those named, that contend for a medium."""
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    way = (hops[name] for name in names)
    return [hop for hop in way if hop["link"]["kind"] == "contender" and hop["link"]["medium"] == medium["name"]]


def _unclear(
    scenario: dict[str, Any], flow: dict[str, Any], data: list[dict[str, Any]], acks: list[dict[str, Any]]
) -> str:
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    contends = sum(hops[name]["link"]["kind"] == "contender" for name in flow["route"])
    size = flow["traffic"].get("packet_size")
    reasons = {
        "arrives again and again, so that how many contend changes": "arrivals" in flow,
        "contends with nothing but its ACKs": not data,
        "contends more than once on its way": contends > 1,
        "has packets that are not full": size is not None
        and units.data_bytes(size) != units.data_bytes(flow["transport"]["mss"]),
        "is answered over the medium, but not by TCP": bool(acks) and flow["transport"]["kind"] != "tcp",
    }
    return next((f"{flow['name']} {reason}" for reason, holds in reasons.items() if holds), "")


def _contender(
    medium: dict[str, Any], hop: dict[str, Any], whose: str, queues: int, senders: list[CellSender]
) -> Contender:
    station = hop["link"].get("station")
    # Of hops of scope `per_flow` those of one instance belong together, and none to the station of a shared hop.
    named = f"{whose}: {station or hop['name']}" if whose else station or hop["name"]
    places = waiting_places(hop["queue"], inf, senders[0].packet_bytes)
    return Contender(hop["name"], named, queues, _access(medium, hop["link"]), places, tuple(senders))


def _sender(flow: dict[str, Any], path: FlowPath, instances: int, answers: list[Answers]) -> CellSender:
    traffic, mss, round_trip_s = flow["traffic"], path.sender.mss_bytes, path.round_trip.base_s
    most = min(path.bottleneck.link_bit_per_s, path.window_bit_per_s) / 8 / mss if mss else inf
    if path.sender.transport == "tcp" and path.loss.rate > 0 and round_trip_s > 0:
        most = min(most, sqrt(1.5 / path.loss.rate) / round_trip_s)
    if traffic["kind"] == "cbr":
        most = min(most, units.bit_per_s(traffic["rate"]) / 8 / mss)
    return CellSender(
        flow=path.flow,
        control=path.control.name,
        instances=instances,
        packet_bytes=mss + units.data_bytes(flow["transport"]["header"]),
        round_trip_s=round_trip_s,
        kept_share=path.control.kept_share if path.control.name else 1.0,
        most_per_s=most,
        is_busy=path.transfer.is_always_active and traffic["kind"] in ("bulk", "cbr"),
        answers=tuple(answers),
    )


def _answers(medium: dict[str, Any], flow: dict[str, Any], hop: dict[str, Any]) -> Answers:
    transport = flow["transport"]
    every = units.packets(transport["delayed_ack"]["every"]) if "delayed_ack" in transport else 1.0
    return Answers(_access(medium, hop["link"]), units.data_bytes(transport["header"]), 1 / max(every, 1.0))


def _access(medium: dict[str, Any], link: dict[str, Any]) -> Access:
    aifsn, parts = _ACCESS[link["access"]]
    low, high = _WINDOWS.get(medium["profile"], _OFDM_WINDOWS)
    if parts is not None:
        low, high = ((low + 1) // part - 1 for part in parts)
    return Access(
        int(link.get("aifsn", aifsn)), int(link.get("cw_min", low)), int(link.get("cw_max", high)),
        units.bit_per_s(link["rate"]),
    )  # fmt: skip


def _timing(medium: dict[str, Any]) -> Timing:
    times = ("slot", "sifs", "preamble", "control_preamble", "symbol", "signal_extension")
    slot, sifs, preamble, control_preamble, symbol, extension = (units.seconds(medium[name]) for name in times)
    rts = medium.get("rts_threshold")
    return Timing(
        slot=slot,
        sifs=sifs,
        preamble=preamble,
        control_preamble=control_preamble,
        symbol=symbol,
        more_bits=int(medium["service_and_tail_bits"]),
        extension=extension,
        basic_bit_per_s=units.bit_per_s(medium["basic_rate"]),
        header_bytes=units.data_bytes(medium["header"]),
        ack_bytes=units.data_bytes(medium["ack_size"]),
        retries=int(medium["retry_limit"]),
        eifs=bool(medium["eifs"]),
        rts_bytes=inf if rts is None else units.data_bytes(rts),
    )
