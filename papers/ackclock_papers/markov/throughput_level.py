"""Figure 8.13: the probability that the throughput exceeds a level."""

from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure
from scipy.optimize import brentq

from ackclock import plot
from ackclock.reproduction import Basis, Cell, Claim, Comparison, Origin, Outcome, Setting, words
from ackclock_papers.markov.paper import FIGURE_CRITERION, FIGURE_SHARE, NO_DRAWING, entry
from ackclock_papers.markov.sweep import (
    BY_SEGMENT,
    NEGATIVE,
    NORMAL_RTT,
    Case,
    Swept,
    sweep,
    throughput,
)

# All but the level 0.5 is guessed: the paper gives no values.
LINKS = tuple(Case(f"L = {L}", 50, L) for L in (200, 300, 500))
COMPARED = LINKS[1]

# Reference computation: P(T > L/2) for L = 300; the p at which it is a half, for each link rate;
# the interval that holds nine tenths.
ABOVE = {
    "0.001": "0.997",
    "0.005": "0.913",
    "0.01": "0.774",
    "0.02": "0.567",
    "0.03": "0.439",
    "0.05": "0.300",
    "0.1": "0.172",
}
EVEN_AT = ("0.0530", "0.0247", "0.0093")
NINE_TENTHS = ("87.1", "300")


def above_half(case: Case, p: float) -> float:
    """Returns P(T > L/2)."""
    return float(throughput(case, p).exceeds(case.rate / 2))


def even(case: Case) -> float:
    """Returns the p at which the throughput exceeds half of the link rate half of the time."""
    return float(brentq(lambda p: above_half(case, p) - 0.5, 1e-3, 0.3, xtol=1e-9))


def compute() -> Outcome:
    """Computes the probability and its complement."""
    expected = {text: ("", value, "") for text, value in ABOVE.items()}
    swept = sweep(LINKS, above_half, expected, "P(T > L/2)", "")
    cells = [
        Cell.of((case.label,), "p at which P(T > L/2) is a half", text, even(case), FIGURE_SHARE)
        for case, text in zip(LINKS, EVEN_AT, strict=True)
    ]
    interval = throughput(COMPARED, 0.01).interval(0.9)
    for name, text, ours in zip(("5 %", "95 %"), NINE_TENTHS, interval, strict=True):
        row = (f"{COMPARED.label}, p = 0.01",)
        cells.append(Cell.of(row, f"{name} quantile, segments/s", text, float(ours), FIGURE_SHARE))
    other = Comparison(
        "Levels and quantiles", Origin.REFERENCE, ("curve",), tuple(cells), FIGURE_CRITERION
    )
    falling = all(
        later <= earlier + 1e-12
        for curve in swept.curves.values()
        for earlier, later in pairwise(curve.values())
    )
    crossing = [even(case) for case in LINKS]
    before, after = (above_half(COMPARED, p) for p in (0.005, 0.05))
    claims = (
        Claim(
            "Text: the lines cross at probability 0.5",
            ", ".join(f"at p = {p:.3g}" for p in crossing),
            all(
                abs(above_half(case, p) - 0.5) < 1e-6
                for case, p in zip(LINKS, crossing, strict=True)
            ),
        ),
        Claim(
            "Text: for p below 0.05 slight changes of p may have significant effect",
            f"with {COMPARED.label} the probability falls from {before:.2f} at p = 0.005 to "
            f"{after:.2f} at 0.05",
            before - after > words.ABOUT,
        ),
        Claim(
            "It falls as p grows",
            "everywhere" if falling else "not everywhere",
            falling,
            origin=Origin.INFERRED,
        ),
    )
    settings = (
        NORMAL_RTT,
        NEGATIVE,
        BY_SEGMENT,
        Setting("level", "0.5", Origin.PRINTED),
        Setting("window limit", "50 segments", Origin.GUESSED),
        Setting("link rates", "200, 300, 500 segments/s", Origin.GUESSED),
    )
    basis = Basis(f"all but the level is guessed, since nothing else is printed; {NO_DRAWING}")
    return Outcome(basis, (swept.comparison, other), partial(_draw, swept), claims, settings)


def _draw(swept: Swept) -> Figure:
    curves = [
        plot.Curve(f"P(T > L/2), {label}", list(curve), list(curve.values()))
        for label, curve in swept.curves.items()
    ]
    cells = swept.comparison.cells
    p = [float(cell.row[0]) for cell in cells]
    curves.append(
        plot.Curve("reference", p, [cell.theirs for cell in cells], "points", LINKS.index(COMPARED))
    )
    curve = swept.curves[COMPARED.label]
    below = [1 - share for share in curve.values()]
    curves.append(plot.Curve(f"P(T ≤ L/2), {COMPARED.label}", list(curve), below))
    return plot.curves(
        curves,
        "loss probability p",
        "probability",
        "Figure 8.13: how often the throughput is above half of the link rate L (segments/s)",
        log_x=True,
    )


EXPERIMENT = entry(
    "Figure 8.13",
    "How often does the throughput exceed a given level?",
    "P(T > 0.5 L) and its complement against p; window limit and link rate are not given.",
    1.0,
    compute,
)
