"""What tests of lab pages need: a present engine, node, a browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lab_engine
from ackclock.laboratory import page

#: Pages have no implementations of transports, which this example runs.
NOT_IN_PAGES = {"quic-beside-tcp"}
EXAMPLES = sorted(
    path
    for path in (Path(__file__).parents[2] / "examples").rglob("*.toml")
    if path.stem not in NOT_IN_PAGES
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Every window would load pages of the address bar, which cost as much as a lab page, and every page
# would have a process of its own, which costs half as much.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--process-per-site",
    "--renderer-process-limit=1",
]


@pytest.fixture(scope="session")
def fresh_engine() -> None:
    """Skips unless engine.wasm is of the present sources."""
    why = lab_engine.staleness()
    if why:
        pytest.skip(why)


@pytest.fixture
def any_engine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sees to it that pages have an engine that can be copied: the one in place, or an empty one.

    An empty one cannot run. Tests that run it ask for `fresh_engine`.
    """
    files = page.static()
    if page.ENGINE not in files:
        empty = tmp_path_factory.mktemp("static") / page.ENGINE
        empty.write_bytes(b"\0asm\1\0\0\0")
        monkeypatch.setattr(page, "static", lambda: files | {page.ENGINE: empty})


@pytest.fixture(scope="session")
def node() -> str:
    """The path of node."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed: the page's engine cannot be run without a browser")
    return path


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """A headless Chromium of the system."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium is installed: the lab page is not tested")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """The browser, whose pages end with the test; left open, they would go on simulating."""
    yield chromium
    for context in chromium.contexts:
        context.close()
