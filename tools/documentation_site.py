"""Copies the pages of the documentation site into one folder, from which zensical builds it.

The pages stay where a code host shows them (README.md at the root, guides in docs, …), so the copy
keeps the layout of the repository and relative links work in both places. A link to a file that is
no page takes that file along. A link to what is not in the repository ends the build.

    python tools/documentation_site.py out/site-pages
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["copy", "main", "missing", "targets"]

#: Pages outside `docs`.
PAGES = (
    "README.md", "ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md",
    "SECURITY.md", "STYLE.md", "changes/README.md", "tests/peers/README.md", "traces/README.md",
)  # fmt: skip

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_INFO = re.compile(r"^(```\w+)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)


def pages(root: Path) -> list[Path]:
    """Returns the Markdown files of the site."""
    return [*(root / name for name in PAGES), *sorted((root / "docs").rglob("*.md"))]


def targets(page: Path) -> Iterator[Path]:
    """Yields the files that a page links to, without anchors and other sites."""
    text = _CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    for found in _LINK.finditer(text):
        link = (found[1] or found[2]).partition("#")[0]
        if link and ":" not in link:
            yield (page.parent / link).resolve()


def missing(root: Path) -> list[str]:
    """Returns one line for each link that leads to no file and each page that is not in `nav`."""
    nav = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    return [
        f"mkdocs.yml: nav lacks {page.relative_to(root)}"
        for page in pages(root)
        if not re.search(rf"[ ]{re.escape(str(page.relative_to(root)))}$", nav, re.MULTILINE)
    ] + [
        f"{page.relative_to(root)}: links to a file that does not exist: {target}"
        for page in pages(root)
        for target in targets(page)
        if not target.is_file()
    ]


def copy(root: Path, to: Path) -> None:
    """Replaces the folder `to` by the pages and the files that they link to."""
    shutil.rmtree(to, ignore_errors=True)
    found = pages(root)
    for file in {*found, *(target for page in found for target in targets(page))}:
        name = to / file.relative_to(root)
        name.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            text = _INFO.sub(_shown, file.read_text(encoding="utf-8"))
            name.write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(file, name)


def _shown(info: re.Match[str]) -> str:
    """Returns a fence that Python-Markdown knows; tests read marks behind the language."""
    title = f' title="{info[2]}"' if "." in info[2] else ""
    return info[1] + title


def main(arguments: Sequence[str] | None = None) -> int:
    """Copies the pages of the current folder; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path, help="folder to be written")
    to = parser.parse_args(arguments).to
    root = Path.cwd()
    lines = missing(root)
    if lines:
        print("\n".join(lines), file=sys.stderr)
        return 1
    copy(root, to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
