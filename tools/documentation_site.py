"""Writes the pages of the documentation into one folder, from which zensical builds the site.

The pages stay where a code host shows them (README.md at the root, guides in docs, …), so the copy
keeps the layout of the repository and relative links work in both places. A link to a file that is
no page takes that file along. A link to what is not in the repository ends the build.

Reference pages are not in the repository: they are made here, of the engine's registries. Other
pages name one by an anchor of `docs/reference/README.md`, which a code host shows. In the copy,
`reference/README.md#queues/codel` leads to `reference/queues.md#codel`.

    python tools/documentation_site.py out/site-pages
"""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import reference
from ackclock.elements.registry import registry, schema
from live_pages import link

__all__ = ["copy", "main", "missing", "pages"]

#: Pages outside `docs`.
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "STYLE.md",
    "changes/README.md",
    "tests/peers/README.md",
    "traces/README.md",
)

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_INFO = re.compile(r"^(```\w+)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")
_REFERENCE = re.compile(r"\breference/README\.md#(\w+)(?:/([\w-]+))?")
# Pages that ackclock writes are in the site only: `make site` makes them (`live_pages`). The link
# is that of the page's file.
_LIVE = {
    "<!-- reports -->": '<a href="../evaluations/index.html">The reports</a>: numbers, intervals, '
    "figures and what was not evaluated.",
    "<!-- gallery page -->": '<a href="../gallery/index.html">The gallery as a page</a>: figures, '
    "numbers, claims and settings. Experiments whose tables are too large to record are not on it.",
    "<!-- live -->": "Without installing anything: "
    '<a href="lab/index.html">move a slider in the lab</a>, see '
    '<a href="demo/index.html">models and simulator beside each other</a>, or '
    '<a href="gallery/index.html">published results beside ours</a>.',
}
_EXERCISE = re.compile(r"^```text\nackclock lab (examples/lab/[\w-]+\.toml)\n```$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)


def pages(root: Path, generated: Mapping[str, str]) -> dict[str, str]:
    """Returns the Markdown of the site by its path within the repository."""
    files = [*(root / name for name in PAGES), *sorted((root / "docs").rglob("*.md"))]
    written = {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in files}
    texts = {name: _with_live(root, name, text) for name, text in {**written, **generated}.items()}
    return {name: _REFERENCE.sub(_page, text) for name, text in texts.items()}


def _with_live(root: Path, name: str, text: str) -> str:
    """Returns a page with its links to pages that ackclock writes."""
    for mark, words in _LIVE.items():
        text = text.replace(mark, words)
    to = "../" * name.count("/")

    def opened(block: re.Match[str]) -> str:
        address = f"{to}lab/index.html{link(root / block[1])}"
        return f'<a href="{address}">Open this exercise in the lab</a>, or:\n\n{block[0]}'

    return _EXERCISE.sub(opened, text)


def _page(link: re.Match[str]) -> str:
    return f"reference/{link[1]}.md" + (f"#{link[2]}" if link[2] else "")


def targets(text: str) -> Iterator[str]:
    """Yields the files that a page links to, without anchors and other sites."""
    for match in _LINK.finditer(_CODE.sub("", _FENCE.sub("", text))):
        link = (match[1] or match[2]).partition("#")[0]
        if link and ":" not in link:
            yield link


def missing(root: Path, texts: Mapping[str, str]) -> list[str]:
    """Returns one line for each link that leads to no file and each page that is not in `nav`."""
    nav = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    return [
        f"mkdocs.yml: nav lacks {name}"
        for name in texts
        if name.endswith(".md") and not re.search(rf"[ ]{re.escape(name)}$", nav, re.MULTILINE)
    ] + [
        f"{name}: links to a file that does not exist: {target}"
        for name, target in _linked(texts)
        if target not in texts and not (root / target).is_file()
    ]


def _linked(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the name of each page with each file that it links to, within the repository."""
    for name, text in texts.items():
        for target in targets(text):
            yield name, os.path.normpath(Path(name).parent / target)


def copy(root: Path, texts: Mapping[str, str], to: Path) -> None:
    """Replaces the folder `to` by the pages and the files that they link to."""
    shutil.rmtree(to, ignore_errors=True)
    for name in {*texts, *(target for _, target in _linked(texts))}:
        file = to / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if name in texts:
            file.write_text(_INFO.sub(_shown, texts[name]), encoding="utf-8")
        else:
            shutil.copyfile(root / name, file)


def _shown(info: re.Match[str]) -> str:
    """Returns a fence that Python-Markdown knows; tests read marks behind the language."""
    title = f' title="{info[2]}"' if "." in info[2] else ""
    return info[1] + title


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the pages of the current folder; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path, help="folder to be written")
    to = parser.parse_args(arguments).to
    root = Path.cwd()
    texts = pages(root, reference.pages(registry(), schema()))
    lines = missing(root, texts)
    if lines:
        print("\n".join(lines), file=sys.stderr)
        return 1
    copy(root, texts, to)
    return 0


if __name__ == "__main__":
    sys.exit(main())
