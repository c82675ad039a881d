"""Causes in definitions: methods do not measure the same thing in the same place."""

from ackclock.comparison.causes.cause import Cause, Evidence

# What a capture knows of a metric, and what the run means by it. Other metrics mean the same in
# both, or are unknown.
_OF_CAPTURES = {
    "goodput": "data acknowledged to the sender; the run counts what the application received",
    "rtt": (
        "from a packet to its ACK at the capture, without retransmissions; the run has the "
        "sender's own measurements"
    ),
    "rtt_p99": "of the round trips in the capture; the run has those that the sender measured",
    "completion_time": (
        "from the first packet to the last ACK; the run ends when the last byte arrives"
    ),
}


def _smoothed(evidence: Evidence) -> str:
    """Measures the effect of smoothing.

    The engine knows both averages, so its own runs give the size.
    """
    others = {evidence.method, evidence.reference} - {"simulate"}
    if evidence.metric != "rtt" or others not in ({"emulate"}, {"predict"}):
        return ""
    engines = evidence.saw if evidence.method == "simulate" else evidence.reference_saw
    if not {"smoothed_rtt", "rtt"} <= engines.keys():
        return ""
    effect = engines["smoothed_rtt"] - engines["rtt"]  # How the other side's number would change.
    if not evidence.fits(
        (-effect if evidence.method == "simulate" else effect) / evidence.reference_mean
    ):
        return ""
    larger = "larger" if effect > 0 else "smaller"
    return (
        f"in the simulation, the mean smoothed RTT is {abs(effect) * 1e3:.2g} ms {larger} than the "
        "mean of all measurements"
    )


def _one_end(evidence: Evidence) -> str:
    return _OF_CAPTURES.get(evidence.metric, "") if evidence.method == "measure" else ""


def _last_ack(evidence: Evidence) -> str:
    predicted = (
        evidence.method == "predict"
        and evidence.metric == "completion_time"
        and evidence.path is not None
    )
    if (
        not predicted
        or evidence.path is None
        or not 0 < evidence.difference.mean <= evidence.path.round_trip.base_s
    ):
        return ""
    after = f"{evidence.path.round_trip.base_s * 1e3:.4g} ms"
    return f"the last ACK arrives up to {after} after the last byte"


SMOOTHED_ROUND_TRIPS = Cause(
    "smoothed_round_trips",
    "Linux reports its smoothed RTT, averaged over time as in models; the simulation averages all "
    "RTT measurements, of which there are more when ACKs are frequent.",
    _smoothed,
)
ONE_END = Cause(
    "measured_at_one_end",
    "A capture shows what passes one place, not what the hosts do.",
    _one_end,
)
LAST_ACK = Cause(
    "last_ack",
    "The model's transfer ends with the last ACK, the simulated one when the last byte arrives.",
    _last_ack,
)
