"""Files of `changes` are items of the changelog, and a release can put them into it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FRAGMENTS = [path for path in (ROOT / "changes").iterdir() if path.name != "README.md"]
TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
KINDS = {kind["directory"]: kind["name"] for kind in TOOL["type"]}
COLUMNS = 98  # two more in the changelog


def complaints(name: str, text: str) -> list[str]:
    """Returns what is wrong with a file of `changes`."""
    kinds = "|".join(KINDS)
    return [
        why
        for wrong, why in (
            (not re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md", name), f"is not +words.{kinds}.md"),
            (max(map(len, text.splitlines()), default=0) > COLUMNS, f"has over {COLUMNS} columns"),
            (not re.match(r"[A-Z`]", text), "does not begin with a capital or code"),
            (not text.rstrip("\n").endswith("."), "does not end with a full stop"),
            (re.search(r"^(#|- )|\n\n", text, re.MULTILINE), "is more than one item"),
        )
        if wrong
    ]


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_a_file_of_changes_is_an_item(path: Path) -> None:
    assert not complaints(path.name, path.read_text("utf-8")), "see changes/README.md"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.added.md", "One.\n"),
        ("+a.other.md", "One.\n"),
        ("+a.added.md", "one.\n"),
        ("+a.added.md", "One\n"),
        ("+a.added.md", "One.\n\nTwo.\n"),
        ("+a.added.md", "- One.\n"),
        ("+a.added.md", "One" + " more" * 20 + ".\n"),
    ],
)
def test_what_is_no_item_is_named(name: str, text: str) -> None:
    assert complaints(name, text)


@pytest.mark.slow
def test_a_release_puts_them_above_the_last_version(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="towncrier is not installed")
    (tmp_path / "changes").mkdir()
    for name in ("CHANGELOG.md", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), encoding="utf-8")
    for kind in KINDS:
        (tmp_path / f"changes/+a-thing.{kind}.md").write_text(
            f"`a`: a thing of two lines,\n{kind}.\n", encoding="utf-8"
        )
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    before, begun, after = (ROOT / "CHANGELOG.md").read_text("utf-8").partition("\n## ")
    items = "\n\n".join(
        f"### {name}\n\n- `a`: a thing of two lines,\n  {kind}." for kind, name in KINDS.items()
    )
    written = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    assert written.startswith(before + "\n## 9.9.9 – ")
    assert items in written
    assert written.endswith(begun + after)
    assert not list((tmp_path / "changes").iterdir())
