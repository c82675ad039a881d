"""The kernel's TCP through queues that control delay; skipped where this machine cannot."""

from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.run.emulation import emulate

from . import short

QUEUES = [
    {"kind": "codel"},
    {"kind": "fq_codel"},
    {"kind": "fq_codel", "ce_threshold": "1 ms"},
    {"kind": "fq", "flow_limit": "20 packets"},
    {"kind": "pie", "burst_allowance": "0 s"},
    {"kind": "fq_pie", "burst_allowance": "0 s"},
    {"kind": "pi2"},
    {"kind": "dualpi2", "arithmetic": "linux"},
    {"kind": "cake"},
    {"kind": "step_marking", "threshold": "5 ms", "limit": "400 packets"},
]


@pytest.mark.usefixtures("emulation")
def test_a_flow_through_each_queue_is_controlled_and_replays(tmp_path: Path) -> None:
    """The fixture checks that each run decides the same when it is replayed."""
    swept = {
        "replicates": 1,
        "sweep": {"hops.there.queue": QUEUES},
    }
    scenario = Scenario.from_toml(short.SCENARIO).replace(swept)
    result = emulate(scenario, tmp_path / "run", side_by_side=4)
    rows = result.tables["hops"].to_pylist()
    for point, queue in enumerate(QUEUES):
        last = [row for row in rows if (row["point"], row["hop"]) == (point, "there")][-1]
        assert last["departures"] > 0, queue
        if (point, 0) not in result.unreliable:  # there the machine may have held the sender back
            # The flow cannot be marked, so the limit of fq is all that controls it.
            early = "drops_queue" if queue["kind"] == "fq" else "drops_aqm"
            assert last[early] + last["marks"] > 0, queue
