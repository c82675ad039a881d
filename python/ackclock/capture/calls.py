"""The twin of calls: what was asked of a control, asked again elsewhere.

An emulation records every call of a program in the kernel, with what went in and what came out; a
simulation with `control_calls = true` does the same. The engine gives the calls to the same object
and compares the answers bit by bit. A program may call the functions of a control that the kernel
has, as `linux_bbr` does. Then the engine's own control for it gets the calls, here `bbr1`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.capture.call_tables import Simulated, recorded, simulated, summary_of
from ackclock.capture.twin import stand_in
from ackclock.elements import facts
from ackclock.elements.registry import registry
from ackclock.errors import InputError, ScenarioError
from ackclock.limits import CONTROL_BYTES, RECORD_BYTES, read_file
from ackclock.scenario import Scenario

# Beside each record lie the object that was loaded and a summary.
_CALLS, _OBJECT, _SUMMARY = ".calls", ".bpf.o", ".json"
_MISSING = "is missing; the emulation did not end well, emulate again"


@dataclass(frozen=True)
class Comparison:
    """The calls of a control in one run.

    Attributes:
        record: Name of the record in the result.
        control: Name of the control.
        missed: Calls that the kernel had no room to record; the record then has gaps.
        standing: Control of the engine that answers for one that the kernel has; None if the
            program itself answers.
        outcome: Counts: `calls`, `equal` (answered alike), `equal_windows`, `equal_answers`,
            `draws` (calls with a random draw) and `connections`. Also `moved`: calls that found
            another window than the one before had left. Also `skipped`: calls of connections whose
            first call is not recorded. `kinds`: calls by kind. `first`: None, or the first call
            that differs, with `call`, ours (`window`, `result`), and the ten calls `before` it.
    """

    record: str
    control: str
    missed: int
    standing: str | None
    outcome: dict[str, Any]

    @property
    def differs(self) -> bool:
        """True if a call was answered otherwise."""
        return self.outcome["first"] is not None


@dataclass(frozen=True)
class ControlComparison:
    """A control of the engine beside the calls of a program.

    Attributes:
        record: Name of the record in the result.
        control: Name of the program.
        outcome: `connections`, and the differences by kind of call: of windows after `cong_avoid`,
            `cong_control` and `undo_cwnd`, of answers to `ssthresh`. A kind has `calls`,
            `mean_segments` (without sign) and `largest_share` (of the program's window). It has the
            call with the `largest` difference and the `first` of more than a segment, or None. A
            call has `number`, `now_ns`, `theirs_segments` and `ours_segments`.
    """

    record: str
    control: str
    outcome: dict[str, Any]


def has_calls(folder: str | Path) -> bool:
    """True if a result has calls of programs."""
    return bool(recorded(folder)) or next(simulated(folder), None) is not None


def twin(folder: str | Path) -> list[Comparison]:
    """Gives the calls of a result to their programs, and compares the answers.

    Raises:
        InputError: A record or what lies beside it cannot be read, or the program that a simulation
            names is not there any more.
    """
    files = recorded(folder)
    if files:
        return [_compare(record) for record in files]
    return [_compare_simulated(run, Path(folder)) for run in simulated(folder)]


def beside(folder: str | Path, scenario: Scenario) -> list[ControlComparison]:
    """Gives the calls of a result to a control of the engine, and compares the windows.

    The control computes in its own numbers and keeps its own window throughout, so the two differ
    by rounding at least. Nothing is judged.

    Args:
        folder: The result.
        scenario: A scenario whose first flow has the control.

    Raises:
        InputError: A record cannot be read.
        ScenarioError: The scenario is invalid.
    """
    files = recorded(folder)
    if files:
        named = [
            (file.name, _summary(file)["control"], read_file(file, RECORD_BYTES)) for file in files
        ]
    else:
        named = [(run.name, run.title, run.record()) for run in simulated(folder)]
    return [_beside(name, control, record, scenario) for name, control, record in named]


def _beside(name: str, control: str, record: bytes, scenario: Scenario) -> ControlComparison:
    try:
        outcome = engine.calls_beside(scenario.tree, scenario.folder, record)
    except ValueError as error:
        raise InputError("file", name, str(error).partition(" ")[2]) from None
    return ControlComparison(name, control, outcome)


def _compare_simulated(run: Simulated, folder: Path) -> Comparison:
    try:
        control = engine.control_object(run.scenario, Path())
        outcome = engine.twin_calls(control, run.parameters, run.record())
    except ScenarioError as error:
        words = f"{error}; run twin in the folder of the scenario, or simulate again"
        raise InputError("file", f"{folder}", words) from None
    return Comparison(run.name, run.title, 0, None, outcome)


def _compare(record: Path) -> Comparison:
    stem = str(record).removesuffix(_CALLS)
    summary = _summary(record)
    try:
        control = read_file(stem + _OBJECT, CONTROL_BYTES)
        calls = read_file(record, RECORD_BYTES)
    except FileNotFoundError as error:
        raise InputError("file", f"{error.filename}", _MISSING) from None
    try:
        standing, outcome = answered(control, summary["parameters"], calls)
    except ValueError as error:
        subject, _, words = str(error).partition(" ")
        file = Path(stem + (_OBJECT if subject == "object" else _CALLS))
        raise InputError("file", f"{file}", words) from None
    return Comparison(record.name, summary["control"], summary["missed"], standing, outcome)


def answered(
    control: bytes, parameters: dict[str, int], record: bytes
) -> tuple[str | None, dict[str, Any]]:
    """Gives the calls of a record to their program and compares the answers.

    If the program calls functions of a control of the kernel, the engine's control for it answers.

    Args:
        control: The object file of the program.
        parameters: Values of its parameters.
        record: The record.

    Returns:
        The name of the engine's control, None if the program answered, and what
        `Comparison.outcome` describes.

    Raises:
        ValueError: There is no comparison; its text is the culprit, `object` or `record`, and why.
    """
    named = engine.kernel_control(control)
    if named is None:
        return None, engine.twin_calls(control, parameters, record)
    standing = _standing_for(named)
    scenario = stand_in(standing)
    draws = facts.control(scenario.resolve().tree["flows"][0])[1]["draws"]
    parameter = draws["parameter"] if draws else None
    return standing, engine.twin_of_kernel(scenario.tree, scenario.folder, parameter, record)


def _standing_for(name: str) -> str:
    """Returns the control of the engine that is to do what the kernel's control `name` does."""
    for entry in registry()["controls"]:
        linux = facts.element(entry)["linux"]
        if entry["simulated"] and linux and linux["name"] == name:
            return str(entry["name"])
    raise ValueError(f"object calls the kernel's {name}, which the engine has not")


def _summary(record: Path) -> dict[str, Any]:
    """Returns what is known of a record."""
    summary = summary_of(record)
    if summary is None:
        raise InputError("file", f"{record.with_suffix(_SUMMARY)}", _MISSING)
    return summary
