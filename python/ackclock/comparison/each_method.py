"""Answers one scenario with each method and keeps everything in one folder.

The folder holds the result of each method in `NAME/`, as that method writes it. Beside them are
`comparison.json` and `comparison.parquet` with the comparison, and `report.html`. Results are
cached by content: a complete result of the same inputs is reused. An interrupted command, given
again, therefore continues.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock import engine
from ackclock.comparison import COLUMNS, Column, Comparison
from ackclock.comparison.rows import FIELDS, explanation_rows, rows
from ackclock.elements import facts
from ackclock.errors import InputError, LackingError
from ackclock.models import chosen
from ackclock.result import manifest
from ackclock.result.folder import (
    RESULT,
    Contents,
    refuse_foreign_folder,
    refuse_unwritable_folder,
    whole,
)
from ackclock.result.result import Result
from ackclock.result.tables import COMPRESSION
from ackclock.run import address, cache, prediction
from ackclock.run.kernel_controls import with_kernel_control
from ackclock.run.time_budget import Part, part_within
from ackclock.scenario import Scenario, ScenarioError

# In execution order, most expensive last.
METHODS = ("predict", "simulate", "emulate", "measure")

# What else methods are called, to name the word that is meant.
_MEANT = {
    "linux": "emulate",
    "kernel": "emulate",
    "emulation": "emulate",
    "engine": "simulate",
    "simulation": "simulate",
    "model": "predict",
    "models": "predict",
    "capture": "measure",
    "captures": "measure",
}

# Schema version of comparison.json; changes with its shape.
SCHEMA = 1

COMPARISON = Contents(
    "comparison",
    "comparison.json",
    re.compile(
        r"comparison\.(json|parquet)|report\.html|figures(/[a-z0-9_]+\.(svg|png|pdf))?"
        rf"|({'|'.join(COLUMNS)})(/({RESULT.names.pattern}))?"
    ),
)


class Watch(Protocol):
    """Reports progress, as `ackclock.cli.progress.progress` does."""

    def __call__(
        self, task: str, duration_s: float | None = None
    ) -> AbstractContextManager[Callable[[float], None]]:
        """Returns a context manager whose value takes the share done."""


def compare(
    scenario: Scenario,
    folder: str | Path,
    *,
    asked: Sequence[str] = METHODS,
    models: str = "usual",
    real_time_s: float | None = None,
    device: str = "automatic",
    side_by_side: int = 1,
    averages_unreliable: bool = False,
    linux: str | None = None,
    announce: Callable[[str], None] | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Answers a scenario with each method asked for, and compares the answers.

    A method that this machine cannot run, or that has no answer, becomes a column without numbers
    that states the reason.

    Args:
        scenario: With or without a sweep.
        folder: For the results and the comparison. A result of an earlier comparison is reused if
            it is complete and has the same inputs, and replaced otherwise.
        asked: Any of `METHODS`. `measure` reads the captures of the other methods asked for.
        models: As for `predict`.
        real_time_s: Time limit of emulation, see `ackclock.run.time_budget.part_within`; None for
            no limit.
        device: Carries the packets of an emulation.
        side_by_side: Number of runs that are emulated at once.
        averages_unreliable: True to include unreliable emulated runs in averages.
        linux: Name of a control of the kernel that emulated flows run in place of the scenario's;
            None for the same control in every method.
        announce: Takes one line about what takes real time and what is left out.
        watch: Reports the progress of each method.

    Returns:
        The comparison that `load` reads from the folder. It is partial if it was interrupted
        (Ctrl-C).

    Raises:
        ScenarioError: Bad input; nothing has been run.
        LackingError: This machine can run none of the methods asked for.
        ValueError: A method or model is unknown, or there are no captures to measure.
        InputError: The folder holds something that is not ackclock's.
        KeyboardInterrupt: Interrupted before any method had an answer.
    """
    refuse(asked)
    chosen(models)
    scenario.check()
    emulated = scenario if linux is None else with_kernel_control(scenario, linux)
    folder = Path(folder)
    prepare(folder)
    work = _Work(
        scenario, emulated, linux, folder, models, real_time_s, device, side_by_side,
        announce or _ignore, watch or _unwatched
    )  # fmt: skip
    work.answer(asked)
    if all(column.result is None for column in work.columns.values()):
        _leave_nothing(folder)
        if work.interrupted:
            raise KeyboardInterrupt
        raise LackingError("lacking", "", "; ".join(column.why for column in work.columns.values()))
    comparison = Comparison(
        work.description(), _with(work.columns, averages_unreliable=averages_unreliable)
    )
    _write_tables(folder, comparison)
    return comparison


def refuse(asked: Sequence[str]) -> None:
    """Raises `ValueError` if these methods cannot be compared."""
    unknown = next((name for name in asked if name not in METHODS), None)
    if unknown in _MEANT:
        words = f'unknown method "{unknown}"; say {_MEANT[unknown]}'
        raise InputError("unknown-name", "", words, unknown)
    if unknown is not None:
        raise InputError.unknown("", "method", unknown, METHODS)
    if set(asked) <= {"predict", "measure"} and "measure" in asked:
        raise InputError(
            "missing",
            "",
            "measure needs captures; add simulate or emulate, for example simulate,measure",
        )
    if not asked:
        raise InputError("missing", "", f"no method is left; choose from {','.join(METHODS)}")


def prepare(folder: Path) -> None:
    """Makes the folder, and discards the numbers of an earlier comparison.

    They go first because the results they come from may now be replaced.

    Raises:
        OSError: The folder cannot be written to, or holds something that is not ackclock's.
    """
    refuse_foreign_folder(folder, COMPARISON)
    refuse_unwritable_folder(folder / COMPARISON.mark)
    folder.mkdir(parents=True, exist_ok=True)
    manifest.write_sealed(folder / COMPARISON.mark, {"schema": SCHEMA})


def is_of(scenario: Scenario, linux: str | None, folder: Path) -> bool:
    """Returns true if the comparison in a folder is of this scenario, with that control of Linux.

    This includes one that was interrupted before it had an answer.
    """
    content = _read(folder)
    if content is None:
        return False
    same = content.get("scenario", scenario.tree) == scenario.tree
    return same and ("scenario" not in content or content.get("linux") == linux)


def is_repeatable(folder: Path) -> bool:
    """Returns true if all results of the comparison in a folder can be computed again."""
    return not (folder / "emulate").exists()


def _leave_nothing(folder: Path) -> None:
    """Removes what `prepare` made if nothing was added to it."""
    if [path.name for path in folder.iterdir()] == [COMPARISON.mark]:
        (folder / COMPARISON.mark).unlink()
        folder.rmdir()


def load(folder: str | Path, *, averages_unreliable: bool = False) -> Comparison:
    """Reads the results in a folder and compares them again.

    Raises:
        ValueError: The folder holds no comparison, a damaged one, one of another version, or one
            that was interrupted before it had an answer.
    """
    folder = Path(folder)
    content = _read(folder)
    if content is None or "columns" not in content:
        raise InputError("file", f"{folder}", "holds no comparison; run ackclock compare")
    points = tuple(point["assignments"] for point in content["points"])
    columns: dict[str, Column] = {}
    for entry in content["columns"]:
        result = Result.load(folder / entry["name"]) if entry["answered"] else None
        source = columns.get(COLUMNS[entry["name"]][1])
        columns[entry["name"]] = Column(entry["name"], points, result, entry["why"], source)
    run = {
        name: value for name, value in content.items() if name not in ("columns", "explanations")
    }
    return Comparison(run, _with(columns, averages_unreliable=averages_unreliable))


class _Work:
    """Runs one method after the other."""

    def __init__(
        self,
        scenario: Scenario,
        emulated: Scenario,
        linux: str | None,
        folder: Path,
        models: str,
        real_time_s: float | None,
        device: str,
        side_by_side: int,
        announce: Callable[[str], None],
        watch: Watch,
    ) -> None:
        self._scenario, self._folder, self._models, self._device = scenario, folder, models, device
        self._emulated, self._linux = emulated, linux
        self._announce, self._watch = announce, watch
        self._real_time_s, self._side_by_side = real_time_s, side_by_side
        self._points = scenario.expand()
        self.columns: dict[str, Column] = {}
        self.interrupted = False

    def answer(self, asked: Sequence[str]) -> None:
        """Fills the columns of the methods asked for.

        After an interrupt, the remaining columns only say so.
        """
        made: dict[str, Callable[[], Result | None]] = {
            "predict": self._predict,
            "simulate": lambda: self._simulate(captures="measure" in asked),
            "emulate": self._emulate,
        }
        for name, (_, source) in COLUMNS.items():
            if source in asked and "measure" in asked:
                self._fill(name, partial(self._measure, source))
            elif name in asked:
                self._fill(name, made[name])

    def description(self) -> dict[str, Any]:
        """Returns the contents of comparison.json before anything is compared."""
        resolved = [point.scenario.resolve().tree for point in self._points]
        cut_off = any(
            column.result is not None and column.result.partial for column in self.columns.values()
        )
        return {
            "schema": SCHEMA,
            "name": resolved[0]["name"],
            "seed": str(resolved[0]["seed"]),
            "replicates": resolved[0]["replicates"],
            "versions": {"ackclock": engine.version()},
            "partial": self.interrupted or cut_off,
            "scenario": self._scenario.tree,
            "linux": self._linux,
            "points": [
                {"assignments": point.assignments, "scenario": tree}
                for point, tree in zip(self._points, resolved, strict=True)
            ],
        }

    def _fill(self, name: str, make: Callable[[], Result | None]) -> None:
        """Fills one column; a column without an answer states the reason."""
        points = tuple(point.assignments for point in self._points)
        source = self.columns.get(COLUMNS[name][1])
        if self.interrupted:
            self.columns[name] = Column(name, points, None, "interrupted before it began", source)
            return
        self._why = ""
        try:
            result = make()
        except (LackingError, ScenarioError) as error:
            result, self._why = None, str(error)
        except KeyboardInterrupt:
            result, self._why, self.interrupted = None, "interrupted", True
        self.columns[name] = Column(name, points, result, self._why, source)
        if result is not None and result.partial:
            self.interrupted = not result.run.get("failed", False)

    def _predict(self) -> Result:
        with self._watch("predict"):
            predicted = prediction.predict(self._scenario, self._models)
        predicted.save(self._folder / "predict", replace=True)
        return predicted

    def _simulate(self, *, captures: bool) -> Result:
        """Simulates. Captures are kept only to be measured: the same scenario gives them again."""
        folder = self._folder / "simulate"
        simulation = cache.Simulation(self._scenario, captures=captures)
        kept = simulation.complete_result(folder)
        if kept is not None:
            return kept
        with self._watch("simulate") as tell:
            return simulation.run(folder, tell)

    def _emulate(self) -> Result | None:
        part = part_within(self._emulated, self._real_time_s, self._side_by_side)
        self._why = (
            f"left out to stay within {self._real_time_s:g} s: {part.left_out}"
            if part.left_out
            else ""
        )
        if part.scenario is None:
            return None
        folder = self._folder / "emulate"
        kept = cache.complete_result(folder, address.of_emulation(part.scenario, self._device))
        if kept is not None:
            self._announce(
                f"emulate: taken from {folder}, which holds these runs; remove it to repeat"
            )
            return kept
        if not facts.media(
            self._points[0].scenario.resolve().tree
        ):  # A scenario with a shared medium is refused before it takes any time.
            self._announce(_announcement(part, self._side_by_side))
        with self._watch("emulate", part.duration_s) as tell:
            return cache.emulate(
                part.scenario, folder, tell, captures=True, device=self._device,
                side_by_side=self._side_by_side
            )  # fmt: skip

    def _measure(self, method: str) -> Result | None:
        """Measures the captures in the result of another method."""
        source = self.columns.get(method)
        if source is None or source.result is None:
            self._why = f"there is nothing to measure: {method} has no answer"
            return None
        captured, folder = self._folder / method, self._folder / f"measure-{method}"
        kept = cache.complete_result(folder, address.of_measurement(captured))
        if kept is not None:
            return kept
        try:
            with self._watch(f"measure {method}") as tell:
                return cache.measure(captured, folder, tell)
        except InputError as error:  # The captures hold nothing to measure.
            raise LackingError("no-data", error.field, error.message) from None


def _announcement(part: Part, side_by_side: int) -> str:
    runs = f"{part.runs} run{'' if part.runs == 1 else 's'}"
    at_once = f", {side_by_side} side by side" if side_by_side > 1 else ""
    words = (
        f"emulate: {runs} in real time{at_once}, {part.duration_s:g} s and about a second more "
        "per run"
    )
    return f"{words}; left out: {part.left_out}" if part.left_out else words


def _with(columns: Mapping[str, Column], *, averages_unreliable: bool) -> dict[str, Column]:
    """Returns the columns with averages that include unreliable runs or not.

    Columns measured from their captures follow.
    """
    changed: dict[str, Column] = {}
    for name, column in columns.items():
        result = column.result and replace(column.result, averages_unreliable=averages_unreliable)
        source = changed.get(column.source.name) if column.source is not None else None
        changed[name] = replace(column, result=result, source=source)
    return changed


def _write_tables(folder: Path, comparison: Comparison) -> None:
    columns = [
        {"name": name, "answered": column.result is not None, "why": column.why}
        for name, column in comparison.columns.items()
    ]
    reading = {"reference": comparison.reference, "explanations": explanation_rows(comparison)}
    types = dict.fromkeys(FIELDS, pa.string()) | dict.fromkeys(_NUMBERS, pa.float64())
    types |= {"point": pa.int64(), "replicates": pa.int64(), "unsettled": pa.bool_()}
    types |= dict.fromkeys(("causes", "explanations"), pa.list_(pa.string()))
    table = pa.Table.from_pylist(rows(comparison), pa.schema(types))
    with whole(folder / "comparison.parquet") as aside:
        parquet.write_table(table, aside, compression=COMPRESSION)
    manifest.write_sealed(
        folder / COMPARISON.mark, {**comparison.run, **reading, "columns": columns}
    )


_NUMBERS = ("mean", "low", "high", "residual", "residual_low", "residual_high", "residual_share")


def _read(folder: Path) -> dict[str, Any] | None:
    """Returns the contents of comparison.json; None if they cannot be used."""
    content = manifest.read_sealed(folder / COMPARISON.mark)
    return content if content.get("schema") == SCHEMA else None


def _ignore(_line: str) -> None:
    return None


@contextlib.contextmanager
def _unwatched(
    task: str,  # noqa: ARG001
    duration_s: float | None = None,  # noqa: ARG001
) -> Iterator[Callable[[float], None]]:
    yield lambda _share: None
