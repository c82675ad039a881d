"""A flow's path in the terms of the models: round-trip time, loss, bottleneck, sender, transfer.

Models see a flow only through these records. `ackclock.models.resolved` derives them from a
scenario, and `ackclock.models.capture` from a capture.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan
from typing import NamedTuple

from ackclock.elements.facts import NONE, Nothing
from ackclock.models.cell import Cell, CellSender, Contender


class RttLaw(NamedTuple):
    """An empirical distribution of the round-trip time.

    Attributes:
        times_s: Round-trip times in s, positive.
        weights: Number of measurements of each.
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
        base_s: Round-trip time without queueing; for a capture the measured mean, with queueing.
        propagation_s: Propagation and extra delay alone; NaN for a capture.
        back_s: The share of it that the ACKs take on their way; NaN for a capture.
        has_jitter: True if packets are delayed at random in either direction; None if unknown.
        unknown: The reason why the serialisation at a hop is left out; empty if none is.
        law: Measured distribution, for models that use more than a mean; None for a scenario.
    """

    base_s: float
    propagation_s: float = nan
    back_s: float = nan
    has_jitter: bool | None = False
    unknown: str = ""
    law: RttLaw | None = None


@dataclass(frozen=True)
class Loss:
    """Random loss on the path. Drops by a full queue follow from the window and do not count.

    Hops lose independently: the rate is 1 - (1-p1)(1-p2)... A Gilbert-Elliott channel counts with
    its long-run mean, scheduled loss with its mean over the measured time.

    Attributes:
        rate: Share of data packets lost towards the receiver.
        ack_rate: Share of ACKs lost on the return path.
        spacing: How losses of data follow one another: `independent`, `bursty`, `even` for every
            n-th packet; None if unknown.
        changes: True if the loss rate of data changes at given times; None if unknown.
        window_segments: Mean window that the rate allows, by the law of the control; infinite if
            losses do not limit it, NaN if the law is unknown.
        unknown: The reason why the rates are unknown; empty if they are known.
    """

    rate: float
    ack_rate: float = 0.0
    spacing: str | None = "independent"
    changes: bool | None = False
    window_segments: float = inf
    unknown: str = ""


class Thresholds(NamedTuple):
    """The thresholds of a queue that drops at random before it is full.

    Attributes:
        low: Queue length in segments, without the one being sent, up to which nothing is dropped.
        high: Queue length up to which the drop probability rises linearly.
        p_max: Drop probability at `high`.
        gentle: True if the probability continues to rise from there, False if it jumps to one.
    """

    low: float
    high: float
    p_max: float
    gentle: bool


class Steering(NamedTuple):
    """A control law that steers the delay of a queue to a target.

    Attributes:
        law: `random` for an adapted drop probability, `controlled_delay` for CoDel's law.
        target_s: Target of the delay.
        interval_s: Time for which the delay may exceed the target; NaN if the law has none.
    """

    law: str
    target_s: float
    interval_s: float


class Coupling(NamedTuple):
    """A second queue, for low latency, whose marks are coupled to the drops of the other one.

    Attributes:
        joins: Packets that join it: `l4s` for those with ECT(1), `any_ect` for all with ECN.
        ratio: Ratio of its marking probability to the square root of the other's probability.
        classic_target_s: Delay to which the other queue is steered.
    """

    joins: str
    ratio: float
    classic_target_s: float

    def takes(self, codepoint: str) -> bool:
        """Returns True if packets with a codepoint, or with none, join the queue."""
        return codepoint == "ect1" or (self.joins == "any_ect" and codepoint != "")


class LinkStates(NamedTuple):
    """The states of a link whose rate is a Markov chain.

    Attributes:
        segments_per_s: The rates, in this flow's full segments with headers.
        sojourns_s: Mean times in the states, positive.
        step_s: The state changes only at multiples of this; 0 if at any time.
    """

    segments_per_s: tuple[float, ...]
    sojourns_s: tuple[float, ...]
    step_s: float


class Feedback(NamedTuple):
    """Feedback of the bottleneck's rate to the sender's host.

    Attributes:
        algorithm: Name of the algorithm that turns measurements into a rate.
        lag_s: Time from the beginning of a measurement until the host uses it.
        share: Share of the rate that the host may use.
        jumps: True if the host takes a rate at once; False if its rate rises or falls to it.
    """

    algorithm: str
    lag_s: float
    share: float
    jumps: bool = True


class PathModel(NamedTuple):
    """The gains of a control that sends by a model of the path, as BBR does.

    The model is an estimate of the bandwidth and of the smallest round-trip time.

    Attributes:
        startup_rate_gain: Gain of the rate in startup.
        startup_window_gain: Gain of the congestion window in startup.
        startup_full_rounds: Rounds without growth of the bandwidth that end startup.
        drain_rate_gain: Gain of the rate while startup's queue drains.
        window_gain: Gain of the congestion window after startup, outside probes.
        probe_rate_gain: Largest gain of the rate in a probe for bandwidth.
        probe_window_gain: Gain of the congestion window in such a probe.
        probe_rounds: Rounds that such a probe lasts if nothing is lost.
        used_share: Share of the estimated bandwidth that is used.
        rtt_probe_interval_s: Longest time between probes for the smallest round-trip time.
        rtt_probe_time_s: Time for which such a probe keeps little in flight.
        rtt_probe_share: Congestion window of such a probe, as a share of the estimated product.
        rtt_probe_segments: Smallest congestion window of such a probe.
    """

    startup_rate_gain: float
    startup_window_gain: float
    startup_full_rounds: float
    drain_rate_gain: float
    window_gain: float
    probe_rate_gain: float
    probe_window_gain: float
    probe_rounds: float
    used_share: float
    rtt_probe_interval_s: float
    rtt_probe_time_s: float
    rtt_probe_share: float
    rtt_probe_segments: float


class EarlyEnd(NamedTuple):
    """The end, or the change, of the first slow start before a loss.

    Attributes:
        kind: `at_product` if slow start ends at the bandwidth-delay product without queueing,
            `slower` if it goes on more slowly.
        least_acks: Fewest ACKs of a full link in a round trip that tell the product; NaN if it is
            not asked for.
        from_segments: Window from which it is slower; NaN if it is not.
        divisor: Segments acknowledged per segment by which the window then opens; NaN if not.
    """

    kind: str
    least_acks: float = nan
    from_segments: float = nan
    divisor: float = nan


@dataclass(frozen=True)
class Control:
    """The properties that a congestion or rate control states about itself.

    Attributes:
        name: Name of the control; empty for plain UDP.
        growth: The law by which the window or the rate grows: `linear`, `cubic`, `highspeed` (RFC
            3649), `by_path_model`, or another; None if unknown.
        growth_segments: Growth in segments per round trip with b = 1; NaN if unknown, not constant,
            or less in short round trips.
        least_rtt_s: Flows with a shorter round-trip time behave as if theirs were this; 0 if there
            is none, NaN if unknown.
        cubic_c: CUBIC's C in segments per cubic second; NaN if unknown, and for other controls.
        fast_convergence: True if CUBIC lowers its last maximum further after a loss below it; None
            if unknown, and for other controls.
        reno_friendly_speedup: True if CUBIC's Reno-friendly window grows as fast as Reno's once it
            has reached the window before the last loss; None if unknown, and for other controls.
        kept: Rule for the share kept after a loss: `constant`, `by_window`, `by_estimate`, or
            `all` for a control that does not react; None if unknown.
        kept_share: Share of the window or the rate kept after a loss; NaN if unknown or not
            constant.
        kept_after_mark: The same rule after an ECN mark; `by_marks` if the share of marks sets it.
        kept_share_after_mark: The same share after an ECN mark.
        reacts_to_delay: True if it sends less when the round-trip time grows; None if unknown.
        slow_start_ends_early: True if slow start may end before a loss, as by HyStart; None if
            unknown.
        early_end: Window at which it ends or becomes slower; None if no number tells it.
        start_growth: Factor by which the first slow start opens the window in a round trip.
        equation: Loss rate that its throughput equation uses: `loss_intervals` (TFRC), `last_round`
            (TFRCP); `NONE` without an equation, None if unknown.
        path_model: Gains of its model of the path; None if `growth` is another, or if unknown.
    """

    name: str = ""
    growth: str | None = None
    growth_segments: float = nan
    least_rtt_s: float = nan
    cubic_c: float = nan
    fast_convergence: bool | None = None
    reno_friendly_speedup: bool | None = None
    kept: str | None = None
    kept_share: float = nan
    kept_after_mark: str | None = None
    kept_share_after_mark: float = nan
    reacts_to_delay: bool | None = None
    slow_start_ends_early: bool | None = None
    early_end: EarlyEnd | None = None
    start_growth: float = 2.0
    equation: str | Nothing | None = None
    path_model: PathModel | None = None

    @property
    def is_aimd(self) -> bool:
        """True if it is known to be additive increase, multiplicative decrease."""
        return self.growth == "linear" and self.kept == "constant"

    @property
    def is_reno(self) -> bool:
        """True if it is known to be AIMD(1, 1/2)."""
        return self.is_aimd and self.growth_segments == 1 and self.kept_share == 0.5

    @property
    def is_highspeed(self) -> bool:
        """True if it is known to use the increase and decrease of RFC 3649."""
        return self.growth == "highspeed" and self.kept == "by_window"

    @property
    def is_scalable(self) -> bool:
        """True if it is known to have a constant number of marks per round trip, as DCTCP has.

        It grows by a segment per round trip, or as if the round-trip time were `least_rtt_s`.
        """
        grows = self.growth_segments == 1 or self.least_rtt_s > 0
        return self.growth == "linear" and grows and self.kept_after_mark == "by_marks"

    @property
    def is_loss_based(self) -> bool:
        """True if it is known to reduce its window at a loss, and not to react to delay."""
        return self.kept in ("constant", "by_window") and self.reacts_to_delay is False

    @property
    def unstated(self) -> str:
        """The part of its response to losses that it does not state; empty if it states all."""
        if self.growth is None:
            return f"{self.name} does not state how its window grows"
        fast = {"linear": self.growth_segments, "cubic": self.cubic_c}.get(self.growth, 0.0)
        if isnan(fast) and not self.least_rtt_s > 0:
            return f"{self.name} does not state how fast its window grows"
        if self.kept is None:
            return f"{self.name} does not state what share of the window a loss leaves"
        return ""


class Competitor(NamedTuple):
    """Flow instances at the bottleneck that are alike.

    They have the same transport, control, ECN and base round-trip time.

    Attributes:
        transport: `tcp` or `udp`.
        control: Their congestion or rate control.
        instances: Number of times they cross it; one for a flow whose instances arrive.
        round_trip_s: Their base round-trip time.
        arrive: True if they arrive one after the other.
        codepoint: ECN codepoint of their packets: `ect0`, `ect1`, or empty without ECN.
        counts_marks: True if the feedback tells how many packets were marked.
        most_bit_per_s: Most that each sends, with headers: by its traffic, random loss, the receive
            window and the links of its route. NaN if it is unknown.
        stays: True if they always have data to send, from the warm-up to the end of the run; None
            if unknown.
    """

    transport: str
    control: Control
    instances: int
    round_trip_s: float
    arrive: bool = False
    codepoint: str = ""
    counts_marks: bool = False
    most_bit_per_s: float = inf
    stays: bool | None = True

    @property
    def is_responsive(self) -> bool:
        """True if a control adapts what it sends to what the path carries."""
        return self.transport == "tcp" or bool(self.control.name)

    @property
    def is_scalable(self) -> bool:
        """True if the control is known to be scalable, and learns the share of marks."""
        return self.control.is_scalable and self.counts_marks

    @property
    def name(self) -> str:
        """Name of the control, or of the transport if it has none."""
        return (self.control.name or self.transport) + (" that arrives" if self.arrive else "")


@dataclass(frozen=True)
class Bottleneck:
    """The hop towards the receiver with the smallest share, its rate over its flow instances.

    An instance counts as often as it crosses. A hop of scope `per_flow` is crossed by its own
    instance alone. The rate is the highest that a link states; a link that follows another's rate
    does not count. If a link contends for a medium or states no rate, as a trace does not, the
    bottleneck is unknown, and the other hops only cap. So it is if a queue does not state whether
    it limits the rate. A share is what the flows without a control leave, divided equally among
    those that ask for more. An attribute is None if it is unknown, and `NONE` for what the hop
    lacks.

    Attributes:
        link_bit_per_s: The cap on payload: the share of the slowest hop.
        segments_per_s: The rate of the whole link in full segments with headers; infinite if
            unknown.
        buffer_segments: Queue limit in full segments, without the one being sent; infinite for no
            limit, NaN if unknown. A limit in time is converted at the link's rate; an adaptive
            limit counts with its maximum.
        queue: Name of the queue; empty if the bottleneck is unknown.
        unknown: The reason why the bottleneck is unknown; empty if it is known, and for a capture.
        drops: Packets that the queue drops: `tail`, `early` or `head`; None if unknown.
        limit_moves: True if the limit of the queue changes; None if unknown.
        thresholds: Fixed thresholds of random drops.
        steering: The law that steers its delay; `NONE` if there is none, or if flows have their
            own.
        marks: True if the queue marks ECN-capable packets instead of dropping them.
        marks_above_segments: Queue, without the packet being sent, above which every packet is
            marked; NaN if no such threshold is known.
        coupling: The queue for low latency beside its queue.
        varies: True if the rate of a link towards the receiver varies; None if unknown.
        link_states: The rates of a Markov link.
        feedback: Feedback of its rate to a host before it.
        competitors: All instances that cross it, including this flow's; empty if unknown.
        hop: Name of the hop; empty if unknown.
        acks_share: Share of its rate that ACKs of other flows may take.
        filled_by: The competitor with the most data at a hop on the route that all flows fill with
            what they send on average; empty if there is room at every hop.
        other_places: Fewest segments that the queue of another hop towards the receiver holds,
            without the one being sent; infinite without one or a limit, NaN if unknown.
    """

    link_bit_per_s: float = inf
    segments_per_s: float = inf
    buffer_segments: float = inf
    queue: str = ""
    unknown: str = ""
    drops: str | None = None
    limit_moves: bool | None = None
    thresholds: Thresholds | Nothing | None = None
    steering: Steering | Nothing | None = None
    marks: bool | None = None
    marks_above_segments: float = nan
    coupling: Coupling | Nothing | None = None
    varies: bool | None = False
    link_states: LinkStates | Nothing | None = None
    feedback: Feedback | Nothing | None = None
    competitors: tuple[Competitor, ...] = ()
    hop: str = ""
    acks_share: float = 0.0
    filled_by: str = ""
    other_places: float = inf

    @property
    def flows(self) -> int:
        """Number of flow instances that cross it; one if unknown."""
        return sum(other.instances for other in self.competitors) or 1

    @property
    def flows_are_alike(self) -> bool:
        """True if all instances that cross it are alike."""
        return len(self.competitors) <= 1

    @property
    def round_trips(self) -> tuple[tuple[float, int], ...]:
        """Base round-trip times of the instances, ascending, each with its number of instances."""
        counts: Counter[float] = Counter()
        for other in self.competitors:
            counts[other.round_trip_s] += other.instances
        return tuple(sorted(counts.items()))

    @property
    def is_droptail(self) -> bool:
        """True if its queue is known to drop at the tail, at a fixed limit."""
        return self.drops == "tail" and self.limit_moves is False

    @property
    def marks_flows(self) -> bool | None:
        """True if its queue marks packets of a flow that crosses it; None if unknown."""
        return self.marks if any(other.codepoint for other in self.competitors) else False

    @property
    def drain_s(self) -> float:
        """Time that the link takes to send a full buffer."""
        return self.buffer_segments / self.segments_per_s if 0 < self.segments_per_s < inf else 0.0

    def with_droptail(self, packets: float) -> "Bottleneck":
        """Returns the same hop with a drop-tail queue of that many packets."""
        return replace(
            self,
            buffer_segments=packets,
            queue="droptail",
            drops="tail",
            limit_moves=False,
            thresholds=NONE,
            steering=NONE,
            marks=False,
            marks_above_segments=nan,
            coupling=NONE,
        )


@dataclass(frozen=True)
class AckPath:
    """The way back of a flow's ACKs.

    Attributes:
        load: Largest share of a link's rate that ACKs need, of what others leave, if data arrives
            as fast as it may; infinite if data fills the link.
        hop: Name of that hop; empty if there is none.
        filled_by: Name of the flow whose data fills the hop in the direction of the ACKs.
        unknown: The reason why the load is unknown; empty if it is known.
    """

    load: float = 0.0
    hop: str = ""
    filled_by: str = ""
    unknown: str = ""


@dataclass(frozen=True)
class Sender:
    """A sender and its receiver.

    For a rate control over UDP, segments per ACK, timeout and window are those of its throughput
    equation.

    Attributes:
        transport: `tcp` or `udp`.
        control: Control of the window or the rate.
        mss_bytes: Payload of a full segment.
        recovery: Name of the loss recovery; empty for UDP.
        segments_per_ack: b, the round trips in which the window grows by one segment. With growth
            per ACK it is the number of segments per ACK; with byte counting it is one.
        segments_acked: Full segments that an ACK covers; more if the receiver's timer sends it.
        first_timeout_s: T0, the retransmission timeout at a constant round-trip time (RFC 6298 with
            a variance of zero).
        full_queue_timeout_s: The same while the bottleneck's queue is full; NaN for a capture.
        receive_window_segments: The receive window; infinite for none.
        read_bit_per_s: Rate at which the receiver's application reads; infinite if it reads at
            once.
        initial_threshold_segments: Initial slow-start threshold; infinite for none.
        codepoint: ECN codepoint of its packets: `ect0`, `ect1`, or empty without ECN.
        counts_marks: True if the feedback tells how many packets were marked.
        bursts: True if it hands several segments to its link at once, as with segmentation
            offload; None if unknown.
    """

    transport: str
    control: Control
    mss_bytes: float
    recovery: str = ""
    segments_per_ack: float = 1.0
    segments_acked: float = 1.0
    first_timeout_s: float = inf
    full_queue_timeout_s: float = nan
    receive_window_segments: float = inf
    read_bit_per_s: float = inf
    initial_threshold_segments: float = inf
    codepoint: str = ""
    counts_marks: bool = False
    bursts: bool | None = False


@dataclass(frozen=True)
class Transfer:
    """The data of a flow, and the beginning of a transfer of given size.

    Attributes:
        is_greedy: True if there is always data to send; None if unknown.
        is_always_active: True if the flow runs from the end of the warm-up, or earlier, to the end
            of the run.
        size_segments: Size, with the last segment counted as full; infinite for unlimited or random
            size, NaN if unknown.
        has_handshake: True if a SYN exchange comes first.
        syn_timer_s: Retransmission timer of a SYN.
        initial_window_segments: Initial window; infinite for UDP.
        settles_s: Time from the flow's start to the end of the warm-up; infinite for a capture.
        measured_s: Time from there to the end of the run; infinite for a capture.
        runs: Runs over which results are averaged.
        first_delayed_ack_s: Mean delay of the ACK of the first segment. It is half the receiver's
            timer if that segment is alone and not acknowledged at once.
        is_asked_for: True if a client asks for the data, request by request.
        resumes: True if it may begin with the window of an earlier connection.
    """

    is_greedy: bool | None
    is_always_active: bool
    size_segments: float = inf
    has_handshake: bool = False
    syn_timer_s: float = inf
    initial_window_segments: float = inf
    settles_s: float = inf
    measured_s: float = inf
    runs: int = 1
    first_delayed_ack_s: float = 0.0
    is_asked_for: bool = False
    resumes: bool = False


@dataclass(frozen=True)
class FlowPath:
    """One flow's path in the terms of the models. All values are per flow instance unless noted.

    Attributes:
        flow: Name of the flow.
        instances: Number of instances; None if they arrive at random.
        round_trip: Round-trip time.
        loss: Random loss.
        bottleneck: The slowest hop, and the instances that share it.
        acks: The way back of its ACKs.
        sender: Transport and control.
        transfer: Data to send.
        cell: The cell of IEEE 802.11 in which its data contends; None if it does not contend, and
            for a capture.
    """

    flow: str
    instances: int | None
    round_trip: RoundTrip
    loss: Loss
    sender: Sender
    transfer: Transfer
    bottleneck: Bottleneck = field(default_factory=Bottleneck)
    acks: AckPath = field(default_factory=AckPath)
    cell: Cell | None = None

    @property
    def control(self) -> Control:
        """The sender's control."""
        return self.sender.control

    @property
    def window_bit_per_s(self) -> float:
        """Cap on payload by the receive window, sent once per base round-trip time."""
        round_trip_s = self.round_trip.base_s
        window_bits = self.sender.receive_window_segments * self.sender.mss_bytes * 8
        return window_bits / round_trip_s if round_trip_s > 0 else inf

    @property
    def full_queue_round_trip_s(self) -> float:
        """Round-trip time while the bottleneck's queue is full."""
        return self.round_trip.base_s + self.bottleneck.drain_s

    @property
    def share_segments(self) -> float:
        """This instance's share of the bandwidth-delay product without queueing."""
        bottleneck, mss_bits = self.bottleneck, self.sender.mss_bytes * 8
        if bottleneck.segments_per_s == inf or not mss_bits:
            return inf
        return bottleneck.link_bit_per_s / mss_bits * self.round_trip.base_s


#: The records, in reading order.
RECORDS = (
    RoundTrip,
    Loss,
    Bottleneck,
    Competitor,
    AckPath,
    Sender,
    Control,
    PathModel,
    Transfer,
    Cell,
    Contender,
    CellSender,
)


def loss_and_rtt(path: FlowPath) -> dict[str, float]:
    """Returns the inputs of a model that needs only loss rate and round-trip time."""
    return {"loss": path.loss.rate, "rtt": path.round_trip.base_s}
