#!/usr/bin/env python3
"""Writes docs/seeds.md: the five documents, row by row, with the verdicts of docs/gallery.md.

.venv/bin/python benches/seeds.py
"""

import re

import section

from ackclock_papers.seeds import DOCUMENTS, page

PAGE = "docs/seeds.md"


def verdicts() -> dict[str, str]:
    """Returns each verdict of the gallery, by experiment."""
    text = (section.ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\S+)` \|.*\| ([^|]*) \|$", text, re.MULTILINE))


def main() -> None:
    """Writes the page's section."""
    section.write(PAGE, "seeds", page(DOCUMENTS, verdicts()))


if __name__ == "__main__":
    main()
