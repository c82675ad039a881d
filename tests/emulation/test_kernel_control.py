"""Controls that a scenario names and only the kernel has, and the kernel's counters of recovery."""

from pathlib import Path

import pytest

from ackclock import Result, Scenario, predict, simulate
from ackclock.capture.measurement import measure
from ackclock.comparison import each_method
from ackclock.run.emulation import emulate, replay

from ..refusals import refused
from . import short

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

#: Controls that the kernel offers. Those that a run loads come and go.
OFFERED = [
    name
    for name in (AVAILABLE.read_text("utf-8").split() if AVAILABLE.exists() else [])
    if not name.startswith("acc_")
]


def under(control: str, **changes: object) -> Scenario:
    """Returns the short scenario with one replicate under a control of the kernel."""
    named = {"flows.download.transport.control": {"kind": "kernel", "name": control}}
    return Scenario.from_toml(short.SCENARIO).replace({**named, "replicates": 1, **changes})


def test_the_simulator_refuses_it_and_says_what_to_choose() -> None:
    field = "flows.download.transport.control.name"
    with refused("unsupported", field, "ackclock emulate only", "reno"):
        simulate(under("bbr"))


def test_models_say_what_they_do_not_know_of_it() -> None:
    lossy = {"hops.there.impairments": [{"kind": "iid_loss", "probability": "1 %"}]}
    table = predict(under("cubic", **lossy)).tables["predictions"].to_pylist()
    assert {row["control"] for row in table} == {"kernel:cubic"}
    predictions = {row["model"]: row for row in table}
    for model in ("mathis", "pftk", "sawtooth", "cubic_response"):
        assert predictions[model]["goodput_bit_per_s"] is None, model
        assert predictions[model]["note"] == "kernel:cubic does not state how its window grows"


def test_a_comparison_leaves_out_what_cannot_answer(tmp_path: Path) -> None:
    compared = each_method.compare(
        under("bbr"), tmp_path / "compared", asked=["predict", "simulate"]
    )
    simulated = compared.columns["simulate"]
    assert simulated.result is None
    assert "ackclock emulate only" in simulated.why
    assert compared.columns["predict"].result is not None


@pytest.mark.usefixtures("emulation")
def test_every_control_that_the_kernel_offers_runs(tmp_path: Path) -> None:
    offered = short.each_on_its_own_path({name: {"name": name} for name in OFFERED})
    result = emulate(offered, tmp_path / "run")
    flows = result.tables["flows"].to_pylist()
    assert [flow["control"] for flow in flows] == [f"kernel:{name}" for name in OFFERED]
    assert [flow["control"] for flow in flows if not flow["delivered_bytes"]] == []
    own = [row for row in result.tables["settings"].to_pylist() if ".control" in row["name"]]
    assert own == [], "a scenario asks nothing else of it"
    assert replay(tmp_path / "run")[0]["difference"] is None


@pytest.mark.usefixtures("emulation")
def test_a_control_that_the_kernel_lacks_is_a_mistake_that_names_those_it_has(
    tmp_path: Path,
) -> None:
    field = "flows.download.transport.control.name"
    with refused("unknown-name", field, '"no_such"', "reno", "tcp_no_such"):
        emulate(under("no_such"), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def lossy(emulation: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in which a short queue and chance lose segments."""
    assert emulation is None
    folder = tmp_path_factory.mktemp("counted") / "run"
    changes = {
        "duration": "6 s",
        # It ends before the run, so that no packet is left between host and capture.
        "flows.download.traffic": {"kind": "transfer", "size": "2 MB"},
        "warmup": "1 s",
        "hops.there.queue.limit": "10 packets",
        "hops.there.impairments": [{"kind": "iid_loss", "probability": "1 %"}],
    }
    emulate(under("reno", **changes), folder)
    return folder


def counters(folder: Path, host: str) -> dict[str, tuple[int, int]]:
    """Returns the counts of a host, over the run and after the warm-up."""
    rows = Result.load(folder).tables["counters"].to_pylist()
    return {
        row["name"]: (row["value"], row["measured_value"]) for row in rows if row["host"] == host
    }


def test_retransmissions_are_those_of_the_socket_and_of_the_capture(
    lossy: Path, tmp_path: Path
) -> None:
    again, measured = counters(lossy, "senders")["RetransSegs"]
    [flow] = Result.load(lossy).tables["flows"].to_pylist()
    assert again > 3
    assert flow["retransmitted_packets"] == again
    assert 0 < measured <= again
    seen = measure(lossy, tmp_path / "measured").tables["connections"].to_pylist()
    assert sum(row["retransmitted_packets"] for row in seen) == again


def test_recovery_is_counted_at_the_host_that_does_it(lossy: Path) -> None:
    sent, received = counters(lossy, "senders"), counters(lossy, "receivers")
    assert sent.keys() == received.keys()
    assert {"TCPTimeouts", "TCPLossProbes", "TCPSpuriousRTOs", "TCPDSACKUndo"} <= sent.keys()
    assert sent["TCPSackRecovery"][0] > 0
    assert sent["TCPFastRetrans"][0] > 0
    assert sent["TCPOrigDataSent"][0] > sent["TCPFastRetrans"][0]
    assert received["RetransSegs"] == (0, 0) == received["TCPTimeouts"]
    [flow] = Result.load(lossy).tables["flows"].to_pylist()
    assert flow["timeouts"] == sent["TCPTimeouts"][0]
    for value, measured in (*sent.values(), *received.values()):
        assert 0 <= measured <= value
