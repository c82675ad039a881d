"""The map of psi: the gain of rate feedback for a sender of 1988 and for CUBIC.

It varies psi, the mean time that the link stays at a rate, in round trips. The loop is that of the
publication on INSTCAP and EFFCAP, without its obsolete ATM cells: 200 ms, a link of 100 and 50
kB/s, a buffer of 10 packets.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
)
from ackclock_papers.abr.efficiency import at_points
from ackclock_papers.abr.loop import (
    COARSE,
    INSTCAP,
    NONE,
    Feedback,
    Point,
    Sender,
    alone,
    effcap,
)
from ackclock_papers.abr.paper import ROUND_TRIP_S

#: CUBIC with the SACK recovery of RFC 6675.
CUBIC = Sender("CUBIC with SACK", {"control": {"kind": "cubic"}}, "linux-2012")
SENDERS: dict[str, Sender] = {"1988": COARSE, "CUBIC": CUBIC}
EFFCAP = effcap()
SCHEMES: dict[str, Feedback] = {"no feedback": NONE, "INSTCAP": INSTCAP, EFFCAP.label: EFFCAP}
PSIS = (0.16, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 100.0)
BUFFER = 10
REPLICATES = 4

# A replicate has at least 300 changes of the link; for the largest values of psi it has 150 to 250.
_SHORT_S, _LONG_S, _LONG_FROM = 600.0, 3000.0, 5.0

#: Efficiencies in the guide, by sender and psi, in the order of `SCHEMES`.
SAID = {
    "1988": {
        "0.16": ("0.665", "0.985", "0.933"),
        "1": ("0.511", "0.539", "0.645"),
        "5": ("0.521", "0.567", "0.583"),
        "20": ("0.602", "0.771", "0.749"),
        "100": ("0.684", "0.958", "0.939"),
    },
    "CUBIC": {
        "0.16": ("0.963", "0.998", "0.933"),
        "1": ("0.795", "0.799", "0.678"),
        "5": ("0.797", "0.849", "0.732"),
        "20": ("0.840", "0.974", "0.886"),
        "100": ("0.872", "0.995", "0.973"),
    },
}
#: A difference in efficiency that matters, in percentage points, as in `ackclock advise`.
LITTLE = 2.0
#: About the half-width of the intervals.
NEAR = 0.01

#: Efficiencies of replicates, by sender and scheme, then by psi; all have the same link.
Efficiencies = dict[tuple[str, str], dict[float, list[float]]]


def runs() -> Mapping[str, Run]:
    """Returns runs of each sender with each scheme."""
    points = [Point(psi * ROUND_TRIP_S, _SHORT_S if psi < _LONG_FROM else _LONG_S) for psi in PSIS]
    return {
        f"{sender}, {scheme}": Run(alone(feedback, BUFFER, sent_by).scenario(points, REPLICATES))
        for sender, sent_by in SENDERS.items()
        for scheme, feedback in SCHEMES.items()
    }


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the efficiencies of the schemes, by psi."""
    efficiencies = {
        (sender, scheme): dict(zip(PSIS, at_points(results[f"{sender}, {scheme}"]), strict=True))
        for sender in SENDERS
        for scheme in SCHEMES
    }
    cells = tuple(
        Cell.simulated(
            (sender, psi), scheme, text, interval(efficiencies[sender, scheme][float(psi)]), NEAR
        )
        for sender, rows in SAID.items()
        for psi, texts in rows.items()
        for scheme, text in zip(SCHEMES, texts, strict=True)
    )
    comparison = Comparison(
        "Efficiency", Origin.STATED, ("sender", "psi"), cells, f"within {NEAR:g}"
    )
    settings = (
        Setting(
            "link", "100 and 50 kB/s, as long at one as at the other; it may change every 30 ms",
            Origin.CHOSEN,
        ),
        Setting(
            "loop", f"200 ms, {BUFFER} packets of 500 bytes may wait, windows of 65 at most",
            Origin.CHOSEN,
        ),
        Setting(
            "feedback", "measured every 30 ms, known a round trip later, no cells", Origin.CHOSEN,
        ),
        Setting(
            "1988", "preset jacobson1988: every loss ends in a timeout of a second at least",
            Origin.CHOSEN,
        ),
        Setting("CUBIC", "preset linux-2012: SACK", Origin.CHOSEN),
        Setting(
            "runs",
            f"{REPLICATES} replicates of {_SHORT_S:g} s, from psi = {_LONG_FROM:g} on {_LONG_S:g} "
            "s",
            Origin.CHOSEN,
        ),
    )  # fmt: skip
    draw = partial(_draw, efficiencies)
    return Outcome(Basis(), (comparison,), draw, _claims(efficiencies), settings)


def _claims(efficiencies: Efficiencies) -> tuple[Claim, ...]:
    none, instcap, smallest = SCHEMES
    more = Band(least=LITTLE)
    return (
        _least(
            "What holds for 60 round trips is worth following",
            efficiencies,
            "1988",
            (instcap, none),
            Band(60),
            more,
        ),
        _least(
            "From 0.3 to 2 EFFCAP is better than INSTCAP",
            efficiencies,
            "1988",
            (smallest, instcap),
            Band(0.3, 2),
            more,
        ),
        _least(
            "INSTCAP is nowhere worse than nothing",
            efficiencies,
            "CUBIC",
            (instcap, none),
            Band(),
            Band(least=0),
        ),
        _least(
            "From psi = 5 on INSTCAP is worth it",
            efficiencies,
            "CUBIC",
            (instcap, none),
            Band(5),
            more,
        ),
        _least(
            "Up to psi = 5 nothing is better than EFFCAP",
            efficiencies,
            "CUBIC",
            (none, smallest),
            Band(most=5),
            more,
        ),
    )


def _least(
    statement: str,
    efficiencies: Efficiencies,
    sender: str,
    schemes: tuple[str, str],
    psis: Band,
    accepted: Band,
) -> Claim:
    """Claims a smallest lead of the first scheme over the second, in percentage points."""
    differences: dict[float, Interval] = {}
    for psi in filter(psis.holds, PSIS):
        above, below = (efficiencies[sender, scheme][psi] for scheme in schemes)
        differences[psi] = interval(100 * np.subtract(above, below))
    worst = min(differences, key=lambda psi: differences[psi].mean)
    words = f"{sender}: {statement}; least so at psi = {worst:g}"
    return Claim.of(words, differences[worst], accepted, "points", origin=Origin.STATED)


def _draw(efficiencies: Efficiencies) -> Figure:
    means = {
        key: [interval(values) for values in by_psi.values()]
        for key, by_psi in efficiencies.items()
    }
    curves = [
        plot.Curve(
            f"{sender}, {scheme}", PSIS, [value.mean for value in means[sender, scheme]], drawn,
            number, [value.half_width for value in means[sender, scheme]],
        )
        for sender, drawn in (("1988", "line"), ("CUBIC", "points"))
        for number, scheme in enumerate(SCHEMES)
    ]  # fmt: skip
    title = "What is feeding back the rate worth?"
    return plot.curves(
        curves,
        "psi: mean time at a rate (round trips)",
        "efficiency (of the capacity)",
        title,
        log_x=True,
    )


EXPERIMENT = Experiment(
    name="feedback-figure-1",
    group="feedback",
    source="ackclock, guide “Can rate feedback help on my path?”, 2026",
    shows="Figure 1",
    question=(
        "How slowly must a link change for rate feedback to help a sender of 1988, or CUBIC?"
    ),
    says=(
        "Sender of 1988: follow the last rate from psi = 60 on, and keep to the smallest mean up "
        "to 2. CUBIC with SACK: INSTCAP never harms, and helps from psi = 5 on; the smallest mean "
        "costs throughput."
    ),
    cost_s=40.0,
    conclude=conclude,
    runs=runs,
)
