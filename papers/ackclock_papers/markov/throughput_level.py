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
    GRID,
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

#: A slight rise of p: the most that "slight" allows.
SLIGHT = 1 + words.ABOUT
#: Printed: the effect is claimed for smaller p.
BELOW_P = 0.05

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


def below_half(case: Case, p: float) -> float:
    """Returns P(T <= L/2)."""
    return float(throughput(case, p).cdf(case.rate / 2))


def crossing(case: Case) -> float:
    """Returns the p at which the throughput is as often above half of the link rate as below."""
    return float(brentq(lambda p: above_half(case, p) - below_half(case, p), 1e-3, 0.3, xtol=1e-9))


def fall(case: Case, p: float) -> float:
    """Returns by how much a slight rise of p lowers P(T > L/2), in percent of it."""
    return 100 * (1 - above_half(case, p * SLIGHT) / above_half(case, p))


def compute() -> Outcome:
    """Computes the probability and its complement."""
    expected = {text: ("", value, "") for text, value in ABOVE.items()}
    swept = sweep(LINKS, above_half, expected, "P(T > L/2)", "")
    cells = [
        Cell.of(
            (case.label,), "p at which P(T > L/2) is a half", text, crossing(case), FIGURE_SHARE
        )
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
    crossings = {case: crossing(case) for case in LINKS}
    sums = [
        above_half(case, p) + below_half(case, p)
        for case in LINKS
        for p in swept.curves[case.label]
    ]
    falls = {case: max(fall(case, p) for p in GRID if p * SLIGHT < BELOW_P) for case in LINKS}
    claims = (
        Claim(
            "Text: the lines cross at probability 0.5",
            ", ".join(
                f"at p = {p:.3g} with {above_half(case, p):.3f}" for case, p in crossings.items()
            ),
            all(abs(above_half(case, p) - 0.5) < 1e-6 for case, p in crossings.items()),
        ),
        Claim(
            "Text: their sum is always 1",
            f"{min(sums):.12f} to {max(sums):.12f}",
            max(abs(total - 1) for total in sums) < 1e-12,
        ),
        Claim(
            f"Text: for p below {BELOW_P:g} slight changes of p may have significant effect: a "
            "tenth more of p lowers P(T > L/2) by, at most",
            ", ".join(f"{falls[case]:.1f} % of it with {case.label}" for case in LINKS),
            any(words.STRONG_PERCENT.holds(percent) for percent in falls.values()),
            documented=False,
            accepted=f"{words.STRONG_PERCENT} % with one of the links",
            why="windows go with the root of p, and the spread of the round-trip time blurs the "
            "level",
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
