"""The result of a run: one folder, the same for all ways of answering.

`run.json` says what was run; each table is a Parquet file. Columns end in their unit; what a way cannot know is null.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from ackclock.folder import refuse_foreign_folder, staged

__all__ = ["SCHEMA", "Result"]

# Of run.json; goes up when a reader of an older one would misunderstand it.
SCHEMA = 1

# What run.json holds at least, and the tables that each way of answering fills.
_RUN = frozenset({"way", "name", "seed", "replicates", "versions", "warnings", "controls", "scenario", "points"})
_TABLES = {"simulate": frozenset({"flows", "samples", "hops", "events"}), "predict": frozenset({"predictions"})}


@dataclass(frozen=True)
class Result:
    """What was run and what came out.

    Attributes:
        run: What `run.json` holds: `way`, `name`, `seed` (a string, so that no reader rounds it), `replicates`,
            `versions`, `partial`, `warnings`, `controls` (name and label of each, in the registry's order) and
            `points`, each with its `assignments` and resolved `scenario`.
        tables: By name. Column `point` is the index into `run["points"]`.
    """

    run: dict[str, Any]
    tables: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def partial(self) -> bool:
        """Whether the run was interrupted, so that replicates or points are missing."""
        return bool(self.run.get("partial"))

    @property
    def points(self) -> list[dict[str, Any]]:
        """Each point's `assignments` and resolved `scenario`."""
        points: list[dict[str, Any]] = self.run["points"]
        return points

    def save(self, folder: str | Path, captures: str | Path | None = None) -> Path:
        """Writes a folder, all of it or nothing.

        Args:
            folder: Replaced if it is a result already.
            captures: A folder of pcap files to move in as `pcap`.

        Raises:
            FileExistsError: There is something else.
        """
        folder = Path(folder)
        refuse_foreign_folder(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with staged(folder) as staging:
            text = json.dumps(self.run, indent=2, ensure_ascii=False, allow_nan=False)
            (staging / "run.json").write_text(text + "\n", encoding="utf-8")
            for name, table in self.tables.items():
                parquet.write_table(table, staging / f"{name}.parquet", compression="zstd")
            if captures is not None:
                shutil.move(str(captures), staging / "pcap")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Reads a folder that `save` wrote.

        Raises:
            ValueError: It is no result folder, or a newer version's; one line.
        """
        folder = Path(folder)
        try:
            run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except OSError:
            raise ValueError(f"{folder}: holds no run.json; give a folder that ackclock simulate wrote") from None
        except ValueError:
            raise ValueError(f"{folder}/run.json: is damaged; run ackclock simulate again") from None
        if not isinstance(run, dict) or run.get("schema") != SCHEMA:
            raise ValueError(
                f"{folder}/run.json: is not of schema {SCHEMA}; run it again with this version of ackclock"
            )
        lacking = sorted(_RUN - run.keys())
        if lacking or not run["points"]:
            what = f"has no {', '.join(lacking)}" if lacking else "has no points"
            raise ValueError(f"{folder}/run.json: {what}; run ackclock simulate again")
        try:
            tables = {path.stem: parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))}
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{folder}: {str(error).splitlines()[0]}; run ackclock simulate again") from None
        missing = sorted(_TABLES.get(run["way"], frozenset()) - tables.keys())
        if missing:
            raise ValueError(f"{folder}: holds no {missing[0]}.parquet; run ackclock simulate again")
        return cls(run, tables)
