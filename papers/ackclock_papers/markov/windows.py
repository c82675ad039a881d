"""Figures 8.1 to 8.4 and 8.6: the law of the window under Bernoulli and window-dependent loss.

The paper's formulas weight windows by segment. Figure 8.2 shows that the figures do, too: at its
loss probability the peak at the window limit is the highest by segment, but not by round.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ackclock import plot
from ackclock.models import aimd_chain
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Setting,
)
from ackclock_papers.markov.paper import FIGURE_CRITERION, FIGURE_SHARE, NO_DRAWING, entry

# Printed, in segments.
W_MAX = 120


class Law(NamedTuple):
    """One of the figures 8.1 to 8.4.

    Attributes:
        figure: Number of the figure.
        p: Loss probability, printed.
        moments: Mean and standard deviation by segment and by round, from the reference
            computation.
        shares: P(w) by segment and by round for some w, from the same.
        peaks: Window of the highest P(w) below the limit, from the same.
        stays: True if the text says that the window stays at its limit, as for small p. Otherwise
            it fluctuates.
    """

    figure: str
    p: float
    moments: dict[str, tuple[str, str]]
    shares: dict[str, dict[int, str]]
    peaks: dict[str, int]
    stays: bool


FIGURES = (
    Law(
        "8.1",
        0.00045,
        {"segment": ("70.07", "25.05"), "round": ("60.55", "24.19")},
        {"segment": {120: "0.0556", 60: "0.0166"}, "round": {120: "0.0284"}},
        {"segment": 60},
        stays=True,
    ),
    Law(
        "8.2",
        0.0006,
        {"segment": ("61.42", "22.99"), "round": ("52.68", "21.64")},
        {"segment": {120: "0.0193", 52: "0.0176", 60: "0.0172"}},
        {"segment": 52, "round": 42},
        stays=True,
    ),
    Law(
        "8.3",
        0.001,
        {"segment": ("47.72", "18.41")},
        {"segment": {40: "0.0227", 120: "0.0011"}},
        {"segment": 40},
        stays=False,
    ),
    Law(
        "8.4",
        0.0045,
        {"segment": ("22.21", "8.76")},
        {"segment": {19: "0.0477"}},
        {"segment": 19},
        stays=False,
    ),
)

# Reference computation: the largest p at which the peak at the limit is the highest.
TURNING = {"segment": "0.000612", "round": "0.000506"}

# Guessed: the paper gives no values for figure 8.6.
Q = 0.0005
ALPHAS = {
    1.02: ("41.25", "13.45", 37),
    1.05: ("28.85", "8.73", 26),
    1.1: ("20.57", "5.92", 19),
    1.2: ("14.09", "3.91", 13),
}


def compute(reference: Law) -> Outcome:
    """Computes the law of the window at one loss probability."""
    chain = aimd_chain.solve(aimd_chain.Bernoulli(reference.p), W_MAX)
    laws = {mode: chain.law(mode) for mode in ("segment", "round")}
    by_window = {
        mode: dict(zip(chain.windows.tolist(), law.tolist(), strict=True))
        for mode, law in laws.items()
    }
    segment = by_window["segment"]
    cells = [
        Cell.of((f"{quantity} of the window by {mode}",), "value", text, float(ours), FIGURE_SHARE)
        for mode, moments in reference.moments.items()
        for quantity, text, ours in zip(
            ("mean", "standard deviation"), moments, (chain.mean(mode), chain.sd(mode)), strict=True
        )
    ]
    cells += [
        Cell.of((f"P(window = {w}) by {mode}",), "value", text, by_window[mode][w], FIGURE_SHARE)
        for mode, shares in reference.shares.items()
        for w, text in shares.items()
    ]
    cells += [
        Cell.of(
            (f"peak below the limit by {mode}",), "value", str(w), float(_peak(by_window[mode]))
        )
        for mode, w in reference.peaks.items()
    ]
    claims = [*_claims(reference, segment)]
    if reference.figure == "8.3":
        claims.append(_the_larger_the_limit())
    if reference.figure == "8.2":
        claims.append(_by_round(laws["round"]))
        cells += [
            Cell.of(
                (f"p at which the limit ceases to be likeliest, by {mode}",),
                "value",
                text,
                turning(mode),
                0.01,
            )
            for mode, text in TURNING.items()
        ]
    settings = (
        Setting("loss probability p", f"{reference.p:g}", Origin.PRINTED),
        Setting("window limit", f"{W_MAX} segments", Origin.PRINTED),
    )
    comparison = Comparison(
        "The law of the window", Origin.REFERENCE, ("quantity",), tuple(cells), FIGURE_CRITERION
    )
    basis = Basis(f"windows weighted by segment; {NO_DRAWING}")
    return Outcome(
        basis,
        (comparison,),
        partial(_draw, reference, chain.windows, laws),
        tuple(claims),
        settings,
    )


def _claims(reference: Law, law: dict[int, float]) -> list[Claim]:
    """Returns the text's claims about small p, or about larger p, by segment."""
    below = max(share for w, share in law.items() if w < W_MAX)
    half = W_MAX // 2
    evidence = f"P({W_MAX}) is {law[W_MAX]:.3g}, the highest below it {below:.3g}"
    if not reference.stays:
        next_below = law[W_MAX - 1]
        return [
            Claim(
                "Text: for larger p the law loses its global maximum at the window limit",
                evidence,
                law[W_MAX] < below,
            ),
            Claim(
                "Text: and its local one",
                f"P({W_MAX}) is {law[W_MAX] / next_below:.2f} times P({W_MAX - 1}), which is "
                f"{next_below:.2g}",
                law[W_MAX] <= next_below,
                documented=False,
                accepted=f"P({W_MAX}) is at most P({W_MAX - 1})",
                why="all growth beyond the limit ends there; so a local maximum stays, however low",
            ),
        ]
    near = {w: law[w] for w in range(half - 5, half + 6)}
    highest = max(near, key=lambda w: near[w])
    return [
        Claim(
            "Text: for small p there is a peak at the window limit", evidence, law[W_MAX] > below
        ),
        Claim(
            f"Text: and a smaller one at half of it, {half}",
            f"the highest near it is P({highest}) = {near[highest]:.3g}; P({half}) is "
            f"{law[half]:.3g}",
            highest == half and law[half] > max(law[half - 1], law[half + 1]),
            documented=reference.figure == "8.1",
            accepted=f"a local maximum at {half}",
        ),
    ]


def _peak(law: dict[int, float]) -> int:
    """Returns the likeliest window that is a local maximum; the limit has no larger neighbour."""
    inside = [w for w in list(law)[1:-1] if law[w - 1] <= law[w] >= law[w + 1]]
    return max(inside, key=lambda w: law[w])


def _by_round(law: Any) -> Claim:
    return Claim(
        "By round, the limit is the likeliest window too",
        f"P({W_MAX}) is {law[-1]:.4f}, the peak below {max(law[:-1]):.4f}",
        bool(law[-1] > max(law[:-1])),
        documented=False,
        origin=Origin.INFERRED,
    )


#: Window limits whose turning points are compared, and the p between which these lie.
LIMITS, TURNS_WITHIN = (60, W_MAX, 240), (1e-5, 1e-2)


def _the_larger_the_limit() -> Claim:
    turns = {limit: turning("segment", limit) for limit in LIMITS}
    return Claim(
        "Text: the larger the limit, the smaller p must be for the window to stay there: largest "
        "p at which the peak at the limit is the highest",
        ", ".join(f"{p:.2g} with {limit} segments" for limit, p in turns.items()),
        list(turns.values()) == sorted(turns.values(), reverse=True),
    )


def turning(mode: str, limit: int = W_MAX) -> float:
    """Returns the p above which the peak at the limit is no longer the highest."""

    def above(p: float) -> float:
        law = aimd_chain.solve(aimd_chain.Bernoulli(p), limit).law(mode)
        return float(law[-1] - max(law[:-1]))

    return float(brentq(above, *TURNS_WITHIN, xtol=1e-9))


def _draw(reference: Law, windows: Any, laws: dict[str, Any]) -> Any:
    curves = [plot.Curve(f"by {mode}", windows, law) for mode, law in laws.items()]
    for position, (mode, shares) in enumerate(reference.shares.items()):
        heights = [float(text) for text in shares.values()]
        curves.append(
            plot.Curve(f"by {mode}, reference", list(shares), heights, "points", position)
        )
    return plot.curves(
        curves,
        "window (segments)",
        "probability",
        f"Figure {reference.figure}: law of the window, p = {reference.p:g}",
    )


def compute_window_dependent() -> Outcome:
    """Computes Figure 8.6: loss that grows with the window."""
    cells, curves, highest = [], [], 0.0
    for position, (alpha, (mean, sd, peak)) in enumerate(ALPHAS.items()):
        chain = aimd_chain.solve(aimd_chain.WindowDependent(Q, alpha), W_MAX)
        law = chain.law("segment")
        row = (f"{alpha:g}",)
        cells += [
            Cell.of(row, "mean, segments", mean, float(chain.mean("segment")), FIGURE_SHARE),
            Cell.of(
                row, "standard deviation, segments", sd, float(chain.sd("segment")), FIGURE_SHARE
            ),
            Cell.of(row, "peak, segments", str(peak), float(chain.windows[np.argmax(law)])),
        ]
        highest = max(highest, float(law[chain.windows > W_MAX - 10].sum()))
        curves.append(plot.Curve(f"alpha = {alpha:g}", chain.windows, law))
        curves.append(plot.Curve("peak, reference", [peak], [float(law.max())], "points", position))
    claim = Claim(
        "No mass is near the window limit",
        f"at most {highest:.1e} in the last ten windows",
        highest < 1e-3,
        origin=Origin.INFERRED,
    )
    settings = (
        Setting("loss law", "p(w) = q alpha^w", Origin.PRINTED),
        Setting("alpha", "above 1", Origin.PRINTED),
        Setting("alpha", ", ".join(f"{alpha:g}" for alpha in ALPHAS), Origin.GUESSED),
        Setting("q", f"{Q:g}", Origin.GUESSED),
        Setting("window limit", f"{W_MAX} segments", Origin.GUESSED),
    )
    comparison = Comparison(
        "The law of the window", Origin.REFERENCE, ("alpha",), tuple(cells), FIGURE_CRITERION
    )
    basis = Basis(f"q, alpha and the limit are guessed, since none is printed; {NO_DRAWING}")
    draw = partial(
        plot.curves,
        curves,
        "window (segments)",
        "probability",
        f"Figure 8.6: law of the window, loss p(w) = {Q:g} alpha^w",
    )
    return Outcome(basis, (comparison,), draw, (claim,), settings)


def _entry(reference: Law) -> Experiment:
    return entry(
        f"Figure {reference.figure}",
        "How are window sizes distributed if a limit caps them?",
        f"Distribution of the window for p = {reference.p:g} and windows up to {W_MAX} segments.",
        1.0,
        partial(compute, reference),
    )


EXPERIMENTS = tuple(map(_entry, FIGURES))
WINDOW_DEPENDENT = entry(
    "Figure 8.6",
    "How are window sizes distributed if the loss probability grows with the window?",
    "Distribution of the window for p(w) = q alpha^w with alpha above 1.",
    1.0,
    compute_window_dependent,
)
