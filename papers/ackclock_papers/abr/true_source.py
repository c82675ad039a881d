"""Section 3: the assumption that a source's rate jumps to the one fed back, and what it changes.

The paper says of a true ABR source that it falls at once to a lower rate, but rises exponentially
to a higher one, and assumes a jump all the same. Both statements are judged by the answer of a busy
source to a step of the link. Then the runs of figures 10 to 14 are made again with sources by the
rules of the specification, and the sentences of those figures are judged again.

A source rises by RIF for each of its RM cells that comes back. Either the network tells the rate
(ER), or it only sets CI for a source above it, and the source falls by RDF.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import exp, log

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    words,
)
from ackclock.scenario import Scenario
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import gain, loss
from ackclock_papers.abr.figures_10_14 import FLOOR
from ackclock_papers.abr.loop import BOTTLENECK, INSTCAP, NONE, Feedback
from ackclock_papers.abr.over_psi import (
    BUFFER,
    EFFCAP,
    Efficiencies,
    Part,
    Scheme,
)
from ackclock_papers.abr.paper import (
    GROUP,
    HIGH_KB_PER_S,
    LOW_KB_PER_S,
    PERIOD_S,
    ROUND_TRIP_S,
    SOURCE,
    basis,
    settings,
)
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.scenarios import Tree, hop

SMALL = Part("small psi, sources", (0.3, 1.0, 2.0), 600.0)
LARGE = Part("large psi, sources", (5.0, 20.0, 60.0, 100.0), 1500.0)
#: Psi at which a source that rises is held against one that jumps.
COMPARED = (0.3, 1.0, 5.0, 20.0, 100.0)

#: RIF and RDF: the specification's defaults. A smaller RIF, and one that is a jump by itself.
FACTOR, SMALL_FACTOR, WHOLE = 1 / 16, 1 / 256, 1.0
#: Cells from one RM cell to the next, and their bytes.
CELLS_PER_MESSAGE = 32
MESSAGE_BYTES = CELLS_PER_MESSAGE * 53


def abr(
    feedback: Feedback, rule: str, factor: float = FACTOR, *, icr_kb_per_s: float = HIGH_KB_PER_S,
    **more: float,
) -> Feedback:  # fmt: skip
    """Returns the feedback to a source of the specification.

    Args:
        feedback: Feedback.
        rule: What is special about the source, for labels.
        factor: RIF.
        icr_kb_per_s: ICR, the rate at first and after a pause; by default PCR.
        more: Other parameters of the source.
    """
    source = {"peak_rate": f"{HIGH_KB_PER_S} kB/s", "increase_factor": factor} | more
    host = {"source": source, "initial_rate": f"{icr_kb_per_s:g} kB/s"}
    return feedback._replace(label=f"{feedback.label}, {rule}", host=host)


#: The paper's feedbacks to a true source.
TRUE = {feedback.label: abr(feedback, "RIF 1/16") for feedback in (INSTCAP, EFFCAP)}
AT_ONCE = abr(INSTCAP, "RIF 1", WHOLE)
SLOW = abr(INSTCAP, "RIF 1/256", SMALL_FACTOR)
MARKED = abr(INSTCAP, "RIF and RDF 1/16", decrease_factor=FACTOR)
CAUTIOUS = abr(INSTCAP, "RIF 1/16, ICR the low rate", icr_kb_per_s=LOW_KB_PER_S)
#: Six curves can be told apart. The others lie on one of these.
DRAWN = (NONE, INSTCAP, EFFCAP, TRUE[INSTCAP.label], SLOW, MARKED)
FEEDBACKS = (*DRAWN, TRUE[EFFCAP.label], AT_ONCE, CAUTIOUS)

#: The step of the link: up, then down again.
BEFORE_KB_PER_S, UP_S, DOWN_S, END_S = 20, 5.0, 25.0, 30.0
#: Rates between which the rise is timed: two doublings.
DOUBLINGS_KB_PER_S = (24.0, 48.0, 96.0)
SAMPLE_S, WINDOW_SAMPLES = 0.01, 10
HOST = "host"
JUMPING = "a source that jumps"
STEPPED: dict[str, Feedback] = {
    JUMPING: INSTCAP,
    "RIF 1/16": abr(INSTCAP, "RIF 1/16", icr_kb_per_s=BEFORE_KB_PER_S),
    "RIF 1/256": abr(INSTCAP, "RIF 1/256", SMALL_FACTOR, icr_kb_per_s=BEFORE_KB_PER_S),
}
RISING = "RIF 1/256"

Results = Mapping[str, Result]
#: Efficiencies by the label of the feedback.
ByLabel = Mapping[str, Efficiencies]


def runs() -> Mapping[str, Run]:
    """Returns runs of a step of the link, and of all sources over small and large psi."""
    steps = {_step(label): Run(_stepped(label)) for label in STEPPED}
    schemes = [Scheme(feedback) for feedback in FEEDBACKS]
    return steps | over_psi.runs(schemes, SMALL, LARGE)


def _step(label: str) -> str:
    return f"a step, {label}"


def _stepped(label: str) -> Scenario:
    """Returns a busy source of cells over a link whose rate steps up, and down again."""
    feedback = STEPPED[label]
    steps = ((0.0, BEFORE_KB_PER_S), (UP_S, HIGH_KB_PER_S), (DOWN_S, BEFORE_KB_PER_S))
    link = {
        "kind": "scheduled",
        "steps": [{"from": f"{from_s:g} s", "rate": f"{rate} kB/s"} for from_s, rate in steps],
    }
    host: Tree = {
        "kind": "feedback", "from": BOTTLENECK, "algorithm": feedback.algorithm,
        "period": f"{1000 * PERIOD_S:g} ms", "delay": f"{1000 * ROUND_TRIP_S:g} ms",
    }  # fmt: skip
    cells: Tree = {
        "name": "cells", "route": [HOST, BOTTLENECK],
        "transport": {"kind": "udp", "mss": "25 bytes"},  # and 28 of headers: a cell
        "traffic": {"kind": "cbr", "rate": f"{HIGH_KB_PER_S} kB/s"},
    }  # fmt: skip
    return Scenario(
        {
            "schema": 1, "name": _step(label), "duration": f"{END_S:g} s", "replicates": 1,
            "sample_interval": f"{1000 * SAMPLE_S:g} ms",
            "hops": [
                hop(HOST, host | (feedback.host or {}), "unlimited"),
                hop(BOTTLENECK, link, "unlimited"),
            ],
            "flows": [cells],
        }
    )  # fmt: skip


def conclude(results: Results) -> Outcome:
    """Judges the sentences on the source, and those of the figures with a true source."""
    efficiencies = {
        feedback.label: over_psi.simulated(results, Scheme(feedback), SMALL, LARGE)
        for feedback in FEEDBACKS
    }
    rests = basis(
        "the sentences of the figures are those on sources that jump; RIF, RDF, ICR and the step "
        "of the link are not printed",
        WHY,
    )
    return Outcome(
        rests, (), partial(_draw, efficiencies),
        (*_claims_on_steps(results), *_claims(efficiencies), *_inferred(efficiencies)),
        settings(*_settings(results)), (_table(efficiencies), _table_of_steps(results)),
    )  # fmt: skip


#: Why some sentences do not hold.
WHY = (
    "where the link changes within a round trip, a source that rises as slowly does not reach the "
    "high rates fed back, and loses less: at psi = 0.3 INSTCAP gains 18 % by it, EFFCAP nothing"
)


def _settings(results: Results) -> tuple[Setting, ...]:
    long = {name: result for name, result in results.items() if not name.startswith("a step")}
    return (
        Setting("loop", f"Δ 200 ms or 40 packets, buffer of {BUFFER} packets", Origin.PRINTED),
        Setting("EFFCAP", "M = 7, N = 49", Origin.PRINTED),
        Setting(
            "source", "the rules of the ATM Forum's specification 4.0, which the paper cites; one "
            f"of {CELLS_PER_MESSAGE} cells is an RM cell",
            Origin.INFERRED,
        ),
        Setting(
            "RIF, RDF, ICR", "1/16, 1/16 and PCR, the defaults of the specification; PCR is the "
            "high rate",
            Origin.GUESSED,
        ),
        Setting(
            "step", f"a busy source over a link of {BEFORE_KB_PER_S}, {HIGH_KB_PER_S} and "
            f"{BEFORE_KB_PER_S} kB/s",
            Origin.GUESSED,
        ),
        Setting("runs", over_psi.lengths(long), Origin.GUESSED),
    )  # fmt: skip


def _rates(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the times of samples and the host's rate in kB/s over the window before each."""
    table = result.tables["hops"]
    of_host = np.array(table["hop"].to_pylist()) == HOST
    time_s, sent = (np.asarray(table[name], float)[of_host] for name in ("time_s", "served_bytes"))
    window = WINDOW_SAMPLES
    rate = (sent[window:] - sent[:-window]) / (time_s[window:] - time_s[:-window]) / 1000
    return time_s[window:], rate


def _when(
    result: Result, after_s: float, holds: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
) -> float:
    """Returns the time from a step of the link until the rate fulfils a condition, in seconds."""
    time_s, rate = _rates(result)
    return float(time_s[(time_s > after_s) & holds(rate)][0] - after_s)


def _rise_s(result: Result, kb_per_s: float) -> float:
    """Returns the time from the step up until the host sends at that rate."""
    return _when(result, UP_S, lambda rate: rate >= kb_per_s)


def _fall_s(result: Result) -> float:
    """Returns the time from the step down until the host has fallen to within a tenth of it."""
    return _when(result, DOWN_S, lambda rate: rate <= 1.1 * BEFORE_KB_PER_S)


def growth_per_s(factor: float) -> float:
    """Returns the exponent of the rise, from dr(t)/dt = g r(t - Δ): g e^(-exponent Δ)."""
    growth = factor * HIGH_KB_PER_S * 1000 / MESSAGE_BYTES
    exponent = growth
    for _ in range(100):
        exponent = growth * exp(-exponent * ROUND_TRIP_S)
    return exponent


def _claims_on_steps(results: Results) -> tuple[Claim, ...]:
    low, middle, high = (_rise_s(results[_step(RISING)], rate) for rate in DOUBLINGS_KB_PER_S)
    later_ms = {
        label: 1000 * (_fall_s(results[_step(label)]) - _fall_s(results[_step(JUMPING)]))
        for label in STEPPED
        if label != JUMPING
    }
    return (
        *(
            Claim.of(
                "A true source adapts at once to a lower rate: later than one that jumps by, "
                f"{label}",
                interval([late]), Band(0, 1000 * PERIOD_S), "ms",
            )
            for label, late in later_ms.items()
        ),
        Claim.of(
            "A higher rate leads to exponential growth and not to a jump: the second doubling "
            f"takes as long as the first, {RISING}",
            interval([(high - middle) / (middle - low)]), words.SAME,
        ),
        Claim.of(
            "Its exponent is that of dr(t)/dt = g r(t - Δ): measured over computed",
            interval([log(4) / (high - low) / growth_per_s(SMALL_FACTOR)]), words.SAME,
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _claims(efficiencies: ByLabel) -> tuple[Claim, ...]:
    """Returns the sentences of figures 10 to 14, with a true source."""
    instcap, effcap = (TRUE[feedback.label].label for feedback in (INSTCAP, EFFCAP))

    def above(higher: str, lower: str, psi: float) -> Interval:
        return gain(efficiencies[higher][psi], efficiencies[lower][psi])

    return (
        *(
            Claim.of(
                "With a true source, INSTCAP is 25 to 30 % better than TCP alone at large psi: its "
                f"gain, at psi = {psi:g}",
                above(instcap, NONE.label, psi), words.from_to("25", "30"), "%", than=0.0,
            )
            for psi in (60.0, 100.0)
        ),
        Claim.of(
            "With a true source, INSTCAP is slightly worse than TCP alone around psi = 1: by",
            loss(above(instcap, NONE.label, 1.0)), words.SLIGHT_PERCENT, "%", than=0.0,
        ),
        *(
            Claim.of(
                "With a true source, EFFCAP is 10 to 20 % better than INSTCAP at small psi: its "
                f"gain, at psi = {psi:g}",
                above(effcap, instcap, psi), words.from_to("10", "20"), "%", than=0.0,
            )
            for psi in SMALL.psis
        ),
        Claim.of(
            "With a true source, EFFCAP is 3 to 4 % worse at large psi: its loss, at psi = 60",
            loss(above(effcap, instcap, 60.0)), words.from_to("3", "4"), "%", than=0.0,
        ),
        *(
            Claim.of(
                "With a true source, INSTCAP has less than the low rate alone would give, "
                f"{FLOOR:.3f}: at psi = {psi:g}",
                interval(efficiencies[instcap][psi]), Band(most=FLOOR), than=FLOOR,
            )
            for psi in SMALL.psis
        ),
    )  # fmt: skip


def _inferred(efficiencies: ByLabel) -> tuple[Claim, ...]:
    """Returns what the assumption changes: our statements, which no verdict counts."""

    def above(higher: Feedback, lower: Feedback, psi: float) -> Interval:
        return gain(efficiencies[higher.label][psi], efficiencies[lower.label][psi])

    return (
        *(
            Claim.of(
                f"The jump changes little: a true source over one that jumps, {feedback.label}, at "
                f"psi = {psi:g}",
                above(TRUE[feedback.label], feedback, psi), words.SAME_PERCENT, "%",
                origin=Origin.INFERRED,
            )
            for feedback in (INSTCAP, EFFCAP)
            for psi in COMPARED
        ),
        *(
            Claim.of(
                "The slow rise does it, and not the time from one RM cell to the next: RIF 1 over "
                f"a jump, at psi = {psi:g}",
                above(AT_ONCE, INSTCAP, psi), words.SAME_PERCENT, "%", origin=Origin.INFERRED,
            )
            for psi in COMPARED
        ),
        *(
            Claim.of(
                "Without explicit rates, by RDF, the source loses more: than one that jumps, at "
                f"psi = {psi:g}",
                loss(above(MARKED, INSTCAP, psi)), Band(0), "%", than=0.0, origin=Origin.INFERRED,
            )
            for psi in (20.0, 100.0)
        ),
        Claim.of(
            "A source that returns to the low rate in each timeout loses little: ICR the low rate "
            "over ICR the high rate, at psi = 20",
            above(CAUTIOUS, TRUE[INSTCAP.label], 20.0), words.SAME_PERCENT, "%",
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip


def _table(efficiencies: ByLabel) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {label: interval(by_psi[psi]) for label, by_psi in efficiencies.items()}
        for part in (SMALL, LARGE)
        for psi in part.psis
    }
    return measured("Efficiency", ("psi",), rows)


def _table_of_steps(results: Results) -> Table:
    """Returns how long sources take to follow a step of the link."""
    almost = 0.95 * HIGH_KB_PER_S
    rows = tuple(
        (
            label,
            f"{_rise_s(results[_step(label)], almost):.2f}",
            f"{_fall_s(results[_step(label)]):.2f}",
        )
        for label in STEPPED
    )
    head = ("source", f"up to {almost:g} kB/s (s)", f"down to {1.1 * BEFORE_KB_PER_S:g} kB/s (s)")
    title = f"After a step of the link from {BEFORE_KB_PER_S} to {HIGH_KB_PER_S} kB/s, and back"
    return Table(title, head, rows)


def _draw(efficiencies: ByLabel) -> Figure:
    drawn = {feedback.label: efficiencies[feedback.label] for feedback in DRAWN}
    return over_psi.draw(drawn, "A source that jumps to the rate fed back, and sources of ABR")


EXPERIMENT = Experiment(
    f"{GROUP}-source",
    GROUP,
    SOURCE,
    "Section 3, source",
    "What changes if the source's rate does not jump to the one fed back, but rises by RIF?",
    "A true ABR source beside one that jumps, with INSTCAP and EFFCAP.",
    100.0,
    conclude,
    runs,
)
