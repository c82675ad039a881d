"""A cell of 802.11 as a scenario has it: which queues contend for its medium, with what, and who sends through them.

This reads, and reckons nothing: what follows is for `ackclock.models.edca`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from ackclock import units
from ackclock.models.places import waiting_places

if TYPE_CHECKING:
    from ackclock.models.path import FlowPath


class Timing(NamedTuple):
    """What a medium says; times in s.

    Attributes:
        slot: Of the backoff.
        sifs: Between the frames of an exchange.
        preamble: In front of a data frame.
        control_preamble: In front of RTS, CTS and the MAC's acknowledgement.
        symbol: Sent whole; zero if bits are sent one by one.
        more_bits: Of a frame besides its bytes.
        extension: Behind each frame.
        basic_bit_per_s: Of control frames.
        header_bytes: What a data frame has besides the packet.
        ack_bytes: Of the MAC's acknowledgement.
        retries: After how many a packet is given up.
        eifs: Whether after a collision everybody waits as if it had been answered.
        rts_bytes: From which size on, header included, RTS and CTS come first; infinite for never.
    """

    slot: float
    sifs: float
    preamble: float
    control_preamble: float
    symbol: float
    more_bits: int
    extension: float
    basic_bit_per_s: float
    header_bytes: float
    ack_bytes: float
    retries: int
    eifs: bool
    rts_bytes: float


class Access(NamedTuple):
    """How a queue contends.

    Attributes:
        aifsn: AIFSN.
        cw_min: CWmin.
        cw_max: CWmax.
        bit_per_s: Of its frames of data.
    """

    aifsn: int
    cw_min: int
    cw_max: int
    bit_per_s: float


class Answers(NamedTuple):
    """TCP's ACKs that come back over the medium.

    Attributes:
        access: Of the queue they go through.
        packet_bytes: Of one.
        per_packet: How many there are for each packet of data.
    """

    access: Access
    packet_bytes: float
    per_packet: float


class Sender(NamedTuple):
    """Instances of one flow behind a queue.

    Attributes:
        flow: Its name.
        control: Its congestion control, empty for plain UDP.
        instances: How many are behind each queue.
        packet_bytes: Of its packets, headers included.
        round_trip_s: Without queueing.
        kept_share: Of its window after a loss; one if it does not react.
        most_per_s: What an instance sends at the most, for reasons outside the cell, in packets per second.
        is_busy: Whether it has data to send all the time.
        answers: Its ACKs on the same medium.
    """

    flow: str
    control: str
    instances: int
    packet_bytes: float
    round_trip_s: float
    kept_share: float
    most_per_s: float
    is_busy: bool
    answers: tuple[Answers, ...]


class Contender(NamedTuple):
    """A queue of data, and as many others just like it.

    Attributes:
        hop: Whose queue it is.
        station: Of which station; two queues of one station name it the same.
        queues: How many there are.
        access: How they contend.
        places: How many packets may wait in each, without the one that contends; infinite for any number.
        senders: Who sends through each.
    """

    hop: str
    station: str
    queues: int
    access: Access
    places: float
    senders: tuple[Sender, ...]

    @property
    def flows(self) -> int:
        """Flow instances behind each queue."""
        return sum(sender.instances for sender in self.senders)


@dataclass(frozen=True)
class Cell:
    """A medium and who contends for it with data.

    Attributes:
        timing: See above.
        contenders: In the order of the flows.
        own: Which of them the flow goes through.
        unclear: Why that is not all there is to say about it; empty if it is.
    """

    timing: Timing
    contenders: tuple[Contender, ...]
    own: int
    unclear: str = ""


# AIFSN, and of which windows each access category is (IEEE 802.11-2016 table 9-137), as in the engine: those of the
# physical layer, or from one divisor of aCWmin + 1 to another.
_ACCESS: dict[str, tuple[int, tuple[int, int] | None]] = {
    "background": (7, None), "best_effort": (3, None), "dcf": (2, None), "video": (2, (2, 1)), "voice": (2, (4, 2)),
}  # fmt: skip
_WINDOWS = {"802.11b": (31, 1023)}
_OFDM_WINDOWS = 15, 1023


def cells(scenario: dict[str, Any], paths: list["FlowPath"]) -> list[Cell | None]:
    """Of each flow the cell that its data contend in; None if they do in none.

    Args:
        scenario: Resolved and without a sweep.
        paths: Of its flows, without their cells.
    """
    found: list[Cell | None] = [None] * len(paths)
    for medium in scenario.get("media", []):
        unclear = ""
        gathered: dict[tuple[str, str], tuple[int, list[tuple[int, Sender]]]] = {}
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
    """The hops of a way that contend for that medium."""
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
    medium: dict[str, Any], hop: dict[str, Any], whose: str, queues: int, senders: list[Sender]
) -> Contender:
    station = hop["link"].get("station")
    # Of hops of scope `per_flow` those of one instance belong together, and none to the station of a shared hop.
    named = f"{whose}: {station or hop['name']}" if whose else station or hop["name"]
    places = waiting_places(hop["queue"], inf, senders[0].packet_bytes)
    return Contender(hop["name"], named, queues, _access(medium, hop["link"]), places, tuple(senders))


def _sender(flow: dict[str, Any], path: "FlowPath", instances: int, answers: list[Answers]) -> Sender:
    transport, traffic = flow["transport"], flow["traffic"]
    packet = path.mss_bytes + units.data_bytes(transport["header"])
    most = min(path.link_bit_per_s, path.window_bit_per_s) / 8 / path.mss_bytes if path.mss_bytes else inf
    if path.transport == "tcp" and path.loss > 0 and path.round_trip_s > 0:
        most = min(most, sqrt(1.5 / path.loss) / path.round_trip_s)
    if traffic["kind"] == "cbr":
        most = min(most, units.bit_per_s(traffic["rate"]) / 8 / path.mss_bytes)
    busy = path.is_always_active and traffic["kind"] in ("bulk", "cbr")
    kept = path.kept_share if path.control else 1.0
    return Sender(
        path.flow, path.control, instances, packet, path.round_trip_s, kept, most, busy, tuple(answers)
    )  # fmt: skip


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
