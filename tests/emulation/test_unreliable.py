"""Unreliable runs are kept, marked, and left out of every average unless asked for."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import Result, Scenario, emulate, plot, simulate
from ackclock.metrics import METRICS, interval, summarise
from ackclock.report import page
from ackclock.report.run_tables import fidelity_rows, flow_rows, flow_table, hop_rows

from .pretended import LATE, Pretended

# One run of the second point, all of the third.
DOUBTFUL = {(1, 2), (2, 0), (2, 1), (2, 2)}


@pytest.fixture(scope="module")
def emulated(leaky_pipe: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Result:
    short = leaky_pipe.replace({"duration": "3 s", "flows.main.transport.control.kind": "reno"})
    sweep = {"hops.wireless.impairments.0.probability": ["0 %", "0.5 %", "5 %"]}
    with pytest.MonkeyPatch.context() as patch:
        pretended = Pretended(
            dict.fromkeys(DOUBTFUL, LATE), refused=["tcp_recovery"]
        ).take_the_place(patch)
        assert pretended.complete
        return emulate(short.replace(sweep=sweep), tmp_path_factory.mktemp("emulated") / "run")


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_no_average_takes_them_in(emulated: Result, metric) -> None:
    values = metric.values(emulated)
    assert {(value.point, value.replicate) for value in values} >= DOUBTFUL  # they are kept
    for taken_in, result in (
        (False, emulated),
        (True, replace(emulated, averages_unreliable=True)),
    ):
        for average in summarise(result, metric):
            expected = interval(
                [
                    value.value
                    for value in values
                    if (value.point, value.subject) == (average.point, average.subject)
                    and (taken_in or (value.point, value.replicate) not in DOUBTFUL)
                ]
            )
            assert repr(average.interval) == repr(expected)  # as text: NaN equals NaN


def test_where_all_are_unreliable_nothing_is_known(emulated: Result) -> None:
    [first, second, third] = flow_rows(emulated)
    assert (
        first["goodput"].replicates,
        second["goodput"].replicates,
        third["goodput"].replicates,
    ) == (3, 2, 0)
    assert math.isnan(third["goodput"].mean)
    table = flow_table([first, second, third])
    head, cells = table.head, table.texts
    assert "–" not in cells[0]
    assert set(cells[2][head.index("goodput Mbit/s") :]) == {"–"}
    assert all(
        math.isnan(row["utilisation"].mean) for row in hop_rows(emulated) if row["point"] == 2
    )
    warned = [line for line in emulated.run["warnings"] if "reliable" in line]
    assert warned == ["point 2: no run is reliable, so there is nothing to average"]


def test_titles_say_so(emulated: Result) -> None:
    assert emulated.averaging.endswith(", 4 unreliable runs left out")
    assert replace(emulated, averages_unreliable=True).averaging.endswith(
        ", 4 unreliable runs taken in"
    )
    assert "unreliable" in plot.figure(emulated, "cwnd", point=1, replicate=2).axes[0].get_title(
        loc="left"
    )
    assert "reliable" not in plot.figure(emulated, "cwnd", point=1, replicate=1).axes[0].get_title(
        loc="left"
    )


def test_the_sweep_leaves_them_out(emulated: Result) -> None:
    for result, points in ((emulated, 2), (replace(emulated, averages_unreliable=True), 3)):
        [axes] = plot.figure(result, "sweep").axes
        [line] = [line for line in axes.get_lines() if line.get_label() == "Reno"]
        assert len(line.get_xdata()) == points


def test_nothing_of_a_simulation_is_left_out(result: Result) -> None:
    assert result.unreliable == result.left_out == frozenset()
    assert fidelity_rows(result) == []


def test_they_survive_the_folder(emulated: Result, tmp_path: Path) -> None:
    loaded = Result.load(emulated.save(tmp_path / "run"))
    assert loaded.unreliable == DOUBTFUL


@pytest.mark.slow
def test_the_report_shows_machine_verdicts_and_settings(emulated: Result, result: Result) -> None:
    text = page([(emulated, None)])
    shown = text.replace("\u00a0", " ")
    assert "<dt>method</dt><dd>emulate</dd>" in text
    assert "<dt>priority</dt><dd>SCHED_FIFO</dd>" in text
    assert len(re.findall(f"<td[^>]*>{re.escape(LATE)}</td>", shown)) == len(DOUBTFUL)
    assert text.count("<td>reliable</td>") == 9 - len(DOUBTFUL)
    assert text.count("<td>tcp_recovery</td>") == 1  # once, not for every run
    assert "1 setting is not as in the scenario (tcp_recovery)" in text
    assert "<b>Fidelity</b>" in text
    assert "<b>Fidelity</b>" not in page([(result, None)])


def test_a_failed_run_is_told(leaky_pipe: Scenario, tmp_path: Path, pretended: Pretended) -> None:
    pretended.failure, pretended.complete = "point 0, replicate 1: the receivers' host ended", False
    failed = emulate(leaky_pipe.expand()[0].scenario.replace(duration="2 s"), tmp_path / "run")
    assert failed.partial
    assert failed.run["failed"]
    assert [line for line in failed.run["warnings"] if "failed" in line] == [
        "a run failed, replicates or points are missing: point 0, replicate 1: the receivers' host "
        "ended"
    ]
    assert not simulate(leaky_pipe.expand()[0].scenario.replace(duration="2 s")).partial
