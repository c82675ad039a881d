"""Figures 16 and 17: the utilisation of a link with RED by ten flows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.models.hstcp_router import Red, fixed_point
from ackclock.reproduction import Band, Claim, Comparison, Experiment, Origin, Outcome, Run, words
from ackclock_papers.hstcp.paper import basis, entry, guessed
from ackclock_papers.hstcp.router import (
    CLOCKED,
    COMPARED,
    FASTER,
    FLOWS,
    PACKET_BYTES,
    SHARES,
    SLOWER,
    WITHIN,
    Array,
    Router,
    cells,
    loss_table,
    losses,
    utilisation,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient
from ackclock_papers.scenarios import Tree, packets

#: The lower threshold over the upper one. The upper one is the buffer, where that does not exceed
#: the bandwidth-delay product.
LOW = 0.4
P_MAX = 0.1
RED, ADAPTIVE, DROP_TAIL = "RED", "Adaptive RED", "drop-tail"
#: Ratio at which analysis and simulation count as close.
CLOSE = words.about("1")
TENTH = 0.1


def _red(router: Router, buffer: int) -> Tree:
    low, high = (packets(round(share * buffer)) for share in (LOW, 1))
    return _limited("red", buffer) | {
        "minimum_threshold": low, "maximum_threshold": high, "maximum_probability": P_MAX,
        "rate": _rate(router),
    }  # fmt: skip


def _adaptive(router: Router, buffer: int) -> Tree:
    """Returns Adaptive RED with the lower threshold of RED.

    The lower threshold is half of the target delay, the upper one three times the lower.
    """
    return _limited("adaptive_red", buffer) | {
        "target_delay": f"{2000 * LOW * buffer / router.rate:g} ms"
    }


def _limited(kind: str, buffer: int) -> Tree:
    return {"kind": kind, "limit": packets(buffer), "typical_packet": f"{PACKET_BYTES} bytes"}


def _rate(router: Router) -> str:
    return f"{router.mbit_per_s:g} Mbit/s"


QUEUES: Mapping[str, Callable[[Router, int], Tree]] = {RED: _red, ADAPTIVE: _adaptive}


@dataclass(frozen=True)
class BehindRed:
    """A figure: one router with some kinds of RED.

    Attributes:
        router: Router.
        kinds: Kinds, keys of `QUEUES`.
        exponent: Exponent of the printed loss rate, a power of ten.
        from_share: The smallest share of the buffer for which it is printed.
        texts: Utilisation at the fixed point by an unpublished reference computation, in percent.
        why: Reason why analysis and simulation are not close.
    """

    router: Router
    kinds: tuple[str, ...]
    exponent: int
    from_share: float
    texts: tuple[str, ...]
    why: str

    def runs(self) -> Mapping[str, Run]:
        """Returns runs with each kind of queue, and with drop-tail for comparison."""
        router = self.router
        made = {
            kind: Run(router.scenario([QUEUES[kind](router, n) for n in router.buffers()], CLOCKED))
            for kind in self.kinds
        }
        return {DROP_TAIL: router.drop_tail(CLOCKED), **made}

    def conclude(self, results: Mapping[str, Result]) -> Outcome:
        """Compares utilisation by buffer: of packets, and of the fixed point."""
        router = self.router
        used = {
            kind: dict(zip(SHARES, utilisation(result), strict=True))
            for kind, result in results.items()
        }
        exact, shortcut = (self._fixed_points(by_shortcut) for by_shortcut in (False, True))
        comparison = Comparison(
            "Utilisation at the fixed point, reference computation", Origin.REFERENCE,
            ("buffer, packets",), cells(router, "RED, exact, %", self.texts, exact), WITHIN,
        )  # fmt: skip
        rows: Rows = {
            (str(buffer),): {
                f"{kind}, %": interval(by_share[share]) for kind, by_share in used.items()
            }
            for buffer, share in zip(router.buffers(), SHARES, strict=True)
        }
        went_in = router.settings(results) + guessed(
            RED=(
                f"thresholds {LOW:g} and 1 of the buffer, p_max {P_MAX:g}, weight 0.002, not gentle"
            ),
            Adaptive_RED=(
                f"lower threshold {LOW:g} of the buffer, the upper three times that; the rest as "
                "its authors"
            ),
        )
        drawn = {
            kind: [interval(values) for values in by_share.values()]
            for kind, by_share in used.items()
        }
        draw = partial(self._draw, drawn, {"RED, exact": exact, "RED, shortcut": shortcut})
        table = measured("Utilisation by packets", ("buffer",), rows)
        claims = (*self._claims(used, exact), *self._of_losses(results))
        tables = (table, loss_table(router, results))
        return Outcome(basis(why=self.why), (comparison,), draw, claims, went_in, tables)

    def _fixed_points(self, shortcut: bool) -> Array:
        """Returns the utilisation in percent at the compared buffers."""
        router = self.router
        round_trips = np.linspace(router.shortest_ms, router.longest_ms, FLOWS) / 1000
        laws = (
            Red(buffer, LOW * buffer, float(buffer), P_MAX, shortcut)
            for buffer in router.buffers(COMPARED)
        )
        utilisations = [
            fixed_point.solve(law, router.rate, round_trips).utilisation for law in laws
        ]
        return 100 * np.array(utilisations, float)

    def _claims(
        self, used: Mapping[str, Mapping[float, list[float]]], exact: Array
    ) -> tuple[Claim, ...]:
        analysis = dict(zip(COMPARED, exact, strict=True))
        claims = []
        for kind in self.kinds:
            grown = quotient(used[kind][1.0], used[kind][TENTH])
            claims.append(
                Claim.of(
                    f"{kind}: more is used with all of the buffer than with a tenth", grown,
                    Band(1), "times", than=1.0, origin=Origin.INFERRED,
                )
            )  # fmt: skip
            claims += [
                Claim.of(
                    f"{kind}: analysis and simulation agree closely: the one over the other, "
                    f"{100 * share:g} % of the buffer",
                    interval(analysis[share] / np.array(used[kind][share])), CLOSE, "times",
                )
                for share in (0.02, TENTH, 0.2, 1.0)
            ]  # fmt: skip
        return tuple(claims)

    def _of_losses(self, results: Mapping[str, Result]) -> tuple[Claim, ...]:
        band = words.power_of_ten(self.exponent)
        where = (
            f" with {100 * self.from_share:g} % of the buffer or more" if self.from_share else ""
        )
        claims = []
        for kind in self.kinds:
            lost = dict(zip(SHARES, losses(results[kind]), strict=True))
            means = [interval(lost[share]).mean for share in SHARES if share >= self.from_share]
            claims.append(
                Claim(
                    f"{kind}: the loss rate is 10^{self.exponent}{where}",
                    f"{min(means):.1e} to {max(means):.1e}",
                    all(band.holds(mean) for mean in means),
                    documented=False,
                    accepted=f"10^{self.exponent - 0.5} to 10^{self.exponent + 0.5}",
                )
            )
        return tuple(claims)

    def _draw(
        self, packets_: Mapping[str, list[Interval]], analyses: Mapping[str, Array]
    ) -> Figure:
        router = self.router
        curves = [
            curve(f"packets, {kind}", router.buffers(), values) for kind, values in packets_.items()
        ]
        curves += [
            plot.Curve(label, router.buffers(COMPARED), list(values))
            for label, values in analyses.items()
        ]
        title = (
            f"Ten HighSpeed TCP flows, {router.name}, {router.shortest_ms:.0f} to "
            f"{router.longest_ms:.0f} ms, RED"
        )
        return plot.curves(curves, "buffer (packets)", "link busy (%)", title, log_x=True)

    def experiment(self, number: str, cost_s: float) -> Experiment:
        """Returns the record of the figure."""
        return entry(
            number,
            f"How does utilisation of a {self.router.name} link depend on the buffer with RED?",
            "As with drop-tail, utilisation grows with the buffer, both in the analysis and in "
            "the simulation.",
            cost_s,
            self.conclude,
            self.runs,
        )


_APART = (
    "packets come in trains, RED averages and windows overshoot, of which the analysis has nothing"
)
FIGURE_16 = BehindRed(
    SLOWER, (RED, ADAPTIVE), -7, TENTH,
    ("77.75", "88.08", "93.88", "97.60", "98.85", "99.47", "99.76", "99.92"), _APART
).experiment("16", 80.0)  # fmt: skip
FIGURE_17 = BehindRed(
    FASTER, (RED,), -6, 0,
    ("59.70", "76.31", "87.23", "94.71", "97.39", "98.74", "99.41", "99.79"), _APART
).experiment("17", 100.0)  # fmt: skip
