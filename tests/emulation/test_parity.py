"""One body, two arms: what a hop does to packets follows the same law whether they are simulated or the kernel's.

When a packet comes to a hop differs between the arms, since a real sender is late by microseconds, sometimes by
milliseconds; what the hop makes of the arrivals does not. So each body states the law for the arrivals there were,
to the nanosecond, in a few lines that share no code with the hops.
"""

from pathlib import Path

import pytest

from ackclock import Scenario

from .passages import ARMS, Passage, run

pytestmark = pytest.mark.usefixtures("emulation")

SIZE_BITS = 8000  # of every datagram on the wire, headers included
DELAY = 20_000_000  # nanoseconds


def scenario(hop: str, traffic: str) -> Scenario:
    """One flow of datagrams of 1000 bytes on the wire through one hop with a delay of 20 ms."""
    return Scenario.from_toml(
        f"""
        schema = 1
        name = "parity"
        duration = "1 s"
        seed = 11
        replicates = 1
        sample_interval = "10 ms"
        [[hops]]
        name = "path"
        delay = "20 ms"
        {hop}
        [[flows]]
        name = "probe"
        route = ["path"]
        transport = {{ kind = "udp", mss = "972 bytes" }}
        traffic = {traffic}
        """
    )


def expected(passages: list[Passage], rate_bit_per_s: int, waiting: int) -> list[int | None]:
    """When packets leave a constant link behind a drop-tail queue where so many may wait besides the one in service."""
    service = SIZE_BITS * 1_000_000_000 // rate_bit_per_s
    free, starts, departures = 0, [], []
    for passage in passages:
        if sum(start > passage.arrived for start in starts) >= waiting:
            departures.append(None)
            continue
        start = max(passage.arrived, free)
        starts.append(start)
        free = start + service
        departures.append(free + DELAY)
    return departures


def assert_law(passages: list[Passage], departures: list[int | None], end: int) -> None:
    """What has left by the end of the run has left as expected; what is expected later is not there."""
    wanted = [at if at is not None and at <= end else None for at in departures]
    assert [passage.departed for passage in passages] == wanted


@pytest.mark.parametrize("arm", ARMS)
def test_delay(arm: str, tmp_path: Path) -> None:
    # Ten times as long from packet to packet as one takes.
    hop = 'link = { kind = "constant", rate = "80 Mbit/s" }\nqueue = { kind = "droptail", limit = "100 packets" }'
    described = scenario(hop, '{ kind = "cbr", rate = "7776 kbit/s" }')
    _, passages = run(described, arm, tmp_path / "run")
    assert len(passages) >= 990
    assert_law(passages, expected(passages, 80_000_000, 100), 10**9)


@pytest.mark.parametrize("arm", ARMS)
def test_serialisation(arm: str, tmp_path: Path) -> None:
    # Bursts of a hundred packets, each of which waits for all before it.
    hop = 'link = { kind = "constant", rate = "8 Mbit/s" }\nqueue = { kind = "droptail", limit = "1000 packets" }'
    bursts = (
        '{ kind = "on_off", rate = "50 Mbit/s", mean_on = "16 ms", mean_off = "200 ms", on_distribution = "constant" }'
    )
    _, passages = run(scenario(hop, bursts), arm, tmp_path / "run")
    departures = expected(passages, 8_000_000, 1000)
    assert None not in departures
    waited = [at - DELAY - passage.arrived for at, passage in zip(departures, passages, strict=True) if at]
    assert max(waited) > 50_000_000, "queues have built up"
    assert_law(passages, departures, 10**9)


@pytest.mark.parametrize("arm", ARMS)
def test_overflow(arm: str, tmp_path: Path) -> None:
    # 10 Mbit/s into 8.
    hop = 'link = { kind = "constant", rate = "8 Mbit/s" }\nqueue = { kind = "droptail", limit = "15 packets" }'
    _, passages = run(scenario(hop, '{ kind = "cbr", rate = "9720 kbit/s" }'), arm, tmp_path / "run")
    departures = expected(passages, 8_000_000, 15)
    assert departures.count(None) > 150, "a fifth does not fit"
    assert_law(passages, departures, 10**9)


def test_random_losses_are_the_same_in_both_arms(tmp_path: Path) -> None:
    hop = (
        'link = { kind = "constant", rate = "80 Mbit/s" }\nqueue = { kind = "droptail", limit = "1000 packets" }\n'
        'impairments = [{ kind = "iid_loss", probability = "5 %" }]'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "7776 kbit/s" }')
    lost = {}
    for arm in ARMS:
        _, passages = run(described, arm, tmp_path / arm)
        # What came in the last moments may be inside still.
        lost[arm] = [passage.number for passage in passages[:950] if passage.departed is None]
    assert len(lost["simulated"]) > 25
    assert lost["emulated"] == lost["simulated"]


def test_the_rate_of_a_markov_link_is_the_same_in_both_arms(tmp_path: Path) -> None:
    hop = (
        'link = { kind = "markov", rates = ["4 Mbit/s", "8 Mbit/s", "16 Mbit/s"], mean_sojourn = "30 ms" }\n'
        'queue = { kind = "droptail", limit = "1000 packets" }'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "19440 kbit/s" }')
    rates, served = {}, {}
    for arm in ARMS:
        result, _ = run(described, arm, tmp_path / arm)
        hops = result.tables["hops"]
        rates[arm] = dict(zip(hops["time_s"].to_pylist(), hops["rate_bit_per_s"].to_pylist(), strict=True))
        served[arm] = hops["served_bytes"].to_pylist()[-1]
    assert len(set(rates["simulated"].values())) == 3
    assert rates["emulated"] == rates["simulated"]
    # Always busy, after the first packet has come: what has been sent is the integral of the same rate.
    assert abs(served["emulated"] - served["simulated"]) <= 20 * SIZE_BITS // 8


def test_a_link_that_follows_another_is_the_same_in_both_arms(tmp_path: Path) -> None:
    described = scenario(
        """
        link.kind = "feedback"
        link.from = "followed"
        link.algorithm = { kind = "effcap", m = 2, n = 3 }
        link.delay = "25 ms"
        link.period = "10 ms"
        queue = { kind = "droptail", limit = "1000 packets" }
        [[hops]]
        name = "followed"
        link = { kind = "markov", rates = ["4 Mbit/s", "8 Mbit/s", "16 Mbit/s"], mean_sojourn = "50 ms" }
        queue = { kind = "droptail", limit = "10 packets" }""",
        '{ kind = "cbr", rate = "9720 kbit/s" }',
    )
    rates = {}
    for arm in ARMS:
        result, passages = run(described, arm, tmp_path / arm)  # what is emulated is replayed
        assert len(passages) > 1000
        columns = (result.tables["hops"][name].to_pylist() for name in ("hop", "time_s", "rate_bit_per_s"))
        rates[arm] = {time_s: rate for hop, time_s, rate in zip(*columns, strict=True) if hop == "path"}
    assert len(set(rates["simulated"].values())) > 3
    assert rates["emulated"] == rates["simulated"]
