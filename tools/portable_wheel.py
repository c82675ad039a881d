"""Takes the folder of the build out of the lists of components (SBOMs) in a wheel of maturin.

Cargo identifies a package of the workspace by its folder, `path+file:///home/…`. The list names it
by `path+file:///ackclock/…` instead, as compiled code does (`--remap-path-prefix`).

Usage:

    python tools/portable_wheel.py dist/*.whl
"""

import base64
import csv
import hashlib
import io
import sys
import zipfile
from pathlib import Path

_LISTS = ".cyclonedx.json"


def make_portable(wheel: Path, folder: Path) -> None:
    """Replaces a folder's name in the lists of a wheel, with their digests in its record."""
    with zipfile.ZipFile(wheel) as archive:
        members = [(member, archive.read(member)) for member in archive.infolist()]
    changed = {
        member.filename: content.replace(folder.as_uri().encode(), b"file:///ackclock")
        for member, content in members
        if member.filename.endswith(_LISTS)
    }
    aside = wheel.with_suffix(".part")
    with zipfile.ZipFile(aside, "w") as archive:
        for member, content in members:
            name = member.filename
            if name.endswith(".dist-info/RECORD"):
                archive.writestr(member, _recorded(content.decode(), changed))
            else:
                archive.writestr(member, changed.get(name, content))
    aside.replace(wheel)


def _recorded(record: str, changed: dict[str, bytes]) -> str:
    """Returns a wheel's record with the digests and sizes of changed files."""
    rows = [
        [row[0], _digest(changed[row[0]]), str(len(changed[row[0]]))] if row[0] in changed else row
        for row in csv.reader(io.StringIO(record))
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _digest(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make_portable(Path(name), Path.cwd())
