"""Figures 16 and 17: the memory that EFFCAP needs, by the round-trip time."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

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
from ackclock_papers.abr.loop import INSTCAP, NONE, Feedback, effcap_of
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

ROUND_TRIPS_MS = (50, 100, 200, 300, 400, 500)
NEAREST, FARTHEST = ROUND_TRIPS_MS[0], ROUND_TRIPS_MS[-1]
#: k: EFFCAP's memory in round trips. That 4, 8 and 12 are among the paper's values is inferred; the
#: others are guessed.
MEMORIES = (1, 2, 4, 8, 12)
LEAST, ENOUGH, LONG, LONGEST = 1, 4, 8, 12

#: By the label of a curve: the feedback at a round-trip time in seconds.
CURVES: dict[str, Callable[[float], Feedback]] = {
    NONE.label: lambda _round_trip_s: NONE,
    INSTCAP.label: lambda _round_trip_s: INSTCAP,
    **{f"k = {k}": partial(effcap_of, memory=k) for k in MEMORIES},
}

INDEPENDENT: dict[int, dict[int, tuple[str, ...]]] = {
    SLOW_MS: {
        50: ("0.543", "0.906", "0.906", "0.897", "0.864", "0.809", "0.766"),
        100: ("0.587", "0.615", "0.592", "0.593", "0.585", "0.578", "0.589"),
        200: ("0.523", "0.519", "0.505", "0.507", "0.517", "0.534", "0.559"),
        300: ("0.453", "0.456", "0.448", "0.458", "0.480", "0.519", "0.564"),
        400: ("0.419", "0.422", "0.426", "0.441", "0.455", "0.526", "0.570"),
        500: ("0.389", "0.416", "0.418", "0.419", "0.464", "0.524", "0.565"),
    },
    FAST_MS: {
        50: ("0.495", "0.906", "0.906", "0.842", "0.693", "0.618", "0.606"),
        100: ("0.540", "0.526", "0.500", "0.535", "0.618", "0.619", "0.609"),
        200: ("0.527", "0.510", "0.513", "0.527", "0.586", "0.629", "0.621"),
        300: ("0.481", "0.500", "0.510", "0.526", "0.564", "0.634", "0.635"),
        400: ("0.451", "0.482", "0.506", "0.523", "0.550", "0.622", "0.637"),
        500: ("0.437", "0.484", "0.549", "0.570", "0.612", "0.627", "0.645"),
    },
}
"""Efficiency by tau and Delta (ms), from an unpublished packet-level reference simulation.

The columns are in the order of `CURVES`. All but TCP alone have cells.
"""

Results = Mapping[str, Result]


class Link(NamedTuple):
    """Efficiencies over one link.

    Attributes:
        sojourn_ms: tau, in ms.
        efficiencies: Efficiencies of replicates, by Delta (ms) and label of the curve.
    """

    sojourn_ms: int
    efficiencies: Mapping[int, Mapping[str, list[float]]]

    def above(self, first: tuple[int, str], second: tuple[int, str]) -> Interval:
        """Returns by how many percent one efficiency exceeds another.

        Each is given by a Delta and a label.
        """
        higher, lower = (self.efficiencies[delta][name] for delta, name in (first, second))
        return gain(higher, lower)


def scheme(round_trip_ms: int, name: str) -> Scheme:
    """Returns the scheme of a curve at a round-trip time."""
    return Scheme(round_trip_ms, CURVES[name](round_trip_ms / 1000))


def runs() -> Mapping[str, Run]:
    """Returns runs of each scheme at each round-trip time, the same for both figures."""
    return over_delta.runs(scheme(delta, name) for delta in ROUND_TRIPS_MS for name in CURVES)


def _name(memory: int) -> str:
    return f"k = {memory}"


def _simulated(results: Results, sojourn_ms: int) -> Link:
    efficiencies = {
        delta: {
            name: over_delta.simulated(results, scheme(delta, name), sojourn_ms) for name in CURVES
        }
        for delta in ROUND_TRIPS_MS
    }
    return Link(sojourn_ms, efficiencies)


def _claims_of_16(results: Results) -> tuple[Claim, ...]:
    slow = _simulated(results, SLOW_MS)
    return (
        *(
            Claim.of(
                f"Efficiency is considerably lower with a larger Δ: {FARTHEST} ms below {NEAREST} "
                f"ms, {name}",
                loss(slow.above((FARTHEST, name), (NEAREST, name))), words.STRONG_PERCENT, "%",
                than=0.0,
            )
            for name in (_name(LEAST), _name(ENOUGH), _name(LONG), _name(LONGEST))
        ),
        *(
            Claim.of(
                f"A larger N lifts it to 0.6 where Δ is large: k = {LONGEST}, at Δ = {delta} ms",
                interval(slow.efficiencies[delta][_name(LONGEST)]), words.about("0.6", whole=1),
            )
            for delta in (300, 400, 500)
        ),
        *(
            Claim.of(
                f"The more, the larger k is: k = {longer} above {shorter}, at Δ = {FARTHEST} ms",
                slow.above((FARTHEST, _name(longer)), (FARTHEST, _name(shorter))), Band(0), "%",
                than=0.0,
            )
            for shorter, longer in ((LEAST, ENOUGH), (ENOUGH, LONG), (LONG, LONGEST))
        ),
    )  # fmt: skip


def _claims_of_17(results: Results) -> tuple[Claim, ...]:
    fast, slow = _simulated(results, FAST_MS), _simulated(results, SLOW_MS)
    return (
        *(
            Claim.of(
                f"There is a considerable difference at the same psi: 2 of Δ = {NEAREST} ms has "
                f"more than 2 of Δ = {FARTHEST} ms and τ = {SLOW_MS} ms, {name}",
                gain(fast.efficiencies[NEAREST][name],
                     slow.efficiencies[FARTHEST][name]), words.STRONG_PERCENT, "%", than=0.0,
                documented=name != _name(LONGEST),
            )
            for name in (_name(LEAST), _name(ENOUGH), _name(LONG), _name(LONGEST))
        ),
        *(
            Claim.of(
                f"k of 4 to 6 is adequate: k = {LONGEST} above {ENOUGH}, at Δ = {delta} ms",
                fast.above((delta, _name(LONGEST)), (delta, _name(ENOUGH))),
                Band(most=100 * words.ABOUT), "%", documented=delta not in MORE_NEEDED,
            )
            for delta in ROUND_TRIPS_MS
        ),
    )  # fmt: skip


#: Round-trip times, in ms, for which a memory of four round trips is too short.
MORE_NEEDED = (300, 400)
WORDS = "adequate taken for within 10 %"


def _conclude(
    sojourn_ms: int, claims: Callable[[Results], tuple[Claim, ...]], rests: Basis, results: Results
) -> Outcome:
    link = _simulated(results, sojourn_ms)
    own = (
        Setting(
            "loop",
            f"Δ 50 to 500 ms, τ {sojourn_ms} ms, a buffer of {BUFFER} packets",
            Origin.PRINTED,
        ),
        Setting("which Δ", ", ".join(map(str, ROUND_TRIPS_MS)) + " ms", Origin.GUESSED),
        Setting("EFFCAP's M", "Δ in measurements of 30 ms, rounded up", Origin.INFERRED),
        Setting("EFFCAP's memory", "N = (k − 1) M, at least 1, for k round trips", Origin.INFERRED),
        Setting("which memories", ", ".join(map(str, MEMORIES)) + " round trips", Origin.GUESSED),
        Setting("TCP alone and INSTCAP", "beside the figure's EFFCAP", Origin.GUESSED),
        Setting("runs", lengths(results), Origin.GUESSED),
        PROTOCOL,
        COMPARED,
    )
    return Outcome(
        rests, (_comparison(results, sojourn_ms),), partial(_draw, link), claims(results),
        settings(*own), (_table(link), _published(results, sojourn_ms)),
    )  # fmt: skip


def _comparison(results: Results, sojourn_ms: int) -> Comparison:
    cells = tuple(
        beside(
            (f"{delta}",), name, text, STANDARD_ERROR,
            over_delta.simulated(results, scheme(delta, name).timed_exactly, sojourn_ms),
        )
        for delta, texts in INDEPENDENT[sojourn_ms].items()
        for name, text in zip(CURVES, texts, strict=True)
    )  # fmt: skip
    title = (
        f"Efficiency, τ = {sojourn_ms} ms, round trips timed exactly, beside a reference simulation"
    )
    return Comparison(title, Origin.REFERENCE, ("Δ, ms",), cells, CRITERION)


def _table(link: Link) -> Table:
    rows: Rows = {
        (f"{delta}", f"{link.sojourn_ms / delta:.3g}"): {
            name: interval(values) for name, values in by_name.items()
        }
        for delta, by_name in link.efficiencies.items()
    }
    return measured(f"Efficiency, τ = {link.sojourn_ms} ms", ("Δ, ms", "psi"), rows)


def _published(results: Results, sojourn_ms: int) -> Table:
    rows: Rows = {
        (f"{delta}",): {
            name: over_delta.published(results, scheme(delta, name), sojourn_ms) for name in CURVES
        }
        for delta in ROUND_TRIPS_MS
    }
    return measured(
        "The same by the paper's protocol, four transfers of 10 MB over 75 kB/s", ("Δ, ms",), rows
    )


#: Without colour no more than six lines can be told apart.
NOT_DRAWN = _name(2)


def _draw(link: Link) -> Figure:
    curves = [
        curve(
            name if name in (NONE.label, INSTCAP.label) else f"EFFCAP, {name}", ROUND_TRIPS_MS,
            [interval(link.efficiencies[delta][name]) for delta in ROUND_TRIPS_MS],
        )
        for name in CURVES
        if name != NOT_DRAWN
    ]  # fmt: skip
    title = f"EFFCAP: how much to remember, by how far away; τ = {link.sojourn_ms} ms"
    return plot.curves(
        curves, "Δ: round trip (ms)", "efficiency (of the mean capacity)", title, y_from=Y_FROM
    )


def _entry(
    number: str,
    question: str,
    says: str,
    sojourn_ms: int,
    claims: Callable[[Results], tuple[Claim, ...]],
    rests: Basis,
) -> Experiment:
    return entry(number, question, says, 25.0, partial(_conclude, sojourn_ms, claims, rests), runs)


FIGURE_16 = _entry(
    "16",
    "How does the memory that EFFCAP needs depend on the round-trip time if capacity changes "
    "every second?",
    "Efficiency for round-trip times Δ from 50 to 500 ms, by EFFCAP's memory: it falls with Δ, "
    "and rises with the memory if Δ is large.",
    SLOW_MS,
    _claims_of_16,
    basis(),
)
FIGURE_17 = _entry(
    "17",
    "How does the memory that EFFCAP needs depend on the round-trip time if capacity changes "
    "every 100 ms?",
    "Efficiency for round-trip times Δ from 50 to 500 ms, by EFFCAP's memory, on a link that "
    "changes every 100 ms.",
    FAST_MS,
    _claims_of_17,
    basis(
        WORDS,
        f"with k = {LONGEST} both have about what the low rate alone would give; at Δ = 300 and "
        "400 ms k = 8 is enough",
    ),
)
