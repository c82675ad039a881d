"""Texts about a connection, for each limit."""

import math
from pathlib import Path

import pytest

from ackclock import Result, measure, units
from ackclock.capture import remedy
from ackclock.capture.connections import connection_rows, connection_table
from ackclock.capture.limiting_factor import LIMITS
from ackclock.models.cubic_response import window

from .pretended import Pretended, connection, stretch

SAID = {
    "receive_window": (
        "the receiver offered 65.5 kB and closed the window 2 times; an RTT of 40.0 ms then allows "
        "13.1 Mbit/s. The receiving application read 12.0 Mbit/s, and a larger window helps only "
        "if it reads faster"
    ),
    "application": (
        "it wrote 1.00 MB in 1.00 s and left the connection idle or partly used in between; the "
        "rate was 12.0 Mbit/s"
    ),
    "sender_buffer": (
        "hardly ever more than 60.0 kB in flight, without losses or queueing, although the "
        "receiver offered 65.5 kB; an RTT of 40.0 ms then allows 12.0 Mbit/s. 100 Mbit/s at "
        "40.0 ms would need a buffer of 500 kB"
    ),
    "congestion_window": (
        "1 % of the packets lost, 60.0 kB in flight on average, RTT 40.0 ms; the rate was "
        "12.0 Mbit/s. For 100 Mbit/s at 40.0 ms at most 0.0018 % may be lost"
    ),
    "bottleneck_rate": (
        "it carried 12.0 Mbit/s, and the queue before it raised the RTT from 38.0 ms to 40.0 ms. "
        "A shorter queue would save 2.00 ms of delay; only a faster link or fewer flows would "
        "raise the rate"
    ),
    "slow_start": (
        "the congestion window was still doubling; 1.00 MB were sent in 20 round trips of "
        "40.0 ms. Each doubling of the initial window saves 40.0 ms"
    ),
    "recovery": (
        "3 packets retransmitted, once after a timeout; the rate was 12.0 Mbit/s. For 100 Mbit/s "
        "at 40.0 ms at most 0.0018 % may be lost"
    ),
    "unknown": (
        "an application that writes little, a full send buffer, and a sender that paces or whose "
        "congestion window stands still look alike here; the rate was 12.0 Mbit/s. At the sender, "
        "ss -ti decides: app_limited, busy, cwnd"
    ),
}


def _answer(pretended: Pretended, folder: Path, **values: object) -> str:
    row = connection(**values)
    limit = str(row["limit"])
    pretended.rows["connections"] = [row]
    pretended.rows["limit_periods"] = (
        [stretch(limit=limit, retransmitted_packets=3)] if limit else []
    )
    (folder / "web.pcap").write_bytes(b"")
    [answered] = connection_rows(measure(folder / "web.pcap", folder / "m"), 5)
    return str(answered["answer"])


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS)
def test_each_limit_has_its_words_and_evidence(
    pretended: Pretended, tmp_path: Path, limit: str
) -> None:
    answer = _answer(
        pretended, tmp_path, limit=limit, zero_windows=2.0, retransmissions_timeout=1.0
    )
    assert answer == f"limited by {LIMITS[limit]} (83 % of the time): {SAID[limit]}"


def test_a_window_that_never_closed_is_to_be_larger(pretended: Pretended, tmp_path: Path) -> None:
    answer = _answer(pretended, tmp_path, limit="receive_window")
    assert answer.endswith(
        "then allows 13.1 Mbit/s. 100 Mbit/s at 40.0 ms would need a window of 500 kB"
    )


@pytest.mark.parametrize(
    ("rate", "rtt", "mss"), [(100e6, 0.08, 1460), (1e9, 0.01, 1460), (1e6, 0.3, 536)]
)
def test_the_loss_that_is_allowed_has_that_rate(rate: float, rtt: float, mss: float) -> None:
    loss = remedy.allowed_loss(rate, rtt, mss)
    assert float(window(loss, rtt)) * mss * 8 / rtt == pytest.approx(rate, rel=1e-9)


def test_a_hundred_megabits_at_80_ms() -> None:
    assert f"{100 * remedy.allowed_loss(100e6, 0.08, 1460):.2g} %" == "0.0014 %"
    assert [remedy.next_rate(rate) for rate in (12e6, 5e6, 5.1e6, 99.0)] == [1e8, 1e7, 1e8, 1e3]


def test_a_capture_of_the_acks_alone_says_where_to_capture(
    pretended: Pretended, tmp_path: Path
) -> None:
    _answer(pretended, tmp_path, limit="application", packets=0, missed_packets=80.0)
    [warning] = Result.load(tmp_path / "m").run["warnings"]
    assert "only the ACKs were captured" in warning
    assert "where both directions pass" in warning


def test_packets_that_the_capture_lacks_are_said(pretended: Pretended, tmp_path: Path) -> None:
    answer = _answer(
        pretended, tmp_path, limit="application", missed_packets=80.0, missed_bytes=116_800.0
    )
    assert answer.endswith(
        ". The capture lacks at least 80 packets of it (10 %), so that its packets and losses are "
        "undercounted and the limit is less certain"
    )
    [warning] = Result.load(tmp_path / "m").run["warnings"]
    assert warning.startswith(
        "1 of 1 directions: the capture lacks 80 packets at least, with 117 kB of payload, that "
        "were acknowledged or echoed; counts, losses and loss rates are too low there"
    )


@pytest.mark.slow
def test_evidence_that_is_missing_is_left_out(pretended: Pretended, tmp_path: Path) -> None:
    pretended.rows["flows"][0] |= {"rtt_mean_s": math.nan, "rtt_min_s": math.nan}
    names = ("in_flight_mean_bytes", "receive_window_mean_bytes", "rate_bit_per_s", "rtt_mean_s")
    nothing = dict.fromkeys(names, math.nan)
    (tmp_path / "web.pcap").write_bytes(b"")
    for limit in LIMITS:
        pretended.rows["connections"] = [connection(limit=limit, pure_acks=math.nan)]
        pretended.rows["limit_periods"] = [stretch(limit=limit, **nothing)]
        [row] = connection_rows(measure(tmp_path / "web.pcap", tmp_path / limit), 5)
        assert row["answer"].startswith(f"limited by {LIMITS[limit]} (83 % of the time): ")
        assert "nan" not in row["answer"]
        assert "None" not in row["answer"]


def test_what_else_limited_is_said_where_nothing_did_for_most_of_the_time(
    pretended: Pretended, tmp_path: Path
) -> None:
    pretended.rows["connections"] = [connection(limit="recovery", limit_share=0.4)]
    pretended.rows["limit_periods"] = [
        stretch(limit=limit, start_s=start, end_s=end)
        for limit, start, end in (
            ("slow_start", 0.0, 0.3), ("recovery", 0.3, 0.7), ("congestion_window", 0.7, 0.75),
            ("slow_start", 0.75, 0.8), ("congestion_window", 0.8, 1.0),
        )
    ]  # fmt: skip
    (tmp_path / "web.pcap").write_bytes(b"")
    [row] = connection_rows(measure(tmp_path / "web.pcap", tmp_path / "m"), 5)
    assert row["answer"].startswith(
        "limited by loss recovery (40 % of the time; slow start 35 %, the congestion window 25 %): "
    )


def test_too_little_to_tell(pretended: Pretended, tmp_path: Path) -> None:
    assert (
        _answer(pretended, tmp_path, limit="", limit_share=math.nan)
        == "too little data to tell what limited it"
    )


def test_cells_say_what_is_not_known(pretended: Pretended, tmp_path: Path) -> None:
    unknown = {
        "retransmitted_packets": math.nan,
        "losses_estimate": math.nan,
        "limit": "",
        "limit_share": math.nan,
    }
    _answer(pretended, tmp_path, **unknown)
    table = connection_table(connection_rows(Result.load(tmp_path / "m"), 5))
    shown = dict(zip(table.head, *table.texts, strict=True))
    assert (shown["retransmitted %"], shown["losses"], shown["limit"]) == ("–", "–", "–")
    assert (shown["MB"], shown["captured at"]) == ("1.000", "sender")


@pytest.mark.parametrize(
    ("amount", "base", "written"),
    [
        (65_536, "bytes", "65.5 kB"), (999, "bytes", "999 bytes"), (999_600, "bytes", "1.00 MB"),
        (0, "bytes", "0 bytes"), (13.107e6, "bit/s", "13.1 Mbit/s"),
        (999.9, "bit/s", "1.00 kbit/s"), (0.04, "s", "40.0 ms"), (2e-6, "s", "2.00 µs"),
        (123.4, "s", "123 s"), (12_345, "s", "12345 s"),
    ],
)  # fmt: skip
def test_amounts_have_three_digits(amount: float, base: str, written: str) -> None:
    assert units.shown(amount, base) == written
    if base != "bytes" and amount < 1000:
        assert units.parse(written).amount == pytest.approx(amount, rel=0.005)
