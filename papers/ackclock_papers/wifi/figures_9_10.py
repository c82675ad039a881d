"""Figures 9 and 10: throughput and round-trip times of a download with an eBDP buffer.

Its size follows the service time.
"""

from collections.abc import Callable, Mapping
from functools import partial

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import interval
from ackclock.reproduction import Band, Cell, Claim, Comparison, Origin, Outcome, Run, words
from ackclock_papers.replicates import Rows, curve, measured, quotient
from ackclock_papers.scenarios import Tree
from ackclock_papers.wifi.cell import (
    BUFFER,
    PACKET_BYTES,
    cell,
    fixed,
    last_limit,
    longest_smoothed_rtt_ms,
    mbit_per_s,
    rtt_ms,
    settings,
)
from ackclock_papers.wifi.paper import basis, entry

UPLOADS = (0, 1, 2, 3, 5, 7, 10)
#: a: packets added to those sent within the target delay.
ADDED = (40, 5, 0)
LARGEST = 400
#: The buffers, by label.
EBDP = {f"eBDP, a = {a}": a for a in ADDED}
FIXED = f"{LARGEST} packets"
LABELS = (*EBDP, FIXED)
FIRST = next(iter(EBDP))
#: Throughput in Mbit/s by a and uploads, from an unpublished reference simulation of the same
#: rules.
RATES = {
    40: {0: "13.67", 2: "4.98", 10: "1.317"},
    5: {0: "13.67", 2: "4.93", 10: "1.054"},
    0: {0: "13.67", 2: "4.95", 10: "1.027"},
}
#: With a = 40: mean round-trip time in seconds, and limit at the end.
TIMES = {0: ".319", 2: ".328", 10: ".421"}
LIMITS = {0: "382", 2: "165", 10: "72"}
NEAR_RATE, NEAR_TIME = 0.05, 0.15
#: Tolerance of the limit in packets, by uploads. With two uploads none was given; it is as with
#: ten.
NEAR_LIMIT = {0: 5, 2: 8, 10: 8}

Replicates = Mapping[tuple[str, int], list[float]]


def ebdp(a: int) -> Tree:
    """Returns the printed parameters, with one guessed value: the target delay of 200 ms."""
    return {
        "kind": "ebdp", "target_delay": "200 ms", "over_provision": f"{a} packets", "weight": 0.001,
        "maximum": f"{LARGEST} packets",
    }  # fmt: skip


def runs() -> Mapping[str, Run]:
    """Returns runs of a download through each buffer, by uploads."""
    queues = {label: ebdp(a) for label, a in EBDP.items()} | {FIXED: fixed(LARGEST)}
    sweep = {f"hops.{BUFFER}.queue": list(queues.values())}
    return {
        _name(uploads): Run(cell(f"{_name(uploads)}, eBDP", fixed(1), uploads, sweep=sweep))
        for uploads in UPLOADS
    }


def _name(uploads: int) -> str:
    return f"{uploads} uploads"


def conclude(
    results: Mapping[str, Result], drawn: str, says: Callable[..., tuple[Claim, ...]]
) -> Outcome:
    """Compares throughput, round-trip times and limits, by uploads."""
    measures = {
        "rate": mbit_per_s,
        "rtt": rtt_ms,
        "longest": longest_smoothed_rtt_ms,
        "limit": last_limit,
    }
    by_metric = {name: _replicates(results, measure) for name, measure in measures.items()}
    comparison = Comparison(
        "Beside a reference simulation", Origin.REFERENCE, ("buffer", "uploads"), _cells(by_metric),
        f"throughput within {100 * NEAR_RATE:g} %, round trips within {100 * NEAR_TIME:g} %, "
        "limits within 5 packets without uploads and 8 with them",
    )  # fmt: skip
    rows: Rows = {
        (label, str(uploads)): {
            "Mbit/s": interval(by_metric["rate"][label, uploads]),
            "mean RTT, ms": interval(by_metric["rtt"][label, uploads]),
            "largest smoothed RTT, ms": interval(by_metric["longest"][label, uploads]),
            "limit at the end, packets": interval(by_metric["limit"][label, uploads]),
        }
        for label in LABELS
        for uploads in UPLOADS
    }
    table = measured("The download", ("buffer", "uploads"), rows)
    went_in = settings(results, target_delay="200 ms", uploads=", ".join(map(str, UPLOADS)))
    draw = partial(_draw, by_metric[drawn], *_AXIS[drawn])
    return Outcome(basis(), (comparison,), draw, says(by_metric), went_in, (table,))


def _replicates(
    results: Mapping[str, Result], measure: Callable[[Result, int], list[float]]
) -> Replicates:
    return {
        (label, uploads): measure(results[_name(uploads)], point)
        for uploads in UPLOADS
        for point, label in enumerate(LABELS)
    }


def _cells(by_metric: Mapping[str, Replicates]) -> tuple[Cell, ...]:
    def cells(
        label: str,
        quantity: str,
        texts: Mapping[int, str],
        values: Replicates,
        within: Callable[[int, float], float],
    ) -> list[Cell]:
        return [
            Cell.simulated(
                (label, str(n)), quantity, text, interval(values[label, n]), within(n, float(text))
            )
            for n, text in texts.items()
        ]

    made = []
    for label, a in EBDP.items():
        made += cells(
            label, "Mbit/s", RATES[a], by_metric["rate"], lambda _, rate: NEAR_RATE * rate
        )
    seconds = {key: [time / 1000 for time in values] for key, values in by_metric["rtt"].items()}
    made += cells(FIRST, "mean RTT, s", TIMES, seconds, lambda _, time: NEAR_TIME * time)
    made += cells(FIRST, "limit, packets", LIMITS, by_metric["limit"], lambda n, _: NEAR_LIMIT[n])
    return tuple(made)


def _rates(by_metric: Mapping[str, Replicates]) -> tuple[Claim, ...]:
    last = UPLOADS[-1]
    gained = quotient(
        by_metric["rate"][FIRST, last], by_metric["rate"][f"eBDP, a = {ADDED[-1]}", last]
    )
    return (
        *(
            Claim.of(
                f"The adaptive buffer keeps up high throughput: over that with {FIXED}, {uploads} "
                "uploads",
                quotient(by_metric["rate"][FIRST, uploads], by_metric["rate"][FIXED, uploads]),
                Band(1 - words.THE_SAME), "times",
            )
            for uploads in UPLOADS
        ),
        Claim.of(
            f"Over-provisioning for stochastic service is needed: a = 40 over a = 0, {last} "
            "uploads",
            gained, Band(1), "times", than=1.0,
        ),
    )  # fmt: skip


def _times(by_metric: Mapping[str, Replicates]) -> tuple[Claim, ...]:
    first, last = UPLOADS[0], UPLOADS[-1]
    grown = quotient(by_metric["longest"][FIRST, last], by_metric["longest"][FIRST, first])
    longer = quotient(by_metric["longest"][FIXED, last], by_metric["longest"][FIRST, last])
    return (
        *(
            Claim.of(
                f"The round trip (the largest smoothed) is steady at around 400 ms: {uploads} "
                "uploads",
                interval(by_metric["longest"][FIRST, uploads]), words.about("400"), "ms",
            )
            for uploads in UPLOADS
        ),
        Claim.of(
            f"It climbs somewhat with the uploads: {last} over none", grown,
            Band(1, 1 + words.ABOUT), "times", than=1.0
        ),
        Claim.of(
            f"{FIXED} take longer: with {last} uploads, over eBDP's", longer, Band(1), "times",
            than=1.0, origin=Origin.INFERRED,
        ),
    )  # fmt: skip


_AXIS = {
    "rate": ("throughput (Mbit/s)", "Throughput"),
    "longest": ("largest smoothed round-trip time (ms)", "Round trips"),
}


def _draw(values: Replicates, label: str, quantity: str) -> Figure:
    curves = [
        curve(buffer, UPLOADS, [interval(values[buffer, uploads]) for uploads in UPLOADS])
        for buffer in LABELS
    ]
    title = f"{quantity} of a download in an 802.11g cell, packets of {PACKET_BYTES} bytes"
    return plot.curves(curves, "uploads (stations)", label, title)


FIGURE_9 = entry(
    "9",
    "Does a buffer that adapts to the service time keep the throughput?",
    "If the buffer holds what is sent in 200 ms and 40 packets more, a download gets as much as "
    "with a large buffer, beside any number of uploads.",
    40.0,
    partial(conclude, drawn="rate", says=_rates),
    runs,
)
FIGURE_10 = entry(
    "10",
    "Does a buffer that adapts to the service time keep round-trip times short?",
    "The largest smoothed round-trip time by the number of uploads; with a large buffer it is "
    "seconds.",
    40.0,
    partial(conclude, drawn="longest", says=_times),
    runs,
)
