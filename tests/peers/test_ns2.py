"""Comparison with ns-2: the same scenarios in ns-2 and in ackclock.

ackclock is compared with recorded results of ns-2. Where `ns` is installed, a test runs it and
demands what was recorded. README.md beside this file has the settings and the remaining
differences.
"""

from collections.abc import Callable
from functools import cache

import pytest

from . import ns2, ours, same_losses
from .outcome import Interval, Outcome

pytestmark = pytest.mark.peer

#: Relative tolerance of the goodput in a run without randomness.
GOODPUT = 0.015
#: Tolerance of the window at an overflow, in packets.
WINDOW = 1.0
#: Relative tolerance of the goodput in a run with the same losses: one packet of the thousand that
#: are delivered in 90 s at 10 % loss.
PAIRED = 0.001
#: Largest half-width of the 95 % interval of SACK's mean difference, by percent of loss: the
#: resolution of 60 runs. The faults that this comparison found amounted to 0.035 at 5 % and 0.18 at
#: 10 %.
SACK_SPREAD = {1: 0.002, 2: 0.005, 5: 0.012, 10: 0.03}
#: Relative tolerances of the drop rate and the utilisation with RED if its queue does not empty:
#: README.md.
RED_DROPS, RED_UTILISATION = 0.02, 0.002

Quantity = Callable[[Outcome], float]

WITHOUT = (
    "ns-2 is not installed (Debian and Ubuntu: apt-get install ns2): "
    "ackclock is compared with what ns-2 gave when it was recorded, not with ns-2"
)


def over(scenario: str) -> pytest.MarkDecorator:
    """Runs a test once for each case of a scenario."""
    names = [name for name in ns2.cases() if name.startswith(scenario)]
    return pytest.mark.parametrize("case", names)


recorded = cache(ns2.recorded)


def peer(case: str) -> list[Outcome]:
    """Returns ns-2's outcomes, as recorded; a test runs ns-2 where it is installed."""
    return recorded()[case]


engine = cache(ours.simulate)

#: Quantities of a run over 10 Mbit/s.
OF_THE_LINK: dict[str, Quantity] = {
    "drop_rate": lambda outcome: outcome.drop_rate,
    "utilisation": lambda outcome: outcome.utilisation(10e6),
}


def intervals(case: str, quantity: Quantity) -> tuple[Interval, Interval]:
    """Returns the means of a quantity: ns-2's and ours."""
    theirs, mine = (
        Interval.of([quantity(outcome) for outcome in runs]) for runs in (peer(case), engine(case))
    )
    return theirs, mine


@over("one-flow")
def test_one_flow_gets_the_same_goodput(case: str) -> None:
    (theirs,), (mine,) = peer(case), engine(case)
    assert mine.goodput_bit_per_s[0] == pytest.approx(theirs.goodput_bit_per_s[0], rel=GOODPUT)


@over("one-flow")
def test_one_flow_overflows_the_queue_at_the_same_window(case: str) -> None:
    (theirs,), (mine,) = peer(case), engine(case)
    assert mine.slow_start_window[0] == pytest.approx(theirs.slow_start_window[0], abs=WINDOW)
    assert mine.overflow_window[0] == pytest.approx(theirs.overflow_window[0], abs=WINDOW)


@over("one-flow")
def test_one_flow_needs_no_timeout_where_ns2_needs_none(case: str) -> None:
    (theirs,), (mine,) = peer(case), engine(case)
    assert mine.timeouts == theirs.timeouts


@over("one-flow newreno")
def test_newreno_does_the_same_packet_for_packet(case: str) -> None:
    (theirs,), (mine,) = peer(case), engine(case)
    assert mine.retransmitted_packets == theirs.retransmitted_packets
    # At the end a packet more or less is in flight.
    assert mine.goodput_bit_per_s[0] == pytest.approx(theirs.goodput_bit_per_s[0], rel=1e-4)


def same_losses_over(*recoveries: str) -> pytest.MarkDecorator:
    """Runs a test once for each recovery and share of losses."""
    cases = [case for case in same_losses.cases() if case[0] in recoveries]
    ids = [same_losses.name(*case) for case in cases]
    return pytest.mark.parametrize(("recovery", "percent"), cases, ids=ids)


@same_losses_over("reno", "newreno")
@pytest.mark.parametrize("seed", same_losses.seeds("newreno"))
def test_the_same_losses_have_the_same_effect(recovery: str, percent: int, seed: int) -> None:
    same_losses.check(recovery, percent, seed)
    run = same_losses.theirs(recovery, percent, seed)
    mine, _ = same_losses.mine(recovery, percent, seed)
    assert mine.timeouts[0] == run["timeouts"]
    assert mine.goodput_bit_per_s[0] == pytest.approx(run["goodput_bit_per_s"], rel=PAIRED)


@same_losses_over("sack")
def test_the_same_losses_have_the_same_effect_on_average_with_sack(
    recovery: str, percent: int
) -> None:
    # The pipes differ (README.md), so runs diverge after the first recovery. Their means are
    # compared.
    seeds = same_losses.seeds(recovery)
    for seed in seeds[::30]:  # one generator draws them all: what changes it changes these
        same_losses.check(recovery, percent, seed)
    theirs = [same_losses.theirs(recovery, percent, seed)["goodput_bit_per_s"] for seed in seeds]
    mine = [same_losses.goodput(recovery, percent, seed) for seed in seeds]
    mean = sum(theirs) / len(theirs)
    difference = Interval.of([(m - t) / mean for m, t in zip(mine, theirs, strict=True)])
    assert difference.half_width < SACK_SPREAD[percent], "too wide to say anything"
    assert abs(difference.mean) <= difference.half_width, f"{difference}, share of ns-2's goodput"


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize(("recovery", "percent"), same_losses.cases())
def test_ns2_gives_what_was_recorded_with_the_same_losses(recovery: str, percent: int) -> None:
    seed = same_losses.seeds(recovery)[-1]
    live = same_losses.live(recovery, percent, seed)
    recorded = same_losses.theirs(recovery, percent, seed)
    assert live == recorded, f"{same_losses.COMMAND} records anew"


@over("ten-flows")
def test_ten_flows_share_alike(case: str) -> None:
    apart = {}
    for name, quantity in {"jain_index": Outcome.jain_index, **OF_THE_LINK}.items():
        theirs, mine = intervals(case, quantity)
        if not mine.agrees_with(theirs):
            apart[name] = f"ackclock {mine}, ns-2 {theirs}"
    assert not apart


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize("case", ns2.cases())
def test_ns2_gives_what_was_recorded(case: str) -> None:
    # With another script or ns-2, any run would differ.
    live = ns2.run(ns2.cases()[case][-1])
    assert live == peer(case)[-1], "python3 tests/peers/ns2.py records anew"


@over("on-off")
def test_beside_an_on_off_source_the_pipe_makes_the_timeouts(case: str) -> None:
    """RFC 6675 does not count lost segments as in flight, so it retransmits them in a burst.

    A rule is the main cause of a difference if changing it alone removes more than half of it. The
    rest of this one is not explained.
    """
    # Six runs tell the mean with that rule to a quarter of a timeout.
    theirs, usual, counted = (
        Interval.of([outcome.timeouts[0] for outcome in runs])
        for runs in (peer(case), engine(case), engine(case, 6, sack_pipe="counted"))
    )
    assert usual.mean - usual.half_width > theirs.mean + theirs.half_width, (
        "there is a difference to explain"
    )
    assert abs(counted.mean - theirs.mean) < (usual.mean - theirs.mean) / 2, (
        f"{usual}, {counted}, ns-2 {theirs}"
    )


@over("red")
def test_red_drops_as_much(case: str) -> None:
    for name, band in (("drop_rate", RED_DROPS), ("utilisation", RED_UTILISATION)):
        theirs, mine = intervals(case, OF_THE_LINK[name])
        assert mine.half_width < band * mine.mean, f"{name}: too wide to say anything"
        assert mine.mean == pytest.approx(theirs.mean, rel=band), name


@over("adaptive-red")
def test_sparing_a_short_queue_makes_the_difference_of_adaptive_red(case: str) -> None:
    theirs, mine = intervals(case, OF_THE_LINK["utilisation"])
    assert mine.mean == pytest.approx(theirs.mean, rel=RED_UTILISATION)
    changed = ours.load(case).replace({"hops.bottleneck.queue.early_from": "0 packets"})
    without = ours.outcomes(changed, 2)
    assert Interval.of([outcome.utilisation(10e6) for outcome in without]).mean < 0.9 * theirs.mean


@over("long-path")
def test_on_a_long_path_the_pipe_makes_the_difference(case: str) -> None:
    (theirs,), (mine,), (counted,) = (
        peer(case),
        engine(case),
        engine(case, sack_pipe="counted"),
    )
    goodput = theirs.goodput_bit_per_s[0]
    assert mine.goodput_bit_per_s[0] > (1 + 2 * GOODPUT) * goodput, "there is a difference"
    assert counted.goodput_bit_per_s[0] == pytest.approx(goodput, rel=PAIRED)
