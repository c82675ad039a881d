"""Pages in a browser: nothing wider than the window, figures that answer to keys and pointer."""

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from ackclock import Result, Scenario, load, plot, simulate
from ackclock.cli import cli
from ackclock.report import page
from ackclock.report.comparison import page_of_comparison
from ackclock.reproduction import Basis, Claim, Experiment, Outcome
from ackclock.reproduction.runner import reproduce, write_gallery

from .browser import PROGRAM, Browser
from .comparison.made_up import SWEEP, compared, made_up
from .sweeps.conftest import InThisProcess
from .sweeps.small import BUFFER, written

pytestmark = pytest.mark.slow

#: Pages by name; those of sweeps have the name of their design.
NAMES = ["comparison", "run", "curves", "evaluation", "grid:3", "sobol:4"]
Pages = Callable[[str], Path]

ENGINES = [5.0, 5.2, 4.8, 5.1, 4.9]
KEY = '[data-figure="s0-figure-goodput"]'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("NO BROWSER: the pages were not looked at; install chromium")
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(
    tmp_path_factory: pytest.TempPathFactory, leaky_pipe: Scenario, result: Result,
    predicted: Result,
) -> Pages:  # fmt: skip
    """Writes the page of a kind when a test first asks for it."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def written_page(name: str) -> Path:
        if ":" in name:
            return _swept(folder, name)
        if name == "curves":
            return write_gallery([CURVES], _reproduced(folder / name))
        if name == "evaluation":
            asked = ["evaluate", "bbr1", "--suite", "bbr-draft", "--only", "1", "--seeds", "1"]
            assert CliRunner().invoke(cli, [*asked, "-o", str(folder / name)]).exit_code == 0
            return folder / name / "index.html"
        path = folder / f"{name}.html"
        text = page([(result, predicted)]) if name == "run" else _compared(leaky_pipe)
        path.write_text(text, encoding="utf-8")
        return path

    return written_page


def _compared(leaky_pipe: Scenario) -> str:
    scenario = leaky_pipe.replace(sweep=SWEEP)
    return page_of_comparison(
        compared(
            scenario,
            "square_root",
            simulate=made_up("simulate", scenario, [ENGINES, [rate / 2 for rate in ENGINES]]),
            emulate=made_up("emulate", scenario, [[5.0, 5.3, 4.9], [0.82, 0.83, 0.84]]),
        )
    )


def _swept(folder: Path, design: str) -> Path:
    """Writes the page of a sweep of two parameters."""
    scenario, place = written(folder), folder / design.replace(":", "-")
    scenario.write_text(scenario.read_text().split("[sweep]")[0])
    vary = ["--vary", BUFFER, "--vary", "hops.b.link.rate=1..4 Mbit/s", "--design", design]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ackclock.sweeps.places.here.Here", InThisProcess)
        for command in (["sweep", "run", scenario, *vary, "-o", place], ["report", place]):
            assert CliRunner().invoke(cli, list(map(str, command))).exit_code == 0
    return place / "report.html"


def _outcome(_results: object) -> Outcome:
    shares = [1e-4, 1e-3, 1e-2, 1e-1]
    drawn = [
        plot.Curve("law", shares, [80.0, 40.0, 20.0, 10.0]),
        plot.Curve("printed", shares[1:3], [41.0, 19.0], "points", 0, [2.0, 2.0]),
        plot.Curve("other law", shares, [30.0, 20.0, 10.0, 5.0]),
        plot.Curve("limit", [1e-4, 1e-1], [60.0, 60.0], "reference"),
        plot.Curve("steep", [5e-3, 5e-3], [0.0, 60.0], "reference"),
    ]

    def draw() -> Figure:
        return plot.curves(drawn, "loss (share)", "rate (Mbit/s)", "Toy: a law", log_x=True)

    return Outcome(Basis(), (), draw, (Claim("It falls", "it does", holds=True),))


CURVES = Experiment(
    name="toy-figure-1", group="toy", source="Nobody, 2026", shows="Figure 1",
    question="What is left?", says="The more is lost, the less is left.", cost_s=0.1,
    conclude=_outcome,
)  # fmt: skip


def _reproduced(folder: Path) -> Path:
    folder.mkdir()
    reproduce(CURVES, folder)
    return folder


def value(browser: Browser, expression: str) -> Any:
    return browser.run(expression)


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_the_window_nor_drawn_over_its_edge(
    browser: Browser, pages: Pages, name: str, width: int
) -> None:
    browser.open(pages(name), width)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    outside = """[...document.querySelectorAll('main .live, main .card, main table')].filter(one =>
        !one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth).length"""
    texts = """Math.min(...[...document.querySelectorAll('.canvas text')].map(one =>
        one.getBoundingClientRect().height))"""
    paper = "getComputedStyle(document.body).backgroundColor"
    # Light comes last, and stays for other tests. No script asks which of the two it is.
    for scheme, colour in (("dark", "rgb(20, 23, 26)"), ("light", "rgb(255, 255, 255)")):
        browser.colours(scheme)
        assert value(browser, "document.documentElement.scrollWidth") == width, scheme
        assert value(browser, outside) == 0, scheme
        assert value(browser, texts) >= 11, scheme
        assert value(browser, paper) == colour


@pytest.mark.long
@pytest.mark.parametrize("width", [400, 1280])
def test_long_titles_of_panels_do_not_overlap(browser: Browser, tmp_path: Path, width: int) -> None:
    swept = {
        "flows.download.transport.control.kind": ["reno", "cubic"],
        "hops.bottleneck.delay,hops.return.delay": [["5 ms"] * 2, ["20 ms"] * 2],
        "hops.bottleneck.queue.limit": ["20 packets", "40 packets", "80 packets"],
    }
    first = load(Path(__file__).parents[1] / "examples" / "first.toml")
    quick = {"duration": "2 s", "warmup": "1 s", "replicates": 1, "sweep": swept}
    path = tmp_path / "long.html"
    path.write_text(page([(simulate(first.replace(quick)), None)]), encoding="utf-8")
    browser.open(path, width)
    boxes = """[...document.querySelectorAll('.live svg')].map(svg =>
        [...svg.querySelectorAll('text.title')].map(title => {
            const {left, right, top, bottom} = title.getBoundingClientRect();
            return [left, right, top, bottom, svg.getBoundingClientRect().right];
        })).filter(one => one.length > 3)"""
    figures = value(browser, boxes)
    assert figures
    for figure in figures:
        assert all(right <= edge for _, right, _, _, edge in figure)
        for title, other in itertools.combinations(figure, 2):
            apart = title[1] <= other[0] or other[1] <= title[0]
            assert apart or title[3] <= other[2] + 3 or other[3] <= title[2] + 3


def test_answer_certainty_and_figure_are_on_the_first_screen(
    browser: Browser, pages: Pages
) -> None:
    browser.open(pages("comparison"), 1280, 800)
    bottom = "Math.max(...[...document.querySelectorAll('.hero > *')].map(one => \
        one.getBoundingClientRect().bottom))"
    assert value(browser, bottom) <= 800


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_drawn_with_a_name(browser: Browser, pages: Pages, name: str) -> None:
    browser.open(pages(name), 1280)
    drawn = value(
        browser,
        """[...document.querySelectorAll('.live')].map(box => {
            const svg = box.querySelector('.canvas > svg');
            return [svg.getAttribute('role'), svg.querySelector('title').textContent.length,
                svg.querySelector('desc').textContent.length,
                svg.querySelectorAll('.mark, .line, .bars').length];
        })""",
    )
    assert drawn
    assert all(role == "img" and min(sizes) > 0 for role, *sizes in drawn)


def test_a_switch_hides_its_series_in_all_figures(browser: Browser, pages: Pages) -> None:
    browser.open(pages("comparison"), 1280)
    count = "document.querySelectorAll('.canvas .s-emulate').length"
    before = value(browser, count)
    assert before > 1
    browser.run(f"document.querySelector('{KEY} [data-series=emulate]').click()")
    assert value(browser, count) == 0
    pressed = "[...document.querySelectorAll('[data-series=emulate]')].map(one => \
        one.getAttribute('aria-pressed'))"
    assert set(value(browser, pressed)) == {"false"}
    browser.run(f"document.querySelector('{KEY} [data-series=emulate]').click()")
    assert value(browser, count) == before


def test_arrow_keys_move_one_cursor_and_tell_the_numbers(browser: Browser, pages: Pages) -> None:
    browser.open(pages("comparison"), 1280)
    browser.run(f"document.querySelector('{KEY} .canvas > svg').focus()")
    spoken = f"document.querySelector('{KEY} [aria-live]').textContent"
    browser.press("ArrowRight")
    first = value(browser, spoken)
    assert "0.5 %" in first
    assert "simulate engine5.000 ± 0.20 Mbit/s".replace("5.000", "5.00") in first
    browser.press("ArrowRight")
    second = value(browser, spoken)
    assert "5 %" in second
    assert "−67 ± 10 %" in second
    cursors = f"[...document.querySelectorAll('{KEY} .cross')].map(one => one.style.visibility)"
    assert set(value(browser, cursors)) == {"visible"}
    browser.press("Escape")
    assert set(value(browser, cursors)) == {"hidden"}
    assert value(browser, f"document.querySelector('{KEY} .tip').hidden") is True


def test_dragging_shows_a_part_of_the_time_in_linked_figures(
    browser: Browser, pages: Pages
) -> None:
    browser.open(pages("run"), 1280)
    svg = "document.querySelector('[data-figure=\"s0-time-cwnd\"] .canvas > svg')"
    browser.run(f"{svg}.scrollIntoView({{block: 'center'}})")
    box = value(browser, f"(({{x, y}}) => [x, y])({svg}.getBoundingClientRect())")
    ends = """[...document.querySelectorAll('[data-figure^="s0-time"]')].map(box =>
        [...box.querySelectorAll('.canvas text[text-anchor=middle]')]
            .map(one => one.textContent).includes('5'))"""
    assert all(value(browser, ends))
    browser.mouse("mousePressed", box[0] + 80, box[1] + 90)
    browser.mouse("mouseMoved", box[0] + 160, box[1] + 90)
    browser.mouse("mouseReleased", box[0] + 160, box[1] + 90)
    assert not any(value(browser, ends))
    whole = "[...document.querySelectorAll('.switch')].filter(one => \
        one.textContent === 'Whole time' && !one.hidden)"
    assert value(browser, f"{whole}.length") > 1
    browser.run(f"{whole}[0].click()")
    assert all(value(browser, ends))


def test_colours_follow_the_button(browser: Browser, pages: Pages) -> None:
    browser.open(pages("comparison"), 1280)
    press = "document.getElementById('theme').click()"
    seen = []
    for _ in range(3):
        browser.run(press)
        seen.append(value(browser, "document.documentElement.dataset.theme ?? ''"))
    assert seen == ["light", "dark", ""]


def test_without_scripts_everything_but_the_figures_is_there(
    browser: Browser, pages: Pages
) -> None:
    browser.scripts(allowed=False)
    try:
        browser.open(pages("comparison"), 1280)
        assert value(browser, "document.querySelectorAll('.canvas').length") == 0
        words = value(browser, "document.querySelector('.live').textContent")
        assert "its numbers are in the tables" in words
        assert value(browser, "document.querySelectorAll('.tables td').length") > 20
        assert value(browser, "document.querySelector('.answer').textContent.includes('Mbit/s')")
        assert value(browser, "document.getElementById('theme').hidden")
    finally:
        browser.scripts(allowed=True)


def pressed(browser: Browser, place: str) -> dict[str, str]:
    """Words of each switch of a figure, and if it is pressed."""
    switches: dict[str, str] = browser.run(
        f"""Object.fromEntries([...document.querySelectorAll('{place} [data-series]')].map(one =>
            [one.textContent, one.getAttribute('aria-pressed')]))"""
    )
    return switches


def test_curves_answer_at_their_values_and_a_curve_is_switched_alone(
    browser: Browser, pages: Pages
) -> None:
    browser.open(pages("curves"), 1280)
    place = '[data-figure="toy-figure-1-figure"]'
    figure = f"document.querySelector('{place} .canvas > svg')"
    browser.run(f"{figure}.focus()")
    browser.press("ArrowRight", "ArrowRight")
    tip = value(browser, f"document.querySelector('{place} .tip').innerText")
    # At the second value of the axis: lines, the mark with its interval, and the limit.
    for words in ("0.001 share", "40.00 Mbit/s", "41.0 ± 2.0 Mbit/s", "20.00 Mbit/s", "60.00"):
        assert words in tip, tip
    assert value(browser, f"{figure}.textContent").count("steep") == 2, "at its place, and named"
    lines = f"{figure}.querySelectorAll('.s-line-1 .line').length"
    marks = f"{figure}.querySelectorAll('.s-line-1 .mark.hollow').length"
    assert (value(browser, lines), value(browser, marks)) == (1, 2)
    browser.run(f"document.querySelector('{place} [data-series]').click()")
    assert pressed(browser, place) == {
        "law": "false", "printed": "true", "other law": "true", "limit": "true",
    }  # fmt: skip
    assert (value(browser, lines), value(browser, marks)) == (0, 2)


def test_a_logarithmic_axis_zooms_at_the_cursor(browser: Browser, pages: Pages) -> None:
    browser.open(pages("curves"), 1280)
    place = '[data-figure="toy-figure-1-figure"]'
    browser.run(f"document.querySelector('{place} .canvas > svg').focus()")
    shown = f"""[...document.querySelectorAll('{place} .canvas text[text-anchor=middle]')]
        .map(one => one.textContent)"""
    before = value(browser, shown)
    assert "10⁻³" in before
    assert "0.1" in before
    browser.press("ArrowRight", "+")
    assert "0.1" not in value(browser, shown)
    browser.press("Escape")
    assert value(browser, shown) == before


@pytest.mark.long
def test_figures_of_one_run_of_an_evaluation_zoom_together(browser: Browser, pages: Pages) -> None:
    browser.open(pages("evaluation"), 1280)
    ticks = """[...document.querySelectorAll('.live')].map(one =>
        [...one.querySelectorAll('text[text-anchor=middle]')].map(t => t.textContent).join(' '))"""
    before = value(browser, ticks)
    assert len(before) == 2
    browser.run("document.querySelector('.canvas > svg').focus()")
    browser.press("+")
    after = value(browser, ticks)
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert value(browser, "document.querySelectorAll('.strip li').length") >= 4
