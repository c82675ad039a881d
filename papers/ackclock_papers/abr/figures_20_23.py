"""Figures 20 to 23: how evenly a near and a far session share the link with rate feedback."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Setting,
    Table,
    words,
)
from ackclock_papers.abr import two_sessions
from ackclock_papers.abr.efficiency import gain
from ackclock_papers.abr.over_psi import CRITERION, STANDARD_ERROR, beside, lengths
from ackclock_papers.abr.paper import CELLS, COMPARED, PROTOCOL, basis, entry, settings
from ackclock_papers.abr.two_sessions import (
    ALONE,
    ALONE_JITTERED,
    CASE_1,
    CASE_2,
    NAMES,
    NEAR,
    PSIS,
    TODAY,
    TODAY_ALONE,
    WITH_INSTCAP,
    Pair,
    Shares,
)
from ackclock_papers.replicates import Rows, curve, measured

#: psi is in units of the longer round trip.
X_LABEL = "psi: mean time at a rate (round trips of 360 ms)"

INDEPENDENT: dict[str, dict[float, tuple[str, str]]] = {
    CASE_1.label: {
        0.1: ("0.398", "0.407"), 0.3: ("0.312", "0.324"), 1: ("0.303", "0.302"),
        3: ("0.299", "0.286"), 5: ("0.310", "0.281"), 10: ("0.340", "0.301"),
        20: ("0.378", "0.339"), 60: ("0.425", "0.410"), 100: ("0.435", "0.425"),
    },
    CASE_2.label: {
        0.1: ("0.403", "0.403"), 0.3: ("0.318", "0.318"), 1: ("0.302", "0.301"),
        3: ("0.294", "0.285"), 5: ("0.300", "0.284"), 10: ("0.329", "0.304"),
        20: ("0.368", "0.344"), 60: ("0.421", "0.412"), 100: ("0.433", "0.427"),
    },
    WITH_INSTCAP.label: {
        0.1: ("0.417", "0.417"), 0.3: ("0.445", "0.271"), 1: ("0.450", "0.218"),
        3: ("0.452", "0.225"), 5: ("0.452", "0.247"), 10: ("0.451", "0.299"),
        20: ("0.452", "0.362"), 60: ("0.453", "0.430"), 100: ("0.453", "0.440"),
    },
    ALONE.label: {
        0.1: ("0.534", "0.204"), 0.3: ("0.478", "0.182"), 1: ("0.473", "0.154"),
        3: ("0.475", "0.155"), 5: ("0.496", "0.163"), 10: ("0.536", "0.168"),
        20: ("0.576", "0.163"), 60: ("0.614", "0.149"), 100: ("0.624", "0.147"),
    },
}  # fmt: skip
"""Efficiency of session 1 and session 2, from an unpublished packet-level reference simulation.

Each is over the link's mean capacity, by feedback and psi. All but TCP alone have cells.
"""

#: Pairs that appear in tables only.
BESIDE = (ALONE_JITTERED, TODAY_ALONE, TODAY)

Results = Mapping[str, Result]
#: Shares, by label of the pair and psi.
ByPair = Mapping[str, Mapping[float, Shares]]

#: Psi in the three ranges that the text distinguishes, and in the range that the reference
#: simulation checks.
SMALL, MIDDLE, LARGE, ONE_TO_THREE = (
    (0.1, 0.3),
    (1.0, 3.0, 5.0, 10.0, 20.0),
    (60.0, 100.0),
    (1.0, 2.0, 3.0),
)
SLIGHTLY_LESS = (0.3, 1.0, 2.0, 3.0, 20.0)


def _claims_of_20(by_pair: ByPair) -> tuple[Claim, ...]:
    case_1, instcap = by_pair[CASE_1.label], by_pair[WITH_INSTCAP.label]
    return (
        *(
            Claim.of(
                f"The sessions get the same for psi up to 0.3: 1 over 2, at psi = {psi:g}",
                case_1[psi].ratio, words.SAME,
            )
            for psi in SMALL
        ),
        *(
            Claim.of(
                f"For psi of 0.3 to 20 it is unfair to session 2: 1 over 2, at psi = {psi:g}",
                case_1[psi].ratio, Band(words.SAME.most), than=1.0,
                documented=psi > ONE_TO_THREE[-1],
            )
            for psi in MIDDLE
        ),
        *(
            Claim.of(
                f"Above 20 it is fair again: 1 over 2, at psi = {psi:g}", case_1[psi].ratio,
                words.SAME,
            )
            for psi in LARGE
        ),
        *(
            Claim.of(
                "EFFCAP is fairer than INSTCAP (section 8): 1 over 2 with INSTCAP, less that with "
                f"EFFCAP, at psi = {psi:g}",
                interval(np.subtract(instcap[psi].ratios, case_1[psi].ratios)), Band(0), than=0.0,
            )
            for psi in MIDDLE
        ),
        *_hardly_more(case_1),
    )  # fmt: skip


def _claims_of_21(by_pair: ByPair) -> tuple[Claim, ...]:
    case_1, case_2 = by_pair[CASE_1.label], by_pair[CASE_2.label]
    return (
        *(
            Claim.of(
                "In the middle it is fairer than with M and N of one's own: 1 over 2, less that of "
                f"case 1, at psi = {psi:g}",
                interval(np.subtract(case_2[psi].ratios, case_1[psi].ratios)), Band(most=0),
                than=0.0,
            )
            for psi in MIDDLE
        ),
        *(
            Claim.of(
                "There the throughput of session 1 is reduced: it had more in case 1 by, at psi = "
                f"{psi:g}",
                gain(case_1[psi].near, case_2[psi].near), Band(0), "%", than=0.0,
            )
            for psi in MIDDLE
        ),
        *(
            Claim.of(
                "Even in the intermediate range it is fair (section 8): 1 over 2, at psi = "
                f"{psi:g}",
                case_2[psi].ratio, words.SAME, documented=psi <= ONE_TO_THREE[-1],
            )
            for psi in MIDDLE
        ),
        *_hardly_more(case_2),
    )  # fmt: skip


def _hardly_more(case: Mapping[float, Shares]) -> tuple[Claim, ...]:
    return tuple(
        Claim.of(
            f"Session 1 has hardly more than session 2: 1 over 2, at psi = {psi:g}",
            case[psi].ratio, Band(most=1.1), origin=Origin.INFERRED,
        )
        for psi in ONE_TO_THREE
    )  # fmt: skip


def _claims_beside(case: Pair, by_pair: ByPair) -> tuple[Claim, ...]:
    """Compares a case with TCP alone."""
    alone, fed_back = by_pair[ALONE.label], by_pair[case.label]
    return (
        *(
            Claim.of(
                f"TCP alone is grossly unfair to session 2: 1 over 2, at psi = {psi:g}",
                alone[psi].ratio, words.TWICE,
            )
            for psi in PSIS
        ),
        *(
            Claim.of(
                f"The reference simulation has 2.5 and more: 1 over 2, at psi = {psi:g}",
                alone[psi].ratio, Band(2.5), origin=Origin.REFERENCE,
            )
            for psi in ONE_TO_THREE
        ),
        *(
            Claim.of(
                "Together the sessions get slightly less with ABR: TCP alone has more by, at psi = "
                f"{psi:g}",
                gain(alone[psi].total, fed_back[psi].total), words.SLIGHT_PERCENT, "%", than=0.0,
                documented=psi in SLIGHTLY_LESS,
            )
            for psi in PSIS
        ),
    )  # fmt: skip


def _claims_of_22(by_pair: ByPair) -> tuple[Claim, ...]:
    alone, jittered = by_pair[ALONE.label], by_pair[ALONE_JITTERED.label]
    return _claims_beside(CASE_1, by_pair) + tuple(
        Claim.of(
            f"Much of it is of phases: sent up to 2 ms later 1 over 2 is less by, at psi = {psi:g}",
            interval(np.subtract(alone[psi].ratios, jittered[psi].ratios)), Band(0.5),
            origin=Origin.INFERRED,
        )
        for psi in (0.1, 1.0, 100.0)
    )  # fmt: skip


def _conclude(
    pairs: Sequence[Pair],
    more: Sequence[Pair],
    claims: Callable[[ByPair], tuple[Claim, ...]],
    rests: Basis,
    results: Results,
) -> Outcome:
    by_pair = {pair.label: two_sessions.simulated(results, pair) for pair in (*pairs, *more)}
    shown = {pair.label: by_pair[pair.label] for pair in pairs}
    own = (
        Setting("sessions", "Δ 240 and 360 ms, a buffer of 18 packets", Origin.PRINTED),
        Setting("feedback", "half of it for each session", Origin.PRINTED),
        Setting(
            "case 1: M and N", "8 and 88 for session 1, 12 and 132 for session 2", Origin.INFERRED
        ),
        Setting("case 2: M and N", "10 and 110 for both, of the mean round trip", Origin.INFERRED),
        Setting(
            "efficiency of a session",
            "over the whole link's capacity: half at most",
            Origin.INFERRED,
        ),
        Setting(
            "which psi",
            "by the longer round trip: " + ", ".join(f"{psi:g}" for psi in PSIS),
            Origin.GUESSED,
        ),
        Setting("runs", lengths(results), Origin.GUESSED),
        PROTOCOL,
        Setting(
            "two transfers at once",
            "who takes longer has the link to itself in the end",
            Origin.GUESSED,
        ),
        COMPARED,
    )
    return Outcome(
        rests, (_comparison(results, pairs),), partial(_draw, shown), claims(by_pair),
        settings(*own), (_table(by_pair), _published(results, pairs)),
    )  # fmt: skip


def _comparison(results: Results, pairs: Sequence[Pair]) -> Comparison:
    cells = []
    for pair in pairs:
        shares = two_sessions.simulated(results, pair.timed_exactly)
        for psi, texts in INDEPENDENT[pair.label].items():
            for name, text, efficiencies in zip(
                NAMES, texts, (shares[psi].near, shares[psi].far), strict=True
            ):
                row = (pair.label, f"{psi:g}")
                excepted = PHASES if (*row, name) in PHASED else ""
                cells.append(beside(row, name, text, STANDARD_ERROR, efficiencies, excepted))
    title = "Efficiency of a session, round trips timed exactly, beside a reference simulation"
    return Comparison(title, Origin.REFERENCE, ("feedback", "psi"), tuple(cells), CRITERION)


#: In the two simulations the sum of both sessions is equal to within 0.01.
PHASES = (
    "together they have the same; how they share it hangs on phases, as figure 22 shows by sending "
    "a little later"
)
PHASED = {
    *((ALONE.label, "0.3", name) for name in NAMES),
    (ALONE.label, "1", NEAR),
}


def _table(by_pair: ByPair) -> Table:
    rows: Rows = {
        (label, f"{psi:g}"): sessions.row
        for label, shares in by_pair.items()
        for psi, sessions in shares.items()
    }
    return measured(
        "Efficiency of each session, over all of the capacity", ("feedback", "psi"), rows
    )


def _published(results: Results, pairs: Sequence[Pair]) -> Table:
    rows: Rows = {
        (pair.label, f"{psi:g}"): row
        for pair in pairs
        for psi, row in two_sessions.published(results, pair).items()
    }
    return measured(
        "The same by the paper's protocol, four times two transfers of 10 MB, over 75 kB/s",
        ("feedback", "psi"),
        rows,
    )


def _draw(by_pair: ByPair) -> Figure:
    half = plot.Curve(
        "half of the link, in cells", [PSIS[0], PSIS[-1]], [CELLS / 2] * 2, "reference"
    )
    curves = [
        curve(
            f"{label}: {name}", PSIS, [interval(sessions[number]) for sessions in shares.values()]
        )
        for label, shares in by_pair.items()
        for number, name in enumerate(NAMES)
    ]
    title = f"Sessions of 240 and 360 ms: {' and '.join(by_pair)}"
    return plot.curves(
        [half, *curves], X_LABEL, "efficiency (of the mean capacity)", title, log_x=True
    )


def _entry(
    number: str,
    question: str,
    says: str,
    pairs: Sequence[Pair],
    claims: Callable[[ByPair], tuple[Claim, ...]],
    rests: Basis,
    more: Sequence[Pair] = (),
) -> Experiment:
    conclude = partial(_conclude, pairs, more, claims, rests)
    cost_s = 8.0 * len(pairs) + 4.0 * len(more)
    return entry(number, question, says, cost_s, conclude, partial(two_sessions.runs, pairs, more))


FIGURE_20 = _entry(
    "20",
    "Do a near and a far session share evenly if each has M and N for its round-trip time?",
    "Efficiency of both sessions against psi: session 2 gets less from psi = 5 to 20.",
    (CASE_1, WITH_INSTCAP),
    _claims_of_20,
    basis(
        "",
        "a memory of 12 round trips holds a fall of the rate nearly always, and both have half of "
        "the low rate",
    ),
)
FIGURE_21 = _entry(
    "21",
    "Do a near and a far session share evenly with the same M and N?",
    "Efficiency of both sessions against psi, with M = 10 and N = 110 for both.",
    (CASE_2, CASE_1),
    _claims_of_21,
    basis(),
)
LESS = (
    "at psi = 0.1, 60 and 100 their rates follow the mean or the capacity; at 5 and 10 they "
    "remember low rates and still lose packets"
)
FIGURE_22 = _entry(
    "22",
    "Is sharing less even without feedback than with M and N for each round-trip time?",
    "Without feedback TCP is grossly unfair to session 2; with ABR both together get less in the "
    "middle of the range of psi, and more at its ends.",
    (CASE_1, ALONE),
    _claims_of_22,
    basis(why=LESS),
    BESIDE,
)
FIGURE_23 = _entry(
    "23",
    "Is sharing less even without feedback than with the same M and N for both?",
    "As figure 22.",
    (CASE_2, ALONE),
    partial(_claims_beside, CASE_2),
    basis(why=LESS),
)
