"""Figure 15: the memory that EFFCAP needs, by how fast the link changes."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Claim,
    Comparison,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    words,
)
from ackclock_papers.abr import over_psi
from ackclock_papers.abr.efficiency import gain
from ackclock_papers.abr.loop import INSTCAP, effcap_of
from ackclock_papers.abr.over_psi import (
    BUFFER,
    STANDARD_ERROR,
    Efficiencies,
    Part,
    Scheme,
    beside,
)
from ackclock_papers.abr.paper import PROTOCOL, ROUND_TRIP_S, basis, entry, settings
from ackclock_papers.replicates import Rows, measured

#: k: EFFCAP's memory in round trips. That 4, 8 and 12 are among the paper's values is inferred; the
#: others are guessed.
MEMORIES = (1, 2, 4, 8, 12)
SHORTEST, SHORT, LONG, LONGEST = 1, 4, 8, 12
SCHEMES: dict[int | None, Scheme] = {
    None: Scheme(INSTCAP),
    **{k: Scheme(effcap_of(ROUND_TRIP_S, k)) for k in MEMORIES},
}

#: tau is 32 ms to 40 s.
FAST = Part("fast", (0.16, 0.2, 0.25, 0.3, 0.5, 1.0, 2.0), 600.0)
SLOW = Part("slow", (5.0, 10.0, 20.0, 60.0, 200.0), 2000.0)

INDEPENDENT: dict[float, tuple[str, ...]] = {
    0.16: ("0.890", "0.881", "0.864", "0.854", "0.844", "0.836"),
    0.3: ("0.562", "0.560", "0.625", "0.701", "0.697", "0.680"),
    0.5: ("0.510", "0.513", "0.527", "0.586", "0.629", "0.621"),
    1: ("0.485", "0.481", "0.480", "0.508", "0.585", "0.600"),
    2: ("0.487", "0.481", "0.478", "0.490", "0.548", "0.587"),
    5: ("0.519", "0.505", "0.507", "0.517", "0.534", "0.559"),
    10: ("0.583", "0.577", "0.572", "0.575", "0.581", "0.582"),
    20: ("0.695", "0.683", "0.681", "0.679", "0.674", "0.661"),
    60: ("0.840", "0.833", "0.830", "0.825", "0.811", "0.796"),
    200: ("0.885", "0.882", "0.881", "0.877", "0.872", "0.866"),
}
"""Efficiency with cells from an unpublished packet-level reference simulation, by psi.

The columns are INSTCAP, then EFFCAP by its memory.
"""

#: Efficiencies, by the memory of the scheme.
ByMemory = Mapping[int | None, Efficiencies]


def runs() -> Mapping[str, Run]:
    """Returns runs of INSTCAP, and of EFFCAP with memories of one to twelve round trips.

    Each has long runs, and runs by the paper's protocol.
    """
    schemes = SCHEMES.values()
    return over_psi.runs(schemes, FAST, SLOW) | over_psi.transfers(schemes, FAST, SLOW)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Concludes where a longer memory gains, and where it costs."""
    efficiencies = {
        k: over_psi.simulated(results, scheme, FAST, SLOW) for k, scheme in SCHEMES.items()
    }
    own = (
        Setting(
            "loop",
            f"Δ 200 ms or 40 packets, a buffer of {BUFFER} packets or 5000 bytes",
            Origin.PRINTED,
        ),
        Setting("EFFCAP", "M = 7, a round trip of measurements", Origin.PRINTED),
        Setting("EFFCAP's memory", "N = 7 (k − 1), at least 1, for k round trips", Origin.INFERRED),
        Setting("which memories", ", ".join(map(str, MEMORIES)) + " round trips", Origin.GUESSED),
        Setting("runs", over_psi.lengths(results), Origin.GUESSED),
        PROTOCOL,
    )
    rests = basis(
        "which psi are meant by what is left of the numbers",
        "most of what N does below psi = 0.3 is of memories of less than four round trips, which "
        "the paper may not have",
    )
    return Outcome(
        rests, (_comparison(efficiencies),), partial(_draw, efficiencies), _claims(efficiencies),
        settings(*own),
        (_table(efficiencies),
         over_psi.transfers_table(
             results, {_name(k): scheme for k, scheme in SCHEMES.items()}, FAST, SLOW
         )),
    )  # fmt: skip


def _claims(efficiencies: ByMemory) -> tuple[Claim, ...]:
    def longer(longest: int, shortest: int, psi: float) -> Interval:
        return gain(efficiencies[longest][psi], efficiencies[shortest][psi])

    return (
        *(
            Claim.of(
                f"For psi above 60 a small N is slightly better: k = {SHORTEST} above {LONGEST}, "
                f"at psi = {psi:g}",
                longer(SHORTEST, LONGEST, psi), words.SLIGHT_PERCENT, "%", than=0.0,
            )
            for psi in (60.0, 200.0)
        ),
        *(
            Claim.of(
                f"For psi below 0.3 there is negligible gain by a larger N: k = {LONGEST} above "
                f"{SHORTEST}, at psi = {psi:g}",
                longer(LONGEST, SHORTEST, psi), words.SAME_PERCENT, "%",
            )
            for psi in (0.16, 0.2, 0.25)
        ),
        *(
            Claim.of(
                f"For psi of 0.3 to 1 a larger N is an improvement: k = {LONGEST} above "
                f"{SHORTEST}, at psi = {psi:g}",
                longer(LONGEST, SHORTEST, psi), Band(0), "%", than=0.0,
            )
            for psi in (0.3, 0.5, 1.0)
        ),
        *(
            Claim.of(
                f"In the intermediate range, to 20, a larger N is better: k = {LONGEST} above "
                f"{SHORTEST}, at psi = {psi:g}",
                longer(LONGEST, SHORTEST, psi), Band(0), "%", than=0.0,
            )
            for psi in (2.0, 5.0, 10.0, 20.0)
        ),
        *(
            Claim.of(
                f"From k = {LONG} on there is no more to gain: k = {LONGEST} above {LONG}, at psi "
                f"= {psi:g}",
                longer(LONGEST, LONG, psi), words.SAME_PERCENT, "%", origin=Origin.INFERRED,
            )
            for psi in (0.3, 0.5, 1.0)
        ),
    )  # fmt: skip


def _comparison(efficiencies: ByMemory) -> Comparison:
    cells = tuple(
        beside((f"{psi:g}",), _name(k), text, STANDARD_ERROR, efficiencies[k][psi])
        for psi, texts in INDEPENDENT.items()
        for k, text in zip(SCHEMES, texts, strict=True)
    )
    return Comparison(
        "Efficiency, beside a reference simulation",
        Origin.REFERENCE,
        ("psi",),
        cells,
        over_psi.CRITERION,
    )


def _name(memory: int | None) -> str:
    return INSTCAP.label if memory is None else f"k = {memory}"


def _table(efficiencies: ByMemory) -> Table:
    rows: Rows = {
        (f"{psi:g}",): {_name(k): interval(by_psi[psi]) for k, by_psi in efficiencies.items()}
        for part in (FAST, SLOW)
        for psi in part.psis
    }
    return measured("Efficiency, EFFCAP with a memory of k round trips", ("psi",), rows)


def _draw(efficiencies: ByMemory) -> Figure:
    by_label = {_legend(k): by_psi for k, by_psi in efficiencies.items()}
    return over_psi.draw(by_label, "EFFCAP: how much to remember, by how fast the link changes")


def _legend(memory: int | None) -> str:
    return INSTCAP.label if memory is None else f"{SCHEMES[memory].feedback.label}: k = {memory}"


EXPERIMENT = entry(
    "15",
    "How does the memory that EFFCAP needs depend on how fast the link changes?",
    "EFFCAP with memories of one to twelve round trips: a long memory is better for psi from 0.3 "
    "to 5, a short one from 60 on.",
    20.0,
    conclude,
    runs,
)
