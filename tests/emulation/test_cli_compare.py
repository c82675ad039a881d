"""`ackclock compare` on this machine, with the kernel's own TCP.

It is skipped where no emulation is possible.
"""

import json
from pathlib import Path

import pytest

from ackclock import Result
from ackclock.comparison import WITHIN, each_method

from ..in_process import ackclock
from .short import SCENARIO

pytestmark = pytest.mark.usefixtures("emulation")

# Random loss keeps the windows small: a second is some 50 round trips. Both methods have the same
# losses.
CHANGES = (
    "--replicates",
    "4",
    "--set",
    'hops.there.impairments=[{ kind = "iid_loss", probability = "3 %" }]',
    "--set",
    'sweep={"flows.download.transport.control.kind" = ["reno", "cubic"]}',
)


def test_one_scenario_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(SCENARIO)
    arguments = ("compare", "short.toml", *CHANGES, "-o", "every", "--real-time", "9 s", "--json")
    outcome = ackclock(*arguments)
    assert outcome.exit_code in (0, 4), outcome.stderr
    assert any(
        line.startswith("emulate: 4 runs in real time, 8 s ")
        for line in outcome.stderr.splitlines()
    )
    answer = json.loads(outcome.stdout)
    methods = {method["name"]: method for method in answer["methods"]}
    assert methods["predict"]["answered"]
    assert (
        methods["emulate"]["why"] == "left out to stay within 9 s: 2 of 4 replicates of each point"
    )
    emulated = Result.load(tmp_path / "every" / "emulate")
    assert emulated.run["replicates"] == 2
    doubtful = emulated.unreliable
    assert outcome.exit_code == (4 if doubtful else 0)
    comparison = each_method.load(tmp_path / "every", averages_unreliable=True)
    rows = {(row.metric, row.point): row for row in comparison.rows}
    for point in (0, 1):
        goodput = rows["goodput", point]
        assert 0 < goodput.cells["emulate"].interval.mean < 10e6
        assert len(goodput.cells["simulate"].values) == 4
        assert len(goodput.cells["emulate"].values) == 2
        assert rows["rtt", point].cells["emulate"].interval.mean > 0.02
        for residual in (
            row.residuals["emulate"] for row in rows.values() if "emulate" in row.residuals
        ):
            assert residual.reference == "simulate"
            assert residual.standing == WITHIN or residual.difference.mean != 0
        for name in ("measure-simulate", "measure-emulate"):
            assert methods[name]["answered"], methods[name]["why"]
        cells = rows["retransmissions", point].cells  # the packets of these very runs
        own = cells["simulate"].interval.mean
        assert cells["measure-simulate"].interval.mean == pytest.approx(own, rel=0.02)
    # The kernel also counts what it sends after the capture has ended.
    measured = Result.load(tmp_path / "every" / "measure-emulate").tables["flows"].to_pylist()
    captured = {(row["point"], row["replicate"]): row for row in measured}
    for counted in emulated.tables["flows"].to_pylist():
        row = captured[counted["point"], counted["replicate"]]
        later = {
            name: counted[name] - row[name] for name in ("sent_packets", "retransmitted_packets")
        }
        assert 0 <= later["retransmitted_packets"] <= later["sent_packets"], (counted, row)
    assert ackclock("report", "every").exit_code == 0
    assert "Linux" in (tmp_path / "every" / "report.html").read_text()
    # The same command has nothing left to do.
    again = ackclock(*arguments)
    assert again.exit_code == outcome.exit_code
    assert "emulate: taken from every/emulate" in again.stderr
    assert again.stdout == outcome.stdout
