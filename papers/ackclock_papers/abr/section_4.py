"""Section 4: the constant rate that is best for TCP, and the delta for which the link carries it.

The paper lets a source send at one rate and takes the rate with TCP's highest throughput for the
link's effective capacity. It inverts that for delta, and finds 60 to 70 for many links. A source
that knows delta and the link's law would send at that effective capacity. EFFCAP approximates it
for a large delta.
"""

from collections.abc import Mapping
from functools import cache, partial
from math import isfinite, log, nan
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.models import explicit_rate
from ackclock.models.explicit_rate import effective_capacity
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
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.loop import constant, fixed_timer
from ackclock_papers.abr.over_psi import BUFFER, BUFFERS, Part, Scheme
from ackclock_papers.abr.paper import (
    GROUP,
    SLOWDOWN,
    SOURCE,
    WINDOW_PACKETS,
    basis,
    settings,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient

#: Capacity in a round trip at the two rates, and their mean: packets.
HIGH, LOW = 40, 20
MEAN = (HIGH + LOW) / 2

#: The links: mean times at a rate in round trips. For `SLOW` ones the high rate turns out best.
FAST, SLOW = (2.0, 5.0, 10.0, 20.0), (50.0, 100.0)
#: Values of delta that are drawn, per packet. Those that are tried first are the ones around the
#: best of all links, and one near the published; rates from the mean on have none.
DECAYS = tuple(float(delta) for delta in np.geomspace(0.05, 204.8, 13))
TRIED = (*DECAYS[:7], DECAYS[10])
ABOVE_THE_MEAN = (30.0, 32.0, 35.0, 40.0)
#: Precision of the best delta, relative.
PRECISION = 0.01

#: The published values of delta, and how far apart they are: how constant "consistently" is.
LEAST, MOST = "60", "70"
CONSISTENT = Band(1, round(70.5 / 59.5, 2))
MIDDLE = 65.0

#: Rates that are simulated, in packets per round trip, and the links.
RATES = (20.0, 20.25, 20.5, 21.0, 22.0, 24.0, 27.0, 30.0, 40.0)
SIMULATED = Part("exact", (2.0, 5.0, 10.0, 20.0, 100.0), 1500.0)
#: "Within 10 % of the low rate": the words of our note on the analysis.
NEAR_THE_LOW_RATE = Band(0, 10)

Results = Mapping[str, Result]


class Best(NamedTuple):
    """The best constant rate.

    Attributes:
        decay: The smallest delta at which it is the effective capacity, per packet.
        rate: The rate, in packets per round trip.
        efficiency: TCP's throughput at it, over the mean capacity.
    """

    decay: float
    rate: float
    efficiency: float


@cache
def best(buffer: int, psi: float) -> Best:
    """Returns the best constant rate of a link by the analysis."""
    from scipy.optimize import minimize_scalar  # slow to import, and the catalogue needs it not

    tried = [Best(delta, capacity(psi, delta), at_decay(buffer, psi, delta)) for delta in TRIED]
    first = max(tried, key=lambda candidate: candidate.efficiency)
    here = TRIED.index(first.decay)
    ends = TRIED[max(here - 1, 0)], TRIED[min(here + 1, len(TRIED) - 1)]
    refined = minimize_scalar(
        lambda x: -at_decay(buffer, psi, float(np.exp(x))),
        bounds=(log(ends[0]), log(ends[1])), method="bounded", options={"xatol": PRECISION},
    )  # fmt: skip
    decay = float(np.exp(refined.x))
    candidates = [
        first,
        Best(decay, capacity(psi, decay), -float(refined.fun)),
        *(Best(0.0, rate, at_rate(buffer, psi, rate)) for rate in ABOVE_THE_MEAN),
    ]
    return max(candidates, key=lambda candidate: candidate.efficiency)


def capacity(psi: float, decay: float) -> float:
    """Returns the effective capacity of a link, in packets per round trip."""
    return float(effective_capacity.of_two_rates(HIGH, LOW, 1 / psi, 1 / psi, decay))


def at_decay(buffer: int, psi: float, decay: float) -> float:
    """Returns the efficiency of a source that sends at the effective capacity."""
    return at_rate(buffer, psi, capacity(psi, decay))


@cache
def at_rate(buffer: int, psi: float, rate: float) -> float:
    """Returns the efficiency of a constant source by the analysis, without cells."""
    link = explicit_rate.TwoRateLink.of_sojourns(psi)
    return explicit_rate.solve(_states(buffer, rate), link).efficiency("conservative")


@cache
def _states(buffer: int, rate: float) -> explicit_rate.States:
    loop = explicit_rate.Loop(HIGH, buffer, SLOWDOWN, WINDOW_PACKETS)
    return explicit_rate.enumerate_states(loop, explicit_rate.ConstantRate(rate))


def scheme(rate: float) -> Scheme:
    """Returns the scheme of a constant source, simulated as the analysis assumes."""
    return Scheme(constant(rate), BUFFER, fixed_timer(), exact=True)


def runs() -> Mapping[str, Run]:
    """Returns runs of constant sources with all rates."""
    return over_psi.runs([scheme(rate) for rate in RATES], SIMULATED)


def conclude(results: Results) -> Outcome:
    """Looks for the best delta by analysis and simulation."""
    links = {(buffer, psi): best(buffer, psi) for buffer in BUFFERS for psi in FAST}
    simulated = {
        rate: over_psi.simulated(results, scheme(rate), SIMULATED, cells=1) for rate in RATES
    }
    claims = (
        *_sixty_to_seventy("Delta is 60 to 70 where TCP's throughput is highest", links, 1),
        *(_consistent(buffer, links) for buffer in BUFFERS),
        _slow_links(),
        *_sixty_to_seventy(
            "It is 60 to 70 with capacities in units of the high one, 40 packets in a round trip",
            links, HIGH, Origin.INFERRED,
        ),
        _near_the_low_rate(links),
        _little_is_lost(links),
        *(_simulated(psi, simulated) for psi in SIMULATED.psis if psi in FAST),
    )  # fmt: skip
    own = (
        Setting("loop", "Δ 200 ms or 40 packets, buffers of 8, 10 and 12 packets", Origin.PRINTED),
        Setting("delta", "per packet: the capacity C counts packets in a slot", Origin.PRINTED),
        Setting("slot", "a round trip", Origin.INFERRED),
        Setting("links", "psi of 2, 5, 10, 20, 50 and 100", Origin.GUESSED),
        Setting("reward", "the conservative one of the analysis", Origin.GUESSED),
        Setting(
            "what is simulated", "the assumptions of the analysis: the link changes at multiples "
            "of the round trip, and the timeout is 1.5 round trips", Origin.INFERRED,
        ),
        Setting("runs", over_psi.lengths(results), Origin.GUESSED),
    )  # fmt: skip
    rests = basis(
        "links, slot and reward of the search, none of which is printed, are ours",
        "a time at the low rate that fills a buffer of B packets has a probability of about "
        "e^(-delta B), so that the best delta is 4 to 7 over B; with 60 it would be e^-600. In the "
        "simulation the high rate is better from psi = 20 on, in the analysis from 50 on",
    )
    tables = (_best_table(), _simulated_table(simulated))
    return Outcome(rests, (), partial(_draw, simulated), claims, settings(*own), tables)


Links = Mapping[tuple[int, float], Best]


def _sixty_to_seventy(
    statement: str, links: Links, unit: int, origin: Origin = Origin.PRINTED
) -> tuple[Claim, ...]:
    """Claims the published range for the links with the smallest and the largest delta."""
    ends = {
        "smallest": min(links.values(), key=lambda optimum: optimum.decay),
        "largest": max(links.values(), key=lambda optimum: optimum.decay),
    }
    return tuple(
        Claim.of(
            f"{statement}: the {name} of {len(links)} links",
            Interval(optimum.decay * unit, nan, 1), words.from_to(LEAST, MOST), origin=origin,
        )
        for name, optimum in ends.items()
    )  # fmt: skip


def _consistent(buffer: int, links: Links) -> Claim:
    decays = [optimum.decay for (size, _), optimum in links.items() if size == buffer]
    return Claim.of(
        "It is consistent over a wide range of link processes: the largest over the smallest for "
        f"psi from {FAST[0]:g} to {FAST[-1]:g}, with {buffer} packets",
        Interval(max(decays) / min(decays), nan, 1), CONSISTENT,
    )  # fmt: skip


def _slow_links() -> Claim:
    optima = {psi: best(BUFFER, psi) for psi in SLOW}
    listed = ", ".join(
        f"{optimum.decay:.3g} at psi = {psi:g}, where {optimum.rate:g} packets are best"
        for psi, optimum in optima.items()
    )
    return Claim(
        f"It is so for slow links too, with {BUFFER} packets: it is above 0",
        listed, all(optimum.decay > 0 for optimum in optima.values()), accepted="above 0",
    )  # fmt: skip


def _near_the_low_rate(links: Links) -> Claim:
    farthest = max(optimum.rate for optimum in links.values())
    return Claim.of(
        "TCP is that sensitive to loss: the best constant rate is above the low rate by, at most",
        Interval(100 * (farthest / LOW - 1), nan, 1), NEAR_THE_LOW_RATE, "%",
        origin=Origin.INFERRED,
    )  # fmt: skip


def _little_is_lost(links: Links) -> Claim:
    lost = max(
        1 - at_decay(buffer, psi, MIDDLE) / optimum.efficiency
        for (buffer, psi), optimum in links.items()
    )
    return Claim.of(
        f"A delta of {MIDDLE:g} does little harm all the same: TCP is below its best by, at most",
        Interval(100 * lost, nan, 1), words.A_FEW_PERCENT, "%", origin=Origin.INFERRED,
    )  # fmt: skip


def _simulated(psi: float, simulated: Mapping[float, over_psi.Efficiencies]) -> Claim:
    """Claims that no simulated rate far above the low one is better than the best near it."""
    most = LOW * (1 + NEAR_THE_LOW_RATE.most / 100)
    near, far = (
        max((simulated[rate][psi] for rate in rates), key=np.mean)
        for rates in (
            [rate for rate in RATES if rate <= most], [rate for rate in RATES if rate > most],
        )
    )  # fmt: skip
    return Claim.of(
        "Simulated, too, the best rate is within 10 % of the low one: the best rate beyond over "
        f"the best one within, at psi = {psi:g}",
        quotient(far, near), Band(most=1), than=1.0, origin=Origin.INFERRED,
    )  # fmt: skip


def _best_table() -> Table:
    head = (
        "buffer", "psi", "delta, 1/packets", "delta times buffer", "rate, packets per Δ",
        "efficiency", f"efficiency with delta = {MIDDLE:g}",
    )  # fmt: skip
    rows = []
    for buffer in BUFFERS:
        for psi in FAST + (SLOW if buffer == BUFFER else ()):
            optimum = best(buffer, psi)
            rows.append((
                f"{buffer}", f"{psi:g}", f"{optimum.decay:.3g}", f"{optimum.decay * buffer:.3g}",
                f"{optimum.rate:.4g}", f"{optimum.efficiency:.3f}",
                f"{at_decay(buffer, psi, MIDDLE):.3f}",
            ))  # fmt: skip
    return Table("The best constant rate by the analysis, and its delta", head, tuple(rows))


def _simulated_table(simulated: Mapping[float, over_psi.Efficiencies]) -> Table:
    rows: Rows = {}
    for rate, by_psi in simulated.items():
        for psi, values in by_psi.items():
            row = rows.setdefault((f"{psi:g}", f"{rate:g}"), {})
            row["delta, 1/packets"] = Interval(_decay(psi, rate), nan, 1)
            row["simulated"] = interval(values)
            row["analysis"] = Interval(at_rate(BUFFER, psi, rate), nan, 1)
    ordered = {key: rows[key] for key in sorted(rows, key=lambda key: tuple(map(float, key)))}
    return measured(
        f"Efficiency at constant rates, {BUFFER} packets", ("psi", "packets per Δ"), ordered
    )


def _decay(psi: float, rate: float) -> float:
    if rate >= MEAN:
        return 0.0
    step = explicit_rate.TwoRateLink.of_sojourns(psi).step
    return effective_capacity.decay_of(rate, [HIGH, LOW], step)


def _draw(simulated: Mapping[float, over_psi.Efficiencies]) -> Figure:
    curves = []
    for psi in (2.0, 5.0, 20.0):
        values = [at_decay(BUFFER, psi, decay) for decay in DECAYS]
        curves.append(plot.Curve(f"analysis, psi = {psi:g}", DECAYS, values))
        decays = {rate: _decay(psi, rate) for rate in reversed(RATES)}
        shown = {rate: decay for rate, decay in decays.items() if isfinite(decay) and decay > 0}
        means = [interval(simulated[rate][psi]) for rate in shown]
        label = f"simulated, psi = {psi:g}"
        curves.append(curve(label, list(shown.values()), means, "points"))
    return plot.curves(
        curves, "delta (1/packets)", "efficiency (of the mean capacity)",
        "A constant rate, the effective capacity for delta", log_x=True,
    )  # fmt: skip


EXPERIMENT = Experiment(
    f"{GROUP}-section-4",
    GROUP,
    SOURCE,
    "Section 4",
    "For which delta is a link's effective capacity the best constant rate for TCP?",
    "The best delta is nearly the same for many links, and large: 60 to 70, since TCP is sensitive "
    "to loss.",
    45.0,
    conclude,
    runs,
)
