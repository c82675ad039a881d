"""One body, two arms: a hop follows the same law in simulation and in emulation.

Arrivals at a hop differ between the arms, since a real sender is late by microseconds, and at times
by milliseconds. The hop's effect on given arrivals does not differ. So each body states the law for
the actual arrivals, to the nanosecond, in a few lines that share no code with the hops. The machine
decides how many arrivals there are: if it is away when the run ends, the last ones are not read.
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
    """Returns a flow of datagrams of 1000 bytes on the wire, through a hop with 20 ms of delay."""
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
    """Returns departure times from a constant link behind a drop-tail queue.

    At most `waiting` packets wait, besides the one in service.
    """
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
    """Checks all departures up to the end of the run, and that there are no later ones."""
    assert passages
    wanted = [
        departure if departure is not None and departure <= end else None
        for departure in departures
    ]
    assert [passage.departed for passage in passages] == wanted


@pytest.mark.parametrize("arm", ARMS)
def test_delay(arm: str, tmp_path: Path) -> None:
    # The interval between packets is ten times the service time.
    hop = (
        'link = { kind = "constant", rate = "80 Mbit/s" }\n'
        'queue = { kind = "droptail", limit = "100 packets" }'
    )
    described = scenario(hop, '{ kind = "cbr", rate = "7776 kbit/s" }')
    _, passages = run(described, arm, tmp_path / "run")
    assert_law(passages, expected(passages, 80_000_000, 100), 10**9)


@pytest.mark.parametrize("arm", ARMS)
def test_serialisation(arm: str, tmp_path: Path) -> None:
    # Bursts of a hundred packets, each of which waits for all earlier ones.
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
        departure - DELAY - passage.arrived
        for departure, passage in zip(departures, passages, strict=True)
        if departure
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
    # A packet takes 1 ms. At most this many were served since the first arrival, one is in service,
    # and the others wait.
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
        # The fate of later packets is unknown: those before the last departure have left, or never
        # will.
        last = max(place for place, passage in enumerate(passages) if passage.departed is not None)
        lost[arm] = [passage.departed is None for passage in passages[:last]]
    both = min(map(len, lost.values()))
    assert sum(lost["simulated"]) > 25
    # The hop draws for each arriving packet, whichever it is.
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
    # A simulated sender never leaves the link idle, so the packets served by then are the integral
    # of the rate.
    served = [passage.departed for passage in came["simulated"] if passage.departed is not None]
    periods = busy_periods(came["emulated"])
    assert sum(number for _, _, number in periods) > 0
    for begin, end, number in periods:
        assert abs(number - (bisect_right(served, end) - bisect_right(served, begin))) <= 2


def busy_periods(passages: list[Passage]) -> list[tuple[int, int, int]]:
    """Returns start, end and packets served of each period in which the link was never idle.

    Times are those behind its delay.
    """
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
        result, passages = run(described, arm, tmp_path / arm)  # an emulation is replayed
        assert passages
        columns = (
            result.tables["hops"][name].to_pylist() for name in ("hop", "time_s", "rate_bit_per_s")
        )
        rates[arm] = {
            time_s: rate for hop, time_s, rate in zip(*columns, strict=True) if hop == "path"
        }
    assert len(set(rates["simulated"].values())) > 3
    assert rates["emulated"] == rates["simulated"]
