"""Which captures there are to be measured: one file, or those of a run of ours, taken where its senders are."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ackclock.errors import InputError
from ackclock.result import read_run

__all__ = ["STANDARD_INPUT", "Capture", "Source", "find"]

#: Written in place of a file.
STANDARD_INPUT = "-"

# What a sender's tcpdump sees. An emulation keeps the two ways in files of their own.
_AT_SENDERS = {"simulate": ("senders",), "emulate": ("from-senders", "to-senders")}
_NAMED = re.compile(r"point-(\d+)-replicate-(\d+)-([a-z-]+)\.pcap")


class Capture(NamedTuple):
    """Packets that passed one place during one run.

    Attributes:
        files: Pcap or pcapng, perhaps packed with gzip; several are put together by time.
        point: Number of the sweep's point; 0 of a capture from elsewhere.
        replicate: Number of the replicate; 0 of a capture from elsewhere.
        flows: Name and number of instances of each flow of the run; none of a capture from
            elsewhere.
    """

    files: tuple[str, ...]
    point: int
    replicate: int
    flows: tuple[tuple[str, int], ...] = ()


class Source(NamedTuple):
    """What is to be measured.

    Attributes:
        name: Of the file without its endings, or of the run's scenario.
        stem: For the name of a folder beside it.
        captures: At least one.
        run: What `run.json` of the run says that wrote the captures; None if they are from
            elsewhere.
    """

    name: str
    stem: str
    captures: tuple[Capture, ...]
    run: dict[str, Any] | None


def find(source: str | Path) -> Source:
    """The captures of a file, of standard input (`-`), or of a run's result folder.

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
    """The file's name without `.pcap`, `.pcapng.gz` and the like."""
    return (
        re.sub(r"(\.(pcap|pcapng|cap|dmp))?(\.gz)?$", "", path.name, flags=re.IGNORECASE)
        or path.name
    )


def _of_a_run(folder: Path) -> Source:
    run = read_run(folder)
    places = _AT_SENDERS.get(run["method"])
    if places is None:
        raise InputError(
            "file",
            f"{folder}",
            f"is of ackclock {run['method']}, which keeps no captures; choose a result of simulate --pcap or of "
            "emulate, or the file of a capture",
        )
    found: dict[tuple[int, int], dict[str, str]] = {}
    for file in (folder / "pcap").glob("*.pcap"):
        named = _NAMED.fullmatch(file.name)
        if named is not None and named[3] in places and int(named[1]) < len(run["points"]):
            found.setdefault((int(named[1]), int(named[2])), {})[named[3]] = str(file)
    captures = tuple(
        Capture(tuple(files[place] for place in places), *key, _flows(folder, run, key))
        for key, files in sorted(found.items())
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


def _flows(folder: Path, run: dict[str, Any], key: tuple[int, int]) -> tuple[tuple[str, int], ...]:
    """Name and number of instances of each flow of a point and replicate. How many arrived, the table `flows` knows."""
    flows = run["points"][key[0]]["scenario"]["flows"]
    if all("count" in flow for flow in flows):
        return tuple((flow["name"], flow["count"]) for flow in flows)
    file = folder / "flows.parquet"
    if not file.is_file():
        raise InputError(
            "file",
            f"{folder}",
            "was interrupted, so the number of its flows is unknown; measure the files in pcap/ one by one, "
            "or run it again",
        )
    rows = pq.read_table(file, columns=["point", "replicate", "flow"])
    own = rows.filter((pc.field("point") == key[0]) & (pc.field("replicate") == key[1]))[
        "flow"
    ].to_pylist()
    return tuple((flow["name"], own.count(flow["name"])) for flow in flows)
