"""The rate of a flow whose packets are marked with a given probability.

A control that gives up a fixed share of its window for each mark follows the square-root law, with
the share that a mark leaves (Mathis and others 1997; RFC 8511 for its value). A scalable control,
as DCTCP and Prague, gives up half the share of marks in each round trip: its window is 2/p (RFC
9332 appendix A, with two marks per round trip).

The second law supposes a reduction in every round trip. One that waits for a mark after each window
has x = W p from x/2 = 1 + 1/x, or x = 1 + sqrt(3), if marks are independent and growth continues
(derived here).

Letters: p share of marks, R round-trip time (s), alpha growth per round trip (segments), beta share
of the window kept after a mark, b segments acknowledged by one ACK.
"""

import math

import numpy as np

from ackclock.models.accuracy import Accuracy
from ackclock.models.assumptions import needs_tcp
from ackclock.models.domain import AT_LEAST_ONE, BELOW_ONE, UP_TO_ONE
from ackclock.models.model import Array, Assumption, Input, Model, Output
from ackclock.models.path import FlowPath
from ackclock.models.square_root import constant

#: W p of a scalable control that reacts at most once per window, with independent marks.
INDEPENDENT = 1 + math.sqrt(3)


def response(
    marks: Array, rtt: Array, segments_per_ack: Array, additive_increase: Array, kept: Array
) -> dict[str, Array]:
    """Returns all outputs of the model by name, from all its inputs."""
    classic = constant(segments_per_ack, additive_increase, kept) / np.sqrt(marks)
    scalable = 2 / marks
    return {
        "rate": classic / rtt,
        "window": classic,
        "scalable_rate": scalable / rtt,
        "scalable_window": scalable,
        "scalable_window_independent": INDEPENDENT / marks,
    }


def _refusal(path: FlowPath) -> str:
    return needs_tcp(path) or "the share of marks follows from the queue; give it as a number"


MODEL = Model(
    name="mark_response",
    label="response to marks",
    summary="Rates at a share p of marks: C/(R sqrt p) of classic controls, 2/(R p) of others.",
    reference="Mathis, Semke, Mahdavi, Ott 1997; RFC 8511; RFC 9332 appendix A",
    formula="""\
rate = W / R,  W = C / sqrt(p),  C = sqrt(alpha (1 + beta) / (2 b (1 - beta)))
scalable_rate = 2 / (R p);  independent marks, at most one reaction per window: (1 + sqrt 3) / p""",
    inputs=(
        Input("marks", "p", "", "share of packets that are marked", domain=UP_TO_ONE),
        Input("rtt", "R", "s", "round-trip time"),
        Input(
            "segments_per_ack", "b", "segments", "segments acknowledged by one ACK", 1, AT_LEAST_ONE
        ),
        Input(
            "additive_increase", "alpha", "segments",
            "growth of the window per round trip if b = 1", 1,
        ),
        Input("kept", "beta", "", "share of the window kept after a mark", 0.5, BELOW_ONE),
    ),
    outputs=(
        Output("rate", "", "segments/s", "rate of a classic control"),
        Output("window", "W", "segments", "mean window of a classic control"),
        Output("scalable_rate", "", "segments/s", "rate of a scalable control"),
        Output("scalable_window", "", "segments", "mean window of a scalable control"),
        Output(
            "scalable_window_independent", "", "segments",
            "the same if marks are independent and a window has at most one reaction",
        ),
    ),
    goodput="rate",
    assumptions=(
        Assumption("given_marks", "packets are marked independently, whatever the window"),
    ),
    evaluate=response,
    inputs_of=lambda _: {},
    refusal=_refusal,
    accuracy=(
        Accuracy(
            ("rate",),
            0.0,
            "proof",
            "the square-root law and the law of two marks per round trip follow from "
            "the assumption",
        ),
    ),
)  # fmt: skip
