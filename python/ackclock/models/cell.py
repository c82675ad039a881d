"""A cell of IEEE 802.11: the queues that contend for its medium with data, and the flows behind them."""

from dataclasses import dataclass
from typing import NamedTuple


class Timing(NamedTuple):
    """The timing of a medium, in seconds, and the sizes of its frames.

    Attributes:
        slot: Slot of the backoff.
        sifs: Pause between the frames of an exchange.
        preamble: Preamble of a data frame.
        control_preamble: Preamble of RTS, CTS and the MAC's acknowledgement.
        symbol: A symbol, which is sent whole; zero if bits are sent one by one.
        more_bits: Bits of a frame besides its bytes.
        extension: Silence behind each frame.
        basic_bit_per_s: Rate of control frames.
        header_bytes: What a data frame has besides the packet.
        ack_bytes: Size of the MAC's acknowledgement.
        retries: How often a packet is sent again at most.
        eifs: Whether after a collision everybody waits as if it had been answered.
        rts_bytes: Size, header included, from which on RTS and CTS come first; infinite for never.
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
        per_packet: ACKs per data packet, in the receiver's steady habit: one for each
            `delayed_ack.every` packets.
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
        kept_share: Share of the window that is kept after a loss at least; one if it does not
            react, not a number if unknown.
        most_per_s: Packets per second that an instance sends at most, for reasons outside the cell:
            a receiver's window, hops that do not contend, the rate of plain UDP, or random loss at
            1.22 segments over the root of the loss rate per round trip.
        is_busy: Whether it has data to send all the time; None if unknown.
        answers: Its ACKs on the same medium.
        unclear: Why it is not known how far its window falls; empty if only losses make it fall, by
            a share that is known.
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
    """A queue of data, and all others just like it.

    A hop of scope `per_flow` has a queue for each instance.

    Attributes:
        hop: Name of the queue's hop.
        station: Name of its station; two queues of one station have the same.
        queues: Number of such queues.
        access: Their access parameters.
        places: Packets that may wait in each, without the one that contends; infinite for no limit,
            not a number if unknown.
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
        unclear: Why the contenders do not describe the cell completely; empty if they do.
    """

    timing: Timing
    contenders: tuple[Contender, ...]
    own: int
    unclear: str = ""
