"""Foundations of our own figures of rate controls: rates in intervals, packets of one length."""

import pytest

from ackclock import simulate
from ackclock_papers.own.rate_control import figures_2_4
from ackclock_papers.own.rate_control.responses import EDGES_S, FROM_S, SCALE_S, rates
from ackclock_papers.own.rate_control.senders import RENO, SENDERS, Sender, flow, hops
from ackclock_papers.scenarios import scenario


@pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.label)
def test_all_packets_are_equally_long(sender: Sender) -> None:
    times = {"duration_s": 20, "warmup_s": 0, "sample_interval_s": 5}
    result = simulate(scenario("alone", hops(83), [flow(sender)], **times, replicates=1))
    served = result.rows("hops", hop="bottleneck")["served_bytes"].to_pylist()
    # TCP's handshake has packets of other lengths before the first segment.
    assert served[-1] > 0
    assert (served[-1] - served[1]) % 1500 == 0


def test_rates_over_time_are_what_was_sent() -> None:
    change = figures_2_4.BLACKOUT
    run = change.runs()[RENO.label].scenario.replace({"replicates": 2})
    result = simulate(run)
    sent_rates = rates({RENO.label: result})[RENO.label]
    assert sent_rates.shape == (2, EDGES_S.size - 1)
    sent = result.rows("samples", replicate=0)
    within = [
        sample
        for sample in sent.to_pylist()
        if EDGES_S[0] - 1e-6 <= sample["time_s"] <= EDGES_S[-1] + 1e-6
    ]
    packets = within[-1]["sent_packets"] - within[0]["sent_packets"]
    assert sent_rates[0].sum() * SCALE_S * 1e6 / (1448 * 8) == pytest.approx(packets, rel=1e-6)
    dark = sent_rates[
        :, (EDGES_S[:-1] >= FROM_S + 1) & (EDGES_S[1:] <= FROM_S + figures_2_4.OUTAGE_S)
    ]
    assert dark.shape == (2, figures_2_4.OUTAGE_S - 1)
    assert dark.max() < 0.1 * sent_rates.mean()
