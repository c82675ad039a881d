"""Measurements of the engine's own captures, compared with the engine's own numbers."""

import contextlib
import gzip
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ackclock import Result, Scenario, load, measure, models, plot, simulate
from ackclock.capture.connections import connection_rows as summary_rows
from ackclock.capture.connections import largest
from ackclock.cli import cli
from ackclock.metrics import metric, summarise
from ackclock.report import run_tables

from ..patience import PATIENCE_S
from ..refusals import check_refusal, refused

ROOT = Path(__file__).parents[2]
KEYS = ("point", "replicate", "flow", "instance")
SENDERS = "point-0-replicate-0-senders.pcap"


ON_OFF = {"kind": "on_off", "rate": "2 Mbit/s", "mean_on": "100 ms", "mean_off": "400 ms"}


def by_key(result: Result, table: str = "flows") -> dict[tuple, dict]:
    return {tuple(row[name] for name in KEYS): row for row in result.tables[table].to_pylist()}


@pytest.fixture
def pipe(leaky_pipe: Scenario) -> Scenario:
    """Reno at 0.5 % loss, one replicate of 10 s."""
    return leaky_pipe.expand()[1].scenario.replace({"duration": "10 s", "replicates": 1})


@pytest.mark.slow
def test_rows_join_with_those_of_the_run(
    leaky_pipe: Scenario, measured: Callable[..., tuple[Result, Result]]
) -> None:
    many = leaky_pipe.replace({"flows.main.count": 3})
    simulated, result = measured(many)
    truth, rows, windows = by_key(simulated), by_key(result), by_key(result, "connections")
    assert rows.keys() == truth.keys()
    assert len(rows) == 6 * 3 * 3
    for key, row in rows.items():
        assert row["sent_packets"] == truth[key]["sent_packets"]
        assert row["retransmitted_packets"] == truth[key]["retransmitted_packets"]
        assert row["rtt_mean_s"] == pytest.approx(truth[key]["rtt_mean_s"], rel=1e-9)
        # Data in flight at the end may have arrived.
        assert (
            0
            <= truth[key]["delivered_bytes"] - row["delivered_bytes"]
            <= windows[key]["in_flight_max_bytes"]
        )
    assert result.run["points"] == simulated.run["points"]
    assert {average.point for average in summarise(result, metric("goodput"))} == set(range(6))
    assert summarise(result, metric("utilisation")) == []


@pytest.mark.slow
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32),
    loss=st.sampled_from(["0 %", "0.5 %", "3 %", "10 %"]),
    size=st.integers(1, 2000),
    preset=st.sampled_from(["rfc", "linux", "ns2-2002"]),
    recovery=st.sampled_from(["reno", "newreno", "sack"]),
)
def test_a_transfer_is_told_to_the_byte(
    pipe: Scenario, tmp_path: Path, seed: int, loss: str, size: int, preset: str, recovery: str
) -> None:
    changes = {
        "seed": str(seed), "duration": "300 s", "hops.wireless.impairments.0.probability": loss,
        "flows.main.traffic": {"kind": "transfer", "size": f"{size} kB"},
        "flows.main.transport.preset": preset,
        "flows.main.transport.recovery": recovery, "warmup": "0 s",
    }  # fmt: skip
    for folder in ("pcap", "run", "measured"):
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
    (tmp_path / "pcap").mkdir()
    simulated = simulate(pipe.replace(changes), pcap=tmp_path / "pcap")
    simulated.save(tmp_path / "run", {"pcap": tmp_path / "pcap"})
    result = measure(tmp_path / "run", tmp_path / "measured", models="square_root")
    [truth], [row] = simulated.tables["flows"].to_pylist(), result.tables["flows"].to_pylist()
    [connection] = largest(result)
    for name in ("sent_packets", "retransmitted_packets", "delivered_bytes"):
        assert row[name] == truth[name], name
    assert connection["unique_bytes"] == truth["delivered_bytes"]
    # The engine's clock begins with the first packet and ends with the last byte's arrival, half a
    # round trip earlier.
    lasted = 8 * truth["delivered_bytes"] / truth["goodput_bit_per_s"]
    assert 8 * row["delivered_bytes"] / row["goodput_bit_per_s"] == pytest.approx(lasted, abs=0.6)


@pytest.mark.slow
def test_estimates_against_the_truth(
    pipe: Scenario, measured: Callable[..., tuple[Result, Result]]
) -> None:
    simulated, result = measured(
        pipe.replace({"duration": "100 s", "hops.wireless.impairments.0.probability": "1 %"})
    )
    [truth], [estimate] = (
        simulated.tables["flows"].to_pylist(),
        result.tables["estimates"].to_pylist(),
    )
    lost = truth["dropped_packets"] / truth["sent_packets"]
    assert estimate["loss"] == pytest.approx(lost, rel=0.02)
    assert estimate["loss_at_least"] <= lost <= estimate["loss_at_most"] * 1.01
    assert estimate["loss_low"] < 0.01 < estimate["loss_high"]
    assert estimate["indications"] == truth["fast_retransmits"] + truth["timeouts"]
    assert estimate["rtt_low_s"] < truth["rtt_mean_s"] < estimate["rtt_high_s"]
    assert (
        estimate["goodput_low_bit_per_s"]
        < truth["goodput_bit_per_s"]
        < estimate["goodput_high_bit_per_s"]
    )
    assert (
        2 < estimate["segments_per_ack"] < 3
    )  # one for two segments, except for those that repair a loss
    says = {row["model"]: row for row in result.tables["predictions"].to_pylist()}
    for name in ("pftk", "aimd_chain", "square_root"):
        assert says[name]["goodput_bit_per_s"] == pytest.approx(
            truth["goodput_bit_per_s"], rel=0.25
        ), name
        assert says[name]["goodput_low_bit_per_s"] < says[name]["goodput_bit_per_s"]
        assert says[name]["control"] == "reno"
    assert says["cubic_response"]["verdict"] == "does not apply"


def test_the_chain_takes_the_whole_law(
    pipe: Scenario, measured: Callable[..., tuple[Result, Result]]
) -> None:
    _, result = measured(pipe)
    assert result.tables["rtt_histogram"].num_rows > 5
    [row] = [row for row in run_tables.prediction_rows(result) if row["model"] == "aimd_chain"]
    inputs = {
        name: math.inf if value == "unlimited" else value for name, value in row["inputs"].items()
    }
    of_the_mean = models.model("aimd_chain").answer(**inputs)
    # Over a long time a rate is the window over the mean round trip; an instantaneous rate varies
    # with both.
    assert row["outputs"]["throughput"] == pytest.approx(float(of_the_mean["throughput"]), rel=0.02)
    assert row["outputs"]["low"] < float(of_the_mean["low"])
    assert row["outputs"]["segment_rate"] > float(of_the_mean["segment_rate"])


@pytest.mark.slow
def test_another_name_and_no_scenario_change_nothing_else(
    pipe: Scenario, measured: Callable, tmp_path: Path
) -> None:
    _, own = measured(pipe.replace({"warmup": "0 s"}))
    foreign = measure(tmp_path / "run" / "pcap" / SENDERS, tmp_path / "foreign")
    [named], [unknown] = largest(own), largest(foreign)
    assert unknown.pop("flow") == f"{named['source']} > {named['destination']}"
    named.pop("flow")
    assert {name: value for name, value in unknown.items() if not name.endswith("_s")} == {
        name: value for name, value in named.items() if not name.endswith("_s")
    }
    assert foreign.points == [{"assignments": {}, "scenario": None}]
    assert foreign.run["seed"] is None
    controls = {row["model"]: row["control"] for row in foreign.tables["predictions"].to_pylist()}
    assert (controls["pftk"], controls["cubic_response"]) == ("reno", "cubic")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"flows.main.transport.receive_window": "8 kB"}, "receive_window"),
        ({"flows.main.traffic": ON_OFF}, "application"),
        ({"hops.wireless.impairments.0.probability": "2 %"}, "congestion_window"),
        (
            {"hops.wireless.link.rate": "2 Mbit/s", "hops.wireless.impairments": []},
            "bottleneck_rate",
        ),
    ],
)
def test_what_limits_is_told(pipe: Scenario, measured: Callable, changes: dict, limit: str) -> None:
    _, result = measured(pipe.replace(changes))
    [row] = largest(result)
    assert row["limit"] == limit
    assert 0.4 < row["limit_share"] <= 1


@pytest.fixture
def capture(pipe: Scenario, tmp_path: Path) -> Path:
    simulate(pipe.replace({"duration": "2 s"}), pcap=tmp_path)
    return tmp_path / SENDERS


def tables(result: Result) -> dict[str, list]:
    return {
        name: result.tables[name].to_pylist()
        for name in ("flows", "samples", "connections", "limit_periods")
    }


@pytest.mark.long
def test_packed_and_piped_is_the_same(capture: Path, tmp_path: Path) -> None:
    plain = tables(measure(capture, tmp_path / "plain"))
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    assert tables(measure(packed, tmp_path / "packed")) == plain
    command = [sys.executable, "-m", "ackclock", "measure", "-", "-o", "piped", "--json"]
    subprocess.run(
        command,
        input=capture.read_bytes(),
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    assert tables(Result.load(tmp_path / "piped")) == plain
    assert Result.load(tmp_path / "piped").run["source"] == "-"


@pytest.mark.slow
def test_twice_is_the_same_bytes(capture: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        measure(capture, folder, segments=True)
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders
    )
    assert first == second
    assert "segments.parquet" in first


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9999])
def test_a_cut_file_gives_what_is_there(capture: Path, tmp_path: Path, share: float) -> None:
    whole = capture.read_bytes()
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(whole[: int(len(whole) * share)])
    result = measure(cut, tmp_path / "cut")
    [damage] = [file["damage"] for file in result.run["captures"]]
    assert damage is None or damage.startswith("at byte ")
    assert result.run["captures"][0]["packets"] >= int(share * 0.9 * (len(whole) - 24) / 112)
    [connection] = largest(result)
    assert connection["unique_bytes"] > 0


def test_without_its_beginning_windows_are_unknown(capture: Path, tmp_path: Path) -> None:
    whole = capture.read_bytes()
    records, offset = [], 24
    while offset < len(whole):
        length = 16 + int.from_bytes(whole[offset + 8 : offset + 12], "little")
        records.append(whole[offset : offset + length])
        offset += length
    (tmp_path / "late.pcap").write_bytes(whole[:24] + b"".join(records[len(records) // 3 :]))
    outcome = CliRunner().invoke(
        cli, ["measure", str(tmp_path / "late.pcap"), "-o", str(tmp_path / "late")]
    )
    assert outcome.exit_code == 0
    assert "the capture begins after the SYN" in outcome.stderr
    [row] = largest(Result.load(tmp_path / "late"))
    assert row["begins"] == "midway"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "file"),
        (b"schema = 1\n", "file"),
        (b"\x7fELF\x02\x01\x01\x00" * 10, "file"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "file"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x69\0\0\0", "unsupported"),
        (b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x65\0\0\0", "file"),
        (None, "file"),
    ],
)
def test_what_is_no_capture_is_one_line(tmp_path: Path, content: bytes | None, code: str) -> None:
    file, folder = tmp_path / "file", tmp_path / "m"
    if content is not None:
        file.write_bytes(content)
    check_refusal(
        CliRunner().invoke(cli, ["measure", str(file), "-o", str(folder)]), code, str(file)
    )
    assert not folder.exists()
    with refused(code, str(file)):
        measure(file, folder)


def test_a_folder_without_captures(pipe: Scenario, tmp_path: Path) -> None:
    simulate(pipe.replace({"duration": "2 s"})).save(tmp_path / "run")
    outcome = CliRunner().invoke(cli, ["measure", str(tmp_path / "run")])
    check_refusal(outcome, "file", str(tmp_path / "run"), "ackclock simulate --pcap")


@pytest.mark.long
def test_ctrl_c_keeps_what_was_read(capture: Path, tmp_path: Path) -> None:
    """The file comes through a pipe that is closed only after the reader has gone."""
    script = (
        "import json, os, signal, sys, threading; from ackclock.cli import main\n"
        "from ackclock.capture import measurement\n"
        "measure = measurement.measure\n"
        "def interrupted(*arguments, progress, **options):\n"
        "    def tell(now):\n"
        "        if now['packets']: os.kill(os.getpid(), signal.SIGINT)\n"
        "    return measure(*arguments, progress=tell, **options)\n"
        "measurement.measure = interrupted; main()"
    )
    command = [sys.executable, "-c", script, "measure", "-", "-o", "m"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            content = capture.read_bytes()
            process.stdin.write(content)
            while True:
                process.stdin.write(content[24:])
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        assert process.wait(timeout=PATIENCE_S) == 130
        assert process.stderr is not None
        # The same data repeats, so its clock seems to be set back each time.
        stderr = process.stderr.read()
        assert stderr.endswith(b"\nwarning: interrupted: what had been read by then was measured\n")
        assert b"its clock was set back" in stderr
    result = Result.load(tmp_path / "m")
    assert result.partial
    assert largest(result)


@pytest.mark.long
def test_figures_of_real_rows(capture: Path, tmp_path: Path) -> None:
    result = measure(capture, tmp_path / "m", segments=True)
    drawn = plot.figures(result)
    assert list(drawn) == ["outstanding", "sequence", "throughput", "rtt"]
    for draw in drawn.values():
        figure = draw()
        assert all(axes.has_data() for axes in figure.axes)
        assert plot.render(figure, "svg") == plot.render(draw(), "svg")
    [again] = [
        line for line in drawn["sequence"]().axes[0].lines if line.get_label() == "sent again"
    ]
    [connection] = largest(result)
    assert np.size(again.get_xdata()) == connection["retransmitted_packets"]


@pytest.mark.slow
def test_figures_of_a_part_of_the_time(capture: Path, tmp_path: Path) -> None:
    result = measure(capture, tmp_path / "m", segments=True)
    span = (1.0, 1.5)
    whole, part = plot.figures(result), plot.figures(result, span=span)
    for name, draw in part.items():
        axes = draw().axes[0]
        assert axes.get_xlim() == span, name
        shown, drawn = (
            {line.get_label(): line for line in each.lines}
            for each in (axes, whole[name]().axes[0])
        )
        assert shown.keys() <= drawn.keys()
        for label, line in shown.items():
            time = drawn[label].get_xdata()
            here = (time >= span[0]) & (time <= span[1])
            if name != "throughput":  # averaged over shorter times
                np.testing.assert_array_equal(line.get_xdata(), time[here])
                np.testing.assert_array_equal(line.get_ydata(), drawn[label].get_ydata()[here])
    # The sent data fills the height: from the first byte acknowledged in that time to the last one
    # sent.
    marks = result.rows("segments", flow=largest(result)[0]["flow"])
    rows = [
        row
        for row in marks.to_pylist()
        if span[0] <= row["time_s"] <= span[1] and row["kind"] != "window"
    ]
    low, high = (1e-6 * extreme(row["high_bytes"] for row in rows) for extreme in (min, max))
    room = 0.02 * (high - low)
    assert part["sequence"]().axes[0].get_ylim() == pytest.approx((low - room, high + room))
    for draw in plot.figures(result, span=(100.0, math.inf)).values():
        with refused("no-data", ""):
            draw()


def test_an_example_from_a_file(tmp_path: Path) -> None:
    example = load(ROOT / "examples" / "first.toml").replace(
        {"duration": "5 s", "warmup": "1 s", "replicates": 2}
    )
    (tmp_path / "pcap").mkdir()
    simulate(example, pcap=tmp_path / "pcap").save(tmp_path / "run", {"pcap": tmp_path / "pcap"})
    outcome = CliRunner().invoke(cli, ["measure", str(tmp_path / "run"), "-o", str(tmp_path / "m")])
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.stdout.count("limited by") >= 2


def seen_from_both_ends(scenario: Scenario, folder: Path) -> tuple[dict, dict]:
    simulate(scenario, pcap=folder)
    rows = []
    for end in ("senders", "receivers"):
        result = measure(folder / f"point-0-replicate-0-{end}.pcap", folder / end)
        [row] = summary_rows(result, 1)
        assert row["vantage"] == end.removesuffix("s")
        rows.append(row)
    return rows[0], rows[1]


#: The preset with timestamps, and a standing queue.
CLEAN = {"hops.wireless.impairments.0.probability": "0 %", "flows.main.transport.preset": "linux"}
SEGMENT_BYTES, SERVICE_S = 1000, 1052 * 8 / 11e6
#: Width of the bins of round-trip times around 0.1 s.
BIN_S = 2**20 * 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("every", ["1 packet", "2 packets"])
def test_both_ends_tell_the_same_of_a_window_that_stands(
    every: str, pipe: Scenario, tmp_path: Path
) -> None:
    """At the receiver nothing is in flight when data comes, and yet the sender does not wait."""
    window = {
        "flows.main.transport.receive_window": "150 packets",
        "flows.main.transport.delayed_ack.every": every,
    }
    sender, receiver = seen_from_both_ends(pipe.replace(CLEAN | window), tmp_path)
    assert sender["limit"] == receiver["limit"] == "receive_window"
    # An ACK for two waits for the second of them, and packets on the link have left the sender.
    assert receiver["rtt_mean_s"] == pytest.approx(sender["rtt_mean_s"], abs=SERVICE_S)
    assert receiver["rtt_p99_s"] == pytest.approx(sender["rtt_p99_s"], abs=SERVICE_S + BIN_S)
    assert receiver["in_flight_mean_bytes"] == pytest.approx(
        sender["in_flight_mean_bytes"], abs=SEGMENT_BYTES
    )
    # The sender's minimum is the handshake's, the receiver's that of the first segment: 1000 bytes
    # more over both links.
    longer = SEGMENT_BYTES * 8 * (1 / 11e6 + 1 / 45e6)
    assert receiver["rtt_min_s"] - sender["rtt_min_s"] == pytest.approx(longer, abs=1e-8)


@pytest.mark.slow
def test_both_ends_tell_the_same_of_a_queue_that_overflows(pipe: Scenario, tmp_path: Path) -> None:
    sender, receiver = seen_from_both_ends(pipe.replace(CLEAN), tmp_path)
    assert sender["limit"] == receiver["limit"] == "bottleneck_rate"
    # As in docs/guides/measuring-accuracy.md.
    assert receiver["rtt_mean_s"] == pytest.approx(sender["rtt_mean_s"], rel=0.02)
    # Data behind a hole has waited behind a full queue, and its ACKs give the sender no round trip
    # (RFC 7323).
    assert sender["rtt_p99_s"] <= receiver["rtt_p99_s"] <= 1.01 * receiver["rtt_max_s"]
    # The receiver does not see losses.
    assert receiver["in_flight_mean_bytes"] <= sender["in_flight_mean_bytes"]
