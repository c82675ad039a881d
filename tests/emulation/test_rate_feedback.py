"""Rate feedback with the kernel's own TCP: the sender of 1998, and the example by every method.

It is skipped where this is impossible. The tests assert what must hold on any machine, however
busy: if the machine delays a packet, only the packet is late.
"""

from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, load
from ackclock.capture.measurement import measure
from ackclock.comparison import each_method
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate
from ackclock_reproductions.abr import on_linux
from ackclock_reproductions.abr.loop import INSTCAP, NONE

EXAMPLE = Path(__file__).parents[2] / "examples" / "rate-feedback.toml"
FILTER = "SO_ATTACH_BPF"


def refused(result: Result, name: str) -> str:
    """Returns the kernel's reason for not applying a setting; empty if it was applied."""
    rows = result.tables["settings"].to_pylist()
    return str(next(row["refusal"] for row in rows if row["name"].endswith(name)))


@pytest.mark.usefixtures("emulation")
def test_every_recovery_of_the_imitated_sender_is_a_timeout(tmp_path: Path) -> None:
    cases = tuple(on_linux.Case(on_linux.IMITATED, feedback) for feedback in (NONE, INSTCAP))
    scenario = on_linux.scenario(5, 20, 2, cases)
    emulated = emulate(scenario, tmp_path / "run", side_by_side=4)
    if refused(emulated, FILTER):
        pytest.skip(f"duplicate ACKs cannot be kept from sockets here: {refused(emulated, FILTER)}")
    measured = measure(tmp_path / "run", tmp_path / "measured")

    # First by the kernel's report: it was never in fast recovery, and its timer did expire.
    states = set(emulated.tables["tcp_info"]["loss_state"].to_pylist())
    assert states <= {"open", "disorder", "loss"}, states
    flows = emulated.tables["flows"].to_pylist()
    assert sum(row["dropped_packets"] for row in flows) > 0
    assert sum(row["timeouts"] for row in flows) > 0

    # Then by the captures: every retransmission follows a timeout.
    sent = [row for row in measured.tables["connections"].to_pylist() if row["payload_bytes"] > 0]
    assert len(sent) == 4
    for row in sent:
        assert (
            row["fast_recoveries"],
            row["retransmissions_fast"],
            row["retransmissions_tail_probe"],
        ) == (0, 0, 0)
    told = sum(
        row["retransmissions_timeout"] + row["retransmissions_after_timeout"] for row in sent
    )
    assert told == sum(row["retransmitted_packets"] for row in sent) > 0

    # The route's minimum timeout is applied: a round trip and 0.8 s.
    info = emulated.tables["tcp_info"]
    known = column(info, "smoothed_rtt_s") > 0
    timeouts, trips = (column(info, name)[known] for name in ("rto_s", "smoothed_rtt_s"))
    tick = 0.01  # the kernel counts in ticks
    assert np.all(timeouts >= 0.8 + 0.2 - tick)
    assert np.all(trips >= 0.2 - tick)


@pytest.mark.usefixtures("emulation")
def test_the_example_is_answered_every_way_in_one_table(tmp_path: Path) -> None:
    scenario = load(EXAMPLE).replace({"duration": "6 s", "warmup": "1 s", "replicates": 2})
    comparison = each_method.compare(
        scenario,
        tmp_path / "compared",
        asked=("predict", "simulate", "emulate"),
        side_by_side=4,
        averages_unreliable=True,
    )
    rows = [row for row in comparison.rows if row.metric == "goodput"]
    told = [row.cells["predict"].prediction for row in rows]
    assert [one and one.model.name for one in told] == ["tcp_alone", "instcap"]
    assert [one and one.violated for one in told] == [(), ()]  # the loop is that of the analysis
    for row in rows:
        assert all(row.cells[method].is_known for method in ("predict", "simulate", "emulate"))
        assert set(row.residuals) == {"predict", "emulate"}
        # No flow gets more than the high rate.
        assert all(0 < cell.interval.mean < 460 / 500 * 800e3 for cell in row.cells.values())
