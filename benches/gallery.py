#!/usr/bin/env python3
"""Writes docs/gallery.md: the verdicts on all experiments of a gallery, and some of its figures.

ackclock reproduce --all -o out/gallery
python3 benches/gallery.py out/gallery
"""

import argparse
import json
import shutil
from itertools import groupby
from pathlib import Path

import section

PAGE = "docs/gallery.md"
IMAGES = section.ROOT / "docs" / "images" / "gallery"

#: One figure of each kind is enough to show the appearance of the others.
SHOWN = (
    *(
        "markov-figure-8.2",
        "rfc9438-table-1",
        "westwood-figure-9",
        "westwood-figure-16a",
        "westwood-figure-18",
    ),
    *("abr-figure-8", "abr-figure-14", "abr-figure-22"),
    "bbr-figure-8",
)


def table(records: list[dict[str, str]]) -> str:
    """Formats the verdicts on one publication."""
    lines = [
        f"### {records[0]['source']}",
        "",
        "| | shows | question | verdict |",
        "|---|---|---|---|",
    ]
    for record in records:
        verdict = record["verdict"]["text"].replace("|", "\\|")
        lines.append(
            f"| `{record['name']}` | {record['shows']} | {record['question']} | {verdict} |"
        )
    return "\n".join(lines)


def figure(record: dict[str, str], gallery: Path) -> str:
    """Copies a figure to the page's images, and returns the Markdown that shows it."""
    name = f"{record['name']}.svg"
    IMAGES.mkdir(exist_ok=True)
    shutil.copy(gallery / record["name"] / "figure.svg", IMAGES / name)
    return (
        f"![{record['shows']}: {record['question']}](images/gallery/{name})\n\n"
        f"*`{record['name']}`. {record['says']}*"
    )


def main() -> None:
    """Writes the page's section."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gallery", type=Path, help="what `ackclock reproduce -o` has filled")
    gallery = parser.parse_args().gallery
    records = json.loads((gallery / "gallery.json").read_text(encoding="utf-8"))
    by_source = sorted(
        records, key=lambda record: [other["source"] for other in records].index(record["source"])
    )
    tables = [
        table(list(group)) for _, group in groupby(by_source, key=lambda record: record["source"])
    ]
    shown = [figure(record, gallery) for record in records if record["name"] in SHOWN]
    section.write(PAGE, "gallery", "\n\n".join([*tables, "## Some of the figures", *shown]))


if __name__ == "__main__":
    main()
