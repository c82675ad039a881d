"""Measuring packet captures into a result folder."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ackclock import engine, units
from ackclock.capture.connections import passed_over, reservations
from ackclock.capture.predictions import CONNECTIONS, of_connections
from ackclock.capture.sources import STANDARD_INPUT, Capture, Source, find
from ackclock.errors import CaptureError, InputError
from ackclock.estimators import Estimators, asked, described
from ackclock.folder import RESULT, read_object, refuse_foreign_folder
from ackclock.models import Model, chosen
from ackclock.result import SCHEMA, Result, tables_in
from ackclock.result.columns import table_of
from ackclock.result.writer import GrowingResult

# What is asked about captured connections: of the usual models those that need not know how a link
# moves; and the chain takes the whole law of the round-trip time, which is theirs to give.
MODELS_OF_CAPTURES = "square_root,pftk,cardwell,sawtooth,cubic_response,aimd_chain"


def measure(
    source: str | Path,
    folder: str | Path,
    *,
    interval: str = "100 ms",
    segments: bool = False,
    estimators: Estimators = (),
    models: str = MODELS_OF_CAPTURES,
    top: int = CONNECTIONS,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Result:
    """Says what packet captures show of their TCP connections.

    Args:
        source: A pcap or pcapng file, perhaps packed with gzip; `-` for standard input; or the
            folder of a result of `simulate` with captures or of `emulate`, whose captures at the
            senders are taken.
        folder: For the result, which grows there while the captures are read: they may be longer
            than memory. A result that is there already is replaced, once there is something to
            write.
        interval: Time between two rows of the table `samples`.
        segments: Whether to fill the table `segments`, one row for each mark of a time-sequence
            plot.
        estimators: Which rate estimators run along with the ACKs of each connection and fill the
            table `rate_estimates`, as for `ackclock.rate_estimates`; of connections captured near
            their sender. The window they are told is what was outstanding.
        models: Which are asked about the connections, as for `predict`.
        top: How many connections they are asked about, those with the most payload.
        progress: Is told about ten times a second how far it is: `fraction` of the bytes read, None
            if that is not known, and `packets`.

    Returns:
        The result in that folder, with the tables `flows`, `samples`, `connections`,
        `limit_periods`, `rtt_histogram`, on request `rate_estimates` and `segments`, `estimates`
        and `predictions`; rows of a run's captures have the same keys as the run's own tables. It
        is marked partial if it was interrupted (Ctrl-C).

    Raises:
        CaptureError: A file is no capture or holds nothing to be measured; nothing has been
        written. ScenarioError: There is no such estimator, or it cannot be so. ValueError: There is
        no such model, or the folder holds no captures. InputError: There is something in the folder
        that is not ackclock's.
    """
    wanted = chosen(models)
    running = asked(estimators)
    interval_s = units.seconds(interval)
    found = find(source)
    folder = Path(folder)
    _refuse_own_place(found, folder)
    run = _describe_captures(source, found)
    run["estimators"] = described(running)
    with GrowingResult(
        folder, run, "nothing yet; run ackclock measure again", with_first_rows=True
    ) as growing:
        outcome = engine.measure(
            [(list(one.files), one.point, one.replicate) for one in found.captures],
            []
            if found.run is None
            else [_flows_and_warmup(found.run, one) for one in found.captures],
            "" if found.run is None else found.run["method"],
            interval_s=interval_s,
            segments=segments,
            estimators=running,
            progress=progress,
            take=lambda name, columns: growing.append(name, table_of(columns)),
        )
        run["captures"] = json.loads(outcome["captures"])
        run["partial"] = run["partial"] or not outcome["complete"]
        if not growing.begun:
            raise _nothing(run, complete=outcome["complete"])
        for name, columns in outcome["tables"].items():
            growing.append(name, table_of(columns))
        growing.settle()
        growing.finish(run, _concluded(run, found, folder, wanted, top))

    return Result.load(folder)


def is_partial(folder: Path) -> bool:
    """Whether a folder holds a measurement that was interrupted; its captures are there to be measured again."""
    run = read_object(folder / RESULT.mark)
    return run.get("method") == "measure" and bool(run.get("partial"))


def _flows_and_warmup(run: dict[str, Any], capture: Capture) -> tuple[list[tuple[str, int]], float]:
    """What is needed to name what a capture of a run holds."""
    return list(capture.flows), units.seconds(run["points"][capture.point]["scenario"]["warmup"])


def _refuse_own_place(found: Source, folder: Path) -> None:
    """Raises `InputError` if the result would replace what it is made of."""
    refuse_foreign_folder(folder)
    files = [Path(file) for one in found.captures for file in one.files if file != STANDARD_INPUT]
    if any(folder.resolve() in file.resolve().parents for file in files):
        raise InputError(
            "file", f"{folder}", "holds the capture to be measured; choose another folder"
        )


def _describe_captures(source: str | Path, found: Source) -> dict[str, Any]:
    """What run.json says of a measurement; of a run's captures what the run says of itself."""
    own = found.run or {
        "seed": None,
        "replicates": 1,
        "partial": False,
        "controls": [],
        "scenario": None,
        "points": [{"assignments": {}, "scenario": None}],
    }
    kept = ("seed", "replicates", "partial", "controls", "scenario", "points")
    return {"schema": SCHEMA, "method": "measure", "name": found.name} | {name: own[name] for name in kept} | {
        "versions": {"ackclock": engine.version()}, "warnings": [], "source": str(source), "captures": [],
    }  # fmt: skip


def _nothing(run: dict[str, Any], *, complete: bool) -> BaseException:
    """Why there is no result of captures in which no TCP was found."""
    if not complete:
        return KeyboardInterrupt()
    what = passed_over(run["captures"])
    sentence = (
        f"holds no TCP segment{f' ({what})' if what else ''}; capture with tcpdump -w FILE tcp"
    )
    return CaptureError("file", run["source"], sentence)


def _concluded(
    run: dict[str, Any], found: Source, folder: Path, models: tuple[Model, ...], top: int
) -> dict[str, pa.Table]:
    """What follows from the tables that lie in the folder; the warnings go into `run`."""
    measured = Result(run, tables_in(folder))
    run["warnings"] += reservations(measured)
    tables = of_connections(measured, models, top)
    if found.run is not None and found.run["method"] == "emulate" and not found.run.get("partial"):
        # A run that is unreliable is in no average of what was measured of it either.
        tables["fidelity"] = Result.load(run["source"]).tables["fidelity"]
    return tables
