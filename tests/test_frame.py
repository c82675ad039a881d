"""Tidy tables of metrics: columns, types, units; quantiles of the queueing delay."""

import numpy as np
import pyarrow as pa
import pytest

from ackclock import Result, Scenario, simulate
from ackclock.metrics import METRICS, by_replicate, queueing_delay_quantile, summarise
from ackclock.metrics.frame import frame, swept
from tests.refusals import refused

LAB = """
schema = 1
duration = "3 s"
warmup = "1 s"
replicates = 2
[[hops]]
name = "b"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1 BDP" }
delay = "10 ms"
[[hops]]
name = "back"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"
[[flows]]
name = "f"
route = ["b"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
[sweep]
"flows.f.transport.control.kind" = ["reno", "cubic"]
"hops.b.queue.limit" = ["0.5 BDP", "2 BDP"]
"""


@pytest.fixture(scope="module")
def lab() -> Result:
    return simulate(Scenario.from_toml(LAB))


def test_a_frame_has_a_row_for_each_point_and_subject(lab: Result) -> None:
    table = lab.frame("utilisation", "queueing_delay_p99")
    assert table.schema.names == [
        "point", "flows_f_transport_control_kind", "hops_b_queue_limit_BDP", "subject",
        "utilisation", "utilisation_half_width", "queueing_delay_p99",
        "queueing_delay_p99_half_width",
    ]  # fmt: skip
    assert table["hops_b_queue_limit_BDP"].to_pylist() == [0.5, 0.5, 2, 2] * 2
    assert table["flows_f_transport_control_kind"].to_pylist() == ["reno"] * 4 + ["cubic"] * 4
    assert table["subject"].to_pylist() == ["b", "back"] * 4
    limit = table.schema.field("hops_b_queue_limit_BDP")
    assert pa.types.is_floating(limit.type)
    assert limit.metadata == {b"path": b"hops.b.queue.limit", b"unit": b"BDP"}
    of_metric = {(summary.point, summary.subject): summary.interval for summary in summarise(
        lab, METRICS["utilisation"])}  # fmt: skip
    for row in table.to_pylist():
        interval = of_metric[row["point"], row["subject"]]
        assert row["utilisation"] == interval.mean
        assert row["utilisation_half_width"] == interval.half_width


def test_a_frame_is_of_one_subject_and_by_replicate(lab: Result) -> None:
    table = lab.frame("goodput", subject="f", by="replicate")
    assert table.num_rows == 8
    assert "goodput_half_width" not in table.schema.names
    values = by_replicate(lab, METRICS["goodput"])
    for row in table.to_pylist():
        assert row["goodput"] == values[row["point"], "f"][row["replicate"]]
    both = lab.frame("goodput", "utilisation").to_pylist()
    assert {row["subject"] for row in both} == {"f", "b", "back"}
    assert all((row["goodput"] is None) == (row["subject"] != "f") for row in both)


def test_a_frame_says_what_it_does_not_have(lab: Result) -> None:
    with refused("unknown-name", "", "goodptu"):
        lab.frame("goodptu")
    with refused("unknown-name", "subject", "bb"):
        lab.frame("utilisation", subject="bb")
    with refused("unknown-name", "by", "run"):
        lab.frame("utilisation", by="run")
    with refused("missing", ""):
        lab.frame()


@pytest.mark.parametrize(
    ("written", "name", "unit", "values"),
    [
        (["10 ms", "20 ms"], "a_b_ms", "ms", [10, 20]),
        (["10 ms", "1 s"], "a_b_s", "s", [0.01, 1]),
        (["1 Mbit/s", "5 Mbit/s"], "a_b_Mbit_per_s", "Mbit/s", [1, 5]),
        (["1 %", "2 %"], "a_b_percent", "%", [1, 2]),
        ([0.01, "2 %"], "a_b", "", [0.01, 0.02]),
        ([1, 2], "a_b", "", [1, 2]),
        ([True, False], "a_b", "", [True, False]),
        (["unlimited", "5 packets"], "a_b", "", ["unlimited", "5 packets"]),
        (["0.5 BDP", "5 packets"], "a_b", "", ["0.5 BDP", "5 packets"]),
        ([{"kind": "reno"}, {"kind": "cubic"}], "a_b", "", ["reno", "cubic"]),
        ([{"kind": "x", "y": 1}, "z"], "a_b", "", ['{"kind": "x", "y": 1}', "z"]),
    ],
)
def test_swept_values_are_numbers_where_they_can_be(
    written: list[object], name: str, unit: str, values: list[object]
) -> None:
    [column] = swept([{"assignments": {"a.b": value}} for value in written])
    assert (column.name, column.unit) == (name, unit)
    assert column.values == pytest.approx(values) if unit else column.values == values


def test_quantiles_of_the_queueing_delay_are_those_of_its_samples(lab: Result) -> None:
    rows = lab.rows("hops", hop="b", point=1, replicate=0).to_pydict()
    delays = [
        8 * backlog / rate
        for time, backlog, rate in zip(
            rows["time_s"], rows["backlog_bytes"], rows["rate_bit_per_s"], strict=True
        )
        if time > 1
    ]
    for share in (0.5, 0.95, 0.99):
        metric = METRICS[f"queueing_delay_p{share * 100:g}"]
        assert by_replicate(lab, metric)[1, "b"][0] == np.quantile(delays, share)
    # A quantile of the delay is never above that of the full queue, 2 BDP of 20 ms.
    tails = lab.frame("queueing_delay_p50", "queueing_delay_p99", subject="b").to_pylist()
    for row in tails:
        assert row["queueing_delay_p50"] <= row["queueing_delay_p99"]
        assert row["queueing_delay_p99"] <= row["hops_b_queue_limit_BDP"] * 0.020
    with refused("out-of-range", "share", "1.5"):
        queueing_delay_quantile(1.5)


def test_metrics_are_found_by_name() -> None:
    assert METRICS["utilisation"].shown_unit == "%"
    assert next(iter(METRICS)) == "goodput"
    assert all(name == metric.name for name, metric in METRICS.items())


def test_a_frame_of_one_point_has_no_swept_columns(lab: Result) -> None:
    alone = Result(lab.run | {"points": [{"assignments": {}, **lab.points[0]}]}, lab.tables)
    alone.points[0]["assignments"] = {}
    first = {name: table.slice(0, 0) for name, table in lab.tables.items()}
    empty = frame(Result(alone.run, first), ["utilisation"])
    assert empty.num_rows == 0
    assert empty.schema.names == ["point", "subject", "utilisation", "utilisation_half_width"]
