"""Figure 5: the equations' rates, and those of the senders that follow them, over Reno's."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.models import pftk, tfrc
from ackclock.reproduction import Band, Basis, Cell, Claim, Comparison, Origin, Outcome, Run
from ackclock.scenario import Scenario
from ackclock_papers.own.rate_control.senders import (
    REPLICATES,
    Sender,
    controlled,
    entry,
    flow,
    hops,
    settings,
    tcp,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient
from ackclock_papers.scenarios import AMPLE_PACKETS, Tree, constant, scenario

Array = NDArray[np.float64]

#: Loss probabilities as written in a scenario.
LOSSES = ("0.1 %", "0.5 %", "1 %", "2 %", "5 %", "10 %")
PERCENT = [float(text.removesuffix(" %")) for text in LOSSES]
DURATION_S = 2000.0
ROUND_TRIP_S, TIMEOUT_S = 0.1, 1.0
#: Accepted error of the equation, fixed before any run.
NEAR = Band(0.6, 1.6)


#: The TCP of the paper's figures: an ACK for each packet, timeouts of a second at least.
PRESET = "ns2-2002"
RENO = tcp("Reno", preset=PRESET, recovery="reno")
OTHER_TCPS = (
    tcp("NewReno", preset=PRESET, recovery="newreno"),
    tcp("SACK", preset=PRESET, recovery="sack"),
)
FOLLOWERS = (
    controlled("TFRCP sends", "tfrcp"),
    controlled("TFRC sends", "tfrc"),
    controlled("TFRC with t_RTO of 1 s sends", "tfrc", t_rto="four_rtt_or_a_second"),
    controlled("AIMD on a rate sends", "rap", rto_minimum="1 s"),
)
#: Packets per second, from the loss probability.
EQUATIONS: dict[str, Callable[[float], Array]] = {
    "PFTK promises": lambda p: pftk.full(p, ROUND_TRIP_S, TIMEOUT_S, b=1),
    "TFRC's equation promises": lambda p: tfrc.rate(p, ROUND_TRIP_S),
}

#: Numbers in the guide, by loss, for the names in `SAID_OF`: rates over Reno's.
SAID_OF = (*EQUATIONS, "TFRCP sends", "TFRC sends", "AIMD on a rate sends")
SAID = {
    "0.1 %": ("0.97", "0.99", "1.30", "1.04", "1.05"),
    "1 %": ("1.01", "1.15", "1.15", "1.25", "1.29"),
    "5 %": ("1.04", "1.47", "1.16", "1.72", "2.24"),
    "10 %": ("1.17", "1.67", "1.27", "2.02", "3.84"),
}
#: About the half-width of the intervals, relative to the value.
SHARE = 0.05

#: Packets sent per second by each replicate, by sender and loss.
Sent = Mapping[str, list[Array]]


def runs() -> Mapping[str, Run]:
    """Returns runs of each sender alone, by the loss probability."""
    return {sender.label: Run(_scenario(sender)) for sender in (RENO, *OTHER_TCPS, *FOLLOWERS)}


def _scenario(sender: Sender) -> Scenario:
    lossy: Tree = {"kind": "iid_loss", "probability": LOSSES[0]}
    return scenario(
        sender.label, hops(AMPLE_PACKETS, link=constant(1000), impairments=[lossy]), [flow(sender)],
        duration_s=DURATION_S, warmup_s=0, sample_interval_s=DURATION_S / 10, replicates=REPLICATES,
        sweep={"hops.bottleneck.impairments.0.probability": list(LOSSES)},
    )  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares rates with Reno's, by loss."""
    sent = {
        label: [_sent(result, point) for point in range(len(LOSSES))]
        for label, result in results.items()
    }
    promised = {
        name: [
            np.full_like(counts, rate(percent / 100))
            for percent, counts in zip(PERCENT, sent[RENO.label], strict=True)
        ]
        for name, rate in EQUATIONS.items()
    }
    others = promised | {label: by_loss for label, by_loss in sent.items() if label != RENO.label}
    ratios = {
        name: [quotient(counts.tolist(), reno.tolist())
               for counts, reno in zip(by_loss, sent[RENO.label], strict=True)]
        for name, by_loss in others.items()
    }  # fmt: skip
    rows: Rows = {
        (name,): dict(zip(LOSSES, by_loss, strict=True)) for name, by_loss in ratios.items()
    }
    reno: Rows = {(RENO.label,): dict(zip(LOSSES, map(interval, sent[RENO.label]), strict=True))}
    tables = (
        measured("Over what Reno sends, by loss", ("what",), rows),
        measured("What Reno sends, packets/s", ("sender",), reno),
    )
    cells = tuple(
        Cell.simulated((loss,), name, text, ratios[name][LOSSES.index(loss)], SHARE * float(text))
        for loss, texts in SAID.items()
        for name, text in zip(SAID_OF, texts, strict=True)
    )
    comparison = Comparison(
        "Over what Reno sends", Origin.STATED, ("loss",), cells, f"within {100 * SHARE:g} %"
    )
    own = {
        "path": "1 Gbit/s, 100 ms there and back, independent loss of data and nothing else",
        "TCP": (
            "preset ns2-2002 with Reno's recovery, an ACK for each packet, timeouts of 1 s at least"
        ),
        "equation": f"b = 1, R = {ROUND_TRIP_S:g} s, T0 = {TIMEOUT_S:g} s",
        "runs": f"{DURATION_S:g} s; what is sent in all of it",
    }
    return Outcome(
        Basis(), (comparison,), partial(_draw, ratios), _claims(ratios), settings(own), tables
    )


def _sent(result: Result, point: int) -> Array:
    packets: Array = result.rows("flows", point=point)["sent_packets"].to_numpy()
    return packets / DURATION_S


def _claims(ratios: Mapping[str, list[Interval]]) -> tuple[Claim, ...]:
    return tuple(
        Claim.of(
            f"PFTK is about what Reno sends at a loss of {loss}: it promises "
            f"{100 * (ratio.mean - 1):+.0f} %",
            ratio, NEAR, "times", origin=Origin.STATED,
        )
        for loss, ratio in zip(LOSSES, ratios["PFTK promises"], strict=True)
    )  # fmt: skip


def _draw(ratios: Mapping[str, list[Interval]]) -> Figure:
    others = {sender.label for sender in OTHER_TCPS}
    curves = [plot.Curve("Reno sends", [PERCENT[0], PERCENT[-1]], [1, 1], "reference")]
    # Points come last: the first styles go to lines, and no two of them are alike.
    curves += [
        curve(name, PERCENT, by_loss) for name, by_loss in ratios.items() if name not in others
    ]
    curves += [curve(name, PERCENT, ratios[name], "points") for name in sorted(others)]
    title = "Beside Reno on a path that does nothing but lose, 100 ms"
    return plot.curves(
        curves, "loss probability (%)", "packets sent over Reno's (ratio)", title, log_x=True
    )


EXPERIMENT = entry(
    "5",
    "How close is the equation's rate to Reno's, and to that of senders that follow it?",
    "They are within a factor of 1.6 of it from 0.1 to 10 % of loss.",
    40.0,
    conclude,
    runs,
)
