"""Figures 10 to 14: TCP alone, with INSTCAP and with EFFCAP, over small and over large psi.

For comparison there are today's senders, too. Unlike with the paper's sender, not every loss costs
them a timeout, and their feedback has no cells.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Comparison,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    words,
)
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import gain, loss
from ackclock_papers.abr.loop import (
    COARSE,
    CUBIC_TODAY,
    INSTCAP,
    LINUX_TIMER,
    NEWRENO_TODAY,
    NONE,
    Feedback,
    Sender,
    effcap,
    fixed_timer,
)
from ackclock_papers.abr.over_psi import (
    BUFFER,
    BUFFERS,
    EFFCAP,
    LARGE,
    SMALL,
    STANDARD_ERROR,
    X_LABEL,
    Y_FROM,
    ByScheme,
    Part,
    Scheme,
)
from ackclock_papers.abr.paper import (
    CELLS,
    LOW_KB_PER_S,
    MEAN_KB_PER_S,
    PROTOCOL,
    basis,
    entry,
    settings,
)
from ackclock_papers.replicates import Rows, curve, measured

SCHEMES = (NONE, INSTCAP, EFFCAP)

#: Efficiency of TCP alone with Linux's timer, by psi, from the same reference simulation.
INDEPENDENT_OF_LINUX_TIMER = {2.0: "0.571", 100.0: "0.751"}

#: The low rate over the mean one, in cells. A sender that keeps to the low rate and loses nothing
#: has at least this efficiency.
FLOOR = CELLS * LOW_KB_PER_S / MEAN_KB_PER_S
#: EFFCAP with a memory that lasts from one low sojourn to the next, if these are seconds apart.
LONG_MEMORY = effcap(7, 200)
FIXED_TIMER = fixed_timer()
#: Psi at which INSTCAP should be better than EFFCAP with any timer.
WORTH_FOLLOWING = Part("what is worth following", (60.0, 150.0), LARGE.duration_s)
#: Senders beside the paper's. The feedback of today's needs no cells.
OTHERS = (LINUX_TIMER, NEWRENO_TODAY, CUBIC_TODAY)

Results = Mapping[str, Result]


def runs_of_10() -> Mapping[str, Run]:
    """Returns runs of TCP alone and INSTCAP over small psi."""
    return _long_and_short(over_psi.schemes((NONE, INSTCAP), BUFFERS), SMALL)


def runs_of_11() -> Mapping[str, Run]:
    """Returns runs of INSTCAP and EFFCAP over large psi, also with other timers."""
    compared = over_psi.schemes((INSTCAP, EFFCAP), BUFFERS)
    linux, fixed = (
        [Scheme(feedback, sender=timer) for feedback in (INSTCAP, EFFCAP)]
        for timer in (LINUX_TIMER, FIXED_TIMER)
    )
    return (
        _long_and_short(compared, LARGE)
        | over_psi.runs(linux, LARGE)
        | over_psi.runs(fixed, WORTH_FOLLOWING)
    )


def runs_of_12() -> Mapping[str, Run]:
    """Returns runs of INSTCAP and EFFCAP over small psi, also with another timer."""
    other = [Scheme(feedback, sender=LINUX_TIMER) for feedback in (INSTCAP, EFFCAP)]
    return _long_and_short(over_psi.schemes((INSTCAP, EFFCAP), BUFFERS), SMALL) | over_psi.runs(
        other, SMALL
    )


def runs_of_13() -> Mapping[str, Run]:
    """Returns runs of all three schemes over large psi."""
    return _all_three(LARGE)


def runs_of_14() -> Mapping[str, Run]:
    """Returns runs of all three schemes over small psi, and of EFFCAP with a longer memory."""
    return _all_three(SMALL) | over_psi.runs([Scheme(LONG_MEMORY)], SMALL)


def _all_three(part: Part) -> dict[str, Run]:
    """Returns runs of all three schemes with one buffer, also with another timer and senders."""
    paper = [Scheme(feedback) for feedback in SCHEMES]
    others = [Scheme(feedback, sender=sender) for sender in OTHERS for feedback in SCHEMES]
    return _long_and_short(paper, part) | over_psi.runs(others, part)


def _long_and_short(schemes: Sequence[Scheme], part: Part) -> dict[str, Run]:
    """Returns long runs, and runs by the paper's protocol."""
    return over_psi.runs(schemes, part) | over_psi.transfers(schemes, part)


def conclude_10(results: Results) -> Outcome:
    """Compares INSTCAP with TCP alone over small psi."""
    efficiencies = _efficiencies(results, (NONE, INSTCAP), BUFFERS, SMALL)
    claims = (
        *(
            Claim.of(
                f"INSTCAP is slightly worse than TCP alone around psi = 1: by, with {buffer} "
                "packets",
                loss(gain(efficiencies[INSTCAP.label, buffer][1.0],
                          efficiencies[NONE.label, buffer][1.0])),
                words.SLIGHT_PERCENT, "%", than=0.0, documented=buffer > TOO_SMALL,
            )
            for buffer in BUFFERS
        ),
        *(
            Claim.of(
                f"Both rise as psi falls to nothing: {feedback.label}, psi = {SMALL.psis[0]:g} "
                "above 1",
                gain(efficiencies[feedback.label, BUFFER][SMALL.psis[0]],
                     efficiencies[feedback.label, BUFFER][1.0]),
                Band(0), "%", than=0.0,
            )
            for feedback in (NONE, INSTCAP)
        ),
        *(
            Claim.of(
                f"INSTCAP at psi = {SMALL.psis[0]:g}, with {buffer} packets",
                interval(efficiencies[INSTCAP.label, buffer][SMALL.psis[0]]), Band(0.85),
                origin=Origin.INFERRED,
            )
            for buffer in BUFFERS
        ),
    )  # fmt: skip
    rests = basis(
        why=(
            "a smaller buffer costs TCP alone more (0.57 to 0.44 from 12 packets to 8) than "
            "INSTCAP, whose packets are spaced (0.52 to 0.45)"
        )
    )
    return _outcome(
        results, rests, claims, efficiencies, SMALL, "Small psi: without feedback, and with INSTCAP"
    )


def conclude_11(results: Results) -> Outcome:
    """Compares EFFCAP with INSTCAP over large psi."""
    efficiencies = _efficiencies(results, (INSTCAP, EFFCAP), BUFFERS, LARGE)
    gains = _gains(results, COARSE, EFFCAP, INSTCAP, LARGE)
    of_linux = _gains(results, LINUX_TIMER, EFFCAP, INSTCAP, LARGE)
    fixed = _gains(results, FIXED_TIMER, EFFCAP, INSTCAP, WORTH_FOLLOWING)
    statement = "EFFCAP is 3 to 4 % worse at large psi: its loss, at psi ="
    claims = (
        *(
            Claim.of(
                f"{statement} {psi:g}", loss(gains[psi]), words.from_to("3", "4"), "%", than=0.0,
                documented=psi <= 60,
            )
            for psi in (50.0, 60.0, 100.0)
        ),
        Claim.of(
            "Where the link changes slowly EFFCAP behaves like INSTCAP (section 4.1): below it by, "
            f"at psi = {LARGE.psis[-1]:g}",
            loss(gains[LARGE.psis[-1]]), words.SAME_PERCENT, "%",
        ),
        *(
            Claim.of(
                f"It is 1 to 6 % with any timer: {name}, at psi = {psi:g}", loss(by_psi[psi]),
                Band(1, 6), "%", origin=Origin.INFERRED,
            )
            for psi in WORTH_FOLLOWING.psis
            for name, by_psi in (("coarse", gains), ("that of Linux", of_linux),
                              ("of 1.5 round trips", fixed))
        ),
    )  # fmt: skip
    rests = basis(
        "“large” taken for 50 to 60 round trips",
        "at psi = 100 EFFCAP loses 2 %, not reproduced because what it loses is the time for which "
        "it remembers the low rate after each rise, 1.5 s of 40 there, and so falls with psi",
    )
    return _outcome(results, rests, claims, efficiencies, LARGE, "Large psi: INSTCAP and EFFCAP")


def conclude_12(results: Results) -> Outcome:
    """Compares EFFCAP with INSTCAP over small psi."""
    efficiencies = _efficiencies(results, (INSTCAP, EFFCAP), BUFFERS, SMALL)
    gains = _gains(results, COARSE, EFFCAP, INSTCAP, SMALL)
    elsewhere = _gains(results, LINUX_TIMER, EFFCAP, INSTCAP, SMALL)
    claims = (
        *(
            Claim.of(
                f"EFFCAP is 10 to 20 % better at small psi: its gain, at psi = {psi:g}", gains[psi],
                words.from_to("10", "20"), "%", than=0.0,
            )
            for psi in (0.2, *MIDDLE)
        ),
        *(
            Claim.of(
                "Section 8: a large buffer makes up for what frequent losses cost between psi = "
                f"0.5 and 20: EFFCAP with {BUFFERS[-1]} packets above {BUFFERS[0]}, at psi = "
                f"{psi:g}",
                gain(efficiencies[EFFCAP.label, BUFFERS[-1]][psi],
                     efficiencies[EFFCAP.label, BUFFERS[0]][psi]),
                Band(0), "%", than=0.0,
            )
            for psi in (0.5, 1.0, 2.0)
        ),
        *(
            Claim.of(
                "Where the link changes fast the source sends at its mean (sections 4.1 and 5.1): "
                f"{feedback.label}, over what cells leave, at psi = {FASTEST:g}",
                interval(np.divide(efficiencies[feedback.label, BUFFER][FASTEST], CELLS)),
                words.about("1"),
            )
            for feedback in (INSTCAP, EFFCAP)
        ),
        *(
            Claim.of(
                "Between, throughput drops substantially (section 6.1): "
                f"{feedback.label}, psi = {psi:g} below {FASTEST:g}",
                loss(gain(efficiencies[feedback.label, BUFFER][psi],
                          efficiencies[feedback.label, BUFFER][FASTEST])),
                words.STRONG_PERCENT, "%", than=0.0,
            )
            for feedback in (INSTCAP, EFFCAP)
            for psi in (0.5, 1.0, 2.0)
        ),
        *(
            Claim.of(
                f"At least 8 % from psi = 0.3 to 2: at {psi:g}", gains[psi], Band(8), "%",
                origin=Origin.INFERRED
            )
            for psi in MIDDLE
        ),
        Claim.of(
            "Less with the timer of Linux, at psi = 2", elsewhere[2.0], Band(0, 8), "%",
            origin=Origin.INFERRED
        ),
    )  # fmt: skip
    rests = basis(
        "“small” taken for psi of 0.2 to 2",
        "it is up to a quarter better, more where the buffer is smaller",
    )
    return _outcome(results, rests, claims, efficiencies, SMALL, "Small psi: INSTCAP and EFFCAP")


#: Psi at which every scheme gets nearly the link's mean rate.
FASTEST = SMALL.psis[0]
#: Psi between where every scheme gets the link's mean rate and where every scheme can follow it.
MIDDLE = (0.3, 0.5, 1.0, 2.0)
#: With this buffer INSTCAP is no worse than TCP alone, even at its worst psi.
TOO_SMALL = 8


def conclude_13(results: Results) -> Outcome:
    """Compares all three schemes over large psi."""
    efficiencies = _efficiencies(results, SCHEMES, (BUFFER,), LARGE)
    gains = {
        feedback.label: _gains(results, COARSE, feedback, NONE, LARGE)
        for feedback in (INSTCAP, EFFCAP)
    }
    elsewhere = _gains(results, LINUX_TIMER, INSTCAP, NONE, LARGE)
    claims = (
        *(
            Claim.of(
                "INSTCAP is 25 to 30 % better than TCP alone at large psi: its gain, at psi = "
                f"{psi:g}",
                gains[INSTCAP.label][psi], words.from_to("25", "30"), "%", than=0.0,
            )
            for psi in (60.0, 80.0, 100.0)
        ),
        *(
            Claim.of(
                f"EFFCAP is 30 % better: its gain, at psi = {psi:g}", gains[EFFCAP.label][psi],
                words.about("30"), "%", than=0.0, documented=False,
            )
            for psi in (60.0, 100.0, 150.0)
        ),
        *(
            Claim.of(
                f"INSTCAP gains 15 to 35 % at psi = 100, whatever the timer: {name}", percent,
                Band(15, 35), "%", origin=Origin.INFERRED,
            )
            for name, percent in (("coarse", gains[INSTCAP.label][100.0]),
                              ("that of Linux", elsewhere[100.0]))
        ),
    )  # fmt: skip
    rests = basis(
        "“large” taken for 60 round trips and more",
        "the text contradicts itself: 3 to 4 % less than INSTCAP, which is 25 to 30 % better, is "
        "20 to 26 %",
    )
    return _outcome(
        results,
        rests,
        claims,
        efficiencies,
        LARGE,
        "Large psi: nothing, INSTCAP or EFFCAP fed back",
    )


def conclude_14(results: Results) -> Outcome:
    """Compares all three schemes over small psi."""
    efficiencies = _efficiencies(results, SCHEMES, (BUFFER,), SMALL)
    gains = _gains(results, COARSE, EFFCAP, NONE, SMALL)
    effcap, instcap = (efficiencies[feedback.label, BUFFER] for feedback in (EFFCAP, INSTCAP))
    remembering = over_psi.simulated(results, Scheme(LONG_MEMORY), SMALL)
    statement = "EFFCAP is 10 to 15 % better than TCP alone at small psi: its gain, at psi ="
    claims = (
        *(
            Claim.of(
                f"{statement} {psi:g}", gains[psi], words.from_to("10", "15"), "%", than=0.0,
                documented=psi == 1
            )
            for psi in (0.3, 1.0, 2.0)
        ),
        *(
            Claim.of(
                f"EFFCAP has more than the low rate alone would give, {FLOOR:.3f}: at psi = "
                f"{psi:g}",
                interval(effcap[psi]), Band(FLOOR), than=FLOOR, documented=psi <= 0.5,
            )
            for psi in MIDDLE
        ),
        *(
            Claim.of(
                "With a longer memory, N = 200, it has what the low rate would give: at psi = "
                f"{psi:g}",
                interval(remembering[psi]), Band(FLOOR - 0.01, FLOOR + 0.01),
                origin=Origin.INFERRED,
            )
            for psi in (1.0, 2.0)
        ),
        *(
            Claim.of(
                f"INSTCAP has less: at psi = {psi:g}", interval(instcap[psi]), Band(most=FLOOR),
                than=FLOOR
            )
            for psi in MIDDLE
        ),
    )  # fmt: skip
    rests = basis(
        why=(
            "with a memory of eight round trips, as printed, the smallest mean is at times above "
            "the low rate, and each loss then costs a timeout"
        )
    )
    return _outcome(
        results,
        rests,
        claims,
        efficiencies,
        SMALL,
        "Small psi: nothing, INSTCAP or EFFCAP fed back",
    )


def _efficiencies(
    results: Results, feedbacks: Sequence[Feedback], buffers: Sequence[int], part: Part
) -> ByScheme:
    return {
        (scheme.feedback.label, scheme.buffer): over_psi.simulated(results, scheme, part)
        for scheme in over_psi.schemes(feedbacks, buffers)
    }


def _gains(
    results: Results, sender: Sender, above: Feedback, below: Feedback, part: Part
) -> dict[float, Interval]:
    """Returns the gain of one feedback over another, by psi."""
    higher, lower = (
        over_psi.simulated(results, Scheme(feedback, sender=sender), part)
        for feedback in (above, below)
    )
    return {psi: gain(higher[psi], lower[psi]) for psi in part.psis}


def _outcome(
    results: Results,
    rests: Basis,
    claims: tuple[Claim, ...],
    efficiencies: ByScheme,
    part: Part,
    title: str,
) -> Outcome:
    buffers = list(dict.fromkeys(buffer for _, buffer in efficiencies))
    own = (
        Setting(
            "loop",
            f"Δ 200 ms or 40 packets, buffer of {', '.join(map(str, buffers))} packets",
            Origin.PRINTED,
        ),
        Setting("EFFCAP", "M = 7, N = 49", Origin.PRINTED),
        Setting("runs", over_psi.lengths(results), Origin.GUESSED),
        PROTOCOL,
    )
    by_label = {feedback.label: feedback for feedback in SCHEMES}
    shown = {_name(*key): Scheme(by_label[key[0]], key[1]) for key in efficiencies}
    tables = [_table(efficiencies, part), over_psi.transfers_table(results, shown, part)]
    comparisons = [over_psi.beside_reference(efficiencies)]
    if len(buffers) == 1:
        tables.append(_of_today(results, part))
        comparisons.append(_of_linux_timer(results, part))
    return Outcome(
        rests, tuple(comparisons), partial(_draw, results, efficiencies, part, title), claims,
        settings(*own), tuple(tables),
    )  # fmt: skip


def _of_linux_timer(results: Results, part: Part) -> Comparison:
    by_psi = over_psi.simulated(results, Scheme(NONE, sender=LINUX_TIMER), part)
    cells = tuple(
        over_psi.beside((f"{psi:g}",), NONE.label, text, STANDARD_ERROR, by_psi[psi])
        for psi, text in INDEPENDENT_OF_LINUX_TIMER.items()
        if psi in by_psi
    )
    return Comparison(
        "Efficiency with the timer of Linux, beside a reference simulation", Origin.REFERENCE,
        ("psi",), cells, over_psi.CRITERION,
    )  # fmt: skip


def _table(efficiencies: ByScheme, part: Part) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {
            _name(label, buffer): interval(by_psi[psi])
            for (label, buffer), by_psi in efficiencies.items()
        }
        for psi in part.psis
    }
    return measured("Efficiency", ("psi",), rows)


def _name(label: str, buffer: int) -> str:
    return f"{label}, {buffer} packets"


def _of_today(results: Results, part: Part) -> Table:
    rows: Rows = {(f"{psi:g}", sender.label): {} for psi in part.psis for sender in OTHERS}
    for sender in OTHERS:
        cells = None if sender is LINUX_TIMER else 1.0
        for feedback in SCHEMES:
            by_psi = over_psi.simulated(results, Scheme(feedback, sender=sender), part, cells=cells)
            for psi in part.psis:
                rows[f"{psi:g}", sender.label][feedback.label] = interval(by_psi[psi])
    return measured("Other senders; those of today have no cells", ("psi", "sender"), rows)


def _draw(results: Results, efficiencies: ByScheme, part: Part, title: str) -> Figure:
    several = len({buffer for _, buffer in efficiencies}) > 1
    curves = [
        curve(
            _name(label, buffer) if several else label,
            part.psis,
            [interval(by_psi[psi]) for psi in part.psis],
        )
        for (label, buffer), by_psi in efficiencies.items()
    ]
    if not several:
        for feedback in SCHEMES:
            today = over_psi.simulated(results, Scheme(feedback, sender=CUBIC_TODAY), part, cells=1)
            curves.append(
                curve(_today(feedback), part.psis, [interval(today[psi]) for psi in part.psis])
            )
        curves.insert(
            0,
            plot.Curve(
                "low rate, in cells", [part.psis[0], part.psis[-1]], [FLOOR] * 2, "reference"
            ),
        )
    return plot.curves(
        curves, X_LABEL, "efficiency (of the mean capacity)", title, log_x=True, y_from=Y_FROM
    )


def _today(feedback: Feedback) -> str:
    return f"CUBIC today, {feedback.label if feedback.algorithm else 'no feedback'}"


FIGURE_10 = entry(
    "10",
    "Does feeding back the instantaneous capacity (INSTCAP) help if it changes within a few round "
    "trips?",
    "INSTCAP and TCP without feedback, by the buffer; the efficiency of both rises as psi "
    "approaches zero.",
    10.0,
    conclude_10,
    runs_of_10,
)
FIGURE_11 = entry(
    "11",
    "What does EFFCAP cost compared with INSTCAP if the capacity changes slowly?",
    "EFFCAP compared with INSTCAP at large psi: 4 to 2 % worse.",
    50.0,
    conclude_11,
    runs_of_11,
)
FIGURE_12 = entry(
    "12",
    "What does EFFCAP gain over INSTCAP if the capacity changes quickly?",
    "EFFCAP compared with INSTCAP at small psi: a tenth to a quarter better.",
    12.0,
    conclude_12,
    runs_of_12,
)
FIGURE_13 = entry(
    "13",
    "What does rate feedback gain if the capacity changes slowly?",
    "INSTCAP and EFFCAP compared with TCP without feedback at large psi: a quarter better, EFFCAP "
    "less than INSTCAP.",
    70.0,
    conclude_13,
    runs_of_13,
)
FIGURE_14 = entry(
    "14",
    "What does rate feedback gain if the capacity changes quickly?",
    "EFFCAP, INSTCAP and TCP without feedback at small psi: from psi = 1 on neither feedback "
    "reaches what the low rate alone would give.",
    25.0,
    conclude_14,
    runs_of_14,
)
