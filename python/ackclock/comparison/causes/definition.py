"""Causes that lie in what a number means: ways do not measure the same thing at the same place."""

from ackclock.comparison.causes.cause import Cause, Evidence

__all__ = ["LAST_ACK", "ONE_END", "SMOOTHED_ROUND_TRIPS"]

# What a capture knows of a metric, and what the run itself means by it; the others mean the same,
# or are not known.
_OF_CAPTURES = {
    "goodput": "what the sender's side saw acknowledged; the run counts what the application got",
    "rtt": "from a packet's passing to its ACK's, those sent again left out; the run has the sender's own measurements",
    "rtt_p99": "of the round trips that the capture shows; the run has those that the sender measured",
    "completion_time": "from the first packet to the last ACK; the run has the last byte's arrival",
}


def _smoothed(evidence: Evidence) -> str:
    """The engine knows both, so that the size of this is known: from its own runs."""
    others = {evidence.method, evidence.reference} - {"simulate"}
    if evidence.metric != "rtt" or others not in ({"emulate"}, {"predict"}):
        return ""
    engines = evidence.saw if evidence.method == "simulate" else evidence.reference_saw
    if not {"smoothed_rtt", "rtt"} <= engines.keys():
        return ""
    effect = engines["smoothed_rtt"] - engines["rtt"]  # of the other's way of telling it
    if not evidence.fits(
        (-effect if evidence.method == "simulate" else effect) / evidence.reference_mean
    ):
        return ""
    more = "more" if effect > 0 else "less"
    return f"in simulate the smoothed one's mean over time is {abs(effect) * 1e3:.2g} ms {more} than all measurements'"


def _one_end(evidence: Evidence) -> str:
    return _OF_CAPTURES.get(evidence.metric, "") if evidence.method == "measure" else ""


def _last_ack(evidence: Evidence) -> str:
    told = (
        evidence.method == "predict"
        and evidence.metric == "completion_time"
        and evidence.path is not None
    )
    if (
        not told
        or evidence.path is None
        or not 0 < evidence.difference.mean <= evidence.path.round_trip.base_s
    ):
        return ""
    return f"the last ACK takes up to {evidence.path.round_trip.base_s * 1e3:.4g} ms more than the last byte"


SMOOTHED_ROUND_TRIPS = Cause(
    "smoothed_round_trips",
    "The kernel reports smoothed RTT averaged over time; the engine averages all samples, of "
    "which more come when ACKs are dense.",
    _smoothed,
)
ONE_END = Cause(
    "measured_at_one_end",
    "A capture sees what passes one place, not what the hosts do.",
    _one_end,
)
LAST_ACK = Cause(
    "last_ack",
    "The model's transfer ends with its last ACK, a simulated one with the arrival of its "
    "last byte.",
    _last_ack,
)
