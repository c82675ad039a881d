"""A cache of results in folders: a complete result of the same inputs is not made again.

Each result has an address, a hash of its inputs. That of a simulation covers everything that
decides its bytes. An emulation is not a function of its inputs: two of them differ, even on one
machine. Its address covers what was asked for, the version of ackclock and the kernel. A
measurement depends on the captures, whatever made them.

The address is a file in the result's folder. It is written last and goes when the folder is
replaced, so that it is true at every moment, even if the process is killed.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.result.folder import ADDRESS
from ackclock.result.interrupted import partly
from ackclock.run import address, simulation
from ackclock.run.finished import FinishedRuns, address_in, is_kept

if TYPE_CHECKING:
    from ackclock.capture.estimators import Estimators
    from ackclock.result.result import Result
    from ackclock.scenario import Scenario

Tell = Callable[[float], None]


def complete_result(folder: Path, made_of: str) -> "Result | None":
    """Returns the result in a folder if it is complete and has this address.

    It may be unreliable.
    """
    # The result is missing, damaged, of another version, or of a run that was killed.
    with contextlib.suppress(OSError, ValueError):
        if address_in(folder) == made_of:
            from ackclock.result.result import Result

            result = Result.load(folder)
            result.check_files()
            return result
    return None


def has_captures(folder: Path) -> bool:
    """Returns true if the result in a folder has its captures."""
    return (folder / "pcap").is_dir()


def keep(result: "Result", folder: Path, made_of: str) -> "Result":
    """Saves a result into a folder, in place of the one that is there."""
    result.save(folder, replace=True)
    return _marked(result, folder, made_of)


@dataclass(frozen=True)
class Simulation:
    """The simulation of a scenario; a folder may hold its result completely, partly or not at all.

    Attributes:
        scenario: With or without a sweep.
        captures: True if captures belong to it.
        packets: True if the table `packets` belongs to it.
        qlog: True if qlog files belong to it.
    """

    scenario: "Scenario"
    captures: bool = False
    packets: bool = False
    qlog: bool = False

    @cached_property
    def address(self) -> str:
        """Address of the result."""
        return address.of_run(self.scenario)

    @cached_property
    def _address_of_runs(self) -> str:
        """Address of finished runs that are kept before the result is complete."""
        kinds = {"packets": self.packets, "captures": self.captures, "qlog": self.qlog}
        return address.of_content({"run": self.address, **kinds})

    @property
    def _files(self) -> list[str]:
        """The folders of files that belong to the result."""
        return [kind for kind, asked in (("pcap", self.captures), ("qlog", self.qlog)) if asked]

    def is_begun(self, folder: Path) -> bool:
        """Returns true if a folder holds the result or some of its runs."""
        return address_in(folder) == self.address or is_kept(folder, self._address_of_runs)

    def complete_result(self, folder: Path) -> "Result | None":
        """Returns the result in a folder if it is complete and has what is asked for."""
        result = complete_result(folder, self.address)
        if result is None or not all((folder / kind).is_dir() for kind in self._files):
            return None
        return None if self.packets and "packets" not in result.tables else result

    def run(self, folder: Path, progress: Tell, threads: int | None = None) -> "Result":
        """Simulates into a folder, in place of the result there.

        It continues after the runs that an earlier call finished. An interrupted result has no
        address; its folder keeps the finished runs, see `run.finished`.
        """
        kept = FinishedRuns(folder, self._address_of_runs)
        files = {kind: kept.prepare(kind) for kind in self._files}
        try:
            result = partly(
                lambda: simulation.simulate(
                    self.scenario,
                    threads=threads,
                    packets=self.packets,
                    **files,
                    kept=kept,
                    progress=progress,
                )
            )
            result.save(folder, files, replace=True, also=kept.copy_to if result.partial else None)
            _move(result, folder)
        except BaseException:
            kept.remove_if_empty()
            raise
        finally:
            kept.close()
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
    """Emulates into a folder. A result with failed runs, or of interrupted ones, gets no address.

    Raises:
        LackingError: This machine cannot emulate; nothing has been run.
    """
    from ackclock.run import emulation  # Slow to import, and unused by simulations.

    result = partly(
        lambda: emulation.emulate(
            scenario, folder, device=device, pcap=captures, side_by_side=side_by_side,
            replace=True,
            progress=lambda now: progress(float(now["fraction"])),
        )
    )  # fmt: skip
    return _marked(result, folder, address.of_emulation(scenario, device))


def measure(source: Path, folder: Path, progress: Tell, estimators: "Estimators" = ()) -> "Result":
    """Measures the captures of a result into another folder, with rate estimators if any are named.

    Raises:
        ValueError: The captures hold nothing to measure.
    """
    from ackclock.capture import measurement  # Slow to import, as above.

    result = partly(
        lambda: measurement.measure(
            source,
            folder,
            estimators=estimators,
            replace=True,
            progress=lambda now: progress(float(now["fraction"] or 0)),
        )
    )
    return _marked(result, folder, address.of_measurement(source, estimators))


def _move(result: "Result", folder: Path) -> None:
    """Tells a result's tables that they have been written into a folder."""
    from ackclock.result.spool import SpooledTables

    if isinstance(result.tables, SpooledTables):
        result.tables.move(folder)


def _marked(result: "Result", folder: Path, made_of: str) -> "Result":
    if not result.partial:
        (folder / ADDRESS).write_text(f"{made_of}\n", encoding="utf-8")
    return result
