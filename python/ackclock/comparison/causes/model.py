"""Causes in what a model leaves out."""

import math

from ackclock.comparison.causes.cause import OF_THE_WINDOW, Cause, Evidence, percent
from ackclock.models import Model
from ackclock.models.prediction import predicts


def _assumes(record: Model, name: str) -> bool:
    return any(assumption.name == name for assumption in record.assumptions)


def _violated(evidence: Evidence) -> str:
    prediction = evidence.prediction
    return (
        f"{prediction.model.label}: {prediction.note}"
        if prediction is not None and prediction.violated
        else ""
    )


def _timeouts(evidence: Evidence) -> str:
    prediction, seen = evidence.prediction, evidence.reference_saw.get("timeouts", 0.0)
    share = evidence.share_of_timeouts(seen)
    applies = (
        prediction is not None
        and _assumes(prediction.model, "few_timeouts")
        and "few_timeouts" not in prediction.violated
    )
    if not (applies and evidence.metric in OF_THE_WINDOW and evidence.fits(share)):
        return ""
    return (
        f"{seen:.2g} timeouts per run in {evidence.reference}, which take at least "
        f"{percent(share)} of its time"
    )


def _not_settled(evidence: Evidence) -> str:
    """Looks at how much the run changes over time.

    A longer run approaches the long-run behaviour that models predict. In a saturated cell windows
    say nothing about the rate.
    """
    if evidence.prediction is None or _assumes(evidence.prediction.model, "saturated"):
        return ""
    drift = evidence.reference_saw.get("cwnd_drift", math.nan)
    early = evidence.reference_saw.get("early_retransmissions", math.nan)
    if evidence.metric in (*OF_THE_WINDOW, "rtt") and evidence.fits(drift):
        how = "larger" if drift > 0 else "smaller"
        return (
            f"in {evidence.reference}, the congestion window was {percent(abs(drift))} {how} in "
            "the second half of the measured time"
        )
    if evidence.metric == "retransmissions" and evidence.fits(1 - 2 * early):
        return (
            f"{percent(early)} of the retransmissions in {evidence.reference} were in the first "
            "half of the run"
        )
    return ""


def _round_trips(evidence: Evidence) -> str:
    """Compares round-trip times.

    A rate is a window over a round-trip time, so both are off by the same factor.
    """
    prediction, seen = evidence.prediction, evidence.reference_saw.get("rtt", math.nan)
    if prediction is None or evidence.metric != "goodput" or predicts(prediction.model, "rtt"):
        return ""
    if _assumes(prediction.model, "saturated"):
        return ""  # The rate in a saturated cell is not a window over a round-trip time.
    given = prediction.inputs.get("rtt", math.nan)
    longer = seen / given - 1
    if not evidence.fits(longer):
        return ""
    how = f"{percent(abs(longer))} {'longer' if longer > 0 else 'shorter'}"
    return (
        f"the mean RTT was {seen * 1e3:.4g} ms, {how} than the {given * 1e3:.4g} ms given to the "
        "model"
    )


def _loss(evidence: Evidence) -> str:
    """Compares loss rates: a rate falls with the square root of the loss rate."""
    prediction, seen = evidence.prediction, evidence.reference_saw.get("retransmissions", math.nan)
    if prediction is None or evidence.metric not in OF_THE_WINDOW:
        return ""
    given = prediction.inputs.get("loss", 0.0)
    if not (given > 0 and seen > 0 and evidence.fits(math.sqrt(seen / given) - 1)):
        return ""
    return (
        f"{percent(seen)} of the segments were retransmitted; the model was given a loss rate of "
        f"{percent(given)}"
    )


def _sending_rate(evidence: Evidence) -> str:
    prediction, again = evidence.prediction, evidence.reference_saw.get("retransmissions", 0.0)
    if prediction is None or evidence.metric != "goodput" or not evidence.fits(again):
        return ""
    tells_sent = "sending rate" in prediction.model.output(prediction.model.goodput).meaning
    model = prediction.model.label
    return (
        f"{model} gives the sending rate, {percent(again)} of which was retransmitted"
        if tells_sent
        else ""
    )


VIOLATED_ASSUMPTION = Cause(
    "violated_assumption",
    "The flow violates assumptions of the model, as the scenario shows beforehand.",
    _violated,
)
TIMEOUTS_SEEN = Cause(
    "timeouts_seen", "The model leaves out timeouts, and there were some.", _timeouts
)
NOT_SETTLED = Cause(
    "not_settled",
    "The model describes a long run after slow start; a short run still shows its start.",
    _not_settled,
)
OTHER_ROUND_TRIPS = Cause(
    "other_round_trips",
    "The model is given the round-trip time without queueing and other waiting.",
    _round_trips,
)
OTHER_LOSS = Cause(
    "other_loss",
    "The model is given only the random loss; queues drop packets too, and the losses of a run "
    "vary by chance.",
    _loss,
)
SENDING_RATE = Cause(
    "sending_rate",
    "The model gives the sending rate; goodput counts only data that arrives, once.",
    _sending_rate,
)
