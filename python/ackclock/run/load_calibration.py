"""Loads that hold a chosen mean number of flows active, where only arrivals can be set.

How many instances of a flow are active follows from how often they arrive and how long each takes
(Little's law), and how long each takes from who else is there. So the interval between arrivals is
found by measuring: run, compare, adjust.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ackclock import units
from ackclock.errors import InputError, ScenarioError
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.result import Result

__all__ = ["Calibrated", "hold_active"]

#: An interval is changed by this factor at most while nothing is known of its other side. Chosen
#: here: near saturation the number active runs away, and a step by Little's law alone would be far
#: too long.
_LONGEST_STEP = 4.0


class Calibrated(NamedTuple):
    """A load that holds the mean number active that was asked for.

    Attributes:
        scenario: With the interval that was found.
        mean_interval_s: The mean interval between arrivals, in s.
        active: The mean number active that was measured there, over all replicates.
        tried: Mean interval in s and mean number active of every run, in their order.
    """

    scenario: Scenario
    mean_interval_s: float
    active: float
    tried: tuple[tuple[float, float], ...]


def hold_active(
    scenario: Scenario,
    flow: str,
    number: float,
    *,
    within: float = 0.05,
    runs: int = 16,
    run: Callable[[Scenario], "Result"] = simulate,
) -> Calibrated:
    """Finds the mean interval between a flow's arrivals at which so many of its instances are active on average.

    All replicates count, after the warm-up, and they draw the same numbers whatever the interval,
    so that each run says how the last one should have been. The number that another seed has
    differs by chance: the metric `active` of a run says by how much.

    Args:
        scenario: Without a sweep. The flow's `arrivals` give the first guess.
        flow: Name of a flow with `arrivals`.
        number: Mean number of instances that are to be active.
        within: How far the number measured may be off, relative to `number`.
        runs: How many intervals are tried at most.
        run: What runs a scenario.

    Raises:
        ScenarioError: The scenario cannot be run, has a sweep, or the flow has no arrivals.
        ValueError: `number`, `within` or `runs` is not above nought, or the number was not met in
        so many runs; one
            line.
    """
    for name, value in (("number", number), ("within", within), ("runs", runs)):
        if not value > 0:
            raise InputError(
                "out-of-range",
                name,
                f"{value} is not positive; for example {_EXAMPLES[name]}",
            )
    path = f"flows.{flow}.arrivals.mean_interval"
    interval_s = _first_guess(scenario, flow)
    tried: list[tuple[float, float]] = []
    while len(tried) < runs:
        changed = scenario.replace({path: f"{round(interval_s * 1e9)} ns"})
        active = _active(run(changed), flow)
        tried.append((interval_s, active))
        if abs(active / number - 1) <= within:
            return Calibrated(changed, interval_s, active, tuple(tried))
        interval_s = _next(tried, number)
    nearest = min(tried, key=lambda one: abs(math.log(max(one[1], 1e-9) / number)))
    raise InputError(
        "no-solution",
        path,
        f"{runs} runs did not bring the mean number active to {number:g} ± {within * 100:g} %; the nearest was "
        f"{nearest[1]:.3g} at {nearest[0] * 1e3:.4g} ms; allow more runs, a larger deviation or a longer duration",
    )


_EXAMPLES = {"number": "10", "within": "0.05", "runs": "16"}


def _first_guess(scenario: Scenario, flow: str) -> float:
    if "sweep" in scenario.tree:
        raise ScenarioError(
            "unsupported", "sweep", "describes several points; expand it and calibrate each point"
        )
    resolved = scenario.resolve().tree
    for one in resolved["flows"]:
        if one["name"] == flow and "arrivals" in one:
            return units.seconds(one["arrivals"]["mean_interval"])
    raise ScenarioError(
        "missing",
        f"flows.{flow}.arrivals",
        'is missing; for example { kind = "poisson", mean_interval = "200 ms" }',
    )


def _active(result: "Result", flow: str) -> float:
    """Over all replicates."""
    from ackclock.metrics import metric, summarise

    (found,) = [
        one.interval.mean
        for one in summarise(result, metric("active_flows"))
        if one.subject == flow
    ] or [0.0]
    return found


def _next(tried: list[tuple[float, float]], number: float) -> float:
    """The interval to try: the number active falls as the interval grows.

    With a run on either side, where the line between the nearest two, on logarithmic axes, says;
    not nearer to one end than a tenth of the way, so that a curve that bends much is not crept
    along. With none on the other side, by Little's law as if the time that each takes did not
    change.
    """
    over = [(interval, active) for interval, active in tried if active > number]
    under = [(interval, active) for interval, active in tried if active <= number]
    if over and under:
        (low, more), (high, less) = max(over), min(under)
        share = math.log(more / number) / math.log(more / max(less, 1e-3 * number))
        return low * math.exp(math.log(high / low) * min(max(share, 0.1), 0.9))
    interval, active = tried[-1]
    return interval * min(max(active / number, 1 / _LONGEST_STEP), _LONGEST_STEP)
