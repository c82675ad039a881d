"""The validation measured again: estimators by hand, causes on made-up rows, short runs."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ackclock import Result, plot, simulate, units
from ackclock.reproduction import Experiment, Kind, Outcome, Run, runner
from ackclock_papers.markov import (
    causes,
    emulator,
    estimators,
    revalidation,
    set_rows,
    validation,
)
from ackclock_papers.markov.set_rows import PUBLISHED, Rows

SLOW, FAST = validation.SETS[0], validation.SETS[-1]


def test_a_link_passes_what_the_printed_numbers_imply() -> None:
    assert emulator.AS_PRINTED.rate(SLOW) == pytest.approx(12.162, abs=5e-4)
    assert emulator.AS_PRINTED.rate(FAST) == pytest.approx(108.51, abs=5e-3)
    assert emulator.HALF_RATE.rate(SLOW) == emulator.AS_PRINTED.rate(SLOW)
    assert emulator.HALF_RATE.rate(FAST) == emulator.AS_PRINTED.rate(FAST) / 2
    # 200 ms each way, then 296 and 52 bytes at 28.8 kbit/s.
    assert emulator.AS_PRINTED.base_rtt_s(SLOW) == pytest.approx(0.4 + 348 * 8 / 28800)


def test_every_connection_has_channels_of_its_own_both_ways() -> None:
    tree = emulator.scenario([emulator.AS_PRINTED, emulator.BOTH], "linux").resolve().tree
    assert {hop["scope"] for hop in tree["hops"]} == {"per_flow"}
    assert sum(flow["count"] for flow in tree["flows"]) == 2 * (10 + 8 * 3)
    used = [method for flow in tree["flows"] for method in (*flow["route"], *flow["return"])]
    assert sorted(used) == sorted(hop["name"] for hop in tree["hops"])
    by_name = {hop["name"]: hop for hop in tree["hops"]}
    for flow, (reading, data_set) in zip(
        tree["flows"],
        [
            (reading, data_set)
            for reading in (emulator.AS_PRINTED, emulator.BOTH)
            for data_set in validation.SETS
        ],
        strict=True,
    ):
        assert flow["name"] == emulator.flow_name(data_set, reading)
        assert flow["transport"]["mss"] == f"{data_set.mtu_bytes - 52} bytes"
        assert flow["transport"]["receive_window"] == "64 packets"
        for hop in (by_name[flow["route"][0]], by_name[flow["return"][0]]):
            assert hop["delay"] == "200 ms"
            assert hop["queue"]["limit"] == (
                "3 packets" if reading is emulator.AS_PRINTED else "67 packets"
            )
            [error] = hop["impairments"]
            assert (units.share(error["probability"]), error["applies"]) == (
                pytest.approx(data_set.worked),
                "all",
            )


def test_who_runs_beside_a_connection_changes_nothing() -> None:
    alone, beside = (
        simulate(emulator.scenario(readings, "linux-2012", 20)).tables["flows"]
        for readings in ([emulator.BOTH], [emulator.AS_PRINTED, emulator.BOTH])
    )
    names = {emulator.flow_name(data_set, emulator.BOTH) for data_set in validation.SETS}
    assert [row for row in beside.to_pylist() if row["flow"] in names] == alone.to_pylist()


ROW: dict[str, Any] = {
    "point": 0, "replicate": 0, "flow": "x", "instance": 0, "payload_bytes": 524_000,
    "mss_bytes": 500.0, "data_segments": 1000.0, "losses_lower": 6.0, "losses_estimate": 10.0,
    "retransmitted_packets": 12.0, "post_loss_acks": 8.0, "delivered_rate_bit_per_s": 80_000.0,
    "transmitted_rate_bit_per_s": 84_000.0, "window_rate_bit_per_s": 88_000.0,
    "in_flight_mean_bytes": 5_500.0, "receive_window_max_bytes": 32_000.0,
    "retransmissions_timeout": 1.0, "fast_recoveries": 4.0,
}  # fmt: skip
TRUTH = {"dropped_packets": 25.0, "dropped_acks": 14.0, "sent_packets": 1100}
# Half of the round trips take 0.4 s, half 0.6 s, in buckets 1 % wide.
LAW = [{"low_s": R / sqrt(1.01), "high_s": R * sqrt(1.01), "samples": 50} for R in (0.4, 0.6)]


def test_a_connection_in_segments() -> None:
    connection = estimators.connection(ROW, TRUTH, LAW)
    assert connection.metrics == {"ATp": 20.0, "ATpXmit": 21.0, "NoTOTput": 22.0}
    assert connection.losses == {
        "triple duplicates": 0.006, "estimate": 0.01, "retransmissions": 0.012,
        "post-loss ACKs": 0.008,
        "dropped": 0.01,
    }  # fmt: skip
    assert (connection.mean_rtt, connection.sd_rtt) == (pytest.approx(0.5), pytest.approx(0.1))
    assert (connection.window, connection.receive_window, connection.timeouts) == (11.0, 64.0, 0.2)
    assert connection.first_timeout == pytest.approx(0.5 + 4 * 0.1)
    assert replace(connection, sd_rtt=0.01).first_timeout == pytest.approx(0.5 + 0.2)


def test_predictions_of_a_connection() -> None:
    connection = estimators.connection(ROW, TRUTH, LAW)
    free = estimators.predictions(connection, 1e9)
    # sqrt(3/2)/(R sqrt p); and E w of the specification's chain at p = 0.01 with a limit that has
    # no effect.
    assert free["FF"] == pytest.approx(sqrt(1.5) / (0.5 * 0.1))
    by_round, by_segment, shorter = 12.4396, 14.7207, (1 / 0.4 + 1 / 0.6) / 2
    assert free["ET by round"] == pytest.approx(by_round * shorter, rel=1e-4)
    assert free["ET by segment"] == pytest.approx(by_segment * shorter, rel=1e-4)
    assert free["X"] == pytest.approx(by_round / 0.5, rel=1e-4)
    assert free["PFTK"] < free["FF"]
    assert free["X with timeouts"] < free["X"]
    linked = estimators.predictions(connection, 20.0)
    assert max(linked["ET by round"], linked["ET by segment"], linked["X"]) <= 20.0
    # Fewer losses give larger windows; without losses, only the receiver's window limits.
    assert (
        estimators.mean_throughput(connection, 1e9, "round", "triple duplicates")
        > free["ET by round"]
    )
    lossless = replace(connection, losses=connection.losses | {"triple duplicates": 0.0})
    assert estimators.mean_throughput(lossless, 1e9, "round", "triple duplicates") == pytest.approx(
        64 * shorter
    )


def test_a_queue_of_its_own_fills_the_link_if_it_is_long_enough() -> None:
    short, long = (estimators.self_filled(0.0025, 50.0, 0.4, buffer, 64.0) for buffer in (3, 64))
    assert short < long <= 50.0
    assert estimators.self_filled(0.025, 50.0, 0.4, 64, 64.0) < long
    assert estimators.self_filled(1e-6, 50.0, 0.4, 64, 64.0) == pytest.approx(50.0, rel=1e-3)
    # The receiver's window alone: ten segments each round trip.
    assert estimators.self_filled(1e-9, 50.0, 0.4, 64, 10.0) == pytest.approx(10 / 0.4, rel=1e-3)


def tables(**rows: list[dict[str, Any]]) -> Result:
    return Result(
        {"method": "measure", "points": []},
        {name: pa.Table.from_pylist(own) for name, own in rows.items()},
    )


def test_only_connections_that_models_can_be_asked_about_are_taken() -> None:
    keys = [{"point": 0, "replicate": 0, "flow": "x", "instance": number} for number in range(4)]
    without_payload, without_loss, without_rtt = (
        {"payload_bytes": 0},
        {"losses_estimate": 0.0},
        {},
    )
    connections = [
        ROW | key | change
        for key, change in zip(keys, ({}, without_payload, without_loss, without_rtt), strict=True)
    ]
    law = [bucket | key | {"part": "whole"} for key in keys[:3] for bucket in LAW]
    law += [bucket | keys[3] | {"part": "receiver_side"} for bucket in LAW]
    taken = estimators.connections(
        tables(flows=[TRUTH | key for key in keys]),
        tables(connections=connections, rtt_histogram=law),
    )
    assert [connection.instance for connection in taken] == [0]


def test_what_is_said_holds_for_the_published_rows() -> None:
    findings = set_rows.findings([set_rows.published(data_set) for data_set in validation.SETS])
    assert all(holds for _, holds in findings.values())
    assert findings["slow"][0].startswith("in 17 of 18 connections")
    assert findings["fast"][0].startswith("in 9 of 15 connections")
    assert findings["above"][0] == "set 1: 7 of 9, set 3: 2 of 3, set 4: 2 of 3"
    assert findings["order"][0] == "in 33 of 33 connections"


def made_up(number: int, **values: float) -> Rows:
    """Returns a set of two equal connections."""
    usual = {
        "ATp": 8.0, "ATpXmit": 9.0, "NoTOTput": 10.0, set_rows.ET: 10.0, "FF": 10.0, "PFTK": 10.0,
        "window": 10.0, "estimate": 0.01, "triple duplicates": 0.01, "dropped": 0.01,
        set_rows.WINDOW_LAW: 1.0, set_rows.ET_AT_LEAST: 10.0, set_rows.ET_EMULATED_L: 10.0,
        set_rows.SELF_FILLED: 8.0, "X with timeouts": 8.0, "timeouts": 0.3,
    }  # fmt: skip
    named = {name.replace("_", " "): value for name, value in values.items() if name != "L"}
    data_set = validation.SETS[number - 1]
    return Rows(
        data_set,
        "mine",
        values.get("L", 100.0),
        {name: (value,) * 2 for name, value in (usual | named).items()},
    )


def nine(**changed: Rows) -> list[Rows]:
    """Returns nine sets, some of them changed: `set_3=...`."""
    return [changed.get(f"set_{number}", made_up(number)) for number in range(1, 10)]


# No made-up row exceeds L.
@pytest.mark.parametrize(
    ("changed", "fails"),
    [
        ({f"set_{n}": made_up(n, L=9.0) for n in (1, 3, 4)}, set()),
        ({f"set_{n}": made_up(n, NoTOTput=12.0) for n in range(1, 5)}, {"above", "slow"}),
        ({f"set_{n}": made_up(n, NoTOTput=12.0) for n in range(5, 10)}, {"above", "fast"}),
        ({"set_7": made_up(7, ATpXmit=7.0)}, {"above", "order"}),
        ({"set_8": made_up(8, FF=11.0)}, {"above", "together"}),
        ({"set_7": made_up(7, ATp=4.0)}, {"above", "growing"}),
    ],
)
def test_each_claim_fails_on_its_own_numbers(changed: dict[str, Rows], fails: set[str]) -> None:
    assert {
        name for name, (_, holds) in set_rows.findings(nine(**changed)).items() if not holds
    } == fails


def causes_with(
    printed: list[Rows] | None = None, theirs: list[Rows] | None = None, **changed: Rows
) -> list[causes.Cause]:
    by_name = {PUBLISHED: theirs or nine(), "mine": nine(**changed)}
    if printed is not None:
        by_name[emulator.AS_PRINTED.name] = printed
    return causes.causes(by_name, "mine")


def test_without_numbers_there_is_no_cause() -> None:
    assert causes_with() == []
    assert causes_with(nine()) == []


@pytest.mark.parametrize(
    ("cause", "words", "explains"),
    [
        (causes_with(theirs=nine(set_1=made_up(1, **{set_rows.WINDOW_LAW: 0.5}))),
         "windows are larger", {"slow", "above"}),
        (
            causes_with(set_3=made_up(3, ATpXmit=9.9, L=10.0, NoTOTput=13.0, FF=8.0)),
            "the link is full in set 3,",
            {"slow", "above"},
        ),
        (causes_with(set_2=made_up(2, NoTOTput=10.5, L=10.0, ATpXmit=9.0)),
         "above what the link passes in set 2", {"slow"}),
        (causes_with(**{f"set_{n}": made_up(n, L=54.25) for n in range(5, 10)}),
         "L as printed is 2.2 times", {"together"}),
        (causes_with(nine(set_5=made_up(5, triple_duplicates=0.002))), "with the queue as printed",
         set()),
        (
            causes_with(
                theirs=nine(set_9=made_up(9, ATp=5.0)),
                set_9=made_up(9, ATp=10.0, X_with_timeouts=7.0),
            ),
            "in set 9",
            set(),
        ),
        (causes_with(set_6=made_up(6, dropped=0.005)),
         "more is taken for lost than was dropped in set 6", {"fast"}),
    ],
)  # fmt: skip
def test_each_cause_has_its_numbers(
    cause: list[causes.Cause], words: str, explains: set[str]
) -> None:
    named = [candidate for candidate in cause if words in candidate.observation]
    assert len(named) == 1
    assert set(named[0].explains) == explains
    # NoTOTput may also exceed a full link; all other causes stand alone.
    assert len(cause) == (2 if "full" in words else 1)


def short(method: str, duration_s: float) -> Experiment:
    """Returns the experiment with one reading and a short run."""
    readings = [emulator.BOTH]
    run = Run(
        emulator.scenario(readings, "linux", duration_s),
        "emulate" if method == "emulate" else "simulate",
        measured=True,
    )
    seen: list[Outcome] = []

    def conclude(results: Mapping[str, Result]) -> Outcome:
        seen.append(revalidation.conclude(readings, None, results))
        return seen[-1]

    return replace(revalidation.EMULATED, conclude=conclude, runs=lambda: {revalidation.RUN: run})


def check_physics(record: dict[str, Any]) -> None:
    """Checks what must hold in any run, for any sender."""
    rates = next(
        table for table in record["tables"] if table["title"].startswith("Measured and predicted")
    )
    ours = [
        dict(zip(rates["head"], row, strict=True))
        for row in rates["rows"]
        if row[1] == emulator.BOTH.name
    ]
    assert len(ours) == 9
    measured = [row for row in ours if row["ATp"] != "–"]
    assert len(measured) >= 5
    for row in measured:
        ATp, ATpXmit, L = (float(row[name]) for name in ("ATp", "ATpXmit", "L"))
        # Data sent in a burst counts as transmitted while it still waits for the link.
        assert 0 < ATp <= L
        assert ATp <= ATpXmit
    losses = next(table for table in record["tables"] if table["title"].startswith("Losses"))
    for row in losses["rows"]:
        if row[losses["head"].index("estimate")] != "–":
            low, middle, high = (
                float(row[losses["head"].index(name)])
                for name in ("triple duplicates", "estimate", "retransmissions")
            )
            assert low <= middle <= high
    assert not any(claim["fails"] for claim in record["claims"])


@pytest.mark.slow
def test_a_short_simulation_end_to_end(tmp_path: Path) -> None:
    runner.prepare(tmp_path)
    record = runner.reproduce(short("simulate", 60), tmp_path)
    assert "guessed" in record["verdict"]["text"]
    check_physics(record)
    assert runner.write_gallery([revalidation.EMULATED], tmp_path).exists()


@pytest.mark.usefixtures("emulation")
def test_a_short_emulation_end_to_end(tmp_path: Path) -> None:
    runner.prepare(tmp_path)
    record = runner.reproduce(short("emulate", 20), tmp_path)
    if record["verdict"]["kind"] == Kind.UNRELIABLE:
        pytest.skip(f"this machine is too busy: {record['verdict']['reason']}")
    assert "the Reno of Linux" in record["verdict"]["text"]
    check_physics(record)


def test_the_figure_leaves_out_who_is_not_there() -> None:
    by_name = {
        PUBLISHED: [set_rows.published(data_set) for data_set in validation.SETS],
        "mine": nine(),
    }
    by_name["nobody"] = [Rows(data_set, "nobody", 1.0, {}) for data_set in validation.SETS]
    [axes] = revalidation._draw(by_name, "somebody").axes
    assert [line.get_label() for line in axes.get_lines()] == [PUBLISHED, "mine", "+15 %", "-15 %"]
    assert plot.render(revalidation._draw(by_name, "somebody"), "svg")


def test_the_emulated_experiment_runs_what_is_printed_and_what_fits() -> None:
    [run] = revalidation.EMULATED.runs().values()
    assert (run.method, run.measured) == ("emulate", True)
    assert isinstance(revalidation.EMULATED.conclude, partial)
    assert run.scenario.tree["duration"] == "600 s"
    names = {
        flow["name"].removeprefix("set 1 ")
        for flow in run.scenario.tree["flows"]
        if flow["name"][:6] == "set 1 "
    }
    assert names == {emulator.AS_PRINTED.name, emulator.BOTH.name}
