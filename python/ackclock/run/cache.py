"""Results kept in folders that say what they were made of: what is whole and made of the same is not made again.

A simulation's address holds everything that decides its bytes. An emulation is not a function of
its inputs: two of them differ, on one machine too. Its address holds what it was asked for, by
which version, on which kernel. What is measured depends on the captures, whatever made them.

The address lies in the result's folder. It is written last, and goes with the folder when that is
replaced, so that it is true at every moment, whoever is killed.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.folder import ADDRESS
from ackclock.run import address, simulation
from ackclock.run.finished import FinishedRuns, is_kept

if TYPE_CHECKING:
    from ackclock.estimators import Estimators
    from ackclock.result import Result
    from ackclock.scenario import Scenario

__all__ = ["Simulation", "emulate", "has_captures", "keep", "known", "measure"]

Tell = Callable[[float], None]


def known(folder: Path, made_of: str) -> "Result | None":
    """The result in a folder, if it is whole and made of this; it may be one that is unreliable."""
    # Not there, damaged, of another version, or of a run that was killed.
    with contextlib.suppress(OSError, ValueError):
        if _address_in(folder) == made_of:
            from ackclock.result import Result

            return Result.load(folder)
    return None


def _address_in(folder: Path) -> str | None:
    """What the result in a folder is made of; None if it does not say."""
    place = folder / ADDRESS
    return place.read_text(encoding="utf-8").strip() if place.is_file() else None


def has_captures(folder: Path) -> bool:
    """Whether the result in a folder has its captures."""
    return (folder / "pcap").is_dir()


def keep(result: "Result", folder: Path, made_of: str) -> "Result":
    """Writes a result that was made in memory into a folder, in place of the one that is there."""
    result.save(folder)
    return _marked(result, folder, made_of)


@dataclass(frozen=True)
class Simulation:
    """The simulation of a scenario, which a folder may hold whole, in part, or not.

    Attributes:
        scenario: With or without a sweep.
        captures: Whether captures belong to it.
        packets: Whether the table `packets` does.
    """

    scenario: "Scenario"
    captures: bool = False
    packets: bool = False

    @cached_property
    def address(self) -> str:
        """What the result is made of."""
        return address.of_run(self.scenario)

    @cached_property
    def _address_of_runs(self) -> str:
        """What runs that are kept before the result is whole are made of."""
        return address.of({"run": self.address, "packets": self.packets, "captures": self.captures})

    def is_begun(self, folder: Path) -> bool:
        """Whether a folder holds it, whole or some of its runs."""
        return _address_in(folder) == self.address or is_kept(folder, self._address_of_runs)

    def known(self, folder: Path) -> "Result | None":
        """The result in a folder, if it is whole and has what is asked for."""
        result = known(folder, self.address)
        if result is None or (self.captures and not has_captures(folder)):
            return None
        return None if self.packets and "packets" not in result.tables else result

    def run(self, folder: Path, progress: Tell, threads: int | None = None) -> "Result":
        """Simulates into a folder, in place of the result there; goes on after runs that an earlier call finished.

        A result that was interrupted has no address; the runs that were finished lie in it, see
        `run.finished`.
        """
        kept = FinishedRuns(folder, self._address_of_runs)
        place = kept.prepare_captures() if self.captures else None
        try:
            result = simulation.simulate(
                self.scenario,
                threads=threads,
                packets=self.packets,
                pcap=place,
                kept=kept,
                progress=progress,
            )
            result.save(folder, place, also=kept.copy_to if result.partial else None)
        except BaseException:
            kept.remove_if_empty()
            raise
        return _marked(result, folder, self.address)


def emulate(
    scenario: "Scenario",
    folder: Path,
    progress: Tell,
    *,
    captures: bool,
    device: str = "automatic",
    side_by_side: int = 1,
) -> "Result":
    """Emulates into a folder likewise. A result in which a run failed has no address.

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
        source,
        folder,
        estimators=estimators,
        progress=lambda now: progress(float(now["fraction"] or 0)),
    )
    return _marked(result, folder, address.of_measurement(source, estimators))


def _marked(result: "Result", folder: Path, made_of: str) -> "Result":
    if not result.partial:
        (folder / ADDRESS).write_text(f"{made_of}\n", encoding="utf-8")
    return result
