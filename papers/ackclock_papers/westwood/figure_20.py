"""Figure 20: the shares of ten senders, some with NewReno and the rest with another control."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Claim, Origin, Outcome, Run, words
from ackclock_papers.replicates import curve, measured, of_replicates, quotient
from ackclock_papers.westwood.over_parameter import JITTER, JITTER_S
from ackclock_papers.westwood.paper import basis, entry
from ackclock_papers.westwood.paths import one_bottleneck
from ackclock_papers.westwood.senders import (
    ABSE,
    ABSE_LATER,
    BE,
    CRB,
    CRB_AS_REMEMBERED,
    CUBIC,
    NEWRENO,
    PLUS,
    Control,
    scenario,
    settings,
    tcp,
)

PATH = one_bottleneck(10)
SENDERS = 10
NEWRENO_SENDERS = (1, 3, 5, 7, 9)
OLD, NEW = "NewReno", "others"
BESIDE_BE = (BE, CRB, CRB_AS_REMEMBERED, CUBIC)
BESIDE_ABSE = (ABSE, ABSE_LATER, PLUS)

#: One sender's fair share of the link, as payload.
FAIR_MBIT_PER_S = PATH.goodput_mbit_per_s / SENDERS
#: "Very close to the fair share", in Mbit/s; and BE's goodput relative to NewReno's.
FAIR = Band(*(FAIR_MBIT_PER_S * end for end in words.SAME))
UNFRIENDLY = Band(1.0)
#: A friendly sender leaves NewReno its fair share, or more.
FAIR_OR_MORE = Band(FAIR.least)
#: Relative tolerances to an unpublished reference simulation, for NewReno and the others.
NEAR_PLUS, NEAR_CRB = 0.2, 0.3
#: Numbers of that simulation, in Mbit/s: NewReno, then the others.
INDEPENDENT = {
    PLUS.label: ({1: (0.90, 0.97), 5: (0.90, 1.02), 9: (0.95, 1.05)}, NEAR_PLUS),
    CRB_AS_REMEMBERED.label: ({1: (1.09, 0.94), 5: (1.02, 0.90), 9: (0.98, 0.76)}, NEAR_CRB),
}

Shares = dict[str, dict[str, list[list[float]]]]


def runs_beside(controls: tuple[Control, ...]) -> Mapping[str, Run]:
    """Returns runs of ten senders with varying numbers of NewReno, for each other control."""
    counts = [[old, SENDERS - old] for old in NEWRENO_SENDERS]
    return {
        control.label: Run(
            scenario(
                control.label, PATH,
                [tcp(OLD, NEWRENO, PATH, jitter_s=JITTER_S),
                 tcp(NEW, control, PATH, jitter_s=JITTER_S)],
                sample_interval_s=1.0, sweep={f"flows.{OLD}.count,flows.{NEW}.count": counts},
            )
        )
        for control in controls
    }  # fmt: skip


def conclude_be(results: Mapping[str, Result]) -> Outcome:
    """Concludes 20a: BE beside NewReno."""
    shares = _shares(results)
    claims = (
        *(
            Claim.of(
                f"BE has more than its fair share: over it, {10 - old} beside {old} NewReno",
                quotient(
                    shares[BE.label][NEW][point],
                    [FAIR_MBIT_PER_S] * len(shares[BE.label][NEW][point]),
                ),
                Band(1.0), "times", than=1.0,
            )
            for point, old in enumerate(NEWRENO_SENDERS)
        ),
        *(
            Claim.of(
                "CRB achieves friendliness to NewReno (section 3.1.2): NewReno's share, "
                f"{10 - old} beside {old} NewReno",
                interval(shares[CRB.label][OLD][point]), FAIR_OR_MORE, "Mbit/s",
            )
            for point, old in enumerate(NEWRENO_SENDERS)
        ),
        *_near(CRB_AS_REMEMBERED, shares),
    )  # fmt: skip
    return _outcome(results, shares, (BE, CUBIC), claims)


def conclude_abse(results: Mapping[str, Result]) -> Outcome:
    """Concludes 20b: ABSE beside NewReno."""
    shares = _shares(results)
    claims = (
        *(
            Claim.of(
                f"{name} has very close to the fair share, {FAIR_MBIT_PER_S:.2f} Mbit/s: with "
                f"{old} NewReno",
                interval(shares[ABSE.label][flow][point]), FAIR, "Mbit/s",
            )
            for name, flow in ((NEWRENO.label, OLD), (ABSE.label, NEW))
            for point, old in enumerate(NEWRENO_SENDERS)
        ),
        *_near(PLUS, shares),
    )  # fmt: skip
    why = (
        "among many NewReno senders ABSE is timid; among many ABSE senders NewReno has what these "
        "leave"
    )
    return _outcome(results, shares, (ABSE, PLUS), claims, why)


def _shares(results: Mapping[str, Result]) -> Shares:
    """Returns the goodput of one sender in Mbit/s, by control, flow group, point and replicate.

    The control is that of the others.
    """
    return {
        name: {
            flow: [
                [value / count for value in of_replicates(result, "goodput", flow, point)]
                for point, count in enumerate(counts)
            ]
            for flow, counts in (
                (OLD, NEWRENO_SENDERS),
                (NEW, [SENDERS - old for old in NEWRENO_SENDERS]),
            )
        }
        for name, result in results.items()
    }


def _near(control: Control, shares: Shares) -> list[Claim]:
    """Compares a control that is not in the figure with an unpublished reference simulation."""
    expected, near = INDEPENDENT[control.label]
    return [
        Claim.of(
            f"{control.label} beside {old} NewReno: {flow} get {value} Mbit/s (reference "
            "simulation)",
            interval(shares[control.label][flow][NEWRENO_SENDERS.index(old)]),
            Band(value * (1 - near), value * (1 + near)), "Mbit/s", origin=Origin.REFERENCE,
        )
        for old, values in expected.items()
        for flow, value in zip((OLD, NEW), values, strict=True)
    ]  # fmt: skip


def _outcome(
    results: Mapping[str, Result],
    shares: Shares,
    drawn: tuple[Control, ...],
    claims: tuple[Claim, ...],
    why: str = "",
) -> Outcome:
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (name, flow): {
            f"{old} NewReno": interval(rates)
            for old, rates in zip(NEWRENO_SENDERS, by_count, strict=True)
        }
        for name, flows in shares.items()
        for flow, by_count in flows.items()
    }
    table = measured(
        "Goodput of one sender in Mbit/s, by the number of NewReno senders", ("others", "of"), rows
    )
    rests = basis(why=why)
    draw = partial(_draw, shares, drawn)
    return Outcome(rests, (), draw, claims, settings(PATH, results, jitter=JITTER), (table,))


def _draw(shares: Shares, drawn: tuple[Control, ...]) -> Figure:
    fair = FAIR_MBIT_PER_S
    curves = [
        plot.Curve("fair share", [NEWRENO_SENDERS[0], NEWRENO_SENDERS[-1]], [fair] * 2, "reference")
    ]
    for control in drawn:
        for flow, name in ((NEW, control.label), (OLD, f"NewReno beside {control.label}")):
            curves.append(
                curve(
                    name,
                    NEWRENO_SENDERS,
                    [interval(rates) for rates in shares[control.label][flow]],
                )
            )
    title = f"NewReno and {drawn[0].label} share 10 Mbit/s"
    return plot.curves(curves, "NewReno senders (of ten)", "goodput of one (Mbit/s)", title)


BE_BESIDE = entry(
    "20a",
    "Do BE senders leave NewReno senders their fair share?",
    "Goodput of BE and NewReno senders on 10 Mbit/s, by the number of NewReno senders among ten.",
    6.0,
    conclude_be,
    partial(runs_beside, BESIDE_BE),
)
ABSE_BESIDE = entry(
    "20b",
    "Do ABSE senders leave NewReno senders their fair share?",
    "Goodput of ABSE and NewReno senders on 10 Mbit/s, by the number of NewReno senders among ten.",
    6.0,
    conclude_abse,
    partial(runs_beside, BESIDE_ABSE),
)
