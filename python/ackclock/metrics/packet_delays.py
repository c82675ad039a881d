"""Quantiles of the time that packets wait in a queue, over packets."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ackclock.metrics.metric import Metric, Value
from ackclock.metrics.quantiles import quantile_of
from ackclock.metrics.subjects import AT_HOPS
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.result import Result

#: Columns of the table `delays` that the quantiles need.
BUCKET = ("high_s", "packets")


def packet_delay_quantile(share: float) -> Metric:
    """Makes the metric of the queueing delay that is not exceeded by a share of the packets.

    The delay of a packet is the time from its arrival at a queue to the beginning of its service.
    Only hops with `packet_delays = true` have it. A subject is a hop, a class of the hop's queue
    (`line[low_latency]`), or a flow at the hop (`line/pages`). The value is at most a 128th too
    large, the width of a bucket of the histogram.

    Args:
        share: The share of the packets, between 0 and 1.

    Raises:
        InputError: `share` is not between 0 and 1.
    """
    return quantile_of(
        "packet delay", share,
        "Time in the queue that {} % of the packets do not exceed; by hop, class of the queue and "
        "flow, for hops with `packet_delays = true`.",
        AT_HOPS, _values(share),
    )  # fmt: skip


def _values(share: float) -> Callable[[Result], list[Value]]:
    def values(result: Result) -> list[Value]:
        table = result.tables.get("delays")
        recorded_values = [
            Value(point, replicate, subject, _quantile(rows, share))
            for keys in ((), ("class",), ("flow",))
            for point, replicate, subject, rows in (() if table is None else _subjects(table, keys))
        ]
        recorded = {value[:3] for value in recorded_values}
        unknown = [value for value in _hops(result) if value[:3] not in recorded]
        return sorted(recorded_values + unknown, key=lambda value: (value.point, value.replicate))

    return values


def _hops(result: Result) -> list[Value]:
    """Returns an unknown value for each hop."""
    if "hops" not in result.tables:
        return []  # a capture does not observe hops
    keys = ("point", "replicate", "hop")
    hops = grouped(result.tables["hops"], keys, ())
    return [Value(point, replicate, hop, math.nan) for (point, replicate, hop), _ in hops]


def _subjects(table: pa.Table, keys: tuple[str, ...]) -> Iterator[tuple[int, int, str, Columns]]:
    """Yields point, replicate, subject and buckets of the packets with equal `keys` at a hop."""
    if keys == ("class",):
        table = table.filter(pc.not_equal(table["class"].cast(pa.string()), ""))
    forms = {(): "{}", ("class",): "{}[{}]", ("flow",): "{}/{}"}
    for labels, rows in grouped(table, ("point", "replicate", "hop", *keys), BUCKET):
        point, replicate, *names = labels
        yield point, replicate, forms[keys].format(*names), rows


def _quantile(rows: Columns, share: float) -> float:
    """Returns the end of the bucket of the packet with that rank, in seconds."""
    order = np.argsort(rows["high_s"])
    ends, counts = rows["high_s"][order], np.cumsum(rows["packets"][order])
    rank = max(1, math.ceil(share * counts[-1]))
    return float(ends[np.searchsorted(counts, rank)])
