"""The table `control_calls` of a simulation, and what is computed from calls."""

import bisect
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ackclock import Result, engine, simulate
from ackclock.capture import call_tables, calls
from ackclock.capture.call_tables import Calls, calls_of, recorded
from ackclock.capture.twin import stand_in
from ackclock.cli import cli

from ..emulation import westwood
from ..refusals import refused
from .paths import PROGRAMS, shipped, under

RECORDED = Path(__file__).parent / "recorded"
LOSSY = {"hops.there.impairments": [{"kind": "iid_loss", "probability": "1 %"}]}


def simulated(folder: Path, control: dict[str, Any], **changes: Any) -> Result:
    """Simulates the scenario under a program, with the table of its calls."""
    scenario = under(control, **{"flows.flow.control_calls": True, **LOSSY, **changes})
    result = simulate(scenario)
    result.save(folder)
    return result


@pytest.mark.slow
def test_a_simulation_has_the_calls_and_twin_answers_them_alike(tmp_path: Path) -> None:
    changes = {"flows.flow.count": 2, "replicates": 2, "duration": "10 s"}
    result = simulated(tmp_path / "run", shipped("cubic", beta_thousandth=600), **changes)
    compared = calls.twin(tmp_path / "run")
    assert [comparison.record for comparison in compared] == [
        "point-0-replicate-0.flow", "point-0-replicate-1.flow",
    ]  # fmt: skip
    assert (
        sum(comparison.outcome["calls"] for comparison in compared)
        == result.tables["control_calls"].num_rows
    )
    for comparison in compared:
        assert comparison.control == "cubic"
        assert comparison.outcome["connections"] == 2
        assert comparison.outcome["equal"] == comparison.outcome["calls"] > 4_000
        assert comparison.outcome["kinds"]["ssthresh"] > 4
        assert comparison.outcome["skipped"] == comparison.missed == 0
    outcome = CliRunner().invoke(cli, ["twin", str(tmp_path / "run")])
    assert outcome.exit_code == 0, outcome.output
    assert "cubic" in outcome.stdout


def test_recording_the_calls_changes_nothing_else(tmp_path: Path) -> None:
    with_calls = simulated(tmp_path / "run", shipped("westwood_crb"))
    without = simulate(under(shipped("westwood_crb"), **LOSSY))
    assert "control_calls" not in without.tables
    for name in ("flows", "samples", "events", "hops"):
        assert with_calls.tables[name] == without.tables[name]


@pytest.mark.slow
def test_the_table_is_that_of_an_emulation(tmp_path: Path) -> None:
    simulated(tmp_path / "run", shipped("cubic"), **{"flows.flow.count": 2})
    [made] = calls_of(tmp_path / "run")
    kernels, _ = calls_of(RECORDED)
    assert made.table.column_names == kernels.table.column_names
    assert (made.control, made.missed) == ("cubic", 0)
    rows = made.table.to_pylist()
    assert {row["flow"] for row in rows} == {0, 1}
    assert {row["kind"] for row in rows} >= {
        "init", "pkts_acked", "cong_avoid", "ssthresh", "set_state",
    }  # fmt: skip
    for row in rows:
        if row["kind"] == "ssthresh":  # RFC 9438 section 4.6, in whole segments
            assert row["result"] == max(row["cwnd_before"] * 7 // 10, 2)


def test_a_wrong_parameter_is_caught_at_the_first_reduction(tmp_path: Path) -> None:
    simulated(tmp_path / "run", shipped("aimd"))
    control = (PROGRAMS / "aimd.bpf.o").read_bytes()
    [record] = [table.record() for table in call_tables.simulated(tmp_path / "run")]
    compared = engine.twin_calls(control, {"beta_percent": 49}, record)
    kinds = [row["kind"] for row in calls_of(tmp_path / "run")[0].table.to_pylist()]
    assert compared["first"]["call"]["kind"] == "ssthresh"
    assert compared["first"]["call"]["number"] == kinds.index("ssthresh") + 1


def test_only_programs_have_calls() -> None:
    field = "flows.flow.control_calls"
    with refused("contradiction", field, "needs a control of kind kernel"):
        simulate(under({"kind": "reno"}, **{field: True}))
    with refused("contradiction", field, "needs a control of kind kernel"):
        simulate(under({"kind": "kernel", "name": "cubic"}, **{field: True}))


def flights(made: Calls) -> list[tuple[int, int, int]]:
    """Bytes of each flight as the program was told, and between which it must lie.

    By the definition of tcp_input.c (tcp_clean_rtx_queue, Linux 5.16 and later): mss times the
    segments delivered since the newest acknowledged segment was sent. That was a round-trip time
    ago; what was delivered then is known by the calls to some microseconds. The kernel measures
    that of a segment which was sent again by TCP's timestamps, in milliseconds.
    """
    times: list[int] = []
    delivered: list[int] = []
    triples = []
    for row in made.table.to_pylist():
        times.append(row["now_ns"])
        delivered.append(row["delivered"])
        if row["kind"] != "pkts_acked" or row["rtt_us"] <= 0:
            continue
        near_ns = 100_000 if row["rtt_us"] % 1000 else 1_000_000
        sent_ns = row["now_ns"] - 1000 * row["rtt_us"]
        if sent_ns - near_ns < times[0]:
            continue
        earlier, later = (
            delivered[bisect.bisect_right(times, time_ns) - 1]
            for time_ns in (sent_ns - near_ns, sent_ns + near_ns)
        )
        flight = row["argument_1"]
        triples.append(
            (flight, *((row["delivered"] - before) * row["mss"] for before in (later, earlier)))
        )
    return triples


@pytest.mark.slow
def test_a_flight_means_in_the_engine_what_it_means_in_the_kernel(tmp_path: Path) -> None:
    simulated(tmp_path / "run", shipped("westwood_re"))
    _, kernels = calls_of(RECORDED)
    assert kernels.control == "westwood_crb"
    for made in (kernels, *calls_of(tmp_path / "run")):
        triples = flights(made)
        assert len(triples) > 300
        assert all(least <= flight <= most for flight, least, most in triples)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["westwood_re", "westwood_crb"])
def test_an_estimate_in_integers_is_that_of_the_papers(name: str, tmp_path: Path) -> None:
    """As of the kernel's calls (tests/emulation/test_loaded_controls.py), with the same bound."""
    simulated(tmp_path / "run", shipped(name))
    rows = calls_of(tmp_path / "run")[0].table.to_pylist()
    thresholds = list(westwood.thresholds(rows, combined=name == "westwood_crb"))
    assert len(thresholds) > 10
    for expected, answered in thresholds:
        assert -0.01 * expected <= expected - answered < 1 + 0.01 * expected


def test_the_programs_of_now_answer_what_those_recorded_did() -> None:
    """Their sources have changed since, their arithmetic has not."""
    for record in recorded(RECORDED):
        name = record.name.split(".")[1]
        compared = engine.twin_calls(
            (PROGRAMS / f"{name}.bpf.o").read_bytes(), {}, record.read_bytes()
        )
        assert compared["equal"] == compared["calls"] > 0


# Most segments that a control of the engine is from its program, after any call. Up to one is the
# fraction of the first's window. Another is what halving and counting in whole segments leave out.
# Chosen before the first comparison.
MOST_APART = 2.0


def most_apart(comparison: calls.ControlComparison) -> float:
    """The largest difference of windows and thresholds, in segments."""
    largest = [comparison.outcome[kind]["largest"] for kind in ("cong_avoid", "ssthresh")]
    return max(abs(call["ours_segments"] - call["theirs_segments"]) for call in largest)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["reno", "aimd"])
def test_reno_in_numbers_with_fractions_stays_beside_the_program(
    program: str, tmp_path: Path
) -> None:
    simulated(tmp_path / "run", shipped(program))
    [comparison] = calls.beside(
        tmp_path / "run", stand_in('{ kind = "reno", arithmetic = "exact" }')
    )
    assert comparison.outcome["connections"] == 1
    assert comparison.outcome["cong_avoid"]["calls"] > 2_000
    assert comparison.outcome["ssthresh"]["calls"] > 10
    assert 0 < most_apart(comparison) <= MOST_APART
    # In whole segments, as in Linux, there is nothing to round.
    [comparison] = calls.beside(
        tmp_path / "run", stand_in('{ kind = "reno", arithmetic = "linux" }')
    )
    assert most_apart(comparison) == 0


def test_cubic_in_numbers_with_fractions_stays_beside_the_kernels_calls() -> None:
    control = stand_in('{ kind = "cubic", arithmetic = "exact" }')
    comparison, _ = calls.beside(RECORDED, control)
    assert comparison.control == "cubic"
    assert comparison.outcome["cong_avoid"]["calls"] > 250
    assert 0 < most_apart(comparison) <= MOST_APART


@pytest.mark.slow
def test_another_law_is_seen_where_it_begins_to_differ(tmp_path: Path) -> None:
    simulated(tmp_path / "run", shipped("reno", beta_numerator=7, beta_denominator=10))
    [comparison] = calls.beside(tmp_path / "run", stand_in("reno"))
    [made] = calls_of(tmp_path / "run")
    kinds = [row["kind"] for row in made.table.to_pylist()]
    assert comparison.outcome["ssthresh"]["first"]["number"] == kinds.index("ssthresh") + 1
    assert comparison.outcome["ssthresh"]["largest_share"] > 0.2
    outcome = CliRunner().invoke(cli, ["twin", str(tmp_path / "run"), "--control", "reno"])
    assert outcome.exit_code == 0, outcome.output
    assert "first apart" in outcome.stdout


@pytest.mark.slow
def test_a_control_that_owns_window_and_rate(tmp_path: Path) -> None:
    """`delivery_rate` fills the path without the queue of one that waits for losses."""
    owning, reno = (
        simulated(tmp_path / name, shipped(name), **{"hops.there.impairments": []})
        for name in ("delivery_rate", "reno")
    )
    [flow] = owning.tables["flows"].to_pylist()
    [other] = reno.tables["flows"].to_pylist()
    assert flow["goodput_bit_per_s"] > 0.9 * other["goodput_bit_per_s"] > 8e6
    assert flow["rtt_mean_s"] < other["rtt_mean_s"]
    [compared] = calls.twin(tmp_path / "delivery_rate")
    assert compared.outcome["equal"] == compared.outcome["calls"]
    assert compared.outcome["kinds"]["cong_control"] > 4_000
    assert compared.outcome["kinds"]["cong_avoid"] == 0
    rows = calls_of(tmp_path / "delivery_rate")[0].table.to_pylist()
    rates = [row["result"] for row in rows if row["kind"] == "cong_control"]
    # The gains of a cycle, in bytes per second of 10 Mbit/s.
    later = {round(rate / 1.25e6, 1) for rate in rates[len(rates) // 2 :]}
    assert {min(later), max(later)} <= {0.7, 0.8, 1.2, 1.3}


@pytest.mark.slow
def test_loss_does_not_reduce_its_window(tmp_path: Path) -> None:
    """A loss of 1 % leaves it nearly all of the path, of which Reno uses less than half."""
    owning, reno = (
        simulated(tmp_path / name, shipped(name)).tables["flows"].to_pylist()[0]
        for name in ("delivery_rate", "reno")
    )
    assert owning["goodput_bit_per_s"] > 8e6 > 2 * reno["goodput_bit_per_s"]
