"""Figures 2a to 2c: friendliness of TFRCP to TCP, by the rule for the length of its rounds."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ackclock import Result
from ackclock.metrics import interval
from ackclock.reproduction import Band, Basis, Claim, Origin, Outcome
from ackclock_papers.replicates import quotient
from ackclock_papers.tfrcp import friendliness
from ackclock_papers.tfrcp.causes import causes
from ackclock_papers.tfrcp.friendliness import CLOSENESS, FRIENDLINESS, ByLoad, Study
from ackclock_papers.tfrcp.paper import CLOSE, basis, entry
from ackclock_papers.tfrcp.path import CENTRAL, Path
from ackclock_papers.tfrcp.senders import (
    FEW_LOADS,
    LOADS,
    TCP,
    TFRC,
    TOGETHER,
    one_path,
    s1,
    s2,
    s3,
    settings,
)

CONSTANT = tuple(s1(m) for m in (2, 3, 4, 5, 6))
ROUND_TRIPS = tuple(s2(k) for k in (10, 20, 30, 60))
RANDOM = tuple(s3(*pair) for pair in ((0.3, 5.4), (1.5, 3.0), (2.7, 0.6)))

S1 = Study(CONSTANT, (CONSTANT[0], CONSTANT[3]))
S2 = Study(ROUND_TRIPS, (ROUND_TRIPS[0], ROUND_TRIPS[-1]))
S3 = Study(RANDOM, (RANDOM[0], RANDOM[-1]), starts=TOGETHER)


#: End of the axis of Figure 2b. The curves are lost; that F comes near this end is our inference.
AXIS, NEAR_AXIS = 7, Band(4, 10)
Claims = Callable[[Mapping[str, ByLoad]], tuple[Claim, ...]]


def _conclude_2a(rests: Basis, claims: Claims, results: Mapping[str, Result]) -> Outcome:
    """Concludes as the others do, and judges what is said besides of constant rounds."""
    outcome = _conclude("Rounds of constant length (S1)", S1, rests, claims, results)
    more = (
        *_alike_at_other_delays(S1.guessed(results, FRIENDLINESS)),
        *_more_timeouts(S1.results(results)),
    )
    return replace(outcome, claims=(*outcome.claims, *more))


def _conclude(
    title: str, study: Study, rests: Basis, claims: Claims, results: Mapping[str, Result]
) -> Outcome:
    f, guessed = study.drawn(results, FRIENDLINESS), study.guessed(results, FRIENDLINESS)
    tables = (
        friendliness.table("F", f),
        friendliness.by_guess("F", guessed, friendliness.f_columns),
        causes(study.results(results), LOADS),
        friendliness.table("E = max(F, 1/F), of each replicate", study.drawn(results, CLOSENESS)),
        friendliness.losses(study, results),
    )
    starts = "all at once" if study.starts == TOGETHER else "uniform within the first second"
    statements = (*claims(f), friendliness.whatever_is_guessed(guessed))
    return Outcome(
        rests,
        (),
        friendliness.draw(title, f),
        statements,
        settings(results, *one_path(), starts=starts),
        tables,
    )


def _of_2b(f: Mapping[str, ByLoad]) -> tuple[Claim, ...]:
    few, many = LOADS[0], LOADS[-1]
    smallest, *_, largest = (f[sender.label] for sender in ROUND_TRIPS)
    inferred = partial(Claim.of, documented=False, origin=Origin.INFERRED)
    return (
        *(
            Claim.of(
                f"{sender.label}: the more load, the more aggressive than TCP: F with N = {many} "
                f"over N = {few}",
                quotient(f[sender.label][many], f[sender.label][few]), Band(1.0), "times", than=1.0,
            )
            for sender in ROUND_TRIPS
        ),
        *(
            Claim.of(
                f"{sender.label} is more aggressive than TCP: F with N = {many}",
                interval(f[sender.label][many]), Band(1.0), than=1.0,
            )
            for sender in ROUND_TRIPS
        ),
        inferred(
            f"F grows with K: K = 60 over K = 10, N = {many}",
            quotient(largest[many], smallest[many]), Band(1.0),
        ),
        inferred(
            f"F comes near the end of the axis, {AXIS}: K = 60, N = {many}",
            interval(largest[many]), NEAR_AXIS,
        ),
    )  # fmt: skip


def _alike_at_other_delays(
    guessed: Mapping[Path, Mapping[str, ByLoad]],
) -> tuple[Claim, ...]:
    """Claims that F is similar with other delays of the bottleneck; F is by path and sender."""

    def mean(values: ByLoad) -> list[float]:
        return list(np.mean([values[load] for load in FEW_LOADS], axis=0))

    return tuple(
        Claim.of(
            "With other delays of the bottleneck results are similar: mean F over that with "
            f"{CENTRAL.label[1]}, {label}, {path.label[1]}",
            quotient(mean(values), mean(guessed[CENTRAL][label])), CLOSE, "times",
            documented=False,
            why="where delays are short Reno has no room for a window, and gets little",
        )
        for path, by_sender in guessed.items()
        if path != CENTRAL and replace(path, delay_s=CENTRAL.delay_s) == CENTRAL
        for label, values in by_sender.items()
        if label != TFRC.label
    )  # fmt: skip


def _timeouts_per_packet(result: Result, point: int) -> list[float]:
    """Returns the timeouts of TCP per packet that it sent, by replicate."""
    shares = []
    for replicate in range(result.run["replicates"]):
        rows = result.rows("flows", point=point, flow=TCP, replicate=replicate)
        timeouts, sent = (
            float(np.nansum(rows[name].to_numpy())) for name in ("timeouts", "sent_packets")
        )
        shares.append(timeouts / sent)
    return shares


def _more_timeouts(results: Mapping[str, Result]) -> tuple[Claim, ...]:
    """Claims that timeouts of TCP get more likely as the number of senders grows."""
    few, many = 0, len(LOADS) - 1
    return tuple(
        Claim.of(
            "As the number of senders grows timeouts of TCP get more likely: per packet with N = "
            f"{LOADS[many]} over N = {LOADS[few]}, beside {label}",
            quotient(_timeouts_per_packet(result, many), _timeouts_per_packet(result, few)),
            Band(1.0), "times", than=1.0,
        )
        for label, result in results.items()
    )  # fmt: skip


def _why(elsewhere: str) -> str:
    """Returns why F is above 1 here, by the table of causes, and its values elsewhere."""
    return (
        "the equation with b = 1 says up to a fifth more than Reno sends at losses of 9 to 14 %, "
        "and following it from round to round adds a seventh to a third; with b = 2 F is 0.7 to 1 "
        f"(tfrcp-readings); and where buffers are small or delays short F is {elsewhere} on the "
        "mean, as Reno without room for a window gets little"
    )


FIGURE_2A = entry(
    "2a",
    "Does TFRCP share fairly with TCP if all its rounds have the same length?",
    "F, TFRCP's goodput over TCP's, by the number of senders, in rounds of 2 to 6 s: 1.2 to 1.5.",
    65.0,
    partial(
        _conclude_2a,
        basis("b = 1", _why("1.2 to 2.4")),
        partial(friendliness.claims, S1, failing=("TFRCP, M = 3 s mean", "TFRCP, M = 4 s mean")),
    ),
    S1.runs,
)  # fmt: skip
FIGURE_2B = entry(
    "2b",
    "Does TFRCP share fairly with TCP if a round lasts a fixed number of round trips?",
    "F, TFRCP's goodput over TCP's, by the number of senders, in rounds of 10 to 60 round trips: "
    "1.1 to 1.5.",
    65.0,
    partial(
        _conclude, "Rounds of round-trip times (S2)", S2,
        basis(
            why=(
                "in rounds of 30 s TFRCP floods the buffer, loses twice the share that TCP does, "
                "and the equation answers that (tfrcp-readings: where F grows)"
            )
        ),
        _of_2b,
    ),
    S2.runs,
)  # fmt: skip
FIGURE_2C = entry(
    "2c",
    "Does TFRCP share fairly with TCP if rounds have random lengths and all senders start "
    "together?",
    "F, TFRCP's goodput over TCP's, by the number of senders, in rounds of random length: 1.4 to "
    "1.6.",
    65.0,
    partial(
        _conclude, "Rounds of random length (S3)", S3,
        basis(why=_why("1.4 to 2.7")),
        partial(
            friendliness.claims, S3, failing=tuple(f"{sender.label} mean" for sender in RANDOM)
        ),
    ),
    S3.runs,
)  # fmt: skip
