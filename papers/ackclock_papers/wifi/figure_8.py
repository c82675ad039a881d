"""Figure 8: the throughput of a download by the access point's buffer and the number of uploads."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise

from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import Band, Cell, Claim, Comparison, Origin, Outcome, Run, words
from ackclock_papers.replicates import Rows, curve, measured, of_replicates, quotient
from ackclock_papers.wifi.cell import (
    BUFFER,
    DOWNLOAD,
    cell,
    fixed,
    longest_smoothed_rtt_ms,
    mbit_per_s,
    rtt_ms,
    settings,
)
from ackclock_papers.wifi.paper import basis, entry

BUFFERS = (5, 10, 20, 30, 50, 70, 100, 150, 200, 270, 338, 400)
#: Those of the figure, and one of the text.
UPLOADS = (0, 2, 5, 10)
#: Throughput in Mbit/s and mean round-trip time in seconds, by uploads. From an unpublished
#: reference simulation of the same rules, one run each.
SIMULATED = {
    0: (
        ("6.40", "10.38", "10.70", "11.03", "11.56", "11.90", "12.28", "12.97", "13.37", "13.59",
         "13.67", "13.67"),
        (".201", ".201", ".201", ".202", ".205", ".209", ".215", ".233", ".250", ".276", ".299",
         ".331"),
    ),
    2: (
        ("0.62", "1.80", "3.52", "3.88", "4.38", "4.60", "4.83", "4.95", "5.00", "5.00", "5.00",
         "5.00"),
        (".203", ".203", ".205", ".209", ".22", ".23", ".26", ".32", ".38", ".46", ".56", ".61"),
    ),
    5: (
        ("0.48", "0.91", "1.52", "1.78", "2.19", "2.36", "2.45", "2.50", "2.48", "2.48", "2.48",
         "2.48"),
        (".206", ".208", ".213", ".22", ".24", ".27", ".33", ".44", ".57", ".74", ".89", "1.02"),
    ),
    10: (
        ("0.35", "0.59", "0.81", "0.99", "1.16", "1.33", "1.33", "1.35", "1.35", "1.35", "1.35",
         "1.35"),
        (".21", ".22", ".23", ".25", ".30", ".38", ".48", ".73", ".95", "1.24", "1.60", "1.76"),
    ),
}  # fmt: skip
#: Relative tolerances: throughput with at least `LARGE` packets, and with fewer; round-trip times.
LARGE, NEAR_LARGE, NEAR_SMALL, NEAR_RTT = 70, 0.05, 0.10, 0.15
#: Cells outside the tolerance: uploads and buffer.
_FEW = (
    "with so few packets the two TCPs differ, and not in timeouts, of which there are next to "
    "none; why is not known"
)
APART = {(0, 5): _FEW, (2, 5): _FEW, (2, 10): _FEW}


def runs() -> Mapping[str, Run]:
    """Returns runs of a download through each buffer, by uploads."""
    sweep = {f"hops.{BUFFER}.queue.limit": [f"{buffer} packets" for buffer in BUFFERS]}
    return {
        _name(uploads): Run(cell(_name(uploads), fixed(1), uploads, sweep=sweep))
        for uploads in UPLOADS
    }


def _name(uploads: int) -> str:
    return f"{uploads} uploads"


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares throughput and round-trip times, by buffer and uploads."""
    rates, times, longest = (
        {
            uploads: {
                buffer: measure(results[_name(uploads)], point)
                for point, buffer in enumerate(BUFFERS)
            }
            for uploads in UPLOADS
        }
        for measure in (mbit_per_s, rtt_ms, longest_smoothed_rtt_ms)
    )
    comparison = Comparison(
        "Beside a reference simulation", Origin.REFERENCE, ("uploads", "buffer, packets"),
        tuple(
            compared
            for uploads in UPLOADS
            for compared in _cells(uploads, rates[uploads], times[uploads])
        ),
        f"throughput within {100 * NEAR_LARGE:g} % from {LARGE} packets on, {100 * NEAR_SMALL:g} % "
        f"below; round trips within {100 * NEAR_RTT:g} %; and half of the last digit",
    )  # fmt: skip
    rows: Rows = {
        (str(uploads), str(buffer)): {
            "Mbit/s": interval(rates[uploads][buffer]),
            "mean RTT, ms": interval(times[uploads][buffer]),
            "mean smoothed RTT, ms": interval(
                of_replicates(results[_name(uploads)], "smoothed_rtt", DOWNLOAD, point)
            ),
            "largest smoothed RTT, ms": interval(longest[uploads][buffer]),
        }
        for uploads in UPLOADS
        for point, buffer in enumerate(BUFFERS)
    }
    table = measured("The download", ("uploads", "buffer, packets"), rows)
    draw = partial(_draw, {uploads: _shares(by_buffer) for uploads, by_buffer in rates.items()})
    return Outcome(
        basis(), (comparison,), draw, _claims(rates, longest), settings(results), (table,)
    )


def _cells(
    uploads: int, rates: Mapping[int, list[float]], times: Mapping[int, list[float]]
) -> list[Cell]:
    cells = []
    for buffer, rate, rtt in zip(BUFFERS, *SIMULATED[uploads], strict=True):
        row, share = (str(uploads), str(buffer)), NEAR_LARGE if buffer >= LARGE else NEAR_SMALL
        within = share * float(rate) + 0.005
        excepted = APART.get((uploads, buffer), "")
        cells.append(Cell.simulated(row, "Mbit/s", rate, interval(rates[buffer]), within, excepted))
        seconds = interval([time / 1000 for time in times[buffer]])
        cells.append(
            Cell.simulated(row, "mean RTT, s", rtt, seconds, NEAR_RTT * float(rtt) + 0.005)
        )
    return cells


def _claims(
    rates: Mapping[int, Mapping[int, list[float]]], longest: Mapping[int, Mapping[int, list[float]]]
) -> tuple[Claim, ...]:
    largest = BUFFERS[-1]

    def part(uploads: int, buffer: int) -> Interval:
        ratio = quotient(rates[uploads][buffer], rates[uploads][largest])
        return Interval(100 * ratio.mean, 100 * ratio.half_width, ratio.replicates)

    def rtt(uploads: int, buffer: int) -> Interval:
        return interval(longest[uploads][buffer])

    most = {uploads: interval(rates[uploads][largest]) for uploads in (0, 10)}
    thirty = [
        Claim.of(
            f"30 packets keep the round trip at 200 to 300 ms: with {uploads} uploads",
            rtt(uploads, 30),
            words.from_to("200", "300"),
            "ms",
        )
        for uploads in UPLOADS
    ]
    return (
        Claim.printed(
            "without uploads the download has at most 14 Mbit/s", most[0], "14", "Mbit/s",
        ),
        Claim.printed("with ten it has at most 1.25", most[10], "1.25", "Mbit/s", documented=False),
        Claim.of(
            "338 packets attain the most without uploads", part(0, 338),
            Band(least=100 * (1 - words.THE_SAME)), "%"
        ),
        Claim.of(
            "30 packets give just around 75 % then", part(0, 30), words.about("75", whole=100), "%",
            documented=False
        ),
        Claim.of(
            "338 packets make round trips of around 300 ms then", rtt(0, 338), words.about("300"),
            "ms",
        ),
        Claim.of(
            "with ten uploads they make round trips of around 2 s", rtt(10, 338),
            words.about("2000"), "ms",
        ),
        *thirty,
        Claim.of(
            "with ten uploads a bandwidth-delay product, 31 packets, gives only about 60 % of the "
            "most",
            part(10, 30), words.about("60", whole=100), "%", documented=False,
        ),
        Claim.of(
            "about 70 packets attain all of it", part(10, 70),
            Band(least=100 * (1 - words.THE_SAME)), "%"
        ),
        *(_grows(uploads, rates[uploads]) for uploads in UPLOADS),
        *(
            Claim.of(
                f"the download gets less as uploads grow: with {more} over that with {fewer}, 400 "
                "packets",
                quotient(rates[more][largest], rates[fewer][largest]), Band(most=1), "times",
                than=1.0,
            )
            for fewer, more in pairwise(UPLOADS)
        ),
    )  # fmt: skip


def _grows(uploads: int, rates: Mapping[int, list[float]]) -> Claim:
    """Claims that no step to a larger buffer lowers the throughput by more than chance."""
    steps = {larger: quotient(rates[larger], rates[buffer]) for buffer, larger in pairwise(BUFFERS)}
    falls = [f"{buffer}" for buffer, ratio in steps.items() if ratio.high < 1]
    least = min(steps.values(), key=lambda ratio: ratio.mean)
    return Claim(
        f"throughput always grows with the buffer, up to a most: with {uploads} uploads",
        f"the least step is to {least.mean:.3f} ± {least.half_width:.3f} times; it falls at "
        f"{', '.join(falls) or 'none'}",
        not falls,
        accepted="no step whose whole interval is below 1",
    )


def _shares(rates: Mapping[int, list[float]]) -> list[Interval]:
    """Returns throughput over that with the largest buffer, in percent."""
    largest = interval(rates[BUFFERS[-1]]).mean
    return [interval([100 * rate / largest for rate in rates[buffer]]) for buffer in BUFFERS]


def _draw(shares: Mapping[int, list[Interval]]) -> Figure:
    curves = [curve(_name(uploads), BUFFERS, values) for uploads, values in shares.items()]
    title = "A download in an 802.11g cell, 200 ms of wire"
    label = "throughput over that with 400 packets (%)"
    return plot.curves(curves, "buffer of the access point (packets)", label, title, log_x=True)


EXPERIMENT = entry(
    "8",
    "How does the buffer that an access point needs depend on the number of uploads?",
    "Without uploads full throughput needs a buffer of 338 packets, a bandwidth-delay product; "
    "with ten uploads 70 packets are enough, and 338 make round-trip times of a second and a half "
    "and more.",
    25.0,
    conclude,
    runs,
)  # fmt: skip
