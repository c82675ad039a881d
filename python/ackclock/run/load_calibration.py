"""Calibrates arrival rates that keep a given mean number of flows active.

The number of active instances of a flow follows from their arrival rate and the duration of each
(Little's law). That duration depends on the other traffic. The interval between arrivals is
therefore found by measurement: run, compare, adjust.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ackclock import units
from ackclock.errors import InputError, ScenarioError
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.result.result import Result

#: An interval changes by at most this factor while one side of it is unknown. Chosen here: near
#: saturation the number of active flows runs away, and a step by Little's law alone would be far
#: too long.
_LONGEST_STEP = 4.0


class Calibrated(NamedTuple):
    """A load with the mean number of active instances that was asked for.

    Attributes:
        scenario: With the interval that was found.
        mean_interval_s: Mean interval between arrivals, in s.
        active: Measured mean number of active instances, over all replicates.
        tried: Mean interval in s and mean number active of every run, in order.
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
    """Finds the mean interval between arrivals at which the given number of instances is active.

    The number is a mean after the warm-up over all replicates. They draw the same random numbers
    whatever the interval, so that each run tells how to correct the previous one. With another seed
    the number differs by chance: the metric `active_flows` of a run tells by how much.

    Args:
        scenario: Without a sweep. The flow's `arrivals` give the first guess.
        flow: Name of a flow with `arrivals`.
        number: Mean number of active instances to reach.
        within: Tolerance relative to `number`.
        runs: Largest number of intervals to try.
        run: Runs a scenario.

    Raises:
        ScenarioError: The scenario cannot be run, has a sweep, or the flow has no arrivals.
        ValueError: `number`, `within` or `runs` is not positive, or these runs did not reach the
            number; one line.
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
    nearest = min(tried, key=lambda attempt: abs(math.log(max(attempt[1], 1e-9) / number)))
    raise InputError(
        "no-solution",
        path,
        f"{runs} runs did not bring the mean number active to {number:g} ± {within * 100:g} %; "
        f"the nearest was {nearest[1]:.3g} at {nearest[0] * 1e3:.4g} ms; allow more runs, a "
        "larger deviation or a longer duration",
    )


_EXAMPLES = {"number": "10", "within": "0.05", "runs": "16"}


def _first_guess(scenario: Scenario, flow: str) -> float:
    if "sweep" in scenario.tree:
        raise ScenarioError(
            "unsupported", "sweep", "describes several points; expand it and calibrate each point"
        )
    resolved = scenario.resolve().tree
    for flow_tree in resolved["flows"]:
        if flow_tree["name"] == flow and "arrivals" in flow_tree:
            return units.seconds(flow_tree["arrivals"]["mean_interval"])
    raise ScenarioError(
        "missing",
        f"flows.{flow}.arrivals",
        'is missing; for example { kind = "poisson", mean_interval = "200 ms" }',
    )


def _active(result: "Result", flow: str) -> float:
    """Returns the mean number of active instances over all replicates."""
    from ackclock.metrics import metric, summarise

    (active,) = [
        summary.interval.mean
        for summary in summarise(result, metric("active_flows"))
        if summary.subject == flow
    ] or [0.0]
    return active


def _next(tried: list[tuple[float, float]], number: float) -> float:
    """Returns the next interval to try; the number active falls as the interval grows.

    With a run on either side it interpolates between the nearest two on logarithmic axes. It keeps
    a tenth of the distance from either end, so that a strongly bent curve does not slow it down.
    With runs on one side only it uses Little's law, as if the durations did not change.
    """
    over = [(interval, active) for interval, active in tried if active > number]
    under = [(interval, active) for interval, active in tried if active <= number]
    if over and under:
        (low, more), (high, less) = max(over), min(under)
        share = math.log(more / number) / math.log(more / max(less, 1e-3 * number))
        return low * math.exp(math.log(high / low) * min(max(share, 0.1), 0.9))
    interval, active = tried[-1]
    return interval * min(max(active / number, 1 / _LONGEST_STEP), _LONGEST_STEP)
