"""What a resolved scenario means to a model: where round-trip time, loss and limits of a flow are worked out.

For one flow instance that has the path to itself as far as queueing goes:

- Round-trip time: the propagation delays of both ways and the flow's own extra delay, one data packet's serialisation
  at every hop of the data's way, one ACK's at every hop of the way back. No queueing.
- Loss: what strikes data packets on the data's way, hop after hop: 1 - (1-p1)(1-p2)... Only random loss counts; a
  full queue's is a consequence of the window and no input.
- Segments per ACK, b: how many round trips the window needs to grow by one segment. With growth per ACK it is how
  often the receiver acknowledges; with byte counting an ACK of two segments counts two, and b is one.
- First timeout, T0: what RFC 6298 (or the variant chosen) gives when the round-trip time is steady, so that the
  variance term is zero.
- Caps: the payload rate of the slowest hop, shared evenly by the flow instances that cross it, and a receiver's
  window per round trip. A Markov link counts with the highest of its rates, a trace not at all.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

from ackclock import quantity


@dataclass(frozen=True)
class FlowPath:
    """One flow's path in the terms of the models.

    Attributes:
        flow: Its name.
        instances: How many there are of it; everything else is about one of them.
        transport: `tcp` or `udp`.
        control: Name of the congestion control, empty for UDP.
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
        ack_loss: As loss, of ACKs on the way back.
        has_jitter: Whether packets are delayed at random on either way.
    """

    flow: str
    instances: int
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
    ack_loss: float
    has_jitter: bool

    @property
    def window_bit_per_s(self) -> float:
        """The cap by the receiver's window."""
        return self.receive_window_segments * self.mss_bytes * 8 / self.round_trip_s if self.round_trip_s > 0 else inf


def flow_paths(scenario: dict[str, Any]) -> list[FlowPath]:
    """The paths of all flows of a resolved scenario without a sweep."""
    return [flow_path(scenario, flow) for flow in scenario.get("flows", [])]


def flow_path(scenario: dict[str, Any], flow: dict[str, Any]) -> FlowPath:
    """One flow's path. `scenario` is resolved and without a sweep, `flow` one of its flows."""
    hops = {hop["name"]: hop for hop in scenario["hops"]}
    route = [hops[name] for name in flow["route"]]
    back = [hops[name] for name in flow.get("return", [])]
    transport = flow["transport"]
    is_tcp = transport["kind"] == "tcp"
    mss, header = quantity.data_bytes(transport["mss"]), quantity.data_bytes(transport["header"])
    round_trip = _round_trip(flow, route, back, mss + header, header)
    control = transport["control"] if is_tcp else {"kind": ""}
    on_data, on_acks = _kinds(_struck(route, "data")), _kinds(_struck(back, "acks"))
    alpha, beta = _increase_and_decrease(control)
    return FlowPath(
        flow=flow["name"],
        instances=flow["count"],
        transport=transport["kind"],
        control=control["kind"],
        is_aimd=control["kind"] == "reno",
        growth_segments=alpha,
        kept_share=beta,
        recovery=transport["recovery"] if is_tcp else "",
        mss_bytes=mss,
        round_trip_s=round_trip,
        loss=_loss(route, "data"),
        segments_per_ack=_segments_per_ack(transport) if is_tcp else 1.0,
        first_timeout_s=_first_timeout(transport, round_trip) if is_tcp else inf,
        receive_window_segments=quantity.window_packets(transport["receive_window"], mss) if is_tcp else inf,
        link_bit_per_s=_link_share(scenario, route) * mss / (mss + header) if mss else 0.0,
        is_greedy=flow["traffic"]["kind"] == "bulk",
        is_always_active=flow["stop"] == "end" and _latest(flow["start"]) <= _latest(scenario["warmup"]),
        link_varies=any(hop["link"]["kind"] != "constant" for hop in route),
        loss_is_bursty="gilbert_elliott" in on_data,
        ack_loss=_loss(back, "acks"),
        has_jitter="jitter" in on_data | on_acks,
    )


def _middle(written: Any) -> float:
    """The middle of a range in seconds, or the time itself."""
    if isinstance(written, list):
        return (quantity.seconds(written[0]) + quantity.seconds(written[-1])) / 2
    return quantity.seconds(written)


def _latest(written: Any) -> float:
    """The end of a range in seconds, or the time itself."""
    return quantity.seconds(written[-1] if isinstance(written, list) else written)


def _round_trip(
    flow: dict[str, Any], route: list[dict[str, Any]], back: list[dict[str, Any]], data: float, ack: float
) -> float:
    propagation = sum(quantity.seconds(hop.get("delay", "0 s")) for hop in route + back)
    serialisation = sum(
        size * 8 / _rate(hop) for way, size in ((route, data), (back, ack)) for hop in way if _rate(hop)
    )
    return propagation + serialisation + _middle(flow.get("extra_delay", "0 s"))


def _rate(hop: dict[str, Any]) -> float:
    """Bits per second at the most; infinite for a trace, which is another file's to say."""
    link = hop["link"]
    if link["kind"] == "constant":
        return quantity.bit_per_s(link["rate"])
    return max((quantity.bit_per_s(rate) for rate in link.get("rates", [])), default=inf)


def _link_share(scenario: dict[str, Any], route: list[dict[str, Any]]) -> float:
    def crossings(name: str) -> int:
        return sum(int(flow.get("count", 1)) * flow["route"].count(name) for flow in scenario["flows"])

    def share(hop: dict[str, Any]) -> float:
        own = hop.get("scope", "shared") != "shared"
        return _rate(hop) / (sum(1 for other in route if other is hop) if own else crossings(hop["name"]))

    return min((share(hop) for hop in route), default=inf)


def _loss(hops: list[dict[str, Any]], packets: str) -> float:
    passed = 1.0
    for impairment in _struck(hops, packets):
        passed *= 1 - _mean_loss(impairment)
    return 1 - passed


def _struck(hops: list[dict[str, Any]], packets: str) -> list[dict[str, Any]]:
    """The impairments that strike `data` or `acks`."""
    spared = "acks" if packets == "data" else "data"
    every = (one for hop in hops for one in hop.get("impairments", []))
    return [one for one in every if one.get("applies", "data") != spared]


def _kinds(impairments: list[dict[str, Any]]) -> set[str]:
    return {one["kind"] for one in impairments}


def _mean_loss(impairment: dict[str, Any]) -> float:
    if impairment["kind"] == "iid_loss":
        return quantity.share(impairment["probability"])
    if impairment["kind"] == "gilbert_elliott":
        into, out = quantity.share(impairment["good_to_bad"]), quantity.share(impairment["bad_to_good"])
        bad = into / (into + out) if into + out > 0 else 0.0  # it starts in the good state
        good_loss, bad_loss = quantity.share(impairment["loss_in_good"]), quantity.share(impairment["loss_in_bad"])
        return (1 - bad) * good_loss + bad * bad_loss
    return 0.0


def _segments_per_ack(transport: dict[str, Any]) -> float:
    every = max(quantity.packets(transport["delayed_ack"]["every"]), 1.0)
    counted = {"per_ack": 1.0, "bytes_at_most_two_segments": min(every, 2.0), "bytes": every}[
        transport["window_counting"]
    ]
    return every / counted


def _first_timeout(transport: dict[str, Any], round_trip: float) -> float:
    minimum, tick = quantity.seconds(transport["rto_minimum"]), quantity.seconds(transport["clock_granularity"])
    if transport["rto_floor"] == "variance":
        timeout = round_trip + max(minimum, tick)
    else:
        timeout = max(minimum, round_trip + tick)
    return min(timeout, quantity.seconds(transport["rto_maximum"]))


def _increase_and_decrease(control: dict[str, Any]) -> tuple[float, float]:
    """Alpha and the share kept of a general AIMD; 1 and 1/2 where it does not say."""
    return float(control.get("alpha", 1.0)), float(control.get("beta", 0.5))
