"""Statements of the paper's figures as checks of a reading: a number and its accepted band."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band
from ackclock.scenario import Scenario
from ackclock_papers.replicates import of_replicates, quotient
from ackclock_papers.westwood import (
    figure_2,
    figure_3,
    figure_5,
    figure_12,
    figure_16,
    figure_18,
    figure_19,
    figure_20,
    figure_21,
    over_time,
)
from ackclock_papers.westwood.over_parameter import BOTTLENECK
from ackclock_papers.westwood.paths import Path, one_bottleneck, wired_wireless
from ackclock_papers.westwood.reading import Reading
from ackclock_papers.westwood.senders import DURATION_S, REPLICATES, WARMUP_S

#: Sampling intervals: fine for estimates and for newcomers, coarse where only totals matter.
FINE_S, COARSE_S = 0.5, 5.0
NEWRENO, BE, RE, CRB, ABSE = "NewReno", "BE", "RE", "CRB", "ABSE"
#: Label of ABSE senders that join others.
LATE = "ABSE late"
#: Replicates of runs with random loss, which spreads results more than queues do.
LOSSY = 20


class Sent(NamedTuple):
    """Senders on a path, which make one run.

    Attributes:
        path: Path of the senders.
        groups: Labels of controls, each with its number of senders.
        fine: True if samples are needed at short intervals.
        replicates: Number of replicates.
    """

    path: Path
    groups: tuple[tuple[str, int], ...]
    fine: bool = False
    replicates: int = REPLICATES

    def scenario(self, reading: Reading) -> Scenario:
        """Returns the scenario under a reading."""
        groups = dict(self.groups)
        starts = (
            {LATE: [f"{figure_21.JOIN_S:g} s", f"{figure_21.JOIN_S + 1:g} s"]}
            if LATE in groups
            else {}
        )
        duration_s = figure_21.DURATION_S if starts else DURATION_S
        return reading.scenario(
            self.path,
            groups,
            starts,
            duration_s,
            FINE_S if self.fine else COARSE_S,
            self.replicates,
        )


class Check(NamedTuple):
    """A check.

    Attributes:
        figure: Figure of the paper.
        says: Name of the quantity.
        accepted: Accepted band; None if the number is only of interest.
        sent: Senders to run.
        value: Computes the number from their results.
    """

    figure: str
    says: str
    accepted: Band | None
    sent: tuple[Sent, ...]
    value: Callable[[Sequence[Result]], Interval]

    def holds(self, value: float) -> bool:
        """Returns whether a number is accepted."""
        return self.accepted is None or self.accepted.holds(value)

    @property
    def about(self) -> set[str]:
        """Labels of the estimators that it depends on."""
        return {label.partition(" ")[0] for sent in self.sent for label, _ in sent.groups} - {
            NEWRENO
        }


def _estimate(figure: str, label: str, senders: int, loss: float, accepted: Band | None) -> Check:
    says = f"estimate {label}, {f'{loss:.0%} lost' if loss else 'no loss'}, Mbit/s"

    def value(results: Sequence[Result]) -> Interval:
        return interval(over_time.mean_estimates(results[0], label, WARMUP_S, DURATION_S, senders))

    sent = (
        Sent(
            one_bottleneck(5, loss=loss), ((label, senders),), True, LOSSY if loss else REPLICATES
        ),
    )
    return Check(figure, says, accepted, sent, value)


def _goodput(results: Sequence[Result], label: str) -> list[float]:
    """Returns the total goodput of these senders, from the first result that has them."""
    for result in results:
        if label in result.tables["flows"]["flow"].to_pylist():
            return of_replicates(result, "goodput", label)
    raise KeyError(label)


def _buffer(label: str, packets: int, accepted: Band) -> Check:
    sent = (Sent(one_bottleneck(5, packets), ((label, 1),)),)
    says = f"goodput of {label}, {packets} packets, Mbit/s"
    return Check("12", says, accepted, sent, lambda results: interval(_goodput(results, label)))


def _utilisation(label: str, packets: int, accepted: Band) -> Check:
    sent = tuple(Sent(one_bottleneck(45, packets), ((sender, 10),)) for sender in (label, NEWRENO))
    says = f"goodput of {label} over NewReno, {packets} packets"
    return Check("16a", says, accepted, sent, lambda results: _over_newreno(results, label))


def _over_newreno(results: Sequence[Result], label: str) -> Interval:
    return quotient(_goodput(results, label), _goodput(results, NEWRENO))


def _drops() -> Check:
    sent = tuple(Sent(one_bottleneck(45, 100), ((sender, 10),)) for sender in (BE, NEWRENO, ABSE))

    def value(results: Sequence[Result]) -> Interval:
        be, *others = (
            np.array(of_replicates(result, "hop_drops", BOTTLENECK)) for result in results
        )
        return interval(be / np.maximum(*others))

    return Check("16b", "drop rate of BE over the others', 100 packets", Band(1.0), sent, value)


def _gain(label: str, accepted: Band) -> Check:
    sent = tuple(
        Sent(wired_wireless(0.005), ((sender, 1),), replicates=LOSSY) for sender in (label, NEWRENO)
    )
    says = f"goodput of {label} over NewReno, 0.5 % lost"
    return Check("18", says, accepted, sent, lambda results: _over_newreno(results, label))


def _fairness(label: str) -> Check:
    sent = (Sent(one_bottleneck(10), ((label, 10),)),)

    def value(results: Sequence[Result]) -> Interval:
        return interval(of_replicates(results[0], "fairness", "all flows"))

    return Check("19", f"Jain's index of {label}", figure_19.FAIR, sent, value)


def _mixed(label: str, newreno: int) -> tuple[Sent, ...]:
    return (Sent(one_bottleneck(10), ((NEWRENO, newreno), (label, 10 - newreno))),)


def _unfriendly() -> Check:
    says = "goodput of BE over NewReno, 5 and 5"
    return Check(
        "20a", says, figure_20.UNFRIENDLY, _mixed(BE, 5), lambda results: _over_newreno(results, BE)
    )


def _friendly(newreno: int) -> Check:
    def value(results: Sequence[Result]) -> Interval:
        return interval(np.array(_goodput(results, NEWRENO)) / newreno)

    says = f"goodput of one of {newreno} NewReno beside ABSE, Mbit/s"
    return Check("20b", says, figure_20.FAIR, _mixed(ABSE, newreno), value)


def _share(newreno: int) -> Check:
    def value(results: Sequence[Result]) -> Interval:
        return interval(np.array(_goodput(results, ABSE)) / (10 - newreno))

    return Check(
        "20b",
        f"goodput of one ABSE beside {newreno} NewReno, Mbit/s",
        figure_20.FAIR,
        _mixed(ABSE, newreno),
        value,
    )


def _joins() -> Check:
    sent = (Sent(one_bottleneck(10), ((ABSE, 5), (LATE, 5)), True),)

    def value(results: Sequence[Result]) -> Interval:
        return interval(of_replicates(results[0], "convergence_time", LATE))

    return Check("21a", "convergence time of ABSE, s", figure_21.READILY, sent, value)


CHECKS: tuple[Check, ...] = (
    _estimate("2a", BE, 2, 0.0, Band(3.15, 3.25)),
    _estimate("2b", RE, 2, 0.0, figure_2.RE_READS),
    _estimate("3", BE, 1, 0.01, None),
    _estimate("3", RE, 1, 0.01, figure_3.RE_READS),
    _estimate("5a", ABSE, 2, 0.0, figure_5.TWO_READ),
    _estimate("5b", ABSE, 1, 0.01, figure_5.LOSSY_READS),
    _buffer(NEWRENO, 4, Band(most=figure_12.HIGH_MBIT_PER_S)),
    _buffer(BE, 4, Band(figure_12.HIGH_MBIT_PER_S)),
    _buffer(ABSE, 4, Band(figure_12.HIGH_MBIT_PER_S)),
    _utilisation(ABSE, 100, Band(1.0)),
    _utilisation(BE, 100, Band(most=1.0)),
    _utilisation(ABSE, 400, Band(figure_16.AS_GOOD)),
    _drops(),
    _gain(BE, figure_18.GREAT),
    _gain(ABSE, figure_18.GREAT),
    _gain(CRB, figure_18.MIDDLING),
    _fairness(NEWRENO),
    _fairness(ABSE),
    _unfriendly(),
    _friendly(1),
    _friendly(5),
    _friendly(9),
    _share(1),
    _share(5),
    _share(9),
    _joins(),
)
