"""Results beside each other: pairs, intervals, what differs, bounds."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from ackclock import InputError, Result, Scenario, beside, simulate
from ackclock.comparison import SideBySide
from ackclock.comparison import side_by_side_tables as tables
from ackclock.comparison.bounds import judged, read
from ackclock.comparison.matching import matched
from ackclock.comparison.side_by_side import USUAL, Row, names_of
from ackclock.metrics import METRICS
from ackclock.report.side_by_side import page_of_results

from ..refusals import refused
from .made_up import SWEEP, made_up

BEFORE, NOW = [4.0, 4.4, 4.1], [3.6, 4.1, 3.7]


@pytest.fixture(scope="module")
def path(leaky_pipe: Scenario) -> Scenario:
    return leaky_pipe.replace(sweep={"hops.wireless.impairments.0.probability": ["2 %"]})


def with_run(result: Result, **fields: Any) -> Result:
    return replace(result, run=result.run | fields)


def two(path: Scenario, before: Any = BEFORE, now: Any = NOW, **fields: Any) -> SideBySide:
    results = [made_up("simulate", path, [values]) for values in (before, now)]
    return beside({"before": results[0], "now": with_run(results[1], **fields)})


def goodput(side: SideBySide, point: int = 0) -> Row:
    return next(row for row in side.rows if (row.metric, row.point) == ("goodput", point))


def fails(side: SideBySide, bound: str) -> list[bool]:
    return [entry.fails for entry in judged(side, [read(bound)])]


def test_what_is_shown_unasked_are_metrics() -> None:
    assert set(USUAL) <= set(METRICS)


def test_equal_seeds_are_compared_replicate_by_replicate(path: Scenario) -> None:
    side = two(path)
    [_, difference] = goodput(side).differences
    assert difference is not None
    pairs = [1e6 * (now - before) for before, now in zip(BEFORE, NOW, strict=True)]
    low, high = stats.ttest_1samp(pairs, 0).confidence_interval()
    assert (difference.absolute.low, difference.absolute.high) == pytest.approx((low, high))
    assert side.is_paired(1)
    assert difference.is_paired
    assert difference.is_beyond_chance
    assert difference.relative.mean == pytest.approx(sum(NOW) / sum(BEFORE) - 1)


@pytest.mark.parametrize("fields", [{"seed": "2"}, {"replicates": 4}])
def test_other_draws_are_compared_by_welch(path: Scenario, fields: dict[str, Any]) -> None:
    side = two(path, **fields)
    [_, difference] = goodput(side).differences
    assert difference is not None
    welch = stats.ttest_ind(NOW, BEFORE, equal_var=False).confidence_interval()
    assert difference.absolute.low == pytest.approx(1e6 * welch.low)
    assert difference.absolute.high == pytest.approx(1e6 * welch.high)
    assert not difference.is_paired
    assert not difference.is_beyond_chance  # The same numbers as above, which differ beyond it.


def test_a_pair_needs_the_same_kind_of_draws(path: Scenario) -> None:
    phases = made_up("simulate", path.replace(vary="phase"), [NOW])
    assert not beside({"a": made_up("simulate", path, [BEFORE]), "b": phases}).is_paired(1)


def test_one_replicate_has_no_interval(path: Scenario) -> None:
    side = two(path, [4.0], [3.0])
    [_, difference] = goodput(side).differences
    assert difference is not None
    assert math.isnan(difference.absolute.half_width)
    assert not difference.is_beyond_chance
    assert "may be chance" in tables.sentences(side, side.rows)[0]
    with refused("missing", "", "2 replicates or more"):
        judged(side, [read("goodput < -3 %")])


def test_equal_results_do_not_differ(path: Scenario) -> None:
    side = two(path, BEFORE, BEFORE)
    assert not side.changes(1)
    assert not any(entry.is_beyond_chance for row in side.rows for entry in row.differences[1:])
    assert tables.sentences(side, side.rows) == ["now and before have the same numbers."]


def test_what_may_be_chance_is_called_so(path: Scenario) -> None:
    side = two(path, seed="2")
    assert "do not differ beyond chance" in tables.sentences(side, side.rows)[0]


def test_unreliable_runs_are_in_no_difference(path: Scenario) -> None:
    emulated = made_up("emulate", path, [[9.9, *NOW[1:]]], reliable={(0, 0): False})
    side = beside({"simulated": made_up("simulate", path, [BEFORE]), "emulated": emulated})
    [_, difference] = goodput(side).differences
    assert difference is not None
    assert difference.is_paired
    assert difference.absolute.mean == pytest.approx(1e6 * (-0.3 - 0.4) / 2)


def test_points_are_matched_by_what_is_assigned(leaky_pipe: Scenario) -> None:
    here, there = leaky_pipe.replace(sweep=SWEEP), leaky_pipe.replace(
        sweep={"hops.wireless.impairments.0.probability": ["5 %", "7 %"]}
    )  # fmt: skip
    side = beside(
        {
            "a": made_up("simulate", here, [[9.0, 9.1], [4.0, 4.1]]),
            "b": made_up("simulate", there, [[3.0, 3.1], [1.0, 1.1]]),
        }
    )
    assert goodput(side, 0).differences[1] is None
    difference = goodput(side, 1).differences[1]
    assert difference is not None
    assert difference.absolute.mean == pytest.approx(-1e6)
    assert side.notes == ["1 of 2 points are in a alone", "1 of 2 points are in b alone"]


def test_sweeps_without_a_common_point_are_refused(leaky_pipe: Scenario) -> None:
    sweep = {"hops.wireless.impairments.0.probability": ["6 %", "7 %"]}
    results = {
        "a": made_up("simulate", leaky_pipe.replace(sweep=SWEEP), [[9.0], [4.0]]),
        "b": made_up("simulate", leaky_pipe.replace(sweep=sweep), [[9.0], [4.0]]),
    }
    with refused("no-data", "b", "no point in common"):
        beside(results)


def test_names_are_matched_by_name_then_by_order() -> None:
    assert matched("ab", "ba").names == {"a": "a", "b": "b"}
    assert matched("ab", "cb").names == {"a": "c", "b": "b"}
    assert matched("ab", "cb").renamed == ["a with c"]
    pairs = matched("abc", "bx")
    assert (pairs.names, pairs.alone, pairs.others) == ({"b": "b"}, ["a", "c"], ["x"])


def test_flows_of_other_names_and_numbers_are_refused(path: Scenario) -> None:
    alone = made_up("simulate", path, [NOW])
    [flow] = path.tree["flows"]
    others = path.replace(flows=[flow | {"name": name} for name in ("left", "right")])
    with refused("contradiction", "b", "other flows than a", "left, right and main"):
        beside({"a": alone, "b": made_up("simulate", others, [NOW])})


def test_flows_of_equal_number_are_matched_by_order(path: Scenario) -> None:
    simulated = simulate(path.replace(duration="2 s", warmup="0.5 s", replicates=2))
    [flow] = path.tree["flows"]
    renamed = path.replace(flows=[flow | {"name": "other"}], duration="2 s", warmup="0.5 s")
    side = beside({"a": simulated, "b": simulate(renamed.replace(replicates=2))})
    assert side.notes == ["flows matched by order: main with other of b"]
    [_, difference] = goodput(side).differences
    assert difference is not None


def test_what_differs_is_named_by_its_path(path: Scenario) -> None:
    changed = path.replace(
        {"hops.wireless.impairments.0.probability": "3 %", "hops.wired.link.rate": "11 Mbit/s"}
    ).replace({"flows.main.transport.control.kind": "cubic"})
    side = beside({"a": made_up("simulate", path, [BEFORE]),
                   "b": with_run(made_up("simulate", changed, [NOW]), seed="7")})  # fmt: skip
    changes = {change.path: (change.before, change.now) for change in side.changes(1)}
    assert changes["seed"] == ("1", "7")
    assert changes["hops.wired.link.rate"][1] == "11 Mbit/s"
    assert changes["hops.wireless.impairments.0.probability"] == ("2 %", "3 %")
    assert changes["flows.main.transport.control"] == ("reno", "cubic")
    assert len(changes) == 4  # Not the parameters of another control, nor what follows from it.


def test_predictions_are_refused(path: Scenario) -> None:
    predicted = replace(made_up("simulate", path, [NOW]), tables={})
    with refused("unsupported", "models", "ackclock compare SCENARIO"):
        beside({"a": made_up("simulate", path, [NOW]), "models": predicted})


@pytest.mark.parametrize(
    ("bound", "missed"),
    [
        ("goodput < -3 %", True),
        ("goodput(main) < -3 %", True),
        ("goodput < -20 %", False),
        ("goodput > 3 %", False),
        ("goodput < -0.1 Mbit/s", True),
        ("goodput < -2 Mbit/s", False),
    ],
)
def test_a_bound_fails_beyond_it_and_beyond_chance(
    path: Scenario, bound: str, missed: bool
) -> None:
    assert fails(two(path), bound) == [missed]


def test_a_bound_holds_within_chance(path: Scenario) -> None:
    assert fails(two(path, seed="2"), "goodput < -3 %") == [False]


def test_shares_have_bounds_in_points(path: Scenario) -> None:
    few, many = (
        made_up("simulate", path, [BEFORE], retransmitted_packets=count) for count in (10.0, 30.0)
    )
    side = beside({"few": few, "many": many})
    assert fails(side, "retransmissions > 1 points") == [True]
    assert fails(side, "retransmissions > 3 points") == [False]
    assert fails(side, "retransmissions > 150 %") == [True]  # Of 1 %.


def test_of_nothing_any_rise_is_beyond_a_relative_bound(path: Scenario) -> None:
    none, some = (
        made_up("simulate", path, [BEFORE], retransmitted_packets=count) for count in (0.0, 30.0)
    )
    side = beside({"none": none, "some": some})
    assert fails(side, "retransmissions > 900 %") == [True]
    [line] = tables.sentences(side, [row for row in side.rows if row.metric == "retransmissions"])[
        :1
    ]
    assert line == "some has 3.0 % more retransmitted than none (main, 2 %)."


def test_what_is_gone_fails(path: Scenario) -> None:
    assert fails(two(path, BEFORE, [None, None, None]), "goodput < -3 %") == [True]


@pytest.mark.parametrize(
    ("bound", "code"),
    [
        ("goodput -3 %", "syntax"),
        ("goodput < ", "syntax"),
        ("goodputt < -3 %", "unknown-name"),
        ("goodput < 3 %", "out-of-range"),
        ("rtt > -3 ms", "out-of-range"),
        ("rtt > 3 Mbit/s", "wrong-unit"),
        ("goodput < -3 points", "wrong-unit"),
        ("goodput < -3", "wrong-unit"),
        ("retransmissions > 0.5", "no-unit"),
    ],
)
def test_what_is_no_bound_is_refused(bound: str, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read(bound)
    assert caught.value.code == code
    assert "\n" not in str(caught.value)


def test_a_bound_on_what_is_not_there_is_refused(path: Scenario) -> None:
    with refused("unknown-name", "", "mian"):
        judged(two(path), [read("goodput(mian) < -3 %")])
    with refused("no-data", "", "before has no completion_time"):
        judged(two(path), [read("completion_time > 3 %")])


def test_the_least_that_tells_folders_apart_names_them() -> None:
    assert names_of([Path("out/a"), Path("out/b")]) == ["a", "b"]
    assert names_of([Path("x/simulate"), Path("y/simulate")]) == ["x", "y"]
    assert names_of([Path("x/a/1"), Path("y/a/2"), Path("y/b/1")]) == ["a/1", "a/2", "b/1"]
    assert names_of([Path("x/1/now"), Path("y/1/now")]) == ["x", "y"]
    with refused("contradiction", "a", "twice"):
        names_of([Path("a"), Path("./a")])


def test_the_reference_is_chosen(path: Scenario) -> None:
    results = {"a": made_up("simulate", path, [BEFORE]), "b": made_up("simulate", path, [NOW])}
    side = beside(results, reference="b")
    assert side.names == ["b", "a"]
    with refused("unknown-name", "reference", "c"):
        beside(results, reference="c")


def test_the_page_has_answer_changes_and_bounds(path: Scenario) -> None:
    side = two(path, seed="2")
    page = page_of_results(side, judged(side, [read("goodput < -3 %")]))
    assert page == page_of_results(side, judged(side, [read("goodput < -3 %")]))
    for words in ("before and now beside each other", "seed 2 instead of 1", "goodput &lt;"):
        assert words in page
