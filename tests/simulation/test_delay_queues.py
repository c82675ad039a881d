"""PIE and FQ-CoDel on a link that TCP flows fill."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, simulate

from . import laws
from .paths import Tree, flow, path, scenario, tcp, udp
from .rows import column, goodput

#: 1250 packets of 1500 bytes per second, and 60 ms.
RATE, DELAY = "15 Mbit/s", "30 ms"
REPLICATES = 2


@cache
def _run(queue: tuple[tuple[str, object], ...], flows: int, ecn: bool) -> Result:
    transport = tcp(recovery="sack", mss="1460 bytes", ecn=ecn)
    senders = [flow(transport, count=flows, start=["0 s", "2 s"])]
    times = {"warmup": "20 s", "sample_interval": "50 ms", "replicates": REPLICATES}
    result = simulate(scenario(path(RATE, DELAY, dict(queue)), senders, "80 s", **times))
    laws.check(result)
    return result


def run(queue: Tree, flows: int, ecn: bool = False) -> Result:
    """Returns flows of NewReno with SACK."""
    return _run(tuple(queue.items()), flows, ecn)


def since_warmup(result: Result, name: str) -> float:
    """Returns how much a counter of the hop grew after the warm-up, as a mean of replicates."""
    grown = [
        counts[-1] - counts[np.searchsorted(times, 20)]
        for times, counts in (
            [
                column(result, "hops", column_name, hop="out", replicate=number)
                for column_name in ("time_s", name)
            ]
            for number in range(REPLICATES)
        )
    ]
    return float(np.mean(grown))


def mean_delay_ms(result: Result) -> float:
    """Returns the time-averaged queueing delay after the warm-up."""
    time, waiting = (
        column(result, "hops", name, hop="out") for name in ("time_s", "backlog_packets")
    )
    return float(np.mean(waiting[time > 20])) / 1.250


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target_ms", "more"), [(15, {}), (40, {}), (15, {"delay_measure": "departure_rate"})]
)
def test_pie_steers_the_mean_delay_to_its_target(target_ms: int, more: Tree) -> None:
    """The controller integrates the distance from the target, so that the mean distance is zero.

    A quarter is allowed for the rules that are not linear: no drops at a short delay, and steps
    that depend on the drop probability.
    """
    result = run({"kind": "pie", "target": f"{target_ms} ms"} | more, 10)
    assert mean_delay_ms(result) == pytest.approx(target_ms, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("flows", [4, 8])
def test_behind_pie_the_loss_rate_is_that_of_the_square_root_law(flows: int) -> None:
    """At a given round trip a window is W = C R/N, and the loss rate is 1.5/W^2.

    The round trip is given, since PIE holds the delay. 30 % are allowed for timeouts and for what
    the law neglects at windows of about ten packets.
    """
    result = run({"kind": "pie"}, flows)
    window = 1.250 * (60 + mean_delay_ms(result)) / flows
    share = since_warmup(result, "drops_aqm") / (1250 * 60)
    assert share == pytest.approx(1.5 / window**2, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pie", "fq_codel"])
def test_with_ecn_packets_are_marked_and_not_lost(kind: str) -> None:
    """In slow start the drop probability of PIE exceeds 10 %, and it drops; so not at first."""
    marking = run({"kind": kind, "ecn": True}, 10, ecn=True)
    assert since_warmup(marking, "marks") > 100
    assert since_warmup(marking, "drops_aqm") == 0
    dropping = run({"kind": kind, "ecn": True}, 10)
    assert since_warmup(dropping, "marks") == 0
    assert since_warmup(dropping, "drops_aqm") > 100


@pytest.mark.slow
def test_fq_codel_contains_a_flow_that_does_not_react() -> None:
    """Two TCP flows of different control beside datagrams at twice the rate of the link.

    Behind drop-tail the datagrams take nearly everything. Behind FQ-CoDel they get a third, and
    what the TCP flows leave of theirs: at most a fifth, as a window that is halved needs a buffer.
    """

    def shares(queue: Tree) -> list[float]:
        senders = [
            flow(tcp("reno", recovery="sack", mss="1460 bytes"), "reno"),
            flow(tcp("cubic", "linux", mss="1460 bytes"), "cubic"),
            flow(udp("1500 bytes"), "datagrams", traffic={"kind": "cbr", "rate": "30 Mbit/s"})
            | {"return": []},
        ]
        result = simulate(
            scenario(path(RATE, "10 ms", queue), senders, "40 s", warmup="10 s", replicates=3)
        )
        names = ("reno", "cubic", "datagrams")
        return [float(goodput(result, flow=name).mean()) / 15e6 for name in names]

    *_, taken = shares({"kind": "droptail", "limit": "100 packets"})
    assert taken > 0.9
    reno, cubic, datagrams = shares({"kind": "fq_codel"})
    assert min(reno, cubic) > 0.8 / 3
    assert 1 / 3 - 0.01 < datagrams < 1 / 3 + 2 * 0.2 / 3


def test_flows_of_fq_codel_collide_by_the_seed() -> None:
    """Eight flows in eight queues; the same seed gives the same run, another one other shares."""

    def shares(seed: int) -> list[float]:
        senders = [flow(tcp(recovery="sack"), count=8)]
        hops = path(RATE, "10 ms", {"kind": "fq_codel", "queues": 8})
        return sorted(goodput(simulate(scenario(hops, senders, "10 s", seed=seed))))

    assert shares(1) == shares(1)
    assert shares(1) != shares(2)
