#!/usr/bin/env python3
"""Writes the table of docs/notes/linux-against-engine.md from a gallery, and copies its figure.

ackclock reproduce linux-against-engine -o out/gallery
python3 benches/linux_against_engine.py out/gallery
"""

import argparse
import json
import shutil
from pathlib import Path

import section

NAME = "linux-against-engine"
PAGE = f"docs/notes/{NAME}.md"


def main() -> None:
    """Writes the page's section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gallery", type=Path, help="what `ackclock reproduce -o` has filled")
    gallery = parser.parse_args().gallery
    records = json.loads((gallery / "gallery.json").read_text(encoding="utf-8"))
    [record] = [entry for entry in records if entry["name"] == NAME]
    table = record["tables"][0]
    rows = [table["head"], ["---"] * len(table["head"]), *table["rows"]]
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    section.write(PAGE, "paths", "\n".join(lines))
    images = section.ROOT / "docs" / "images"
    shutil.copy(gallery / NAME / "figure.svg", images / f"{NAME}.svg")


if __name__ == "__main__":
    main()
