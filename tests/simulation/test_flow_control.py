"""A receiver whose application reads slowly: the window closes, and probes ask for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ackclock import Result, Scenario, measure, predict, simulate

from .paths import flow, loss, path, scenario, tcp
from .rows import column, columns, value_of

#: A link of 10 Mbit/s, of which payload has 1000/1040, and a round trip of 20 ms.
PATH = path("10 Mbit/s", "10 ms", "100 packets")
PAYLOAD = 1000 / 1040
SENDERS = "point-0-replicate-0-senders.pcap"


def slow(rate: str, window: str = "64 kB", *losses: Any, **more: object) -> Scenario:
    transport = tcp("cubic", "linux", read_rate=rate, receive_window=window)
    hops = path("10 Mbit/s", "10 ms", "100 packets", *losses)
    return scenario(hops, [flow(transport)], "60 s", **({"warmup": "10 s"} | more))


@pytest.mark.parametrize("preset", ["linux", "rfc", "rfc-modern", "linux-2012"])
@pytest.mark.parametrize(
    ("rate", "mbit_per_s"), [("100 kbit/s", 0.1), ("4 Mbit/s", 4), ("40 Mbit/s", 40)]
)
def test_goodput_is_what_is_read_or_what_the_path_carries(
    preset: str, rate: str, mbit_per_s: float
) -> None:
    transport = tcp("cubic", preset, read_rate=rate, receive_window="64 kB")
    result = simulate(scenario(PATH, [flow(transport)], "60 s", warmup="10 s"))
    least = min(mbit_per_s, 10 * PAYLOAD)
    # Without losses and with a buffer beyond the path's product nothing else limits it.
    assert value_of(result, "flows", "goodput_bit_per_s") == pytest.approx(least * 1e6, rel=0.01)


def test_what_the_path_loses_limits_a_fast_reader_alone() -> None:
    plain = simulate(slow("40 Mbit/s", "64 kB", loss("3 %")))
    free = scenario(
        path("10 Mbit/s", "10 ms", "100 packets", loss("3 %")),
        [flow(tcp("cubic", "linux", receive_window="64 kB"))],
        "60 s",
        warmup="10 s",
    )
    ratio = value_of(plain, "flows", "goodput_bit_per_s") / value_of(
        simulate(free), "flows", "goodput_bit_per_s"
    )
    assert ratio == pytest.approx(1, abs=0.15)  # other ACKs, other draws
    assert value_of(plain, "flow_control", "window_closings") == 0


@pytest.fixture(scope="module")
def closed() -> Result:
    """A reader of 50 kbit/s, whose window closes again and again."""
    return simulate(slow("50 kbit/s", "16 kB"))


def test_times_counts_and_events_agree(closed: Result) -> None:
    events = columns(closed, "events", "kind", "time_s")
    kinds = [kind for kind in events["kind"] if kind in ("window_closed", "window_opened")]
    assert kinds[:2] == ["window_closed", "window_opened"]
    assert all(kind != after for kind, after in pairwise(kinds))
    control = closed.tables["flow_control"].to_pylist()[0]
    assert control["window_closings"] == kinds.count("window_closed") > 10
    assert control["window_probes"] == list(events["kind"]).count("window_probe")
    since, total = 60.0, 0.0
    for kind, time_s in zip(events["kind"], events["time_s"], strict=True):
        if kind == "window_closed":
            since = time_s
        elif kind == "window_opened":
            total, since = total + time_s - since, 60.0
    assert control["window_closed_s"] == pytest.approx(total + 60 - since)
    # A segment is read in 160 ms. Its round trip and the delay of its ACK, which can tell nothing
    # new, take about 60 of them.
    assert 0.5 * 60 < control["window_closed_s"] < 0.7 * 60
    assert control["window_closed_s"] < control["receive_window_limited_s"] < 60
    assert control["receive_window_limited_s"] > 0.9 * 60
    assert control["most_unread_bytes"] <= 16_000


def test_counters_have_the_names_of_nstat(closed: Result) -> None:
    rows = closed.tables["counters"].to_pylist()
    counted = {(row["host"], row["name"]): row["value"] for row in rows}
    control = closed.tables["flow_control"].to_pylist()[0]
    assert counted["senders", "TCPWinProbe"] == control["window_probes"]
    assert counted["receivers", "TCPToZeroWindowAdv"] == control["zero_windows"]
    assert ("senders", "TCPToZeroWindowAdv") not in counted


def test_a_reader_that_stops_lets_the_buffer_through_and_no_more() -> None:
    result = simulate(slow("0 bit/s", "20 packets"))
    assert value_of(result, "flows", "delivered_bytes") == 0
    assert value_of(result, "flows", "sent_packets") == 20
    control = result.tables["flow_control"].to_pylist()[0]
    assert (control["window_closings"], control["most_unread_bytes"]) == (1, 20_000)


def test_a_transfer_ends_when_it_is_read() -> None:
    transport = tcp("cubic", "linux", read_rate="80 kbit/s", receive_window="64 kB")
    size = {"kind": "transfer", "size": "100 kB"}
    result = simulate(scenario(PATH, [flow(transport, traffic=size)], "60 s"))
    # 10 kB a second, from the first byte on: a round trip of the handshake and half of another.
    assert value_of(result, "flows", "completion_time_s") == pytest.approx(10.03, abs=0.01)
    cut = simulate(scenario(PATH, [flow(transport, traffic=size)], "8 s"))
    assert cut.tables["flows"]["completion_time_s"].null_count == 1
    assert value_of(cut, "flows", "delivered_bytes") == pytest.approx(79_700, abs=100)


def test_flows_without_it_have_no_table_and_no_counters() -> None:
    result = simulate(scenario(PATH, [flow(tcp("cubic", "linux"))], "5 s"))
    assert "flow_control" not in result.tables
    assert "TCPWinProbe" not in column(result, "counters", "name")


def test_its_capture_shows_what_the_engine_counts(tmp_path: Path) -> None:
    result = simulate(slow("50 kbit/s", "16 kB", warmup="0 s"), pcap=tmp_path)
    measured = measure(tmp_path / SENDERS, tmp_path / "measured")
    row, _ = measured.rows("connections").to_pylist()  # data, and ACKs
    assert row["limit"] == "receive_window"
    assert row["receive_window_max_bytes"] == pytest.approx(16_000, rel=0.01)
    control = result.tables["flow_control"].to_pylist()[0]
    assert row["window_probes"] == control["window_probes"]
    assert row["zero_windows"] >= control["zero_windows"] - 1 > 10


def test_no_model_answers_and_each_says_why() -> None:
    rows = predict(slow("4 Mbit/s")).tables["predictions"].to_pylist()
    assert rows
    for row in rows:
        assert row["verdict"] == "does not apply"
        assert "reads 4 Mbit/s (read_rate)" in row["note"]
