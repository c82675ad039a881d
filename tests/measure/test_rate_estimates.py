"""Rate estimators on captures: compared with the senders' own, and where they are undefined."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ackclock import Result, Scenario, load, measure, plot, simulate
from ackclock.cli import cli
from ackclock.elements.registry import registry

from ..refusals import check_refusal, refused

ROOT = Path(__file__).parents[2]

#: A control for each estimator.
CONTROLS = {
    "be": {"kind": "westwood_be"},
    "re": {"kind": "westwood_re"},
    "crb": {"kind": "westwood_crb"},
    "abse": {"kind": "westwood_abse"},
    "westwood_plus": {"kind": "westwood_plus"},
    "westwood_linux": {
        "kind": "westwood_plus", "estimator": {"kind": "westwood_linux"}, "cut": "at_recovery_end",
    },
}  # fmt: skip


def family(duration: str = "40 s", controls: Mapping[str, Any] = CONTROLS) -> Scenario:
    """Returns senders of each control over one bottleneck with random loss, too.

    They have SACK and timestamps.
    """
    hop = {"link": {"kind": "constant", "rate": "20 Mbit/s"}, "delay": "35 ms"}
    lossy = {"impairments": [{"kind": "iid_loss", "probability": "0.5 %"}]}
    flows = [
        {
            "name": name, "route": ["out"], "return": ["back"], "start": ["0 s", "1 s"],
            "transport": {"kind": "tcp", "preset": "linux-2012", "control": control,
                          "send_jitter": "400 us"},
        }
        for name, control in controls.items()
    ]  # fmt: skip
    return Scenario(
        {
            "schema": 1, "name": "family", "duration": duration, "warmup": "5 s", "replicates": 1,
            "seed": "3", "sample_interval": "100 ms", "flows": flows,
            "hops": [
                {"name": "out",
                 "queue": {"kind": "droptail", "limit": "170 packets"}} | hop | lossy,
                {"name": "back", "queue": {"kind": "droptail", "limit": "100000 packets"}} | hop,
            ],
        }
    )  # fmt: skip


def of_control_and_capture(
    simulated: Result, measurement: Result, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Returns a flow's estimates by its control and along its capture, at the same times."""
    rows = measurement.rows("rate_estimates", flow=name, estimator=name)
    captured = dict(
        zip(np.round(rows["time_s"], 6), rows["rate_bit_per_s"].to_numpy(), strict=True)
    )
    samples = simulated.rows("samples", flow=name)
    times = np.round(samples["time_s"], 6)
    reported = samples["rate_estimate_bit_per_s"].to_numpy()
    # The first round trips have at most one sample.
    shared = [row for row, time in enumerate(times) if time > 5 and time in captured]
    assert len(shared) > 300
    return reported[shared], np.array([captured[times[row]] for row in shared])


@pytest.mark.slow
def test_a_capture_at_the_sender_says_what_the_sender_said(
    measured: Callable[..., tuple[Result, Result]],
) -> None:
    simulated, measurement = measured(family(), estimators="all", models="square_root")
    far = {}
    for name in CONTROLS:
        reported, captured = of_control_and_capture(simulated, measurement, name)
        far[name] = np.abs(captured / reported - 1)
        # A capture shows the data in flight, which is less than the window by a fraction of a
        # segment. ABSE chooses T by the small difference between the window and what fits the path.
        # So there is no bound on its error.
        if name != "abse":
            assert captured.mean() == pytest.approx(reported.mean(), rel=0.05), name
    # A control reports integer bit/s.
    assert far["be"].max() < 1e-5
    assert far["westwood_plus"].max() < 1e-5
    assert np.quantile(far["westwood_linux"], 0.99) == 0
    # T is the smoothed round-trip time, in which the handshake is rounded differently.
    assert np.quantile(far["re"], 0.95) < 1e-4
    # One of two values, depending on the window.
    assert np.median(far["crb"]) < 1e-5


@pytest.mark.slow
def test_abse_of_pairs_does_not_look_at_the_window(
    measured: Callable[..., tuple[Result, Result]],
) -> None:
    """T is always the last pair of ACKs, so the rest of ABSE is as in the control."""
    of_pairs = {"kind": "abse", "sampling": "ack_pair"}
    controls = CONTROLS | {"pairs": {"kind": "westwood_abse", "estimator": of_pairs}}
    simulated, measurement = measured(
        family(controls=controls), estimators={"pairs": of_pairs}, models="square_root"
    )
    reported, captured = of_control_and_capture(simulated, measurement, "pairs")
    # The time constant depends on the smoothed round-trip time, as RE's T does.
    assert np.quantile(np.abs(captured / reported - 1), 0.95) < 1e-4


@pytest.mark.slow
def test_whose_window_is_in_doubt_is_still_one_of_the_two(
    measured: Callable[..., tuple[Result, Result]],
) -> None:
    _, measurement = measured(family(duration="10 s"), estimators="be,re,crb", models="square_root")
    rates = {
        name: measurement.rows("rate_estimates", flow="crb", estimator=name)[
            "rate_bit_per_s"
        ].to_numpy()
        for name in ("be", "re", "crb")
    }
    assert ((rates["crb"] == rates["be"]) | (rates["crb"] == rates["re"])).all()


def test_rows_have_the_keys_and_times_of_their_siblings(
    measured: Callable[..., tuple[Result, Result]],
) -> None:
    _, measurement = measured(
        family(duration="6 s"), estimators=["be", "abse"], interval="200 ms", models="square_root"
    )
    rows = measurement.tables["rate_estimates"]
    keys = ("point", "replicate", "flow", "instance", "time_s")
    samples = {
        tuple(row.values()) for row in measurement.tables["samples"].select(keys).to_pylist()
    }
    assert rows.num_rows > 0
    assert all(tuple(row.values()) in samples for row in rows.select(keys).to_pylist())
    assert set(rows["estimator"].to_pylist()) == {"be", "abse"}
    assert measurement.run["estimators"]["abse"]["parameters"]["horizon"] == 10
    assert measurement.run["warnings"] == []


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of a short simulation, at both ends."""
    folder = tmp_path_factory.mktemp("pcap")
    simulate(family(duration="6 s"), pcap=folder)
    return folder


def command(*words: object) -> str:
    ran = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.mark.slow
def test_away_from_the_sender_nothing_is_said_and_that_is_told(
    capture: Path, tmp_path: Path
) -> None:
    [receivers] = capture.glob("*receivers.pcap")
    printed = command("measure", receivers, "-o", tmp_path / "measured", "--estimators", "be")
    assert (
        f"no rate estimates of {len(CONTROLS)} directions with payload: not captured near the "
        "sender" in printed
    )
    measurement = Result.load(tmp_path / "measured")
    assert measurement.tables["rate_estimates"].num_rows == 0
    assert "rate_estimates" not in plot.figures(measurement)


@pytest.mark.slow
def test_of_a_lone_capture_at_the_senders_they_are_told(capture: Path, tmp_path: Path) -> None:
    [senders] = capture.glob("*senders.pcap")
    output = tmp_path / "measured"
    printed = command("measure", senders, "-o", output, "--estimators", "all", "--json")
    assert json.loads(printed)["partial"] is False
    measurement = Result.load(output)
    assert list(measurement.run["estimators"]) == [
        estimator["name"] for estimator in registry()["estimators"]
    ]
    assert len(set(measurement.tables["rate_estimates"]["flow"].to_pylist())) == len(CONTROLS)
    command("plot", output, "--kind", "rate_estimates", "-o", tmp_path / "estimates.svg")
    drawing = (tmp_path / "estimates.svg").read_text(encoding="utf-8")
    assert drawing.count("<path") > len(registry()["estimators"])
    command("report", output, "-o", tmp_path / "page.html")
    assert "rate_estimates" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_without_estimators_there_is_no_table_and_no_figure(capture: Path, tmp_path: Path) -> None:
    [senders] = capture.glob("*senders.pcap")
    measurement = measure(senders, tmp_path / "measured", models="square_root")
    assert "rate_estimates" not in measurement.tables
    assert measurement.run["estimators"] == {}
    ran = CliRunner().invoke(cli, ["plot", str(tmp_path / "measured"), "--kind", "rate_estimates"])
    check_refusal(ran, "no-data", "--kind", "--estimators")


def test_an_estimator_that_is_none_writes_nothing(capture: Path, tmp_path: Path) -> None:
    [senders] = capture.glob("*senders.pcap")
    output = tmp_path / "measured"
    with refused("unknown-name", "estimators.bee.kind", "bee", "be"):
        measure(senders, output, estimators="bee")
    ran = CliRunner().invoke(
        cli, ["measure", str(senders), "-o", str(output), "--estimators", "be,bee"]
    )
    check_refusal(ran, "unknown-name", "estimators.bee.kind", "bee", "be")
    assert not output.exists()
    shutil.rmtree(output, ignore_errors=True)


def test_ns2_senders_whose_captures_tell_no_place_are_known_to_be_there(
    measured: Callable[..., tuple[Result, Result]],
) -> None:
    scenario = load(ROOT / "examples" / "small-buffers.toml").expand()[-1].scenario
    changes = {"replicates": 1, "duration": "10 s", "warmup": "1 s"}
    _, measurement = measured(scenario.replace(changes), estimators="be", models="square_root")
    assert set(measurement.tables["connections"]["vantage"].to_pylist()) == {"unknown"}
    assert measurement.tables["rate_estimates"].num_rows > 50
