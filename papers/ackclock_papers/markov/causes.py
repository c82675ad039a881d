"""Causes why rows measured today differ from the published ones, each with its evidence.

A cause is named only if its evidence is present.
"""

from collections.abc import Mapping, Sequence
from math import nan
from typing import NamedTuple

from ackclock.models import aimd_chain
from ackclock_papers.markov import emulator, estimators, validation
from ackclock_papers.markov.set_rows import (
    ET,
    ET_AT_LEAST,
    ET_EMULATED_L,
    NEAR,
    PUBLISHED,
    SELF_FILLED,
    TOGETHER,
    UNLIMITED,
    WINDOW_LAW,
    Rows,
    mean,
    spread,
)

ByName = Mapping[str, Sequence[Rows]]

#: Losses per reduction from which losses count as bursts.
_BURST = 2.0
#: A count of losses that exceeds the drops by this factor includes spurious retransmissions.
_NEEDLESS = 1.2
#: A rate that exceeds L by this factor is not due to rounding.
_OVER = 1.02
#: Mean windows below this, in segments, are not limited by the receiver's.
_FREE = 0.75 * validation.RECEIVE_WINDOW
# A loss rate at which the window's law is that of a long chain, and a limit without effect on it.
_RARE, _WIDE = 1e-4, 5000.0


class Cause(NamedTuple):
    """A cause of differences.

    Attributes:
        observation: Difference that is seen, as a clause.
        why: Reason.
        shown: Evidence.
        explains: Keys of `SAID` whose claims fail because of it, under the fitting reading.
    """

    observation: str
    why: str
    shown: str
    explains: tuple[str, ...] = ()


def causes(by_name: ByName, fitting: str) -> list[Cause]:
    """Returns the causes whose evidence is present.

    Args:
        by_name: The nine sets of each reading, and the published ones.
        fitting: Name of the reading that fits the published rows.
    """
    rows, theirs = by_name[fitting], by_name[PUBLISHED]
    printed = by_name.get(emulator.AS_PRINTED.name, ())
    candidates = [
        _larger_windows(rows, theirs),
        _own_round_trip(rows),
        _more_than_the_link(rows),
        _misread_link(rows),
        _bursts(printed),
        _timeouts(rows, theirs),
        _needless(rows),
    ]
    return [cause for cause in candidates if cause is not None]


def _larger_windows(rows: Sequence[Rows], theirs: Sequence[Rows]) -> Cause | None:
    now, then = (
        [group.mean(WINDOW_LAW) for group in groups if group.mean("window") < _FREE]
        for groups in (rows, theirs)
    )
    if not mean(now) > mean(then):
        return None
    chain = aimd_chain.solve(aimd_chain.Bernoulli(_RARE), _WIDE)
    by_round, by_segment = (chain.mean(mode) * _RARE**0.5 for mode in ("round", "segment"))
    return Cause(
        "windows are larger than the published ones at the same loss rate",
        "The Linux of 2002 cut its window to two segments when it had emptied, for which the "
        "authors took the smaller law, that by round; a sender with SACK goes on sending through a "
        "recovery",
        f"{WINDOW_LAW} was {mean(then):.2f} ({min(then):.2f} to {max(then):.2f}) and is "
        f"{mean(now):.2f} ({min(now):.2f} to {max(now):.2f}); a long chain has {by_round:.2f} by "
        f"round, {by_segment:.2f} by segment",
        ("slow", "above"),
    )


def _own_round_trip(rows: Sequence[Rows]) -> Cause | None:
    full = [group for group in rows if group.is_full and mean(group.above(ET, "NoTOTput")) < -NEAR]
    if not full:
        return None
    filled = max(abs(error) for group in full for error in group.above(SELF_FILLED, "ATp"))
    share = [group.mean("FF") / group.L for group in full]
    return Cause(
        f"the link is full in {_numbers(full)}, where the window makes its own round-trip time",
        "It is w/L there, long with large windows. ET takes the two for independent, and FF "
        "divides by a mean in which the long ones have most samples: what comes out is a share of "
        "L, whatever the loss rate",
        f"FF is {min(share):.2f} to {max(share):.2f} times L; the chain that fills its own buffer "
        f"is within {filled:.1%} of ATp, from the emulator's settings alone",
        ("slow", "above"),
    )


def _more_than_the_link(rows: Sequence[Rows]) -> Cause | None:
    over = [group for group in rows if group.mean("NoTOTput") > _OVER * group.L]
    if not over:
        return None
    most = max(group.mean("NoTOTput") / group.L - 1 for group in over)
    return Cause(
        f"NoTOTput is above what the link passes in {_numbers(over)}",
        "Outstanding data holds what SACK has reported as received, and the round trips of a "
        "recovery give few samples",
        f"by {most:.0%} at most, while ATpXmit is at most "
        f"{max(group.mean('ATpXmit') / group.L for group in over):.1%} of it",
        ("slow",),
    )


def _misread_link(rows: Sequence[Rows]) -> Cause | None:
    fast = [group for group in rows if group.data_set.rate > 2 * group.L]
    spreads = [spread(group, ET_EMULATED_L) for group in fast if group.data_set.number in UNLIMITED]
    if not spreads or max(spreads) > TOGETHER:
        return None
    return Cause(
        f"L as printed is {fast[0].data_set.rate / fast[0].L:.1f} times what the link passes in "
        f"{_numbers(fast)}",
        "ET takes the throughput of a long window and a short round trip up to L; FF and PFTK know "
        "neither",
        f"with L as emulated ET, FF and PFTK are within {max(spreads):.0%} of each other in sets 7 "
        "to 9",
        ("together",),
    )


def _bursts(printed: Sequence[Rows]) -> Cause | None:
    bursts = [group for group in printed if _losses_per_reduction(group) > _BURST]
    if not bursts:
        return None
    by_loss, by_reduction = (
        mean([mean(group.above(name, "NoTOTput")) for group in bursts])
        for name in (ET, ET_AT_LEAST)
    )
    return Cause(
        f"with the queue as printed ET is far too low in {_numbers(bursts)}",
        "Three packets are too few for the bursts of the first slow start and of delayed ACKs: "
        "several are lost at once and answered by one reduction, but p counts each",
        f"{mean([_losses_per_reduction(group) for group in bursts]):.1f} losses to a reduction; ET "
        f"is {by_loss:+.0%} from NoTOTput if p counts losses, {by_reduction:+.0%} if it counts "
        "triple duplicates",
    )


def _timeouts(rows: Sequence[Rows], theirs: Sequence[Rows]) -> Cause | None:
    last, published = rows[-1], theirs[-1]
    gap, was = mean(last.above(ET, "ATp")), mean(published.above(ET, "ATp"))
    with_timeouts = mean(last.above("X with timeouts", "ATp"))
    if not (gap < was - NEAR and with_timeouts < -NEAR):
        return None
    return Cause(
        f"ET is not far above ATp at high loss, in set {last.data_set.number}",
        "Few losses lead to a timeout, which the model leaves out and which cost the published "
        "connections most: SACK, limited transmit, and in Linux RACK and tail-loss probes find "
        "what three duplicate ACKs cannot, and a timeout may be as short as 200 ms beyond the "
        "round trip",
        f"{last.mean('timeouts'):.0%} of the answers to losses are timeouts; ET is {gap:+.0%} from "
        f"ATp and was {was:+.0%}; the chain with PFTK's timeouts is {with_timeouts:+.0%}",
    )


def _needless(rows: Sequence[Rows]) -> Cause | None:
    over = [
        group for group in rows if group.mean(estimators.USED) > _NEEDLESS * group.mean("dropped")
    ]
    if not over:
        return None
    most = max(group.mean(estimators.USED) / group.mean("dropped") for group in over)
    return Cause(
        f"more is taken for lost than was dropped in {_numbers(over)}",
        "A sender that its receiver's window stops resends its last segment once in each recovery "
        "(RFC 6675 section 4 rule 4), and the engine's receiver does not report duplicates (RFC "
        "2883), so that nobody can tell",
        f"up to {most:.1f} times the drops",
        ("fast",),
    )


def _losses_per_reduction(rows: Rows) -> float:
    reductions = rows.mean("triple duplicates")
    return rows.mean(estimators.USED) / reductions if reductions > 0 else nan


def _numbers(rows: Sequence[Rows]) -> str:
    numbers = [str(group.data_set.number) for group in rows]
    return (
        f"set {numbers[0]}"
        if len(numbers) == 1
        else f"sets {', '.join(numbers[:-1])} and {numbers[-1]}"
    )
