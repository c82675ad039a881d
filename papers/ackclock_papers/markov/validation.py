"""Tables 7.1 and 8.1 to 8.8: emulated connections beside three predictions.

The measurements cannot be repeated. It can be checked whether the tables agree with themselves and
with the models. The printed errors follow from the printed rates. FF and PFTK of a row determine
two unknown inputs, the loss probability and the mean round-trip time: PFTK (triple duplicates only,
an ACK for each segment) over FF depends on p alone. So p is recovered first, then E[RTT] from FF.

Metrics: ATp is unique data over elapsed time; ATpXmit includes retransmissions, over the transfer
time; NoTOTput is mean window over mean round-trip time. All are in segments per second, as are ET,
FF and PFTK.
"""

import csv
import math
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any, NamedTuple

from scipy.optimize import brentq

from ackclock import plot, units
from ackclock.models import aimd_chain, floyd_fall, pftk
from ackclock.reproduction import (
    Basis,
    Cell,
    Claim,
    Comparison,
    Experiment,
    Origin,
    Outcome,
    Setting,
    Table,
    words,
)
from ackclock_papers.markov.paper import entry

METRICS = ("ATp", "ATpXmit", "NoTOTput")
PREDICTIONS = ("ET", "FF", "PFTK")

# Rates are printed with two decimals, without trailing zeros.
HALF_DIGIT = 0.005

# Row 1.5 prints 6.66, 4.94 and 6.23 %. These are nearly row 1.6's errors, and perhaps copied from
# there.
UNEXPLAINED = {
    "1.5": "the row's own rates give another error; those printed are nearly the next row's"
}

# Rows of sets 5 to 9 whose ET is met to the last digit.
MET = ("9.3",)
WHY_APART = (
    "ET is from samples of the round-trip time, and of these the mean alone is known: ET is nearly "
    "always above the mean window over that mean, as the mean of 1/RTT is above 1 over its mean"
)

# Printed for sets 5 to 9, in segments.
RECEIVE_WINDOW = 64

# Guessed.
FIRST_TIMEOUTS_S = (0.7, 1.0, 1.5)


class Set(NamedTuple):
    """One set of connections; all fields but `worked` are printed.

    Attributes:
        number: Number of the set.
        table: Table of the paper.
        link_rate: Rate of the emulated link.
        mtu_bytes: Length of a full packet.
        rate: L in segments/s, counting payload.
        text: Error probability by the text; None where its list is in the reverse order.
        caption: Error probability by the caption.
        worked: Error probability that was used, inferred from the rows.
    """

    number: int
    table: str
    link_rate: str
    mtu_bytes: int
    rate: float
    text: float | None
    caption: float
    worked: float

    @property
    def headers_rate(self) -> float:
        """Rate of the link in segments/s, headers included."""
        return units.bit_per_s(self.link_rate) / 8 / self.mtu_bytes


_SLOW = ("28.8 kbit/s", 296, 14.118)
_FAST = ("0.5 Mbit/s", 576, 119.27)
SETS = (
    Set(1, "7.1", *_SLOW, 0.005, 0.005, 0.005),
    Set(2, "8.1", *_SLOW, 0.025, 0.005, 0.025),
    Set(3, "8.2", *_SLOW, 0.005, 0.0025, 0.005),
    Set(4, "8.3", *_SLOW, 0.0025, 0.0005, 0.0025),
    Set(5, "8.4", *_FAST, None, 0.00025, 0.00025),
    Set(6, "8.5", *_FAST, None, 0.0005, 0.0005),
    Set(7, "8.6", *_FAST, None, 0.0025, 0.0025),
    Set(8, "8.7", *_FAST, None, 0.005, 0.005),
    Set(9, "8.8", *_FAST, None, 0.025, 0.025),
)

# All error probabilities that the paper prints for a set.
PROBABILITIES = sorted(
    {data_set.caption for data_set in SETS}
    | {data_set.text for data_set in SETS if data_set.text is not None}
)

Row = dict[str, str]


def rows(number: int | None = None) -> list[Row]:
    """Returns the rows of one set, or of all, as printed."""
    text = resources.files(__package__).joinpath("validation.csv").read_text(encoding="utf-8")
    every = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return [row for row in every if number is None or row["id"].startswith(f"{number}.")]


def error(row: Row, metric: str) -> float:
    """Returns the relative error of ET against a metric, in percent."""
    measured = float(row[metric])
    return 100 * abs(float(row["ET"]) - measured) / measured


def error_bound(row: Row, metric: str) -> float:
    """Returns the effect that rounding of the rates can have on this error, in percent."""
    measured = float(row[metric])
    return 100 * HALF_DIGIT * (1 + float(row["ET"]) / measured) / measured


def loss_behind(ratio: float) -> float:
    """Returns the p at which PFTK without timeouts (b = 1), over FF, is `ratio`."""

    def above(log_p: float) -> float:
        p = math.exp(log_p)
        return float(pftk.triple_duplicate_only(p, 1.0, b=1) / floyd_fall.bound(p, 1.0)) - ratio

    return math.exp(brentq(above, math.log(1e-9), math.log(0.2), xtol=1e-12))


def recovered(row: Row) -> dict[str, float]:
    """Returns the inputs behind a row: p with its interval, mean RTT (s), mean window (segments).

    They are recovered from FF and PFTK.
    """
    FF, PFTK = float(row["FF"]), float(row["PFTK"])
    p = loss_behind(PFTK / FF)
    mean_rtt = math.sqrt(1.5) / (FF * math.sqrt(p))
    return {
        "p": p,
        "p_low": loss_behind((PFTK + HALF_DIGIT) / (FF - HALF_DIGIT)),
        "p_high": loss_behind((PFTK - HALF_DIGIT) / (FF + HALF_DIGIT)),
        "mean_rtt": mean_rtt,
        "window": float(row["NoTOTput"]) * mean_rtt,
    }


_QUANTITIES = {
    "p": "p",
    "p_low": "p at least",
    "p_high": "p at most",
    "mean_rtt": "mean RTT, s",
    "window": "mean window, segments",
}


def nearest_probability(number: int) -> float:
    """Returns the printed error probability nearest, by ratio, to that behind a set's rows."""
    logs = [math.log(recovered(row)["p"]) for row in rows(number)]
    middle = sum(logs) / len(logs)
    return min(PROBABILITIES, key=lambda p: abs(math.log(p) - middle))


def compute(data_set: Set) -> Outcome:
    """Checks one table: its errors, the inputs behind it, claims on the predictions."""
    printed = rows(data_set.number)
    behind = {row["id"]: recovered(row) for row in printed}
    comparisons = [_errors(printed), _recovered(printed, behind)]
    tables: tuple[Table, ...] = (_measured(printed),)
    if data_set.number >= 5:
        comparisons.append(_by_round(printed, behind))
        tables += (_by_segment(printed, behind),)
    used = nearest_probability(data_set.number)
    claims = [
        *_claims_about_probability(data_set, used, behind),
        *_claims_about_rates(data_set, printed),
    ]
    if data_set.number in (5, 6):
        claims.append(_slower_link(behind, printed))
    if data_set.number >= 7:
        claims.append(_with_timeouts(printed, behind))
    if data_set.number == 9:
        claims += _claims_about_all()
    settings = [
        Setting(
            "link", f"{data_set.link_rate}, packets of {data_set.mtu_bytes} bytes", Origin.PRINTED
        ),
        Setting("L", f"{data_set.rate:g} segments/s (payload only)", Origin.PRINTED),
        Setting("L with headers", f"{data_set.headers_rate:.2f} segments/s", Origin.INFERRED),
        Setting(
            "error probability",
            f"{data_set.worked:g}",
            Origin.INFERRED if data_set.worked != data_set.caption else Origin.PRINTED,
        ),
    ]
    if data_set.number >= 5:
        settings.append(Setting("receive window", f"{RECEIVE_WINDOW} segments", Origin.PRINTED))
    if data_set.number >= 7:
        compared = ", ".join(f"{T0:g}" for T0 in FIRST_TIMEOUTS_S)
        settings.append(Setting("first timeouts compared", f"{compared} s", Origin.GUESSED))
    draw = partial(_draw, data_set, printed)
    return Outcome(
        _basis(data_set), tuple(comparisons), draw, tuple(claims), tuple(settings), tables
    )


def _basis(data_set: Set) -> Basis:
    if data_set.worked != data_set.caption:
        return Basis(
            f"the error probability is the text's {data_set.worked:g}: FF and PFTK were computed "
            f"with about that, not with the caption's {data_set.caption:g}"
        )
    if data_set.number == 1:
        return Basis()
    reading = "the caption's error probability, since the text lists them in the reverse order"
    if data_set.number in (5, 6):
        reading += (
            "; a bottleneck near 53 segments/s, half the printed link rate, explains what was "
            "measured"
        )
    if data_set.number >= 5:
        reading += "; ET with windows weighted by round"
    return Basis(reading)


def _errors(printed: list[Row]) -> Comparison:
    cells = []
    for row in printed:
        for metric in METRICS:
            cell = Cell.of(
                (row["id"],),
                f"error against {metric}, %",
                row[f"error_{metric}"],
                error(row, metric),
                excepted=UNEXPLAINED.get(row["id"], ""),
            )
            cells.append(replace(cell, within=cell.within + error_bound(row, metric)))
    return Comparison(
        "Errors of ET, from the printed rates",
        Origin.PRINTED,
        ("connection",),
        tuple(cells),
        "within what rounding of the rates and of the error can do",
    )


def _recovered(printed: list[Row], behind: dict[str, dict[str, float]]) -> Comparison:
    cells = tuple(
        Cell.of((row["id"],), label, row[name], behind[row["id"]][name])
        for row in printed
        for name, label in _QUANTITIES.items()
    )
    return Comparison(
        "What the authors put in, from FF and PFTK",
        Origin.REFERENCE,
        ("connection",),
        cells,
        "within the last digit",
    )


def _as_mean_window(row: Row, behind: dict[str, dict[str, float]], mode: str) -> float:
    """Returns ET as mean window over mean round-trip time, for one weighting of the windows."""
    inputs = behind[row["id"]]
    chain = aimd_chain.solve(aimd_chain.Bernoulli(inputs["p"]), RECEIVE_WINDOW)
    return float(chain.mean(mode) / inputs["mean_rtt"])


def _by_round(printed: list[Row], behind: dict[str, dict[str, float]]) -> Comparison:
    """Compares ET with the smaller law of the window: by the authors, that of unstarred rows."""
    cells = tuple(
        Cell.of(
            (row["id"],),
            "ET, segments/s",
            row["ET"],
            _as_mean_window(row, behind, "round"),
            excepted="" if row["id"] in MET else WHY_APART,
        )
        for row in printed
    )
    title = "ET as mean window by round over mean round-trip time"
    return Comparison(title, Origin.PRINTED, ("connection",), cells, "within the last digit")


def _by_segment(printed: list[Row], behind: dict[str, dict[str, float]]) -> Table:
    rows = tuple(
        (row["id"], row["ET"], f"{_as_mean_window(row, behind, 'segment'):.2f}") for row in printed
    )
    return Table(
        "ET if windows were weighted by segment",
        ("connection", "printed", "by segment, segments/s"),
        rows,
    )


def _claims_about_probability(
    data_set: Set, used: float, behind: dict[str, dict[str, float]]
) -> list[Claim]:
    lowest, highest = (pick(inputs["p"] for inputs in behind.values()) for pick in (min, max))
    evidence = (
        f"FF and PFTK were computed with {lowest:.2g} to {highest:.2g}; the nearest printed value "
        f"is {used:g}"
    )
    claims = [
        Claim(
            f"Caption: error probability {data_set.caption:g}",
            evidence,
            used == data_set.caption,
            data_set.worked == data_set.caption,
        )
    ]
    if data_set.text is not None:
        claims.append(
            Claim(f"Text: error probability {data_set.text:g}", evidence, used == data_set.text)
        )
    return claims


def _claims_about_rates(data_set: Set, printed: list[Row]) -> list[Claim]:
    ours: dict[str, Any] = {"origin": Origin.INFERRED}
    in_order = sum(
        float(row["ATp"]) <= float(row["ATpXmit"]) <= float(row["NoTOTput"]) for row in printed
    )
    highest = max(float(row["ET"]) for row in printed)
    claims = [
        Claim(
            "Text: ATp ≤ ATpXmit ≤ NoTOTput",
            f"in {in_order} of {len(printed)} rows",
            in_order == len(printed),
        ),
        Claim(
            "Text: ET is never above L",
            f"at most {highest:g} of {data_set.rate:g} segments/s",
            highest <= data_set.rate,
        ),
    ]
    errors = [float(row["error_NoTOTput"]) for row in printed]
    if data_set.number <= 4:
        near = sum(percent <= 5 for percent in errors)
        claims += [
            Claim(
                "Text: the error of ET against NoTOTput stays within 10 %",
                f"up to {max(errors):g} %",
                max(errors) <= 10, documented=data_set.number <= 2, accepted="at most 10 %",
            ),
            Claim(
                "Text: it is within 5 % in most cases", f"in {near} of {len(errors)} rows",
                2 * near > len(errors),
                documented=data_set.number <= 2, accepted="more than half of them",
            ),
        ]  # fmt: skip
    if data_set.number == 5:
        best = sum(
            abs(float(row["ET"]) - float(row["NoTOTput"]))
            < abs(float(row[other]) - float(row["NoTOTput"]))
            for row in printed
            for other in ("FF", "PFTK")
        )
        evidence = f"nearer to NoTOTput than FF and PFTK in {best} of {2 * len(printed)} cases"
        claims.append(
            Claim("Text: ET is the best estimation here", evidence, best == 2 * len(printed))
        )
    if data_set.number in (3, 4):
        shares = [float(row["ATp"]) / data_set.headers_rate for row in printed]
        evidence = f"ATp is {min(shares):.1%} to {max(shares):.1%} of what passes with headers"
        claims.append(
            Claim(
                "The link is full: the rows say little of the model",
                evidence,
                min(shares) > 0.975,
                **ours,
            )
        )
    distinct = [row for row in printed if not row["id"].endswith("*")]
    if data_set.number in WITH_OUTLIERS:
        claims += _with_outliers(data_set, printed)
    if data_set.number == 2:
        highest = max(float(row[name]) for row in printed for name in ("FF", "PFTK"))
        claims.append(
            Claim(
                "Text: in set 2 FF and PFTK are below the link's capacity",
                f"at most {highest:g} of {data_set.rate:g} segments/s",
                highest <= data_set.rate,
            )
        )
    if data_set.number in (1, 3, 4):
        above = sum(min(float(row["FF"]), float(row["PFTK"])) > data_set.rate for row in distinct)
        evidence = f"in {above} of {len(distinct)} connections"
        claims.append(
            Claim(
                "Text: FF and PFTK, which know no link, are above L, mostly",
                evidence,
                2 * above > len(distinct),
            )
        )
    if data_set.number >= 6:
        spread = max(
            max(rates) / min(rates) - 1
            for rates in ([float(row[name]) for name in PREDICTIONS] for row in printed)
        )
        evidence = f"they are at most {spread:.1%} apart"
        claims.append(
            Claim(
                "Text: the three estimations differ only slightly",
                evidence,
                spread <= words.ABOUT,
                accepted="at most 10 %",
            )
        )
    return claims


def _of_all_rows() -> tuple[Claim, ...]:
    """Claims what the text says of all connections together."""
    every = rows()
    nearest = sum(
        float(row["error_NoTOTput"]) <= min(float(row[f"error_{name}"]) for name in METRICS)
        for row in every
    )
    worse = max(
        off["ET"] - min(off["FF"], off["PFTK"])
        for off in (
            {name: abs(float(row[name]) / float(row["NoTOTput"]) - 1) for name in PREDICTIONS}
            for row in every
        )
    )
    return (
        Claim(
            "Text: of the three metrics ET accords best with NoTOTput",
            f"in {nearest} of {len(every)} rows",
            2 * nearest > len(every),
            accepted="in more than half of them",
        ),
        Claim(
            "Text: ET is never significantly worse than FF and PFTK",
            f"its error against NoTOTput is at most {100 * worse:.1f} % of it larger",
            worse <= words.ABOUT,
            accepted=f"at most {100 * words.ABOUT:g} %",
        ),
    )


#: First rows of sets 3 to 5, whose round-trip times have large outliers.
WITH_OUTLIERS = (3, 4, 5)


def _with_outliers(data_set: Set, printed: list[Row]) -> list[Claim]:
    """Claims what the text says of the first row, beside the others of the set."""
    first = f"{data_set.number}.1"
    others = [row for row in printed if not row["id"].startswith(first)]

    def over_the_others(name: str, row: Row) -> float:
        return float(row[name]) / (sum(float(other[name]) for other in others) / len(others))

    [row] = [row for row in printed if row["id"] == first]
    best = next((row for row in printed if row["id"] == f"{first}*"), row)
    reduced = {name: over_the_others(name, row) for name in ("FF", "PFTK")}
    stable = over_the_others("ET", best)
    return [
        Claim(
            f"Text: outliers of the round-trip time reduce FF and PFTK of connection {first}: over "
            "those of the others",
            ", ".join(f"{name} {ratio:.2f} times" for name, ratio in reduced.items()),
            all(words.MUCH_LESS.holds(ratio) for ratio in reduced.values()),
            accepted=f"{words.MUCH_LESS} times",
        ),
        Claim(
            f"Text: ET of connection {first} stays stable: over that of the others",
            f"{stable:.2f} times",
            words.about("1").holds(stable),
            accepted=f"{words.about('1')} times",
        ),
    ]


def _slower_link(behind: dict[str, dict[str, float]], printed: list[Row]) -> Claim:
    """Claims that a bottleneck at half the nominal rate explains a set; L of 54 is inferred."""
    rates = []
    for row in printed:
        inputs = behind[row["id"]]
        chain = aimd_chain.solve(aimd_chain.Bernoulli(inputs["p"]), RECEIVE_WINDOW)
        rtt = aimd_chain.rtt.constant(inputs["mean_rtt"])
        rates.append(aimd_chain.Throughput(chain, rtt, rate=54.0, mode="round").mean())
    measured = [float(row["ATp"]) for row in printed]
    apart = max(abs(rate / row - 1) for rate, row in zip(rates, measured, strict=True))
    return Claim(
        "With a bottleneck of 54 segments/s ET is within 15 % of what was measured",
        f"ET is {min(rates):.1f} to {max(rates):.1f} segments/s, measured {min(measured):g} to "
        f"{max(measured):g}",
        apart <= 0.15,
        origin=Origin.INFERRED,
    )


def _with_timeouts(printed: list[Row], behind: dict[str, dict[str, float]]) -> Claim:
    """Claims that timeouts, which the model leaves out, explain why it is too high."""
    means = []
    for T0 in FIRST_TIMEOUTS_S:
        rates = []
        for row in printed:
            p, mean_rtt = behind[row["id"]]["p"], behind[row["id"]]["mean_rtt"]
            chain = aimd_chain.solve(aimd_chain.Bernoulli(p), RECEIVE_WINDOW)
            rates.append(
                aimd_chain.timeouts.renewal_rate(chain, p, aimd_chain.rtt.constant(mean_rtt), T0)
            )
        means.append(sum(rates) / len(rates))
    without, measured = (
        sum(float(row[name]) for row in printed) / len(printed) for name in ("ET", "ATp")
    )
    return Claim(
        "With timeouts as in PFTK the chain comes nearer to ATp",
        f"on the mean it says {', '.join(f'{mean:.1f}' for mean in means)} segments/s for first "
        f"timeouts of {', '.join(f'{T0:g}' for T0 in FIRST_TIMEOUTS_S)} s, printed ET is "
        f"{without:.1f}, ATp {measured:.1f}",
        all(abs(mean - measured) < abs(without - measured) for mean in means),
        origin=Origin.INFERRED,
    )


def _claims_about_all() -> list[Claim]:
    errors = [float(row["error_ATp"]) for row in rows()]
    below = [
        sum(low <= percent < high for percent in errors)
        for low, high in ((0, 20), (20, 35), (35, 100))
    ]
    gaps = [
        sum(error(row, "ATp") for row in rows(number)) / len(rows(number)) for number in (7, 8, 9)
    ]
    return [
        Claim(
            "Of 35 rows, 22 have an error against ATp below 20 %, 10 of 20 to 35 %, 3 near 50 %",
            f"{below[0]}, {below[1]} and {below[2]} of {len(errors)}",
            below == [22, 10, 3],
        ),
        *_of_all_rows(),
        Claim(
            "The gap between ET and ATp grows with the loss probability: timeouts are outside the "
            "model",
            f"{gaps[0]:.0f}, {gaps[1]:.0f} and {gaps[2]:.0f} % in sets 7, 8 and 9",
            gaps == sorted(gaps),
            origin=Origin.INFERRED,
        ),
    ]


def _measured(printed: list[Row]) -> Table:
    head = (*METRICS, *PREDICTIONS)
    cells = tuple((row["id"], *(row[name] for name in head)) for row in printed)
    return Table("As printed, segments/s", ("connection", *head), cells)


def _draw(data_set: Set, printed: list[Row]) -> Any:
    names = (*METRICS, *PREDICTIONS)
    curves = [
        plot.Curve(
            f"{name}, {'measured' if name in METRICS else 'predicted'}",
            # Side by side, since overlapping points cannot be told apart.
            [place + 0.13 * (position - (len(names) - 1) / 2) for place in range(len(printed))],
            [float(row[name]) for row in printed],
            "points",
        )
        for position, name in enumerate(names)
    ]
    ends = [-0.5, len(printed) - 0.5]
    highest = max(float(row[name]) for row in printed for name in names)
    limits = {
        f"L as printed, {data_set.rate:g}": data_set.rate,
        f"L with headers, {data_set.headers_rate:.2f}": data_set.headers_rate,
    }
    # A limit far above all points would compress the rest.
    near = {label: limit for label, limit in limits.items() if limit < 2 * highest}
    curves += [
        plot.Curve(label, ends, [limit, limit], "reference") for label, limit in near.items()
    ]
    return plot.curves(
        curves,
        "connection",
        "rate (segments/s)",
        f"Table {data_set.table}: measured and predicted, set {data_set.number}",
        categories=[row["id"] for row in printed],
    )


def _entry(data_set: Set) -> Experiment:
    return entry(
        f"Table {data_set.table}",
        "How well do the Markov model, the square-root law and PFTK predict emulated connections?",
        f"Set {data_set.number}: measured rates of {len(rows(data_set.number))} connections, the "
        "predictions ET, FF and PFTK, and the errors of ET.",
        1.0,
        partial(compute, data_set),
    )


EXPERIMENTS = tuple(map(_entry, SETS))
