"""The captures to be measured: one file, or those that a run of ackclock took at its senders."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from ackclock.errors import InputError
from ackclock.result.run_json import read, run_again
from ackclock.result.tables import TablesInFolder

#: Stands in place of a file.
STANDARD_INPUT = "-"

# Captures that contain what tcpdump sees at a sender. An emulation writes one file per direction.
_AT_SENDERS = {"simulate": ("senders",), "emulate": ("from-senders", "to-senders")}
_NAMED = re.compile(r"point-(\d+)-replicate-(\d+)-([a-z-]+)\.pcap")


class Capture(NamedTuple):
    """Packets that passed one place during one run.

    Attributes:
        files: Pcap or pcapng, plain or gzipped; several are merged by time.
        point: Index of the point; 0 for a capture from elsewhere.
        replicate: Number of the replicate; 0 for a capture from elsewhere.
        flows: Name and number of instances of each flow of the run; empty for a capture from
            elsewhere.
    """

    files: tuple[str, ...]
    point: int
    replicate: int
    flows: tuple[tuple[str, int], ...] = ()


class Source(NamedTuple):
    """The source of a measurement.

    Attributes:
        name: Name of the file without its endings, or of the run's scenario.
        stem: Name for a result folder beside it.
        captures: At least one.
        run: Contents of `run.json` of the run that wrote the captures; None if they are from
            elsewhere.
    """

    name: str
    stem: str
    captures: tuple[Capture, ...]
    run: dict[str, Any] | None


def find(source: str | Path) -> Source:
    """Returns the captures of a file, of standard input (`-`), or of a result folder.

    Raises:
        ValueError: There are none; one line.
    """
    path = Path(source)
    if str(source) == STANDARD_INPUT:
        return Source("standard input", "standard-input", (Capture((STANDARD_INPUT,), 0, 0),), None)
    if path.is_dir():
        return _of_a_run(path)
    name = _without_endings(path)
    return Source(name, name, (Capture((str(path),), 0, 0),), None)


def _without_endings(path: Path) -> str:
    """Returns the name of the file without endings such as `.pcap` and `.pcapng.gz`."""
    return (
        re.sub(r"(\.(pcap|pcapng|cap|dmp))?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
        or path.name
    )


def _of_a_run(folder: Path) -> Source:
    run, files = read(folder)
    places = _AT_SENDERS.get(run["method"])
    if places is None:
        raise InputError(
            "file",
            f"{folder}",
            f"is of ackclock {run['method']}, which keeps no captures; choose a result of "
            f"simulate --pcap or of "
            "emulate, or the file of a capture",
        )
    tables = TablesInFolder(folder, files, run_again(run))
    by_run: dict[tuple[int, int], dict[str, str]] = {}
    for file in (folder / "pcap").glob("*.pcap"):
        named = _NAMED.fullmatch(file.name)
        if named is not None and named[3] in places and int(named[1]) < len(run["points"]):
            by_run.setdefault((int(named[1]), int(named[2])), {})[named[3]] = str(file)
    captures = tuple(
        Capture(tuple(files[place] for place in places), *key, _flows(tables, run, key))
        for key, files in sorted(by_run.items())
        if len(files) == len(places)
    )
    if not captures:
        again = "simulate --pcap" if run["method"] == "simulate" else "emulate without --no-pcap"
        raise InputError(
            "file",
            f"{folder}",
            f"holds no captures from the sender side; run ackclock {again}",
        )
    return Source(run["name"], folder.resolve().name, captures, run)


def _flows(
    tables: TablesInFolder, run: dict[str, Any], key: tuple[int, int]
) -> tuple[tuple[str, int], ...]:
    """Returns the name and number of instances of each flow of a point and replicate.

    The table `flows` tells how many instances arrived.
    """
    flows = run["points"][key[0]]["scenario"]["flows"]
    if all("count" in flow for flow in flows):
        return tuple((flow["name"], flow["count"]) for flow in flows)
    if "flows" not in tables:
        raise InputError(
            "file",
            f"{tables.folder}",
            "was interrupted, so the number of its flows is unknown; measure the files in pcap/ "
            "one by one, "
            "or run it again",
        )
    own = tables.rows("flows", {"point": key[0], "replicate": key[1]})["flow"].to_pylist()
    return tuple((flow["name"], own.count(flow["name"])) for flow in flows)
