"""A congestion-control laboratory.

A scenario describes a network path and its traffic. Four methods answer it: analytic models, a
deterministic packet-level engine, the real Linux TCP stack, and captures of real packets.


    from ackclock import load, plot, simulate

    plot.save(plot.figure(simulate(load("examples/leaky-pipe.toml")), "cwnd"), "cwnd.svg")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock import metrics, models, plot, report, reproduction, units
    from ackclock.advice import advise_buffer, advise_feedback
    from ackclock.capture.estimators import rate_estimates
    from ackclock.capture.measurement import measure
    from ackclock.capture.twin import twin
    from ackclock.comparison.each_method import compare
    from ackclock.comparison.side_by_side import beside
    from ackclock.engine import version
    from ackclock.errors import CaptureError, InputError, LackingError, ScenarioError
    from ackclock.judgement.judging import judge
    from ackclock.laboratory import lab
    from ackclock.result.interrupted import Interrupted
    from ackclock.result.result import Result
    from ackclock.run.emulation import emulate, replay
    from ackclock.run.load_calibration import hold_active
    from ackclock.run.prediction import predict
    from ackclock.run.simulation import simulate
    from ackclock.scenario import Point, Scenario, load
    from ackclock.sweeps.sweep import Sweep, sweep

    __version__: str

__all__ = [
    "CaptureError",
    "InputError",
    "Interrupted",
    "LackingError",
    "Point",
    "Result",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "advise_buffer",
    "advise_feedback",
    "beside",
    "compare",
    "emulate",
    "hold_active",
    "judge",
    "lab",
    "load",
    "measure",
    "metrics",
    "models",
    "plot",
    "predict",
    "rate_estimates",
    "replay",
    "report",
    "reproduction",
    "simulate",
    "sweep",
    "twin",
    "units",
    "version",
]

# Where each public name is defined. Imported on first use: some import pyarrow, which takes 0.2 s,
# and the command catches Ctrl-C only after the import of this file.
_DEFINED_IN = {
    "CaptureError": "errors",
    "InputError": "errors",
    "Interrupted": "result.interrupted",
    "LackingError": "errors",
    "Point": "scenario",
    "Result": "result.result",
    "Scenario": "scenario",
    "ScenarioError": "errors",
    "advise_buffer": "advice",
    "advise_feedback": "advice",
    "beside": "comparison.side_by_side",
    "compare": "comparison.each_method",
    "emulate": "run.emulation",
    "hold_active": "run.load_calibration",
    "judge": "judgement.judging",
    "lab": "laboratory",
    "load": "scenario",
    "measure": "capture.measurement",
    "predict": "run.prediction",
    "rate_estimates": "capture.estimators",
    "replay": "run.emulation",
    "Sweep": "sweeps.sweep",
    "simulate": "run.simulation",
    "sweep": "sweeps.sweep",
    "twin": "capture.twin",
    "version": "engine",
}
_PUBLIC_MODULES = (
    "errors",
    "metrics",
    "models",
    "plot",
    "report",
    "reproduction",
    "scenario",
    "units",
)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC_MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _DEFINED_IN:
        return getattr(import_module(f"{__name__}.{_DEFINED_IN[name]}"), name)
    if name == "__version__":
        return import_module(f"{__name__}.engine").version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
