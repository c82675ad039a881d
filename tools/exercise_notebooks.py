"""Writes the exercises of docs/guides/lab-exercises.md as notebooks beside their scenarios.

Usage:

    python tools/exercise_notebooks.py           # writes examples/lab/*.ipynb
    python tools/exercise_notebooks.py --check   # exits with 1 if they are not current
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs/guides/lab-exercises.md"
FOLDER = ROOT / "examples/lab"

_OPENED = re.compile(r"ackclock lab examples/lab/([a-z-]+)\.toml")
_KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def notebooks() -> dict[Path, str]:
    """Returns the text of each notebook by its path."""
    texts = {}
    for section in re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        opened = _OPENED.search(section)
        if opened is None:
            raise ValueError(f"{section.splitlines()[0]}: opens no scenario of examples/lab")
        texts[FOLDER / f"{opened[1]}.ipynb"] = _notebook(section, opened[1])
    return texts


def _notebook(section: str, stem: str) -> str:
    """Returns a notebook: question, prediction, sliders, the result of what they say, the check."""
    title, _, text = section.partition("\n")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    question, predict, check = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", part).strip()
        for part in re.split(r"(?=\*\*(?:Predict|Check)\.\*\*)", prose.strip())
    )
    cells = [
        _cell("markdown", f"# {title.partition('. ')[2]}\n\n{question}\n\n{predict}"),
        _cell("markdown", "Your prediction, before you move a slider: …"),
        _cell(
            "code",
            f'import ackclock\n\nshown = ackclock.lab(ackclock.load("{stem}.toml"))\nshown',
        ),
        _cell("markdown", "Move the sliders, then run the next cell: the result of what they say."),
        _cell("code", "shown.result()"),
        _cell("markdown", check),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    written = {
        "cells": cells,
        "metadata": {"kernelspec": _KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def main(arguments: list[str]) -> int:
    """Writes the notebooks, or names those that are not current; returns 1 if there are any."""
    stale = [
        path
        for path, text in notebooks().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not current: make docs-write", file=sys.stderr)
        return 1 if stale else 0
    for path, text in notebooks().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
