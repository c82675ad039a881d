"""Calls that a kernel made of its own `bbr`, answered by `bbr1` without kernel or privileges.

Recorded by `emulate` on Linux 6.18 with `shipped = "linux_bbr"`, each over a path of 40 ms:

- `probes`, 13 s of 2 Mbit/s and 10 packets. It has losses, and a probe for the round-trip time.
- `policer`, 20 s of 1 Mbit/s. A quarter of the packets is lost. It has the rate of a policer twice,
  and timeouts.
- `reordering`, 6 s of 2 Mbit/s with jitter and 3 % loss. It has a recovery that is undone.
- `pauses`, 14 s of 2 Mbit/s with an on-off source. It restarts after idling.
"""

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ackclock import engine
from ackclock.capture import calls
from ackclock.capture.call_tables import calls_of, recorded
from ackclock.capture.twin import stand_in
from ackclock.cli import cli

RECORDED = Path(__file__).parent / "recorded_bbr"
# Most bytes of a record in the repository.
MOST_BYTES = 200_000
LOSS = 4
# `__u32 cwnd` after the call in `struct ackclock_call`.
CALL, CWND_AFTER, MAGIC = 144, 44, 16


@pytest.fixture(scope="module")
def compared() -> dict[str, calls.Comparison]:
    return {comparison.record.split(".")[0]: comparison for comparison in calls.twin(RECORDED)}


def rows(name: str) -> list[dict[str, Any]]:
    """Returns the calls of a record from the beginning of the control on."""
    names = [file.name.split(".")[0] for file in recorded(RECORDED)]
    table = calls_of(RECORDED)[names.index(name)].table.to_pylist()
    begun = next(number for number, row in enumerate(table) if row["kind"] == "init")
    return table[begun:]


@pytest.mark.parametrize("name", ["probes", "policer", "reordering", "pauses"])
def test_bbr1_answers_as_the_kernel_did(name: str, compared: dict[str, calls.Comparison]) -> None:
    comparison = compared[name]
    assert (comparison.control, comparison.standing, comparison.missed) == ("linux_bbr", "bbr1", 0)
    assert comparison.outcome["first"] is None
    assert comparison.outcome["calls"] == comparison.outcome["equal"] > 1000
    assert (
        comparison.outcome["equal_windows"]
        == comparison.outcome["equal_answers"]
        == comparison.outcome["calls"]
    )


def test_the_records_have_what_can_go_wrong() -> None:
    probes, policer = rows("probes"), rows("policer")
    assert min(row["cwnd_after"] for row in probes[len(probes) // 2 :]) == 4, "a probe"
    assert sum(row["losses"] for row in probes) > 20
    timeouts = [row for row in policer if row["kind"] == "set_state" and row["argument_0"] == LOSS]
    assert len(timeouts) == 2
    rates = [row["result"] for row in policer if row["kind"] == "cong_control"]
    assert longest_run(rates) > 100, "the rate of a policer is held for 48 rounds"
    assert [row["kind"] for row in rows("reordering")].count("undo_cwnd") == 1
    assert [row["kind"] for row in rows("pauses")].count("cwnd_event") > 3
    for name in ("probes", "policer", "pauses"):
        assert sum(row["drawn"] > 0 for row in rows(name)) >= 2, "a cycle begins again"


def longest_run(values: list[int]) -> int:
    """Returns the length of the longest run of equal values."""
    longest = run = 1
    for before, value in pairwise(values):
        run = run + 1 if value == before else 1
        longest = max(longest, run)
    return longest


def test_a_window_off_by_one_is_told_with_the_calls_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "record"
    folder.mkdir()
    for file in (RECORDED / "record").glob("probes.*"):
        shutil.copy(file, folder)
    record = folder / "probes.linux_bbr.calls"
    content = bytearray(record.read_bytes())
    content[MAGIC + 500 * CALL + CWND_AFTER] += 1
    record.write_bytes(content)
    outcome = CliRunner().invoke(cli, ["twin", str(tmp_path)])
    assert outcome.exit_code == 4
    assert "First difference, call 501 (cong_control)" in outcome.stdout
    [comparison] = calls.twin(tmp_path)
    assert [call["number"] for call in comparison.outcome["first"]["before"]] == list(
        range(491, 501)
    )
    assert comparison.outcome["calls"] - comparison.outcome["equal"] == 1, (
        "the window of bbr1 is its own"
    )


@pytest.mark.parametrize(
    ("changed", "begin_s", "end_s"),
    [
        ("full_rounds = 4", 0.2, 1.0),  # startup ends a round later
        ('min_rtt_window = "9 s"', 8.9, 9.5),  # and the probe comes a second earlier
    ],
)
def test_another_control_differs_from_where_it_must(
    changed: str, begin_s: float, end_s: float
) -> None:
    [record] = (RECORDED / "record").glob("probes.*.calls")
    scenario = stand_in(f'{{ kind = "bbr1", {changed} }}')
    twin = engine.twin_of_kernel(
        scenario.tree, scenario.folder, "cycle_starts", record.read_bytes()
    )
    first = twin["first"]["call"]
    assert begin_s < (first["now_ns"] - rows("probes")[0]["now_ns"]) / 1e9 < end_s


def test_records_are_small() -> None:
    assert all(file.stat().st_size <= MOST_BYTES for file in recorded(RECORDED))
