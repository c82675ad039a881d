import math
import re
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from ackclock import Result, Scenario, plot, simulate
from ackclock.metrics import METRICS, metric, summarise
from ackclock.plot.style import (
    COLOURS,
    control_styles,
    line_styles,
    look,
    reference,
    style_sheet,
)  # fmt: skip
from ackclock.plot.style import line as line_style
from ackclock.plot.sweep import swept_axis

from .refusals import refused


def drawn(name: str, result: Result, **options: Any) -> plot.Drawing:
    return plot.figure(result, name, **options)


# The figures over time of any simulation, by name.
OVER_TIME = {
    kind.name: partial(drawn, kind.name)
    for kind in plot.FIGURES
    if kind.is_over_time and "simulate" in kind.methods
}
del OVER_TIME["loss_event_rate"]  # of rate controls
del OVER_TIME["states"]  # of controls that are recorded: test_states_figure.py
del OVER_TIME["requests"]  # of clients: simulation/test_requests.py

SIGNATURES = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def looks(figure: Figure) -> dict[str, tuple[str, ...]]:
    """Returns dash and marker of each labelled line."""
    lines = [
        line
        for axes in figure.axes
        for line in axes.get_lines()
        if not line.get_label().startswith("_")
    ]
    return {
        line.get_label(): (line.get_linestyle(), str(line._dash_pattern), str(line.get_marker()))
        for line in lines
    }


@pytest.fixture(scope="module")
def rivals(leaky_pipe: Scenario) -> Result:
    """Reno, CUBIC, and another Reno on one path."""
    alone = leaky_pipe.expand()[1].scenario
    flow = alone.tree["flows"][0]
    cubic = flow["transport"] | {"control": {"kind": "cubic"}}
    flows = [
        flow,
        flow | {"name": "other", "transport": cubic},
        flow | {"name": "third", "count": 2},
    ]
    return simulate(alone.replace(flows=flows, replicates=2, duration="3 s"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["sweep", *OVER_TIME])
def test_every_figure_in_every_format(
    result: Result, predicted: Result, tmp_path: Path, name: str
) -> None:
    draw = plot.figures(result, predicted)[name]
    figure, again = draw(), draw()
    for ending, signature in SIGNATURES.items():
        path = plot.save(figure, tmp_path / f"figure{ending}")
        first = path.read_bytes()
        assert first.startswith(signature)
        is_same = plot.save(again, path).read_bytes() == first  # no dates, no randomness
        assert is_same, ending
        if ending == ".svg":
            assert ElementTree.fromstring(first).tag.endswith("svg")


def test_other_formats_are_refused(result: Result, tmp_path: Path) -> None:
    with refused("unsupported", str(tmp_path / "figure.doc"), ".svg"):
        plot.save(plot.figure(result, "cwnd"), tmp_path / "figure.doc")
    assert not list(tmp_path.iterdir())


def test_controls_are_told_apart_without_colour(result: Result) -> None:
    styles = [look(name) for name in control_styles(result.run).values()]
    assert len({(style.dashes, style.marker) for style in styles}) == len(styles)
    names = [*map(line_style, range(66)), *map(reference, range(4))]
    many = [look(name) for name in names]
    assert len({(style.dashes, style.marker) for style in many}) == len(many)


def test_flows_of_one_control_have_colours_of_their_own(result: Result) -> None:
    for control, own in control_styles(result.run).items():
        several = line_styles(result.run, [control, control, "udp", control])
        assert several[0] == own
        assert len({look(name).colour for name in several}) == 4
    many = line_styles(result.run, 30 * ["reno"])
    assert len(set(many)) == 30


@pytest.mark.parametrize("name", ["cwnd", "throughput", "rtt"])
def test_lines_are_told_apart_without_colour(rivals: Result, name: str) -> None:
    lines = {
        label: look
        for label, look in looks(plot.figure(rivals, name)).items()
        if "ssthresh" not in label and label != "timeout"
    }
    flows = {label.split(" (")[0] for label in lines}
    assert {"main", "other", "third/0", "third/1"} <= flows
    assert len(set(lines.values())) == len(lines)


def test_the_sweep_draws_what_the_summary_says(result: Result, predicted: Result) -> None:
    figure = plot.figure(result, "sweep", predicted=predicted)
    [axes] = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert {"Reno", "CUBIC", "model: PFTK (Reno)", "model: square root (Reno)"} <= set(lines)
    expected = {summary.point: summary.interval for summary in summarise(result, metric("goodput"))}
    np.testing.assert_allclose(
        lines["Reno"].get_ydata(), [expected[point].mean / 1e6 for point in range(3)]
    )
    np.testing.assert_allclose(
        lines["CUBIC"].get_ydata(), [expected[point].mean / 1e6 for point in range(3, 6)]
    )
    np.testing.assert_allclose(lines["Reno"].get_xdata(), [0, 0.5, 5])
    assert axes.get_xlabel() == "wireless probability (%)"
    assert axes.get_ylabel() == "goodput (Mbit/s)"
    rows = predicted.tables["predictions"].to_pylist()
    pftk = [
        row["goodput_bit_per_s"] / 1e6
        for row in rows
        if row["model"] == "pftk" and row["goodput_bit_per_s"]
    ]
    np.testing.assert_allclose(lines["model: PFTK (Reno)"].get_ydata(), pftk)
    distinct = looks(figure)
    assert len(set(distinct.values())) == len(distinct)


def test_the_band_is_the_confidence_interval(result: Result) -> None:
    [axes] = plot.figure(result, "sweep").axes
    expected = [
        summary.interval for summary in summarise(result, metric("goodput")) if summary.point < 3
    ]
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(max(interval.high for interval in expected) / 1e6)
    assert band[:, 1].min() == pytest.approx(min(interval.low for interval in expected) / 1e6)


# Metrics of flows that end, of several flows, of longer flows, of controls that allow or estimate a
# rate, of hops that record the delay of each packet, and of clients that ask for data.
OF_OTHER_FLOWS = (
    "completion_time",
    "completion_time_p95",
    "equivalence",
    "max_min_ratio",
    "starved_share",
    "windowed_fairness",
    "rate_cov",
    "allowed_rate",
    "loss_event_rate",
    "rate_estimate",
    "estimate_bias",
    "estimate_settling_time",
    "incomplete_share",
    "packet_delay_p50",
    "packet_delay_p95",
    "packet_delay_p99",
    "request_time",
    "request_time_p50",
    "request_time_p99",
    "rebuffer_share",
    "page_time",
)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in METRICS if name not in OF_OTHER_FLOWS])
def test_every_metric_can_be_swept(result: Result, name: str) -> None:
    assert plot.figure(result, "sweep", metric=name).axes[0].get_lines()


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_OTHER_FLOWS)
def test_a_metric_that_is_not_known_is_said_to_be_so(result: Result, name: str) -> None:
    [axes] = plot.figure(result, "sweep", metric=name).axes
    assert not axes.get_lines()
    assert [text.get_text() for text in axes.texts] == ["known of no point"]


def test_without_a_swept_quantity_there_is_no_sweep(rivals: Result) -> None:
    assert "sweep" not in plot.figures(rivals)
    with refused("no-data", ""):
        plot.figure(rivals, "sweep")


def test_units_that_differ_are_brought_to_one() -> None:
    points = [{"assignments": {"x": value}} for value in ("900 kbit/s", "1 Mbit/s", "2 Mbit/s")]
    axis = swept_axis(points)
    assert axis is not None
    assert (axis.unit, axis.values) == ("bit/s", [9e5, 1e6, 2e6])
    assert swept_axis([{"assignments": {"x": value}} for value in ("reno", "cubic")]) is None


def test_the_window_is_drawn_in_segments(result: Result) -> None:
    [axes] = plot.figure(result, "cwnd", point=1, replicate=2).axes
    line = next(line for line in axes.get_lines() if line.get_label() == "main (Reno) cwnd")
    rows = [
        row
        for row in result.tables["samples"].to_pylist()
        if row["point"] == 1 and row["replicate"] == 2
    ]
    np.testing.assert_allclose(line.get_ydata(), [row["cwnd_bytes"] / 1000 for row in rows])


@pytest.mark.slow
def test_drops_are_drawn_once_each(result: Result) -> None:
    _, drops = plot.figure(result, "queue", point=2).axes
    drawn = sum(float(np.sum(line.get_ydata())) for line in drops.get_lines())
    rows = [
        row
        for row in result.tables["hops"].to_pylist()
        if row["point"] == 2 and row["replicate"] == 0
    ]
    last = {row["hop"]: row for row in rows}
    assert drawn == sum(
        row[name]
        for row in last.values()
        for name in ("drops_queue", "drops_aqm", "drops_impairment")
    )
    assert drawn > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", OVER_TIME)
def test_figures_over_time_may_be_of_a_part_of_it(result: Result, name: str) -> None:
    whole = OVER_TIME[name](result, point=2)
    part = OVER_TIME[name](result, point=2, span=(2.0, 3.0))
    for all_axes, axes in zip(whole.axes, part.axes, strict=True):
        assert axes.get_xlim() == (2, 3)
        drawn = {line.get_label(): line for line in all_axes.lines}
        for line in axes.lines:
            time, values = drawn[line.get_label()].get_data()
            here = (time >= 2) & (time <= 3) if name != "throughput" else np.zeros(time.size, bool)
            assert ((line.get_xdata() >= 2) & (line.get_xdata() <= 3)).all()
            if here.any():
                np.testing.assert_array_equal(line.get_ydata(), np.asarray(values)[here])


def test_a_point_that_is_not_there_is_named(result: Result) -> None:
    with refused("out-of-range", "point", 9, 5):
        plot.figure(result, "cwnd", point=9)
    for replicate in (-1, 9):
        with refused("out-of-range", "replicate", replicate):
            plot.figure(result, "cwnd", replicate=replicate)


@pytest.mark.slow
def test_an_empty_run_draws_empty_axes(leaky_pipe: Scenario, tmp_path: Path) -> None:
    nobody = simulate(
        leaky_pipe.expand()[0].scenario.replace(flows=[], replicates=1, duration="2 s")
    )
    for name, draw in plot.figures(nobody).items():
        figure = draw()
        assert plot.save(figure, tmp_path / f"{name}.svg").stat().st_size > 0
        assert not math.isnan(figure.axes[0].get_ylim()[1])


def test_figures_of_an_interrupted_run_say_so(result: Result) -> None:
    flows = {name: table.slice(0, 0) for name, table in result.tables.items()}
    nothing = Result(result.run | {"partial": True}, flows)
    for draw in OVER_TIME.values():
        axes = draw(nothing, point=2).axes[0]
        assert "(interrupted run)" in axes.get_title(loc="left").replace("\n", " ")
        assert [text.get_text() for text in axes.texts] == ["not run: interrupted before"]
    partial = Result(result.run | {"partial": True}, result.tables)
    assert "interrupted" in plot.figure(partial, "sweep").axes[0].get_title(loc="left")


def test_more_flows_than_can_be_told_apart_are_counted(leaky_pipe: Scenario) -> None:
    many = simulate(
        leaky_pipe.expand()[0].scenario.replace(
            {"flows.0.count": 10, "replicates": 1, "duration": "2 s"}
        )
    )
    [axes] = plot.figure(many, "cwnd").axes
    assert axes.get_legend().get_title().get_text() == "8 of 10 flows"


def test_parameters_that_vary_together_make_one_line(leaky_pipe: Scenario) -> None:
    together = {"hops.wired.delay,hops.return.delay": [["5 ms", "10 ms"], ["20 ms", "40 ms"]]}
    [axes] = plot.figure(
        simulate(leaky_pipe.replace(sweep=together, replicates=2, duration="2 s")), "sweep"
    ).axes
    assert [
        line.get_xdata().tolist() for line in axes.get_lines() if line.get_label() == "Reno"
    ] == [[5, 20]]


def test_what_has_no_window_is_not_in_the_legend(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[1].scenario
    flow = alone.tree["flows"][0]
    udp = {"name": "udp", "route": flow["route"], "transport": {"kind": "udp"}}
    udp |= {"traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    result = simulate(alone.replace(flows=[flow, udp], replicates=1, duration="2 s"))
    assert "udp (UDP)" in looks(plot.figure(result, "throughput"))
    assert not any(
        "udp" in label for name in ("cwnd", "rtt") for label in looks(plot.figure(result, name))
    )


def test_what_an_emulation_does_not_know_is_not_drawn(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[1].scenario
    flow = alone.tree["flows"][0]
    udp = {"name": "udp", "route": flow["route"], "transport": {"kind": "udp"}}
    udp |= {"traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    result = simulate(alone.replace(flows=[flow, udp], replicates=1, duration="2 s"))
    samples = result.tables["samples"]
    samples = samples.filter([flow != "udp" for flow in samples["flow"].to_pylist()])
    samples = samples.set_column(
        samples.column_names.index("rtt_s"), "rtt_s", [[None] * samples.num_rows]
    ).cast(samples.schema)
    emulated = Result(result.run | {"method": "emulate"}, {**result.tables, "samples": samples})
    [axes] = plot.figure(emulated, "throughput").axes
    assert axes.get_ylabel() == "acknowledged (Mbit/s)"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "main (Reno)",
        "udp: not sampled",
    ]
    assert "udp: not sampled" not in looks(plot.figure(result, "throughput"))
    assert set(looks(plot.figure(emulated, "rtt"))) == {"main (Reno) smoothed"}


def test_a_long_title_goes_on_below(leaky_pipe: Scenario) -> None:
    name = " ".join(["word"] * 20)
    figure = plot.figure(
        simulate(leaky_pipe.expand()[0].scenario.replace(name=name, replicates=1, duration="2 s")),
        "cwnd",
    )
    lines = figure.axes[0].get_title(loc="left").splitlines()
    assert len(lines) == 2
    assert " ".join(lines).startswith(f"Congestion window: {name}")


def test_curves_are_told_apart_and_points_look_like_their_line() -> None:
    figure = plot.curves(
        [
            plot.Curve("law", [1, 10], [0.5, 1.0]),
            plot.Curve("law, measured", [1, 10], [0.4, 1.1], "points", 0),
            plot.Curve("other law", [1, 10], [0.2, 0.3]),
            plot.Curve("other, measured", [5], [0.25], "points"),
            plot.Curve("limit", [1, 10], [1.2, 1.2], "reference"),
        ],
        "loss probability p", "rate (segments/s)", "Laws", log_x=True,
    )  # fmt: skip
    [axes] = figure.axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert len(set(looks(figure).values())) == 5
    assert lines["law, measured"].get_color() == lines["law"].get_color()
    assert lines["law, measured"].get_linestyle() == "None"
    assert lines["other, measured"].get_color() not in (
        lines["law"].get_color(),
        lines["other law"].get_color(),
    )
    assert lines["limit"].get_color() == look(reference(0)).hex
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_ylim()[0] == 0
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")) == (
        "loss probability p", "rate (segments/s)", "Laws",
    )  # fmt: skip


def test_curves_below_zero_and_over_categories() -> None:
    [axes] = plot.curves(
        [plot.Curve("gap", [0, 1], [-1.0, 2.0])],
        "connection",
        "gap (s)",
        "Gaps",
        categories=["a", "b"],
    ).axes
    assert axes.get_ylim()[0] < -1
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b"]


@pytest.mark.slow
def test_an_inlined_drawing_has_ids_of_its_own() -> None:
    drawn = plot.render(
        plot.curves([plot.Curve("law", [1, 2], [1, 2])], "x (s)", "y (s)", "Law"), "svg"
    )
    first, second = plot.inline(drawn, "a-"), plot.inline(drawn, "b-")
    assert first.startswith("<svg")
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', first)) <= ids[0]


def test_colours_of_files_are_those_of_pages() -> None:
    sheet = resources.files("ackclock.report").joinpath("base.css").read_text()
    on_white = dict(re.findall(r"--([a-z]+): var\(--light, (#[0-9a-f]{6})\)", sheet))
    assert {name: on_white[name] for name in COLOURS} == COLOURS


def test_a_page_has_the_colour_and_dashes_of_a_file() -> None:
    for name in ("simulate", "line-4", "reference-2", "window"):
        style, rules = look(name), style_sheet([f"{name}/cross"])
        assert f".s-{name}{{--c:var(--{style.colour})}}" in rules
        drawn = re.search(r"stroke-dasharray:([\d. ]+|none)", rules)
        assert drawn is not None
        lengths = [] if drawn[1] == "none" else [float(length) for length in drawn[1].split()]
        assert lengths == pytest.approx([1.5 * length for length in style.dashes])


def test_a_figure_apart_has_the_same_values_and_a_panel_for_each_flow(rivals: Result) -> None:
    [kind] = [kind for kind in plot.FIGURES if kind.name == "cwnd" and "simulate" in kind.methods]
    whole = kind.spec(rivals, plot.View())
    assert isinstance(whole, plot.FigureSpec)
    apart = whole.apart()
    assert [panel.title for panel in apart.panels] == whole.groups
    assert len(whole.groups) == 4
    values = [
        series.y.tobytes() for series in sorted(whole.series, key=lambda series: series.group)
    ]
    panels = sorted(apart.panels, key=lambda panel: panel.title)
    assert [series.y.tobytes() for panel in panels for series in panel.series] == values
    for panel in apart.panels:
        assert {series.style for series in panel.series} <= {"simulate", "limit", "timeout"}
