"""The vector of a judgement: eight measures, each a mean over paths.

None is a score, and no sum of them is: a caller who wants one gives weights.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock.metrics.windows import STARVED_SHARE

Array = NDArray[np.float64]
#: Quantities by category: of each name, paths by seeds.
Observed = Mapping[str, Mapping[str, Any]]

#: Key under which the other flow's share without the candidate is kept.
SOLO = "solo"


# Share of what matters below which two means have the same rank.
_CLOSE = 0.5


@dataclass(frozen=True)
class Measure:
    """One measure.

    Attributes:
        name: Name in records.
        label: Name for people.
        summary: Definition.
        unit: Unit for people.
        per_unit: Number of shown units in one.
        is_more_better: True if more is better.
        matters: The smallest difference that matters. Ours.
        categories: Categories of paths that count.
        compute: Computes it of a category's quantities: paths by seeds.
    """

    name: str
    label: str
    summary: str
    unit: str
    per_unit: float
    is_more_better: bool
    matters: float
    categories: tuple[str, ...]
    compute: Callable[[Mapping[str, Array]], Array]

    def by_path(self, observed: Observed, category: str) -> Array:
        """Returns its values in a category: paths by seeds; none if that was not run."""
        quantities = {
            name: np.array(each, float) for name, each in observed.get(category, {}).items()
        }
        return self.compute(quantities) if quantities else np.empty((0, 0))

    def means(self, observed: Observed) -> dict[tuple[str, int], float]:
        """Returns the mean over seeds of each path, by category and number."""
        means = {}
        for category in self.categories:
            for number, values in enumerate(self.by_path(observed, category)):
                certain = values[~np.isnan(values)]
                if certain.size:
                    means[category, number] = float(certain.mean())
        return means

    def worse(self, value: Array, other: Array) -> Array:
        """Returns by how much a value is worse than another, in differences that matter."""
        sign = -1.0 if self.is_more_better else 1.0
        return np.asarray(sign * (value - other) / self.matters)

    def ranks(self, values: Array) -> Array:
        """Returns the rank of each of several means; 1 is best.

        Differences below half of what matters do not count, so that ranks are those of controls and
        not of seeds.
        """
        worse = self.worse(values[:, np.newaxis], values[np.newaxis, :])
        return np.asarray(1 + (worse > _CLOSE).sum(axis=1))

    def shown(self, value: float) -> str:
        """Returns a value for people."""
        if math.isnan(value):
            return "unknown"
        return f"{value * self.per_unit:.3g} {self.unit}".strip()


def _share(quantities: Mapping[str, Array]) -> Array:
    return np.minimum(quantities["share of x"], 1.0)


def _harm(quantities: Mapping[str, Array]) -> Array:
    # Ware, Mukerjee, Seshan and Sherry (2019): the share of a solo performance that is lost.
    return np.asarray(1 - quantities["share of other"] / quantities[SOLO])


def _harm_to_itself(quantities: Mapping[str, Array]) -> Array:
    worse = np.minimum(quantities["share of x"], quantities["share of newcomer"])
    return np.asarray(np.maximum(1 - 2 * worse, 0.0))


def _starved(quantities: Mapping[str, Array]) -> Array:
    other = (
        quantities["share of newcomer"]
        if "share of newcomer" in quantities
        else quantities["share of other"]
    )
    both = np.stack([quantities["share of x"], other])
    return np.asarray((both.min(axis=0) < STARVED_SHARE * both.mean(axis=0)).astype(float))


def _completion(quantities: Mapping[str, Array]) -> Array:
    # Files that have not ended count as if they had taken three times as long. Ours.
    none = np.where(quantities["incomplete"] >= 1, 100.0, math.nan)
    ended = np.where(np.isnan(quantities["completion"]), none, quantities["completion"])
    return np.asarray(ended * (1 + 2 * np.nan_to_num(quantities["incomplete"])))


#: Every measure, in the order of the page.
MEASURES: tuple[Measure, ...] = (
    Measure(
        "utilisation", "utilisation", "Payload delivered, as a share of what the path carries.",
        "%", 100, True, 0.05, ("alone", "aqm", "loss", "policer", "satellite", "wifi"), _share,
    ),
    Measure(
        "delay", "p95 delay", "Queueing delay that is not exceeded for 95 % of the time, in round "
        "trips without a queue.",
        "RTT", 1, False, 0.25, ("alone", "aqm", "loss", "satellite", "wifi"),
        lambda quantities: quantities["delay"],
    ),
    Measure(
        "loss", "loss", "Packets of the candidate that are dropped, where nothing is lost at "
        "random.",
        "%", 100, False, 0.02, ("alone", "aqm", "policer", "satellite", "wifi", "itself"),
        lambda quantities: quantities["loss"],
    ),
    Measure(
        "harm_to_cubic", "harm to CUBIC", "Share of its goodput alone that CUBIC loses beside the "
        "candidate (Ware and others, 2019).",
        "%", 100, False, 0.1, ("cubic",), _harm,
    ),
    Measure(
        "harm_to_itself", "harm to itself", "Share of half the path that the worse of two flows "
        "lacks, of which the second starts later.",
        "%", 100, False, 0.05, ("itself",), _harm_to_itself,
    ),
    Measure(
        "starvation", "starvation", "Share of runs of two flows in which one gets less than a "
        "tenth of the mean.",
        "%", 100, False, 0.1, ("cubic", "itself", "bbr3"), _starved,
    ),
    Measure(
        "convergence", "convergence", "Time until a second flow gets four fifths of an equal "
        "share, over five round trips; the whole time if never.",
        "RTT", 1, False, 10.0, ("itself",), lambda quantities: quantities["convergence"],
    ),
    Measure(
        "completion", "slowdown of others", "Completion time of files over CUBIC beside the "
        "candidate, as a multiple of a round trip and their transmission; unfinished files count "
        "threefold.",
        "×", 1, False, 0.5, ("files",), _completion,
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Measure] = {measure.name: measure for measure in MEASURES}


def paired(
    own: Mapping[tuple[str, int], float], other: Mapping[tuple[str, int], float]
) -> tuple[Array, Array]:
    """Returns the values of paths that both have."""
    keys = [key for key in own if key in other]
    return np.array([own[key] for key in keys]), np.array([other[key] for key in keys])


def score(vector: Sequence[Mapping[str, Any]], weights: Mapping[str, float]) -> float:
    """Returns the sum of weighted differences from CUBIC, in differences that matter.

    Positive is better. This is the caller's number, not ours.
    """
    total = 0.0
    for row in vector:
        weight = weights.get(row["name"], 0.0)
        if weight and row["better_than_cubic"] is not None:
            total += weight * row["better_than_cubic"] / BY_NAME[row["name"]].matters
    return total
