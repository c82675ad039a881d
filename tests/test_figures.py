"""The registry of figures: it has everything that draws a result, and its records are true."""

import inspect
from dataclasses import fields

import pytest

from ackclock import Result, plot
from ackclock.cli.plot import plot as command
from ackclock.elements.registry import registry
from ackclock.plot.kind import METHODS
from ackclock.result.run_json import TABLES

KINDS = pytest.mark.parametrize(
    "kind", plot.FIGURES, ids=lambda kind: f"{kind.name}-{kind.methods[0]}"
)


def test_a_method_has_one_figure_of_a_name() -> None:
    listed = [(kind.name, method) for kind in plot.FIGURES for method in kind.methods]
    assert len(set(listed)) == len(listed)


@KINDS
def test_a_record_says_what_is_so(kind: plot.FigureKind) -> None:
    assert kind.summary.endswith(".")
    assert kind.methods
    assert set(kind.methods) <= set(METHODS)
    assert set(kind.tables) <= {table["name"] for table in registry()["tables"]}
    view = [field.name for field in fields(plot.View)]
    depends = [name for name in inspect.signature(kind.make).parameters if name in view]
    assert sorted(kind.takes) == sorted(depends)
    assert kind.is_over_time == ("span" in depends)


def test_methods_are_those_of_results() -> None:
    assert set(METHODS) == {*TABLES, "compare", "results"}


def test_whatever_a_view_has_is_an_option_of_the_command() -> None:
    given = {
        "span" if parameter.name in ("begin", "end") else parameter.name
        for parameter in command.params
    }
    assert set(plot.OPTIONS) <= given
    assert {*plot.OPTIONS, "predicted"} == {field.name for field in fields(plot.View)}


@pytest.mark.slow
def test_a_figure_is_there_or_says_why_not(result: Result) -> None:
    view = plot.View()
    figures = plot.figures(result)
    simulated = [kind.name for kind in plot.FIGURES if "simulate" in kind.methods]
    assert list(figures) == [name for name in simulated if name in figures]
    assert {"sweep", "heatmap", "cwnd", "queue", "cdf", "variation"} <= set(figures)
    for name in plot.names():
        reason = plot.why_not(result, name, view)
        assert (reason is None) == (name in figures)
    nothing = Result(result.run, {})
    assert plot.figures(nothing) == {}
    assert plot.why_not(nothing, "cwnd", view) == 'has no table "samples"'
    assert plot.why_not(result, "bursts", view) == "is a simulation, which does not show it"


def test_the_catalogue_has_every_figure_once() -> None:
    catalogue = plot.catalogue()
    assert list(catalogue) == plot.names()
    assert catalogue["cwnd"]["methods"] == ["simulate", "emulate", "compare", "results"]
    assert catalogue["cwnd"]["options"] == ["point", "replicate", "span"]
    assert catalogue["sweep"]["options"] == ["metric", "x", "subject"]
