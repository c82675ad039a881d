"""Rows of a set, published or captured by us, and the findings from nine sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from statistics import fmean

from ackclock_papers.markov import emulator, estimators, validation
from ackclock_papers.markov.emulator import Reading
from ackclock_papers.markov.estimators import Connection

PUBLISHED = "published"
#: ET as in the paper: windows weighted by round, L as printed.
ET = "ET by round"
#: ET with the rate of the emulated link for L.
ET_EMULATED_L = "ET, L as emulated"
#: ET with the lower bound of the losses for p.
ET_AT_LEAST = "ET, p of triple duplicates"
#: The chain that fills its own buffer, from the emulator's settings.
SELF_FILLED = "self-filled"
#: Mean window times the square root of p, in segments. For a long chain it is 1.31 by round and
#: 1.53 by segment.
WINDOW_LAW = "window·√p"

NEAR = 0.15
#: Largest spread of the predictions in the published sets 7 to 9.
TOGETHER = 0.08
#: Share of its rate from which a link counts as full.
FULL = 0.95

#: Claims about the nine sets.
SAID = {
    "slow": "ET is mostly within 15 % of NoTOTput in sets 1 to 4",
    "fast": "ET is mostly within 15 % of NoTOTput in sets 5 to 9",
    "above": "FF and PFTK, which know no link, are mostly above L in sets 1, 3 and 4",
    "order": "ATp ≤ ATpXmit ≤ NoTOTput",
    "together": "ET, FF and PFTK are within 8 % of each other in sets 7 to 9",
    "growing": "The gap between ET and ATp grows from set 7 to set 9",
}
#: The claims that the paper makes about its own connections: within 5 to 15 % (abstract), and
#: sections 7.2 and 7.3.
PRINTED = ("slow", "fast", "above", "order", "together")
_ABOVE = (1, 3, 4)
#: Sets that neither the link nor the receiver's window limits much.
UNLIMITED = (7, 8, 9)
_FIRST_FAST = 5


@dataclass(frozen=True)
class Rows:
    """Connections of one set, published or ours.

    Attributes:
        data_set: The set.
        whose: `PUBLISHED`, or the name of a reading.
        L: Rate of the emulated link, in segments/s; for the published rows as printed.
        values: By quantity, one value per connection; unknown values are left out.
    """

    data_set: validation.Set
    whose: str
    L: float
    values: Mapping[str, tuple[float, ...]]

    @property
    def connections(self) -> int:
        """Number of connections."""
        return len(self.each("ATp"))

    def each(self, quantity: str) -> tuple[float, ...]:
        """Returns a quantity of every connection; empty if it is unknown."""
        return self.values.get(quantity, ())

    def mean(self, quantity: str) -> float:
        """Returns the mean over the connections; NaN if the quantity is unknown."""
        return mean(self.each(quantity))

    def above(self, prediction: str, metric: str) -> tuple[float, ...]:
        """Returns a prediction's relative excess over the measured value, for every connection."""
        pairs = zip(self.each(prediction), self.each(metric), strict=False)
        return tuple(predicted / actual - 1 for predicted, actual in pairs)

    @property
    def is_full(self) -> bool:
        """True if the link carries nearly its rate."""
        return self.mean("ATpXmit") > FULL * self.L


def mean(values: Sequence[float]) -> float:
    """Returns the mean; NaN if there are no values."""
    return fmean(values) if values else nan


def published(data_set: validation.Set) -> Rows:
    """Returns the printed rows of a set, without the starred ones: these evaluate others again."""
    rows = [row for row in validation.rows(data_set.number) if not row["id"].endswith("*")]
    printed = {ET: "ET", "FF": "FF", "PFTK": "PFTK"} | {name: name for name in estimators.METRICS}
    recovered = [validation.recovered(row) for row in rows]
    behind = {estimators.USED: "p", "mean RTT": "mean_rtt", "window": "window"}
    values = {name: tuple(float(row[column]) for row in rows) for name, column in printed.items()}
    values |= {
        name: tuple(inputs[letter] for inputs in recovered) for name, letter in behind.items()
    }
    values[WINDOW_LAW] = tuple(inputs["window"] * sqrt(inputs["p"]) for inputs in recovered)
    return Rows(data_set, PUBLISHED, data_set.rate, values)


def ours(data_set: validation.Set, reading: Reading, connections: Sequence[Connection]) -> Rows:
    """Returns the captured connections of a set under a reading."""
    flow, L = emulator.flow_name(data_set, reading), reading.rate(data_set)
    own = [connection for connection in connections if connection.flow == flow]
    filled = estimators.self_filled(
        data_set.worked,
        L,
        reading.base_rtt_s(data_set),
        reading.buffer_packets,
        validation.RECEIVE_WINDOW,
    )
    each = [
        connection.metrics
        | connection.losses
        | estimators.predictions(connection, data_set.rate)
        | {
            ET_EMULATED_L: estimators.mean_throughput(connection, L, "round"),
            ET_AT_LEAST: estimators.mean_throughput(
                connection, data_set.rate, "round", "triple duplicates"
            ),
            SELF_FILLED: filled,
            WINDOW_LAW: connection.window * sqrt(connection.losses[estimators.USED]),
            "timeouts": connection.timeouts,
            "mean RTT": connection.mean_rtt,
            "window": connection.window,
        }
        for connection in own
    ]
    names = each[0] if each else ()
    return Rows(
        data_set, reading.name, L, {name: tuple(values[name] for values in each) for name in names}
    )


def findings(rows: Sequence[Rows]) -> dict[str, tuple[str, bool]]:
    """Returns what the nine sets of one name show on each claim, and whether it holds."""
    above = [group for group in rows if group.data_set.number in _ABOVE]
    in_order = [ordered for group in rows for ordered in _in_order(group)]
    unlimited = [group for group in rows if group.data_set.number in UNLIMITED]
    apart = max((spread(group) for group in unlimited), default=nan)
    gaps = [mean(group.above(ET, "ATp")) for group in unlimited]
    return {
        "slow": _near([group for group in rows if group.data_set.number < _FIRST_FAST]),
        "fast": _near([group for group in rows if group.data_set.number >= _FIRST_FAST]),
        "above": (
            ", ".join(
                f"set {group.data_set.number}: {_above_link(group)} of {group.connections}"
                for group in above
            ),
            all(2 * _above_link(group) > group.connections for group in above),
        ),
        "order": (f"in {sum(in_order)} of {len(in_order)} connections", all(in_order)),
        "together": (f"they are {apart:.0%} apart, on the mean of a set", apart <= TOGETHER),
        "growing": (", ".join(f"{gap:+.0%}" for gap in gaps), gaps == sorted(gaps)),
    }


def _near(rows: Sequence[Rows]) -> tuple[str, bool]:
    near = [abs(error) <= NEAR for group in rows for error in group.above(ET, "NoTOTput")]
    means = ", ".join(f"{mean(group.above(ET, 'NoTOTput')):+.0%}" for group in rows)
    return f"in {sum(near)} of {len(near)} connections; the sets' means are {means}", 2 * sum(
        near
    ) > len(near)


def _above_link(rows: Rows) -> int:
    """Returns the number of connections in which both FF and PFTK are above L."""
    return sum(min(both) > rows.L for both in zip(rows.each("FF"), rows.each("PFTK"), strict=True))


def _in_order(rows: Rows) -> list[bool]:
    return [
        a <= b <= c
        for a, b, c in zip(*(rows.each(name) for name in estimators.METRICS), strict=True)
    ]


def spread(rows: Rows, expected: str = ET) -> float:
    """Returns the spread of ET, FF and PFTK by their means, relative to the smallest.

    `expected` selects the variant of ET.
    """
    means = [rows.mean(name) for name in (expected, "FF", "PFTK")]
    return max(means) / min(means) - 1
