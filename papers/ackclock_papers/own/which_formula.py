"""Formulas of random loss against two simulated senders: the loss probabilities where they diverge.

The path has a round trip of 100 ms, no queueing, and independent loss of data. One sender recovers
by today's RFCs (SACK), the other as the Reno of 1990 that PFTK models. Both acknowledge every other
segment and count bytes, so a window grows by one segment per round trip. All rates are sending
rates, retransmissions included, times the round-trip time and sqrt(p). The square-root law is then
a level line.

Letters: p loss probability, R round-trip time (s), T0 first retransmission timeout (s), b segments
per ACK.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, metrics, plot
from ackclock.metrics import Interval, summarise
from ackclock.models import FlowPath, aimd_chain, flow_path, floyd_fall, pftk
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
)
from ackclock.scenario import Scenario

#: Loss probabilities as written in a scenario, with the losses that a replicate should have.
LOSSES = {
    "0.0001": 200, "0.0003": 300, "0.001": 600, "0.003": 1000, "0.01": 1500, "0.02": 1500,
    "0.05": 2000, "0.1": 2000,
    "0.2": 3000,
}  # fmt: skip
SENDERS = {"SACK": "sack", "Reno's recovery": "reno"}
REPLICATES = 8
ROUND_TRIP = 0.1
GRID = np.geomspace(1e-4, 0.2, 61)
SCALED = "sending rate · RTT · √p (segments)"


class Formula(NamedTuple):
    """A curve of a formula.

    Attributes:
        label: Label in the legend.
        rate: Segments per second, from p and the path.
        drawn: Style: see `plot.Curve`.
    """

    label: str
    rate: Callable[[float, FlowPath], float]
    drawn: str = "line"


def _chain(p: float) -> aimd_chain.WindowChain:
    # The chain hardly ever exceeds ten times the mean window.
    return aimd_chain.solve(aimd_chain.Bernoulli(p), max(32.0, 13 / math.sqrt(p)))


def _rate_of_chain(p: float, path: FlowPath) -> float:
    return aimd_chain.renewal_rate(_chain(p), aimd_chain.rtt.constant(path.round_trip.base_s))


def _rate_with_timeouts(p: float, path: FlowPath) -> float:
    rtt = aimd_chain.rtt.constant(path.round_trip.base_s)
    return aimd_chain.timeouts.renewal_rate(_chain(p), p, rtt, path.sender.first_timeout_s)


def _pftk(p: float, path: FlowPath) -> float:
    return float(
        pftk.full(
            p, path.round_trip.base_s, path.sender.first_timeout_s, b=path.sender.segments_per_ack
        )
    )


def _square_root(p: float, path: FlowPath) -> float:
    return float(floyd_fall.bound(p, path.round_trip.base_s))


SQUARE_ROOT = Formula("square-root law", _square_root, "reference")
CHAIN = Formula("chain", _rate_of_chain)
PFTK = Formula("PFTK", _pftk)
CHAIN_WITH_TIMEOUTS = Formula("chain with timeouts", _rate_with_timeouts)
FORMULAS = (SQUARE_ROOT, CHAIN, PFTK, CHAIN_WITH_TIMEOUTS)

#: Ratios in the guide: the formula's rate over the simulated one, by sender, p and formula.
SAID = {
    "SACK": {
        "0.001": ("0.99", "1.04", "0.96", "0.96"),
        "0.01": ("1.11", "1.13", "0.90", "0.76"),
        "0.05": ("1.48", "1.45", "0.71", "0.51"),
    },
    "Reno's recovery": {
        "0.001": ("1.01", "1.06", "0.98", "0.99"),
        "0.01": ("1.32", "1.35", "1.07", "0.91"),
        "0.05": ("2.23", "2.17", "1.06", "0.77"),
    },
}
NEAR = 0.05


def scenario(p: str, recovery: str) -> Scenario:
    """Returns a scenario of one sender at one loss probability."""
    window = math.sqrt(1.5 / float(p))
    rounds = LOSSES[p] / float(p) / window
    timeouts = 1 + 60 * float(p)  # approximate slow-down by timeouts
    duration = math.ceil(max(rounds * ROUND_TRIP, 30) * timeouts)
    lossy = {"kind": "iid_loss", "probability": p}
    queue = {"kind": "droptail", "limit": "unlimited"}
    link = {"kind": "constant", "rate": "400 Gbit/s"}
    hop = {"link": link, "queue": queue, "delay": "50 ms"}
    transport = {
        "kind": "tcp",
        "preset": "rfc",
        "control": {"kind": "reno"},
        "recovery": recovery,
        "initial_ssthresh": f"{max(2, round(window))} packets",
    }
    tree = {
        "schema": 1,
        "name": f"{recovery}, p = {p}",
        "duration": f"{duration} s",
        "warmup": f"{math.ceil(duration / 20)} s",
        "replicates": REPLICATES,
        "sample_interval": f"{math.ceil(duration / 20)} s",
        "hops": [{"name": "out", "impairments": [lossy]} | hop, {"name": "back"} | hop],
        "flows": [{"name": "main", "route": ["out"], "return": ["back"], "transport": transport}],
    }
    return Scenario(tree)


def runs() -> Mapping[str, Run]:
    """Returns runs of each sender at each loss probability."""
    return {
        f"{sender}, {p}": Run(scenario(p, recovery))
        for sender, recovery in SENDERS.items()
        for p in LOSSES
    }


class Answers(NamedTuple):
    """Rates that are compared and drawn.

    Attributes:
        path: Path of the flow for the formulas; it is the same in all runs, except for its loss.
        simulated: Sending rate in segments/s, by sender and p.
    """

    path: FlowPath
    simulated: dict[tuple[str, str], Interval]

    def ratio(self, formula: Formula, sender: str, p: str) -> float:
        """Returns the formula's rate over the simulated one."""
        return formula.rate(float(p), self.path) / self.simulated[sender, p].mean

    def ratios(
        self, formula: Formula, senders: tuple[str, ...], above: float, below: float
    ) -> list[float]:
        """Returns these ratios for all senders and all p in a range, both ends included."""
        return [
            self.ratio(formula, sender, p)
            for sender in senders
            for p in LOSSES
            if above <= float(p) <= below
        ]


def _sending_rate(result: Result, p: float) -> Interval:
    """Returns the segments sent per second: those that arrived and those that were lost."""
    [summary] = summarise(result, metrics.metric("throughput"))
    arrived, half_width, replicates = summary.interval
    facts = result.points[0]["scenario"]["flows"][0]["transport"]["facts"]
    bits = 8 * (facts["mss_bytes"] + facts["header_bytes"])
    return Interval(arrived / bits / (1 - p), half_width / bits / (1 - p), replicates)


def answered(results: Mapping[str, Result]) -> Answers:
    """Returns the senders' rates, and the path for the formulas."""
    first = next(iter(results.values())).points[0]["scenario"]
    simulated = {
        (sender, p): _sending_rate(results[f"{sender}, {p}"], float(p))
        for sender in SENDERS
        for p in LOSSES
    }
    return Answers(flow_path(first, first["flows"][0]), simulated)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the formulas' rates with the senders'."""
    answers = answered(results)
    cells = tuple(
        Cell(
            (sender, p), formula.label, text, answers.ratio(formula, sender, p), NEAR * float(text)
        )
        for sender, rows in SAID.items()
        for p, texts in rows.items()
        for formula, text in zip(FORMULAS, texts, strict=True)
    )
    criterion = f"within {NEAR:.0%}"
    comparison = Comparison(
        "The formula's rate over the simulated one",
        Origin.STATED,
        ("sender", "p"),
        cells,
        criterion,
    )
    settings = (
        Setting(
            "path",
            f"{ROUND_TRIP * 1000:.0f} ms, nothing queues, independent loss of data",
            Origin.CHOSEN,
        ),
        Setting("sender", "Reno control, preset rfc; SACK, or Reno's recovery", Origin.CHOSEN),
        Setting("first timeout T0", f"{answers.path.sender.first_timeout_s:.0f} s", Origin.CHOSEN),
    )
    drawing = partial(draw, "Which formula should I trust?", answers)
    return Outcome(Basis(), (comparison,), drawing, _claims(answers), settings, (_table(answers),))


def _claims(answers: Answers) -> tuple[Claim, ...]:
    both, sack, reno = tuple(SENDERS), ("SACK",), ("Reno's recovery",)

    def claim(statement: str, ratios: list[float], low: float, high: float) -> Claim:
        least, most = min(ratios), max(ratios)
        spread = f"{least:.2f} to {most:.2f} times"
        return Claim(statement, spread, low <= least and most <= high, origin=Origin.STATED)

    rare = [ratio for formula in FORMULAS for ratio in answers.ratios(formula, both, 0, 0.001)]
    timeless = [
        ratio
        for formula in (SQUARE_ROOT, CHAIN)
        for ratio in answers.ratios(formula, both, 0.01, 1)
    ]
    return (
        claim("Up to p = 0.1 % every formula is within a tenth of either sender", rare, 0.9, 1.1),
        claim("From 1 % on what knows no timeouts promises too much", timeless, 1.05, math.inf),
        claim(
            "PFTK is within 15 % of Reno's recovery up to 10 %", answers.ratios(PFTK, reno, 0, 0.1),
            0.85, 1.15,
        ),
        claim(
            "PFTK is too low for SACK between 1 % and 10 %", answers.ratios(PFTK, sack, 0.01, 0.1),
            0.6, 0.95
        ),
        claim(
            "The chain with timeouts is within a tenth of Reno's recovery up to 1 %",
            answers.ratios(CHAIN_WITH_TIMEOUTS, reno, 0, 0.01), 0.9, 1.1,
        ),
        claim(
            "At 20 % PFTK, too, promises too much", answers.ratios(PFTK, both, 0.2, 0.2), 1.3,
            math.inf,
        ),
    )  # fmt: skip


def _table(answers: Answers) -> Table:
    rows = tuple(
        (sender, p, f"{rate.mean:.2f} ± {rate.half_width:.2f}")
        for (sender, p), rate in answers.simulated.items()
    )
    return Table("Simulated", ("sender", "p", "sending rate, segments/s"), rows)


def draw(title: str, answers: Answers) -> Figure:
    """Draws the formulas and the senders."""
    R = answers.path.round_trip.base_s
    curves = [
        plot.Curve(
            formula.label,
            GRID,
            [formula.rate(p, answers.path) * R * math.sqrt(p) for p in GRID],
            formula.drawn,
        )
        for formula in FORMULAS
    ]
    p = [float(text) for text in LOSSES]
    for sender in SENDERS:
        scaled = [
            answers.simulated[sender, text].mean * R * math.sqrt(float(text)) for text in LOSSES
        ]
        curves.append(plot.Curve(f"simulated, {sender}", p, scaled, "points"))
    return plot.curves(curves, "loss probability p", SCALED, title, log_x=True)


EXPERIMENT = Experiment(
    name="formulas-figure-1",
    group="formulas",
    source="ackclock, guide “Which formula should I trust?”, 2026",
    shows="Figure 1",
    question=(
        "From which loss probability on do the formulas for random loss differ from the simulation?"
    ),
    says=(
        "Square-root law, chain and PFTK agree with the simulation up to p = 0.1 %; above that "
        "they differ because of timeouts."
    ),
    cost_s=11.0,
    conclude=conclude,
    runs=runs,
)
