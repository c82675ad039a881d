"""A cell of IEEE 802.11: the queues with data that contend for its medium, and their flows."""

from dataclasses import dataclass
from typing import NamedTuple


class Timing(NamedTuple):
    """The timing of a medium in seconds, and the sizes of its frames.

    Attributes:
        slot: Slot of the backoff.
        sifs: Pause between the frames of an exchange.
        preamble: Preamble of a data frame.
        control_preamble: Preamble of RTS, CTS and the MAC's acknowledgement.
        symbol: Duration of a symbol; frames take whole symbols. Zero if bits are sent one by one.
        more_bits: Bits of a frame besides its bytes.
        extension: Silence after each frame.
        basic_bit_per_s: Rate of control frames.
        header_bytes: Header bytes of a data frame.
        ack_bytes: Size of the MAC's acknowledgement.
        retries: Largest number of retransmissions of a packet.
        eifs: True if after a collision all stations wait as if the frame had been acknowledged.
        rts_bytes: Smallest frame size, with header, that uses RTS and CTS; infinite for never.
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
    """The access parameters of a queue.

    Attributes:
        aifsn: AIFSN.
        cw_min: CWmin.
        cw_max: CWmax.
        bit_per_s: Rate of its data frames.
    """

    aifsn: int
    cw_min: int
    cw_max: int
    bit_per_s: float


class Answers(NamedTuple):
    """TCP's ACKs that come back over the medium.

    Attributes:
        access: Access parameters of their queue.
        packet_bytes: Size of an ACK.
        per_packet: ACKs per data packet in steady state: one for each `delayed_ack.every` packets.
    """

    access: Access
    packet_bytes: float
    per_packet: float


class CellSender(NamedTuple):
    """Instances of one flow behind a queue.

    Attributes:
        flow: Name of the flow.
        control: Name of its control; empty for plain UDP.
        instances: Number of instances behind each queue.
        packet_bytes: Size of its packets, headers included.
        round_trip_s: Round-trip time without queueing.
        kept_share: Smallest share of the window kept after a loss; one if it does not react, NaN if
            unknown.
        most_per_s: Largest packet rate of an instance, for reasons outside the cell: the receive
            window, hops that do not contend, the rate of plain UDP, or random loss. Random loss
            limits it to 1.22 segments over the root of the loss rate per round trip.
        is_busy: True if it has data to send all the time; None if unknown.
        answers: Its ACKs on the same medium.
        unclear: The reason why the depth of its window reductions is unknown; empty if only losses
            reduce it, by a known share.
    """

    flow: str
    control: str
    instances: int
    packet_bytes: float
    round_trip_s: float
    kept_share: float
    most_per_s: float
    is_busy: bool | None
    answers: tuple[Answers, ...]
    unclear: str = ""


class Contender(NamedTuple):
    """A queue with data, and all other queues identical to it.

    A hop of scope `per_flow` has a queue for each instance.

    Attributes:
        hop: Name of the queue's hop.
        station: Name of its station; two queues of one station have the same.
        queues: Number of such queues.
        access: Their access parameters.
        places: Queue limit in packets, without the one that contends; infinite for no limit, NaN if
            unknown.
        senders: The flows behind each.
    """

    hop: str
    station: str
    queues: int
    access: Access
    places: float
    senders: tuple[CellSender, ...]

    @property
    def flows(self) -> int:
        """Number of flow instances behind each queue."""
        return sum(sender.instances for sender in self.senders)


@dataclass(frozen=True)
class Cell:
    """A medium and the queues that contend for it with data.

    Attributes:
        timing: Timing of the medium.
        contenders: Queues, in the order of the flows.
        own: Index of the flow's own queue.
        unclear: The reason why the contenders do not describe the whole cell; empty if they do.
    """

    timing: Timing
    contenders: tuple[Contender, ...]
    own: int
    unclear: str = ""
