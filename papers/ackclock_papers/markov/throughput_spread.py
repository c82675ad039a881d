"""Figures 8.9, 8.10 and 8.12: the standard deviation of the throughput."""

from itertools import pairwise
from typing import NamedTuple

from ackclock.models import aimd_chain
from ackclock.reproduction import (
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Origin,
    Outcome,
    Setting,
    Table,
    words,
)
from ackclock_papers.markov.paper import FIGURE_CRITERION, FIGURE_SHARE, NO_DRAWING, entry
from ackclock_papers.markov.sweep import (
    BY_SEGMENT,
    GRID,
    NEGATIVE,
    NORMAL_RTT,
    Case,
    Peak,
    mean,
    peak,
    sd,
    sweep,
    throughput,
)
from ackclock_papers.markov.throughput_level import BELOW_P, SLIGHT

SD = "standard deviation of the throughput (segments/s)"

# Link rates and window limit are printed. The rest is from the reference computation.
LINKS = tuple(Case(f"L = {L}", 50, L) for L in (100, 200, 300))
BY_LINK = {
    "0.001": ("0.31", "4.89", "19.1"),
    "0.005": ("3.4", "25.3", "61.1"),
    "0.01": ("7.6", "39.5", "77.6"),
    "0.02": ("13.9", "51.2", "84.9"),
    "0.05": ("22.9", "57.1", "82.2"),
    "0.1": ("26.9", "55.0", "75.5"),
}
# Several grids were tried for both figures: equal ratios between round ends, equal steps, 1/n, and
# the p of the other figures. None has its highest points at all p at which the peaks were seen.
UNKNOWN_GRID = (
    "seen on a grid of p that is not known; there, too, the curve is as high as its peak to the "
    "last digit"
)


#: "About 1/3".
THIRD = Band((1 - words.ABOUT) / 3, (1 + words.ABOUT) / 3)


class Seen(NamedTuple):
    """A peak of the reference computation.

    Attributes:
        height: Height, in segments/s.
        p: Loss probability of the peak.
        excepted: Reason why ours is elsewhere, if it is.
    """

    height: str
    p: str
    excepted: str = ""


PEAKS = (
    Seen("27.6", "0.154", UNKNOWN_GRID),
    Seen("57.1", "0.048", UNKNOWN_GRID),
    Seen("85.3", "0.025"),
)

# Printed: 550 in the text, 500 in the caption.
TEXT_L, CAPTION_L = 550, 500
WINDOW_LIMITS = (30, 50, 70)
BY_WINDOW = {
    "1e-4": ("102.9", "42.6", "20.6"),
    "0.001": ("118.2", "94.4", "88.7"),
    "0.005": ("150.3", "152.0", "152.1"),
    "0.01": ("154.2", "154.5", "154.5"),
    "0.05": ("129.8", "129.8", "129.8"),
}
# Reference computation: 154.5 to 155.2, all seen at the same p.
PEAKS_BY_WINDOW = tuple(
    Seen(height, "0.0082", UNKNOWN_GRID) for height in ("154.5", "155.2", "155.2")
)

# Guessed: the text says in words when the deviation is monotonous.
MONOTONOUS = Case("window ≤ 10, round trips of 200 ms ± 100 ms", 10, TEXT_L, 0.200, 0.100)

# Guessed: the paper gives no values.
SPREADS = tuple(Case(f"sd of RTT {ms} ms", 30, 300, 0.120, ms / 1000) for ms in (5, 15, 30, 45))
BY_SPREAD = {
    "0.001": ("38.6", "46.0", "55.0", "62.1"),
    "0.01": ("48.4", "51.7", "61.6", "73.6"),
    "0.05": ("22.3", "23.8", "31.4", "49.7"),
}
MEANS = {
    "0.001": ("230.8", "232.6", "232.0", "229.6"),
    "0.01": ("122.4", "124.1", "129.8", "137.4"),
}


def links() -> Outcome:
    """Computes Figure 8.9."""
    swept = sweep(
        LINKS,
        sd,
        BY_LINK,
        SD,
        "Figure 8.9: spread of the throughput by link rate L (segments/s), window ≤ 50",
    )
    peaks = {case: peak(case, sd) for case in LINKS}
    compared = _peaks(peaks, PEAKS)
    ratios = [top.value / mean(case, top.p) for case, top in peaks.items()]
    slight = {case: max(_change(case, p) for p in GRID if p * SLIGHT < BELOW_P) for case in LINKS}
    like_the_window = Claim(
        "Text: like that of the window it may have a maximum between p = 0 and 0.05",
        ", ".join(f"at p = {top.p:.2g} with {case.label}" for case, top in peaks.items()),
        any(0 < top.p < BELOW_P for top in peaks.values()),
        accepted="with one of the links",
    )
    sensitive = Claim(
        f"Text: for p below {BELOW_P:g} slight changes of p change it significantly: a tenth more "
        "of p, by at most",
        ", ".join(f"{percent:.1f} % with {case.label}" for case, percent in slight.items()),
        any(words.STRONG_PERCENT.holds(percent) for percent in slight.values()),
        accepted=f"{words.STRONG_PERCENT} % with one of the links",
    )
    claim = Claim(
        "Text: at its largest the standard deviation is about one third of the mean",
        f"it is {min(ratios):.2f} to {max(ratios):.2f} of it; a third needs a narrower law of the "
        "round-trip time",
        all(THIRD.holds(ratio) for ratio in ratios),
        documented=False,
        accepted=str(THIRD),
    )
    settings = (
        NORMAL_RTT,
        NEGATIVE,
        BY_SEGMENT,
        Setting("window limit", "50 segments", Origin.PRINTED),
        Setting("link rates", "100, 200, 300 segments/s", Origin.PRINTED),
    )
    basis = Basis(NO_DRAWING)
    claims = (claim, like_the_window, sensitive)
    return Outcome(basis, (swept.comparison, compared), swept.draw, claims, settings)


def _change(case: Case, p: float) -> float:
    """Returns by how much a slight rise of p changes the deviation, in percent of it."""
    return 100 * abs(sd(case, p * SLIGHT) / sd(case, p) - 1)


def _peaks(peaks: dict[Case, Peak], inferred: tuple[Seen, ...]) -> Comparison:
    cells = tuple(
        cell
        for (case, top), seen in zip(peaks.items(), inferred, strict=True)
        for cell in (
            Cell.of(
                (case.label, seen.p),
                "largest standard deviation, segments/s",
                seen.height,
                top.value,
            ),
            Cell.of(
                (case.label, seen.p), "at that p, segments/s", seen.height, sd(case, float(seen.p))
            ),
            Cell.of((case.label, seen.p), "p of the peak", seen.p, top.p, excepted=seen.excepted),
        )
    )
    return Comparison(
        "Peaks", Origin.REFERENCE, ("curve", "seen at p"), cells, "within the last digit"
    )


def window_limits() -> Outcome:
    """Computes Figure 8.10, with the link rate of the text and that of the caption."""
    cases = [Case(f"window ≤ {w_max}", w_max, TEXT_L) for w_max in WINDOW_LIMITS]
    title = (
        f"Figure 8.10: spread of the throughput by window limit (segments), L = {TEXT_L} segments/s"
    )
    swept = sweep(cases, sd, BY_WINDOW, SD, title)
    by_caption = [case._replace(rate=CAPTION_L) for case in cases]
    peaks = {case: peak(case, sd) for case in cases}
    remaining = sd(cases[0], 1e-5)
    falling = all(
        sd(MONOTONOUS, later) <= sd(MONOTONOUS, earlier) for earlier, later in pairwise(GRID)
    )
    ratios = [top.value / mean(case, top.p) for case, top in peaks.items()]
    claims = (
        Claim(
            "Text: at its largest the standard deviation is about one third of the mean",
            f"it is {min(ratios):.2f} to {max(ratios):.2f} of it",
            all(THIRD.holds(ratio) for ratio in ratios),
            documented=False,
            accepted=str(THIRD),
        ),
        Claim(
            "Text: a small window limit keeps the spread large however small the loss; the remedy "
            "is a larger limit",
            f"at p = 1e-5 the standard deviation is {remaining:.0f} with 30 segments, "
            f"{sd(cases[2], 1e-5):.0f} with 70",
            remaining > 100 > 5 * sd(cases[2], 1e-5),
        ),
        Claim(
            "Text: or it may be monotonous, where round trips are long and vary much, and the "
            "window is small and cannot use the link",
            f"with {MONOTONOUS.label} it {'only falls' if falling else 'also rises'} as p grows, "
            f"from {sd(MONOTONOUS, GRID[0]):.0f} to {sd(MONOTONOUS, GRID[-1]):.0f} segments/s",
            falling,
        ),
        Claim(
            f"Caption: L is {CAPTION_L}; text: {TEXT_L}",
            "the two contradict each other; the text's is drawn, both are in the table",
            CAPTION_L == TEXT_L,
            documented=False,
        ),
    )
    both = Table(
        "Standard deviation, segments/s, by text and by caption",
        ("p", *(f"{case.label}, L = {case.rate:g}" for case in (*cases, *by_caption))),
        tuple(
            (text, *(f"{sd(case, float(text)):.1f}" for case in (*cases, *by_caption)))
            for text in BY_WINDOW
        ),
    )
    settings = (
        NORMAL_RTT,
        NEGATIVE,
        BY_SEGMENT,
        Setting("window limits", "30, 50, 70 segments", Origin.PRINTED),
        Setting("link rate", f"{TEXT_L} segments/s (text)", Origin.PRINTED),
    )
    reading = f"the text's link rate of {TEXT_L}, not the caption's {CAPTION_L}; {NO_DRAWING}"
    highest = _peaks(peaks, PEAKS_BY_WINDOW)
    basis = Basis(reading)
    return Outcome(basis, (swept.comparison, highest), swept.draw, claims, settings, (both,))


def spreads() -> Outcome:
    """Computes Figure 8.12."""
    swept = sweep(
        SPREADS,
        sd,
        BY_SPREAD,
        SD,
        "Figure 8.12: spread of the throughput by spread of the round-trip time",
    )
    means = {text: [mean(case, float(text)) for case in SPREADS] for text in MEANS}
    compared = Comparison(
        "Mean throughput (segments/s)",
        Origin.INFERRED,
        ("p",),
        tuple(
            Cell.of((text,), case.label, value, ours, FIGURE_SHARE)
            for text, values in MEANS.items()
            for case, value, ours in zip(SPREADS, values, means[text], strict=True)
        ),
        FIGURE_CRITERION,
    )
    rising = {text: values == sorted(values) for text, values in means.items()}
    spread_rises = all(
        swept.value(narrow, float(text)) < swept.value(wide, float(text))
        for narrow, wide in pairwise(SPREADS)
        for text in BY_SPREAD
    )
    rates = [_rate(case, 0.01) for case in SPREADS]
    claims = (
        Claim(
            "Text: the variance of the round-trip time contributes to that of T: it grows with it",
            "at every p that is compared" if spread_rises else "not at every p",
            spread_rises,
        ),
        Claim(
            "Text: the mean throughput grows with the spread of the round-trip time",
            f"at p = 0.01 from {means['0.01'][0]:.1f} to {means['0.01'][-1]:.1f}; at p = 0.001 "
            f"from {means['0.001'][0]:.1f} to {means['0.001'][-1]:.1f}, since the link cuts it off",
            all(rising.values()),
            documented=False,
            why="not so where the link is full",
        ),
        Claim(
            "What grows is an average over segments; the rate over time hardly moves",
            f"at p = 0.01 the renewal-reward rate goes from {rates[0]:.1f} to {rates[-1]:.1f}",
            abs(rates[-1] / rates[0] - 1) < 0.02,
            origin=Origin.INFERRED,
        ),
    )
    averages = Table(
        "Three averages at p = 0.01, segments/s",
        ("spread of the round-trip time", "ET by segment", "ET by round", "rate over time"),
        tuple(
            (
                case.label,
                f"{mean(case, 0.01):.1f}",
                f"{_mean_by_round(case, 0.01):.1f}",
                f"{rate:.1f}",
            )
            for case, rate in zip(SPREADS, rates, strict=True)
        ),
    )
    settings = (
        NEGATIVE,
        BY_SEGMENT,
        Setting("round-trip time", "normal, mean 120 ms", Origin.GUESSED),
        Setting("its standard deviations", "5, 15, 30, 45 ms", Origin.GUESSED),
        Setting("window limit", "30 segments", Origin.PRINTED),
        Setting("link rate", "300 segments/s", Origin.PRINTED),
    )
    basis = Basis(
        "mean and standard deviations of the round-trip time are guessed, since none is printed; "
        f"{NO_DRAWING}"
    )
    return Outcome(basis, (swept.comparison, compared), swept.draw, claims, settings, (averages,))


def _rate(case: Case, p: float) -> float:
    """Returns the renewal-reward rate in segments/s."""
    chain = aimd_chain.solve(aimd_chain.Bernoulli(p), case.w_max)
    rtt = aimd_chain.rtt.normal(case.rtt_mean_s, case.rtt_sd_s, negative="cap")
    return float(aimd_chain.renewal_rate(chain, rtt, case.rate))


def _mean_by_round(case: Case, p: float) -> float:
    chain, rtt = throughput(case, p).chain, throughput(case, p).rtt
    return float(aimd_chain.Throughput(chain, rtt, rate=case.rate, mode="round").mean())


BY_LINK_RATE = entry(
    "Figure 8.9",
    "How does the link rate affect the spread of the throughput?",
    "Standard deviation of the throughput T against p for link rates of 100, 200 and 300 "
    "segments/s; at most a third of the mean.",
    1.5,
    links,
)
BY_WINDOW_LIMIT = entry(
    "Figure 8.10",
    "How does the window limit affect the spread of the throughput?",
    "Standard deviation of the throughput T against p for window limits of 30, 50 and 70 "
    "segments, L = 550 (text) or 500 (caption).",
    1.5,
    window_limits,
)
BY_SPREAD_OF_RTT = entry(
    "Figure 8.12",
    "How does the spread of the round-trip time affect the spread of the throughput?",
    "Standard deviation of the throughput T against p for several standard deviations of the "
    "round-trip time (not given).",
    1.5,
    spreads,
)
