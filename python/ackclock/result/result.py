"""The result of a run: one folder, the same for all methods.

`run.json` describes the run; each table is a Parquet file. Names of columns end in their unit. A
value that a method cannot know is null.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock import notebook, units
from ackclock.errors import InputError
from ackclock.result.folder import (
    link_or_copy,
    naming,
    refuse_foreign_folder,
    refuse_other_result,
    staged,
)
from ackclock.result.run_json import MORE, TABLES, read, run_again, run_json
from ackclock.result.spool import written
from ackclock.result.tables import Tables, TablesInFolder, groups, matching, repeated
from ackclock.table import Column, table

# Metrics that a notebook shows of a result.
_SHOWN = ("goodput", "rtt")
# Tables of a long capture that may be larger than memory: they are read on demand.
_LARGE: dict[str, frozenset[str]] = {
    "measure": frozenset({"samples", "limit_periods", "rtt_histogram"})
}


@dataclass(frozen=True, repr=False)
class Result:
    """A run and what came of it.

    Attributes:
        run: Contents of `run.json`: `method`, `name`, `seed` (a string, so that no reader rounds
            it), `replicates`, `versions`, `partial`, `warnings`, `controls` and `points`.
            `controls` has the name and label of each, in the order of the registry. Each point has
            its `assignments` and resolved `scenario`. An emulation adds `machine`, `folder` (where
            the files named by the scenario were) and `failed`. A measurement adds its `source` and
            what its `captures` hold. For captures from elsewhere `seed` and `scenario` are None,
            and there is one point without a scenario.
        tables: By name. Column `point` is the index into `run["points"]`.
        averages_unreliable: True if averages include unreliable emulated runs.
    """

    run: dict[str, Any]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    averages_unreliable: bool = False

    @property
    def partial(self) -> bool:
        """True if the run was interrupted, so that replicates or points are missing."""
        return bool(self.run.get("partial"))

    @property
    def is_session(self) -> bool:
        """True for a session of `ackclock send` or `ackclock receive`."""
        return self.run["method"] in ("send", "receive")

    @property
    def points(self) -> list[dict[str, Any]]:
        """The `assignments` and resolved `scenario` of each point.

        None for a capture from elsewhere.
        """
        points: list[dict[str, Any]] = self.run["points"]
        return points

    @cached_property
    def unreliable(self) -> frozenset[tuple[int, int]]:
        """Point and replicate of each unreliable emulated run.

        Computed runs are always reliable.
        """
        fidelity = self.tables.get("fidelity")
        if fidelity is None:
            return frozenset()
        rows = fidelity.select(["point", "replicate", "reliable"]).to_pylist()
        return frozenset((row["point"], row["replicate"]) for row in rows if not row["reliable"])

    def rows(self, name: str, columns: Sequence[str] = (), /, **wanted: Any) -> pa.Table:
        """Returns the rows of a table whose columns have these values.

        A table in a folder is read piece by piece, so that other rows take little memory.

        Args:
            name: Name of the table.
            columns: Names of the columns to return; empty for all.
            wanted: Column to value, or to a list of accepted values.

        Raises:
            KeyError: There is no such table.
        """
        if isinstance(self.tables, Tables):
            return self.tables.rows(name, wanted, columns)
        return matching(self.tables[name], wanted, columns)

    @property
    def left_out(self) -> frozenset[tuple[int, int]]:
        """Point and replicate of each run that averages leave out."""
        return frozenset() if self.averages_unreliable else self.unreliable

    @cached_property
    def lasted_s(self) -> dict[tuple[int, int], float]:
        """Time that each run covers, by point and replicate; less than asked if it was cut short.

        Empty if the tables do not tell.
        """
        if "hops" not in self.tables:
            return {}
        last = groups(self.tables["hops"], ["point", "replicate"]).aggregate([("time_s", "max")])
        return {(row["point"], row["replicate"]): row["time_s_max"] for row in last.to_pylist()}

    @property
    def replicates(self) -> tuple[int, int]:
        """The least and the largest number of replicates that a point has."""
        if not self.partial or not self.lasted_s:
            return self.run["replicates"], self.run["replicates"]
        counts = Counter(point for point, _ in self.lasted_s)
        each = [counts[point] for point in range(len(self.points))]
        return min(each), max(each)

    @property
    def counted(self) -> str:
        """The number of replicates of a point: `5`, `3 to 5`, or `up to 5` if a point has none."""
        least, most = self.replicates
        if least == most:
            return str(most)
        return f"{least} to {most}" if least else f"up to {most}"

    @property
    def cut_short(self) -> str:
        """Words about the runs that were cut short, in brackets; empty if there are none."""
        if not self.partial:
            return ""
        ends = [units.seconds(point["scenario"]["duration"]) for point in self.points]
        cut = sum(lasted < ends[point] for (point, _), lasted in self.lasted_s.items())
        if not cut:
            return ""
        return " (cut short)" if len(self.lasted_s) == 1 else f" ({cut} of them cut short)"

    @cached_property
    def identical(self) -> frozenset[int]:
        """Points whose replicates are one simulation repeated, as nothing random affects it."""
        if self.run["method"] != "simulate" or "flows" not in self.tables:
            return frozenset()
        return repeated(self.tables["flows"])

    @property
    def of_phases(self) -> bool:
        """True if replicates differ by their phases alone, as nothing else is random."""
        return self.replicates[1] > 1 and all(
            (point.get("scenario") or {}).get("vary") == "phase" for point in self.points
        )

    @property
    def averaging(self) -> str:
        """The part of a title that says how its numbers were averaged."""
        unreliable = len(self.unreliable)
        sample = "one replicate" if self.run["scenario"] else "one session"
        phases = " (phases varied)" if self.of_phases else ""
        words = (
            f"means of {self.counted} replicates{phases}{self.cut_short} ± 95 % confidence"
            if self.replicates[1] > 1
            else f"{sample}{self.cut_short}, no confidence interval"
        )
        if len(self.identical) == len(self.points):
            words = (
                f"{self.counted} identical replicates (nothing random affects them), "
                "no confidence interval"
            )
        if unreliable:
            runs = f"{unreliable} unreliable run{'' if unreliable == 1 else 's'}"
            words += f", {runs} {'left out' if self.left_out else 'taken in'}"
        return f"interrupted, of what was run: {words}" if self.partial else words

    def frame(self, *metrics: str, subject: str | None = None, by: str = "point") -> pa.Table:
        """Returns metrics as a tidy Arrow table, for pandas and polars.

        Args:
            metrics: Names of metrics, such as `utilisation` and `queueing_delay_p99`.
            subject: One of the subjects of the metrics; None for all.
            by: `point` for means over replicates with the half widths of their 95 % confidence
                intervals, `replicate` for the value of each replicate.

        Returns:
            A row for each point and flow or hop; swept values are columns of numbers with the unit
            in the name. See `ackclock.metrics.frame.frame`.

        Raises:
            InputError: There is no such metric or subject.
        """
        from ackclock.metrics.frame import frame

        return frame(self, metrics, subject=subject, by=by)

    @property
    def folder(self) -> Path | None:
        """The folder that it was read from; None if it is only in memory."""
        return self.tables.folder if isinstance(self.tables, TablesInFolder) else None

    def __repr__(self) -> str:
        return f"Result({', '.join(self._words())})"

    def _words(self) -> list[str]:
        """Returns the method, the name and the size, and whether it is partial."""
        points = len(self.points)
        size = [f"{points} points"] if points > 1 else []
        if self.run["method"] != "predict":  # which has no randomness
            size.append(f"{self.counted} replicate{'' if self.replicates[1] == 1 else 's'}")
        return [f"{self.run['method']} {self.run['name']}", *size,
                *(["partial"] if self.partial else [])]  # fmt: skip

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the run, goodput and RTT of each flow, the folder."""
        kept = "" if self.folder is None else f"folder {self.folder}"
        doubts = [f"warning: {warning}" for warning in self.run["warnings"]]
        title, *words = self._words()
        lines = [", ".join(words), *doubts, kept]
        if "flows" not in self.tables or self.is_session:
            rows = self.tables["predictions"].to_pylist() if "predictions" in self.tables else []
            cells = [
                [row["flow"], row["label"], row["goodput_bit_per_s"] * 1e-6]
                for row in rows
                if row["goodput_bit_per_s"] is not None
            ]
            shown = table(title, ["flow", "model", Column("goodput", "Mbit/s")], cells)
            return notebook.block(title, lines, shown)
        from ackclock.validity.metric_table import metric_table

        shown = metric_table(self, _SHOWN, self.frame(*_SHOWN))
        return notebook.block(title, [*lines, shown.note], shown)

    def save(
        self,
        folder: str | Path,
        files: Mapping[str, Path] | None = None,
        *,
        replace: bool = False,
        also: Callable[[Path], None] | None = None,
    ) -> Path:
        """Writes the folder completely or not at all.

        Args:
            folder: The folder to write.
            files: Folders of the files that runs wrote, by the names of their copies (`pcap`).
            replace: True to replace a result that the folder holds.
            also: Takes the folder before it is put in place, to add more files.

        Raises:
            InputError: The folder holds a result that is not to be replaced, or something else.
        """
        folder = Path(folder)
        refuse_foreign_folder(folder)
        if not replace:
            refuse_other_result(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with naming(folder), staged(folder) as staging:
            tables = {name: written(self.tables, name, staging) for name in self.tables}
            (staging / "run.json").write_text(run_json(self.run, tables), encoding="utf-8")
            for name, place in (files or {}).items():
                shutil.copytree(place, staging / name, copy_function=link_or_copy)
            if also is not None:
                also(staging)
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Reads a folder that a run wrote.

        Each table is compared with what was written when it is read. Tables that may be larger than
        memory are read on demand.

        Raises:
            ValueError: The folder holds no result, one of a newer version, one of a run that was
                killed, or a table is missing or damaged; one line.
        """
        folder = Path(folder)
        run, files = read(folder)
        tables = TablesInFolder(folder, files, run_again(run))
        needed = TABLES.get(run["method"], ())
        missing = [name for name in needed if name not in tables]
        if missing and run["method"] in MORE and run.get("partial"):
            replay = (
                f"ackclock replay {folder} works on what there is, or "
                if run["method"] == "emulate"
                else ""
            )
            lacking = f"holds no {', '.join(missing)}, as the run was killed or still goes on"
            raise InputError("file", f"{folder}", f"{lacking}; {replay}{run_again(run)}")
        if missing:
            raise InputError(
                "file", f"{folder}", f"holds no {missing[0]}.parquet; {run_again(run)}"
            )
        for name in needed:
            if name in _LARGE.get(run["method"], ()):
                tables.check(name, content=False)
            else:
                tables[name]
        return cls(run, tables)

    def check_files(self) -> None:
        """Compares the files of all tables with what was written; nothing if it is not in a folder.

        Raises:
            InputError: One is missing or damaged.
        """
        if isinstance(self.tables, TablesInFolder):
            for name in self.tables:
                self.tables.check(name)
