import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from ackclock import Result, Scenario, plot, simulate
from ackclock.cli import cli
from ackclock.metrics import METRICS
from ackclock.report import page
from ackclock.report.run_tables import flow_rows, flow_table
from ackclock.table import Interval, text
from ackclock.validity.stationarity import NOTE, judge, mser, starred
from tests.models.restated import restated

SLOW = """\
schema = 1
name = "slow tooth"
duration = "30 s"
warmup = "20 s"
replicates = 2

[[hops]]
name = "bottleneck"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "50 packets" }
delay = "100 ms"

[[hops]]
name = "return"
link = { kind = "constant", rate = "20 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "100 ms"

[[flows]]
name = "main"
route = ["bottleneck"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "reno" } }
start = ["0 s", "1 s"]
"""


def slow(**changes: object) -> Scenario:
    return Scenario.from_toml(SLOW).replace(
        {name.replace("__", "."): value for name, value in changes.items()}
    )


@pytest.fixture(scope="module")
def unsettled() -> Result:
    return simulate(slow(flows__main__start=["0 s", "100 ms"], replicates=5))


@pytest.fixture(scope="module")
def settled() -> Result:
    return simulate(slow(hops__bottleneck__delay="5 ms", hops__return__delay="5 ms"))


def test_a_piece_of_a_saw_tooth_has_not_settled_however_narrow_its_interval(
    unsettled: Result,
) -> None:
    [row] = flow_rows(unsettled)
    assert row["utilisation"].half_width < 0.01 * row["utilisation"].mean
    verdict = judge(unsettled).verdicts[0, "main"]
    assert (verdict.settled, verdict.epochs) == (False, 0)


def test_what_is_told_of_an_epoch_that_was_not_seen_holds_in_a_run_that_is_long_enough(
    unsettled: Result,
) -> None:
    forecast = judge(unsettled).verdicts[0, "main"]
    assert forecast.epoch_s is not None
    assert forecast.duration_s is not None
    long_run = judge(simulate(slow(duration=f"{forecast.duration_s:g} s", replicates=1))).verdicts[
        0, "main"
    ]
    assert long_run.settled, long_run.reason
    # The saw-tooth leaves out recovery and the round trip after the overflow: a few of some
    # hundred.
    assert long_run.epoch_s == pytest.approx(forecast.epoch_s, rel=0.15)


def test_a_short_saw_tooth_has_settled(settled: Result) -> None:
    judged = judge(settled)
    assert judged.verdicts[0, "main"].settled
    assert (judged.warning, judged.marked) == ("", frozenset())
    assert not any("*" in cell for row in flow_table(flow_rows(settled)).texts for cell in row)


def test_cubic_without_an_epoch_is_given_its_k() -> None:
    verdict = judge(
        simulate(slow(duration="21 s", flows__main__transport__control__kind="cubic"))
    ).verdicts[0, "main"]
    assert (verdict.settled, verdict.epochs) == (False, 0)
    # 20 Mbit/s x 0.2 s and 50 packets are 384 segments with serialisation: cbrt(384 x 0.3/0.4) =
    # 6.6 s.
    assert verdict.epoch_s == pytest.approx(6.6, rel=0.01)


def test_what_has_no_epochs_is_not_asked_for_them() -> None:
    steady = {"kind": "udp"}
    constant = {"kind": "cbr", "rate": "1 Mbit/s"}
    of_udp = simulate(slow(flows__main__transport=steady, flows__main__traffic=constant))
    assert judge(of_udp).verdicts == {}
    finite = {"kind": "transfer", "size": "100 kB"}
    assert judge(simulate(slow(flows__main__traffic=finite))).verdicts == {}
    vegas = judge(simulate(slow(flows__main__transport__control__kind="vegas"))).verdicts[0, "main"]
    assert vegas.epochs is None
    limited = judge(simulate(slow(flows__main__transport__receive_window="100 kB"))).verdicts[
        0, "main"
    ]
    assert (limited.settled, limited.epochs) == (True, None)


def test_a_congestion_window_beyond_the_receive_window_does_not_grow(unsettled: Result) -> None:
    assert judge(unsettled).verdicts[0, "main"].settled is False
    scenario = unsettled.points[0]["scenario"]
    [flow] = scenario["flows"]
    limited = {**flow, "transport": {**flow["transport"], "receive_window": "50000 bytes"}}
    point = {**unsettled.points[0], "scenario": restated({**scenario, "flows": [limited]})}
    seen = replace(unsettled, run={**unsettled.run, "points": [point]})
    assert judge(seen).verdicts[0, "main"].epochs is None


def test_reactions_within_one_recovery_are_one_epoch(settled: Result) -> None:
    events = settled.tables["events"]
    again = events.slice(0, 0)
    for row in events.to_pylist():
        rows = [row, {**row, "kind": "timeout"}] if row["kind"] == "fast_retransmit" else [row]
        again = pa.concat_tables([again, pa.Table.from_pylist(rows, schema=events.schema)])
    changed = replace(settled, tables={**settled.tables, "events": again})
    assert judge(changed).verdicts == judge(settled).verdicts


def test_mser_cuts_off_what_is_unlike_the_rest() -> None:
    noise = np.random.default_rng(1).normal(size=200)
    assert mser(noise) < 100
    assert mser(noise + 50 * (np.arange(200) < 30)) == pytest.approx(30, abs=10)
    assert mser(noise + np.arange(200.0)) > 100
    teeth = np.arange(200) % 40 / 40
    assert mser(teeth) < 100


def test_goodput_that_still_changes_is_noticed(settled: Result) -> None:
    samples = settled.tables["samples"]
    time_s = samples["time_s"].to_numpy()
    grown = pa.array((time_s**2 * 1e4).astype(np.int64))
    index = samples.column_names.index("delivered_bytes")
    tables = {**settled.tables, "samples": samples.set_column(index, "delivered_bytes", grown)}
    verdict = judge(replace(settled, tables=tables)).verdicts[0, "main"]
    assert verdict.settled is False
    assert "still changes" in verdict.reason


def one_flow(control: str, seed: int, **changes: object) -> Scenario:
    """A flow alone at a link, buffer and round trip drawn from a seed."""
    draws = np.random.default_rng(seed)
    rate, delay = draws.uniform(4, 30), draws.uniform(4, 40)
    buffer = math.ceil(draws.uniform(0.7, 3) * rate * 2 * delay / 12)
    values = {
        "duration": "60 s",
        "warmup": "5 s",
        "hops__bottleneck__link__rate": f"{rate:.2f} Mbit/s",
        "hops__bottleneck__queue__limit": f"{buffer} packets",
        "hops__bottleneck__delay": f"{delay:.2f} ms",
        "hops__return__delay": f"{delay:.2f} ms",
        "flows__main__transport__control__kind": control,
    }
    return slow(**values | changes)


@pytest.mark.slow
@pytest.mark.parametrize("control", ["bbr1", "bbr3", "vegas", "copa"])
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_controls_that_wait_for_no_loss_settle_within_a_minute(control: str, seed: int) -> None:
    [verdict] = judge(simulate(one_flow(control, seed))).verdicts.values()
    assert verdict.settled, verdict.reason


@pytest.mark.slow
def test_the_cycles_of_a_control_are_those_of_its_probes() -> None:
    """BBR looks for the round-trip time every 10 s, for 0.2 s or more, a few cycles late."""
    [verdict] = judge(simulate(one_flow("bbr1", 14, duration="120 s"))).verdicts.values()
    assert verdict.epoch_s is not None
    assert 10 < verdict.epoch_s < 12


@pytest.mark.slow
@pytest.mark.parametrize("control", ["bbr1", "bbr3", "vegas", "ledbat", "cubic"])
@pytest.mark.parametrize("share", [0.25, 0.5, 0.7])
def test_a_change_within_the_measured_time_is_said(control: str, share: float) -> None:
    when = 5 + share * 55
    steps = [{"from": "0 s", "rate": "10 Mbit/s"}, {"from": f"{when:g} s", "rate": "7 Mbit/s"}]
    link = {"kind": "scheduled", "steps": steps}
    changing = one_flow(control, 15, hops__bottleneck__link=link)
    [verdict] = judge(simulate(changing)).verdicts.values()
    assert verdict.settled is False
    assert "goodput" in verdict.reason


def test_a_slow_convergence_is_said(settled: Result) -> None:
    """Goodput that approaches its last value exponentially, by a tenth of the time each."""
    samples = settled.tables["samples"]
    time_s = samples["time_s"].to_numpy()
    delivered = 1e6 * (time_s + 0.5 * np.exp(-(time_s - 20) / 1.0))
    place = samples.column_names.index("delivered_bytes")
    column = pa.array(delivered.astype(np.int64))
    tables = {**settled.tables, "samples": samples.set_column(place, "delivered_bytes", column)}
    verdict = judge(replace(settled, tables=tables)).verdicts[0, "main"]
    assert verdict.settled is False
    assert "goodput" in verdict.reason


def test_noise_without_a_change_is_not_said(settled: Result) -> None:
    samples = settled.tables["samples"]
    place = samples.column_names.index("delivered_bytes")
    draws = np.random.default_rng(3)
    for _ in range(20):
        noisy = pa.array(np.cumsum(draws.exponential(1e4, samples.num_rows)).astype(np.int64))
        changed = samples.set_column(place, "delivered_bytes", noisy)
        tables = {**settled.tables, "samples": changed}
        assert judge(replace(settled, tables=tables)).verdicts[0, "main"].settled


def test_a_folder_gives_the_same_verdicts(unsettled: Result, tmp_path: Path) -> None:
    assert (
        judge(Result.load(unsettled.save(tmp_path / "run"))).verdicts == judge(unsettled).verdicts
    )


def test_doors_mark_what_has_not_settled_and_warn_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    file.write_text(SLOW)
    outcome = CliRunner().invoke(cli, ["simulate", str(file), "-o", str(tmp_path / "run")])
    [line] = outcome.stderr.splitlines()
    assert line.startswith(
        "warning: main: 0 congestion epochs in 10 s, a mean needs at least 5; one takes about "
    )
    assert NOTE in " ".join(outcome.stdout.split())
    answer = (
        CliRunner()
        .invoke(cli, ["simulate", str(file), "-o", str(tmp_path / "run"), "--json"])
        .stdout
    )
    document = json.loads(answer)
    assert document["flows"][0]["stationarity"]["settled"] is False
    assert {hop["hop"]: hop["unsettled"] for hop in document["hops"]} == {
        "bottleneck": True,
        "return": False,
    }


@pytest.mark.slow
def test_pages_and_figures_mark_it(unsettled: Result) -> None:
    text = page([(unsettled, None)])
    assert f"{NOTE}." in text
    assert judge(unsettled).warning in text.replace("&#39;", "'")
    delays = {"hops.bottleneck.delay": ["5 ms", "200 ms"]}
    swept = simulate(slow(hops__return__delay="0 s", sweep=delays, replicates=1))
    [axes] = plot.figure(swept, "sweep").axes
    [marks] = [line for line in axes.lines if line.get_label() == "not settled"]
    assert list(marks.get_xdata()) == [200]


def test_everything_that_a_flow_concerns_is_marked_with_it() -> None:
    """The metric says what its values are about, and whether they are means of a steady state."""
    flow = slow().tree["flows"][0]
    page = flow | {"name": "page", "traffic": {"kind": "transfer", "size": "1 MB"}}
    two = slow(replicates=1, hops__bottleneck__packet_delays=True).replace(flows=[flow, page])
    result = simulate(two)
    judged = judge(result)
    for name in METRICS:
        subjects = {value.subject for value in METRICS[name].values(result)}
        expected = subjects - {"page", "return"} if METRICS[name].settles else set()
        assert {subject for subject in subjects if judged.marks(name, 0, subject)} == expected, name
    assert judged.marks("equivalence", 0, "all flows")
    assert judged.marks("packet_delay_p99", 0, "bottleneck/main")
    table = flow_table(flow_rows(result))
    rows = [dict(zip(table.head, row, strict=True)) for row in table.texts]
    assert [row["goodput Mbit/s"].endswith("*") for row in rows] == [True, False]
    # The index is that of both.
    assert [row["Jain's index"].endswith("*") for row in rows] == [True, True]
    assert not any(row["timeouts per run"].endswith("*") for row in rows)


def test_what_is_unknown_is_not_marked() -> None:
    for cell in (None, Interval(math.nan, math.nan, 0)):
        assert text(starred(cell, True)) == text(cell)
    assert text(starred(2.5, True)) == f"{text(2.5)}*"
