"""What a resolved scenario means to a model: where round-trip time, loss and limits of a flow are worked out.

Everything is of one flow instance, and what it shares with others is said so.

- **Round-trip time**: The propagation delays of both ways and the flow's own extra delay, one data packet's
  serialisation at every hop of the data's way, one ACK's at every hop of the way back. No queueing: this is the
  base round-trip time. With a full queue at the bottleneck it is longer by what the queue holds over the link's
  rate.
- **Loss**: What strikes data packets on the data's way, hop after hop: 1 - (1-p1)(1-p2)... Only random loss counts;
  a full queue's is a consequence of the window and no input. Of a Gilbert-Elliott channel the long-run mean is
  taken, of scheduled loss the mean over the measured time. Loss of ACKs is worked out in the same way along the way
  back.
- **Bottleneck**: The hop of the data's way with the smallest share: its rate over the flow instances that cross it
  (an instance counts as often as it crosses; a hop of scope `per_flow` is crossed by its own alone). Rates are
  those of a constant link, the highest of a Markov or scheduled link; a trace does not count at all. Where a hop of
  the way contends for a medium, no bottleneck is known, and the other hops only cap. Capacity and
  buffer are in full segments with headers. The buffer holds what may wait, without the packet being sent: one
  packet less than the queue's limit if the limit counts that one, what the link sends in that time if the limit is a
  time, and the most that a limit may become that moves.
- **Cell**: If a hop of the data's way contends for a medium: its timing; each queue through which flows send data over
  it, with AIFSN, windows, rate, places and how many just like it there are (a hop of scope `per_flow` has one for each
  instance); the flows behind each, with the size of their packets, headers included, and what they can send at the
  most: by a receiver's window, by hops that do not contend, by random loss at 1.22 segments over the root of the loss
  rate per round trip, or by the rate of plain UDP. TCP's ACKs on the same medium are those of the receiver's steady
  habit, one for each `delayed_ack.every` packets. What a packet waits for the medium is no part of the base
  round-trip time.
- **Link's states**: Of a bottleneck with a Markov link: its rates in full segments with headers, and the mean time it
  stays at each.
- **Feedback**: If a hop of the data's way has a link that follows the bottleneck's: with which algorithm, how long
  after the beginning of a measurement, and which share of it.
- **Competing flows**: All instances that cross the bottleneck, this one included; of a flow whose instances arrive one
  after the other, one. They are alike if all have the same transport with the same control and the same base round-trip
  time, and none arrive. Of arriving instances themselves no model speaks: what they get depends on how many are there.
- **Segments per ACK, b**: How many round trips the window needs to grow by one segment. With growth per ACK it is
  how often the receiver acknowledges; with byte counting an ACK of two segments counts two, and b is one.
- **First timeout, T0**: What RFC 6298 (or the variant chosen) gives when the round-trip time is steady, so that the
  variance term is zero.
- **Transfer**: Its size in segments, the last one counted as full, and infinite for all traffic without an end; the
  timer of a lost SYN, whether there is a handshake, and the initial window. A delayed ACK of the first segment
  costs half the receiver's timer on average if the initial window is a single segment and not every segment is
  acknowledged.
- **Rate controls**: A flow over UDP that has one is what its control says: general AIMD on a rate, TFRC or TFRCP. Its
  feedback has a size of its own on the way back; b, the timeout and the largest window are those of its equation.
- **Caps**: The payload rate of the bottleneck's share, and a receiver's window per base round-trip time. Whatever a
  model says of a flow's goodput, the smaller of it and these two is what `predict` shows.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, nan
from typing import Any, NamedTuple

from ackclock import units
from ackclock.models.cell import Cell, cells
from ackclock.models.places import segments, waiting_places


class RttLaw(NamedTuple):
    """An empirical law of the round-trip time.

    Attributes:
        times_s: Positive.
        weights: How often each was measured.
    """

    times_s: Sequence[float]
    weights: Sequence[float]


class RedThresholds(NamedTuple):
    """Of a queue that drops at random before it is full.

    Attributes:
        low: Segments waiting, without the one being sent, up to which nothing is dropped.
        high: Segments waiting up to which the share dropped rises in a straight line.
        p_max: The share that is dropped there.
        gentle: Whether it rises on from there, and does not jump to one.
    """

    low: float
    high: float
    p_max: float
    gentle: bool


class LinkStates(NamedTuple):
    """A link of several rates, as a Markov chain.

    Attributes:
        segments_per_s: The rates, in this flow's full segments with headers.
        sojourns_s: Mean times in the states, each above zero.
        step_s: The state changes only at multiples of this; zero if at any time.
    """

    segments_per_s: tuple[float, ...]
    sojourns_s: tuple[float, ...]
    step_s: float


class Feedback(NamedTuple):
    """What the sender's host is told of the bottleneck's rate.

    Attributes:
        algorithm: What is made of the measurements.
        lag_s: How long after the beginning of what was measured the host follows it.
        share: Of that rate, what the host may use.
    """

    algorithm: str
    lag_s: float
    share: float


@dataclass(frozen=True)
class FlowPath:
    """One flow's path in the terms of the models.

    Attributes:
        flow: Its name.
        instances: How many there are of it; none if they arrive, as many as are drawn. Everything else is about one of
            them.
        transport: `tcp` or `udp`.
        control: Name of the congestion control, or of the rate control over UDP; empty for plain UDP.
        is_aimd: Whether the control is additive increase, multiplicative decrease.
        growth_segments: Its growth in segments per round trip with b = 1.
        kept_share: What it keeps of the window after a loss.
        recovery: How it recovers from loss, empty for UDP.
        mss_bytes: Payload of a full segment.
        round_trip_s: See above.
        loss: See above.
        segments_per_ack: b, see above.
        first_timeout_s: T0, see above.
        receive_window_segments: The receiver's window, infinite for none.
        link_bit_per_s: The cap on payload by the slowest hop's share.
        is_greedy: Whether there is always data to send.
        is_always_active: Whether it runs from the end of the warm-up at the latest to the end.
        link_varies: Whether the rate of a link on the data's way does.
        loss_is_bursty: Whether data are lost in bursts.
        loss_changes: Whether the loss rate of data changes at given times.
        ack_loss: As loss, of ACKs on the way back.
        has_jitter: Whether packets are delayed at random on either way.
        cubic_c: CUBIC's C in segments per cubic second; not a number for other controls.
        capacity_segments_per_s: The whole bottleneck's rate; infinite if unknown.
        buffer_segments: The bottleneck's; infinite for none.
        queue: Kind of the bottleneck's queue, empty if there is no bottleneck.
        competing: Instances at the bottleneck, at least this one.
        competing_are_alike: See above.
        competing_round_trips: The base round-trip times of these instances, ascending, each with how many have it;
            empty if not known.
        competing_controls: Their controls, ascending; those that arrive say so. Empty if not known.
        red: The bottleneck's thresholds, if it has any.
        transfer_segments: See above.
        initial_window_segments: See above.
        syn_timer_s: See above.
        has_handshake: See above.
        first_delayed_ack_s: See above.
        rtt_law: Round-trip times as they were measured, for models that take more than their mean; None of a scenario.
        propagation_s: The delays of both ways alone; not a number of a capture.
        link_states: The bottleneck's, if its link is a Markov chain.
        feedback: What a host stage before the bottleneck follows; None if there is none.
        initial_threshold_segments: Where slow start ends at first; infinite for nowhere.
        has_hystart: Whether slow start ends when round trips grow longer.
        full_queue_timeout_s: As T0, while the bottleneck's queue is full; not a number of a capture.
        cell: The cell of 802.11 that its data contend in; None if they do in none, and of a capture.
    """

    flow: str
    instances: int | None
    transport: str
    control: str
    is_aimd: bool
    growth_segments: float
    kept_share: float
    recovery: str
    mss_bytes: float
    round_trip_s: float
    loss: float
    segments_per_ack: float
    first_timeout_s: float
    receive_window_segments: float
    link_bit_per_s: float
    is_greedy: bool
    is_always_active: bool
    link_varies: bool
    loss_is_bursty: bool
    loss_changes: bool
    ack_loss: float
    has_jitter: bool
    cubic_c: float
    capacity_segments_per_s: float
    buffer_segments: float
    queue: str
    competing: int
    competing_are_alike: bool
    transfer_segments: float
    initial_window_segments: float
    syn_timer_s: float
    has_handshake: bool
    first_delayed_ack_s: float
    rtt_law: RttLaw | None = None
    propagation_s: float = nan
    link_states: LinkStates | None = None
    feedback: Feedback | None = None
    competing_round_trips: tuple[tuple[float, int], ...] = ()
    competing_controls: tuple[str, ...] = ()
    red: RedThresholds | None = None
    initial_threshold_segments: float = inf
    has_hystart: bool = False
    full_queue_timeout_s: float = nan
    cell: Cell | None = None

    @property
    def window_bit_per_s(self) -> float:
        """The cap by the receiver's window."""
        return self.receive_window_segments * self.mss_bytes * 8 / self.round_trip_s if self.round_trip_s > 0 else inf

    @property
    def full_queue_round_trip_s(self) -> float:
        """The round-trip time while the bottleneck's queue is full."""
        return self.round_trip_s + _waiting_time(self.buffer_segments, self.capacity_segments_per_s)

    @property
    def share_segments(self) -> float:
        """This instance's share of the bandwidth-delay product without queueing."""
        return self.capacity_segments_per_s / self.competing * self.round_trip_s


def loss_and_rtt(path: FlowPath) -> dict[str, float]:
    """The inputs of a model that needs no more."""
    return {"loss": path.loss, "rtt": path.round_trip_s}


class _Crowd(NamedTuple):
    """Who crosses a shared hop.

    Attributes:
        crossings: How many times flow instances do.
        traits: What makes them alike: transport, control (and whether they arrive one after the other) and base
            round-trip time of each.
        round_trips: How many of them have which base round-trip time.
        controls: Of each, in words.
    """

    crossings: int
    traits: frozenset[tuple[str, str, float]]
    round_trips: tuple[tuple[float, int], ...]
    controls: tuple[str, ...]


def flow_paths(scenario: dict[str, Any]) -> list[FlowPath]:
    """The paths of all flows of a resolved scenario without a sweep."""
    crowds = _crowds(scenario)
    paths = [_flow_path(scenario, flow, crowds) for flow in scenario.get("flows", [])]
    return [replace(path, cell=cell) for path, cell in zip(paths, cells(scenario, paths), strict=True)]


def flow_path(scenario: dict[str, Any], flow: dict[str, Any]) -> FlowPath:
    """One flow's path. `scenario` is resolved and without a sweep, `flow` one of its flows."""
    return next(path for path in flow_paths(scenario) if path.flow == flow["name"])


def _crowds(scenario: dict[str, Any]) -> dict[str, _Crowd]:
    """By the hop's name."""
    round_trips: dict[str, Counter[float]] = {}
    traits: dict[str, set[tuple[str, str, float]]] = {}
    controls: dict[str, set[str]] = {}
    for flow in scenario.get("flows", []):
        transport, round_trip = flow["transport"], _base_round_trip(scenario, flow)
        trait = (transport["kind"], repr((transport.get("control"), flow.get("arrivals"))), round_trip)
        control = transport.get("control", transport)["kind"] + (" that arrives" if "arrivals" in flow else "")
        for name in flow["route"]:
            round_trips.setdefault(name, Counter())[round_trip] += int(flow.get("count", 1))
            traits.setdefault(name, set()).add(trait)
            controls.setdefault(name, set()).add(control)
    return {
        name: _Crowd(
            crossings=counts.total(),
            traits=frozenset(traits[name]),
            round_trips=tuple(sorted(counts.items())),
            controls=tuple(sorted(controls[name])),
        )
        for name, counts in round_trips.items()
    }


def _flow_path(scenario: dict[str, Any], flow: dict[str, Any], crowds: dict[str, _Crowd]) -> FlowPath:
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    route = [hops[name] for name in flow["route"]]
    back = [hops[name] for name in flow.get("return", [])]
    transport = flow["transport"]
    mss, header = units.data_bytes(transport["mss"]), units.data_bytes(transport["header"])
    round_trip = _base_round_trip(scenario, flow)
    measured = _latest(scenario["warmup"]), _latest(scenario["duration"])
    bottleneck = _bottleneck(crowds, route, mss, header)
    longest = round_trip + _waiting_time(bottleneck["buffer_segments"], bottleneck["capacity_segments_per_s"])
    on_data, on_acks = _kinds(_struck(route, "data")), _kinds(_struck(back, "acks"))
    return FlowPath(
        flow=flow["name"],
        instances=flow.get("count"),
        transport=transport["kind"],
        mss_bytes=mss,
        round_trip_s=round_trip,
        propagation_s=_propagation(flow, route + back),
        loss=_loss(route, "data", measured),
        is_greedy=flow["traffic"]["kind"] == "bulk",
        is_always_active="arrivals" not in flow
        and flow["stop"] == "end"
        and _latest(flow["start"]) <= _latest(scenario["warmup"]),
        link_varies=any(hop["link"]["kind"] != "constant" for hop in route),
        loss_is_bursty="gilbert_elliott" in on_data,
        loss_changes="scheduled_loss" in on_data,
        ack_loss=_loss(back, "acks", measured),
        has_jitter="jitter" in on_data | on_acks,
        transfer_segments=_transfer(flow["traffic"], mss),
        **bottleneck,
        **_of_control(transport, mss),
        **_of_timers(transport, round_trip, longest),
    )


def _of_control(transport: dict[str, Any], mss: float) -> dict[str, Any]:
    """What a sender and its receiver do with the window or the rate; what stands for nothing, for plain UDP."""
    if transport["kind"] != "tcp":
        return _of_rate_control(transport.get("control", {}), mss)
    control = transport["control"]
    return {
        "control": control["kind"],
        "is_aimd": control["kind"] == "reno",
        "growth_segments": float(control.get("alpha", 1.0)),
        "kept_share": float(control.get("beta", 0.5)),
        "cubic_c": float(control.get("c", nan)),
        "recovery": transport["recovery"],
        "segments_per_ack": _segments_per_ack(transport),
        "receive_window_segments": units.window_packets(transport["receive_window"], mss),
        "initial_window_segments": units.window_packets(transport["initial_window"], mss),
        "initial_threshold_segments": units.window_packets(transport["initial_ssthresh"], mss),
        "has_hystart": bool(control.get("hystart", False)),
    }


def _of_rate_control(control: dict[str, Any], mss: float) -> dict[str, Any]:
    """Where a parameter is not the control's, what stands for none."""
    is_aimd = control.get("kind") == "gaimd"
    return {
        "control": control.get("kind", ""),
        "is_aimd": is_aimd,
        "growth_segments": float(control["increase"]) if is_aimd else 1.0,
        "kept_share": float(control["decrease"]) if is_aimd else 0.5,
        "cubic_c": nan,
        "recovery": "",
        "segments_per_ack": float(control.get("packets_per_ack", control.get("b", 1.0))),  # TFRCP's, TFRC's
        "receive_window_segments": units.window_packets(control.get("receive_window", "unlimited"), mss),
        "initial_window_segments": inf,
    }


def _of_timers(transport: dict[str, Any], round_trip: float, full_queue_round_trip: float) -> dict[str, Any]:
    if transport["kind"] != "tcp":
        timeout = _equations_timeout(transport.get("control", {}), round_trip)
        return {"first_timeout_s": timeout, "syn_timer_s": inf, "has_handshake": False, "first_delayed_ack_s": 0.0}
    delayed = transport["delayed_ack"]
    alone = units.window_packets(transport["initial_window"], units.data_bytes(transport["mss"])) <= 1
    at_once = units.packets(delayed["every"]) <= 1 or units.packets(delayed["quick"]) >= 1
    return {
        "first_timeout_s": _first_timeout(transport, round_trip),
        "full_queue_timeout_s": _first_timeout(transport, full_queue_round_trip),
        "syn_timer_s": units.seconds(transport["rto_initial"]),
        "has_handshake": transport["handshake"],
        "first_delayed_ack_s": units.seconds(delayed["timeout"]) / 2 if alone and not at_once else 0.0,
    }


def _transfer(traffic: dict[str, Any], mss: float) -> float:
    """Of a size of its own; one that is drawn is not given."""
    given = traffic["kind"] == "transfer" and isinstance(traffic["size"], str)
    return float(ceil(units.data_bytes(traffic["size"]) / mss)) if given else inf


def _bottleneck(crowds: dict[str, _Crowd], route: list[dict[str, Any]], mss: float, header: float) -> dict[str, Any]:
    """The hop with the smallest share, in this flow's segments, and who competes there."""

    def crossings(hop: dict[str, Any]) -> int:
        shared = hop.get("scope", "shared") == "shared"
        return crowds[hop["name"]].crossings if shared else sum(1 for other in route if other is hop)

    shares = [(_rate(hop) / crossings(hop), hop) for hop in route]
    share, hop = min(shares, key=lambda one: one[0], default=(inf, {}))
    known = {"link_bit_per_s": share * mss / (mss + header) if mss else 0.0}
    # What it gets of a medium depends on who else contends: which hop is the slowest is not known.
    if share == inf or any(hop["link"]["kind"] == "contender" for hop in route):
        alone = {"competing": 1, "competing_are_alike": True}
        return known | alone | {"capacity_segments_per_s": inf, "buffer_segments": inf, "queue": ""}
    capacity = _rate(hop) / 8 / (mss + header) if mss + header > 0 else inf
    shared = hop.get("scope", "shared") == "shared"
    crowd = crowds[hop["name"]]
    return known | {
        "link_states": _link_states(hop["link"], mss + header),
        "feedback": _feedback(route, hop),
        "capacity_segments_per_s": capacity,
        "buffer_segments": waiting_places(hop["queue"], capacity, mss + header),
        "queue": hop["queue"]["kind"],
        "red": _red(hop["queue"], capacity, mss + header),
        "competing": crossings(hop),
        "competing_are_alike": not shared or len(crowd.traits) == 1,
        "competing_round_trips": crowd.round_trips if shared else (),
        "competing_controls": crowd.controls if shared else (),
    }


def _link_states(link: dict[str, Any], packet_bytes: float) -> LinkStates | None:
    if link["kind"] != "markov" or packet_bytes <= 0:
        return None
    rates = tuple(units.bit_per_s(rate) / 8 / packet_bytes for rate in link["rates"])
    step = units.seconds(link.get("step", "0 s"))
    written = link.get("mean_sojourn")
    if written is None:
        stays = [units.share(row[state]) for state, row in enumerate(link["transition_matrix"])]
        sojourns = [step / (1 - stay) if stay < 1 else inf for stay in stays]
    else:
        each = written if isinstance(written, list) else [written] * len(rates)
        sojourns = [units.seconds(one) for one in each]
    return LinkStates(rates, tuple(sojourns), step)


def _feedback(route: list[dict[str, Any]], bottleneck: dict[str, Any]) -> Feedback | None:
    """Of the first host stage on the way."""
    links = [hop["link"] for hop in route if hop["link"]["kind"] == "feedback"]
    if not links:
        return None
    link = links[0]
    algorithm = link["algorithm"]["kind"]
    if link["from"] != bottleneck["name"]:
        algorithm += f" of {link['from']}, which is not the bottleneck"
    lag = units.seconds(link["delay"]) + units.seconds(link["period"])
    share = units.share(link.get("target_utilisation", 1)) / link.get("sessions", 1)
    return Feedback(algorithm, lag, share)


def _red(queue: dict[str, Any], capacity: float, packet_bytes: float) -> RedThresholds | None:
    """Those that stay as they are: where they are adapted, none are given."""
    if queue["kind"] != "red":
        return None
    low, high = (segments(queue[f"{end}_threshold"], capacity, packet_bytes) for end in ("minimum", "maximum"))
    return RedThresholds(low, high, units.share(queue["maximum_probability"]), bool(queue["gentle"]))


def _waiting_time(places: float, capacity: float) -> float:
    return places / capacity if 0 < capacity < inf else 0.0


def _base_round_trip(scenario: dict[str, Any], flow: dict[str, Any]) -> float:
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    route = [hops[name] for name in flow["route"]]
    back = [hops[name] for name in flow.get("return", [])]
    transport = flow["transport"]
    header = units.data_bytes(transport["header"])
    data = units.data_bytes(transport["mss"]) + header
    answer = units.data_bytes(transport["feedback_size"]) if "feedback_size" in transport else header
    serialisation = sum(
        size * 8 / _rate(hop) for way, size in ((route, data), (back, answer)) for hop in way if _rate(hop)
    )
    return _propagation(flow, route + back) + serialisation


def _middle(written: Any) -> float:
    """The middle of a range in seconds, or the time itself."""
    if isinstance(written, list):
        return (units.seconds(written[0]) + units.seconds(written[-1])) / 2
    return units.seconds(written)


def _latest(written: Any) -> float:
    """The end of a range in seconds, or the time itself."""
    return units.seconds(written[-1] if isinstance(written, list) else written)


def _propagation(flow: dict[str, Any], hops: list[dict[str, Any]]) -> float:
    delays = sum(units.seconds(hop.get("delay", "0 s")) for hop in hops)
    return delays + _middle(flow.get("extra_delay", "0 s"))


def _rate(hop: dict[str, Any]) -> float:
    """Bits per second at the most; infinite for a trace, which is another file's to say."""
    link = hop["link"]
    if link["kind"] == "constant":
        return units.bit_per_s(link["rate"])
    rates = [step["rate"] for step in link["steps"]] if link["kind"] == "scheduled" else link.get("rates", [])
    return max((units.bit_per_s(rate) for rate in rates), default=inf)


def _loss(hops: list[dict[str, Any]], packets: str, measured_s: tuple[float, float]) -> float:
    passed = 1.0
    for impairment in _struck(hops, packets):
        passed *= 1 - _mean_loss(impairment, measured_s)
    return 1 - passed


def _struck(hops: list[dict[str, Any]], packets: str) -> list[dict[str, Any]]:
    """The impairments that strike `data` or `acks`."""
    spared = "acks" if packets == "data" else "data"
    every = (one for hop in hops for one in hop.get("impairments", []))
    return [one for one in every if one.get("applies", "data") != spared]


def _kinds(impairments: list[dict[str, Any]]) -> set[str]:
    return {one["kind"] for one in impairments}


def _mean_loss(impairment: dict[str, Any], measured_s: tuple[float, float]) -> float:
    if impairment["kind"] == "iid_loss":
        return units.share(impairment["probability"])
    if impairment["kind"] == "scheduled_loss":
        return _mean_of_steps(impairment["steps"], *measured_s)
    if impairment["kind"] == "gilbert_elliott":
        into, out = units.share(impairment["good_to_bad"]), units.share(impairment["bad_to_good"])
        bad = into / (into + out) if into + out > 0 else 0.0  # it starts in the good state
        good_loss, bad_loss = units.share(impairment["loss_in_good"]), units.share(impairment["loss_in_bad"])
        return (1 - bad) * good_loss + bad * bad_loss
    return 0.0


def _mean_of_steps(steps: list[dict[str, Any]], from_s: float, until_s: float) -> float:
    """The mean over time of a probability that is zero before the first step."""
    begins = [min(max(units.seconds(step["from"]), from_s), until_s) for step in steps]
    lasts = [end - begin for begin, end in zip(begins, [*begins[1:], until_s], strict=True)]
    shares = [units.share(step["probability"]) for step in steps]
    lost = sum(share * last for share, last in zip(shares, lasts, strict=True))
    return lost / (until_s - from_s) if until_s > from_s else shares[-1]


def _segments_per_ack(transport: dict[str, Any]) -> float:
    every = max(units.packets(transport["delayed_ack"]["every"]), 1.0)
    counted = {"per_ack": 1.0, "bytes_at_most_two_segments": min(every, 2.0), "bytes": every}[
        transport["window_counting"]
    ]
    return every / counted


def _equations_timeout(control: dict[str, Any], round_trip: float) -> float:
    """The timeout in the equation of a rate control, while the round-trip time is steady; infinite without one."""
    match control.get("kind"):
        case "tfrcp":
            return max(round_trip, units.seconds(control["rto_minimum"]))
        case "tfrc":
            return max(4 * round_trip, 1.0 if control["t_rto"] == "four_rtt_or_a_second" else 0.0)
        case _:
            return inf


def _first_timeout(transport: dict[str, Any], round_trip: float) -> float:
    minimum, tick = units.seconds(transport["rto_minimum"]), units.seconds(transport["clock_granularity"])
    if transport["rto_floor"] == "variance":
        timeout = round_trip + max(minimum, tick)
    else:
        timeout = max(minimum, round_trip + tick)
    return min(timeout, units.seconds(transport["rto_maximum"]))
