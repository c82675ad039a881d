"""Calls that a kernel made, answered by the engine: needs neither kernel nor privileges.

Recorded by `emulate` on Linux 6.18: 1.2 and 1.6 s over 10 Mbit/s and 40 ms, with 2 % of the packets
lost.
"""

from pathlib import Path

from ackclock.capture import calls
from ackclock.capture.call_tables import calls_of, recorded

RECORDED = Path(__file__).parent / "recorded"
# Most bytes of records in the repository (design, acceptance 4).
MOST_BYTES = 200_000


def test_the_engine_answers_as_the_kernel_did() -> None:
    compared = {comparison.control: comparison for comparison in calls.twin(RECORDED)}
    assert compared.keys() == {"cubic", "westwood_crb"}
    for comparison in compared.values():
        assert comparison.missed == 0
        assert comparison.outcome["first"] is None
        # What comes before `init`: the handshake's states and its ACK.
        assert comparison.outcome["equal"] == comparison.outcome["calls"]
        assert comparison.outcome["kinds"]["ssthresh"] >= 4


def test_a_table_has_the_calls() -> None:
    cubic, crb = calls_of(RECORDED)
    assert (cubic.control, crb.control) == ("cubic", "westwood_crb")
    assert cubic.parameters["beta_thousandth"] == 700
    rows = cubic.table.to_pylist()
    assert len(rows) == (sizes()[0] - 16) // 144
    cuts = [row for row in rows if row["kind"] == "ssthresh"]
    for row in cuts:
        # RFC 9438 section 4.6, in whole segments.
        assert row["result"] == max(row["cwnd_before"] * 7 // 10, 2)
        assert (row["flow"], row["limited"]) == (0, True)
    assert 0 < rows[0]["time_s"] < cuts[0]["time_s"] < 2
    assert {row["state"] for row in rows} >= {"open", "disorder", "recovery"}


def test_records_are_small() -> None:
    assert sum(sizes()) <= MOST_BYTES


def sizes() -> list[int]:
    return [file.stat().st_size for file in recorded(RECORDED)]
