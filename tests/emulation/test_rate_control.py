"""Datagrams under rate control between the emulated hosts; skipped where there are none.

The tests assert what must hold on any machine, however busy: conservation, order, and a session's
own report.
"""

from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, Scenario, load
from ackclock.metrics.tables import column
from ackclock.run.emulation import emulate, replay

pytestmark = pytest.mark.usefixtures("emulation")

EXAMPLE = Path(__file__).parents[2] / "examples" / "rate-control-on-linux.toml"
CONTROLS = {"CUBIC": "cubic", "TFRC": "tfrc", "TFRCP": "tfrcp"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shortened example, emulated once."""
    place = tmp_path_factory.mktemp("emulated") / "run"
    emulate(load(EXAMPLE).replace({"duration": "6 s", "warmup": "2 s", "replicates": 1}), place)
    return place


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return Result.load(folder)


def test_every_flow_has_its_control_and_delivers(result: Result) -> None:
    rows = result.tables["flows"].to_pylist()
    assert {row["flow"]: row["control"] for row in rows} == CONTROLS
    for row in rows:
        assert row["delivered_bytes"] > 0
        assert row["goodput_bit_per_s"] <= row["throughput_bit_per_s"] <= 11e6
        if row["flow"] == "CUBIC":
            continue
        payload = 1144 * row["sent_packets"]
        assert row["delivered_bytes"] <= payload, "nothing arrives that was not sent"
        assert row["retransmitted_packets"] == 0
        assert row["rtt_min_s"] >= 0.04, "two delays of 20 ms"
        assert row["rtt_min_s"] <= row["rtt_mean_s"] <= row["rtt_max_s"]
    assert all(row["timeouts"] is not None for row in rows)


def test_samples_show_what_the_controls_think(result: Result) -> None:
    for flow in ("TFRC", "TFRCP"):
        rows = result.rows("samples", flow=flow)
        times, sent, delivered = (
            column(rows, name) for name in ("time_s", "sent_packets", "delivered_bytes")
        )
        assert np.all(np.diff(times) > 0)
        assert np.all(np.diff(sent) >= 0)
        assert np.all(np.diff(delivered) >= 0)
        assert np.all(delivered <= 1144 * sent)
        assert np.all(column(rows, "allowed_rate_bit_per_s") > 0)
        round_trips = column(rows, "smoothed_rtt_s")
        assert np.nanmin(round_trips) >= 0.04
        assert np.all(np.isnan(column(rows, "cwnd_bytes"))), "there is no window"
    # The kernel's own table has its connections only.
    assert set(result.tables["tcp_info"]["flow"].to_pylist()) == {"CUBIC"}


def test_sizes_are_those_of_the_wire_format(result: Result) -> None:
    names = [row["name"] for row in result.tables["settings"].to_pylist()]
    assert not [name for name in names if "TFRC" in name and "transport" in name], (
        "the example says what is so"
    )


def test_the_hops_decided_as_they_decide_again(folder: Path) -> None:
    [run] = replay(folder)
    assert (run["difference"], run["complete"]) == (None, True)
    assert run["arrivals"] > 0


def test_sizes_that_the_format_does_not_have_are_told(tmp_path: Path) -> None:
    tree = load(EXAMPLE).replace({"duration": "1 s", "warmup": "0 s", "replicates": 1}).tree
    flow = next(flow for flow in tree["flows"] if flow["name"] == "TFRC")
    flow["transport"] |= {"header": "28 bytes"}
    settings = (
        emulate(Scenario(tree | {"flows": [flow]}), tmp_path / "run").tables["settings"].to_pylist()
    )
    by_name = {row["name"]: (row["asked"], row["refusal"]) for row in settings}
    assert by_name["flows.TFRC.transport.header"] == ("28 bytes", "the transport's has 84 bytes")
