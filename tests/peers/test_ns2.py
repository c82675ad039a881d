"""Comparison with ns-2: the same scenarios in ns-2 and in ackclock.

ackclock is compared with recorded results of ns-2. Where `ns` is installed, a test runs it and
demands what was recorded. README.md beside this file has the settings and the remaining
differences.
"""

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

WITHOUT = (
    "ns-2 is not installed (Debian and Ubuntu: apt-get install ns2): "
    "ackclock is compared with what ns-2 gave when it was recorded, not with ns-2"
)


def over(scenario: str) -> pytest.MarkDecorator:
    """Runs a test once for each case of a scenario."""
    names = [name for name in ns2.cases() if name.startswith(scenario)]
    return pytest.mark.parametrize("case", names)


@cache
def peer(case: str) -> list[Outcome]:
    """Returns ns-2's outcomes, as recorded; a test runs ns-2 where it is installed."""
    return ns2.recorded()[case]


engine = cache(ours.simulate)


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


@over("random-loss")
def test_random_loss_gives_the_same_mean_goodput(case: str) -> None:
    theirs, mine = (
        Interval.of([one.goodput_bit_per_s[0] for one in runs])
        for runs in (peer(case), engine(case))
    )
    assert mine.agrees_with(theirs), f"ackclock {mine}, ns-2 {theirs} bit/s"


def same_losses_over(*recoveries: str) -> pytest.MarkDecorator:
    """Runs a test once for each recovery and share of losses."""
    cases = [case for case in same_losses.cases() if case[0] in recoveries]
    ids = [same_losses.name(*case) for case in cases]
    return pytest.mark.parametrize(("recovery", "percent"), cases, ids=ids)


@same_losses_over("reno", "newreno")
@pytest.mark.parametrize("seed", same_losses.seeds("newreno"))
def test_the_same_losses_have_the_same_effect(recovery: str, percent: int, seed: int) -> None:
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
    theirs = [
        same_losses.theirs(recovery, percent, seed)["goodput_bit_per_s"]
        for seed in same_losses.seeds(recovery)
    ]
    mine = [same_losses.goodput(recovery, percent, seed) for seed in same_losses.seeds(recovery)]
    mean = sum(theirs) / len(theirs)
    difference = Interval.of([(m - t) / mean for m, t in zip(mine, theirs, strict=True)])
    assert difference.half_width < SACK_SPREAD[percent], "too wide to say anything"
    assert abs(difference.mean) <= difference.half_width, f"{difference}, share of ns-2's goodput"


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize(("recovery", "percent"), same_losses.cases())
def test_ns2_gives_what_was_recorded_with_the_same_losses(recovery: str, percent: int) -> None:
    recorded = same_losses.recorded()[same_losses.name(recovery, percent)]
    for seed in ns2.spread(same_losses.seeds(recovery)):
        live = same_losses.live(recovery, percent, seed)
        assert live == recorded[seed - 1], f"{same_losses.COMMAND} records anew"


@over("ten-flows")
@pytest.mark.parametrize("quantity", ["jain_index", "drop_rate", "utilisation"])
def test_ten_flows_share_alike(case: str, quantity: str) -> None:
    values = {
        "jain_index": Outcome.jain_index,
        "drop_rate": lambda one: one.drop_rate,
        "utilisation": lambda one: one.utilisation(10e6),
    }
    theirs, mine = (
        Interval.of([values[quantity](one) for one in runs]) for runs in (peer(case), engine(case))
    )
    assert mine.agrees_with(theirs), f"ackclock {mine}, ns-2 {theirs}"


@pytest.mark.skipif(not ns2.installed(), reason=WITHOUT)
@pytest.mark.parametrize("case", ns2.cases())
def test_ns2_gives_what_was_recorded(case: str) -> None:
    runs, recorded = ns2.cases()[case], ns2.recorded()[case]
    for seed in ns2.spread(range(len(runs))):
        live = ns2.run(runs[seed])
        assert live == recorded[seed], "python3 tests/peers/ns2.py records anew"


@over("on-off")
def test_beside_an_on_off_source_the_pipe_makes_the_timeouts(case: str) -> None:
    """RFC 6675 does not count lost segments as in flight, so it retransmits them in a burst.

    A rule is the main cause of a difference if changing it alone removes more than half of it. The
    rest of this one is not explained.
    """
    theirs, usual, counted = (
        Interval.of([one.timeouts[0] for one in runs])
        for runs in (peer(case), engine(case), engine(case, sack_pipe="counted"))
    )
    assert usual.mean - usual.half_width > theirs.mean + theirs.half_width, (
        "there is a difference to explain"
    )
    assert abs(counted.mean - theirs.mean) < (usual.mean - theirs.mean) / 2, (
        f"{usual}, {counted}, ns-2 {theirs}"
    )


@over("red")
@pytest.mark.parametrize(
    ("quantity", "band"), [("drop_rate", RED_DROPS), ("utilisation", RED_UTILISATION)]
)
def test_red_drops_as_much(case: str, quantity: str, band: float) -> None:
    values = {
        "drop_rate": lambda one: one.drop_rate,
        "utilisation": lambda one: one.utilisation(10e6),
    }
    theirs, mine = (
        Interval.of([values[quantity](one) for one in runs]) for runs in (peer(case), engine(case))
    )
    assert mine.half_width < band * mine.mean, "too wide to say anything"
    assert mine.mean == pytest.approx(theirs.mean, rel=band)


@over("adaptive-red")
def test_sparing_a_short_queue_makes_the_difference_of_adaptive_red(case: str) -> None:
    theirs, mine = (
        Interval.of([one.utilisation(10e6) for one in runs]) for runs in (peer(case), engine(case))
    )
    assert mine.mean == pytest.approx(theirs.mean, rel=RED_UTILISATION)
    changed = ours.load(case).replace({"hops.bottleneck.queue.early_from": "0 packets"})
    without = ours.outcomes(changed)
    assert Interval.of([one.utilisation(10e6) for one in without]).mean < 0.9 * theirs.mean


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
