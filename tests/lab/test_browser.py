"""The page in a browser: sliders, links, sides, hostile text, small and dark screens.

Nothing waits for a fixed time. The page says on `body` which generation of its state is drawn
(`data-drawn`) and how many replicates every side has (`data-replicates`).
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ackclock import load
from ackclock.laboratory import LabState, decode, encode, page
from ackclock.laboratory.server import LabServer
from ackclock.scenario import Scenario

from ..patience import PATIENCE_S
from .conftest import EXAMPLES
from .test_links import link_of
from .test_page import FIRST

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_engine")]

SHORT = {"duration": "4 s", "warmup": "1 s"}
RATE = 'input[type=range][aria-label="rate"]'
CONTROL = 'select[aria-label="control"]'


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[None]:
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@contextmanager
def lab(scenario: Scenario, *, without_engine: bool = False) -> Iterator[LabServer]:
    server = LabServer(page.beginning("first.toml", scenario))
    if without_engine:
        del server.files[page.ENGINE]
    with served(server):
        yield server


class Lab:
    """A page that has been opened, with what it complained of."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.page = browser.new_context(**context).new_page()
        self.page.set_default_timeout(PATIENCE_S * 1e3)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type == "error" else None
            ),
        )
        self.page.goto(address)

    def drawn(self) -> int:
        """Waits for figures; returns the generation they are of."""
        self.page.wait_for_selector("body[data-drawn]")
        return int(self.page.get_attribute("body", "data-drawn"))

    def redrawn(self, after: int) -> None:
        """Waits for figures of a later generation."""
        self.page.wait_for_selector(f'body[data-drawn]:not([data-drawn="{after}"])')

    def at_rest(self) -> None:
        """Waits for all replicates."""
        self.page.wait_for_selector('body[data-replicates="20"]')

    def remembered(self) -> None:
        """Waits until the address holds what is drawn."""
        self.page.wait_for_selector(f'body[data-remembered="{self.drawn()}"]')

    def toml(self) -> str:
        """Waits for the scenario as text. `wait_for_function` evaluates, which pages forbid."""
        from playwright.sync_api import expect

        field = self.page.locator("#toml")
        expect(field).not_to_have_value("", timeout=PATIENCE_S * 1000)
        return str(field.input_value())

    def state(self) -> LabState:
        """The state in the address, as Python reads it."""
        return decode(self.page.url)

    def text(self, selector: str) -> str:
        return str(self.page.text_content(selector))

    def curves(self) -> list[list[str]]:
        """The rows of the curves that can be downloaded."""
        with self.page.expect_download() as waiting:
            self.page.click("#csv")
        text = Path(waiting.value.path()).read_text()
        return [line.split(",") for line in text.splitlines()[1:]]


@pytest.fixture(scope="module")
def first() -> Iterator[LabServer]:
    with lab(load(FIRST).replace(SHORT)) as server:
        yield server


def test_sliders_follow_the_keyboard_and_the_address_follows_them(
    browser: Any, first: LabServer
) -> None:
    shown = Lab(browser, first.address)
    before = shown.drawn()
    shown.at_rest()
    answer = shown.text("#sentence")
    shown.page.focus(RATE)
    shown.page.keyboard.press("Home")
    shown.redrawn(before)
    shown.at_rest()
    assert shown.text("#sentence") != answer
    assert shown.state().changes == {"hops.bottleneck.link.rate": "0.5 Mbit/s"}
    assert "--set 'hops.bottleneck.link.rate=0.5 Mbit/s'" in shown.text("#command")
    assert 'rate = "0.5 Mbit/s"' in shown.page.input_value("#toml")
    again = Lab(browser, f"{first.address}{shown.page.url[shown.page.url.index('#') :]}")
    again.drawn()
    again.at_rest()
    assert again.state() == shown.state()
    assert again.text("#metrics") == shown.text("#metrics")
    shown.page.focus("[data-name=cwnd] .canvas > svg")
    shown.page.keyboard.press("ArrowRight")
    assert "Cursor at 0 s" in shown.text("#readout")
    shown.page.keyboard.press("Shift+ArrowRight")
    assert "Cursor at 0.4 s" in shown.text("#readout")
    assert re.search(r"A \d+", shown.text("[data-name=queue] .fighead")), "one for all"
    shown.page.keyboard.press("Escape")
    assert "Run 1 is drawn" in shown.text("#readout")
    assert not shown.complaints + again.complaints


def test_two_sides_with_the_same_values_are_equal_and_others_are_not(
    browser: Any, first: LabServer
) -> None:
    shown = Lab(browser, first.address)
    before = shown.drawn()
    shown.page.click("#compare")
    shown.redrawn(before)
    rows = shown.curves()
    a, b = ([row[1:] for row in rows if row[0] == side] for side in "AB")
    assert len(a) > 400
    assert a == b
    before = shown.drawn()
    shown.page.click('.row[data-path="flows.download.transport.control"] .differs')
    shown.redrawn(before)
    before = shown.drawn()
    shown.page.select_option(f'{CONTROL[:-2]} on side B"]', "reno")
    shown.redrawn(before)
    shown.remembered()
    assert shown.state().other == {"flows.download.transport.control": {"kind": "reno"}}
    rows = shown.curves()
    a, b = ([row[1:] for row in rows if row[0] == side] for side in "AB")
    assert a != b
    assert "B − A" in shown.text("#metrics")
    assert not shown.complaints


# Opens links one after the other; returns each address that the page gives itself, and its error.
# Here the next comes before the page goes on with further replicates of the one before.
FOLLOW = """async (links) => {
    const [{ dataset }, error] = [document.body, document.querySelector("#error")];
    const found = [];
    let seen;
    const observer = new MutationObserver(() => seen());
    for (const one of [document.body, error]) observer.observe(one, { attributes: true });
    for (const link of links) {
        const before = dataset.drawn;
        location.hash = link;
        do await new Promise((resolve) => (seen = resolve));
        while (error.hidden && (dataset.drawn === before || dataset.drawn !== dataset.remembered));
        found.push([location.href, error.hidden ? "" : error.textContent]);
    }
    return found;
}"""


def test_links_of_all_examples_come_back_as_they_were(browser: Any, first: LabServer) -> None:
    """The page's link holds the state that it was opened with."""
    changes = {"duration": "40 ms", "warmup": "20 ms"}
    states = {
        path.stem: LabState(load(path).tree, changes, {"seed": 2})
        for path in EXAMPLES
        if path.stem != "trace-link"
    }
    shown = Lab(browser, first.address)
    shown.remembered()
    links = shown.page.evaluate(FOLLOW, list(map(encode, states.values())))
    for (name, state), (link, error) in zip(states.items(), links, strict=True):
        decoded = decode(link)
        assert (error, decoded.scenario, decoded.changes, decoded.other) == (
            "",
            state.scenario,
            state.changes,
            state.other,
        ), name
    assert not shown.complaints


HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def test_hostile_links_give_an_error_line_or_text(browser: Any, first: LabServer) -> None:
    cases: list[dict[str, Any]] = [
        {"hops.bottleneck.link.rate": HOSTILE},
        {"hops.bottleneck.link.rate": "1000000 Gbit/s", "duration": "1000000 s"},
        {"flows.download.count": 10_000_000},
        {"__proto__.polluted": 1},
        {"hops": 1},
        {"hops.bottleneck.queue": nested(400)},
        {"flows.download.name": HOSTILE},
        {"name": HOSTILE},
    ]
    shown = Lab(browser, first.address)
    shown.drawn()
    for opened, changes in enumerate(cases, start=2):
        link = encode(LabState(load(FIRST).tree, changes))
        shown.page.goto(f"http://{first.host}/{link}")
        shown.page.wait_for_selector(f'body[data-opened="{opened}"]')
        if "name" not in changes:
            shown.page.wait_for_selector("#error:not([hidden])")
            assert shown.text("#error").strip(), changes
            assert shown.page.input_value("#toml").startswith("schema = 1"), changes
        assert shown.page.title() != "1", changes
        assert shown.page.query_selector("#sliders img, #answer img, #name img") is None, changes
    assert HOSTILE in shown.text("#name")
    assert not shown.complaints


NESTED = b"[" * 100_000 + b"]" * 100_000


def test_what_is_no_link_leaves_the_scenario_of_the_page(browser: Any, first: LabServer) -> None:
    no_links = {
        "damaged": "#v1.AAAA",
        "nested": link_of(b'{"scenario": ' + NESTED + b"}"),
        "inflated": link_of(b"0" * 50_000_000),
    }
    shown = Lab(browser, f"{first.address}{no_links['damaged']}")
    for opened, (name, link) in enumerate(no_links.items(), start=1):
        if opened > 1:
            shown.page.goto(f"http://{first.host}/{link}")
        shown.page.wait_for_selector(f'body[data-opened="{opened}"]')
        shown.page.wait_for_selector("#error:not([hidden])")
        assert "no scenario" in shown.text("#error"), name
        shown.page.wait_for_selector(f'body[data-drawn="{opened}"][data-replicates="20"]')
        assert shown.page.is_visible("#error"), f"{name}: it stays until something is changed"
        assert 'rate = "10 Mbit/s"' in shown.toml(), name
    assert not shown.complaints


def test_moves_do_not_wait_for_the_runs_of_earlier_ones(browser: Any) -> None:
    """A run at the fastest rates takes longer than the 10 s after which a page gives it up."""
    slow = {"hops.bottleneck.link.rate": "0.5 Mbit/s", "duration": "1000 s", "warmup": "1 s"}
    moves = 2 * round(PATIENCE_S / 10)
    with lab(load(FIRST).replace(slow)) as server:
        shown = Lab(browser, server.address)
        before = shown.drawn()
        shown.page.eval_on_selector(
            RATE,
            """async (slider, moves) => {
                for (let move = moves - 1; move >= 0; move--) {
                    slider.value = move ? slider.max - (move % 2) : slider.min;
                    slider.dispatchEvent(new Event("input"));
                    await new Promise(requestAnimationFrame);
                }
            }""",
            moves,
        )
        shown.page.wait_for_selector(f'body[data-drawn="{before + moves}"]')
        assert not shown.complaints


def test_a_small_dark_screen(browser: Any, first: LabServer) -> None:
    small = {"width": 360, "height": 740}
    shown = Lab(browser, first.address, viewport=small, color_scheme="dark")
    shown.drawn()
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 360
    assert shown.page.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 26)"
    )
    assert shown.page.locator(".figure:visible").count() == 1
    shown.page.click("#pick button[data-name=rtt]")
    assert shown.page.get_attribute(".figure:visible", "data-name") == "rtt"
    assert not shown.complaints


def test_text_is_edited_and_its_mistakes_have_a_line(browser: Any, first: LabServer) -> None:
    shown = Lab(browser, first.address)
    before = shown.drawn()
    text = shown.toml()
    shown.page.fill("#toml", text.replace('"4 s"', '"4 x"'))
    shown.page.wait_for_selector("#error:not([hidden])")
    assert shown.text("#error").startswith("line 3: duration: ")
    shown.page.fill("#toml", text.replace('"4 s"', '"5 s"'))
    shown.redrawn(before)
    shown.page.wait_for_selector("#error", state="hidden")
    shown.remembered()
    assert shown.state().scenario["duration"] == "5 s"
    assert not shown.complaints


def test_an_exported_page_needs_no_server_of_ours(browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    page.export(page.beginning("first.toml", load(FIRST).replace(SHORT)), folder)

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    with served(server):
        shown = Lab(browser, f"http://127.0.0.1:{server.server_port}/")
        shown.drawn()
        assert "in this page" in shown.text("#engine")
        assert shown.page.is_disabled("#predict")
        assert not shown.complaints
    opened = browser.new_page()
    opened.goto((folder / "index.html").as_uri())
    assert "served, not opened as a file" in opened.text_content("#sentence")
    opened.close()


def test_without_an_engine_in_the_page_the_server_runs(browser: Any) -> None:
    tables = []
    for without_engine in (False, True):
        scenario = load(FIRST).replace(duration="1 s", warmup="0.2 s")
        with lab(scenario, without_engine=without_engine) as server:
            shown = Lab(browser, server.address)
            shown.at_rest()
            tables.append(shown.text("#metrics"))
            where = "on the server" if without_engine else "in this page"
            assert where in shown.text("#engine")
    assert tables[0] == tables[1]


@pytest.mark.real_time
@pytest.mark.usefixtures("emulation")
def test_linux_is_drawn_beside_the_engine_until_the_scenario_changes(browser: Any) -> None:
    with lab(load(FIRST).replace(duration="3 s", warmup="1 s")) as server:
        shown = Lab(browser, server.address)
        shown.at_rest()
        shown.page.click("#emulate")
        shown.page.wait_for_selector('body[data-live="ended"], #error:not([hidden])')
        assert shown.text("#metrics").count("Linux") == 1
        assert "in real time" in shown.text("#live")
        rows = [row for row in shown.curves() if row[0] == "Linux"]
        assert {row[1] for row in rows} == {"cwnd", "queue", "rtt", "goodput"}
        before = shown.drawn()
        shown.page.focus(RATE)
        shown.page.keyboard.press("Home")
        shown.redrawn(before)
        assert "Linux" not in shown.text("#metrics")
        assert not shown.text("#live")
        assert not shown.complaints
