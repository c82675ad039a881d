"""Rejects wheels that are not fit for a release.

They name folders of the build machine, other Linux systems reject them, or they lack the engine of
lab pages or an example.

Usage:

    python tools/check_wheel.py dist/*.whl
"""

import sys
import zipfile
from pathlib import Path

_NEEDED = ("ackclock/laboratory/static/engine.wasm", "ackclock/scenario/examples/first.toml")


def complaints(wheel: Path) -> list[str]:
    """Returns the faults of a wheel, one line each."""
    faults = []
    if sys.platform == "linux" and "manylinux" not in wheel.name:
        faults.append(f"{wheel.name}: is not manylinux")
    private = [str(place).encode() for place in (Path.home(), Path.cwd()) if len(place.parts) > 1]
    with zipfile.ZipFile(wheel) as archive:
        faults += [
            f"{wheel.name}: has no {name}" for name in _NEEDED if name not in archive.namelist()
        ]
        for member in archive.namelist():
            content = archive.read(member)
            faults += [
                f"{wheel.name}: {member} names {place.decode()}"
                for place in private
                if place in content
            ]
    return faults


def main(wheels: list[str]) -> int:
    """Prints the faults of the wheels; returns 1 if there are any, or if there are no wheels."""
    lines = [line for wheel in wheels for line in complaints(Path(wheel))]
    for line in lines or ([] if wheels else ["no wheel was given"]):
        print(line, file=sys.stderr)
    return 1 if lines or not wheels else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
