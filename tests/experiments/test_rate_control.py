"""What our own pictures of rate controls rest on: rates in intervals, and steps that are where they are said to be."""

import numpy as np
import pytest

from ackclock import simulate
from ackclock.experiments.rate_control import figures_2_4
from ackclock.experiments.rate_control.responses import EDGES_S, FROM_S, SCALE_S, UNTIL_S, between, rates
from ackclock.experiments.rate_control.senders import RENO, SENDERS, Sender, flow, hops
from ackclock.experiments.scenarios import scenario


def test_a_time_is_cut_out_with_the_rates_in_it() -> None:
    found = np.arange(2 * (EDGES_S.size - 1), dtype=float).reshape(2, -1)
    edges_s, part = between(found, FROM_S, UNTIL_S)
    assert (edges_s[0], edges_s[-1]) == (FROM_S, UNTIL_S)
    assert part.shape == (2, edges_s.size - 1)
    first = int(np.flatnonzero(np.isclose(EDGES_S, FROM_S))[0])
    assert part[:, 0] == pytest.approx(found[:, first])


@pytest.mark.parametrize("sender", SENDERS, ids=lambda one: one.label)
def test_all_packets_are_equally_long(sender: Sender) -> None:
    times = {"duration_s": 20, "warmup_s": 0, "sample_interval_s": 5}
    result = simulate(scenario("alone", hops(83), [flow(sender)], **times, replicates=1))
    served = result.rows("hops", hop="bottleneck")["served_bytes"].to_pylist()
    # TCP's handshake has none of its own length in front of the first segment's.
    assert served[-1] > 0
    assert (served[-1] - served[1]) % 1500 == 0


def test_rates_over_time_are_what_was_sent() -> None:
    change = figures_2_4.BLACKOUT
    run = change.runs()[RENO.label].scenario.replace({"replicates": 2})
    result = simulate(run)
    found = rates({RENO.label: result})[RENO.label]
    assert found.shape == (2, EDGES_S.size - 1)
    sent = result.rows("samples", replicate=0)
    within = [one for one in sent.to_pylist() if EDGES_S[0] - 1e-6 <= one["time_s"] <= EDGES_S[-1] + 1e-6]
    packets = within[-1]["sent_packets"] - within[0]["sent_packets"]
    assert found[0].sum() * SCALE_S * 1e6 / (1448 * 8) == pytest.approx(packets, rel=1e-6)
    edges_s, dark = between(found, FROM_S + 1, FROM_S + figures_2_4.OUTAGE_S)
    assert edges_s.size == figures_2_4.OUTAGE_S
    assert dark.max() < 0.1 * found.mean()
