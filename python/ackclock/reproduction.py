"""Reproducing published experiments into a folder: what is done already is not done again, what is done stays.

The folder holds `NAME/` for each experiment (its record and its figure), `runs/` (results of what it simulates),
`gallery.json` and `index.html` (everything on one page). Records and results are addressed by content, that is by what
they were made of. Each appears as a whole or not at all, so that an interrupted command, given again, goes on.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import address, plot, ways
from ackclock.experiments import Experiment, plain
from ackclock.folder import Contents, refuse_foreign_folder, refuse_unwritable_folder, staged
from ackclock.summary import plain as plain_numbers

if TYPE_CHECKING:
    from ackclock.result import Result
    from ackclock.scenario import Scenario

__all__ = ["Record", "figure_path", "prepare", "recorded", "reproduce", "reproduce_all", "write_gallery"]

# An experiment and its outcome as plain data, as in `NAME/outcome.json`.
Record = dict[str, Any]

# Of a record; changes with its shape.
SCHEMA = 1

GALLERY = Contents(
    "gallery",
    "gallery.json",
    re.compile(
        r"gallery\.json|index\.html|runs(/[0-9a-f]+(/(run\.json|[a-z_]+\.parquet))?)?"
        r"|[a-z0-9]+-[a-z0-9.-]+(/(outcome\.json|figure\.(svg|png)))?"
    ),
)


def prepare(folder: Path) -> None:
    """Makes the folder, unless it is there.

    Raises:
        OSError: It cannot be written to, or holds what is not ours.
    """
    refuse_foreign_folder(folder, GALLERY)
    refuse_unwritable_folder(folder / GALLERY.mark)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / GALLERY.mark).exists():
        _write(folder / GALLERY.mark, "[]\n")


def reproduce(experiment: Experiment, folder: Path, progress: Callable[[float], None] | None = None) -> Record:
    """The experiment's record: the one that is in the folder, if nothing it was made of has changed.

    Args:
        experiment: Of the catalogue, or one's own.
        folder: See `prepare`.
        progress: Is told the share done.

    Raises:
        KeyboardInterrupt: Interrupted. Simulations that had ended are kept.
    """
    scenarios = experiment.runs()
    runs = {name: address.of_run(scenario) for name, scenario in scenarios.items()}
    made_of = address.of({"experiment": experiment.name, "runs": runs, "package": address.package()})
    known = recorded(experiment, folder)
    if known is not None and known["address"] == made_of:
        return known
    results: dict[str, Result] = {}
    for position, (name, scenario) in enumerate(scenarios.items()):

        def tell(share: float, start: int = position) -> None:
            if progress is not None:
                progress((start + share) / len(scenarios))

        results[name] = _result(scenario, folder / "runs" / runs[name], tell)
    return _conclude(experiment, results, made_of, folder)


def reproduce_all(
    experiments: Sequence[Experiment], folder: Path, progress: Callable[[float], None] | None = None
) -> list[Record]:
    """The records of experiments, one after the other; of fewer if it is interrupted."""
    total, done = sum(one.cost_s for one in experiments), 0.0
    records: list[Record] = []
    for one in experiments:

        def tell(share: float, before: float = done, cost: float = one.cost_s) -> None:
            if progress is not None:
                progress((before + share * cost) / total)

        try:
            records.append(reproduce(one, folder, tell))
        except KeyboardInterrupt:
            break
        tell(1.0)
        done += one.cost_s
    return records


def recorded(experiment: Experiment, folder: Path) -> Record | None:
    """The record that is in the folder, whenever it was made; None if there is none that can be read."""
    try:
        record: Record = json.loads((folder / experiment.name / "outcome.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    usable = record.get("schema") == SCHEMA and figure_path(experiment, folder).exists()
    return record if usable else None


def figure_path(experiment: Experiment, folder: Path, ending: str = "svg") -> Path:
    """Where its figure is."""
    return folder / experiment.name / f"figure.{ending}"


def write_gallery(experiments: Iterable[Experiment], folder: Path) -> Path:
    """Writes the page of all that the folder has of these experiments, whenever it was made; gives the page's path."""
    from ackclock.report.gallery import gallery

    found = [(one, record) for one in experiments if (record := recorded(one, folder)) is not None]
    shown = [(record, figure_path(one, folder).read_bytes()) for one, record in found]
    _write(folder / GALLERY.mark, _json([record for _, record in found]))
    _write(folder / "index.html", gallery(shown))
    return folder / "index.html"


def _conclude(experiment: Experiment, results: "Mapping[str, Result]", made_of: str, folder: Path) -> Record:
    outcome = experiment.conclude(results)
    named = {name: getattr(experiment, name) for name in ("name", "group", "source", "shows", "question", "says")}
    # As it will be read again.
    made = {"schema": SCHEMA, "address": made_of, "version": ways.version()}
    record: Record = json.loads(_json(made | named | plain(outcome)))
    with staged(folder / experiment.name) as staging:
        drawn = outcome.draw()
        for ending in ("svg", "png"):
            plot.save(drawn, staging / f"figure.{ending}")
        _write(staging / "outcome.json", _json(record))
    return record


def _result(scenario: "Scenario", folder: Path, progress: Callable[[float], None]) -> "Result":
    """The result of a scenario, from the folder or from a run."""
    from ackclock.result import Result

    if folder.exists():
        with contextlib.suppress(ValueError):  # damaged, or of another version
            return Result.load(folder)
    result = ways.simulate(scenario, progress=progress)
    if result.partial:
        raise KeyboardInterrupt
    result.save(folder)
    return result


def _json(value: Any) -> str:
    return json.dumps(plain_numbers(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write(path: Path, text: str) -> None:
    """As a whole or not at all."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
