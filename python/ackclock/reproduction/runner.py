"""Reproduces experiments into a folder; finished ones are not repeated.

The folder holds `NAME/` for each experiment (its record and figure), `runs/` (results of their
runs), `gallery.json` and `index.html` (everything on one page). Records and results have content
addresses, that is, hashes of what they were made of. Each appears completely or not at all. An
interrupted command, given again, therefore continues.

A quick first look is a gallery of its own, in the folder `QUICK` within: nothing in it is a
documented verdict.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import engine, plot
from ackclock.capture.estimators import asked
from ackclock.errors import LackingError
from ackclock.reproduction.experiment import Experiment, Run
from ackclock.reproduction.outcome import Kind, Outcome, plain
from ackclock.reproduction.runs import FailedRunError
from ackclock.reproduction.runs import addresses as addresses_of
from ackclock.reproduction.runs import distrust as distrust_of
from ackclock.reproduction.runs import results as results_of
from ackclock.result.folder import (
    RESULT,
    Contents,
    refuse_foreign_folder,
    refuse_unwritable_folder,
    staged,
    write_whole,
)
from ackclock.run import address
from ackclock.table import compact_json, json_text

if TYPE_CHECKING:
    from ackclock.report.section import Live

# An experiment and its outcome as plain data, as in `NAME/outcome.json`.
Record = dict[str, Any]

# Schema version of a record; changes with its shape.
SCHEMA = 5

# A page draws curves from their data, and shows any other figure as a drawing.
_LIVE, _DRAWING = "figure.json", "figure.svg"

#: Folder of quick looks within a gallery.
QUICK = "quick"

GALLERY = Contents(
    "gallery",
    "gallery.json",
    re.compile(
        rf"{QUICK}|({QUICK}/)?(gallery\.json|index\.html"
        rf"|runs(/[0-9a-f]+(/({RESULT.names.pattern}))?)?"
        r"|[a-z0-9]+-[a-z0-9.-]+(/(outcome\.json|figure\.(svg|png|json)))?)"
    ),
)


def prepare(folder: Path) -> None:
    """Makes the folder, unless it exists.

    Raises:
        OSError: The folder cannot be written to, or holds something that is not ackclock's.
    """
    refuse_foreign_folder(folder, GALLERY)
    refuse_unwritable_folder(folder / GALLERY.mark)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / GALLERY.mark).exists():
        write_whole(folder / GALLERY.mark, "[]\n")


def reproduce(
    experiment: Experiment,
    folder: Path,
    progress: Callable[[float], None] | None = None,
    *,
    quick: bool = False,
) -> Record:
    """Returns the experiment's record, from the folder if nothing it was made of has changed.

    Args:
        experiment: From the catalogue, or another one.
        folder: See `prepare`.
        progress: Takes the share done.
        quick: True to shorten runs. Only emulations that state their quick form are then run.

    Raises:
        KeyboardInterrupt: Interrupted; runs that had finished are kept.
    """
    full = experiment.runs()
    runs = {name: run.quickly() for name, run in full.items()} if quick else full
    shortened = _shortened(full, runs)
    made_of = address.of_content(
        {
            "experiment": experiment.name,
            "runs": addresses_of(runs),
            "measured": {name: asked(run.estimators) for name, run in runs.items() if run.measured},
            "quick": shortened,
            "package": address.package(),
            "announced_by": address.package(experiment.package) if experiment.package else "",
        }
    )
    record = recorded(experiment, folder)
    if record is not None and record["address"] == made_of:
        return record
    if quick and any(run.method == "emulate" and run.quick is None for run in full.values()):
        real_time = Outcome.not_run(Kind.NOT_RUN, "it takes real time; run without --quick")
        return write_record(experiment, real_time, None, folder)
    try:
        results = results_of(runs, folder / "runs", progress or (lambda _share: None))
    except LackingError as lacking:
        outcome = Outcome.not_run(Kind.NOT_RUN, str(lacking))
    except FailedRunError as failure:
        outcome = Outcome.not_run(Kind.UNRELIABLE, str(failure))
    else:
        outcome = replace(
            experiment.outcome(results), distrust=distrust_of(runs, results), quick=shortened
        )
    is_final = outcome.verdict.kind not in (Kind.NOT_RUN, Kind.UNRELIABLE)
    return write_record(experiment, outcome, made_of if is_final else None, folder)


def reproduce_all(
    experiments: Sequence[Experiment],
    folder: Path,
    progress: Callable[[float], None] | None = None,
    *,
    quick: bool = False,
) -> list[Record]:
    """Returns the records of experiments, one after the other; fewer if it is interrupted."""
    total, done = sum(experiment.cost_s for experiment in experiments), 0.0
    records: list[Record] = []
    for experiment in experiments:

        def tell(share: float, before: float = done, cost: float = experiment.cost_s) -> None:
            if progress is not None:
                progress((before + share * cost) / total)

        try:
            records.append(reproduce(experiment, folder, tell, quick=quick))
        except KeyboardInterrupt:
            break
        tell(1.0)
        done += experiment.cost_s
    return records


def recorded(experiment: Experiment, folder: Path) -> Record | None:
    """Returns the record in the folder, whenever it was made; None if none can be read."""
    try:
        record: Record = json.loads(
            (folder / experiment.name / "outcome.json").read_text(encoding="utf-8")
        )
    except (FileNotFoundError, ValueError):
        return None
    if record.get("schema") != SCHEMA:
        return None
    is_whole = not record["drawn"] or (
        figure_path(experiment, folder).exists() and _shown(experiment, record, folder) is not None
    )
    return record if is_whole else None


def figure_path(experiment: Experiment, folder: Path, ending: str = "svg") -> Path:
    """Returns the path of an experiment's figure, if it has one."""
    return folder / experiment.name / f"figure.{ending}"


def write_gallery(experiments: Iterable[Experiment], folder: Path) -> Path:
    """Writes the page of all records in the folder, whenever they were made; returns its path."""
    from ackclock.reproduction.gallery import gallery

    stored = [
        (experiment, record)
        for experiment in experiments
        if (record := recorded(experiment, folder)) is not None
    ]
    shown = [(record, _shown(experiment, record, folder)) for experiment, record in stored]
    write_whole(folder / GALLERY.mark, json_text([record for _, record in stored]))
    write_whole(folder / "index.html", gallery(shown))
    return folder / "index.html"


def _shown(experiment: Experiment, record: Record, folder: Path) -> "Live | bytes | None":
    """Returns the figure of a page: live, or a drawing as SVG; None if it cannot be read."""
    from ackclock.report.section import Live

    if not record["drawn"]:
        return None
    try:
        data = (folder / experiment.name / record["drawn"]).read_bytes()
        return Live(**json.loads(data)) if record["drawn"] == _LIVE else data
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _shortened(full: Mapping[str, Run], quick: Mapping[str, Run]) -> str:
    """Returns how quick runs were shortened, in words; empty if they were not."""
    words: dict[str, None] = {}
    for before, after in zip(full.values(), quick.values(), strict=True):
        was, now = (run.scenario.expand()[0].scenario.resolve() for run in (before, after))
        if was.replicates != now.replicates:
            words[f"{now.replicates} instead of {was.replicates} replicates"] = None
        if was.duration != now.duration:
            words[f"{now.duration} instead of {was.duration}"] = None
    return ", ".join(words)


def write_record(
    experiment: Experiment, outcome: Outcome, made_of: str | None, folder: Path
) -> Record:
    """Writes the record and figure of an outcome. Without an address it is made again next time."""
    named = {
        name: getattr(experiment, name)
        for name in ("name", "group", "source", "shows", "question", "says")
    }
    drawn = None if outcome.draw is None else outcome.draw()
    spec = drawn.spec if isinstance(drawn, plot.Drawing) else None
    made = {
        "schema": SCHEMA,
        "address": made_of,
        "version": engine.version(),
        "drawn": "" if drawn is None else _LIVE if spec is not None else _DRAWING,
    }
    # As it will be read.
    record: Record = json.loads(json_text(made | named | plain(outcome)))
    with staged(folder / experiment.name) as staging:
        if drawn is not None:
            for ending in ("svg", "png"):
                data = plot.render(drawn, ending, text=True)
                (staging / f"figure.{ending}").write_bytes(data)
        if spec is not None:
            from ackclock.report.live import live

            shown = live(spec, "figure")[0]
            (staging / _LIVE).write_text(compact_json(shown._asdict()), encoding="utf-8")
        (staging / "outcome.json").write_text(json_text(record), encoding="utf-8")
    return record
