"""Figure 3: the estimates of one sender on a link with random loss."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, Setting, words
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    AS_IT_CAME,
    BE,
    CRB,
    CUBIC,
    DURATION_S,
    NEWRENO,
    PLUS,
    RE,
    STANDARD,
    WARMUP_S,
    Control,
    NewReno,
    scenario,
    settings,
    tcp,
)

LOSS = 0.01
PATH = one_bottleneck(5, loss=LOSS)
CONTROLS = (BE, RE, CRB, ABSE, ABSE_LATER, PLUS, NEWRENO, CUBIC)
FLOW = "sender"

#: The value at which RE "settles at about", in Mbit/s: printed. An unpublished reference simulation
#: had 2.9 to 3.0, and for BE 3.8 to 4.1.
RE_READS = words.about("2.4")

#: Losses are few, so there are many replicates.
REPLICATES = 20


class Sender(NamedTuple):
    """A control with its recovery and send jitter.

    Attributes:
        name: Name in tables.
        control: Congestion control.
        newreno: Recovery.
        jitter_s: Send jitter in seconds: see `tcp`.
    """

    name: str
    control: Control
    newreno: NewReno = STANDARD
    jitter_s: float | None = None


_ESTIMATING = (BE, RE, ABSE, ABSE_LATER)
SENDERS = (
    *(Sender(control.label, control) for control in CONTROLS),
    *(
        Sender(f"{control.label}, trains broken up", control, jitter_s=JITTER_S)
        for control in _ESTIMATING
    ),
    *(Sender(f"{control.label}, ns-2 as it came", control, AS_IT_CAME) for control in _ESTIMATING),
)


def runs() -> Mapping[str, Run]:
    """Returns runs of every sender."""
    flows = {
        sender.name: tcp(
            FLOW, sender.control, PATH, newreno=sender.newreno, jitter_s=sender.jitter_s
        )
        for sender in SENDERS
    }
    return {
        name: Run(scenario(name, PATH, [flow], replicates=REPLICATES))
        for name, flow in flows.items()
    }


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares mean estimates, each of a sender that uses it, under the same packet losses."""
    be, re = (
        over_time.mean_estimates(results[control.label], FLOW, WARMUP_S, DURATION_S)
        for control in (BE, RE)
    )
    available = PATH.rate_mbit_per_s
    nearer = interval(np.abs(np.subtract(re, available)) - np.abs(np.subtract(be, available)))
    claims = (
        Claim.of(
            "3b: RE settles at about 2.4 Mbit/s", interval(re), RE_READS, "Mbit/s",
            documented=False,
            why="RE reads what is sent, and with RE's window that is two thirds of the link",
        ),
        Claim.of(
            f"3b: it underestimates the fair share, {available:g} Mbit/s", interval(re),
            Band(most=available), "Mbit/s", than=available,
        ),
        Claim.of(
            "3a: BE is more accurate: its estimate is nearer to what is available, by", nearer,
            Band(0.0), "Mbit/s", than=0.0,
        ),
    )  # fmt: skip
    rows: Rows = {
        (name,): over_time.told_and_got(result, FLOW, WARMUP_S, DURATION_S)
        for name, result in results.items()
    }
    own = (
        Setting(
            "loss",
            f"{100 * LOSS:g} % of the data packets, independently, behind the link",
            Origin.PRINTED,
        ),
        Setting("send jitter, trains broken up", JITTER, Origin.GUESSED),
    )
    return Outcome(
        basis(),
        (),
        partial(_draw, results),
        claims,
        settings(PATH, results, own=own),
        (measured("One sender", ("control",), rows),),
    )


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [plot.Curve("available", [0, DURATION_S], [PATH.rate_mbit_per_s] * 2, "reference")]
    for control in (BE, RE):
        curves.append(plot.Curve(control.label, *over_time.estimate(results[control.label], FLOW)))
    return plot.curves(
        curves,
        "time (s)",
        "rate estimate (Mbit/s)",
        "Estimates of one sender on 5 Mbit/s, 1 % loss",
    )


EXPERIMENT = entry(
    "3",
    "How accurate are BE and RE if packets are lost at random?",
    "One sender on 5 Mbit/s with 1 % random loss: RE estimates two thirds of the available rate, "
    "BE more.",
    6.0,
    conclude,
    runs,
)
