"""Figure 18: one sender's goodput over NewReno's, by random loss on the last hop."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, words
from ackclock_papers.replicates import curve, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import FLOW
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import wired_wireless
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CRB,
    CRB_AS_REMEMBERED,
    CUBIC,
    NEWRENO,
    PLUS,
    RE,
    scenario,
    settings,
    tcp,
)

LOSSES = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
PATH = wired_wireless(LOSSES[0])
CONTROLS = (NEWRENO, BE, RE, CRB, CRB_AS_REMEMBERED, ABSE, ABSE_LATER, PLUS, CUBIC)
DRAWN = (BE, CRB, CRB_AS_REMEMBERED, ABSE, PLUS, CUBIC)

#: Range of the largest improvement in the text, and the gains there: "about 500 %", taken as five
#: times, and 300 %.
LARGEST_AT = (0.001, 0.01)
WHERE = (0.001, 0.005, 0.01)
GREAT, MIDDLING = words.about("5"), words.about("3")
#: No control gets more than the link's rate, and NewReno gets 4.4 Mbit/s at a loss of 0.1 %:
#: sqrt(3/2p) MSS/RTT.
MOST_AT_A_THOUSANDTH = 2.5

#: Random loss spreads results more than queues do.
REPLICATES = 20

Ratios = Mapping[str, list[Interval]]


def runs() -> Mapping[str, Run]:
    """Returns runs of one sender of each control, by the loss probability."""
    sweep = {"hops.wireless.impairments.0.probability": [f"{100 * loss:g} %" for loss in LOSSES]}
    return {
        control.label: Run(
            scenario(
                control.label, PATH, [tcp(FLOW, control, PATH)], sample_interval_s=1.0,
                replicates=REPLICATES, sweep=sweep,
            )
        )
        for control in CONTROLS
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares goodput with NewReno's, by loss."""
    got = {
        name: [of_replicates(result, "goodput", FLOW, point) for point in range(len(LOSSES))]
        for name, result in results.items()
    }
    newreno = got[NEWRENO.label]
    ratios = {
        name: [quotient(goodputs, base) for goodputs, base in zip(by_loss, newreno, strict=True)]
        for name, by_loss in got.items()
        if name != NEWRENO.label
    }
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name,): {
            f"{100 * loss:g} %": interval(goodputs)
            for loss, goodputs in zip(LOSSES, by_loss, strict=True)
        }
        for name, by_loss in got.items()
    }
    table = measured("Goodput in Mbit/s, by loss", ("control",), rows)
    rests = basis(
        "a gain of 500 % taken for five times as much",
        "at 0.1 % nothing can have five times as much, since NewReno has more than a third of the "
        "link; at 1 % most of them wait for timeouts",
    )
    claims = (*_printed(ratios, got), *_ours(ratios, got))
    return Outcome(rests, (), partial(_draw, ratios), claims, settings(PATH, results), (table,))


def _printed(ratios: Ratios, got: Mapping[str, list[list[float]]]) -> tuple[Claim, ...]:
    paper = (ABSE, BE, CRB)
    least = {
        control.label: min(ratios[control.label], key=lambda ratio: ratio.mean) for control in paper
    }
    largest = {
        control.label: LOSSES[int(np.argmax([ratio.mean for ratio in ratios[control.label]]))]
        for control in paper
    }
    return (
        *(
            Claim.of(
                f"{name}'s throughput is higher than NewReno's at every loss: the least ratio",
                ratio, Band(1.0), "times", than=1.0,
            )
            for name, ratio in least.items()
        ),
        *(
            Claim(
                f"{name}'s largest improvement is around 0.1 to 1 %", f"at {100 * loss:g} %",
                LARGEST_AT[0] <= loss <= LARGEST_AT[1], accepted="0.1 to 1 %",
            )
            for name, loss in largest.items()
        ),
        *(
            Claim.of(
                f"There {control.label} has about {gain} of NewReno: at {100 * loss:g} %",
                ratios[control.label][LOSSES.index(loss)], band, "times",
            )
            for control, gain, band in ((ABSE, "500 %", GREAT), (BE, "500 %", GREAT),
                                    (CRB, "300 %", MIDDLING))
            for loss in WHERE
        ),
        *(
            Claim.of(
                "ABSE's efficiency does not deteriorate as CRB's does: over CRB, at "
                f"{100 * loss:g} %",
                quotient(got[ABSE.label][LOSSES.index(loss)], got[CRB.label][LOSSES.index(loss)]),
                Band(1.0), "times", than=1.0,
            )
            for loss in WHERE
        ),
        *(
            Claim.of(
                "CRB loses efficiency, to be friendly to NewReno: over BE, at "
                f"{100 * loss:g} %",
                quotient(got[CRB.label][LOSSES.index(loss)], got[BE.label][LOSSES.index(loss)]),
                Band(most=1.0), "times", than=1.0,
            )
            for loss in WHERE
        ),
    )  # fmt: skip


def _ours(ratios: Ratios, got: Mapping[str, list[list[float]]]) -> tuple[Claim, ...]:
    thousandth, half = LOSSES.index(0.001), LOSSES.index(0.005)
    newreno = got[NEWRENO.label][thousandth]
    bound = quotient([PATH.goodput_mbit_per_s] * len(newreno), newreno)
    return (
        Claim.of(
            "At 0.1 % nothing can have 500 % of NewReno: the link's payload rate over NewReno's "
            "goodput",
            bound, Band(most=MOST_AT_A_THOUSANDTH), "times", origin=Origin.INFERRED,
        ),
        Claim.of(
            "RE, which CRB with θ = 1 is nearly always, has as much of NewReno: at 0.5 %",
            ratios[RE.label][half], Band(3, 4), "times", origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _draw(ratios: Ratios) -> Figure:
    percent = [100 * loss for loss in LOSSES]
    curves = [plot.Curve("NewReno", [percent[0], percent[-1]], [1, 1], "reference")]
    curves += [curve(control.label, percent, ratios[control.label]) for control in DRAWN]
    title = "One sender over 45 Mbit/s, then a lossy 11 Mbit/s"
    return plot.curves(
        curves, "loss probability (%)", "goodput over NewReno's (ratio)", title, log_x=True
    )


EXPERIMENT = entry(
    "18",
    "How much more goodput than NewReno do the other controls get under random loss?",
    "Goodput over NewReno's against the loss probability: the gain is largest at 0.2 to 1 %, "
    "where BE and ABSE have four times as much.",
    40.0,
    conclude,
    runs,
)
