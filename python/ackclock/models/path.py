"""A flow's path in the terms of the models: round-trip time, loss, bottleneck, sender, transfer.

The records say what models may ask about a flow. `ackclock.models.resolved` reads them from a
scenario, and `ackclock.models.capture` from a capture.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import NamedTuple

from ackclock.models.cell import Cell, CellSender, Contender


class RttLaw(NamedTuple):
    """An empirical distribution of the round-trip time.

    Attributes:
        times_s: Positive.
        weights: How often each was measured.
    """

    times_s: Sequence[float]
    weights: Sequence[float]


@dataclass(frozen=True)
class RoundTrip:
    """The round-trip time of a flow instance without queueing.

    It is the propagation delay of both directions, the flow's extra delay, the serialisation of one
    data packet at every hop towards the receiver and of one ACK at every hop back. Waiting for a
    shared medium does not count.

    Attributes:
        base_s: Round-trip time without queueing; of a capture the measured mean, queueing included.
        propagation_s: Propagation and extra delay alone; not a number for a capture.
        has_jitter: Whether packets are delayed at random in either direction; None if unknown.
        law: Measured round-trip times, for models that take more than a mean; None for a scenario.
    """

    base_s: float
    propagation_s: float = nan
    has_jitter: bool | None = False
    law: RttLaw | None = None


@dataclass(frozen=True)
class Loss:
    """Random loss on the path. Drops by a full queue follow from the window and do not count.

    Hops lose independently: the rate is 1 - (1-p1)(1-p2)... A Gilbert-Elliott channel counts with
    its long-run mean, scheduled loss with its mean over the measured time.

    Attributes:
        rate: Share of data packets that is lost towards the receiver.
        ack_rate: Share of ACKs that is lost on the way back.
        is_bursty: Whether data packets are lost in bursts; None if unknown.
        changes: Whether the loss rate of data changes at given times; None if unknown.
        unknown: Why the rates are not known; empty if they are.
    """

    rate: float
    ack_rate: float = 0.0
    is_bursty: bool | None = False
    changes: bool | None = False
    unknown: str = ""


class Thresholds(NamedTuple):
    """The thresholds of a queue that drops at random before it is full.

    Attributes:
        low: Waiting segments, without the one being sent, up to which nothing is dropped.
        high: Waiting segments up to which the share dropped rises in a straight line.
        p_max: The share dropped at `high`.
        gentle: Whether the share rises on from there, instead of jumping to one.
    """

    low: float
    high: float
    p_max: float
    gentle: bool


class LinkStates(NamedTuple):
    """The states of a link whose rate is a Markov chain.

    Attributes:
        segments_per_s: The rates, in this flow's full segments with headers.
        sojourns_s: Mean times in the states, positive.
        step_s: The state changes only at multiples of this; zero if at any time.
    """

    segments_per_s: tuple[float, ...]
    sojourns_s: tuple[float, ...]
    step_s: float


class Feedback(NamedTuple):
    """The bottleneck's rate as it is fed back to the sender's host.

    Attributes:
        algorithm: Name of the algorithm that makes a rate of the measurements.
        lag_s: Time from the beginning of a measurement until the host follows it.
        share: Share of the rate that the host may use.
    """

    algorithm: str
    lag_s: float
    share: float


@dataclass(frozen=True)
class Control:
    """What a congestion control, or the rate control of a flow over UDP, states about itself.

    Attributes:
        name: Name of the control; empty for plain UDP.
        growth: The law by which the window or the rate grows: `linear`, `cubic`, `highspeed` (RFC
            3649), or another; None if unknown.
        growth_segments: Growth in segments per round trip with b = 1; not a number if unknown or
            not constant.
        cubic_c: CUBIC's C in segments per cubic second; not a number for other controls.
        kept: How the share that is kept after a loss is found: `constant`, `by_window`,
            `by_estimate`, or `none` for a control that does not react; None if unknown.
        kept_share: Share of the window or the rate that is kept after a loss; not a number if
            unknown or not constant.
        reacts_to_delay: Whether longer round trips make it send less; None if unknown.
        slow_start_ends_on_delay: Whether slow start ends when round trips grow longer; None if
            unknown.
        equation: The loss rate that its throughput equation is given: `loss_intervals` (TFRC),
            `last_round` (TFRCP); None without an equation, or if unknown.
    """

    name: str = ""
    growth: str | None = None
    growth_segments: float = nan
    cubic_c: float = nan
    kept: str | None = None
    kept_share: float = nan
    reacts_to_delay: bool | None = None
    slow_start_ends_on_delay: bool | None = None
    equation: str | None = None

    @property
    def is_aimd(self) -> bool:
        """Whether it is known to be additive increase, multiplicative decrease."""
        return self.growth == "linear" and self.kept == "constant"

    @property
    def is_reno(self) -> bool:
        """Whether it is known to be AIMD(1, 1/2)."""
        return self.is_aimd and self.growth_segments == 1 and self.kept_share == 0.5

    @property
    def is_highspeed(self) -> bool:
        """Whether it is known to have increase and decrease of RFC 3649."""
        return self.growth == "highspeed" and self.kept == "by_window"

    @property
    def unstated(self) -> str:
        """What of its response to losses it does not state; empty if it states all."""
        if self.growth is None:
            return f"{self.name} does not state how its window grows"
        return (
            ""
            if self.kept is not None
            else f"{self.name} does not state what share of the window a loss leaves"
        )


class Competitor(NamedTuple):
    """Flow instances that cross the bottleneck and are alike in transport, control and base round-trip time.

    Attributes:
        transport: `tcp` or `udp`.
        control: Their congestion or rate control.
        instances: How often they cross; once for a flow whose instances arrive one after the other.
        round_trip_s: Their base round-trip time.
        arrive: Whether they arrive one after the other.
    """

    transport: str
    control: Control
    instances: int
    round_trip_s: float
    arrive: bool = False

    @property
    def name(self) -> str:
        """Name of the control, or of the transport if it has none."""
        return (self.control.name or self.transport) + (" that arrives" if self.arrive else "")


@dataclass(frozen=True)
class Bottleneck:
    """The hop towards the receiver with the smallest share: its rate over the flow instances that cross it.

    An instance counts as often as it crosses. A hop of scope `per_flow` is crossed by its own
    instance alone. The rate is the highest that a link states. A link that follows another one's
    rate does not count. Where a link contends for a medium or states no rate, as a trace does not,
    no bottleneck is known, and the other hops only cap.

    Attributes:
        link_bit_per_s: The cap on payload: the share of the slowest hop.
        segments_per_s: The rate of the whole link in full segments with headers; infinite if
            unknown.
        buffer_segments: Full segments that may wait, without the one being sent; infinite for no
            limit, not a number if unknown. A limit in time counts with what the link sends in that
            time, a limit that moves with its maximum.
        queue: Name of the queue; empty if no bottleneck is known.
        drops: Which packets the queue drops: `tail`, `early` or `head`; None if unknown.
        limit_moves: Whether the limit of the queue does; None if unknown.
        thresholds: Fixed thresholds of random drops, if the queue has any.
        varies: Whether the rate of a link towards the receiver does; None if unknown.
        link_states: The rates of a Markov link.
        feedback: What a host before the bottleneck is told of its rate; None if nothing.
        competitors: All instances that cross, this flow's included; empty if unknown.
    """

    link_bit_per_s: float = inf
    segments_per_s: float = inf
    buffer_segments: float = inf
    queue: str = ""
    drops: str | None = None
    limit_moves: bool | None = None
    thresholds: Thresholds | None = None
    varies: bool | None = False
    link_states: LinkStates | None = None
    feedback: Feedback | None = None
    competitors: tuple[Competitor, ...] = ()

    @property
    def flows(self) -> int:
        """Number of flow instances that cross it; one if unknown."""
        return sum(one.instances for one in self.competitors) or 1

    @property
    def flows_are_alike(self) -> bool:
        """Whether all instances have the same transport, control and base round-trip time."""
        return len(self.competitors) <= 1

    @property
    def round_trips(self) -> tuple[tuple[float, int], ...]:
        """Base round-trip times of the instances, ascending, each with the number that has it."""
        counts: Counter[float] = Counter()
        for one in self.competitors:
            counts[one.round_trip_s] += one.instances
        return tuple(sorted(counts.items()))

    @property
    def is_droptail(self) -> bool:
        """Whether its queue is known to drop at the tail at a limit that stays."""
        return self.drops == "tail" and self.limit_moves is False

    @property
    def drain_s(self) -> float:
        """The time that the link takes to send a full buffer."""
        return self.buffer_segments / self.segments_per_s if 0 < self.segments_per_s < inf else 0.0

    def with_droptail(self, packets: float) -> "Bottleneck":
        """Returns the same hop with a drop-tail queue of that many packets."""
        return replace(
            self,
            buffer_segments=packets,
            queue="droptail",
            drops="tail",
            limit_moves=False,
            thresholds=None,
        )


@dataclass(frozen=True)
class Sender:
    """A sender and its receiver.

    For a rate control over UDP, segments per ACK, timeout and window are those of its throughput
    equation.

    Attributes:
        transport: `tcp` or `udp`.
        control: What sets the window or the rate.
        mss_bytes: Payload of a full segment.
        recovery: Name of the loss recovery; empty for UDP.
        segments_per_ack: b, the round trips in which the window grows by one segment. With growth
            per ACK it is how many segments an ACK answers; with byte counting it is one.
        first_timeout_s: T0, the retransmission timeout while the round-trip time is steady (RFC
            6298 with a variance of zero).
        full_queue_timeout_s: The same while the bottleneck's queue is full; not a number for a
            capture.
        receive_window_segments: The receiver's window, infinite for none.
        initial_threshold_segments: Slow-start threshold at first, infinite for none.
    """

    transport: str
    control: Control
    mss_bytes: float
    recovery: str = ""
    segments_per_ack: float = 1.0
    first_timeout_s: float = inf
    full_queue_timeout_s: float = nan
    receive_window_segments: float = inf
    initial_threshold_segments: float = inf


@dataclass(frozen=True)
class Transfer:
    """The data that a flow has to send, and how a transfer of a given size begins.

    Attributes:
        is_greedy: Whether there is always data to send; None if unknown.
        is_always_active: Whether the flow runs from the end of the warm-up at the latest to the end
            of the run.
        size_segments: Size, the last segment counted as full; infinite for traffic without an end
            or of random size.
        has_handshake: Whether a SYN exchange comes first.
        syn_timer_s: Timer of a lost SYN.
        initial_window_segments: Initial window; infinite for UDP.
        first_delayed_ack_s: Mean wait for the ACK of the first segment: half the receiver's timer
            if that segment is alone and not acknowledged at once.
    """

    is_greedy: bool | None
    is_always_active: bool
    size_segments: float = inf
    has_handshake: bool = False
    syn_timer_s: float = inf
    initial_window_segments: float = inf
    first_delayed_ack_s: float = 0.0


@dataclass(frozen=True)
class FlowPath:
    """One flow's path in the terms of the models. All values are per flow instance unless noted.

    Attributes:
        flow: Name of the flow.
        instances: Number of instances; None if they arrive one after the other, as many as are
            drawn.
        round_trip: Round-trip time.
        loss: Random loss.
        bottleneck: The slowest hop, and who shares it.
        sender: Transport and control.
        transfer: Data to send.
        cell: The cell of IEEE 802.11 that its data contend in; None if they contend in none, and
            for a capture.
    """

    flow: str
    instances: int | None
    round_trip: RoundTrip
    loss: Loss
    sender: Sender
    transfer: Transfer
    bottleneck: Bottleneck = field(default_factory=Bottleneck)
    cell: Cell | None = None

    @property
    def control(self) -> Control:
        """The sender's control."""
        return self.sender.control

    @property
    def window_bit_per_s(self) -> float:
        """The cap on payload by the receiver's window, which is sent once per base round-trip time."""
        round_trip_s = self.round_trip.base_s
        window_bits = self.sender.receive_window_segments * self.sender.mss_bytes * 8
        return window_bits / round_trip_s if round_trip_s > 0 else inf

    @property
    def full_queue_round_trip_s(self) -> float:
        """The round-trip time while the bottleneck's queue is full."""
        return self.round_trip.base_s + self.bottleneck.drain_s

    @property
    def share_segments(self) -> float:
        """This instance's share of the bandwidth-delay product without queueing."""
        return self.bottleneck.segments_per_s / self.bottleneck.flows * self.round_trip.base_s


#: The records, in reading order.
RECORDS = (
    RoundTrip,
    Loss,
    Bottleneck,
    Competitor,
    Sender,
    Control,
    Transfer,
    Cell,
    Contender,
    CellSender,
)


def loss_and_rtt(path: FlowPath) -> dict[str, float]:
    """The inputs of a model that needs only loss rate and round-trip time."""
    return {"loss": path.loss.rate, "rtt": path.round_trip.base_s}
