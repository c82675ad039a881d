"""The figure `states`: bands of a control's states, lines of what it decides."""

import pytest

from ackclock import Result, Scenario, plot, simulate
from ackclock.plot import View, draw, why_not
from ackclock.plot.states import states

from .refusals import refused


@pytest.fixture(name="recorded", scope="module")
def _recorded(leaky_pipe: Scenario) -> Result:
    scenario = leaky_pipe.expand()[0].scenario
    changes = {
        "flows.main.transport.control": {"kind": "bbr1"},
        "flows.main.control_states": True,
        "replicates": 1,
        "duration": "3 s",
    }
    return simulate(scenario.replace(changes))


def words(figure) -> set[str]:
    return {
        *(text.get_text() for axes in figure.axes for text in axes.texts),
        *(text for axes in figure.axes for text in axes.get_legend_handles_labels()[1]),
    }


def test_it_names_states_and_lines(recorded: Result) -> None:
    shown = words(draw(states(recorded)))
    assert {"in flight", "cwnd", "sample", "max_bw"} <= shown
    assert "long-term bound" not in shown, "version 1 has none"
    assert any(text.startswith("startup") for text in shown)


def test_a_suite_may_give_other_names_and_marks(recorded: Result) -> None:
    shown = words(
        draw(states(recorded, span=(0, 1), names={"startup": "STARTUP"}, marks=[(0.5, "slower")]))
    )
    assert {"STARTUP", "slower"} <= shown


def test_a_span_is_the_ends_of_the_axis(recorded: Result) -> None:
    figure = draw(states(recorded, span=(1.0, 2.0)))
    assert figure.axes[1].get_xlim() == (1.0, 2.0)


@pytest.mark.slow
def test_the_same_figure_has_the_same_bytes(recorded: Result) -> None:
    first, again = (plot.render(draw(states(recorded)), "svg") for _ in range(2))
    assert first == again
    assert first.startswith(b"<?xml")


def test_without_the_table_there_is_none(recorded: Result, result: Result) -> None:
    assert why_not(recorded, "states", View()) is None
    assert why_not(result, "states", View()) == 'has no table "control_states"'
    with refused("no-data", ""):
        states(recorded, span=(2.9, 2.9000001))
