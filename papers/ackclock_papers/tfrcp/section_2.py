"""Section II.A: the square-root law C/(R sqrt(p)) beside a Reno sender, by the loss probability.

The text says above which loss rate the law is not accurate, but the digit is lost: 5 % is taken.
The runs are those of `formulas-figure-1`: random loss, nothing queues.

The section also names five protocols. Two are for multicast with layers, and ackclock has no
multicast. Three are described by one sentence each, without the numbers of their rules: a window
without retransmission, RTP reports with a packet pair, and additive increase once per round trip.
"""

from collections.abc import Mapping
from functools import partial

from ackclock import Result
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Setting,
    Table,
    words,
)
from ackclock_papers.own.which_formula import LOSSES, PFTK, SQUARE_ROOT, answered, draw, runs
from ackclock_papers.tfrcp.paper import GROUP, SOURCE

RENO = "Reno's recovery"
#: Inferred: the digit is lost in the text at hand.
LIMIT = 0.05
ACCURATE = words.about("1")


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the law, and the formula with timeouts, with the sender at each loss."""
    answers = answered(results)
    law = {p: answers.ratio(SQUARE_ROOT, RENO, p) for p in LOSSES}
    above = [ratio for p, ratio in law.items() if float(p) > LIMIT]
    below = [ratio for p, ratio in law.items() if float(p) <= LIMIT]
    ratios = list(law.values())
    claims = (
        Claim(
            f"The law is not accurate for loss rates above {100 * LIMIT:g} %: over a Reno sender",
            f"{min(above):.2f} to {max(above):.2f} times",
            not any(ACCURATE.holds(ratio) for ratio in above), accepted=f"not {ACCURATE} times",
        ),
        Claim(
            "It overestimates as the loss rate increases: over the sender, the first to the last",
            " ".join(f"{ratio:.2f}" for ratio in ratios),
            ratios == sorted(ratios) and Band(1).holds(ratios[-1]), accepted="rising above 1",
        ),
        Claim(
            f"It is accurate up to {100 * LIMIT:g} %, as the sentence suggests",
            f"{min(below):.2f} to {max(below):.2f} times; within a tenth up to "
            f"{max(float(p) for p, ratio in law.items() if ACCURATE.holds(ratio)):.1%}",
            all(ACCURATE.holds(ratio) for ratio in below), documented=False,
            origin=Origin.INFERRED,
        ),
    )  # fmt: skip
    rows = tuple(
        (p, f"{ratio:.2f}", f"{answers.ratio(PFTK, RENO, p):.2f}") for p, ratio in law.items()
    )
    table = Table("Formula over the sender", ("p", "square-root law", "PFTK"), rows)
    settings = (
        Setting("loss rate from which the law is not accurate", f"{LIMIT:.0%}", Origin.INFERRED),
        Setting("path", "100 ms, nothing queues, independent loss", Origin.GUESSED),
        Setting(
            "sender", "Reno's recovery, an ACK for two segments, bytes counted", Origin.GUESSED
        ),
    )
    basis = Basis(f"{LIMIT:.0%}, the digit being lost in the text; path and sender guessed")
    return Outcome(
        basis,
        (),
        partial(draw, "The square-root law and a Reno sender", answers),
        claims,
        settings,
        (table,),
    )


EXPERIMENT = Experiment(
    name="tfrcp-section-2",
    group=GROUP,
    source=SOURCE,
    shows="Section 2",
    question="From which loss rate on is the square-root law wrong for a Reno sender?",
    says="The law knows no timeouts, and promises too much as losses grow.",
    cost_s=11.0,
    conclude=conclude,
    runs=runs,
)
