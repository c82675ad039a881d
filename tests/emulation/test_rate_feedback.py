"""Rate feedback with the kernel's own TCP: the example by every method.

It is skipped where this is impossible. The tests assert what must hold on any machine, however
busy: if the machine delays a packet, only the packet is late.
"""

from pathlib import Path

import pytest

from ackclock import load
from ackclock.comparison import each_method

EXAMPLE = Path(__file__).parents[2] / "examples" / "rate-feedback.toml"


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
    predictions = [row.cells["predict"].prediction for row in rows]
    assert [prediction and prediction.model.name for prediction in predictions] == [
        "tcp_alone",
        "instcap",
    ]
    # The loop is that of the analysis; six seconds are short for a mean.
    assert [prediction and prediction.violated for prediction in predictions] == [("long_run",)] * 2
    for row in rows:
        assert all(row.cells[method].is_known for method in ("predict", "simulate", "emulate"))
        assert set(row.residuals) == {"predict", "emulate"}
        # No flow gets more than the high rate.
        assert all(0 < cell.interval.mean < 460 / 500 * 800e3 for cell in row.cells.values())
