"""The pages of the documentation site, without the tools that build it."""

import re
from pathlib import Path

import reference
from ackclock import load
from ackclock.elements.registry import registry, schema
from ackclock.laboratory.links import decode
from documentation_site import PAGES, copy, missing, pages

ROOT = Path(__file__).resolve().parent.parent


def repository(folder: Path, text: str) -> Path:
    """A repository whose pages are empty but for the README."""
    for name in PAGES:
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text if name == "README.md" else "", encoding="utf-8")
    nav = "".join(f"  - {name}\n" for name in PAGES)
    (folder / "mkdocs.yml").write_text(f"site_name: x\nnav:\n{nav}", encoding="utf-8")
    return folder


def test_links_lead_somewhere_and_every_page_is_in_the_navigation() -> None:
    assert not missing(ROOT, pages(ROOT, reference.pages(registry(), schema())))


def test_a_broken_link_and_a_page_beside_the_navigation_are_named(tmp_path: Path) -> None:
    root = repository(tmp_path, "[a](docs/a.md) [b](docs/b.md#c) `[no](link)`\n")
    (root / "docs").mkdir()
    (root / "docs/a.md").write_text("", encoding="utf-8")
    beside, broken = missing(root, pages(root, {}))
    assert beside == "mkdocs.yml: nav lacks docs/a.md"
    assert broken == "README.md: links to a file that does not exist: docs/b.md"


def test_a_copy_keeps_the_layout_and_takes_linked_files_along(tmp_path: Path) -> None:
    text = "[licence](LICENSE)\n```toml mine.toml\n```\n```sh emulation\n```\n"
    root = repository(tmp_path / "from", text)
    (root / "LICENSE").write_text("free\n", encoding="utf-8")
    copy(root, pages(root, {}), tmp_path / "to")
    assert (tmp_path / "to/LICENSE").read_text("utf-8") == "free\n"
    assert (tmp_path / "to/README.md").read_text("utf-8") == (
        '[licence](LICENSE)\n```toml title="mine.toml"\n```\n```sh\n```\n'
    )


def test_anchors_of_the_reference_lead_to_its_pages(tmp_path: Path) -> None:
    index = "docs/reference/README.md"
    root = repository(tmp_path, f"[all]({index}) [a]({index}#queues) [b]({index}#queues/red)\n")
    (root / "docs/reference").mkdir(parents=True)
    (root / index).write_text("as a code host shows it", encoding="utf-8")
    texts = pages(root, {index: "", "docs/reference/queues.md": ""})
    assert texts["README.md"] == (
        f"[all]({index}) [a](docs/reference/queues.md) [b](docs/reference/queues.md#red)\n"
    )
    assert texts[index] == ""
    assert "links to" not in "".join(missing(root, texts))


def test_the_site_alone_links_to_reports(tmp_path: Path) -> None:
    """The link is relative to the page's file, as the site's tool takes links."""
    name = "docs/evaluations.md"
    root = repository(tmp_path, f"[controls]({name})\n")
    (root / "docs").mkdir()
    (root / name).write_text("<!-- reports -->\n", encoding="utf-8")
    text = pages(root, {})[name]
    assert text.startswith('<a href="../evaluations/index.html">The reports</a>')


def test_every_exercise_opens_in_the_lab_of_the_site() -> None:
    """One page serves them all: the link carries the scenario."""
    guide = pages(ROOT, {})["docs/guides/lab-exercises.md"]
    opened = re.findall(r'<a href="\.\./\.\./lab/index\.html(#v1\.[\w-]+)">', guide)
    scenarios = [decode(link).opened() for link in opened]
    exercises = sorted((ROOT / "examples/lab").glob("*.toml"))
    names = sorted(load(path).name for path in exercises)
    assert sorted(scenario.name for scenario in scenarios) == names
    for scenario in scenarios:
        scenario.check()
        assert scenario.tree in [load(path).tree for path in exercises]


def test_the_front_page_has_the_pages_that_ackclock_writes() -> None:
    front = pages(ROOT, {})["README.md"]
    assert set(re.findall(r'href="([\w/]+)/index\.html"', front)) == {"lab", "demo", "gallery"}


def test_each_kind_of_reader_finds_its_first_page_in_one_click() -> None:
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    begin = front.partition("## Where to begin")[2].partition("\n## ")[0]
    readers = re.findall(
        r"^\| ([a-z][^|]+) \| \[[^\]]+\]\((docs/guides/[\w-]+\.md)\) \|$", begin, re.M
    )
    assert len(readers) == len({guide for _, guide in readers}) == 8
    assert all((ROOT / guide).exists() for _, guide in readers)
