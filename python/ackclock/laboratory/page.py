"""The files of the lab page, and the scenario that it begins with."""

import json
import re
import shutil
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import engine
from ackclock.errors import InputError, LackingError
from ackclock.laboratory.definitions import definitions
from ackclock.limits import NAMED_FILE_BYTES, PAGE_BYTES, read_file
from ackclock.result.folder import Contents, naming, staged
from ackclock.run.address import named_files
from ackclock.scenario import Scenario

#: The engine in the page. An installation from source may lack it.
ENGINE = "engine.wasm"

#: MIME types of the files. Browsers compile WebAssembly while they load it only with its own.
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
}

#: The scenario of a page, beside its other files.
_SCENARIO = "scenario.json"
#: What the page computes, beside them.
_DEFINITIONS = "definitions.json"

# Files of all pages, in the folder of reports.
_SHARED = ("base.css", "figures.css", "figures.js")

PAGE = Contents(
    "lab page",
    _SCENARIO,
    re.compile(r"[A-Za-z-]+\.(html|js|css|wasm|json)"),
)


@dataclass(frozen=True)
class Beginning:
    """The scenario that a page begins with.

    Attributes:
        name: The scenario's file, as commands name it.
        scenario: The scenario, with its sweep.
        files: The text of each file that it names.
        options: Options of commands that make the scenario of what the file says.
        saved: The file that the page may write; None if it may write nothing.
    """

    name: str
    scenario: Scenario
    files: dict[str, str]
    options: tuple[str, ...] = ()
    saved: Path | None = None

    def changed(self, tree: dict[str, Any], changes: dict[str, Any]) -> Scenario:
        """Returns a scenario that the page sent.

        It may name the files that the page began with, and no others.
        """
        sent = Scenario(tree, self.scenario.folder, only=frozenset(self.files))
        return sent.replace(changes)

    def made(self, *, server: bool) -> dict[str, str]:
        """Returns the texts that are made for the page, by name.

        Args:
            server: True if the page may make calls.
        """
        written = {
            "name": self.name,
            "scenario": self.scenario.tree,
            "files": self.files,
            "options": self.options,
            "server": server,
            "saved": str(self.saved) if server and self.saved else "",
        }
        scenario = json.dumps(written, ensure_ascii=False)
        return {_SCENARIO: scenario, _DEFINITIONS: definitions()}


def beginning(
    name: str,
    scenario: Scenario,
    files: dict[str, str] | None = None,
    options: tuple[str, ...] = (),
    saved: Path | None = None,
) -> Beginning:
    """Reads the files that a scenario names.

    Args:
        name: The scenario's file, as commands name it.
        scenario: A checked scenario.
        files: Their text, if it is known.
        options: Options of commands that make the scenario of what the file says.
        saved: The file that the page may write.

    Raises:
        InputError: They are too large for a page, or a saved scenario would not find them.
    """
    if files is None:
        points = [point.scenario.tree for point in scenario.expand()]
        names = sorted(named_files([scenario.tree, *points]))
        # Of a program there is no text, and pages do not run it.
        files = {
            name: read_file(scenario.folder / name, NAMED_FILE_BYTES).decode(errors="replace")
            for name in names
        }
    if files and saved and saved.parent.resolve() != scenario.folder.resolve():
        raise InputError(
            "contradiction",
            "--save",
            f"{saved}: the scenario names {min(files)}, which is in another folder; save it in "
            f"{scenario.folder}",
        )
    size = sum(len(text) for text in files.values())
    if size > PAGE_BYTES:
        raise InputError(
            "out-of-range",
            "scenario",
            f"names files of {size / 1e6:.0f} MB, the most for a page is "
            f"{PAGE_BYTES / 1e6:.0f} MB; use ackclock simulate",
        )
    return Beginning(name, scenario, files, options, saved)


def static() -> dict[str, Path]:
    """Returns the files of the page by name. `engine.wasm` may be absent."""
    folder = Path(str(resources.files("ackclock.laboratory"))) / "static"
    report = Path(str(resources.files("ackclock.report")))
    shared = [report / name for name in _SHARED]
    paths = [*sorted(folder.iterdir()), *shared]
    return {path.name: path for path in paths if path.suffix in TYPES}


def digest() -> str:
    """Returns the digest of the engine's sources that `engine.wasm` was built from.

    Empty if there is no such file, or if it does not say.
    """
    path = static().get(ENGINE)
    return "" if path is None else _stated(path.read_bytes())


def _stated(module: bytes) -> str:
    """Returns the text of the custom section `ackclock` of a WebAssembly module."""
    place = 8  # behind magic number and version
    while place < len(module):
        kind, (size, place) = module[place], _unsigned(module, place + 1)
        section, place = module[place : place + size], place + size
        length, begin = _unsigned(section, 0) if kind == 0 else (0, 0)
        if kind == 0 and section[begin : begin + length] == b"ackclock":
            return section[begin + length :].decode("ascii", "replace")
    return ""


def _unsigned(data: bytes, place: int) -> tuple[int, int]:
    """Reads a LEB128 number; returns it and where the next thing is."""
    number = shift = 0
    while place < len(data):
        number |= (data[place] & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if data[place - 1] < 0x80:
            break
    return number, place


def export(begin: Beginning, folder: Path) -> None:
    """Writes the page as a folder that any web server can serve.

    Raises:
        LackingError: This installation has no engine for pages.
    """
    files = static()
    if ENGINE not in files:
        raise LackingError(
            "lacking",
            ENGINE,
            "is not part of this installation; in the sources, `make lab` builds it",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with naming(folder), staged(folder) as staging:
        for name, path in files.items():
            shutil.copyfile(path, staging / name)
        for name, text in begin.made(server=False).items():
            (staging / name).write_text(text, encoding="utf-8")


def engine_of_page() -> str:
    """Returns version and digest of the page's engine, as links carry them."""
    return f"{engine.version()} {digest()[:12]}".strip()
