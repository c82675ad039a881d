import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from ackclock import Result, __version__
from ackclock.metrics import metric, summarise
from ackclock.plot.scales import height_axis, swept_axis_of
from ackclock.report import live, page
from ackclock.report.environment import aligned


class Checker(HTMLParser):
    """Collects ids and references, and checks that elements nest."""

    VOID = frozenset({"meta", "br", "img", "link", "hr", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self._look(attrs)

    def handle_startendtag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _look(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href") and not (value or "").startswith("#"):
                self.outside.append(value or "")


@pytest.fixture(scope="module")
def text(result: Result, predicted: Result) -> str:
    return page([(result, predicted), (result, None)])


def heads(text: str) -> list[tuple[int, str]]:
    """Level and words of each heading."""
    headings = re.findall(r"<h(\d)[^>]*>(.*?)</h\d>", text, re.DOTALL)
    return [(int(level), re.sub(r"<[^>]+>", "", words).strip()) for level, words in headings]


def check(text: str) -> None:
    """Checks that a page nests, stands alone and names everything once."""
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.outside == []
    assert not re.search(r"@import|https?://(?!www\.w3\.org|purl\.org|creativecommons)", text)
    assert len(set(checker.ids)) == len(checker.ids)
    linked = re.findall(r'href="#([^"]+)"', re.sub(r"(?s)<script.*?</script>", "", text))
    assert set(linked) <= set(checker.ids)
    levels = [level for level, _ in heads(text)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert text.count("<th") == text.count('<th scope="') + text.count("<thead")


def data_of(text: str) -> dict:
    """The data of the figures."""
    [data] = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', text)
    return json.loads(data)


@pytest.mark.slow
def test_the_page_stands_alone(text: str) -> None:
    check(text)


@pytest.mark.slow
def test_a_page_of_one_run_is_headed_by_it_and_answers_first(
    result: Result, predicted: Result
) -> None:
    text = page([(result, predicted)])
    check(text)
    words = [words for _, words in heads(text)]
    assert words[0] == "leaky pipe: one flow, 6 points"
    order = ["What was asked", "How sure we are", "Goodput", "Tables", "How it was made"]
    assert [head for head in words if head in order] == order
    assert re.search(r'<p class="answer"><b>Goodput goes from 0\.\d+ Mbit/s', text)


@pytest.mark.slow
def test_the_question_of_a_scenario_heads_its_page(result: Result) -> None:
    scenario = result.run["scenario"] | {"question": "How much does loss cost?"}
    text = page([(Result(result.run | {"scenario": scenario}, result.tables), None)])
    assert heads(text)[0] == (1, "How much does loss cost?")


@pytest.mark.slow
def test_the_page_says_what_was_run(text: str) -> None:
    assert "<dt>seed</dt><dd>1</dd>" in text
    assert __version__ in text
    assert "11 Mbit/s" in text
    assert "PFTK" in text
    assert "ackclock simulate leaky-pipe.toml" in text
    assert "[[hops]]" in text


@pytest.mark.slow
def test_live_figures_have_the_numbers_of_the_result(result: Result, predicted: Result) -> None:
    data = data_of(page([(result, predicted)]))
    goodput = data["s0-figure-goodput"]
    assert goodput["panels"][0]["title"] == "Reno"
    [simulated] = [series for series in goodput["panels"][0]["series"] if series["s"] == "simulate"]
    assert simulated["x"] == [0, 0.5, 5]
    assert goodput["x"]["kind"] == "symlog"  # there is a zero, and 0.5 is near it
    assert [name for _, name in goodput["x"]["ticks"]] == ["0 %", "0.5 %", "5 %"]
    means = [
        summary.interval.mean * 1e-6
        for summary in summarise(result, metric("goodput"))
        if result.points[summary.point]["assignments"]["flows.main.transport.control.kind"]
        == "reno"
    ]
    assert simulated["y"] == pytest.approx(means, rel=1e-3)
    assert [len(runs) for runs in simulated["runs"]] == [3, 3, 3]
    [key] = [key for key in goodput["keys"] if key["name"] == "model: PFTK"]
    [predicted_ones] = [
        series for series in goodput["panels"][0]["series"] if series.get("id") == key["id"]
    ]
    rows = predicted.tables["predictions"].to_pylist()
    pftk = [row for row in rows if row["model"] == "pftk" and row["goodput_bit_per_s"]]
    assert predicted_ones["x"] == [0.5, 5]
    assert predicted_ones["doubts"] == [bool(row["violated"]) for row in pftk]
    assert any(predicted_ones["doubts"])
    assert "doubts" not in simulated
    for figure in data.values():
        for panel in figure["panels"]:
            for series in panel["series"]:
                assert len(series.get("x", series["y"])) == len(series["y"]) <= 4000


@pytest.mark.slow
def test_a_heat_map_is_a_table_with_the_numbers_of_the_result(result: Result) -> None:
    shown = page([(result, None)])
    heat = shown[shown.index('<div class="heat">') :].partition("</figure>")[0]
    means = [
        summary.interval.mean * 1e-6
        for summary in summarise(result, metric("goodput"))
        if summary.subject == "main"
    ]
    cells = [
        float(number) for number in re.findall(r'<td class="(?:low|high)"[^>]*>([\d.]+)', heat)
    ]
    assert sorted(cells) == pytest.approx(sorted(means), abs=0.05)  # one decimal
    shares = [float(number) for number in re.findall(r"--share:([\d.]+)%", heat)]
    assert (min(shares), max(shares)) == (0, 100)
    assert cells[shares.index(100)] == max(cells)


@pytest.mark.slow
def test_a_distribution_reaches_the_whole_time(result: Result) -> None:
    figure = data_of(page([(result, None)]))["s0-cdf"]
    for panel in figure["panels"]:
        for series in panel["series"]:
            assert series["x"] == sorted(series["x"])
            assert (series["y"][0], series["y"][-1]) == (0, 100)
            assert series["x"][-1] <= figure["x"]["span"][1]


@pytest.mark.slow
def test_the_page_is_the_same_bytes(text: str, result: Result, predicted: Result) -> None:
    assert page([(result, predicted), (result, None)]) == text


@pytest.mark.slow
def test_a_partial_run_is_marked(text: str, result: Result) -> None:
    notice = "<b>Interrupted:</b> replicates or points are missing."
    assert notice in page([(Result(result.run | {"partial": True}, result.tables), None)])
    assert notice not in text


@pytest.mark.slow
def test_names_are_escaped(result: Result) -> None:
    text = page([(Result(result.run | {"name": "<b>boo</b></script>"}, result.tables), None)])
    assert "<b>boo" not in text
    assert "boo</b></script>" not in text


def test_thinning_keeps_the_ends_of_values_and_of_time() -> None:
    time = np.arange(100_000) * 1e-3
    values = np.sin(time) + (np.arange(time.size) == 54_321) * 5
    thin = live.thinned(time, values, 1000)
    assert len(thin["y"]) == 1000
    assert max(thin["y"]) == pytest.approx(values.max(), rel=1e-3)
    peak_s = thin["x0"] + thin["dx"] * thin["y"].index(max(thin["y"]))
    assert peak_s == pytest.approx(54.321, abs=0.2)  # one of 500 intervals of 100 s
    assert live.thinned(time[:5], values[:5], 1000)["y"] == live.rounded(values[:5])


def test_numbers_stand_under_each_other() -> None:
    figure, point = "\u2007", "\u2008"
    shown = aligned(["5.21 ± 0.13", "-12 ± 10", "–"])
    assert shown[0] == f"{figure * 2}5.21 ± {figure}0.13"
    assert shown[1] == f"−12{point}{figure * 2} ± 10{point}{figure * 2}"
    assert shown[2] == "–"
    assert aligned(["-0.5", "12"]) == ["−0.5", f"12{point}{figure}"]


def test_an_axis_of_values_gives_room_to_small_ones() -> None:
    wide = swept_axis_of([1, 2, 4, 100], "limit", "packets")
    assert (wide.scale, wide.ticks[-1]) == ("log", (100, "100"))
    assert swept_axis_of([0, 0.1, 5], "loss", "%").scale == "symlog"
    assert swept_axis_of([10, 20, 30], "delay", "ms").scale == "linear"
    assert height_axis([1, 10, 40], "goodput").scale == "log"
    assert height_axis([0, 10, 40], "goodput").begin == 0
    assert height_axis([-1, 10], "difference").begin is None
