"""Results of what experiments run, kept in a folder under the address of what they were made of.

A simulation's address holds everything that decides its bytes. An emulation is not a function of its inputs: two of
them differ, on one machine too. Its address holds what it was asked for, by which version, on which kernel; the first
one that can be trusted is kept. What is measured depends on the captures, whatever made them.
"""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import address, ways
from ackclock.experiments import Run, measured

if TYPE_CHECKING:
    from ackclock.result import Result

__all__ = ["FailedRunError", "addresses", "distrust", "results"]

Tell = Callable[[float], None]

# Of a run that is measured too, the share of the time that measuring takes. Guessed: it is for a progress bar.
_MEASURING = 0.1


class FailedRunError(Exception):
    """A run broke off; one line."""


def addresses(runs: Mapping[str, Run]) -> dict[str, str]:
    """Where the results of runs are kept, by their names."""
    of = {"simulate": address.of_run, "emulate": address.of_emulation}
    return {name: of[run.way](run.scenario) for name, run in runs.items()}


def results(runs: Mapping[str, Run], folder: Path, progress: Tell) -> "dict[str, Result]":
    """What `Experiment.conclude` is given: results by name, from the folder if they are there.

    Raises:
        KeyboardInterrupt: Interrupted. What had ended before is kept.
        LackingError: Something is to be emulated, and this machine cannot.
        FailedRunError: An emulation broke off.
    """
    found: dict[str, Result] = {}
    part = 1 / len(runs) if runs else 0.0
    for position, ((name, run), made_of) in enumerate(zip(runs.items(), addresses(runs).values(), strict=True)):
        place, start = folder / made_of, position * part
        running = part * (1 - _MEASURING) if run.measured else part
        known = _known(place)
        if known is None or (run.measured and not _is_measurable(place)):
            known = _ran(run, place, _within(progress, start, running))
        found[name] = known
        if run.measured:
            found[measured(name)] = _measured(run, place, _within(progress, start + running, part - running))
    return found


def distrust(found: "Mapping[str, Result]") -> str:
    """Why emulations among results are not to be trusted, in one line; empty if they are."""
    lines = [
        f"{name}: {row['verdict'].removesuffix('.')}"
        for name, result in found.items()
        if result.run["way"] == "emulate"
        for row in result.tables["fidelity"].select(["trusted", "verdict"]).to_pylist()
        if not row["trusted"]
    ]
    return "; ".join(lines)


def _within(progress: Tell, start: float, part: float) -> Tell:
    """Tells of a part of the work."""
    return lambda share: progress(start + part * share)


def _ran(run: Run, folder: Path, progress: Tell) -> "Result":
    if run.way == "simulate":
        return _simulated(run, folder, progress)
    result = ways.emulate(
        run.scenario, folder, pcap=run.measured, progress=lambda now: progress(float(now["fraction"]))
    )
    if result.run["failed"]:
        raise FailedRunError(next(line for line in result.run["warnings"] if "failed" in line))
    if result.partial:
        raise KeyboardInterrupt
    return result


def _simulated(run: Run, folder: Path, progress: Tell) -> "Result":
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        captures = Path(scratch) / "pcap" if run.measured else None
        if captures is not None:
            captures.mkdir()
        result = ways.simulate(run.scenario, pcap=captures, progress=progress)
        if result.partial:
            raise KeyboardInterrupt
        result.save(folder, captures)
    return result


def _is_measurable(place: Path) -> bool:
    """Whether a result still has its captures, or what was measured of them."""
    return (place / "pcap").is_dir() or _known(_measurement(place)) is not None


def _measured(run: Run, place: Path, progress: Tell) -> "Result":
    known = _known(_measurement(place))
    if known is not None:
        return known
    result = ways.measure(place, _measurement(place), progress=lambda now: progress(float(now["fraction"] or 0)))
    if result.partial:
        raise KeyboardInterrupt
    if run.way == "simulate":  # its captures are large, and can be had again
        shutil.rmtree(place / "pcap")
    return result


def _measurement(place: Path) -> Path:
    """Where what was measured of a result is kept: beside it."""
    return place.parent / address.of_measurement(place)


def _known(folder: Path) -> "Result | None":
    """The result in a folder, if there is a whole one that is to be trusted."""
    from ackclock.result import Result

    if folder.exists():
        with contextlib.suppress(ValueError):  # damaged, of another version, or of a run that was killed
            result = Result.load(folder)
            return None if result.partial or result.untrusted else result
    return None
