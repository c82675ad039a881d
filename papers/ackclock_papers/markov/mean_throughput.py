"""Figures 8.7, 8.8 and 8.11: mean throughput by link rate, window limit and round-trip time."""

from collections.abc import Mapping
from itertools import pairwise

from ackclock.reproduction import Basis, Claim, Origin, Outcome, Setting, words
from ackclock_papers.markov.paper import NO_DRAWING, entry
from ackclock_papers.markov.sweep import (
    BY_SEGMENT,
    NEGATIVE,
    NORMAL_RTT,
    Case,
    mean,
    sweep,
    throughput,
)

ET = "mean throughput (segments/s)"

# Printed.
LINKS = tuple(Case(f"L = {L}", 70, L) for L in (100, 200, 500))
WINDOWS = tuple(Case(f"window ≤ {w_max}", w_max, 1000) for w_max in (20, 40, 60))

# All but the first, which is printed elsewhere, are guessed: the means are not given.
ROUND_TRIPS = tuple(Case(f"mean RTT {ms} ms", 30, 300, ms / 1000) for ms in (60, 90, 120, 150))

# Reference computation: ET by p.
BY_LINK = {
    "1e-4": ("100.00", "200.00", "498.4"),
    "0.001": ("100.0", "199.6", "468.3"),
    "0.005": ("99.6", "190.3", "344.1"),
    "0.01": ("98.3", "175.5", "274.1"),
    "0.03": ("90.2", "135.7", "178.7"),
    "0.05": ("82.8", "114.7", "144.4"),
    "0.1": ("70.4", "89.1", "108.8"),
}
BY_WINDOW = {
    "1e-4": ("421.3", "692.9", "856.6"),
    "0.001": ("410.0", "628.3", "714.4"),
    "0.005": ("361.2", "428.3", "430.2"),
    "0.01": ("310.0", "326.2", "326.2"),
    "0.03": ("206.5", "206.6", "206.6"),
    "0.1": ("127.2", "127.2", "127.2"),
}
BY_ROUND_TRIP = {
    "0.001": ("290.4", "269.1", "232.0", "191.0"),
    "0.01": ("223.6", "171.3", "129.8", "102.1"),
    "0.05": ("128.9", "81.0", "56.9", "44.1"),
}


def links() -> Outcome:
    """Computes Figure 8.7."""
    swept = sweep(
        LINKS,
        mean,
        BY_LINK,
        ET,
        "Figure 8.7: mean throughput by link rate L (segments/s), window ≤ 70",
    )
    highest = {case.label: max(swept.curves[case.label].values()) / case.rate for case in LINKS}
    ordered = all(
        swept.value(slow, p) <= swept.value(fast, p)
        for slow, fast in pairwise(LINKS)
        for p in swept.curves[slow.label]
    )
    shapes = [_shape(case, swept.curves[case.label]) for case in LINKS]
    claims = (
        Claim(
            "Text: the mean window and ET have the same shape: ET over it, the largest over the "
            "smallest for p up to 0.3",
            ", ".join(
                f"{shape:.2f} times with {case.label}"
                for case, shape in zip(LINKS, shapes, strict=True)
            ),
            all(words.SAME.holds(shape) for shape in shapes),
            documented=False,
            accepted=f"{words.SAME} times",
            why="where the link is full ET stays as the window grows",
        ),
        Claim(
            "Text: the throughput never exceeds the link capacity",
            f"the mean is at most {max(highest.values()):.4f} of it",
            max(highest.values()) <= 1 + 1e-9,
        ),
        Claim(
            "A faster link gives no less",
            "at every p" if ordered else "not at every p",
            ordered,
            origin=Origin.INFERRED,
        ),
    )
    settings = (
        NORMAL_RTT,
        NEGATIVE,
        BY_SEGMENT,
        Setting("window limit", "70 segments", Origin.PRINTED),
        Setting("link rates", "100, 200, 500 segments/s", Origin.PRINTED),
    )
    return Outcome(Basis(NO_DRAWING), (swept.comparison,), swept.draw, claims, settings)


def _shape(case: Case, curve: Mapping[float, float]) -> float:
    """Returns the largest over the smallest quotient of ET and the mean window."""
    quotients = [rate / throughput(case, p).chain.mean("segment") for p, rate in curve.items()]
    return float(max(quotients) / min(quotients))


def windows() -> Outcome:
    """Computes Figure 8.8."""
    swept = sweep(
        WINDOWS,
        mean,
        BY_WINDOW,
        ET,
        "Figure 8.8: mean throughput by window limit (segments), L = 1000 segments/s",
    )
    apart = max(
        max(swept.value(case, p) for case in WINDOWS)
        / min(swept.value(case, p) for case in WINDOWS)
        - 1
        for p in swept.curves[WINDOWS[0].label]
        if p >= 0.03
    )
    claim = Claim(
        "Text: for p above 0.03 the window limit has no effect",
        f"the curves are at most {apart:.2%} apart",
        apart <= words.THE_SAME,
    )
    settings = (
        NORMAL_RTT,
        NEGATIVE,
        BY_SEGMENT,
        Setting("window limits", "20, 40, 60 segments", Origin.PRINTED),
        Setting("link rate", "1000 segments/s", Origin.PRINTED),
    )
    return Outcome(Basis(NO_DRAWING), (swept.comparison,), swept.draw, (claim,), settings)


def round_trips() -> Outcome:
    """Computes Figure 8.11."""
    swept = sweep(
        ROUND_TRIPS,
        mean,
        BY_ROUND_TRIP,
        ET,
        "Figure 8.11: mean throughput by mean round-trip time, L = 300 segments/s",
    )
    falling = all(
        swept.value(short, p) >= swept.value(long, p)
        for short, long in pairwise(ROUND_TRIPS)
        for p in swept.curves[short.label]
    )
    extent = "at every p" if falling else "not at every p"
    claim = Claim(
        "Text: an increase of the round-trip time decreases the throughput", extent, falling
    )
    settings = (
        NEGATIVE,
        BY_SEGMENT,
        Setting("round-trip time", "normal", Origin.PRINTED),
        Setting("its standard deviation", "30 ms", Origin.GUESSED),
        Setting("mean round-trip times", "60, 90, 120, 150 ms", Origin.GUESSED),
        Setting("window limit", "30 segments", Origin.PRINTED),
        Setting("link rate", "300 segments/s", Origin.PRINTED),
    )
    basis = Basis(f"the mean round-trip times are guessed, since none is printed; {NO_DRAWING}")
    return Outcome(basis, (swept.comparison,), swept.draw, (claim,), settings)


LINK_RATES = entry(
    "Figure 8.7",
    "How does the link rate limit the mean throughput?",
    "Mean throughput ET against p for link rates of 100, 200 and 500 segments/s and windows of at "
    "most 70 segments.",
    1.0,
    links,
)
WINDOW_LIMITS = entry(
    "Figure 8.8",
    "How does the window limit affect the mean throughput on a fast link?",
    "Mean throughput ET against p for window limits of 20, 40 and 60 segments and L = 1000 "
    "segments/s; the curves merge for p > 0.03.",
    1.0,
    windows,
)
MEAN_ROUND_TRIPS = entry(
    "Figure 8.11",
    "How does the mean round-trip time affect the mean throughput?",
    "Mean throughput ET against p for several mean round-trip times (not given), windows of at "
    "most 30 segments, L = 300 segments/s.",
    1.0,
    round_trips,
)
