"""The cause behind a limit: in words, in captures of Linux, and in simulated ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, measure, simulate
from ackclock.capture.connections import brief_table, connection_rows
from ackclock.report.capture import section

from .pretended import Pretended, connection, flow, stretch
from .transfers import differences, is_first, kernels, shares

CAPTURES = Path(__file__).parents[1] / "captures" / "causes"


def answered(
    pretended: Pretended, folder: Path, stretches: list[dict[str, Any]] | None = None, **values: Any
) -> dict[str, Any]:
    """Returns the row of a pretended connection."""
    row = connection(**values)
    pretended.rows["connections"] = [row]
    pretended.rows["limit_periods"] = stretches or [stretch(limit=row["limit"])]
    (folder / "web.pcap").write_bytes(b"")
    result = measure(folder / "web.pcap", folder / "m", replace=True)
    [answered_row] = connection_rows(result, 5)
    return answered_row


WINDOW = {"limit": "congestion_window"}


def test_marks_are_the_cause_of_a_small_window(pretended: Pretended, tmp_path: Path) -> None:
    row = answered(
        pretended, tmp_path, **WINDOW, marks_lower=119.0, cwr_packets=5, losses_estimate=0.0,
    )  # fmt: skip
    assert row["cause"] == "marks"
    assert row["answer"] == (
        "limited by marks, which keep the congestion window small (83 % of the time): 119 of 700 "
        "packets were marked (17 %), no packet lost; 60.0 kB in flight on average, RTT 40.0 ms; "
        "the rate was 12.0 Mbit/s. The queue that marks is probably that of the slowest link: a "
        "faster link there, or fewer flows on it, would raise the rate"
    )
    table = brief_table([row], "")
    assert dict(zip(table.head, *table.texts, strict=True))["marked %"] == "17"


def test_marks_that_only_the_sender_tells_of_are_counted_by_reductions(
    pretended: Pretended, tmp_path: Path
) -> None:
    row = answered(
        pretended, tmp_path, **WINDOW, marks_lower=7.0, cwr_packets=7, losses_estimate=0.0
    )
    assert ": marks made the sender reduce its window 7 times, no packet lost; " in row["answer"]


def test_a_link_with_a_queue_that_marks_says_so(pretended: Pretended, tmp_path: Path) -> None:
    row = answered(
        pretended, tmp_path, limit="bottleneck_rate", marks_lower=70.0, losses_estimate=0.0
    )
    assert "limited by the rate of a link (83 % of the time)" in row["answer"]
    assert "to 40.0 ms; 70 of 700 packets were marked (10 %). " in row["answer"]


def test_needless_retransmissions_are_no_losses(pretended: Pretended, tmp_path: Path) -> None:
    needless = {"retransmitted_packets": 92.0, "retransmissions_spurious": 92.0}
    none = {"losses_lower": 0.0, "losses_estimate": 0.0, "losses_upper": 92.0}
    row = answered(pretended, tmp_path, **WINDOW, **needless, **none)
    assert row["cause"] == "reordering"
    assert row["answer"].startswith(
        "limited by reordering, which the sender took for losses (83 % of the time): 92 of 92 "
        "retransmissions were not needed: the packets had only arrived late; no packet lost; "
    )
    assert "may be lost" not in row["answer"]
    early = {"retransmissions_timeout": 4.0, "retransmissions_after_timeout": 80.0}
    row = answered(pretended, tmp_path, **WINDOW, **needless, **none, **early)
    assert row["cause"] == "early timeouts"


def test_acks_that_wait_on_their_way_are_the_cause(pretended: Pretended, tmp_path: Path) -> None:
    pretended.rows["flows"] = [flow(rtt_min_s=0.040, rtt_mean_s=0.120)]
    queues = {"data_queueing_mean_s": 0.003, "ack_queueing_mean_s": 0.080}
    row = answered(pretended, tmp_path, limit="bottleneck_rate", **queues)
    assert row["cause"] == "way back"
    assert row["answer"].startswith(
        "limited by the way back, on which the ACKs wait (83 % of the time): the ACKs waited "
        "80.0 ms on average, the data on its way 3.00 ms; the least RTT was 40.0 ms, "
    )
    assert row["answer"].endswith("a faster link for the data alone would not")


def test_a_reader_that_closes_the_window_is_the_cause(pretended: Pretended, tmp_path: Path) -> None:
    small = {"receive_window_mean_bytes": 20_000.0}
    row = answered(
        pretended, tmp_path, [stretch(**small)], receive_window_max_bytes=65_536.0,
        receive_window_min_bytes=2_000.0,
    )  # fmt: skip
    assert row["cause"] == "slow reader"
    assert row["answer"] == (
        "limited by the receiving application, which reads slowly (83 % of the time): it read "
        "12.0 Mbit/s, and left of a window of 65.5 kB 20.0 kB on average. A larger window helps "
        "only if it reads faster"
    )


@pytest.mark.slow
def test_a_model_that_explains_the_rate_is_quoted(pretended: Pretended, tmp_path: Path) -> None:
    lossy = {
        "fast_recoveries": 20.0, "losses_estimate": 20.0, "losses_upper": 20.0,
        "retransmitted_packets": 20.0, "data_packets": 5_000, "data_segments": 5_000.0,
    }  # fmt: skip
    pretended.rows["flows"] = [flow(goodput_bit_per_s=5.8e6, fast_retransmits=20.0)]
    row = answered(pretended, tmp_path, **WINDOW, **lossy)
    assert "Loss and RTT explain the rate: at 0.4 % loss and 40.0 ms, " in row["answer"]
    row = answered(pretended, tmp_path, limit="unknown", **lossy)
    assert row["cause"] == "losses"
    assert row["answer"].startswith("limited by losses, probably (83 % of the time): ")
    pretended.rows["flows"] = [flow(goodput_bit_per_s=1e6, fast_retransmits=20.0)]
    row = answered(pretended, tmp_path, limit="unknown", **lossy)
    assert row["cause"] == ""


@pytest.mark.parametrize(
    ("vantage", "decides"),
    [("sender", "At the sender, ss -ti decides: "), ("middle", "A capture at the sender would")],
)
def test_what_remains_is_named_with_what_would_decide(
    pretended: Pretended, tmp_path: Path, vantage: str, decides: str
) -> None:
    row = answered(pretended, tmp_path, limit="unknown", vantage=vantage)
    assert "a full send buffer" in row["answer"]
    assert decides in row["answer"]
    assert "nothing stands out" not in row["answer"]


def test_each_factor_has_its_share(pretended: Pretended, tmp_path: Path) -> None:
    spans = (
        ("receive_window", 0.0, 0.4), ("recovery", 0.4, 0.65), ("congestion_window", 0.65, 0.97),
        ("application", 0.97, 1.0),
    )  # fmt: skip
    stretches = [stretch(limit=name, start_s=start, end_s=end) for name, start, end in spans]
    row = answered(pretended, tmp_path, stretches, **WINDOW, limit_share=0.32)
    assert row["answer"].startswith(
        "limited by the congestion window (32 % of the time, the network 57 %; the receiver's "
        "window 40 %, loss recovery 25 %): "
    )


@pytest.mark.slow
def test_a_page_says_where_a_capture_of_several_connections_was_taken(
    pretended: Pretended, tmp_path: Path
) -> None:
    def place(*others: dict[str, Any]) -> str:
        first = connection()
        pretended.rows["connections"] = [first, *others]
        pretended.rows["flows"] = [flow(flow=row["flow"]) for row in (first, *others)]
        pretended.rows["limit_periods"] = [stretch(flow=row["flow"]) for row in (first, *others)]
        (tmp_path / "web.pcap").write_bytes(b"")
        result = measure(tmp_path / "web.pcap", tmp_path / "m", replace=True)
        return " ".join(f"{sure.lead} {sure.rest}" for sure in section(result, None).sure)

    back = {"source": "10.1.0.1:80", "destination": "10.0.0.1:5001", "payload_bytes": 5}
    assert "Captured near the sender:" in place()
    words = place(connection(flow="back", vantage="receiver", **back))
    assert "Captured near 10.0.0.1:" in words
    assert "near the sender and near the receiver" not in words
    other = {"source": "10.2.0.1:80", "destination": "10.3.0.1:9", "payload_bytes": 5}
    words = place(connection(flow="other", vantage="receiver", **other))
    assert "The largest connection was captured near its sender:" in words


#: Capture, its limits, its cause.
LINUX = [
    ("reader", "receive_window", "slow reader"),
    ("reader-usual-buffer", "receive_window", "slow reader"),
    ("buffer", "sender_buffer", ""),
    ("buffer-short-writes", "sender_buffer", ""),
    ("loss-and-jitter", "network", ""),
    ("way-back", "network", "way back"),
    ("marks", "network", "marks"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "limit", "cause"), LINUX)
def test_a_transfer_of_linux_has_its_cause(
    name: str, limit: str, cause: str, tmp_path: Path
) -> None:
    theirs = kernels(json.loads((CAPTURES / f"{name}.json").read_text())["kernel"])
    assert max(theirs, key=lambda share: theirs[share]) == limit
    result = measure(CAPTURES / f"{name}.pcap.gz", tmp_path / "m")
    [row] = connection_rows(result, 1)
    assert row["limit"] != "unknown"
    assert is_first(row["limit"], theirs), row["answer"]
    assert max(differences(theirs, shares(result, row)).values()) <= 0.1
    assert row["cause"] == cause, row["answer"]


#: Prague's first ten segments are marked and end its slow start. It grows for some seconds.
L4S = """
schema = 1
name = "marks"
duration = "30 s"
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "6 Mbit/s" }}
queue = {{ {queue} }}
delay = "{delay}"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "{delay}"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "{control}" }}, preset = "linux", ecn = true }}
"""


@pytest.mark.slow
@pytest.mark.parametrize("delay", ["5 ms", "40 ms"])
@pytest.mark.parametrize(
    ("control", "queue"),
    [("prague", 'kind = "dualpi2"'), ("cubic", 'kind = "fq_codel", ecn = true')],
)
def test_marks_are_named_in_simulated_captures(
    control: str, queue: str, delay: str, tmp_path: Path
) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    simulate(Scenario.from_toml(L4S.format(queue=queue, control=control, delay=delay)), pcap=folder)
    [capture] = folder.glob("*senders.pcap")
    [row] = connection_rows(measure(capture, tmp_path / "m"), 1)
    assert row["limit"] in {"congestion_window", "bottleneck_rate"}
    assert "mark" in row["answer"]


REORDERED = """
schema = 1
name = "reordering"
duration = "10 s"
replicates = 1

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "20 Mbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "20 ms"
impairments = [{jitter}]

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "1 Gbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = {{ kind = "tcp", control = {{ kind = "reno" }}, preset = "{preset}" }}
"""


JITTER = (
    '{ kind = "jitter", reordering = "allowed", '
    'distribution = { kind = "uniform", maximum = "5 ms" } }'
)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["rfc", "linux-2012"])
def test_reordering_without_loss_is_no_loss(preset: str, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    result = simulate(
        Scenario.from_toml(REORDERED.format(preset=preset, jitter=JITTER)), pcap=folder
    )
    assert max(row["drops_queue"] for row in result.tables["hops"].to_pylist()) == 0
    [capture] = folder.glob("*senders.pcap")
    [row] = connection_rows(measure(capture, tmp_path / "m"), 1)
    assert row["retransmitted_packets"] > 10
    assert row["losses_estimate"] <= 0.1 * row["retransmitted_packets"]
    assert row["cause"] == "reordering", row["answer"]
    assert "may be lost" not in row["answer"]
