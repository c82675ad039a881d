"""Metrics of hops that a formula does not say."""

from collections.abc import Callable

from ackclock import units
from ackclock.metrics.metric import Value
from ackclock.metrics.tables import Columns, grouped
from ackclock.result.result import Result

Combine = Callable[[Columns, float], float]


def per_hop(names: tuple[str, ...], combine: Combine) -> Callable[[Result], list[Value]]:
    """Makes a metric of columns of the table `hops`; `combine` also gets the warm-up in s."""

    def values(result: Result) -> list[Value]:
        if "hops" not in result.tables:
            return []  # a capture does not observe hops
        warmups = [units.seconds(point["scenario"]["warmup"]) for point in result.points]
        return [
            Value(point, replicate, hop, combine(rows, warmups[point]))
            for (point, replicate, hop), rows in grouped(
                result.tables["hops"], ("point", "replicate", "hop"), ("time_s", *names)
            )
        ]

    return values
