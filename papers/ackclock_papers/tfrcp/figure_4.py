"""Figure 4: friendliness of TFRCP where the bottleneck grows with the number of senders."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ackclock import Result
from ackclock.reproduction import Band, Claim, Origin, Outcome, Setting
from ackclock_papers.replicates import quotient
from ackclock_papers.tfrcp import friendliness
from ackclock_papers.tfrcp.causes import causes
from ackclock_papers.tfrcp.figures_2 import CONSTANT
from ackclock_papers.tfrcp.friendliness import CLOSENESS, FRIENDLINESS, ByLoad, Study
from ackclock_papers.tfrcp.paper import basis, entry
from ackclock_papers.tfrcp.path import Path
from ackclock_papers.tfrcp.senders import LOADS, TOGETHER, guessed_of, settings

#: Rate of the bottleneck per sender. Guessed after RAP (Rejaie and others, INFOCOM 1999), the
#: source of this scenario: 5 kB/s. On the central path the round trip is then a whole number of
#: packet times at every load, which causes phase effects (Floyd and Jacobson 1992). CUBIC owes a
#: third of its F to them, TFRCP hardly anything (1.6 beside 1.57 Mbit/s).
SHARE_KBIT_PER_S = 40.0
#: "Flat": F with most senders over F with fewest. As nothing is printed, we chose a quarter either
#: way.
FLAT = Band(0.8, 1.25)


def shared(base: Path) -> Callable[[int], Path]:
    """Returns the path as a function of the load."""
    return lambda load: replace(base, rate_mbit_per_s=load * SHARE_KBIT_PER_S / 1000)


STUDY = Study(CONSTANT, (CONSTANT[0], CONSTANT[3]), shared, TOGETHER)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares F, by load."""
    f, guessed = STUDY.drawn(results, FRIENDLINESS), STUDY.guessed(results, FRIENDLINESS)
    failing = tuple(f"{sender.label} mean" for sender in CONSTANT[1:4])
    claims = (
        *friendliness.claims(STUDY, f, failing, Origin.INFERRED),
        *_flat(f),
        friendliness.whatever_is_guessed(guessed),
    )
    tables = (
        friendliness.table("F", f),
        friendliness.by_guess("F", guessed, friendliness.f_columns),
        causes(STUDY.results(results), LOADS),
        friendliness.table("E = max(F, 1/F), of each replicate", STUDY.drawn(results, CLOSENESS)),
        friendliness.losses(STUDY, results),
    )
    bottleneck = (
        Setting(
            "bottleneck", f"{SHARE_KBIT_PER_S:g} kbit/s for each sender, drop-tail", Origin.GUESSED
        ),
        Setting("buffer", "4 bandwidth-delay products; 1 in the table, too", Origin.PRINTED),
        *guessed_of("delay", "packets"),
    )
    rests = basis(
        why=(
            "the page with the result is lost; of what it is for, F close to 1 and flat, F is 1.2 "
            "to 1.5, and falls by a fifth to a quarter from 10 to 50 senders with M = 4 s and "
            "more: with 10 TFRCP loses what TCP does, with 50 up to a quarter more; with buffers "
            "of one bandwidth-delay product F is up to 3.4"
        )
    )
    draw = friendliness.draw(f"A bottleneck of {SHARE_KBIT_PER_S:g} kbit/s for each sender", f)
    return Outcome(
        rests, (), draw, claims, settings(results, *bottleneck, starts="all at once"), tables
    )


def _flat(f: Mapping[str, ByLoad]) -> tuple[Claim, ...]:
    return tuple(
        Claim.of(
            f"{sender.label}: F does not depend on the number of senders: N = {LOADS[-1]} over N = "
            f"{LOADS[0]}",
            quotient(f[sender.label][LOADS[-1]], f[sender.label][LOADS[0]]), FLAT,
            documented=sender != CONSTANT[-1], origin=Origin.INFERRED,
        )
        for sender in CONSTANT
    )  # fmt: skip


EXPERIMENT = entry(
    "4",
    "Does TFRCP share fairly with TCP if the bottleneck grows with the number of senders?",
    "The page with the result is lost; the scenario shows what the figure is for.",
    60.0,
    conclude,
    STUDY.runs,
)
