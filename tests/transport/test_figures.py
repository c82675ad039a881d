"""Figures and pages of made-up sessions: they show the tables, and need no socket."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from ackclock import Result, Scenario, plot, simulate
from ackclock.elements.registry import controls
from ackclock.metrics import rate_cov, summarise
from ackclock.metrics.tables import column
from ackclock.plot.variation import variation
from ackclock.report import page
from ackclock.result.run_json import SCHEMA

from ..emulation.pretended import names_of
from ..in_process import ackclock
from ..refusals import check_refusal, refused

OPENED_S = 30.0
SAMPLES = 121
PEERS = {"send": "192.0.2.7:40000", "receive": "192.0.2.1:7400"}

Lines = dict[str, Any]


def whole(name: str, table: pa.Table) -> pa.Table:
    """Returns a table with all its columns: those that it lacks are unknown."""
    for lacking in names_of(name):
        if lacking not in table.column_names:
            table = table.append_column(lacking, pa.nulls(table.num_rows, pa.float64()))
    return table


def session(
    method: str,
    rate: float = 1e6,
    allowed: float = 2e6,
    ending: str = "finished",
    begun: bool = True,
) -> Result:
    """Returns a session of 12 s after 30 s of waiting.

    `rate` arrives and `allowed` is allowed, in bit/s.
    """
    rows = SAMPLES if begun else 0
    seconds = np.arange(rows) * 0.1
    nothing = [None] * rows
    is_sender = method == "send"
    samples = {
        "point": [0] * rows, "replicate": [0] * rows, "flow": ["data"] * rows,
        "instance": [0] * rows, "time_s": OPENED_S + seconds,
        "sent_packets": (seconds * rate / 8000).astype(int),
        "delivered_bytes": (seconds * rate / 8).astype(int),
    }  # fmt: skip
    reported = {
        "rtt_s": 0.05,
        "smoothed_rtt_s": 0.06,
        "allowed_rate_bit_per_s": allowed,
        "loss_event_rate": 0.02,
    }
    samples |= {
        name: pa.array([value] * rows if is_sender else nothing, pa.float64())
        for name, value in reported.items()
    }
    flow = {
        "point": 0, "replicate": 0, "flow": "data", "instance": 0, "control": "tfrc",
        "start_s": OPENED_S, "end_s": OPENED_S + 12, "measured_s": 12.0, "goodput_bit_per_s": rate,
        "delivered_bytes": int(1.5 * rate), "sent_packets": 1500, "lost_packets": 30.0,
        "rtt_mean_s": 0.05 if is_sender else None,
    }  # fmt: skip
    flows = whole("flows", pa.Table.from_pylist([flow]))
    samples_table = whole("samples", pa.table(samples))
    tables = {"flows": flows if begun else flows.slice(0, 0), "samples": samples_table}
    if is_sender:
        counts = (
            {"packets": [1, 2, 5], "bursts": [900, 290, 4]}
            if begun
            else {"packets": [], "bursts": []}
        )
        tables["bursts"] = whole("bursts", pa.table(counts))
    told_of = {"peer": PEERS[method], "control": "tfrc"} if begun or not is_sender else {}
    run = {
        "schema": SCHEMA, "method": method, "name": "mine", "seed": None, "replicates": 1,
        "versions": {"ackclock": "0.1.0"},
        "partial": False, "warnings": [], "controls": controls(), "scenario": None,
        "points": [{"assignments": {}, "scenario": None}], "options": {"--payload": "1000 bytes"},
        "session": {"ending": ending, "lasted_s": 42.0, "silence_s": 11.0} | told_of,
    }  # fmt: skip
    return Result(run, tables)


def lines_of(figure: Figure) -> Lines:
    return {line.get_label(): line for line in figure.axes[0].get_lines()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("send", ["throughput", "rtt", "loss_event_rate", "variation", "bursts"]),
        ("receive", ["throughput", "variation"]),
    ],
)
@pytest.mark.usefixtures("place")
def test_each_side_has_the_figures_of_what_it_knows(method: str, names: list[str]) -> None:
    result = session(method)
    assert list(plot.figures(result)) == names
    assert set(names) <= set(plot.names())
    result.save("mine")
    outcome = ackclock("plot", "mine")
    assert outcome.stdout.splitlines() == [f"figure: mine/figures/{name}.svg" for name in names]
    assert ackclock("plot", "mine", "--from", "31 s", "--to", "33 s").exit_code == 0


@pytest.mark.parametrize(
    ("method", "words"), [("send", "arrived, as reported"), ("receive", "arrived")]
)
def test_throughput_is_of_the_session_and_not_of_the_waiting(method: str, words: str) -> None:
    figure = plot.figure(session(method, rate=3e6), "throughput")
    [axes] = figure.axes
    assert axes.get_xlim() == (OPENED_S, OPENED_S + 12)
    assert axes.get_ylabel() == f"{words} (Mbit/s)"
    np.testing.assert_allclose(lines_of(figure)["data (TFRC)"].get_ydata(), 3, rtol=1e-4)
    assert PEERS[method] in axes.get_title(loc="left")


def test_the_rate_allowed_is_drawn_unless_it_is_far_above() -> None:
    for method, allowed, drawn in (
        ("send", 2e6, True),
        ("send", 5e6, False),
        ("receive", 2e6, False),
    ):
        figure = plot.figure(session(method, allowed=allowed), "throughput")
        curves = [
            np.asarray(line.get_ydata())
            for name, line in lines_of(figure).items()
            if "allowed" in name
        ]
        assert len(curves) == (method == "send")
        assert all((values == 2).all() if drawn else np.isnan(values).all() for values in curves)
        assert figure.axes[0].get_ylim()[1] < 3


def test_rates_allowed_and_losses_of_simulated_flows(resolved: Callable[..., dict]) -> None:
    tree = resolved()
    flow = tree["flows"][0] | {"transport": {"kind": "udp", "control": {"kind": "tfrc"}}}

    def figures(*flows: dict) -> dict[str, Callable[[], Figure]]:
        scenario = Scenario.from_toml("schema = 1").replace(
            tree | {"flows": list(flows), "sweep": {}, "replicates": 1}
        )
        return plot.figures(simulate(scenario))

    alone, rivals, other = (
        figures(flow),
        figures(flow, tree["flows"][0] | {"name": "tcp"}),
        figures(tree["flows"][0]),
    )
    assert set(lines_of(alone["throughput"]())) == {"main (TFRC)", "main (TFRC) allowed"}
    assert len(lines_of(rivals["throughput"]())) == 3  # the allowed rate beside
    assert set(lines_of(rivals["loss_event_rate"]())) == {"main (TFRC)"}
    assert "loss_event_rate" not in other
    assert not {"bursts"} & (set(alone) | set(other))


def test_losses_are_drawn_in_per_cent_and_round_trips_in_milliseconds() -> None:
    result = session("send")
    np.testing.assert_allclose(
        lines_of(plot.figure(result, "loss_event_rate"))["data (TFRC)"].get_ydata(), 2
    )
    np.testing.assert_allclose(
        lines_of(plot.figure(result, "rtt"))["data (TFRC) smoothed"].get_ydata(), 60
    )


def test_bars_are_the_bursts() -> None:
    [axes] = plot.figure(session("send"), "bursts").axes
    bars = [(round(bar.get_x() + bar.get_width() / 2), bar.get_height()) for bar in axes.patches]
    assert bars == [(1, 900), (2, 290), (5, 4)]
    with refused("no-data", ""):
        plot.figure(session("receive"), "bursts")


@pytest.mark.parametrize(("method", "source"), [("send", "sent"), ("receive", "delivered")])
def test_variation_is_of_the_rate_that_a_side_knows(method: str, source: str) -> None:
    result = session(method)
    samples = result.tables["samples"]
    leaping = np.floor(column(samples, "time_s") - OPENED_S) * 125  # packets at each full second
    for name, values in (("sent_packets", leaping), ("delivered_bytes", leaping * 1000)):
        result.tables["samples"] = samples = samples.set_column(
            samples.column_names.index(name), name, pa.array(values)
        )
    for scale in (0.2, 1.0):
        [summary] = summarise(result, rate_cov(scale, source))
        [drawn] = variation(result, time_scales_s=[scale], source=source).series
        assert drawn.y == pytest.approx([summary.interval.mean])
        # One interval of five has everything; over a second they are equal.
        assert summary.interval.mean == pytest.approx(2 if scale == 0.2 else 0, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["send", "receive"])
@pytest.mark.usefixtures("place")
def test_a_session_that_never_began_has_a_page_and_empty_figures(method: str) -> None:
    result = session(method, ending="no_answer" if method == "receive" else "stopped", begun=False)
    for draw in plot.figures(result).values():
        assert [text.get_text() for text in draw().axes[0].texts] == ["nothing happened"]
    assert plot.figure(result, "throughput").axes[0].get_xlim() == (0, 42)
    result.save("mine")
    assert ackclock("report", "mine").exit_code == 0
    text = Path("mine/report.html").read_text()
    assert "There was no session" in text
    assert ("no answer from 192.0.2.1:7400" in text) == (method == "receive")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("finished", "all was sent"), ("stopped", "stopped here"),
        ("peer_stopped", "stopped by the other side"),
        ("silence", "nothing was heard from 192.0.2.7:40000 for 11 s"),
    ],
)  # fmt: skip
def test_the_page_says_with_whom_and_how_it_ended(ending: str, words: str) -> None:
    text = page([(session("send", ending=ending), None)])
    facts = {"method": "send", "peer": "192.0.2.7:40000", "control": "TFRC"}
    for name, value in (facts | {"versions": "ackclock 0.1.0"}).items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert f"<dt>ended</dt><dd>{words}" in text
    assert "<dd>12.00 s, after a wait of 30.00 s</dd>" in text
    assert text.count('<figure class="figure') == 5
    assert text.count('class="drawing"') == 0  # all are drawn from data
    cells = "</td><td>".join(("12", "1.5", "1,500", "2", "50", "5"))
    plain = re.sub(r' (class|scope)="\w+"', "", text)
    assert f"<tr><th>1</th><td>{cells}</td></tr>" in plain


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_several_results_have_one_page(result: Result) -> None:
    session("send").save("sent")
    session("receive").save("received")
    simulated = Result(result.run | {"name": "engine"}, result.tables)
    simulated.save("simulated")
    outcome = ackclock(
        "report",
        "sent",
        "received",
        "simulated",
        "-o",
        "all.html",
        "--models",
        "square_root",
        "--json",
    )
    assert outcome.exit_code == 0, outcome.output
    assert json.loads(outcome.stdout) == {"report": "all.html"}
    text = Path("all.html").read_text()
    assert text.count('<article id="s') == 3
    assert text.count("data-figure=") >= 2 + 1 + 4
    assert PEERS["send"] in text
    assert PEERS["receive"] in text


@pytest.mark.slow
@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("plot", "sent", "--kind", "cwnd"), "no-data", "--kind"),
        (("plot", "received", "--kind", "rtt"), "no-data", "--kind"),
        (("plot", "received", "--kind", "bursts"), "no-data", "--kind"),
        (("plot", "sent", "--kind", "sweep"), "no-data", "--kind"),
        (("plot", "sent", "--metric", "rtt"), "contradiction", "--metric"),
        (("plot", "sent", "--models", "pftk"), "contradiction", "--models"),
        (("plot", "sent", "--point", "1"), "out-of-range", "--point"),
        (("plot", "sent", "--connection", "1"), "contradiction", "--connection"),
        (("plot", "sent", "--kind", "bursts", "--from", "31 s"), "contradiction", "--from"),
        (("plot", "sent", "--from", "1 s", "--to", "2 s"), "no-data", "sent"),
        (("report", "sent", "received", "--models", "pftk"), "contradiction", "--models"),
        (("plot", "simulated", "--kind", "bursts"), "no-data", "--kind"),
        (("plot", "simulated", "--kind", "loss_event_rate"), "no-data", "--kind"),
    ],
)
def test_what_is_of_no_use_is_one_line(
    result: Result, arguments: tuple[str, ...], code: str, field: str
) -> None:
    session("send").save("sent")
    session("receive").save("received")
    result.save("simulated")
    check_refusal(ackclock(*arguments), code, field)
    assert not [path for path in Path().rglob("*") if path.suffix in (".svg", ".html")]
