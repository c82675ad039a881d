"""Results of the runs of experiments, each in a folder under its address.

Experiments with the same runs share them. Of emulations the first reliable one is kept.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.reproduction.experiment import Run, measured
from ackclock.run import address, cache

if TYPE_CHECKING:
    from ackclock.result.result import Result

Tell = Callable[[float], None]

# Share of the time that the measurement of a run takes. Guessed: it is for a progress bar.
_MEASURING = 0.1


class FailedRunError(Exception):
    """A run broke off; one line."""


def addresses(runs: Mapping[str, Run]) -> dict[str, str]:
    """Returns the addresses of the results of runs, by name."""
    address_of = {"simulate": address.of_run, "emulate": address.of_emulation}
    return {name: address_of[run.method](run.scenario) for name, run in runs.items()}


def results(runs: Mapping[str, Run], folder: Path, progress: Tell) -> "dict[str, Result]":
    """Returns the results for `Experiment.conclude` by name, from the folder if they are there.

    Raises:
        KeyboardInterrupt: Interrupted; runs that had finished are kept.
        LackingError: A run must be emulated, and this machine cannot.
        FailedRunError: An emulation broke off.
    """
    by_name: dict[str, Result] = {}
    part = 1 / len(runs) if runs else 0.0
    for position, ((name, run), made_of) in enumerate(
        zip(runs.items(), addresses(runs).values(), strict=True)
    ):
        place, start = folder / made_of, position * part
        running = part * (1 - _MEASURING) if run.measured else part
        result = cache.complete_result(place, made_of)
        if (
            result is None
            or len(result.unreliable) > run.spare
            or (run.measured and not _is_measurable(run, place))
        ):
            result = _ran(run, place, _within(progress, start, running))
        by_name[name] = result
        if run.measured:
            by_name[measured(name)] = _measured(
                run, place, _within(progress, start + running, part - running)
            )
    return by_name


def distrust(runs: Mapping[str, Run], results: "Mapping[str, Result]") -> str:
    """Returns why emulations are unreliable, in one line.

    It is empty if they are reliable, or if no more runs are unreliable than may be spared.
    """
    lines = []
    for name, result in results.items():
        if result.run["method"] == "emulate" and len(result.unreliable) > runs[name].spare:
            verdicts = result.tables["fidelity"].select(["reliable", "verdict"]).to_pylist()
            doubtful = [row["verdict"].removesuffix(".") for row in verdicts if not row["reliable"]]
            others = (
                f", and {len(doubtful) - 1} more of {len(verdicts)} runs"
                if len(doubtful) > 1
                else ""
            )
            lines.append(f"{name}: {doubtful[0]}{others}")
    return "; ".join(lines)


def _within(progress: Tell, start: float, part: float) -> Tell:
    """Returns a function that reports the progress of a part of the work."""
    return lambda share: progress(start + part * share)


def _ran(run: Run, place: Path, progress: Tell) -> "Result":
    if run.method == "simulate":
        result = cache.Simulation(run.scenario, captures=run.measured).run(place, progress)
    else:
        result = cache.emulate(
            run.scenario, place, progress, captures=run.measured, side_by_side=run.side_by_side
        )  # fmt: skip
    if result.run.get("failed"):
        raise FailedRunError(next(line for line in result.run["warnings"] if "failed" in line))
    if result.partial:
        raise KeyboardInterrupt
    return result


def _is_measurable(run: Run, place: Path) -> bool:
    """Returns true if a result still has its captures or their measurement."""
    return cache.has_captures(place) or _known_measurement(run, place) is not None


def _measured(run: Run, place: Path, progress: Tell) -> "Result":
    stored = _known_measurement(run, place)
    if stored is not None:
        return stored
    result = cache.measure(place, _measurement(run, place), progress, run.estimators)
    if result.partial:
        raise KeyboardInterrupt
    if run.method == "simulate":  # The captures are large, and can be made again.
        shutil.rmtree(place / "pcap")
    return result


def _known_measurement(run: Run, place: Path) -> "Result | None":
    folder = _measurement(run, place)
    return cache.complete_result(folder, folder.name)


def _measurement(run: Run, place: Path) -> Path:
    """Returns the folder of a result's measurement, which is beside it."""
    return place.parent / address.of_measurement(place, run.estimators)
