"""Figures 18 and 19: the number of measurements in EFFCAP's means."""

from collections.abc import Callable, Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
    words,
)
from ackclock_papers.abr import over_delta
from ackclock_papers.abr.efficiency import gain, loss
from ackclock_papers.abr.loop import effcap, round_trip_of_measurements
from ackclock_papers.abr.over_delta import FAST_MS, SLOW_MS, Scheme
from ackclock_papers.abr.over_psi import (
    BUFFER,
    CRITERION,
    STANDARD_ERROR,
    Y_FROM,
    beside,
    lengths,
)
from ackclock_papers.abr.paper import COMPARED, PROTOCOL, basis, entry, settings
from ackclock_papers.replicates import Rows, curve, measured

ROUND_TRIPS_MS = (50, 100, 200)
MEANS = (1, 4, 7, 10)
FEWEST, MOST = MEANS[0], MEANS[-1]
#: k: EFFCAP's memory in round trips, in the two halves of the figure. The value of the left half is
#: inferred.
SHORT, LONG = 4, 12
MEMORIES = (SHORT, LONG)

INDEPENDENT: dict[tuple[int, int], dict[int, tuple[str, ...]]] = {
    (SLOW_MS, SHORT): {
        50: ("0.863", "0.636", "0.606", "0.595"),
        100: ("0.606", "0.585", "0.574", "0.571"),
        200: ("0.528", "0.524", "0.517", "0.514"),
    },
    (FAST_MS, SHORT): {
        50: ("0.655", "0.635", "0.548", "0.509"),
        100: ("0.601", "0.618", "0.570", "0.544"),
        200: ("0.603", "0.612", "0.586", "0.560"),
    },
    (FAST_MS, LONG): {
        50: ("0.604", "0.632", "0.673", "0.631"),
        100: ("0.604", "0.609", "0.644", "0.651"),
        200: ("0.604", "0.604", "0.621", "0.643"),
    },
}
"""Efficiency with cells from an unpublished packet-level reference simulation.

It is by tau (ms) and k, then by Delta (ms), then by M in the order of `MEANS`.
"""

Results = Mapping[str, Result]
#: Efficiencies of replicates, by k, Delta (ms) and M.
ByScheme = Mapping[tuple[int, int, int], list[float]]


def scheme(memory: int, round_trip_ms: int, m: int) -> Scheme:
    """Returns EFFCAP with a memory of k round trips, for any M."""
    n = (memory - 1) * round_trip_of_measurements(round_trip_ms / 1000)
    return Scheme(round_trip_ms, effcap(m, n))


SCHEMES = {
    (memory, delta, m): scheme(memory, delta, m)
    for memory in MEMORIES
    for delta in ROUND_TRIPS_MS
    for m in MEANS
}


def runs() -> Mapping[str, Run]:
    """Returns runs of each M at each round-trip time with both memories, for both figures."""
    return over_delta.runs(SCHEMES.values())


def _efficiencies(results: Results, sojourn_ms: int) -> ByScheme:
    return {key: over_delta.simulated(results, drawn, sojourn_ms) for key, drawn in SCHEMES.items()}


def _rise(efficiencies: ByScheme, memory: int, delta: int) -> Interval:
    """Returns by how many percent efficiency rises from the smallest M to the largest."""
    return gain(efficiencies[memory, delta, MOST], efficiencies[memory, delta, FEWEST])


def _claims_of_18(efficiencies: ByScheme) -> tuple[Claim, ...]:
    return (
        *(
            Claim.of(
                f"Efficiency falls slightly as M rises from {FEWEST} to {MOST} where Δ is small: "
                f"by, k = {memory}, Δ = {delta} ms",
                loss(_rise(efficiencies, memory, delta)), words.SLIGHT_PERCENT, "%", than=0.0,
                documented=delta > 50,
            )
            for memory in MEMORIES
            for delta in (50, 100)
        ),
        *(
            Claim.of(
                f"It is insensitive to M for Δ = 200 ms: M = {MOST} above {FEWEST}, k = {memory}",
                _rise(efficiencies, memory, 200), words.SAME_PERCENT, "%",
            )
            for memory in MEMORIES
        ),
    )  # fmt: skip


def _claims_of_19(efficiencies: ByScheme) -> tuple[Claim, ...]:
    return (
        *(
            Claim.of(
                f"With a small N 10 to 15 % is lost as M rises from {FEWEST} to {MOST}: k = "
                f"{SHORT}, Δ = {delta} ms",
                loss(_rise(efficiencies, SHORT, delta)), words.from_to("10", "15"), "%", than=0.0,
                documented=False,
            )
            for delta in (50, 100)
        ),
        *(
            Claim.of(
                f"With a large N there is no loss: M = {MOST} above {FEWEST}, k = {LONG}, Δ = "
                f"{delta} ms",
                _rise(efficiencies, LONG, delta), Band(words.SAME_PERCENT.least), "%",
            )
            for delta in ROUND_TRIPS_MS
        ),
    )  # fmt: skip


def _conclude(
    sojourn_ms: int, claims: Callable[[ByScheme], tuple[Claim, ...]], rests: Basis, results: Results
) -> Outcome:
    efficiencies = _efficiencies(results, sojourn_ms)
    own = (
        Setting(
            "loop",
            f"Δ 50, 100 and 200 ms, τ {sojourn_ms} ms, a buffer of {BUFFER} packets",
            Origin.PRINTED,
        ),
        Setting("EFFCAP's M", "1 to 10", Origin.PRINTED),
        Setting("which M", ", ".join(map(str, MEANS)), Origin.GUESSED),
        Setting("EFFCAP's memory to the right", f"k = {LONG} round trips", Origin.PRINTED),
        Setting("EFFCAP's memory to the left", f"k = {SHORT} round trips", Origin.INFERRED),
        Setting(
            "N", "(k − 1) times the measurements of a round trip, whatever M is", Origin.INFERRED
        ),
        Setting("runs", lengths(results), Origin.GUESSED),
        PROTOCOL,
        COMPARED,
    )
    return Outcome(
        rests, (_comparison(results, sojourn_ms),), partial(_draw, efficiencies, sojourn_ms),
        claims(efficiencies), settings(*own),
        (_table(efficiencies, sojourn_ms), _published(results, sojourn_ms)),
    )  # fmt: skip


def _comparison(results: Results, sojourn_ms: int) -> Comparison:
    cells = tuple(
        beside(
            (f"{memory}", f"{delta}"), f"M = {m}", text, STANDARD_ERROR,
            over_delta.simulated(results, SCHEMES[memory, delta, m].timed_exactly, sojourn_ms),
        )
        for (sojourn, memory), rows in INDEPENDENT.items()
        if sojourn == sojourn_ms
        for delta, texts in rows.items()
        for m, text in zip(MEANS, texts, strict=True)
    )  # fmt: skip
    title = (
        f"Efficiency, τ = {sojourn_ms} ms, round trips timed exactly, beside a reference simulation"
    )
    return Comparison(title, Origin.REFERENCE, ("k", "Δ, ms"), cells, CRITERION)


def _table(efficiencies: ByScheme, sojourn_ms: int) -> Table:
    rows: Rows = {}
    for (memory, delta, m), values in efficiencies.items():
        rows.setdefault((f"{memory}", f"{delta}"), {})[f"M = {m}"] = interval(values)
    return measured(f"Efficiency, τ = {sojourn_ms} ms", ("k", "Δ, ms"), rows)


def _published(results: Results, sojourn_ms: int) -> Table:
    rows: Rows = {}
    for (memory, delta, m), drawn in SCHEMES.items():
        efficiency = over_delta.published(results, drawn, sojourn_ms)
        rows.setdefault((f"{memory}", f"{delta}"), {})[f"M = {m}"] = efficiency
    return measured(
        "The same by the paper's protocol, four transfers of 10 MB over 75 kB/s",
        ("k", "Δ, ms"),
        rows,
    )


def _draw(efficiencies: ByScheme, sojourn_ms: int) -> Figure:
    curves = [
        curve(
            f"Δ {delta} ms, k = {memory}",
            MEANS,
            [interval(efficiencies[memory, delta, m]) for m in MEANS],
        )
        for memory in MEMORIES
        for delta in ROUND_TRIPS_MS
    ]
    title = f"EFFCAP: over how many measurements to take means; τ = {sojourn_ms} ms"
    return plot.curves(
        curves,
        "M: measurements a mean (of 30 ms each)",
        "efficiency (of the mean capacity)",
        title,
        y_from=Y_FROM,
    )


def _entry(
    number: str,
    question: str,
    says: str,
    sojourn_ms: int,
    claims: Callable[[ByScheme], tuple[Claim, ...]],
    rests: Basis,
) -> Experiment:
    return entry(number, question, says, 15.0, partial(_conclude, sojourn_ms, claims, rests), runs)


FIGURE_18 = _entry(
    "18",
    "Over how many measurements should EFFCAP average if the capacity changes every second?",
    "Efficiency for M from 1 to 10 measurements: it falls by a quarter and more at Δ = 50 ms, "
    "slightly at 100 ms, and stays at 200 ms.",
    SLOW_MS,
    _claims_of_18,
    basis(
        "",
        "at Δ = 50 ms the fall is not slight but a quarter to a third: with M = 1 the host follows "
        "so soon that the buffer holds what comes until then; with means of 120 ms and more it "
        "does not",
    ),
)
FIGURE_19 = _entry(
    "19",
    "Over how many measurements should EFFCAP average if the capacity changes every 100 ms?",
    "Efficiency for M from 1 to 10 measurements: with a small N it falls, most at Δ = 50 ms; with "
    "a large N it stays or rises.",
    FAST_MS,
    _claims_of_19,
    basis(
        "",
        "at Δ = 50 ms more is lost, and at 100 ms less; so it is in the reference simulation",
    ),
)
