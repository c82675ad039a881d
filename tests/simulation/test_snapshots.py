"""Snapshots, each with laws that its scenario must obey for any numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, simulate

from . import laws, snapshots
from .rows import column, goodput


@cache
def result(name: str, probability: str = "0.5 %") -> Result:
    return simulate(snapshots.case(name, probability))


@pytest.mark.slow
@pytest.mark.parametrize("name", snapshots.CASES)
def test_the_numbers_are_those_on_file(name: str) -> None:
    assert snapshots.numbers(result(name)) == snapshots.written()[name], (
        f"the numbers of {name!r} have changed; if that is meant, run {snapshots.COMMAND} and say "
        "why in a file of changes"
    )


def test_the_file_has_no_other_numbers() -> None:
    assert list(snapshots.written()) == list(snapshots.CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", snapshots.CASES)
def test_the_numbers_make_sense(name: str) -> None:
    lossy, clean = result(name), result(name, "0 %")
    for run in (lossy, clean):
        laws.check(run)
        assert (goodput(run) > 0).all()
        # A packet may have been in flight at the end of the warm-up.
        assert (column(run, "flows", "throughput_bit_per_s") <= 10e6 + 8 * 1040 / 55).all()
    assert goodput(lossy).mean() < goodput(clean).mean(), "throughput falls with loss"
    sent, again, timeouts = (
        column(lossy, "flows", name)
        for name in ("sent_packets", "retransmitted_packets", "timeouts")
    )
    assert (again >= 0.003 * sent).all(), "what is lost is sent again"
    assert (timeouts <= again).all(), "each timeout retransmits"


def test_better_recovery_means_fewer_timeouts() -> None:
    timeouts = {name: column(result(name), "flows", "timeouts").sum() for name in snapshots.CASES}
    assert timeouts["Reno, RFC, SACK"] < timeouts["Reno, RFC, Reno"]
    means = {name: np.mean(goodput(result(name))) for name in snapshots.CASES}
    assert means["Reno, RFC, SACK"] > means["Reno, RFC, Reno"]
    assert means["Reno, ns-2, NewReno"] > means["Reno, ns-2, Tahoe"]
