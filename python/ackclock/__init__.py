"""A congestion-control laboratory.

A scenario describes a network path and its traffic. Four methods answer it: analytic models, a
deterministic packet-level engine, the real Linux TCP stack, and captures of real packets.


    from ackclock import load, plot, simulate

    plot.save(plot.cwnd(simulate(load("examples/leaky-pipe.toml"))), "cwnd.svg")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ackclock.engine import version
from ackclock.errors import CaptureError, InputError, LackingError, ScenarioError
from ackclock.result.interrupted import Interrupted
from ackclock.scenario import Point, Scenario, load

if TYPE_CHECKING:
    from ackclock import metrics, models, plot, report, reproduction, units
    from ackclock.advice import advise_buffer, advise_feedback
    from ackclock.capture.estimators import rate_estimates
    from ackclock.capture.measurement import measure
    from ackclock.capture.twin import twin
    from ackclock.comparison.each_method import compare
    from ackclock.laboratory import lab
    from ackclock.result.result import Result
    from ackclock.run.emulation import emulate, replay
    from ackclock.run.load_calibration import hold_active
    from ackclock.run.prediction import predict
    from ackclock.run.simulation import simulate
    from ackclock.sweeps.sweep import Sweep, sweep

__all__ = [
    "CaptureError", "InputError", "Interrupted", "LackingError", "Point", "Result", "Scenario",
    "ScenarioError", "Sweep", "advise_buffer", "advise_feedback", "compare", "emulate",
    "hold_active", "lab", "load", "measure", "metrics", "models", "plot", "predict",
    "rate_estimates", "replay", "report", "reproduction", "simulate", "sweep", "twin", "units",
    "version",
]  # fmt: skip

__version__ = version()

# Where each public name is defined. Imported on first use: they import pyarrow, which takes 0.2 s.
_DEFINED_IN = {
    "Result": "result.result",
    "advise_buffer": "advice",
    "advise_feedback": "advice",
    "compare": "comparison.each_method",
    "emulate": "run.emulation",
    "hold_active": "run.load_calibration",
    "lab": "laboratory",
    "measure": "capture.measurement",
    "predict": "run.prediction",
    "rate_estimates": "capture.estimators",
    "replay": "run.emulation",
    "Sweep": "sweeps.sweep",
    "simulate": "run.simulation",
    "sweep": "sweeps.sweep",
    "twin": "capture.twin",
}
_PUBLIC_MODULES = ("metrics", "models", "plot", "report", "reproduction", "units")


def __getattr__(name: str) -> Any:
    if name in _PUBLIC_MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _DEFINED_IN:
        return getattr(import_module(f"{__name__}.{_DEFINED_IN[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
