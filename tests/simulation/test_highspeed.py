"""HighSpeed TCP in the engine with random loss as the only limit of the window."""

from __future__ import annotations

from functools import cache

import pytest

from ackclock import simulate
from ackclock.metrics import Interval, interval
from ackclock.models import hstcp_response

from .paths import flow, loss, path, scenario, tcp
from .rows import column, goodput

ROUND_TRIP = 0.1
#: Loss rates, each with its number of losses in a replicate.
LOSSES = {3e-4: 300, 1e-4: 200, 3e-5: 100}
REPLICATES = 6


@cache
def mean_window(p: float, response: str) -> Interval:
    """Returns segments delivered per round trip over 0.12/p^0.835, replicate by replicate.

    By chance the share that is lost differs from p: each replicate is compared at its own share.
    """
    expected = float(hstcp_response.rounded_window(p))
    duration = round(LOSSES[p] / p / expected * ROUND_TRIP)
    transport = tcp(
        {"kind": "highspeed", "response": response},
        recovery="sack",
        delayed_ack={"every": "1 packet"},
        initial_ssthresh=f"{round(expected)} packets",
        mss="100 bytes",
        header="0 bytes",
    )
    hops = path("400 Gbit/s", f"{ROUND_TRIP / 2} s", "unlimited", loss(f"{100 * p:.6g} %"))
    times = {"sample_interval": f"{duration / 10} s", "replicates": REPLICATES}
    result = simulate(scenario(hops, [flow(transport)], f"{duration} s", **times))
    lost, sent = (column(result, "flows", name) for name in ("dropped_packets", "sent_packets"))
    return interval(goodput(result) / 800 * ROUND_TRIP / hstcp_response.rounded_window(lost / sent))


@pytest.mark.long
@pytest.mark.parametrize("p", LOSSES)
def test_the_mean_window_is_that_of_the_response_function(p: float) -> None:
    """Within 4 %: w(p) is for evenly spaced losses; for independent ones it is within 1 %."""
    ratio = mean_window(p, "formula")
    assert ratio.half_width < 0.02
    assert ratio.mean == pytest.approx(1, abs=0.04)


@pytest.mark.long
def test_the_table_rounds_growth_up() -> None:
    by_table = mean_window(1e-4, "table")
    by_formula = mean_window(1e-4, "formula")
    assert 1.1 < by_table.mean / by_formula.mean < 1.2
