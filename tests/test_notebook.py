"""Objects in a notebook: what they show, progress by itself, and an interrupt that is raised."""

import re
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import ackclock
from ackclock import Interrupted, Result, Scenario, notebook, plot, simulate

from .comparison.made_up import SWEEP, compared, made_up


class Shown:
    """A display of a notebook, which keeps what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, shown: Any, display_id: bool) -> "Shown":
        assert display_id
        self.update(shown)
        return self

    def update(self, shown: Any) -> None:
        self.texts.append(shown._repr_html_())


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """A kernel of Jupyter, and work that is long enough for a bar at once."""
    display = Shown()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(notebook, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(notebook, "_EVERY_S", 0.0)
    return display


def test_a_scenario_shows_its_hops_and_flows(leaky_pipe: Scenario) -> None:
    text = leaky_pipe._repr_html_()
    assert "<b>Scenario leaky pipe</b>" in text
    assert "duration 5 s" in text
    for name in ("wired", "wireless", "return", "main"):
        assert f"<td>{name}</td>" in text
    assert "link constant, rate 11 Mbit/s" in text
    broken = Scenario({"name": "<i>", "hops": 3, "flows": [7]})
    assert "&lt;i&gt;" in broken._repr_html_()


@pytest.mark.slow
def test_a_result_shows_its_answer_shortly(result: Result, predicted: Result) -> None:
    assert repr(result) == "Result(simulate leaky pipe, 6 points, 3 replicates)"
    text = result._repr_html_()
    assert text.count("<tr>") == 7
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads == ["control.kind", "probability %", "subject", "goodput Mbit/s", "mean RTT ms"]
    assert '<td style="text-align:right' in text
    assert "folder" not in text
    assert "square root" in predicted._repr_html_()


@pytest.mark.slow
def test_a_result_from_a_folder_names_it(result: Result, tmp_path: Any) -> None:
    assert result.folder is None
    read = Result.load(result.save(tmp_path / "run"))
    assert read.folder == tmp_path / "run"
    assert f"folder {tmp_path / 'run'}" in read._repr_html_()


def test_a_result_marks_what_has_not_settled(leaky_pipe: Scenario) -> None:
    lossless = {"sweep": {}, "hops.wireless.impairments": [], "duration": "3 s", "warmup": "1 s"}
    text = simulate(leaky_pipe.replace(**lossless))._repr_html_()
    assert re.search(r">[0-9.]+ ± [0-9.]+\*</td>", text)
    assert "* has not settled" in text


def test_a_comparison_shows_its_sentences_and_numbers(leaky_pipe: Scenario) -> None:
    scenario = leaky_pipe.replace(sweep=SWEEP)
    comparison = compared(
        scenario, None, simulate=made_up("simulate", scenario, [[5.0, 5.2], [2.0, 2.1]])
    )
    text = comparison._repr_html_()
    assert repr(comparison) == "Comparison(made up: simulate)"
    assert "The simulation has a goodput of 5.1" in text
    assert "simulate engine" in text


@pytest.mark.slow
def test_a_figure_shows_itself(result: Result) -> None:
    figure = plot.figure(result, "cwnd")
    assert "<svg" in figure._repr_svg_()
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.slow
def test_progress_appears_by_itself_and_goes(leaky_pipe: Scenario, shown: Shown) -> None:
    with notebook.progress("work", None) as tell:
        assert tell is not None
        tell(0.25)
        tell({"fraction": None})
    assert ["work 25%" in text for text in shown.texts] == [True, False, False]
    assert shown.texts[-1] == ""
    simulate(leaky_pipe.expand()[0].scenario)


def test_outside_a_notebook_nothing_is_shown() -> None:
    given = [].append
    with notebook.progress("work", None) as tell:
        assert tell is None
    with notebook.progress("work", given) as tell:
        assert tell is given


@pytest.mark.slow
def test_an_interrupt_is_raised_with_what_was_run(leaky_pipe: Scenario) -> None:
    long = leaky_pipe.replace(duration="60 s", replicates=200)
    tries = []

    def stop(share: float) -> None:
        if share > 0:
            signal.raise_signal(signal.SIGINT)

    def loop() -> None:
        for number in range(3):
            tries.append(number)
            simulate(long, progress=stop)

    with pytest.raises(Interrupted) as caught:
        loop()
    assert tries == [0]
    assert isinstance(caught.value, KeyboardInterrupt)
    assert caught.value.result.partial
    assert 0 < caught.value.result.tables["flows"].num_rows < 6 * 200


def test_the_package_completes_all_its_names() -> None:
    assert set(ackclock.__all__) == set(dir(ackclock))
    for name in dir(ackclock):
        assert getattr(ackclock, name) is not None
