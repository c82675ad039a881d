"""Figures 5a and 5b: friendliness of TFRCP to TCP beside short transfers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import page_trend_test

from ackclock import Result, metrics
from ackclock.metrics import interval
from ackclock.reproduction import Basis, Claim, Origin, Outcome, Run, Setting, Table
from ackclock_papers.replicates import Rows, measured
from ackclock_papers.scenarios import Tree
from ackclock_papers.tfrcp.background import BACKGROUND, MONITORED, Beside
from ackclock_papers.tfrcp.friendliness import (
    FRIENDLINESS,
    ByLoad,
    by_load,
    draw,
    over_loads,
)
from ackclock_papers.tfrcp.paper import CLOSE, basis, entry
from ackclock_papers.tfrcp.path import CENTRAL, ROUTE, Path, guesses
from ackclock_papers.tfrcp.senders import CUBIC, RENO, TFRC, Sender, one_path, s1, settings

CONSTANT = tuple(s1(m) for m in (2, 3, 4, 5, 6))
SENDERS = (*CONSTANT, TFRC, CUBIC)
#: Significance level of the rank test.
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Transfers:
    """Background traffic of a figure.

    Attributes:
        number: Number of the figure.
        low_kb: Smallest size, in kB. Guessed.
        high_kb: Largest size, in kB. Guessed.
        intervals_s: Mean intervals between arrivals, in seconds: the shorter, the more transfers
            are active. They leave the monitored senders at least half of the bottleneck.
    """

    number: str
    low_kb: int
    high_kb: int
    intervals_s: tuple[float, ...]

    @property
    def points(self) -> range:
        """The points of the sweep, one for each interval."""
        return range(len(self.intervals_s))

    def flow(self, path: Path) -> Tree:
        """Returns the flow group of the transfers, with the TCP that is monitored."""
        return {
            "name": BACKGROUND,
            "arrivals": {"kind": "poisson", "mean_interval": f"{self.intervals_s[0]:g} s"},
            "transport": RENO.on(path),
            "traffic": {
                "kind": "transfer",
                "size": {
                    "kind": "uniform",
                    "low": f"{self.low_kb} kB",
                    "high": f"{self.high_kb} kB",
                },
            },
        } | ROUTE

    def beside(self, sender: Sender, path: Path) -> Beside:
        """Returns monitored senders beside the transfers."""
        between = [f"{interval_s:g} s" for interval_s in self.intervals_s]
        return Beside(sender, self.flow(path), "arrivals.mean_interval", between, path)

    def runs(self) -> Mapping[str, Run]:
        """Returns runs of all senders on one path, and of three senders with every guess."""
        drawn = {sender.label: self.beside(sender, CENTRAL) for sender in SENDERS}
        others = {
            _name(sender, path): self.beside(sender, path)
            for path in guesses()
            if path != CENTRAL
            for sender in (CONSTANT[0], CONSTANT[-1], TFRC)
        }
        return {name: Run(mix.scenario) for name, mix in (drawn | others).items()}


SMALL = Transfers("5a", 10, 30, (1.0, 0.6, 0.4, 0.3, 0.22))
LARGE = Transfers("5b", 50, 150, (5.0, 3.0, 2.0, 1.5, 1.1))


def _name(sender: Sender, path: Path) -> str:
    return ", ".join((sender.label, *path.label)) if path != CENTRAL else sender.label


def _conclude(
    transfers: Transfers, rests: Basis, failing: Sequence[str], results: Mapping[str, Result]
) -> Outcome:
    f = {
        sender.label: by_load(results[sender.label], FRIENDLINESS, transfers.points)
        for sender in SENDERS
    }
    active = {
        label: by_load(results[label], metrics.metric("active_flows"), transfers.points, BACKGROUND)
        for label in f
    }
    tables = (
        _table("F", transfers, f),
        _table("Transfers active at a time", transfers, active),
        measured(
            "F on the mean over the intervals, by what is guessed",
            ("packets", "delay", "buffer"),
            _guessed(transfers, results),
        ),
    )
    own = (
        Setting(
            "background", f"transfers of {transfers.low_kb} to {transfers.high_kb} kB, uniform",
            Origin.GUESSED,
        ),
        Setting(
            "arrivals", "Poisson; how many are active follows, and is measured", Origin.GUESSED,
        ),
        Setting("monitored", f"{MONITORED} TCP and {MONITORED} others", Origin.GUESSED),
    )  # fmt: skip
    went_in = settings(results, *one_path(), *own)
    where = {
        label: [float(np.mean(values)) for values in by_point.values()]
        for label, by_point in active.items()
    }
    title = f"Beside transfers of {transfers.low_kb} to {transfers.high_kb} kB"
    draw_it = draw(title, f, "transfers active at a time, measured (mean number)", where)
    return Outcome(rests, (), draw_it, _claims(f, failing), went_in, tables)


def _table(title: str, transfers: Transfers, by_sender: Mapping[str, ByLoad]) -> Table:
    heads = [f"an arrival in {interval_s:g} s" for interval_s in transfers.intervals_s]
    rows: Rows = {
        (label,): {head: interval(values[point]) for point, head in enumerate(heads)}
        for label, values in by_sender.items()
    }
    return measured(title, ("sender",), rows)


def _guessed(transfers: Transfers, results: Mapping[str, Result]) -> Rows:
    return {
        path.label: {
            sender.label: over_loads(
                by_load(results[_name(sender, path)], FRIENDLINESS, transfers.points)
            )
            for sender in (CONSTANT[0], CONSTANT[-1], TFRC)
        }
        for path in guesses()
    }


def _claims(f: Mapping[str, ByLoad], failing: Sequence[str]) -> tuple[Claim, ...]:
    smallest = f[CONSTANT[0].label]
    points = {point: interval(values) for point, values in smallest.items()}
    least, most = (pick(points.values(), key=lambda value: value.mean) for pick in (min, max))
    return (
        Claim.of(
            "F is approximately one with the smallest M: the least",
            least,
            CLOSE,
            documented="least" not in failing,
        ),
        Claim.of(
            "F is approximately one with the smallest M: the largest",
            most,
            CLOSE,
            documented="most" not in failing,
        ),
        falls(f, "falls" not in failing),
    )


def falls(f: Mapping[str, ByLoad], documented: bool) -> Claim:
    """Claims that F falls as M grows, by Page's test.

    Each point and replicate is a block, within which M gives the order.
    """
    by_m = [
        np.concatenate([f[sender.label][point] for point in f[sender.label]]) for sender in CONSTANT
    ]
    blocks = np.array(by_m).T
    # The test is for growth, so M goes from the largest to the smallest.
    trend = page_trend_test(blocks[:, ::-1])
    means = ", ".join(f"{mean:.3f}" for mean in blocks.mean(axis=0))
    return Claim(
        "F falls as M grows",
        f"means {means} with M = 2 to 6 s; Page's test over {len(blocks)} blocks: "
        f"P = {trend.pvalue:.2g}",
        bool(trend.pvalue < SIGNIFICANCE), documented, accepted=f"P below {SIGNIFICANCE:g}",
    )  # fmt: skip


FIGURE_5A, FIGURE_5B = (
    entry(
        transfers.number,
        question,
        "F, TFRCP's goodput over TCP's, by the number of active transfers, in rounds of 2 to 6 s.",
        45.0,
        partial(
            _conclude,
            transfers,
            basis(
                "sizes and arrivals of transfers guessed, too",
                "that F falls is a matter of a twentieth, from M = 3 s on: with M = 2 s it is less "
                "where few transfers are active",
            ),
            (),
        ),
        transfers.runs,
    )
    for transfers, question in (
        (SMALL, "Does TFRCP share fairly with TCP if short transfers come and go?"),
        (LARGE, "Does TFRCP share fairly with TCP if longer transfers come and go?"),
    )
)
