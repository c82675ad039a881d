"""Causes that lie in what a model leaves out."""

import math

from ackclock.comparison.causes.cause import OF_THE_WINDOW, Cause, Evidence, percent
from ackclock.comparison.predicted import told_by
from ackclock.metrics import metric
from ackclock.models import Model

__all__ = [
    "NOT_SETTLED", "OTHER_LOSS", "OTHER_ROUND_TRIPS", "SENDING_RATE", "TIMEOUTS_SEEN",
    "VIOLATED_ASSUMPTION",
]  # fmt: skip


def _assumes(record: Model, name: str) -> bool:
    return any(one.name == name for one in record.assumptions)


def _violated(evidence: Evidence) -> str:
    said = evidence.prediction
    return f"{said.model.label}: {said.note}" if said is not None and said.violated else ""


def _timeouts(evidence: Evidence) -> str:
    said, seen = evidence.prediction, evidence.reference_saw.get("timeouts", 0.0)
    share = evidence.share_of_timeouts(seen)
    applies = (
        said is not None
        and _assumes(said.model, "few_timeouts")
        and "few_timeouts" not in said.violated
    )
    if not (applies and evidence.metric in OF_THE_WINDOW and evidence.fits(share)):
        return ""
    return f"{evidence.reference} had {seen:.2g} timeouts a run, which take {percent(share)} of its time at least"


def _not_settled(evidence: Evidence) -> str:
    """Time brings a run nearer to what is said of a long one; of a cell that is always busy windows say nothing."""
    if evidence.prediction is None or _assumes(evidence.prediction.model, "saturated"):
        return ""
    drift = evidence.reference_saw.get("cwnd_drift", math.nan)
    early = evidence.reference_saw.get("early_retransmissions", math.nan)
    if evidence.metric in (*OF_THE_WINDOW, "rtt") and evidence.fits(drift):
        how = "larger" if drift > 0 else "smaller"
        return f"{evidence.reference}'s window was {percent(abs(drift))} {how} in the second half of the measured time"
    if evidence.metric == "retransmissions" and evidence.fits(1 - 2 * early):
        return f"{percent(early)} of what was sent again in {evidence.reference} was so in the first half of the run"
    return ""


def _round_trips(evidence: Evidence) -> str:
    """A rate is a window over a round-trip time: it is off by as much as that."""
    said, seen = evidence.prediction, evidence.reference_saw.get("rtt", math.nan)
    if said is None or evidence.metric != "goodput" or told_by(said.model, metric("rtt")):
        return ""
    if _assumes(said.model, "saturated"):
        return ""  # the rate of a cell that is always busy is no window over a round-trip time
    given = said.inputs.get("rtt", math.nan)
    longer = seen / given - 1
    if not evidence.fits(longer):
        return ""
    how = f"{percent(abs(longer))} {'longer' if longer > 0 else 'shorter'}"
    return f"round trips took {seen * 1e3:.4g} ms on average, {how} than the {given * 1e3:.4g} ms the model was given"


def _loss(evidence: Evidence) -> str:
    """A rate falls with the root of the loss, so that it is off by the root of what the loss is off."""
    said, seen = evidence.prediction, evidence.reference_saw.get("retransmissions", math.nan)
    if said is None or evidence.metric not in OF_THE_WINDOW:
        return ""
    given = said.inputs.get("loss", 0.0)
    if not (given > 0 and seen > 0 and evidence.fits(math.sqrt(seen / given) - 1)):
        return ""
    return f"{percent(seen)} of the segments were sent again, the model was given a loss of {percent(given)}"


def _sending_rate(evidence: Evidence) -> str:
    said, again = evidence.prediction, evidence.reference_saw.get("retransmissions", 0.0)
    if said is None or evidence.metric != "goodput" or not evidence.fits(again):
        return ""
    tells_sent = "sending rate" in said.model.output(said.model.goodput).meaning
    return (
        f"{said.model.label} tells what is sent, {percent(again)} of which was sent again"
        if tells_sent
        else ""
    )


VIOLATED_ASSUMPTION = Cause(
    "violated_assumption",
    "The flow violates an assumption of the model, as the scenario already shows.",
    _violated,
)
TIMEOUTS_SEEN = Cause("timeouts_seen", "The model omits timeouts, and some occurred.", _timeouts)
NOT_SETTLED = Cause(
    "not_settled",
    "The model describes a long run past slow start; a short run still shows its beginning.",
    _not_settled,
)
OTHER_ROUND_TRIPS = Cause(
    "other_round_trips",
    "The model uses the round-trip time without queueing.",
    _round_trips,
)
OTHER_LOSS = Cause(
    "other_loss",
    "The model uses the random loss alone; queues overflow as well, and random losses vary "
    "from run to run.",
    _loss,
)
SENDING_RATE = Cause(
    "sending_rate",
    "The model gives the sending rate; goodput counts what arrives once.",
    _sending_rate,
)
