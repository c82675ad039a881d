"""A stand-in for the native emulator: the engine's tables, and the extra tables of an emulation."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import LackingError, _native
from ackclock.elements.registry import registry
from ackclock.validity import stationarity

RELIABLE = "reliable"
LATE = "unreliable: 1 packet in 100 was written 7 ms late or more (at most 3.5 ms)."

Columns = dict[str, tuple[Any, ...]]


def columns(rows: Sequence[dict[str, Any]], names: Sequence[str] = ()) -> Columns:
    """Returns rows in the engine's format; without rows, `names` are integer columns."""
    return {name: _column([row[name] for row in rows]) for name in (rows[0] if rows else names)}


def _column(values: Sequence[Any]) -> tuple[Any, ...]:
    if values and isinstance(values[0], str):
        words = list(dict.fromkeys(values))
        return "str", np.array([words.index(value) for value in values], "<i4").tobytes(), words
    kind = "f8" if values and isinstance(values[0], float) else "i8"
    return kind, np.array(values, f"<{kind}").tobytes()


def names_of(table: str) -> list[str]:
    """Returns the names of a table's columns."""
    tables = {entry["name"]: entry["columns"] for entry in registry()["tables"]}
    return [column["name"] for column in tables[table]]


def tcp_info(time_s: float, flow: str = "main") -> dict[str, Any]:
    """Returns a row of `tcp_info`, most of which is unknown."""
    return dict.fromkeys(names_of("tcp_info"), float("nan")) | {
        "point": 0, "replicate": 0, "flow": flow, "instance": 0, "time_s": time_s,
        "loss_state": "open", "cwnd_segments": 10.0, "ssthresh_segments": float("nan"),
    }  # fmt: skip


@dataclass
class Pretended:
    """A stand-in for the native functions.

    Attributes:
        verdicts: Verdicts of unreliable runs, by point and replicate.
        refused: Names of settings that the kernel did not apply.
        warnings: Warnings of the preparation.
        complaints: Warnings of the runs.
        complete: True if the runs come to their end.
        failure: Reason why a run failed.
        blocks: Blocks of `tcp_info`, handed over one after the other.
        midway: Called with the folder once all blocks are handed over.
        recorded_s: Time at which each record ends; None for the end of the run.
        differences: Findings of a replay, by point and replicate.
        lacking: Reason why this machine cannot emulate.
        asked: Arguments of every call.
    """

    verdicts: dict[tuple[int, int], str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    complete: bool = True
    failure: str | None = None
    blocks: list[list[dict[str, Any]]] = field(
        default_factory=lambda: [[tcp_info(0.01)], [tcp_info(0.02)]]
    )
    midway: Callable[[Path], None] = lambda _folder: None
    recorded_s: float | None = None
    differences: dict[tuple[int, int], str] = field(default_factory=dict)
    lacking: str | None = None
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take_the_place(self, monkeypatch: pytest.MonkeyPatch) -> "Pretended":
        """Replaces the native functions for the duration of a test."""
        for name in ("prepare_emulation", "emulate", "replay"):
            monkeypatch.setattr(_native, name, getattr(self, name))
        monkeypatch.setattr(
            stationarity, "EPOCHS", 0
        )  # stationarity is not the subject of a run of two seconds
        return self

    def prepare_emulation(
        self,
        points: list[str],
        folder: str,
        host_command: list[str],
        loader: str | None,  # noqa: ARG002
        *,
        device: str,
    ) -> str:
        self.asked["prepare_emulation"] = {"points": points, "folder": folder, "device": device}
        assert host_command
        if self.lacking is not None:
            raise LackingError("lacking", "", self.lacking)
        machine = {
            "kernel": "Linux 6.0",
            "device": "tun",
            "priority": "SCHED_FIFO",
            "processors": 2,
        }
        return json.dumps(machine | {"warnings": self.warnings})

    def emulate(
        self,
        points: list[str],
        folder: str,
        output: str,
        host_command: list[str],
        loader: str | None,  # noqa: ARG002
        *,
        device: str,
        pcap: bool,
        side_by_side: int,
        finished: set[tuple[int, int]],
        progress: Callable[[str], None] | None,
        take: Callable[[str, Columns], None],
    ) -> dict[str, Any]:
        self.asked["emulate"] = {
            "points": points, "folder": folder, "device": device, "pcap": pcap,
            "side_by_side": side_by_side,
        }  # fmt: skip
        assert host_command
        runs = [
            (point, run)
            for point, tree in enumerate(points)
            for run in range(json.loads(tree)["replicates"])
            if (point, run) not in finished
        ]
        for kind, ending in (("record", ".ackrec"), ("pcap", "-to-senders.pcap")):
            if kind == "record" or pcap:
                (Path(output) / kind).mkdir()
                for point, run in runs:
                    (Path(output) / kind / f"point-{point}-replicate-{run}{ending}").write_bytes(
                        b"packets"
                    )
        if progress is not None:
            now = {"fraction": 0.25, "run": 2, "runs": len(runs), "rate_bit_per_s": 9.6123e6}
            progress(json.dumps(now))
        for block in self.blocks:
            take("tcp_info", columns(block))
        self.midway(Path(output))
        simulated = _native.simulate(
            points, folder, threads=1, packets=False, pcap_folder=None, qlog_folder=None,
            finished=finished, memory=None, take=None, take_packets=None, progress=None,
        )["tables"]  # fmt: skip
        simulated["events"] = {
            name: (column[0], b"", *column[2:]) for name, column in simulated["events"].items()
        }
        added = {
            "fidelity": columns([self._fidelity(*run) for run in runs], names_of("fidelity")),
            "lateness": columns([{"point": 0, "replicate": 0, "at_most_s": 1e-6, "packets": 7}]),
            "settings": columns(
                [_setting(run, name) for run in runs for name in self.refused],
                names_of("settings"),
            ),
        }
        outcome = {"complete": self.complete, "failure": self.failure, "warnings": self.complaints}
        return outcome | {"tables": simulated | added}

    def _fidelity(self, point: int, replicate: int) -> dict[str, Any]:
        verdict = self.verdicts.get((point, replicate), RELIABLE)
        return {
            "point": point, "replicate": replicate, "reliable": int(verdict == RELIABLE),
            "verdict": verdict, "outside_drops": 0, "lateness_p50_s": 4e-6,
            "lateness_p99_s": 1.6e-5, "lateness_p999_s": 6e-5, "lateness_max_s": 4e-4,
            "longest_gap_s": 1.1e-2, "cpu_share": 0.21, "largest_packet_bytes": 1500,
            "mtu_bytes": 1500, "base_rtt_s": 0.07, "probes_sent": 20, "probes_measured": 19,
            "probe_extra_p50_s": 2.2e-5, "probe_extra_max_s": 1.1e-4, "host_wait_max_s": 1.2e-3,
            "host_stalled_share": 0.0, "softirq_wait_share": 1e-4, "missed_readings_share": 0.0,
            "cpu_pressure_share": 0.02, "device": "tun", "priority": "SCHED_FIFO",
            "host_priority": "SCHED_FIFO",
            "idle_states": "none",
        }  # fmt: skip

    def replay(self, points: list[str], folder: str, output: str) -> str:
        self.asked["replay"] = {"points": points, "folder": folder}
        records = sorted((Path(output) / "record").iterdir())
        runs = [tuple(int(word) for word in path.stem.split("-")[1::2]) for path in records]
        return json.dumps(
            [
                {"point": point, "replicate": replicate, "arrivals": 100, "decisions": 90}
                | {
                    "until_s": 5.0 if self.recorded_s is None else self.recorded_s,
                    "duration_s": 5.0,
                }
                | {"complete": True}  # as of an interrupted run, whose record ends in order
                | {"difference": self.differences.get((point, replicate))}
                for point, replicate in runs
            ]
        )


def _setting(run: tuple[int, int], name: str) -> dict[str, Any]:
    point, replicate = run
    return {
        "point": point, "replicate": replicate, "host": "senders", "name": name, "asked": "1",
        "has": "0",
        "refusal": "this kernel has no such setting",
    }  # fmt: skip
