"""A congestion-control laboratory.

One description of a network path and its traffic (a scenario) is answered by analytic models, by a deterministic
packet-level engine, by the real Linux TCP stack, and by captures of real packets:

    from ackclock import load, plot, simulate

    plot.save(plot.cwnd(simulate(load("examples/leaky-pipe.toml"))), "cwnd.svg")
"""

from typing import TYPE_CHECKING, Any

from ackclock.scenario import Point, Scenario, ScenarioError, load
from ackclock.ways import CaptureError, LackingError, emulate, measure, predict, replay, simulate, version

if TYPE_CHECKING:
    from ackclock.advice import advise_buffer, advise_feedback
    from ackclock.calibration import hold_active
    from ackclock.estimators import rate_estimates
    from ackclock.every_way import compare
    from ackclock.result import Result

__all__ = [
    "CaptureError", "LackingError", "Point", "Result", "Scenario", "ScenarioError", "advise_buffer", "advise_feedback",
    "compare", "emulate", "hold_active", "load", "measure", "predict", "rate_estimates", "replay", "simulate",
    "version",
]  # fmt: skip

__version__ = version()


def __getattr__(name: str) -> Any:
    # They bring pyarrow, a fifth of a second: imported when somebody asks for them.
    if name == "Result":
        from ackclock.result import Result

        return Result
    if name == "advise_buffer":
        from ackclock.advice import advise_buffer

        return advise_buffer
    if name == "advise_feedback":
        from ackclock.advice import advise_feedback

        return advise_feedback
    if name == "hold_active":
        from ackclock.calibration import hold_active

        return hold_active
    if name == "compare":
        from ackclock.every_way import compare

        return compare
    if name == "rate_estimates":
        from ackclock.estimators import rate_estimates

        return rate_estimates
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
