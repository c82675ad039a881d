"""Metrics over windows of time, on runs whose answers are known."""

import math

import pytest

from ackclock import Result, metrics, simulate

from .simulation.paths import flow, hop, scenario, tcp, udp


def values(result: Result, name: str) -> dict[str, float]:
    replicates = metrics.by_replicate(result, metrics.metric(name))
    return {subject: row[0] for (_, subject), row in replicates.items()}


def dumbbell(*flows, duration: str = "31 s", impairments=()):
    hops = [
        hop("out", "10 Mbit/s", "10 ms", {"kind": "droptail", "limit": "50 packets"}),
        hop("back", "100 Mbit/s", "10 ms"),
    ]
    hops[0]["impairments"] = list(impairments)
    return scenario(hops, list(flows), duration, warmup="1 s", sample_interval="100 ms")


@pytest.fixture(scope="module")
def unequal() -> Result:
    """A flow of one segment a round trip at most, beside one without such a limit."""
    small = tcp(receive_window="1 packets")
    return simulate(dumbbell(flow(tcp(), "big"), flow(small, "small")))


def test_a_flow_below_a_tenth_of_its_share_starves(unequal: Result) -> None:
    # 1448 bytes a round trip of 20 ms and more are 0.58 Mbit/s at most, 0.1 of the mean is 0.5; the
    # queue of the other flow makes the round trip longer.
    assert values(unequal, "starved_share") == {"big": 0.0, "small": 1.0}
    fairness = values(unequal, "windowed_fairness")["all flows"]
    assert 0.5 < fairness < 0.6


def test_equal_flows_do_not_starve() -> None:
    result = simulate(dumbbell(flow(tcp(), "a"), flow(tcp(), "b")))
    assert values(result, "starved_share") == {"a": 0.0, "b": 0.0}
    assert values(result, "windowed_fairness")["all flows"] > 0.7


def test_a_stall_is_as_long_as_nothing_arrives() -> None:
    lost = {"kind": "periodic_loss", "every": 1, "from": "10 s", "until": "15 s"}
    result = simulate(dumbbell(flow(tcp(), "a"), impairments=[lost]))
    assert 5.0 <= values(result, "longest_stall")["a"] < 12.0


def test_packets_sent_after_the_warmup_are_counted() -> None:
    steady = {"kind": "cbr", "rate": "1 Mbit/s", "packet_size": "1000 bytes"}
    result = simulate(dumbbell(flow(udp(), "voice", traffic=steady)))
    # 125 packets a second for 30 s.
    assert values(result, "sent_packets")["voice"] == pytest.approx(3750, abs=1)


def test_useful_packets_are_those_sent_for_the_first_time() -> None:
    lost = {"kind": "periodic_loss", "every": 20}
    result = simulate(dumbbell(flow(tcp(), "a"), impairments=[lost]))
    share = values(result, "useful_share")["a"]
    assert share == pytest.approx(1 - values(result, "retransmissions")["a"])
    assert 0.94 < share < 0.96


def test_a_quantile_of_completion_times_is_of_those_that_ended() -> None:
    files = {"kind": "transfer", "size": "20 kB"}
    arrivals = {"kind": "poisson", "mean_interval": "500 ms"}
    result = simulate(dumbbell(flow(tcp(), "pages", traffic=files, arrivals=arrivals)))
    mean, late = (values(result, f"completion_time{end}")["pages"] for end in ("", "_p95"))
    assert 0 < mean <= late < 1
    assert math.isnan(values(simulate(dumbbell(flow(tcp(), "a"))), "completion_time_p95")["a"])
