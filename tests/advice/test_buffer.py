"""Buffer sizing: laws of the search, scenarios with computable answers, and the command."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

import ackclock
from ackclock import LackingError, Result, Scenario, load, simulate
from ackclock.advice import BufferAdvice
from ackclock.advice.buffer import aqm, effort, phrases
from ackclock.advice.buffer.advise import (
    _alone,
    _recommended,
    _status,
    _together,
    middle,
    question,
)
from ackclock.advice.buffer.bottleneck import bottleneck, rules
from ackclock.advice.buffer.effort import Grid, expected
from ackclock.advice.buffer.measures import MEASURES, Target, intervals
from ackclock.advice.buffer.trials import Outcome as Trial
from ackclock.advice.buffer.trials import Runs, Setting, Trials, droptail
from ackclock.cli import cli
from ackclock.metrics import interval
from ackclock.result.manifest import read_sealed
from ackclock.run import emulation, simulation

from ..refusals import check_refusal, refused

ROOT = Path(__file__).resolve().parents[2]

SMALL = """\
schema = 1
name = "small"
duration = "20 s"
warmup = "4 s"
seed = 1
replicates = 4

[[hops]]
name = "link"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "100 packets" }
delay = "10 ms"

[[hops]]
name = "return"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "10 ms"

[[flows]]
name = "downloads"
count = 4
route = ["link"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "rfc" }
start = ["0 s", "1 s"]
access_delay = ["0 ms", "30 ms"]
"""

PAGES = """
[[flows]]
name = "pages"
arrivals = { kind = "poisson", mean_interval = "400 ms" }
route = ["link"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "reno" }, preset = "rfc" }
traffic = { kind = "transfer", size = "30 kB" }
"""


def advise_buffer(scenario: Scenario, **options: Any) -> BufferAdvice:
    """Returns advice without a limit of loss, which most tests are not about."""
    return ackclock.advise_buffer(scenario, **{"loss": "100 %"} | options)


@pytest.fixture(scope="module")
def small() -> Scenario:
    return Scenario.from_toml(SMALL)


@pytest.fixture(scope="module")
def buffer_advice(small: Scenario) -> BufferAdvice:
    return advise_buffer(small, utilisation="90 %", p99_delay="20 ms")


def trials_of(scenario: Scenario) -> Trials:
    hop = bottleneck(simulate(scenario), None)
    return Trials(scenario, 1, hop, Runs(None, lambda _words: None))


@pytest.mark.slow
def test_the_answer_meets_all_targets_and_the_next_smaller_buffer_does_not(
    buffer_advice: BufferAdvice,
) -> None:
    assert buffer_advice.status == "found"
    assert buffer_advice.answer is not None
    assert buffer_advice.below is not None
    assert buffer_advice.answer.meets_all(buffer_advice.targets)
    assert not buffer_advice.below.meets_all(buffer_advice.targets)
    assert (
        buffer_advice.below.setting.size
        < buffer_advice.answer.setting.size
        <= 1 + 1.05 * buffer_advice.below.setting.size
    )
    assert buffer_advice.binding is buffer_advice.targets[0]
    assert buffer_advice.known_from is not None
    assert 1 <= buffer_advice.known_from <= buffer_advice.answer.setting.size
    # All sizes below the interval that were tried are clearly too small.
    of_utilisation = [
        trial.setting.size
        for trial in tails(buffer_advice)
        if trial.judge(buffer_advice.targets[0]) == "missed"
    ]
    assert max(of_utilisation) < buffer_advice.known_from


def test_the_delay_bounds_the_buffer_from_above_by_what_it_holds(
    buffer_advice: BufferAdvice,
) -> None:
    # p99 of the drop-tail delay is always some packets short of a full queue, so at most B/C. 16
    # packets of 1.2 ms fit, and no more if the queue is full for more than 1 % of the time.
    assert buffer_advice.largest == 16
    assert buffer_advice.hop.packet_s == pytest.approx(1.2e-3)
    for trial in tails(buffer_advice):
        full_s = trial.setting.size * buffer_advice.hop.packet_s
        assert trial.intervals["delay_p99_s"].mean <= full_s * 1.0001


@pytest.mark.slow
def test_throughput_does_not_fall_with_the_buffer_nor_loss_rise(small: Scenario) -> None:
    trials = trials_of(small)
    setting = droptail(trials.hop)
    each = [trials.outcome(setting(size)).values for size in (2, 4, 8, 16, 32, 64, 128)]
    for smaller, larger in pairwise(each):
        gained = interval([larger["utilisation"][r] - smaller["utilisation"][r] for r in range(4)])
        lost = interval([larger["loss"][r] - smaller["loss"][r] for r in range(4)])
        waits = interval([larger["delay_p99_s"][r] - smaller["delay_p99_s"][r] for r in range(4)])
        assert gained.high >= 0
        assert lost.low <= 0
        assert waits.low > 0
    assert each[0]["utilisation"][0] < 0.8 < 0.99 < each[-1]["utilisation"][0]


def test_every_buffer_meets_the_same_seeds_and_further_batches_others(small: Scenario) -> None:
    trials = trials_of(small.replace(replicates=2))
    setting = droptail(trials.hop)
    starts = []
    for size, batch in ((5, 0), (50, 0), (5, 1), (50, 1)):
        result = simulate(trials.with_queue(setting(size), batch))
        starts.append(result.tables["flows"]["start_s"].to_pylist())
    assert starts[0] == starts[1]
    assert starts[2] == starts[3]
    assert set(starts[0]).isdisjoint(starts[2])
    outcome = trials.outcome(setting(5), 2)
    assert sorted(outcome.values["utilisation"]) == [0, 1, 2, 3]
    assert trials.outcome(setting(5)) is outcome  # a known outcome is not run again


@pytest.mark.slow
def test_one_flow_needs_what_the_saw_tooth_says() -> None:
    """Compares a settled single Reno flow with the model: spec 1.4 and `sawtooth` in rounds."""
    single_flow = Scenario.from_toml(SMALL).replace(
        {"flows.downloads.count": 1, "duration": "120 s", "warmup": "40 s",
         "flows.downloads.access_delay": "30 ms",
         "flows.downloads.transport": {
             "kind": "tcp", "control": {"kind": "reno"}, "preset": "rfc",
             "delayed_ack": {"every": "1 packet"},
         }}
    )  # fmt: skip
    advice = advise_buffer(single_flow, utilisation="95 %")
    assert advice.answer is not None
    [says] = advice.models
    assert says.label == "saw-tooth"
    assert says.packets is not None
    # The product is 42 packets. Recovery takes a round trip, while the model's window recovers at
    # once.
    assert advice.answer.setting.size == pytest.approx(says.packets, rel=0.25, abs=2)
    assert says.utilisation == pytest.approx(0.95, abs=0.03)
    by_name = {tried.rule.name: tried.rule.packets for tried in advice.rules}
    product = round(advice.hop.bdp_packets)
    assert by_name == {"BDP": product, "BDP(1-β)/β, reno": product}


def test_rules_of_thumb_follow_controls_and_numbers(small: Scenario) -> None:
    mixed = small.replace({"flows.downloads.transport.control.kind": "cubic"})
    hop = bottleneck(simulate(mixed.replace(replicates=1)), "link")
    from ackclock.advice.buffer.bottleneck import rules

    product = 10e6 * hop.round_trip_s / 8 / 1500
    assert hop.round_trip_s == pytest.approx(0.02 + 0.015 + 1.2e-3, abs=1e-4)
    given = {rule.name: rule.packets for rule in rules(hop)}
    assert given == {
        "BDP": round(product),
        "BDP(1-β)/β, cubic": round(product * 3 / 7),
        "BDP/√n": round(product / 2),
    }


@pytest.mark.slow
@pytest.mark.long
def test_what_no_drop_tail_buffer_meets_adaptive_red_may(small: Scenario) -> None:
    advice = advise_buffer(small, utilisation="95 %", p99_delay="29 ms", loss="1.4 %")
    assert advice.status == "infeasible"
    assert advice.answer is advice.below is advice.largest is None
    alone = {alone.target.measure.name: alone.sizes for alone in advice.alone}
    by_delay, by_loss = alone["delay_p99_s"], alone["loss"]
    assert by_delay is not None
    assert by_loss is not None
    assert by_delay.high is not None
    assert by_delay.high.met < by_loss.low.met  # the contradicting targets
    last = advice.alternatives[-1]
    assert last.setting.queue is not None
    assert last.setting.queue["kind"] == "adaptive_red"
    assert last.meets_all(advice.targets)
    text = " ".join(phrases.answer(advice))
    assert (
        "No drop-tail buffer meets utilisation ≥ 95 %, p99 delay ≤ 29 ms and loss ≤ 1.4 % "
        "together." in text
    )
    assert f"P99 delay ≤ 29 ms alone takes at most {by_delay.high.met} packets" in text
    assert "Adaptive RED (12 ms) meets all targets" in text
    table = phrases.aqm_table(advice)
    assert table is not None
    assert [row[0] for row in table.texts] == [trial.setting.label for trial in advice.alternatives]
    assert phrases.advised_queue(advice) in text


def test_queue_management_is_not_tried_unless_needed_or_asked_for(
    buffer_advice: BufferAdvice,
) -> None:
    assert buffer_advice.answer is not None
    assert not buffer_advice.alternatives


@pytest.mark.slow
@pytest.mark.long
def test_every_queue_management_is_tried_on_request(small: Scenario) -> None:
    """Beside a drop-tail buffer that meets the targets, each kind has its best target delay."""
    targets = {"utilisation": "90 %", "p99_delay": "40 ms"}
    advice = advise_buffer(small, **targets, with_aqm=True)
    assert advice.answer is not None
    others = {"hop": None, "loss": "100 %", "completion_p95": None}
    assert question(small, **targets, **others) != advice.question
    assert question(small, **targets, **others, with_aqm=True) == advice.question
    kinds = [trial.setting.queue["kind"] for trial in advice.alternatives if trial.setting.queue]
    assert kinds == ["adaptive_red", "adaptive_red", "red", "codel", "pie", "pi2", "fq_codel"]
    managed = advice.managed
    assert managed is not None
    assert managed.meets_all(advice.targets)
    text = " ".join(phrases.answer(advice))
    assert re.search(f"{re.escape(managed.setting.label)} .*meets all targets: ", text)
    assert advice.recommended is not None
    better = [trial for trial in advice.alternatives if aqm.is_better(trial, advice.recommended)]
    assert (advice.advised is managed) == any(trial.meets_all(advice.targets) for trial in better)
    assert f"Beside the buffer of {advice.recommended.setting.size} packets that is " in text


def test_the_best_queue_uses_the_link_most_then_drops_least() -> None:
    def tried(label: str, used: float, loss: float) -> Trial:
        values = {"utilisation": {0: used, 1: used}, "loss": {0: loss, 1: loss}}
        return Trial(Setting(label, {}), values, intervals(values), ())

    targets = (Target(MEASURES["utilisation"], 0.9),)
    busy, lossy, idle = tried("a", 0.98, 0.01), tried("b", 0.98, 0.02), tried("c", 0.5, 0.0)
    assert aqm.best((idle, lossy, busy), targets, None) is busy
    assert aqm.best((idle,), targets, None) is None
    # Beside a buffer that loses more for the same use, what is better is best.
    tail = tried("tail", 0.98, 0.04)
    assert aqm.is_better(busy, tail)
    assert not aqm.is_better(idle, tail)
    assert not aqm.is_better(tail, busy)


@pytest.mark.long
def test_what_nothing_meets_is_said_with_what_comes_nearest(small: Scenario) -> None:
    advice = advise_buffer(small.replace(replicates=2), utilisation="98 %", p99_delay="3 ms")
    assert advice.status == "infeasible"
    assert not any(trial.meets_all(advice.targets) for trial in advice.alternatives)
    assert "No active queue management that was tried meets them either: " in " ".join(
        phrases.answer(advice)
    )
    assert phrases.advised_queue(advice) is None
    quiet = small.replace(
        {"flows.downloads.transport.receive_window": "2 packets", "replicates": 2}
    )
    idle = advise_buffer(quiet, utilisation="98 %")
    assert idle.status == "infeasible"
    assert idle.alone[0].sizes is None
    assert "comes nearest" in " ".join(phrases.answer(idle))
    # A queue that never overflows is as good as a larger one, so the search stops at the first of
    # them.
    assert sum(trial.intervals["loss"].mean == 0 for trial in tails(idle)) <= 9


@pytest.mark.long
def test_transfers_that_arrive_have_their_own_target() -> None:
    advice = advise_buffer(
        Scenario.from_toml(SMALL + PAGES), utilisation="90 %", completion_p95="2500 ms"
    )
    assert advice.status == "found"
    assert advice.answer is not None
    assert advice.answer.intervals["completion_p95_s"].high <= 2.5
    assert {"utilisation", "completion_p95_s"} == {
        alone.target.measure.name for alone in advice.alone
    }
    assert "p95 completion s" in phrases.buffer_table(advice).head
    assert phrases.aqm_table(advice) is None


@pytest.mark.slow
def test_transfers_alone_have_no_default_of_utilisation() -> None:
    text = SMALL[: SMALL.index("[[flows]]")] + PAGES
    advice = advise_buffer(Scenario.from_toml(text), completion_p95="2 s")
    assert [target.measure.name for target in advice.targets] == ["completion_p95_s"]
    with refused("missing", "targets"):
        advise_buffer(Scenario.from_toml(text))


@pytest.mark.long
@pytest.mark.parametrize("name", ["markov-link", "trace-link"])
def test_links_that_move_are_sized_at_their_mean_rate(name: str) -> None:
    tree = load(ROOT / "examples" / f"{name}.toml").tree
    fixed = Scenario(
        {key: value for key, value in tree.items() if key != "sweep"}, ROOT / "examples"
    )
    advice = advise_buffer(
        fixed.replace({"duration": "40 s", "warmup": "10 s", "replicates": 3}), utilisation="80 %"
    )
    assert advice.answer is not None
    assert not advice.hop.is_steady
    assert " on average" in phrases.title(advice)
    assert advice.answer.intervals["utilisation"].low >= 0.8
    answer = phrases.plain(advice)["answer"]
    assert answer["ms"] == pytest.approx(answer["bytes"] * 8 / advice.hop.rate_bit_per_s * 1e3)


@pytest.mark.long
def test_sources_that_know_no_congestion_may_stand_beside() -> None:
    cross = """
[[flows]]
name = "video"
route = ["link"]
transport = { kind = "udp", mss = "1000 bytes" }
traffic = { kind = "on_off", rate = "3 Mbit/s", mean_on = "1 s", mean_off = "1 s" }
"""
    advice = advise_buffer(Scenario.from_toml(SMALL + cross), utilisation="90 %")
    assert advice.answer is not None
    assert advice.hop.long_flows == 4
    assert advice.hop.packet_bytes == 1500


def test_the_hop_is_the_one_whose_link_is_used_most_or_the_one_named(small: Scenario) -> None:
    result = simulate(small.replace(replicates=1))
    assert bottleneck(result, None).name == "link"
    with refused("unknown-name", "--hop", "return", "link"):
        bottleneck(result, "return")
    both = small.replace({"hops.return.queue.limit": "100 packets", "replicates": 1})
    tree = both.tree | {
        "flows": [both.tree["flows"][0] | {"route": ["return", "link"], "return": ["return"]}]
    }
    through_both = simulate(Scenario(tree))
    assert bottleneck(through_both, None).name == "link"
    assert bottleneck(through_both, "return").rate_bit_per_s == pytest.approx(100e6)


def test_a_link_without_a_rate_is_refused(small: Scenario) -> None:
    result = simulate(small.replace(replicates=1))
    hops = result.tables["hops"]
    column = hops.column_names.index("capacity_bytes")
    unknown = hops.set_column(column, "capacity_bytes", pa.nulls(hops.num_rows, pa.float64()))
    with refused("no-data", "hops.link.link"):
        bottleneck(replace(result, tables={**result.tables, "hops": unknown}), None)


@pytest.mark.slow
def test_a_queue_that_is_not_drop_tail_is_replaced_and_aqm_tried_too(small: Scenario) -> None:
    red = {"kind": "adaptive_red", "limit": "200 packets", "target_delay": "20 ms"}
    advice = advise_buffer(
        small.replace({"hops.link.queue": red, "replicates": 3}), utilisation="90 %"
    )
    assert advice.answer is not None
    assert advice.answer.setting.queue == {
        "kind": "droptail",
        "limit": f"{advice.answer.setting.size} packets",
        "counts_packet_in_service": False,
    }
    assert advice.alternatives
    assert any(
        "is adaptive_red; drop-tail is tried in its place" in line for line in advice.warnings
    )
    assert phrases.buffer_table(advice).texts[-1][-1] == "now (adaptive_red)"


@pytest.mark.slow
def test_replicates_that_are_alike_are_said_to_be(small: Scenario) -> None:
    fixed = small.replace(
        {
            "flows.downloads.start": "0 s",
            "flows.downloads.access_delay": "5 ms",
            "replicates": 2,
            "vary": "nothing",
        }
    )
    advice = advise_buffer(fixed.replace({"flows.downloads.count": 1}), utilisation="70 %")
    assert any("all replicates are equal" in line for line in advice.warnings)


def made_up(trials: Trials, verdicts: dict[str, list[dict[int, list[float]]]]) -> None:
    """Replaces runs by values per measure, batch and size.

    A size that is not listed has the values of the next smaller one.
    """

    def more(setting: Setting, before: object, batch: int) -> object:
        values = {}
        for name, batches in verdicts.items():
            by_size = batches[min(batch, len(batches) - 1)]
            listed = max(size for size in by_size if size <= setting.size)
            old = before.values[name] if before is not None else {}  # type: ignore[attr-defined]
            values[name] = old | {
                len(old) + number: value for number, value in enumerate(by_size[listed])
            }
        return outcome_of(setting, values)

    trials._more = more  # type: ignore[method-assign, assignment]


def outcome_of(setting: Setting, values: dict[str, dict[int, float]]) -> Trial:
    return Trial(setting, values, intervals(values), ())


BUSY = Target(MEASURES["utilisation"], 0.9)
QUICK = Target(MEASURES["delay_p99_s"], 0.02)


def test_all_targets_are_judged_of_the_same_replicates(small: Scenario) -> None:
    """A setting is not met if few replicates meet it, even if all replicates of another one do."""
    trials = trials_of(small)
    made_up(
        trials,
        {
            "utilisation": [{1: [0.91, 0.911, 0.909, 0.91]}, {1: [0.85, 0.95, 0.84, 0.93]}],
            "delay_p99_s": [{1: [0.01, 0.025, 0.01, 0.02]}, {1: [0.01] * 4}],
        },
    )
    setting = droptail(trials.hop)(10)
    assert trials.outcome(setting).judge(BUSY) == "met"
    assert _together(trials, (BUSY, QUICK), [10], ()) is None
    assert not trials.outcome(setting).meets_all((BUSY, QUICK))


def test_what_meets_all_is_found_between_two_edges_that_are_next_to_each_other(
    small: Scenario,
) -> None:
    """Edges are bisected to 4 %: of 1000 packets forty lie between; one may meet both targets."""
    trials = trials_of(small)
    steady = {
        "utilisation": [{1: [0.8] * 4, 1010: [0.95] * 4}],
        "delay_p99_s": [{1: [0.01] * 4, 1013: [0.03] * 4}],
    }
    made_up(trials, steady)
    sizes = [500, 1000, 2000]
    alone = tuple(_alone(trials, target, sizes) for target in (BUSY, QUICK))
    sizes_of_both = _together(trials, (BUSY, QUICK), sizes, alone)
    assert sizes_of_both is not None
    assert 1010 <= sizes_of_both.low.met < 1013
    # There is none if none exists.
    made_up(
        contrary := trials_of(small), steady | {"utilisation": [{1: [0.8] * 4, 1013: [0.95] * 4}]}
    )
    alone = tuple(_alone(contrary, target, sizes) for target in (BUSY, QUICK))
    assert _together(contrary, (BUSY, QUICK), sizes, alone) is None
    assert _status(contrary, (BUSY, QUICK), None) == "infeasible"


@pytest.mark.long
def test_a_run_of_few_saw_teeth_is_said_to_be(small: Scenario) -> None:
    """One Reno flow of some 400 packets adds one per 100 ms: a saw-tooth takes 20 s.

    16 of them are measured.
    """
    long_pipe = small.replace(
        {"flows.downloads.count": 1, "flows.downloads.access_delay": "80 ms", "replicates": 2,
         "hops.link.link.rate": "50 Mbit/s"}
    )  # fmt: skip
    [warning] = [
        line
        for line in advise_buffer(long_pipe, utilisation="70 %").warnings
        if line.startswith("duration")
    ]
    assert "20 s after a warm-up of 4 s is short" in warning


def test_a_run_of_many_saw_teeth_is_not(buffer_advice: BufferAdvice) -> None:
    assert buffer_advice.answer is not None
    assert buffer_advice.answer.reductions > 4 * 5
    assert not any(line.startswith("duration") for line in buffer_advice.warnings)


def test_a_cell_is_not_passed_over_for_the_wire_before_it() -> None:
    """The wire is used to 13 %, the cell all the time: advice about the wire would be useless."""
    cell = Scenario.from_toml((ROOT / "examples/wifi-cell.toml").read_text()).expand()[0].scenario
    with refused("no-data", "hops.ap-data.link"):
        advise_buffer(cell.replace({"duration": "2 s", "warmup": "1 s", "replicates": 1}))


def tails(advice: BufferAdvice) -> list:
    return [
        trial
        for trial in advice.every
        if trial.setting.queue and trial.setting.queue["kind"] == "droptail"
    ]


@pytest.mark.parametrize(
    ("smallest", "largest", "within"),
    [(60, 166, 100), (10, 61, 20), (7, 7, 7), (1, 2, 1), (10, 11, 10)],
)
def test_the_middle_is_within_and_no_more_than_twice_the_smallest(
    smallest: int, largest: int, within: int
) -> None:
    assert middle(smallest, largest) == within


def test_what_is_advised_lies_within_and_was_shown_to_meet_all_targets(
    buffer_advice: BufferAdvice,
) -> None:
    assert buffer_advice.recommended is not None
    assert buffer_advice.answer is not None
    assert buffer_advice.largest is not None
    assert (
        buffer_advice.answer.setting.size
        < buffer_advice.recommended.setting.size
        < buffer_advice.largest
    )
    assert buffer_advice.recommended.meets_all(buffer_advice.targets)
    recommended = phrases.plain(buffer_advice)["recommended"]
    assert (
        recommended["packets"]
        == buffer_advice.recommended.setting.size
        == middle(buffer_advice.answer.setting.size, buffer_advice.largest)
    )
    assert (
        recommended["delay_p99_s"]["low"]
        <= recommended["delay_p99_s"]["mean"]
        <= recommended["delay_p99_s"]["high"]
        <= 0.02
    )
    assert phrases.marks(buffer_advice)[buffer_advice.recommended.setting.size][0] == "recommended"


def test_where_the_middle_misses_a_target_the_nearest_that_meets_all_is_advised(
    small: Scenario,
) -> None:
    trials = trials_of(small)
    busy = {"utilisation": [{1: [0.8] * 4, 10: [0.95] * 4, 19: [0.8] * 4, 22: [0.95] * 4}]}
    made_up(trials, busy)
    setting = droptail(trials.hop)
    for size in (10, 22, 40):
        trials.outcome(setting(size))
    assert trials.judge(setting(20), BUSY) == "missed"
    assert _recommended(trials, (BUSY,), 10, 40).setting.size == 22


@pytest.mark.slow
def test_the_effort_is_that_of_a_batch_times_their_number(small: Scenario, tmp_path: Path) -> None:
    effort = expected(small, None, 2, Grid(32.0, 64.0), kept=True)
    assert effort is not None
    assert effort.replicates == 4
    simulate(small).save(tmp_path / "batch")
    size = sum(path.stat().st_size for path in (tmp_path / "batch").iterdir())
    # Columns of four runs are packed a little better than those of one.
    assert effort.batch_bytes == pytest.approx(size, rel=0.25)
    assert 14 <= effort.batches <= 44
    assert (
        effort.most_batches > 4 * 38
    )  # the most queues in any search of these tests, over all batches
    assert expected(small, "nowhere", 2, Grid(32.0, 64.0), kept=True) is None


def test_other_advice_is_not_replaced_unless_told_to(file: Path, tmp_path: Path) -> None:
    from functools import partial

    from ackclock.advice.buffer.advise import ADVICE, prepare
    from ackclock.cli.advise import _answers

    none = {"hop": None, "loss": None, "completion_p95": None}
    asked = [
        question(load(file), utilisation=utilisation, p99_delay=delay, **none)
        for utilisation, delay in (("80 %", "20 ms"), (0.8, "0.02 s"), ("81 %", "20 ms"))
    ]
    assert asked[0] == asked[1] != asked[2]
    folder = tmp_path / "out"
    prepare(folder, asked[0])
    assert partial(_answers, asked[1])(folder)
    before = (folder / ADVICE.mark).read_bytes()
    check_refusal(
        command(file, "--utilisation", "81%", "--p99-delay", "20ms", "-o", folder),
        "file",
        str(folder),
    )
    assert (folder / ADVICE.mark).read_bytes() == before


def command(*arguments: object) -> Outcome:
    """Runs the command, without a limit of loss unless one is given."""
    narrow = CliRunner(env={"COLUMNS": "80"})
    limit = [] if "--loss" in arguments else ["--loss", "100%"]
    return narrow.invoke(cli, ["advise", "buffer", *map(str, arguments), *limit])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace("replicates = 4", "replicates = 2"), encoding="utf-8")
    return path


@pytest.mark.slow
def test_the_command_prints_the_answer_in_packets_bytes_and_milliseconds(file: Path) -> None:
    outcome = command(file, "--utilisation", "80%")
    assert outcome.exit_code == 0, outcome.stderr
    assert re.search(
        r"^advise: usually some \d+ runs, about .*; at most \d+, about ",
        outcome.stderr,
        re.MULTILINE,
    )
    assert "on disk" not in outcome.stderr  # nothing is written
    text = " ".join(outcome.stdout.split())
    range_ = re.search(r"Buffers of (\d+) to (\d+) packets, the largest tried, meet util", text)
    advised = re.search(r"Set the buffer to (\d+) packets \((\S+) kB, (\S+) ms\): ", text)
    assert range_ is not None
    assert advised is not None
    smallest, within = int(range_[1]), int(advised[1])
    assert smallest <= within <= 2 * smallest
    assert float(advised[2]) == pytest.approx(within * 1.5, rel=0.01)
    assert float(advised[3]) == pytest.approx(within * 1.2, rel=0.01)
    assert re.search(r"Expect utilisation [^;]* %, p99 delay [^;]* ms and loss [^;]* %\.", text)
    queue = f'{{ kind = "droptail", limit = "{within} packets" }}'
    assert f"\nqueue = {queue}\n" in outcome.stdout
    assert outcome.stdout.endswith(f"ackclock simulate {file} --set 'hops.link.queue={queue}'\n")
    assert "BDP/√n" in outcome.stdout
    assert "The scenario's queue of 100 packets gives utilisation 100 %" in text
    # The loss and the answer stand first, and all that is not for pasting fits.
    assert re.match(
        r"Loss [\d.]+ (± [\d.]+ )?% \(no limit\) with a drop-tail buffer", outcome.stdout
    )
    assert outcome.stdout.split("\n\n")[1].startswith("Set the buffer to ")
    for_pasting = ("queue = ", "  next ")
    prose = [line for line in outcome.stdout.splitlines() if not line.startswith(for_pasting)]
    assert max(map(len, prose)) <= 80
    assert list(file.parent.iterdir()) == [file]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the simulated scenarios, without the trial that estimates the duration."""
    monkeypatch.setattr(effort, "expected", lambda *_, **__: None)
    ran: list[str] = []
    real = simulation.simulate

    def counting(scenario: Scenario, **options: object) -> Result:
        ran.append(scenario.name)
        if len(ran) == 6:
            raise KeyboardInterrupt
        return real(scenario, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation, "simulate", counting)
    return iter([ran])


@pytest.mark.long
def test_an_interrupted_search_goes_on_and_its_answer_is_the_same(
    file: Path, tmp_path: Path, counted: Iterator[list[str]]
) -> None:
    ran = next(counted)
    folder = tmp_path / "out"
    arguments = (file, "--utilisation", "80%", "-o", folder, "--json")
    broken = command(*arguments)
    assert broken.exit_code == 130
    assert "the same command goes on" in broken.stderr
    assert read_sealed(folder / "advice.json")["schema"] == 4
    before = {path.name for path in (folder / "runs").iterdir()}
    assert len(before) == 5
    whole = command(*arguments)
    assert whole.exit_code == 0, whole.stderr
    after = {path.name for path in (folder / "runs").iterdir()}
    assert before < after
    assert len(ran) - 6 == len(after - before)  # nothing twice
    ran.clear()
    again = command(*arguments)
    assert again.stdout == whole.stdout
    assert ran == []
    advice = json.loads(again.stdout)
    assert read_sealed(folder / "advice.json") == advice
    for run in advice["answer"]["runs"]:
        assert (
            Result.load(folder / "runs" / run).points[0]["scenario"]["hops"][0]["queue"]["kind"]
            == "droptail"
        )
    assert (folder / "trade-off.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (folder / "trade-off.png").stat().st_size > 10_000


@pytest.mark.slow
def test_json_has_units_in_its_names_and_null_for_what_is_unknown(file: Path) -> None:
    advice = json.loads(
        command(file, "--utilisation", "80%", "--p99-delay", "20ms", "--json").stdout
    )
    assert advice["status"] == "found"
    assert advice["targets"][1] == {"measure": "delay_p99_s", "at_least": False, "bound": 0.02}
    assert advice["answer"]["bytes"] == 1500 * advice["answer"]["packets"]
    assert advice["answer"]["verdicts"] == {"utilisation": "met", "delay_p99_s": "met"}
    assert advice["known_from_packets"] <= advice["answer"]["packets"] <= advice["largest_packets"]
    assert advice["present"]["packets"] == 100
    assert {rule["name"] for rule in advice["rules"]} == {"BDP", "BDP(1-β)/β, reno", "BDP/√n"}
    assert advice["alone"][0]["up_to_packets"] is None
    sizes = [
        buffer["packets"] for buffer in advice["buffers"] if buffer["queue"]["kind"] == "droptail"
    ]
    assert sizes == sorted(sizes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("--utilisation", "101%"), "out-of-range", "--utilisation"),
        (("--utilisation", "0%"), "out-of-range", "--utilisation"),
        (("--utilisation", "much"), "wrong-type", "--utilisation"),
        (("--p99-delay", "0ms"), "out-of-range", "--p99-delay"),
        (("--p99-delay", "20"), "no-unit", "--p99-delay"),
        (("--p99-delay", "1ms"), "contradiction", "--p99-delay"),
        (("--loss", "101%"), "out-of-range", "--loss"),
        (("--loss", "-1%"), "out-of-range", "--loss"),
        (("--completion-p95", "2s"), "contradiction", "--completion-p95"),
        (("--hop", "nowhere"), "unknown-name", "--hop"),
        (("--set", "hops.link.queue.limit=0"), "no-unit", "hops.link.queue.limit"),
        (
            ("--set", "sample_interval=1 s", "--p99-delay", "20ms"),
            "contradiction",
            "sample_interval",
        ),
    ],
)
def test_targets_that_cannot_be_met_are_refused_in_a_line(
    file: Path, tmp_path: Path, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(command(file, "-o", tmp_path / "out", *arguments), code, field)
    assert not (tmp_path / "out").exists()


def test_a_completion_within_the_way_to_the_receiver_is_refused(file: Path) -> None:
    file.write_text(SMALL + PAGES, encoding="utf-8")
    check_refusal(
        command(file, "--completion-p95", "10ms"), "contradiction", "--completion-p95", "10.0 ms"
    )


def test_a_sweep_and_a_foreign_folder_are_refused(file: Path, tmp_path: Path) -> None:
    swept = tmp_path / "swept.toml"
    swept.write_text(
        SMALL + '\n[sweep]\n"hops.link.queue.limit" = ["5 packets", "9 packets"]\n',
        encoding="utf-8",
    )
    check_refusal(command(swept), "unsupported", "sweep")
    check_refusal(command(file, "-o", tmp_path), "file", str(tmp_path))


@pytest.mark.slow
def test_a_machine_that_cannot_emulate_says_why(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_arguments: object, **_options: object) -> None:
        raise LackingError("lacking", "", "no namespaces here; say sudo")

    monkeypatch.setattr(emulation, "emulate", lacking)
    outcome = command(file, "--utilisation", "80%", "--emulate")
    assert outcome.exit_code == 0, outcome.stderr
    assert "Not confirmed by emulation: no namespaces here; say sudo" in outcome.stdout


@pytest.mark.long
def test_a_signal_while_it_emulates_keeps_the_runs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_arguments: object, **_options: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(emulation, "emulate", terminated)
    outcome = command(file, "--utilisation", "80%", "--emulate", "-o", tmp_path / "out")
    assert outcome.exit_code == 143
    assert outcome.stderr.endswith("interrupted: the same command goes on\n")
    assert list((tmp_path / "out" / "runs").iterdir())


@pytest.mark.usefixtures("emulation")
def test_the_answer_is_emulated_beside_the_next_smaller_buffer(file: Path, tmp_path: Path) -> None:
    file.write_text(SMALL.replace('"rfc"', '"linux"'), encoding="utf-8")
    arguments = (
        file,
        "--set",
        "duration=2500 ms",
        "--set",
        "warmup=1 s",
        "--replicates",
        1,
        "--utilisation",
        "60%",
    )
    outcome = command(*arguments, "--emulate", "--json", "-o", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.stderr
    emulated = json.loads(outcome.stdout)["emulation"]
    assert emulated["why_not"] is None
    assert len(emulated["buffers"]) == 2
    if emulated["unreliable_runs"] == 0:
        assert 0 < emulated["buffers"][0]["utilisation"]["mean"] <= 1


def test_present_is_run_as_it_is(buffer_advice: BufferAdvice) -> None:
    assert buffer_advice.present.setting == Setting("the queue as it is", None)
    assert buffer_advice.hop.present_packets() == 100
    assert buffer_advice.present.intervals["delay_p99_s"].mean == pytest.approx(0.12, rel=0.05)


def test_the_guide_has_the_rules_of_the_example() -> None:
    guide = (ROOT / "docs" / "guides" / "sizing-a-buffer.md").read_text(encoding="utf-8")
    example = load(ROOT / "examples" / "buffer-on-a-backbone.toml")
    present = simulate(example.replace(replicates=1))
    sizes = [rule.packets for rule in rules(bottleneck(present, None))]
    assert len(sizes) == 3
    assert all(f"| {size} |" in guide for size in sizes)
    figure = (ROOT / "docs" / "images" / "buffer-trade-off.svg").read_text(encoding="utf-8")
    assert figure.startswith("<?xml")
