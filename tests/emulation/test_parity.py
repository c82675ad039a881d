"""One body, two arms: what a hop does to packets follows the same law whether they are simulated or the kernel's.

When a packet comes to a hop differs between the arms, since a real sender is late by microseconds,
sometimes by milliseconds; what the hop makes of the arrivals does not. So each body states the law
for the arrivals there were, to the nanosecond, in a few lines that share no code with the hops. How
many arrivals there were is the machine's to
say: one that is away when the run ends has not read the last of them.
"""

from bisect import bisect_right
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
    assert passages
    wanted = [at if at is not None and at <= end else None for at in departures]
    assert [passage.departed for passage in passages] == wanted


@pytest.mark.parametrize("arm", ARMS)
def test_delay(arm: str, tmp_path: Path) -> None:
    # Ten times as long from packet to packet as one takes.
    hop = (
        'link = { kind = "constant", rate = "80 Mbit/s" }\n'
        'queue = { kind = "droptail", limit = "100 packets" }'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "7776 kbit/s" }')
    _, passages = run(described, arm, tmp_path / "run")
    assert_law(passages, expected(passages, 80_000_000, 100), 10**9)


@pytest.mark.parametrize("arm", ARMS)
def test_serialisation(arm: str, tmp_path: Path) -> None:
    # Bursts of a hundred packets, each of which waits for all before it.
    hop = (
        'link = { kind = "constant", rate = "8 Mbit/s" }\n'
        'queue = { kind = "droptail", limit = "1000 packets" }'
    )
    bursts = (
        '{ kind = "on_off", rate = "50 Mbit/s", mean_on = "16 ms", mean_off = "200 ms", '
        'on_distribution = "constant" }'
    )
    _, passages = run(scenario(hop, bursts), arm, tmp_path / "run")
    departures = expected(passages, 8_000_000, 1000)
    assert None not in departures
    waited = [
        at - DELAY - passage.arrived for at, passage in zip(departures, passages, strict=True) if at
    ]
    assert max(waited) > 50_000_000, "queues have built up"
    assert_law(passages, departures, 10**9)


@pytest.mark.parametrize("arm", ARMS)
def test_overflow(arm: str, tmp_path: Path) -> None:
    # 10 Mbit/s into 8.
    hop = (
        'link = { kind = "constant", rate = "8 Mbit/s" }\n'
        'queue = { kind = "droptail", limit = "15 packets" }'
    )
    _, passages = run(
        scenario(hop, '{ kind = "cbr", rate = "9720 kbit/s" }'), arm, tmp_path / "run"
    )
    departures = expected(passages, 8_000_000, 15)
    # A packet takes 1 ms. So many can have been served since the first came, one is in service, the
    # others wait.
    served = (passages[-1].arrived - passages[0].arrived) // 1_000_000 + 1 + 15
    assert departures.count(None) >= max(1, len(passages) - served)
    assert_law(passages, departures, 10**9)


def test_random_losses_are_the_same_in_both_arms(tmp_path: Path) -> None:
    hop = (
        'link = { kind = "constant", rate = "80 Mbit/s" }\n'
        'queue = { kind = "droptail", limit = "1000 packets" }\n'
        'impairments = [{ kind = "iid_loss", probability = "5 %" }]'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "7776 kbit/s" }')
    lost = {}
    for arm in ARMS:
        _, passages = run(described, arm, tmp_path / arm)
        # Of the others nobody knows: what came before the last that has left has left, or never
        # will.
        known = max(place for place, passage in enumerate(passages) if passage.departed is not None)
        lost[arm] = [passage.departed is None for passage in passages[:known]]
    both = min(map(len, lost.values()))
    assert sum(lost["simulated"]) > 25
    # The hop draws for each packet that comes, whichever it is.
    assert lost["emulated"][:both] == lost["simulated"][:both]


def test_the_rate_of_a_markov_link_is_the_same_in_both_arms(tmp_path: Path) -> None:
    hop = (
        'link = { kind = "markov", rates = ["4 Mbit/s", "8 Mbit/s", "16 Mbit/s"], mean_sojourn = '
        '"30 ms" }\n'
        'queue = { kind = "droptail", limit = "1000 packets" }'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "19440 kbit/s" }')
    rates, came = {}, {}
    for arm in ARMS:
        result, came[arm] = run(described, arm, tmp_path / arm)
        hops = result.tables["hops"]
        rates[arm] = dict(
            zip(hops["time_s"].to_pylist(), hops["rate_bit_per_s"].to_pylist(), strict=True)
        )
    assert len(set(rates["simulated"].values())) == 3
    assert rates["emulated"] == rates["simulated"]
    # A simulated sender never leaves the link idle: how many it has served by then is the integral
    # of the rate.
    served = [passage.departed for passage in came["simulated"] if passage.departed is not None]
    periods = busy_periods(came["emulated"])
    assert sum(number for _, _, number in periods) > 0
    for begin, end, number in periods:
        assert abs(number - (bisect_right(served, end) - bisect_right(served, begin))) <= 2


def busy_periods(passages: list[Passage]) -> list[tuple[int, int, int]]:
    """From when to when a link was never idle, told behind its delay, and how many packets it has served."""
    periods: list[tuple[int, int, int]] = []
    for passage in passages:
        if passage.departed is None:
            continue
        begin, last, number = periods[-1] if periods else (0, -1, 0)
        if passage.arrived + DELAY > last:
            periods.append((passage.arrived + DELAY, passage.departed, 1))
        else:
            periods[-1] = (begin, passage.departed, number + 1)
    return periods


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
        link.kind = "markov"
        link.rates = ["4 Mbit/s", "8 Mbit/s", "16 Mbit/s"]
        link.mean_sojourn = "50 ms"
        queue = { kind = "droptail", limit = "10 packets" }""",
        '{ kind = "cbr", rate = "9720 kbit/s" }',
    )
    rates = {}
    for arm in ARMS:
        result, passages = run(described, arm, tmp_path / arm)  # what is emulated is replayed
        assert passages
        columns = (
            result.tables["hops"][name].to_pylist() for name in ("hop", "time_s", "rate_bit_per_s")
        )
        rates[arm] = {
            time_s: rate for hop, time_s, rate in zip(*columns, strict=True) if hop == "path"
        }
    assert len(set(rates["simulated"].values())) > 3
    assert rates["emulated"] == rates["simulated"]
