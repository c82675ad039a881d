"""Figures of a sweep in panels: heat maps, small multiples, distributions, and their print form."""

import itertools

import matplotlib.colors
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from ackclock import Result, Scenario, plot, simulate
from ackclock.plot.heat_map import heat_map_axes
from ackclock.plot.panels import MOST_PANELS, dimensions
from ackclock.plot.paper import COLUMN_WIDTH_IN, TEXT_WIDTH_IN, Paper, width_in
from ackclock.plot.subject import bottleneck
from tests.refusals import refused
from tests.test_frame import LAB

#: What a figure calls them.
LABELS = ("Reno", "CUBIC")
CONTROLS, RATES, DELAYS, LIMITS = ("reno", "cubic"), (1.0, 10.0, 100.0), (5.0, 50.0), (0.5, 1.0)


@pytest.fixture(scope="module")
def lab() -> Result:
    return simulate(Scenario.from_toml(LAB))


def table(
    controls: tuple[str, ...] = CONTROLS, rates: tuple[float, ...] = RATES,
    delays: tuple[float, ...] = DELAYS, limits: tuple[float, ...] = LIMITS,
) -> pa.Table:  # fmt: skip
    """Returns a tidy table, as another program may have made it: without metadata."""
    points = list(itertools.product(controls, rates, delays, limits))
    return pa.table(
        {
            "point": range(len(points)),
            "flows_f_transport_control_kind": [point[0] for point in points],
            "hops_b_link_rate_Mbit_per_s": [point[1] for point in points],
            "hops_b_delay_ms": [point[2] for point in points],
            "hops_back_delay_ms": [point[2] for point in points],  # together with the other
            "hops_b_queue_limit_BDP": [point[3] for point in points],
            "subject": ["b"] * len(points),
            "utilisation": [value(*point) for point in points],
            "utilisation_half_width": [0.01] * len(points),
        }
    )


def value(control: str, rate: float, delay: float, limit: float) -> float:
    """Returns a share that tells each point from all others."""
    return 0.5 + 0.2 * (control == "reno") + rate / 1000 + delay / 1000 + limit / 100


def meshes(figure: Figure) -> list[np.ma.MaskedArray]:
    """Returns the values of each panel of a heat map, from the upper left one."""
    drawn = [
        mesh for axes in figure.axes for mesh in axes.collections if isinstance(mesh, QuadMesh)
    ]
    return [mesh.get_array() for mesh in drawn[:-1]]  # the last is the colour bar


def test_dimensions_are_what_varies_by_itself() -> None:
    listed = dimensions(table())
    assert [(dimension.label, dimension.unit, dimension.values) for dimension in listed] == [
        ("control.kind", "", CONTROLS), ("rate", "Mbit/s", RATES), ("delay", "ms", DELAYS),
        ("limit", "BDP", LIMITS),
    ]  # fmt: skip
    assert [dimension.label for dimension in dimensions(table(rates=(1.0,)))] == [
        "control.kind",
        "delay",
        "limit",
    ]


def test_a_heat_map_has_each_value_in_its_cell() -> None:
    figure = plot.draw(plot.heat_map(table(), "utilisation"))
    x, y, made = heat_map_axes(table())
    assert (x.label, y.label) == ("limit", "delay")
    assert made.columns is not None
    assert made.columns.label == "control.kind"
    assert [dimension.label for dimension in made.rows] == ["rate"]
    panels = meshes(figure)
    assert len(panels) == len(CONTROLS) * len(RATES)
    places = itertools.product(RATES, CONTROLS)
    for panel, (rate, control) in zip(panels, places, strict=True):
        expected = [[100 * value(control, rate, d, limit) for limit in LIMITS] for d in DELAYS]
        assert np.ma.getdata(panel) == pytest.approx(np.array(expected))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts[0] == f"{100 * value('reno', 1, 5, 0.5):.1f}\n±1.0"
    assert {axes.get_title(loc="center") for axes in figure.axes} >= set(LABELS)


def test_a_heat_map_has_the_axes_that_are_asked_for() -> None:
    x, y, made = heat_map_axes(table(), x="hops.b.link.rate", y="flows_f_transport_control_kind")
    assert (x.label, y.label) == ("rate", "control.kind")
    assert made.columns is not None
    assert {made.columns.label, *(dimension.label for dimension in made.rows)} == {"delay", "limit"}
    figure = plot.draw(plot.heat_map(table(), "utilisation", x="rate", y="control.kind"))
    assert figure.get_supxlabel() == "link rate (Mbit/s)"
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(LABELS)
    assert [text.get_text() for text in figure.axes[-2].get_xticklabels()] == ["1", "10", "100"]


def test_a_heat_map_leaves_out_what_is_unknown_and_marks_what_has_not_settled() -> None:
    whole = table(controls=("reno",), rates=(1.0,))
    values = [None, *whole["utilisation"].to_pylist()[1:]]
    index = whole.schema.get_field_index("utilisation")
    with_gap = whole.set_column(index, "utilisation", pa.array(values))
    marked = with_gap.append_column("utilisation_unsettled", pa.array([False, True, False, False]))
    figure = plot.draw(plot.heat_map(marked, "utilisation"))
    [panel] = meshes(figure)
    assert panel.mask.tolist() == [[True, False], [False, False]]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [("*" in text) for text in texts] == [True, False, False]
    assert any("not settled" in axes.get_title(loc="right") for axes in figure.axes)


@pytest.mark.slow
def test_the_label_of_the_colour_bar_is_within_the_figure() -> None:
    flat = table(controls=("reno",), rates=(1.0,))
    shown = flat.append_column("queueing_delay_p99", flat["utilisation"])
    figure = plot.draw(plot.heat_map(shown, "queueing_delay_p99"))
    FigureCanvasAgg(figure).draw()
    label = figure.axes[-1].yaxis.label.get_window_extent()
    assert label.y0 >= 0
    assert label.y1 <= figure.bbox.y1
    assert label.x1 <= figure.bbox.x1


def test_values_of_many_magnitudes_have_a_logarithmic_scale() -> None:
    def norm(values: list[float]) -> matplotlib.colors.Normalize:
        shown = table(controls=("reno",), rates=(1.0,))
        index = shown.schema.get_field_index("utilisation")
        figure = plot.draw(
            plot.heat_map(shown.set_column(index, "utilisation", pa.array(values)), "utilisation")
        )
        [mesh, *_] = [
            collection
            for collection in figure.axes[0].collections
            if isinstance(collection, QuadMesh)
        ]
        return mesh.norm

    assert isinstance(norm([0.001, 0.01, 0.1, 0.5]), matplotlib.colors.LogNorm)
    assert not isinstance(norm([0.1, 0.2, 0.3, 0.5]), matplotlib.colors.LogNorm)
    assert not isinstance(norm([0.0, 0.01, 0.1, 0.5]), matplotlib.colors.LogNorm)


def test_what_a_heat_map_cannot_show_is_refused() -> None:
    with refused("no-data", "", "two axes"):
        plot.heat_map(table(CONTROLS, (1.0,), (5.0,), (1.0,)), "utilisation")
    with refused("no-data", "", "goodput"):
        plot.heat_map(table(), "goodput")
    with refused("unknown-name", "--x", "hops.b.dely"):
        plot.heat_map(table(), "utilisation", x="hops.b.dely")
    with refused("contradiction", "--y"):
        plot.heat_map(table(), "utilisation", x="rate", y="hops.b.link.rate")
    many = tuple(float(rate) for rate in range(1, MOST_PANELS))
    with refused("out-of-range", "", "panels"):
        plot.heat_map(table(rates=many), "utilisation")


def test_small_multiples_have_a_line_for_each_choice() -> None:
    figure = plot.draw(plot.small_multiples(table(), "utilisation", x="rate"))
    panels = [axes for axes in figure.axes if axes.lines]
    assert len(panels) == len(DELAYS) * len(LIMITS)
    first = {str(line.get_label()): line for line in panels[0].lines if line.get_label() in LABELS}
    assert set(first) == set(LABELS)
    assert list(first["Reno"].get_xdata()) == list(RATES)
    expected = [100 * value("reno", rate, DELAYS[0], LIMITS[0]) for rate in RATES]
    assert list(first["Reno"].get_ydata()) == pytest.approx(expected)
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(LABELS)


@pytest.mark.long
@pytest.mark.parametrize("width", [COLUMN_WIDTH_IN, TEXT_WIDTH_IN])
def test_titles_legend_and_panels_do_not_overlap(width: float) -> None:
    spec = plot.small_multiples(
        table(), "utilisation", x="rate", title="A title that is " + "long " * 20
    )
    figure = plot.draw(spec, Paper(width))
    figure.draw_without_rendering()
    title = figure.texts[0].get_window_extent()
    legend = figure.legends[0].get_window_extent()
    tops = [axes.get_tightbbox().y1 for axes in figure.axes]
    assert title.y0 >= legend.y1 - 1
    assert legend.y0 >= max(tops) - 1
    assert title.x1 <= figure.bbox.width
    assert 0 <= legend.x0 < legend.x1 <= figure.bbox.width


@pytest.mark.slow
def test_the_bottleneck_is_shown_unless_another_hop_is_asked_for(lab: Result) -> None:
    assert bottleneck(lab) == "b"
    shown = plot.figure(lab, "sweep", metric="utilisation")
    assert "back" not in "".join(str(line.get_label()) for line in shown.axes[0].lines)
    other = plot.figure(lab, "heatmap", metric="utilisation", subject="back")
    means = {
        100 * row["utilisation"] for row in lab.frame("utilisation", subject="back").to_pylist()
    }
    [panel] = meshes(other)
    assert set(panel.ravel()) == means


def test_a_cdf_is_of_the_samples_of_the_queue(lab: Result) -> None:
    figure = plot.figure(lab, "cdf")
    lines = {str(line.get_label()): line for line in figure.axes[0].lines}
    assert set(lines) == set(LABELS)
    rows = lab.rows("hops", hop="b", point=0).to_pydict()
    delays = np.sort(
        [
            8e3 * backlog / rate
            for time, backlog, rate in zip(
                rows["time_s"], rows["backlog_bytes"], rows["rate_bit_per_s"], strict=True
            )
            if time > 1
        ]
    )
    reno = lines["Reno"]
    assert reno.get_xdata()[-1] == delays[-1]
    assert reno.get_xdata()[100] == pytest.approx(np.median(delays))
    assert (np.diff(reno.get_xdata()) >= 0).all()
    # All panels share an axis on which every curve ends.
    largest = max(line.get_xdata()[-1] for axes in figure.axes for line in axes.lines)
    assert all(axes.get_xlim()[0] == 0 and axes.get_xlim()[1] >= largest for axes in figure.axes)


@pytest.mark.slow
def test_a_distribution_is_of_the_subject_that_is_asked_for(lab: Result) -> None:
    assert plot.figure(lab, "cdf", subject="f").get_supxlabel() == "round-trip time of f (ms)"
    figure = plot.figure(lab, "box", subject="f", x="hops.b.queue.limit")
    assert figure.get_supxlabel() == "queue limit (BDP)"
    low = min(rtt for rtt in lab.rows("samples", flow="f")["rtt_s"].to_pylist() if rtt)
    drawn = [line.get_ydata() for axes in figure.axes for line in axes.lines]
    assert min(np.min(values) for values in drawn) >= 1e3 * low
    with refused("unknown-name", "--subject", "nobody"):
        plot.figure(lab, "box", subject="nobody")
    for nobody in ("nobody", "b"):  # A hop has no goodput.
        with refused("unknown-name", "--subject", nobody):
            plot.figure(lab, "sweep", metric="goodput", subject=nobody)


@pytest.mark.parametrize(
    ("written", "inches"),
    [
        ("column", COLUMN_WIDTH_IN), ("text", TEXT_WIDTH_IN), ("84 mm", 84 / 25.4),
        ("8.4cm", 8.4 / 2.54), ("3in", 3.0), ("241 pt", 241 / 72.27),
    ],
)  # fmt: skip
def test_a_width_is_a_name_or_a_length(written: str, inches: float) -> None:
    assert width_in(written) == pytest.approx(inches)


@pytest.mark.parametrize(
    ("written", "code"),
    [("", "wrong-type"), ("wide", "wrong-type"), ("3", "wrong-type"), ("3 furlongs", "wrong-type"),
     ("0.1 in", "out-of-range"), ("9 in 3", "wrong-type"), ("900 in", "out-of-range")],
)  # fmt: skip
def test_what_is_not_a_width_is_refused(written: str, code: str) -> None:
    with refused(code, "", written):
        width_in(written)


@pytest.mark.long
def test_print_has_width_font_and_no_title(lab: Result) -> None:
    paper = Paper(width_in("column"), "serif", 7.0, "")
    for kind in plot.FIGURES:
        view = plot.View(metric="utilisation")
        if kind.why_not(lab, view) is not None:
            continue
        figure = plot.draw(kind.spec(lab, view), paper)
        assert figure.get_size_inches()[0] == pytest.approx(COLUMN_WIDTH_IN)
        assert not any(axes.get_title(loc="left") for axes in figure.axes)
        assert not any(lab.run["name"] in text.get_text() for text in figure.texts)
        assert figure.axes[0].xaxis.label.get_fontfamily() == ["STIXGeneral"]
        pdf = plot.render(figure, "pdf")
        assert b"/FontFile2" in pdf  # TrueType, which is Type 42
        assert b"/Type3" not in pdf
