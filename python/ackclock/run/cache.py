"""Results kept in folders that say what they were made of: what is whole and made of the same is not made again.

A simulation's address holds everything that decides its bytes. An emulation is not a function of its inputs: two of
them differ, on one machine too. Its address holds what it was asked for, by which version, on which kernel. What is
measured depends on the captures, whatever made them.

The address lies in the result's folder. It is written last, and goes with the folder when that is replaced, so that it
is true at every moment, whoever is killed.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.folder import ADDRESS
from ackclock.run import address, simulation
from ackclock.run.finished import FinishedRuns, is_kept

if TYPE_CHECKING:
    from ackclock.estimators import Estimators
    from ackclock.result import Result
    from ackclock.scenario import Scenario

__all__ = ["emulate", "has_captures", "is_begun", "keep", "known", "measure", "simulate", "simulated"]

Tell = Callable[[float], None]


def known(folder: Path, made_of: str) -> "Result | None":
    """The result in a folder, if it is whole and made of this; it may be one that is unreliable."""
    # Not there, damaged, of another version, or of a run that was killed.
    with contextlib.suppress(OSError, ValueError):
        if (folder / ADDRESS).read_text(encoding="utf-8").strip() == made_of:
            from ackclock.result import Result

            return Result.load(folder)
    return None


def has_captures(folder: Path) -> bool:
    """Whether the result in a folder has its captures."""
    return (folder / "pcap").is_dir()


def keep(result: "Result", folder: Path, made_of: str) -> "Result":
    """Writes a result that was made in memory into a folder, in place of the one that is there."""
    result.save(folder)
    return _marked(result, folder, made_of)


def simulate(
    scenario: "Scenario",
    folder: Path,
    progress: Tell,
    *,
    captures: bool,
    packets: bool = False,
    threads: int | None = None,
) -> "Result":
    """Simulates into a folder, in place of the result that is there; goes on after runs that an earlier call finished.

    A result that was interrupted has no address; the runs that were finished lie beside it, see `run.finished`.
    """
    kept = FinishedRuns(folder, _begun_as(scenario, packets=packets, captures=captures))
    place = kept.pcap if captures else None
    if place is not None:
        kept.begin()
        place.mkdir(exist_ok=True)
    try:
        result = simulation.simulate(
            scenario, threads=threads, packets=packets, pcap=place, kept=kept, progress=progress
        )
        result.save(folder, place, also=kept.copy_to if result.partial else None)
    except BaseException:
        kept.forget_nothing()
        raise
    return _marked(result, folder, address.of_run(scenario))


def simulated(scenario: "Scenario", folder: Path, *, captures: bool, packets: bool = False) -> "Result | None":
    """The simulation of a scenario in a folder, if it is whole and has what is asked for."""
    result = known(folder, address.of_run(scenario))
    if result is None or (captures and not has_captures(folder)) or (packets and "packets" not in result.tables):
        return None
    return result


def is_begun(scenario: "Scenario", folder: Path, *, captures: bool, packets: bool) -> bool:
    """Whether a folder holds the simulation of a scenario, whole or some of its runs."""
    place = folder / ADDRESS
    whole = place.is_file() and place.read_text(encoding="utf-8").strip() == address.of_run(scenario)
    return whole or is_kept(folder, _begun_as(scenario, packets=packets, captures=captures))


def _begun_as(scenario: "Scenario", *, packets: bool, captures: bool) -> str:
    """What runs that are kept before the result is whole are made of."""
    return address.of({"run": address.of_run(scenario), "packets": packets, "captures": captures})


def emulate(
    scenario: "Scenario",
    folder: Path,
    progress: Tell,
    *,
    captures: bool,
    device: str = "automatic",
    side_by_side: int = 1,
) -> "Result":
    """Emulates likewise; neither has one an address in which a run failed.

    Raises:
        LackingError: This machine cannot; nothing has been run.
    """
    from ackclock.run import emulation  # heavy, and of no use to a simulation

    result = emulation.emulate(
        scenario, folder, device=device, pcap=captures, side_by_side=side_by_side,
        progress=lambda now: progress(float(now["fraction"])),
    )  # fmt: skip
    return _marked(result, folder, address.of_emulation(scenario, device))


def measure(source: Path, folder: Path, progress: Tell, estimators: "Estimators" = ()) -> "Result":
    """Measures the captures of the result in another folder likewise, with rate estimators along if any are named.

    Raises:
        ValueError: There is nothing in them.
    """
    from ackclock.capture import measurement  # heavy, as above

    result = measurement.measure(
        source, folder, estimators=estimators, progress=lambda now: progress(float(now["fraction"] or 0))
    )
    return _marked(result, folder, address.of_measurement(source, estimators))


def _marked(result: "Result", folder: Path, made_of: str) -> "Result":
    if not result.partial:
        (folder / ADDRESS).write_text(f"{made_of}\n", encoding="utf-8")
    return result
