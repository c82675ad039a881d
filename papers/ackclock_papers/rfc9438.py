"""Tables 1, 2 and 3 of RFC 9438: average windows of Reno, HSTCP and CUBIC, and the loss they need.

The tables are computed, not measured: they evaluate response functions, each at least Reno's.
Letters: p loss probability, W average window (segments), RTT in seconds, C CUBIC's constant
(segments/s³).
"""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from matplotlib.figure import Figure
from scipy.optimize import brentq

from ackclock import plot
from ackclock.models import cubic_response, hstcp_response, reno_response
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Setting,
    analytic,
)

SOURCE = (
    'L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, "CUBIC for fast and long-distance networks", RFC '
    "9438, 2023"
)

# Printed.
CONSTANTS = (0.04, 0.4, 4.0)
AVERAGE_WINDOWS = {
    0.1: """
1.0e-02     12      12      12      12      12
1.0e-03     38      38      38      38      59
1.0e-04    120     263     120     187     333
1.0e-05    379    1795     593    1054    1874
1.0e-06   1200   12280    3332    5926   10538
1.0e-07   3795   83981   18740   33325   59261
1.0e-08  12000  574356  105383  187400  333250
""",
    0.01: """
1.0e-02     12      12      12      12      12
1.0e-03     38      38      38      38      38
1.0e-04    120     263     120     120     120
1.0e-05    379    1795     379     379     379
1.0e-06   1200   12280    1200    1200    1874
1.0e-07   3795   83981    3795    5926   10538
1.0e-08  12000  574356   18740   33325   59261
""",
}
# Throughput (Mbit/s), average window, and the loss probability of Reno, HSTCP and CUBIC.
REQUIRED_LOSS = """
1         8.3  2.0e-2   2.0e-2  2.0e-2
10       83.3  2.0e-4   3.9e-4  2.9e-4
100     833.3  2.0e-6   2.5e-5  1.4e-5
1000   8333.3  2.0e-8   1.5e-6  6.3e-7
10000 83333.3  2.0e-10  1.0e-7  2.9e-8
"""
PACKET_BYTES = 1500
RTT_S = 0.1
WINDOW = "average window (segments)"


class Column(NamedTuple):
    """One column of the tables of windows.

    Attributes:
        label: Heading in the table.
        window: Average window in segments, from p and RTT.
    """

    label: str
    window: Callable[[float, float], float]


def _reno(p: float, _RTT: float) -> float:
    return float(reno_response.window(p))


def _hstcp(p: float, RTT: float) -> float:
    return max(float(hstcp_response.rounded_window(p)), _reno(p, RTT))


def _cubic(p: float, RTT: float, C: float = 0.4) -> float:
    return max(float(cubic_response.cubic_window(p, RTT, C)), _reno(p, RTT))


COLUMNS = (
    Column("Reno", _reno),
    Column("HSTCP", _hstcp),
    *(Column(f"CUBIC, C = {C:g}", partial(_cubic, C=C)) for C in CONSTANTS),
)


def _lines(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def windows(RTT: float, title: str) -> Outcome:
    """Computes Tables 1 and 2: average windows at one round-trip time."""
    cells = tuple(
        Cell.of((line[0],), column.label, text, column.window(float(line[0]), RTT))
        for line in _lines(AVERAGE_WINDOWS[RTT])
        for column, text in zip(COLUMNS, line[1:], strict=True)
    )
    comparison = Comparison(
        "Average window, segments", Origin.PRINTED, ("p",), cells, "equal when rounded to segments"
    )
    averages = {cell.quantity: cell.ours for cell in cells if cell.row == ("1.0e-06",)}
    claims = [] if RTT != 0.01 else _claims_of_table_2(averages)
    settings = (
        Setting("round-trip time", f"{RTT:g} s", Origin.PRINTED),
        Setting("Reno", "1.2 / sqrt(p)", Origin.PRINTED),
        Setting("HSTCP", "0.12 / p^0.835, at least Reno's", Origin.PRINTED),
        Setting("CUBIC", "(3.7 C/1.2)^(1/4) (RTT/p)^(3/4), at least Reno's", Origin.PRINTED),
    )
    draw = partial(_draw_windows, cells, title)
    return Outcome(Basis(), (comparison,), draw, tuple(claims), settings)


def _claims_of_table_2(averages: dict[str, float]) -> list[Claim]:
    gbit_per_s = averages["Reno"] * PACKET_BYTES * 8 / 0.01 / 1e9
    same = all(averages[f"CUBIC, C = {C:g}"] == averages["Reno"] for C in (0.04, 0.4))
    ratio = averages["HSTCP"] / averages["Reno"]
    return [
        Claim(
            "At p = 1e-6 Reno sends 1.44 Gbit/s in packets of 1500 bytes",
            f"{gbit_per_s:.3f} Gbit/s",
            abs(gbit_per_s - 1.44) < 0.005,
        ),
        Claim(
            "There CUBIC with C = 0.04 or 0.4 is as fast as Reno",
            "the same window" if same else "another",
            same,
        ),
        Claim("There HSTCP is about ten times as fast", f"{ratio:.1f} times", 9 < ratio < 11),
    ]


def _draw_windows(cells: tuple[Cell, ...], title: str) -> Figure:
    curves = []
    for position, column in enumerate(COLUMNS):
        own = [cell for cell in cells if cell.quantity == column.label]
        p = [float(cell.row[0]) for cell in own]
        curves.append(plot.Curve(column.label, p, [cell.ours for cell in own]))
        curves.append(plot.Curve("printed", p, [cell.theirs for cell in own], "points", position))
    return plot.curves(curves, "loss probability p", WINDOW, title, log_x=True, log_y=True)


def required_loss(window: Callable[[float, float], float], W: float) -> float:
    """Returns the loss probability at which the average window is W segments."""
    log_loss = brentq(
        lambda log_p: math.log(window(math.exp(log_p), RTT_S) / W), math.log(1e-12), 0.0, xtol=1e-13
    )
    return math.exp(log_loss)


def required_losses() -> Outcome:
    """Computes Table 3."""
    columns = (COLUMNS[0], COLUMNS[1], Column("CUBIC", _cubic))
    cells, as_written = [], []
    for mbit_per_s, printed_window, *printed in _lines(REQUIRED_LOSS):
        W = float(mbit_per_s) * 1e6 * RTT_S / (PACKET_BYTES * 8)
        row = (mbit_per_s,)
        cells.append(Cell.of(row, "W, segments", printed_window, W))
        for column, text in zip(columns, printed, strict=True):
            p = required_loss(column.window, W)
            unit = 10.0 ** int(Decimal(text).as_tuple().exponent)
            cells.append(Cell(row, f"p of {column.label}", text, p, unit))
            is_cut = column.label != "CUBIC" or text == printed[0]
            as_written.append(
                float(text) <= p < float(text) + unit
                if is_cut
                else abs(p - float(text)) <= unit / 2
            )
    reading = (
        "two digits, what follows cut off; CUBIC's rounded, but for the first, which is Reno's"
    )
    claims = (
        Claim(
            f"The loss probabilities are written with {reading}",
            f"so are {sum(as_written)} of {len(as_written)}",
            all(as_written),
            origin=Origin.INFERRED,
        ),
    )
    settings = (
        Setting("packets", f"{PACKET_BYTES} bytes", Origin.PRINTED),
        Setting("round-trip time", f"{RTT_S:g} s", Origin.PRINTED),
        Setting("C", "0.4 segments/s³", Origin.PRINTED),
    )
    criterion = "W within half of the last digit, p within one of it"
    comparison = Comparison(
        "Required loss probability", Origin.PRINTED, ("Mbit/s",), tuple(cells), criterion
    )
    basis = Basis(f"loss probabilities have {reading}")
    return Outcome(basis, (comparison,), partial(_draw_losses, cells, columns), claims, settings)


def _draw_losses(cells: list[Cell], columns: tuple[Column, ...]) -> Figure:
    curves = []
    for position, column in enumerate(columns):
        own = [cell for cell in cells if cell.quantity == f"p of {column.label}"]
        rates = [float(cell.row[0]) for cell in own]
        curves.append(plot.Curve(column.label, rates, [cell.ours for cell in own]))
        curves.append(
            plot.Curve("printed", rates, [cell.theirs for cell in own], "points", position)
        )
    return plot.curves(
        curves,
        "throughput (Mbit/s)",
        "loss probability p",
        "RFC 9438, table 3: loss that a throughput allows, RTT 0.1 s",
        log_x=True,
        log_y=True,
    )


def _entry(number: int, question: str, says: str, compute: Callable[[], Outcome]) -> Experiment:
    return Experiment(
        f"rfc9438-table-{number}",
        "rfc9438",
        SOURCE,
        f"Table {number}",
        question,
        says,
        0.5,
        analytic(compute),
    )


EXPERIMENTS = (
    _entry(
        1,
        "How large are the average windows of Reno, HSTCP and CUBIC at a round-trip time of 0.1 s?",
        "Average windows for p from 1e-2 to 1e-8 and three values of C.",
        partial(windows, 0.1, "RFC 9438, table 1: average windows, RTT 0.1 s"),
    ),
    _entry(
        2,
        "How large are the average windows of Reno, HSTCP and CUBIC at a round-trip time of 0.01 "
        "s?",
        "Average windows for p from 1e-2 to 1e-8 and three values of C; at this round-trip time "
        "CUBIC is as friendly to Reno as Reno itself.",
        partial(windows, 0.01, "RFC 9438, table 2: average windows, RTT 0.01 s"),
    ),
    _entry(
        3,
        "Which loss probability do Reno, HSTCP and CUBIC need for a given throughput?",
        "Loss probabilities for 1 Mbit/s to 10 Gbit/s; for 10 Gbit/s Reno needs 2.0e-10, CUBIC "
        "2.9e-8.",
        required_losses,
    ),
)
