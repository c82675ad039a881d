"""Figure 8.5: mean and standard deviation of the window by the loss probability."""

from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ackclock import plot
from ackclock.models import aimd_chain
from ackclock.reproduction import Basis, Cell, Claim, Comparison, Origin, Outcome, Setting, words
from ackclock_papers.markov.paper import FIGURE_CRITERION, FIGURE_SHARE, NO_DRAWING, entry

# Printed, in segments.
W_MAX = 70

# Reference computation: p, mean, standard deviation.
POINTS = (
    ("1e-4", "67.08", "7.77"),
    ("3e-4", "61.41", "12.36"),
    ("5e-4", "56.16", "14.41"),
    ("1e-3", "45.62", "15.33"),
    ("2e-3", "33.49", "12.84"),
    ("5e-3", "21.04", "8.32"),
    ("0.01", "14.72", "5.91"),
    ("0.05", "6.32", "2.66"),
    ("0.1", "4.42", "1.83"),
    ("0.5", "2.283", "0.523"),
    ("0.9", "2.010", "0.100"),
)

# Reference computation: the largest standard deviation by window limit, and its p for the printed
# limit.
LARGEST_SD = {30: "6.73", 50: "11.08", 70: "15.42", 120: "26.28"}
LARGEST_AT = "0.00086"


# Printed: from this p on windows are below ten segments, and no larger limit matters.
LARGE_P, SMALL_W = 0.1, 10
LARGER_LIMITS = (20, 40, 70, 120)


def moments(p: float, w_max: int = W_MAX) -> tuple[float, float]:
    """Returns mean and standard deviation by segment."""
    chain = aimd_chain.solve(aimd_chain.Bernoulli(p), w_max)
    return float(chain.mean("segment")), float(chain.sd("segment"))


def law_at_large_p(w_max: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Returns the law by segment at `LARGE_P`, of windows from 2 segments on."""
    return aimd_chain.solve(aimd_chain.Bernoulli(LARGE_P), w_max).law("segment")


def _moved(limit: int, larger: int) -> float:
    """Returns the share of the law that a larger limit moves: the total variation distance."""
    narrow, wide = law_at_large_p(limit), law_at_large_p(larger)
    narrow = np.pad(narrow, (0, wide.size - narrow.size))
    return float(np.abs(narrow - wide).sum() / 2)


def largest_sd(w_max: int) -> tuple[float, float]:
    """Returns the p of the largest standard deviation, and its value."""
    grid = np.geomspace(1e-5, 0.1, 41)
    start = int(np.argmax([moments(p, w_max)[1] for p in grid]))
    around = (np.log(grid[start - 1]), np.log(grid[start + 1]))
    optimum = minimize_scalar(
        lambda log_p: -moments(np.exp(log_p), w_max)[1], bounds=around, method="bounded"
    )
    return float(np.exp(optimum.x)), -float(optimum.fun)


def compute() -> Outcome:
    """Computes both curves, and the dependence of the second on the window limit."""
    every = {*np.geomspace(1e-4, 0.9, 81).tolist(), *(float(text) for text, _, _ in POINTS)}
    curve = {p: moments(p) for p in sorted(every)}
    cells = [
        cell
        for text, mean, sd in POINTS
        for cell in (
            Cell.of((text,), "mean, segments", mean, curve[float(text)][0], FIGURE_SHARE),
            Cell.of(
                (text,), "standard deviation, segments", sd, curve[float(text)][1], FIGURE_SHARE
            ),
        )
    ]
    largest = {w_max: largest_sd(w_max) for w_max in LARGEST_SD}
    of_limits = [
        Cell.of(
            (str(w_max),),
            "largest standard deviation, segments",
            text,
            largest[w_max][1],
            FIGURE_SHARE,
        )
        for w_max, text in LARGEST_SD.items()
    ]
    of_limits.append(Cell.of((str(W_MAX),), "at p", LARGEST_AT, largest[W_MAX][0], FIGURE_SHARE))
    apart = max(sd for _, sd in largest.values()) / min(sd for _, sd in largest.values())
    large_p = [moments(0.02, w_max)[1] for w_max in LARGEST_SD]
    near_zero = moments(1e-7)[0]
    at_ends = {p: moments(p)[1] / largest[W_MAX][1] for p in (1e-7, 0.999)}
    small = float(law_at_large_p(LARGER_LIMITS[-1])[: SMALL_W - 2].sum())
    moved = max(_moved(SMALL_W + 1, limit) for limit in LARGER_LIMITS)
    claims = (
        Claim(
            "Text: the mean is the window limit where nothing is lost",
            f"{near_zero:.2f} of {W_MAX} at p = 1e-7",
            words.SAME.holds(near_zero / W_MAX),
        ),
        Claim(
            "Text: the standard deviation has a maximum between p = 0 and 0.05",
            f"at p = {largest[W_MAX][0]:.2g}",
            0 < largest[W_MAX][0] < 0.05,
        ),
        Claim(
            "Text: it is zero for p near 0 and near 1: over the largest",
            ", ".join(f"{share:.3f} at p = {p:g}" for p, share in at_ends.items()),
            max(at_ends.values()) <= words.THE_SAME,
            accepted=f"at most {words.THE_SAME:g}",
        ),
        Claim(
            "Text: the standard deviation hardly depends on the window limit",
            "its largest value goes from "
            + " over ".join(f"{largest[w_max][1]:.2f} ({w_max})" for w_max in LARGEST_SD)
            + " segments",
            apart <= 1 + words.ABOUT,
            documented=False,
            why="that is so to the right of its peak only",
        ),
        Claim(
            f"Text: for p above {LARGE_P:g} windows are below {SMALL_W} segments",
            f"{small:.3f} of the law at p = {LARGE_P:g}",
            small >= 1 - words.THE_SAME,
            accepted=f"at least {1 - words.THE_SAME:g} of it",
        ),
        Claim(
            f"Text: and a limit above {SMALL_W} segments does not affect the shape of the law",
            f"limits of {', '.join(map(str, LARGER_LIMITS))} move at most {moved:.4f} of it",
            moved <= words.THE_SAME,
            accepted=f"at most {words.THE_SAME:g} of it, against a limit of {SMALL_W + 1}",
        ),
        Claim(
            "It hardly depends on the limit to the right of the peak",
            f"at p = 0.02 {min(large_p):.2f} to {max(large_p):.2f}",
            max(large_p) / min(large_p) < 1.02,
            origin=Origin.INFERRED,
        ),
    )
    settings = (
        Setting("window limit", f"{W_MAX} segments", Origin.PRINTED),
        Setting("limits compared", ", ".join(map(str, LARGEST_SD)), Origin.GUESSED),
    )
    basis = Basis(
        "the second curve is the standard deviation, as in the text, not the variance of the "
        f"caption; {NO_DRAWING}"
    )
    comparisons = (
        Comparison(
            "Moments of the window", Origin.REFERENCE, ("p",), tuple(cells), FIGURE_CRITERION
        ),
        Comparison(
            "The largest standard deviation",
            Origin.REFERENCE,
            ("window limit",),
            tuple(of_limits),
            FIGURE_CRITERION,
        ),
    )
    return Outcome(basis, comparisons, partial(_draw, curve), claims, settings)


def _draw(curve: dict[float, tuple[float, float]]) -> Any:
    drawn = np.array([(p, *values) for p, values in curve.items()])
    points = np.array(POINTS, float)
    curves = [
        shown
        for position, label in enumerate(("mean", "standard deviation"))
        for shown in (
            plot.Curve(label, drawn[:, 0], drawn[:, position + 1]),
            plot.Curve(
                f"{label}, reference", points[:, 0], points[:, position + 1], "points", position
            ),
        )
    ]
    return plot.curves(
        curves,
        "loss probability p",
        "window (segments)",
        f"Figure 8.5: moments of the window, at most {W_MAX} segments",
        log_x=True,
    )


EXPERIMENT = entry(
    "Figure 8.5",
    "How do mean and spread of the window depend on the loss probability?",
    f"Mean and variance (caption) or standard deviation (text) of the window, at most {W_MAX} "
    "segments, against p.",
    1.0,
    compute,
)
