"""The twin of calls: records made by hand, answered by the program that came with them."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from ackclock.capture import calls
from ackclock.capture.call_tables import calls_of, recorded
from ackclock.cli import cli

from ..refusals import refused
from .paths import PROGRAMS

MAGIC = b"ackclock calls 2"
INIT, CONG_AVOID, SSTHRESH = 1, 4, 5
UNSET = 0x7FFFFFFF
# `struct ackclock_call` of ackclock.bpf.h.
CALL = struct.Struct("<QIHBBIIiI3I3I10IQ8IBB6x")


@dataclass
class Reno:
    """RFC 5681 in whole segments, written again: what a kernel would record of `reno`."""

    cwnd: int = 12
    count: int = 0
    ssthresh: int = UNSET

    def record(self, kind: int, acked: int = 0, share: float = 0.5) -> bytes:
        """Returns the record of a call."""
        before = (self.cwnd, self.count, self.ssthresh)
        answer = 0
        if kind == CONG_AVOID:
            grown = min(self.cwnd + acked, max(self.ssthresh, self.cwnd))
            acked_left = acked - (grown - self.cwnd)
            self.cwnd = grown
            more, self.count = divmod(self.count + acked_left, self.cwnd)
            if acked_left:
                self.cwnd += more
        if kind == SSTHRESH:
            answer = max(int(self.cwnd * share), 2)
        after = (self.cwnd, self.count, self.ssthresh)
        packed = CALL.pack(
            1_000_000, 0x0100000A, 40000, kind, 0x80, 0, acked, -1, answer,
            *before, *after, 0, 1448, self.cwnd, 0, 0, 0, 0, self.cwnd, 0, 0,
            1_000, 0, 0, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0, 0,
        )  # fmt: skip
        if kind == SSTHRESH:  # What the kernel does with the answer.
            self.ssthresh, self.cwnd, self.count = answer, answer, 0
        return packed


def result(folder: Path, share: float = 0.5, missed: int = 0) -> Path:
    """Writes what an emulation leaves: a record of 300 calls with two reductions."""
    reno = Reno()
    record = [reno.record(INIT)]
    for step in range(299):
        record.append(reno.record(SSTHRESH, share=share) if step in (20, 200)
                      else reno.record(CONG_AVOID, acked=1 + step % 3))  # fmt: skip
    there = folder / "record"
    there.mkdir(parents=True)
    stem = "point-0-replicate-0.reno"
    (there / f"{stem}.calls").write_bytes(MAGIC + b"".join(record))
    (there / f"{stem}.bpf.o").write_bytes((PROGRAMS / "reno.bpf.o").read_bytes())
    summary = {"control": "reno", "parameters": {}, "records": 300, "missed": missed}
    (there / f"{stem}.json").write_text(json.dumps(summary), "utf-8")
    return folder


def test_calls_are_answered_alike(tmp_path: Path) -> None:
    [compared] = calls.twin(result(tmp_path))
    assert not compared.differs
    assert compared.outcome["calls"] == compared.outcome["equal"] == 300
    assert compared.outcome["kinds"]["ssthresh"] == 2
    assert compared.outcome["moved"] == 2, "after each reduction the kernel sets the window"


def test_a_share_of_0_49_is_caught_at_the_first_reduction(tmp_path: Path) -> None:
    folder = result(tmp_path, share=0.49)
    [compared] = calls.twin(folder)
    first = compared.outcome["first"]
    assert (first["call"]["number"], first["call"]["kind"]) == (22, "ssthresh")
    assert [call["number"] for call in first["before"]] == list(range(12, 22))
    outcome = CliRunner().invoke(cli, ["twin", str(folder)])
    assert outcome.exit_code == 4
    assert "First difference, call 22 (ssthresh)" in outcome.stdout
    assert "1 of 1 records are answered otherwise" in outcome.stderr


def test_a_good_record_is_told_in_one_table(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["twin", str(result(tmp_path))])
    assert outcome.exit_code == 0, outcome.output
    assert "reno" in outcome.stdout
    assert "300" in outcome.stdout


def test_a_record_with_gaps_is_unreliable(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["twin", str(result(tmp_path, missed=7))])
    assert outcome.exit_code == 4
    assert "1 of 1 records have gaps" in outcome.stderr


def test_what_is_cut_short_or_missing_is_refused(tmp_path: Path) -> None:
    folder = result(tmp_path)
    [record] = recorded(folder)
    whole = record.read_bytes()
    record.write_bytes(whole[:-5])
    with refused("file", str(record), "ends within a call, after 299 calls"):
        calls.twin(folder)
    record.write_bytes(whole)
    record.with_suffix("").with_suffix(".reno.json").unlink(missing_ok=True)
    for file in record.parent.glob("*.json"):
        file.unlink()
    summary = record.parent / "point-0-replicate-0.reno.json"
    with refused("file", str(summary), "is missing"):
        calls.twin(folder)


@pytest.mark.parametrize(
    "changed",
    [
        {"control": 5},
        {"parameters": [1]},
        {"parameters": {"beta": "half"}},
        {"parameters": {"beta": 10**60}},
        {"missed": None},
        {"begin_ns": "now"},
    ],
)
def test_a_damaged_summary_is_one_line(tmp_path: Path, changed: dict[str, object]) -> None:
    folder = result(tmp_path)
    [summary] = (folder / "record").glob("*.json")
    whole = json.loads(summary.read_text())
    for text in ("", "[]", json.dumps(whole | changed)):
        summary.write_text(text)
        for command in ([], ["--control", "reno"]):
            outcome = CliRunner().invoke(cli, ["twin", str(folder), *command])
            assert outcome.exit_code == 2
            assert outcome.stderr.startswith(f"ackclock: {summary}: ")
        with refused("file", str(summary)):
            calls_of(folder)


@pytest.mark.parametrize("offset", range(0, CALL.size, 8))
def test_a_damaged_call_is_answered_or_refused(tmp_path: Path, offset: int) -> None:
    folder = result(tmp_path)
    [record] = recorded(folder)
    content = bytearray(record.read_bytes())
    begin = len(MAGIC) + 10 * CALL.size + offset
    content[begin : begin + 8] = bytes([0xFF] * 8)
    record.write_bytes(content)
    assert CliRunner().invoke(cli, ["twin", str(folder)]).exit_code in (0, 2, 4)


def test_a_result_without_records_is_compared_by_packets(tmp_path: Path) -> None:
    assert recorded(tmp_path) == []
