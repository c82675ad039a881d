"""Closed loops from Python: the table of requests, its metrics, and what models say."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import Scenario, emulate, measure, plot, predict, simulate
from ackclock.errors import InputError
from ackclock.metrics import METRICS, summarise
from ackclock.result.result import Result

SENDERS = "point-0-replicate-0-senders.pcap"

SCENARIO = """
schema = 1
name = "requests"
duration = "120 s"
warmup = "20 s"
replicates = 2

[[hops]]
name = "line"
link = {{ kind = "constant", rate = "4 Mbit/s" }}
queue = {{ kind = "droptail", limit = "60 packets" }}
delay = "20 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Mbit/s" }}
queue = {{ kind = "droptail", limit = "60 packets" }}
delay = "20 ms"

[[flows]]
name = "main"
route = ["line"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "cubic" }}, preset = "linux" }}
traffic = {traffic}

[[flows]]
name = "other"
route = ["line"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "cubic" }}, preset = "linux" }}
traffic = {{ kind = "bulk" }}
start = "60 s"
"""


def scenario(traffic: str) -> Scenario:
    return Scenario.from_toml(SCENARIO.format(traffic=traffic))


def run(traffic: str) -> Result:
    return simulate(scenario(traffic))


def values(result: Result, name: str) -> dict[str, float]:
    return {summary.subject: summary.interval.mean for summary in summarise(result, METRICS[name])}


def rows(result: Result, replicate: int = 0) -> list[dict[str, Any]]:
    return [row for row in result.tables["requests"].to_pylist() if row["replicate"] == replicate]


def test_request_times_are_those_of_the_table() -> None:
    result = run('{ kind = "rpc", response = "20 kB", mean_idle = "500 ms" }')
    times = []
    for replicate in (0, 1):
        counted = [row for row in rows(result, replicate) if row["asked_s"] >= 20]
        answered = [row["answered_s"] - row["asked_s"] for row in counted if row["answered_s"]]
        times.append(answered)
    mean = values(result, "request_time")
    assert mean["main"] == pytest.approx(np.mean([np.mean(answered) for answered in times]))
    assert math.isnan(mean["other"])
    for name, share in (("request_time_p50", 0.5), ("request_time_p99", 0.99)):
        expected = np.mean([np.quantile(answered, share) for answered in times])
        assert values(result, name)["main"] == pytest.approx(expected)
    assert math.isnan(values(result, "rebuffer_share")["main"])
    assert math.isnan(values(result, "page_time")["main"])


def test_a_video_stalls_beside_a_download() -> None:
    fixed = 'abr = "fixed", fixed_rate = "2850 kbit/s"'
    stalls, adaptive = (
        values(run(f'{{ kind = "chunks", number = 0, buffer = "10 s", {abr} }}'), "rebuffer_share")
        for abr in (fixed, 'abr = "buffer_based"')
    )
    # Two flows share 4 Mbit/s for half of the time: 2.85 cannot be had, 2 can.
    assert stalls["main"] > 0.02
    assert adaptive["main"] < 0.5 * stalls["main"]


def test_a_page_takes_as_long_as_its_objects() -> None:
    result = run('{ kind = "pages", mean_reading = "2 s" }')
    times = [row["page_time_s"] for row in rows(result) if row["page_time_s"] is not None]
    pages = {row["page"] for row in rows(result)}
    assert len(pages) - 1 <= len(times) <= len(pages)
    assert values(result, "page_time")["main"] > values(result, "request_time")["main"]


def test_a_result_without_clients_has_no_such_table() -> None:
    result = run('{ kind = "transfer", size = "1 MB" }')
    assert "requests" not in result.tables
    assert math.isnan(values(result, "request_time")["main"])


def test_no_model_answers_and_each_says_why() -> None:
    rows = predict(scenario('{ kind = "rpc" }')).tables["predictions"].to_pylist()
    main = [row for row in rows if row["flow"] == "main"]
    assert main
    for row in main:
        assert row["verdict"] == "does not apply"
        assert "closed loop" in row["note"] or row["note"]
    assert any("closed loop" in row["note"] for row in main)


def test_a_capture_has_the_requests(tmp_path: Path) -> None:
    result = simulate(scenario('{ kind = "rpc", response = "20 kB" }'), pcap=tmp_path)
    measured = measure(tmp_path / SENDERS, tmp_path / "measured")
    connections = measured.rows("connections").to_pylist()
    asked = sum(row["request_bytes"] for row in rows(result))
    assert [row["payload_bytes"] for row in connections][1] == pytest.approx(asked, abs=700)


def test_emulations_refuse_it_by_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        emulate(scenario('{ kind = "pages" }'), tmp_path / "emulated")
    assert "closed loop" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_figure_shows_each_request_and_the_buffer_of_a_video() -> None:
    result = run('{ kind = "chunks" }')
    video = plot.figure(result, "requests")
    times, buffer, rate = video.axes[:3]
    assert [axes.get_ylabel() for axes in (buffer, rate)] == [
        "video in the buffer (s)", "rate (Mbit/s)",
    ]  # fmt: skip
    buffers = [row["buffer_s"] for row in rows(result) if row["answered_s"] is not None]
    assert list(buffer.get_lines()[0].get_ydata()) == pytest.approx(buffers)
    rates = {round(value, 3) for value in rate.get_lines()[0].get_ydata()}
    assert rates <= {0.3, 0.75, 1.2, 1.85, 2.85, 4.3}
    calls = plot.figure(run('{ kind = "rpc" }'), "requests")
    assert len(calls.axes) == 1
    assert times.get_ylabel() == calls.axes[0].get_ylabel() == "time of a request (s)"
    plain = run('{ kind = "transfer", size = "1 MB" }')
    assert "requests" not in plot.figures(plain)
