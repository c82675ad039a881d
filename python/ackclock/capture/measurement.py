"""Measures packet captures into a result folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock import engine, notebook, units
from ackclock.capture import MODELS_OF_CAPTURES, datagrams
from ackclock.capture.connections import passed_over, reservations
from ackclock.capture.estimators import Estimators, asked, described
from ackclock.capture.predictions import CONNECTIONS, of_connections
from ackclock.capture.sources import STANDARD_INPUT, Capture, Source, find
from ackclock.errors import CaptureError, InputError
from ackclock.models import Model, chosen
from ackclock.result.columns import table_of
from ackclock.result.folder import RESULT, refuse_foreign_folder
from ackclock.result.interrupted import Interrupted
from ackclock.result.manifest import read_sealed
from ackclock.result.result import Result
from ackclock.result.run_json import SCHEMA
from ackclock.result.tables import TablesInFolder
from ackclock.result.writer import GrowingResult


def measure(
    source: str | Path,
    folder: str | Path,
    *,
    interval: str = "100 ms",
    warmup: str = "0 s",
    segments: bool = False,
    estimators: Estimators = (),
    models: str = MODELS_OF_CAPTURES,
    top: int = CONNECTIONS,
    replace: bool = False,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Measures the TCP connections in packet captures, and of UDP what an encrypted flow tells.

    Args:
        source: A pcap or pcapng file, plain or gzipped; `-` for standard input; or the result
            folder of `simulate` with captures or of `emulate`, whose captures at the senders are
            measured.
        folder: For the result. It grows while the captures are read, as they may be larger than
            memory.
        interval: Time between two rows of the table `samples`.
        warmup: Time since the first packet that means leave out. Captures of a run have the run's.
        segments: True to fill the table `segments`, one row per mark of a time-sequence plot.
        estimators: Rate estimators that are driven by the ACKs of each connection captured near its
            sender, as for `ackclock.rate_estimates`. They fill the table `rate_estimates` and see
            the bytes in flight as the window.
        models: Models asked about the connections, as for `predict`.
        top: Number of connections that models are asked about, those with the most payload.
        replace: True to replace a result that the folder holds, as soon as there is something to
            write.
        progress: Takes the progress about ten times a second: `fraction` of the bytes read, None if
            unknown, and `packets`. In a notebook the default is a bar.

    Returns:
        The result in that folder. It has the tables `flows`, `samples`, `connections`,
        `limit_periods`, `rtt_histogram`, `estimates` and `predictions`; `datagrams` if there is
        UDP; and on request `rate_estimates` and `segments`. Rows from captures of a run have the
        same keys as the tables of that run.

    Raises:
        Interrupted: Ctrl-C; the exception's `result` is the partial one in the folder.
        CaptureError: A file is not a capture or holds nothing to measure; nothing has been written.
        ScenarioError: An estimator is unknown or its parameters are invalid.
        ValueError: A model is unknown, or the folder holds no captures.
        InputError: The folder holds a result that is not to be replaced, or something else.
    """
    wanted = chosen(models)
    running = asked(estimators)
    interval_s = units.seconds(interval)
    captured = find(source)
    folder = Path(folder)
    _refuse_own_place(captured, folder)
    run = _describe_captures(source, captured)
    run["estimators"] = described(running)
    with (
        GrowingResult(
            folder,
            run,
            "nothing yet; run ackclock measure again",
            replace=replace,
            with_first_rows=True,
        ) as growing,
        notebook.progress(f"measure {captured.name}", progress) as tell,
    ):
        outcome = engine.measure(
            [
                (list(capture.files), capture.point, capture.replicate)
                for capture in captured.captures
            ],
            [([], units.seconds(warmup)) for _ in captured.captures]
            if captured.run is None
            else [_flows_and_warmup(captured.run, capture) for capture in captured.captures],
            "" if captured.run is None else captured.run["method"],
            interval_s=interval_s,
            segments=segments,
            estimators=running,
            progress=tell,
            take=lambda name, columns: growing.append(name, table_of(columns)),
        )
        run["captures"] = json.loads(outcome["captures"])
        run["partial"] = run["partial"] or not outcome["complete"]
        if not growing.begun:
            raise _nothing(run, complete=outcome["complete"])
        for name, columns in outcome["tables"].items():
            growing.append(name, table_of(columns))
        growing.finish(run, _concluded(run, captured, growing.settle(), wanted, top))
    result = Result.load(folder)
    if not outcome["complete"]:
        raise Interrupted(result)
    return result


def is_partial(folder: Path) -> bool:
    """Returns true if the measurement in a folder was interrupted."""
    return bool(read_sealed(folder / RESULT.mark).get("partial"))


def is_repeatable(source: str | Path, folder: Path) -> bool:
    """Returns true if a folder holds a measurement of the same captures.

    They must not have changed since. What came from standard input is gone.
    """
    mark = folder / RESULT.mark
    run = read_sealed(mark)
    of_same = run.get("method") == "measure" and (
        Path(run["source"]).resolve() == Path(source).resolve()
    )
    if not of_same or str(source) == STANDARD_INPUT:
        return False
    measured = mark.stat().st_mtime
    files = [Path(file) for capture in find(source).captures for file in capture.files]
    return all(file.stat().st_mtime <= measured for file in files)


def _flows_and_warmup(run: dict[str, Any], capture: Capture) -> tuple[list[tuple[str, int]], float]:
    """Returns what the engine needs to name the flows in a capture of a run, and the warm-up."""
    return list(capture.flows), units.seconds(run["points"][capture.point]["scenario"]["warmup"])


def _refuse_own_place(captured: Source, folder: Path) -> None:
    """Raises `InputError` if the result would replace its own captures."""
    refuse_foreign_folder(folder)
    files = [
        Path(file)
        for capture in captured.captures
        for file in capture.files
        if file != STANDARD_INPUT
    ]
    if any(folder.resolve() in file.resolve().parents for file in files):
        raise InputError(
            "file", f"{folder}", "holds the capture to be measured; choose another folder"
        )


def _describe_captures(source: str | Path, captured: Source) -> dict[str, Any]:
    """Returns the contents of run.json for a measurement.

    For captures of a run they include the description of that run.
    """
    own = captured.run or {
        "seed": None,
        "replicates": 1,
        "partial": False,
        "controls": [],
        "scenario": None,
        "points": [{"assignments": {}, "scenario": None}],
    }
    kept = ("seed", "replicates", "partial", "controls", "scenario", "points")
    return (
        {"schema": SCHEMA, "method": "measure", "name": captured.name}
        | {name: own[name] for name in kept}
        | {
            "versions": {"ackclock": engine.version()},
            "warnings": [],
            "source": str(source),
            "captures": [],
        }
    )


def _nothing(run: dict[str, Any], *, complete: bool) -> BaseException:
    """Returns the error for captures without TCP and UDP."""
    if not complete:
        return KeyboardInterrupt()
    skipped = passed_over(run["captures"])
    others = f" ({skipped})" if skipped else ""
    sentence = f"holds neither TCP nor UDP{others}; capture with tcpdump -w FILE tcp or udp"
    return CaptureError("file", run["source"], sentence)


def _concluded(
    run: dict[str, Any],
    captured: Source,
    measured_tables: TablesInFolder,
    models: tuple[Model, ...],
    top: int,
) -> dict[str, pa.Table]:
    """Derives tables from measured ones, and adds warnings to `run`."""
    measured = Result(run, measured_tables)
    run["warnings"] += [*reservations(measured), *datagrams.warnings(measured)]
    tables = of_connections(measured, models, top)
    if (
        captured.run is not None
        and captured.run["method"] == "emulate"
        and not captured.run.get("partial")
    ):
        # Averages of a measurement leave out unreliable runs too.
        tables["fidelity"] = Result.load(run["source"]).tables["fidelity"]
    return tables
