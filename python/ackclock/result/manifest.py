"""Manifests: size, rows and digest of files, noted when they were written.

`run.json` is the manifest of a result's tables. A batch of a sweep has one, and so has a batch of
finished runs that a simulation keeps. A manifest is written after its files and has its own digest.
So whoever reads notices what is missing, cut short, exchanged or changed.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ackclock.result.folder import read_object, write_whole
from ackclock.table import json_text

# Key of a manifest's own digest.
_DIGEST = "digest"


class Entry(NamedTuple):
    """Size, rows and digest of a file.

    Attributes:
        bytes: Its size.
        rows: Rows of the table in it.
        sha256: Digest of its bytes.
    """

    bytes: int
    rows: int
    sha256: str

    @classmethod
    def describe(cls, path: Path, rows: int) -> "Entry":
        """Describes a file that has just been written."""
        return cls(path.stat().st_size, rows, _digest(path))

    def problem(self, path: Path, *, content: bool = True) -> str:
        """Returns what is wrong with a file, in words that follow its name; empty if nothing is.

        Args:
            path: The file.
            content: True to compare its digest; false to compare only its size, without reading it.
        """
        try:
            size = path.stat().st_size
            if size != self.bytes:
                return f"has {size:,} bytes instead of {self.bytes:,}"
            if content and _digest(path) != self.sha256:
                return "is not the file that was written"
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        return ""


def entries(described: Mapping[str, Any]) -> dict[str, Entry]:
    """Reads the entries of a manifest that is sealed.

    Args:
        described: Name of a table to `bytes`, `rows` and `sha256`.
    """
    return {name: Entry(**fields) for name, fields in described.items()}


def described(files: Mapping[str, Entry]) -> dict[str, dict[str, Any]]:
    """Returns entries as plain data, for a manifest."""
    return {name: entry._asdict() for name, entry in files.items()}


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Returns plain data with its own digest in it."""
    return {**content, _DIGEST: _digest_of(content)}


def unsealed(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns plain data without its digest; None if that is missing or wrong."""
    bare = {name: value for name, value in content.items() if name != _DIGEST}
    try:
        return bare if content.get(_DIGEST) == _digest_of(bare) else None
    except RecursionError:  # Nested deeper than anything that ackclock writes.
        return None


def read_sealed(path: Path) -> dict[str, Any]:
    """Returns the object in a sealed file without its digest; empty if missing or damaged."""
    return unsealed(read_object(path)) or {}


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Writes an object and its own digest, completely or not at all."""
    as_read = json.loads(json_text(content))
    write_whole(path, json_text(sealed(as_read)))


def _digest_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
