import re
from pathlib import Path

import pyarrow.compute as pc
import pytest

from ackclock import Result, load, predict, simulate
from ackclock.report import figures, run_tables, summary
from ackclock.report.certainty import of_result
from ackclock.scenario import Scenario
from ackclock.validity.stationarity import judge

FIRST = Path(__file__).parents[1] / "examples" / "first.toml"

# Two flows with small windows over a fast link: their round trips differ, and nothing queues.
TWO_ROUND_TRIPS = """\
schema = 1
name = "two round trips"
duration = "5 s"
replicates = 2

[[hops]]
name = "shared"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "50 packets" }
delay = "5 ms"

[[hops]]
name = "far"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "100 ms"

[[flows]]
name = "near"
route = ["shared"]
return = ["shared"]
transport = { kind = "tcp", control = { kind = "cubic" }, receive_window = "64 kB" }

[[flows]]
name = "distant"
route = ["far", "shared"]
return = ["shared"]
transport = { kind = "tcp", control = { kind = "cubic" }, receive_window = "64 kB" }
"""


def first(**changes: object) -> Scenario:
    """The first example, shorter, with changes."""
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return load(FIRST).replace({"duration": "10 s", "replicates": 2} | named)


def sentences_of(result: Result) -> str:
    """The sentences about a result."""
    rows, hops = run_tables.flow_rows(result), run_tables.hop_rows(result)
    return " ".join(summary.sentences(result, rows, hops))


def delay_ms(text: str) -> float:
    """The queueing delay that the sentences name."""
    return float(re.search(r"queueing delay(?: of \w+)? is (\S+) ms", text)[1])


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario.from_toml(TWO_ROUND_TRIPS),
        first(flows__download__traffic={"kind": "cbr", "rate": "100 kbit/s"}),
        first(hops__bottleneck__queue__limit="1 packet"),
    ],
    ids=["two round trips", "delayed ACKs", "no buffer"],
)
def test_a_round_trip_that_is_longer_without_a_queue_is_not_called_queueing(
    scenario: Scenario,
) -> None:
    text = sentences_of(simulate(scenario))
    assert "short" in text
    assert delay_ms(text) < 0.1


def test_a_full_buffer_is_a_queueing_delay_that_advice_may_shorten() -> None:
    text = sentences_of(simulate(first()))
    assert delay_ms(text) == pytest.approx(48, abs=10)  # of at most 60 ms: 50 packets at 10 Mbit/s
    assert "short" not in text
    assert "ackclock advise buffer" in text


def interrupted(result: Result, cut: int, ended_s: float) -> Result:
    """A result as it is if run `cut` was cut short, and no later one was begun."""
    kept = {}
    for name, table in result.tables.items():
        rows = table.filter(pc.less_equal(table["replicate"], cut))
        if "time_s" in rows.column_names:
            is_whole = pc.less(rows["replicate"], cut)
            rows = rows.filter(pc.or_(is_whole, pc.less(rows["time_s"], ended_s)))
        kept[name] = rows
    return Result(result.run | {"partial": True}, kept)


def test_an_interrupted_result_counts_the_runs_that_it_holds() -> None:
    whole = simulate(first(replicates=7))
    assert (whole.replicates, whole.counted, whole.cut_short) == ((7, 7), "7", "")
    partial = interrupted(whole, cut=2, ended_s=7)
    assert partial.replicates == (3, 3)
    assert partial.lasted_s[0, 2] < 7
    for words in (partial.averaging, summary.title(partial)):
        assert "3 r" in words
        assert "1 of them cut short" in words
    [few] = [reason for reason in of_result(partial, judge(partial)) if "replicates" in reason.lead]
    assert (few.good, few.rest[:2]) == (False, "3 ")


def test_identical_replicates_are_no_evidence() -> None:
    same = simulate(first(flows__download__start="0 s", vary="nothing", replicates=5))
    assert same.identical == {0}
    assert "identical" in same.averaging
    assert "±" not in same.averaging
    [reason] = [reason for reason in of_result(same, judge(same)) if "replicates" in reason.lead]
    assert (reason.good, reason.lead) == (False, "Identical replicates:")
    differ = simulate(first(replicates=5))
    assert differ.identical == frozenset()
    assert any(reason.lead == "Enough replicates:" for reason in of_result(differ, judge(differ)))
    assert simulate(first(flows__download__start="0 s", replicates=1)).identical == frozenset()


def test_points_of_an_interrupted_sweep_may_have_different_numbers_of_runs() -> None:
    scenario = first(duration="6 s").replace({"sweep": {"hops.bottleneck.delay": ["1 ms", "2 ms"]}})
    whole = simulate(scenario)
    hops = whole.tables["hops"]
    last = pc.and_(pc.equal(hops["point"], 1), pc.equal(hops["replicate"], 1))
    tables = {**whole.tables, "hops": hops.filter(pc.invert(last))}
    assert Result(whole.run | {"partial": True}, tables).counted == "1 to 2"
    tables["hops"] = hops.filter(pc.equal(hops["point"], 0))
    assert Result(whole.run | {"partial": True}, tables).counted == "up to 2"


def test_a_prediction_with_a_violated_assumption_is_marked() -> None:
    quick = {"duration": "12 s", "replicates": 1, "hops.bottleneck.queue.limit": "20 packets"}
    greedy = load(FIRST).replace({**quick, "flows.download.transport.control.kind": "reno"})
    source = {"kind": "cbr", "rate": "300 kbit/s"}
    for scenario, violated in (
        (greedy, {}),
        (greedy.replace({"flows.download.traffic": source}), {"saw-tooth": ["greedy"]}),
    ):
        result = simulate(scenario)
        rows = run_tables.flow_rows(result, predict(result, "sawtooth"))
        assert [row["violated"] for row in rows] == [violated]
        assert run_tables.violated_models(rows) == set(violated)
        table = run_tables.flow_table(rows)
        assert table.texts[0][-1].endswith("?") == bool(violated)
        assert (run_tables.VIOLATED in table.note) == bool(violated)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"flows__download__start": ["20 s", "30 s"]}, "starts after the end"),
        ({"flows__download__traffic": {"kind": "transfer", "size": "100 kB"}}, "within the warm"),
    ],
)
def test_a_flow_without_means_has_a_reason(change: dict[str, object], why: str) -> None:
    result = simulate(first(**change))
    assert why in sentences_of(result)
    leads = [reason.lead for reason in of_result(result, judge(result))]
    assert "Nothing was measured:" in leads
    assert not any("replicates" in lead for lead in leads)


def test_a_flow_that_never_begins_has_no_figures() -> None:
    late = simulate(first(flows__download__start="20 s"))
    assert figures.of_result(late) == []
    assert figures.of_result(simulate(first())) != []
