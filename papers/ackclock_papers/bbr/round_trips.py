"""Two BBR flows with different round-trip times: which of them gets the link.

Many studies report that the flow with the longer round trip wins. The claims here are those of the
abstract of a paper on the problem; its text, with the settings, was not at hand. Rates, round-trip
times and buffers are our choice.
"""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval
from ackclock.models import bbr_bounds
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    Table,
)
from ackclock_papers.bbr.path import (
    goodputs,
    product_packets,
    scenario,
    share,
    tcp,
)
from ackclock_papers.replicates import Rows, curve, measured, quotient
from ackclock_papers.scenarios import packets, replicates_run, seconds_run

SOURCE = (
    "“Improvement of RTT fairness problem in BBR congestion control algorithm by gamma "
    "correction”, Sensors 21(12), 4128, 2021"
)

MBIT_PER_S, SHORT_S = 20.0, 0.02
#: Round-trip times of the other flow in s; the first is a small difference.
LONG_S = (0.025, 0.04, 0.08, 0.16)
#: Buffers in bandwidth-delay products of the longer round trip.
BUFFERS = (1, 4, 16)
DURATION_S, WARMUP_S, REPLICATES = 120.0, 30.0, 5
SHORT, LONG = "short", "long"

#: Our reading of the words, fixed before the runs: "more" is a ratio above one; "unfair" at a small
#: difference is a ratio of 1.1; "severely squeezed" is half of the fair share, "starved" a tenth.
MORE, UNFAIR, SQUEEZED, STARVED = Band(1.0), Band(1.1), Band(most=0.25), Band(most=0.05)


def _name(products: int) -> str:
    return f"{products} BDP of buffer"


def runs() -> Mapping[str, Run]:
    """Returns one run for each buffer, over round-trip times of the longer flow."""
    sweep = "flows.long.access_delay,hops.bottleneck.queue.limit"
    return {
        _name(products): Run(
            scenario(
                _name(products), MBIT_PER_S, SHORT_S, [tcp(SHORT, "bbr1"), tcp(LONG, "bbr1")],
                duration_s=DURATION_S, warmup_s=WARMUP_S, replicates=REPLICATES,
                sweep={
                    sweep: [
                        [f"{(long_s - SHORT_S) * 1000:g} ms",
                         packets(round(products * product_packets(MBIT_PER_S, long_s)))]
                        for long_s in LONG_S
                    ]
                },
            )
        )
        for products in BUFFERS
    }  # fmt: skip


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares the goodput of the two flows."""
    ratios = {
        products: [
            quotient(
                goodputs(results[_name(products)], LONG, point),
                goodputs(results[_name(products)], SHORT, point),
            )
            for point in range(len(LONG_S))
        ]
        for products in BUFFERS
    }
    shares = {
        products: [
            share(results[_name(products)], SHORT, LONG, point) for point in range(len(LONG_S))
        ]
        for products in BUFFERS
    }
    basis = Basis(
        "rates, round-trip times and buffers are guessed, since only the abstract was at hand"
    )
    claims = _claims(ratios, shares)
    tables = (_table(ratios, shares), _bounds())
    return Outcome(basis, (), partial(_draw, shares), claims, _settings(results), tables)


def _claims(
    ratios: dict[int, list[Interval]], shares: dict[int, list[Interval]]
) -> tuple[Claim, ...]:
    least = min(
        (fraction for row in shares.values() for fraction in row),
        key=lambda fraction: fraction.mean,
    )
    longest = max((row[-1] for row in shares.values()), key=lambda fraction: fraction.mean)
    return (
        *(
            Claim.of(
                "The flow with the longer round trip gets more: the least ratio to the shorter, "
                f"with {_name(products)}",
                min(row, key=lambda ratio: ratio.mean), MORE, "times", than=1.0,
            )
            for products, row in ratios.items()
        ),
        Claim.of(
            "Flows with shorter round trips are severely squeezed: their largest share beside "
            f"{LONG_S[-1] * 1000:g} ms",
            longest, SQUEEZED,
        ),
        Claim.of("or even starved: their least share", least, STARVED),
        *(
            Claim.of(
                f"Small differences are unfair, too: the ratio beside {LONG_S[0] * 1000:g} ms, "
                f"with {_name(products)}",
                row[0], UNFAIR, "times",
            )
            for products, row in ratios.items()
        ),
    )  # fmt: skip


def _table(ratios: dict[int, list[Interval]], shares: dict[int, list[Interval]]) -> Table:
    rows: Rows = {
        (f"{products}", f"{long_s * 1000:g}"): {
            "goodput of the longer, times the shorter's": ratios[products][point],
            "share of the shorter": shares[products][point],
        }
        for products in BUFFERS
        for point, long_s in enumerate(LONG_S)
    }
    return measured(
        f"Beside a flow of {SHORT_S * 1000:g} ms", ("buffer, BDP", "round trip, ms"), rows
    )


def _bounds() -> Table:
    """Returns the queue that each flow alone would let stand with another like itself."""
    rate = product_packets(MBIT_PER_S, 1.0)
    rows = []
    for round_trip_s in (SHORT_S, *LONG_S):
        answer = bbr_bounds.MODEL.answer(rate=rate, rtt=round_trip_s, buffer=float("inf"), flows=2)
        queue_ms = 1000 * float(answer["steady_queue"]) / rate
        rows.append((f"{round_trip_s * 1000:g}", f"{queue_ms:.3g}"))
    return Table(
        "Model: delay by the queue of two BBR flows that both have this round-trip time, at which "
        "their caps stop them (the shorter flow's cap is reached first)",
        ("round trip, ms", "queueing delay, ms"),
        tuple(rows),
    )


def _settings(results: Mapping[str, Result]) -> tuple[Setting, ...]:
    return (
        Setting("flows", "two of BBR version 1 (bbr1)", Origin.INFERRED),
        Setting("link", f"{MBIT_PER_S:g} Mbit/s", Origin.GUESSED),
        Setting("round trips", f"{SHORT_S * 1000:g} ms beside 25 to 160 ms", Origin.GUESSED),
        Setting("buffers", "1, 4 and 16 BDP of the longer round trip", Origin.GUESSED),
        Setting("run", f"{seconds_run(results, 'duration')} s", Origin.GUESSED),
        Setting("left out at the start", f"{seconds_run(results, 'warmup')} s", Origin.GUESSED),
        Setting("replicates", replicates_run(results), Origin.GUESSED),
    )


def _draw(shares: dict[int, list[Interval]]) -> Figure:
    times = [long_s * 1000 for long_s in LONG_S]
    drawn = [curve(_name(products), times, shares[products]) for products in BUFFERS]
    drawn.append(plot.Curve("fair", times, [0.5] * len(times), "reference"))
    return plot.curves(
        drawn,
        "round trip of the other flow (ms)",
        f"share of the flow with {SHORT_S * 1000:g} ms (of the link)",
        "Two flows of BBRv1 with different round-trip times, 20 Mbit/s",
    )


EXPERIMENT = Experiment(
    name="bbr-round-trips",
    group="bbr",
    source=SOURCE,
    shows="abstract: unfairness between round-trip times",
    question="Which of two BBR flows with different round-trip times gets the link?",
    says="The flow with the longer round trip gets more; the shorter one is squeezed or starved.",
    cost_s=60.0,
    conclude=conclude,
    runs=runs,
)
