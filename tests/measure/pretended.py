"""A stand-in for the native measurement: rows as from a capture, without a capture."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ackclock import CaptureError, _native
from ackclock.elements.registry import registry

Columns = dict[str, tuple[Any, ...]]

NAN = float("nan")

#: Columns other than numbers that may be unknown and counts from zero.
WORDS = frozenset(
    {
        "flow",
        "source",
        "destination",
        "role",
        "begins",
        "ends",
        "vantage",
        "limit",
        "control",
        "mode",
        "part",
        "kind",
        "estimator",
    }
)
WHOLE = frozenset(
    {
        "point",
        "replicate",
        "instance",
        "packets",
        "wire_bytes",
        "data_packets",
        "payload_bytes",
        "unique_bytes",
        "duplicated_packets",
        "out_of_order_packets",
        "keep_alives",
        "window_probes",
        "syn_retransmissions",
        "ect0_packets",
        "ect1_packets",
        "ce_packets",
        "cwr_packets",
        "largest_payload_bytes",
        "ack_rtt_samples",
        "timestamp_rtt_samples",
        "delivered_bytes",
        "sent_packets",
        "samples",
        "marking_acks",
    }
)

WEB = "10.0.0.1:5001 > 10.1.0.1:80"
NOTHING = dict.fromkeys(
    (
        "not_ip",
        "other_transport",
        "fragments",
        "too_short",
        "malformed",
        "other_link",
        "without_time",
        "damaged",
    ),
    0,
)


def names(table: str) -> list[str]:
    [described] = [entry for entry in registry()["tables"] if entry["name"] == table]
    return [column["name"] for column in described["columns"]]


def row(table: str, **values: Any) -> dict[str, Any]:
    """Returns a row with the other columns unknown."""
    blank = {name: "" if name in WORDS else 0 if name in WHOLE else NAN for name in names(table)}
    assert values.keys() <= blank.keys(), values.keys() - blank.keys()
    return blank | {"flow": WEB} | values


def connection(**values: Any) -> dict[str, Any]:
    """Returns a row of `connections`: a receiver's window of 64 kB, 40 ms, 1 MB in a second."""
    usual = {
        "source": "10.0.0.1:5001", "destination": "10.1.0.1:80", "begins": "syn", "ends": "fin",
        "start_s": 0.0, "end_s": 1.0, "first_data_s": 0.1, "last_data_s": 0.9, "packets": 720,
        "data_packets": 700, "data_segments": 700.0, "payload_bytes": 1_000_000,
        "unique_bytes": 1_000_000, "acknowledged_bytes": 1e6, "retransmitted_packets": 7.0,
        "pure_acks": 350.0, "duplicate_acks": 20.0, "losses_lower": 5.0, "losses_estimate": 7.0,
        "losses_upper": 7.0, "mss_bytes": 1460.0, "largest_payload_bytes": 1460,
        "receive_window_scaled": 1.0, "receive_window_min_bytes": 65_536.0,
        "receive_window_mean_bytes": 65_536.0, "zero_windows": 0.0, "ack_rtt_sd_s": 0.001,
        "ack_rtt_p99_s": 0.043, "in_flight_mean_bytes": 60_000.0, "in_flight_max_bytes": 65_536.0,
        "vantage": "sender", "limit": "receive_window", "limit_share": 0.83,
        "retransmissions_fast": 7.0, "retransmissions_timeout": 0.0,
        "retransmissions_after_timeout": 0.0, "retransmissions_tail_probe": 0.0,
        "retransmissions_unclear": 0.0, "retransmissions_spurious": 0.0,
    }  # fmt: skip
    return row("connections", **(usual | values))


def flow(**values: Any) -> dict[str, Any]:
    """Returns its row of `flows`."""
    usual = {
        "goodput_bit_per_s": 8e6, "delivered_bytes": 1_000_000, "sent_packets": 700,
        "retransmitted_packets": 7.0, "fast_retransmits": 5.0, "timeouts": 0.0, "rtt_mean_s": 0.040,
        "rtt_min_s": 0.038, "rtt_max_s": 0.050,
    }  # fmt: skip
    return row("flows", **(usual | values))


def stretch(**values: Any) -> dict[str, Any]:
    """Returns a row of `limit_periods`."""
    usual = {
        "start_s": 0.0, "end_s": 0.83, "limit": "receive_window", "in_flight_mean_bytes": 60_000.0,
        "receive_window_mean_bytes": 65_536.0, "rate_bit_per_s": 12e6, "rtt_mean_s": 0.040,
        "retransmitted_packets": 0,
    }  # fmt: skip
    return row("limit_periods", **(usual | values))


def samples(count: int = 11, every_s: float = 0.1, **values: Any) -> list[dict[str, Any]]:
    """Returns rows of `samples`, with equal growth in each interval."""
    return [
        row(
            "samples", time_s=number * every_s, in_flight_bytes=60_000.0, rtt_s=0.040,
            smoothed_rtt_s=0.040,
            delivered_bytes=100_000 * number, sent_packets=70 * number,
            retransmitted_packets=float(number // 2),
            **values,
        )
        for number in range(count)
    ]  # fmt: skip


def rtt_histogram(**values: Any) -> list[dict[str, Any]]:
    """Returns rows of `rtt_histogram`: 38 and 42 ms, equally often."""
    return [
        row(
            "rtt_histogram",
            part="whole",
            low_s=middle - 1e-4,
            high_s=middle + 1e-4,
            samples=100,
            **values,
        )
        for middle in (0.038, 0.042)
    ]


@dataclass
class Pretended:
    """A stand-in for `_native.measure`.

    Attributes:
        rows: Rows of each table, handed over one after the other.
        complete: True if it comes to its end.
        damage: Damage of the file.
        skipped: Packets skipped, by reason.
        datagrams: UDP packets.
        refusal: Reason why the file cannot be measured.
        midway: Called once rows have been handed over.
        asked: Arguments of the calls.
    """

    rows: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {
            "flows": [flow()], "samples": samples(), "connections": [connection()],
            "limit_periods": [stretch()],
            "rtt_histogram": rtt_histogram(),
        }
    )  # fmt: skip
    complete: bool = True
    damage: str | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    datagrams: int = 0
    refusal: str | None = None
    midway: Callable[[], None] = lambda: None
    asked: dict[str, Any] = field(default_factory=dict)

    def take_the_place(self, monkeypatch: pytest.MonkeyPatch) -> "Pretended":
        """Replaces the native function for the duration of a test."""
        monkeypatch.setattr(_native, "measure", self.measure)
        return self

    def measure(
        self,
        captures: list[tuple[list[str], int, int]],
        points: list[Any],
        method: str,
        *,
        interval_s: float,
        segments: bool,
        estimators: list[tuple[str, str]],
        progress: Callable[[str], None] | None,
        take: Callable[[str, Columns], None],
    ) -> dict[str, Any]:
        self.asked = {
            "captures": captures, "points": points, "method": method, "interval_s": interval_s,
            "segments": segments,
            "estimators": estimators,
        }  # fmt: skip
        if self.refusal is not None:
            raise CaptureError("file", captures[0][0][0], self.refusal)
        if progress is not None:
            progress(json.dumps({"fraction": 0.5, "packets": 1234}))
        for name, rows in self.rows.items():
            for record in rows:  # piece by piece
                take(name, _columns([record]))
        self.midway()
        described = [
            {
                "files": files,
                "point": point,
                "replicate": replicate,
                "packets": 720,
                "unfollowed_datagrams": self.datagrams,
            }
            | {
                "skipped": NOTHING | self.skipped,
                "damage": self.damage,
                "begins_unix_ns": 1_600_000_000_000_000_000,
            }
            for files, point, replicate in captures
        ]
        on_request = [
            name
            for name, wanted in (("rate_estimates", estimators), ("segments", segments))
            if wanted
        ]
        tables = ["flows", "samples", "connections", "limit_periods", "rtt_histogram", *on_request]
        empty = {name: _columns([row(name)], filled=False) for name in tables}
        return {"complete": self.complete, "captures": json.dumps(described), "tables": empty}


def _columns(rows: list[dict[str, Any]], *, filled: bool = True) -> Columns:
    """Returns columns in the engine's format."""
    return {
        name: _column(name, [record[name] for record in rows] if filled else []) for name in rows[0]
    }


def _column(name: str, values: list[Any]) -> tuple[Any, ...]:
    if name in WORDS:
        words = list(dict.fromkeys(values))
        return "str", np.array([words.index(value) for value in values], "<i4").tobytes(), words
    kind = "i8" if name in WHOLE else "f8"
    return kind, np.array(values, f"<{kind}").tobytes()
