"""Cells, residuals and explanations of made-up results."""

import math
from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from ackclock import Result, Scenario, simulate
from ackclock.comparison import (
    COMPARED,
    EXCEEDS,
    SLIGHT,
    UNSURE,
    WITHIN,
    Comparison,
    Residual,
    Row,
    rendering,
)
from ackclock.comparison.explanation import explanations, tally
from ackclock.comparison.rows import FIELDS, rows
from ackclock.metrics import METRICS
from ackclock.models import MODELS, model
from ackclock.models.prediction import best

from .made_up import SWEEP, compared, made_up

OURS, ENGINES = [2.0, 2.2, 2.1], [3.0, 3.3, 2.9, 3.1]


@pytest.fixture(scope="module")
def path(leaky_pipe: Scenario) -> Scenario:
    return leaky_pipe.replace(sweep={"hops.wireless.impairments.0.probability": ["2 %"]})


@pytest.fixture(scope="module")
def two(leaky_pipe: Scenario) -> Scenario:
    return leaky_pipe.replace(sweep=SWEEP)


def goodput(comparison: Comparison, point: int = 0) -> Row:
    return next(row for row in comparison.rows if (row.metric, row.point) == ("goodput", point))


def residual_of(path: Scenario, ours: list[float | None], engines: list[float | None]) -> Residual:
    comparison = compared(
        path,
        None,
        simulate=made_up("simulate", path, [engines]),
        emulate=made_up("emulate", path, [ours]),
    )
    return goodput(comparison).residuals["emulate"]


def test_every_compared_metric_is_one() -> None:
    assert set(COMPARED) <= set(METRICS)


def test_replicates_are_compared_one_by_one(path: Scenario) -> None:
    residual = residual_of(path, OURS, ENGINES)
    low, high = stats.ttest_rel(OURS, ENGINES[:3]).confidence_interval(0.95)
    assert (residual.difference.low / 1e6, residual.difference.high / 1e6) == pytest.approx(
        (low, high)
    )
    assert residual.relative == pytest.approx((2.1 - 9.2 / 3) / 3.075)
    assert (residual.reference, residual.standing) == ("simulate", EXCEEDS)


def test_without_replicates_in_common_the_interval_is_welchs(path: Scenario) -> None:
    reliable = {(0, replicate): replicate > 1 for replicate in range(5)}
    comparison = compared(
        path,
        None,
        simulate=made_up("simulate", path, [[3.0, 3.3]]),
        emulate=made_up("emulate", path, [[9.0, 9.0, *OURS]], reliable=reliable),
    )
    residual = goodput(comparison).residuals["emulate"]
    low, high = stats.ttest_ind(OURS, [3.0, 3.3], equal_var=False).confidence_interval(0.95)
    assert (residual.difference.low / 1e6, residual.difference.high / 1e6) == pytest.approx(
        (low, high)
    )


@pytest.mark.parametrize(
    ("ours", "engines", "standing", "causes"),
    [
        ([3.0, 3.4, 2.9], ENGINES, WITHIN, []),
        ([1.0], ENGINES, UNSURE, []),
        ([3.0, 3.0], [3.0, 3.0], WITHIN, []),
        ([3.01, 3.01], [3.0, 3.0], SLIGHT, []),
        (OURS, ENGINES, EXCEEDS, []),
    ],
)
def test_what_a_residual_can_be(
    path: Scenario,
    ours: list[float | None],
    engines: list[float | None],
    standing: str,
    causes: list[str],
) -> None:
    residual = residual_of(path, ours, engines)
    assert (residual.standing, [finding.cause for finding in residual.findings]) == (
        standing,
        causes,
    )
    assert residual.is_unexplained == (standing == EXCEEDS)


def test_a_model_has_the_references_interval(path: Scenario) -> None:
    comparison = compared(path, "square_root", simulate=made_up("simulate", path, [ENGINES]))
    row = goodput(comparison)
    predicted, ran, residual = row.cells["predict"], row.cells["simulate"], row.residuals["predict"]
    assert predicted.prediction is not None
    assert predicted.prediction.model.name == "square_root"
    assert residual.difference.half_width == ran.interval.half_width
    assert residual.difference.mean == predicted.interval.mean - ran.interval.mean
    windows = next(row for row in comparison.rows if row.metric == "cwnd")
    assert windows.cells["predict"].interval.mean == pytest.approx(
        math.sqrt(1.5 / 0.02) * 1000
    )  # segments of 1000 bytes


def answer(name: str, *violated: str, applies: bool = True) -> dict[str, Any]:
    verdict = (
        "does not apply"
        if not applies
        else "applies with violated assumptions"
        if violated
        else "applies"
    )
    entry = {
        "model": name,
        "label": name,
        "verdict": verdict,
        "violated": list(violated),
        "note": "a reason",
    }
    return entry | {"goodput_bit_per_s": 1e6, "inputs": {}, "outputs": {"window": 7.0, "rate": 1.0}}


def test_the_model_that_violates_the_fewest_assumptions_is_taken() -> None:
    flow = {"transport": {"facts": {"mss_bytes": 1000}}}
    asked = [answer("square_root", "greedy"), answer("pftk"), answer("mathis", applies=False)]
    chosen = best(asked, "goodput", flow)
    assert chosen is not None
    assert chosen.model.name == "pftk"
    # PFTK does not predict the mean window.
    window = best(asked, "cwnd", flow)
    assert window is not None
    assert (window.model.name, window.value, window.violated) == (
        "square_root",
        7000.0,
        ("greedy",),
    )
    assert best(asked, "rtt", flow) is None
    # With as few violated assumptions, the model with fewer assumptions is taken.
    equal = best([answer("square_root"), answer("cubic_response")], "goodput", flow)
    assert equal is not None
    fewer = min(("square_root", "cubic_response"), key=lambda name: len(model(name).assumptions))
    assert equal.model.name == fewer


def test_what_models_tell_are_metrics_in_their_unit() -> None:
    units = {metric.name: metric.unit for metric in METRICS.values()}
    outputs = [
        (output.metric, output.unit)
        for record in MODELS
        for output in record.outputs
        if output.metric
    ]
    assert {
        ("cwnd", "segments"),
        ("rtt", "s"),
        ("completion_time", "s"),
    } == set(outputs)
    assert all(units[name] == ("bytes" if unit == "segments" else unit) for name, unit in outputs)


def test_where_no_model_applies_it_says_why(leaky_pipe: Scenario) -> None:
    still = leaky_pipe.replace(sweep={"flows.main.transport.control.kind": ["cubic"]}).replace(
        {"hops.wireless.impairments.0.probability": "0 %"}
    )
    comparison = compared(still, "square_root", simulate=made_up("simulate", still, [ENGINES]))
    cell = goodput(comparison).cells["predict"]
    assert (cell.is_known, cell.why) == (False, "square root: no random loss")
    rtt = next(row for row in comparison.rows if row.metric == "rtt")
    assert rtt.cells["predict"].why == "no model asked predicts it"
    assert "predict" not in rtt.residuals


def test_what_is_measured_is_held_against_its_own_run_run_by_run(path: Scenario) -> None:
    simulated = made_up("simulate", path, [[3.0, 5.0, 9.0]])
    measured = made_up("measure", path, [[2.9, 4.9, 8.9]])
    comparison = compared(path, None, simulate=simulated, measure_simulate=measured)
    residual = goodput(comparison).residuals["measure-simulate"]
    assert residual.reference == "simulate"
    # Unpaired, it would vanish in a spread of several Mbit/s.
    assert residual.difference.mean == pytest.approx(-0.1e6)
    assert residual.difference.half_width == pytest.approx(0, abs=1)
    assert residual.standing == EXCEEDS
    assert [finding.cause for finding in residual.findings] == ["measured_at_one_end"]


def test_what_a_way_cannot_know_is_null_with_the_reason(path: Scenario) -> None:
    comparison = compared(
        path, None, simulate=made_up("simulate", path, [ENGINES]),
        emulate=made_up("emulate", path, [OURS]), measure_emulate="there is no tape",
    )  # fmt: skip
    tail = next(row for row in comparison.rows if row.metric == "rtt_p99")
    assert tail.cells["simulate"].interval.mean == pytest.approx(0.08)
    assert "smoothed" in tail.cells["emulate"].why
    assert tail.cells["measure-emulate"].why == "there is no tape"
    assert list(tail.residuals) == []
    assert not {"queueing_delay", "fairness", "completion_time"} & set(
        comparison.metrics
    )  # nobody knows them
    assert all(list(row) == list(FIELDS) for row in rows(comparison))
    flat = {(row["metric"], row["method"]): row for row in rows(comparison)}
    assert flat["rtt_p99", "emulate"]["mean"] is None
    assert flat["rtt_p99", "emulate"]["why_unknown"] == tail.cells["emulate"].why


def test_runs_not_to_be_reliable_are_left_out_and_so_is_what_was_measured_of_them(
    path: Scenario,
) -> None:
    emulated = made_up("emulate", path, [[2.0, 90.0, 2.2]], reliable={(0, 1): False})
    measured = made_up("measure", path, [[2.0, 90.0, 2.2]])
    comparison = compared(
        path,
        None,
        simulate=made_up("simulate", path, [ENGINES]),
        emulate=emulated,
        measure_emulate=measured,
    )
    row = goodput(comparison)
    for name in ("emulate", "measure-emulate"):
        assert row.cells[name].interval.mean == pytest.approx(2.1e6)
        assert row.cells[name].fidelity == "2 of 3 reliable"
    everything = {
        name: replace(column, result=replace(column.result, averages_unreliable=True))
        for name, column in comparison.columns.items()
    }
    taken_in = goodput(replace(comparison, columns=everything))
    assert taken_in.cells["emulate"].interval.mean == pytest.approx(94.2e6 / 3)


def test_unreliable_runs_that_are_taken_in_are_a_cause(path: Scenario) -> None:
    emulated = made_up("emulate", path, [[2.0, 2.1, 2.2]], reliable={(0, 1): False})
    comparison = compared(
        path,
        None,
        simulate=made_up("simulate", path, [ENGINES]),
        emulate=replace(emulated, averages_unreliable=True),
    )
    assert [finding.cause for finding in goodput(comparison).residuals["emulate"].findings] == [
        "unreliable_runs"
    ]


def test_a_point_without_a_reliable_run_says_so(path: Scenario) -> None:
    emulated = made_up("emulate", path, [[2.0]], reliable={(0, 0): False})
    comparison = compared(
        path, None, simulate=made_up("simulate", path, [ENGINES]), emulate=emulated
    )
    assert goodput(comparison).cells["emulate"].why == "none of its runs is reliable"


def test_a_way_that_ran_fewer_points_is_matched_by_their_values(two: Scenario) -> None:
    second = two.replace(sweep={"hops.wireless.impairments.0.probability": ["5 %"]})
    comparison = compared(
        two,
        None,
        simulate=made_up("simulate", two, [ENGINES, OURS]),
        emulate=made_up("emulate", second, [OURS]),
    )
    assert goodput(comparison, 0).cells["emulate"].why == "this point was not run"
    assert goodput(comparison, 1).residuals["emulate"].difference.mean == pytest.approx(0)


def test_without_simulation_the_emulation_is_the_reference(path: Scenario) -> None:
    comparison = compared(
        path, "square_root", simulate="not asked", emulate=made_up("emulate", path, [OURS])
    )
    assert comparison.reference == "emulate"
    assert goodput(comparison).residuals["predict"].reference == "emulate"
    assert compared(path, None, simulate="nothing").reference is None


def test_explanations_are_numbered_and_cells_refer_to_them(two: Scenario) -> None:
    simulated = made_up("simulate", two, [ENGINES, ENGINES], timeouts=1.0)
    comparison = compared(
        two, "square_root", simulate=simulated, emulate=made_up("emulate", two, [OURS, OURS])
    )
    listed = explanations(comparison)
    assert [explanation.number for explanation in listed] == list(range(1, len(listed) + 1))
    table = rendering.metric_table(comparison, "goodput", listed)
    head, cells = table.head, table.texts
    assert head[:4] == ["probability", "flow", "control", "predict"]
    assert head[-4:] == ["predict − simulate", "emulate − simulate", "model", "emulated"]
    assert cells[1][-2:] == ["violated: few_timeouts, long_run", "3 of 3 reliable"]
    assert [line[2] for line in cells] == ["Reno", "Reno"]
    assert [row["control"] for row in table.to_json()] == ["reno", "reno"]
    assert len(cells) == 2
    assert all(len(line) == len(head) for line in cells)
    assert cells[0][head.index("emulate − simulate")].endswith(" [?]")
    low = cells[1][head.index("predict − simulate")]
    named = {explanation.number: explanation.cause.name for explanation in listed}
    assert {
        named[int(number)] for number in low.split("[")[1:] for number in [number.rstrip("]")]
    } >= {"violated_assumption"}
    unexplained = rendering.unexplained_table(comparison).rows
    assert (
        len(unexplained)
        == sum(r.is_unexplained for row in comparison.rows for r in row.residuals.values())
        > 0
    )


def test_the_tally_counts_every_residual(path: Scenario) -> None:
    comparison = compared(
        path,
        None,
        simulate=made_up("simulate", path, [ENGINES]),
        emulate=made_up("emulate", path, [OURS]),
    )
    residuals = [residual for row in comparison.rows for residual in row.residuals.values()]
    within = len(residuals) - 1
    assert tally(comparison).startswith(
        f"Of {len(residuals)} differences, by their 95 % intervals: {within} within"
    )
    assert "1 outside and unexplained" in tally(comparison)
    alone = compared(path, None, simulate=made_up("simulate", path, [ENGINES]))
    assert tally(alone).startswith("There is nothing to compare")


def test_a_flow_that_is_called_as_its_control_says_so_once(leaky_pipe: Scenario) -> None:
    flow = leaky_pipe.expand()[1].scenario.tree["flows"][0]
    named = leaky_pipe.expand()[1].scenario.replace(flows=[flow | {"name": "reno"}])
    results = compared(named, None, simulate=simulate(named.replace(replicates=2, duration="2 s")))
    assert rendering.metric_table(results, "goodput", []).head == ["flow", "simulate"]
    assert rendering.place(results, results.rows[0]) == "reno"


def test_queues_that_hold_nothing_are_left_out(result: Result, leaky_pipe: Scenario) -> None:
    comparison = compared(leaky_pipe, None, simulate=result)
    hops = {row.subject for row in comparison.rows if row.metric == "queueing_delay"}
    assert hops == {"wireless"}
    assert rendering.metric_table(comparison, "queueing_delay", []).head[:3] == [
        "control.kind",
        "probability",
        "hop",
    ]
