"""Captures as evidence: what they show agrees with the run, and what they do not is not tested."""

from pathlib import Path

import numpy as np
import pytest

from ackclock import simulate, units
from ackclock.evaluation import Candidate, KeptMetrics, captured, load
from ackclock.evaluation.captured import judge_captures
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.measured import by_replicate
from tests.refusals import refused

from ..in_process import ackclock

SUITE = load("rfc9743")
SEEDS = 3


def captures(control: str, case: str, run: str, folder: Path, suite=SUITE) -> tuple:
    """Simulates the run of a case; returns the result, the run and its captures at senders."""
    folder.mkdir(exist_ok=True)
    (chosen,) = suite.chosen(case)
    setup = next(setup for setup in chosen.setups if setup.name == run)
    cell = Cell(case, setup, suite.paths[0], Candidate.read(control), 1, SEEDS)
    result = simulate(cell.scenario({}), pcap=folder)
    return result, setup, sorted(folder.glob("*senders*"))


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> KeptMetrics:
    return KeptMetrics(tmp_path_factory.mktemp("kept"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "run", "verdict"),
    [
        ("high-loss", "random loss", "pass"),
        ("collapse", "no feedback", "pass"),
        ("wireless", "bursts of loss", "pass"),
        ("transients", "a new rate", "pass"),
    ],
)
def test_a_capture_shows_what_the_run_has(
    tmp_path: Path, kept: KeptMetrics, case: str, run: str, verdict: str
) -> None:
    """Rates and counts of captures are within 1 % of the engine's, and the stall a sample."""
    result, setup, files = captures("reno", case, run, tmp_path)
    record = judge_captures(SUITE, SUITE.chosen(case)[0], run, files, kept)
    assert record["verdict"] == verdict, record
    scenario = result.points[0]["scenario"]
    measured = [
        captured._read(file, scenario["sample_interval"], scenario["warmup"]) for file in files
    ]
    tested = 0
    for criterion, check in zip(setup.criteria, record["checks"], strict=True):
        quantity = criterion.quantity
        if check["holds"] is None:
            assert quantity.subject == "bottleneck", "a capture shows no queues"
            assert check["found"].startswith("not tested: a capture does not show")
            continue
        tested += 1
        own = captured._values(quantity, measured, scenario, units.seconds(scenario["duration"]))
        of_run = by_replicate(result, quantity.metric)[0, "x"]
        expected = np.array([of_run[number] for number in range(SEEDS)])
        assert own == pytest.approx(
            expected, rel=0.01, abs=0.11 if "s" in quantity.metric.unit[:1] else 0.5
        ), quantity.key
    assert tested


@pytest.mark.slow
def test_a_control_that_gets_little_is_found_in_its_captures(
    tmp_path: Path, kept: KeptMetrics
) -> None:
    tiny = '{ kind = "reno", beta = 0.1 }'
    _, _, files = captures(tiny, "high-loss", "random loss", tmp_path)
    case = SUITE.chosen("high-loss")[0]
    record = judge_captures(SUITE, case, "random loss", files, kept)
    assert (record["verdict"], record["checks"][0]["holds"]) == ("concern", False)
    assert not record["reason"].endswith("would decide")
    alone = judge_captures(SUITE, case, "random loss", files[:1], kept)
    assert alone["verdict"] == "concern", "one capture decides nothing and shows something"
    assert alone["reason"].endswith("more captures would decide")


@pytest.mark.slow
def test_what_a_capture_does_not_fit_is_not_tested(tmp_path: Path, kept: KeptMetrics) -> None:
    _, _, files = captures("reno", "high-loss", "random loss", tmp_path)
    for case, run, words in (
        ("beside-standards", "", "does not tell your connections from those of other"),
        ("constrained", "", "ends at 69.9"),
        ("transients", "flows join", "holds 1 connection with data, and the path has 11"),
        ("standing-queue", "", "does not show p95 packet delay"),
    ):
        record = judge_captures(SUITE, SUITE.chosen(case)[0], run, files, kept)
        assert record["verdict"] == "does not apply", record
        assert words in record["reason"], record["reason"]


@pytest.mark.slow
def test_checks_of_a_trace_read_a_capture(tmp_path: Path) -> None:
    suite = load("bbr-draft")
    _, _, files = captures("bbr1", "policer", "", tmp_path, suite)
    record = judge_captures(suite, suite.chosen("policer")[0], "", files[:1])
    holds = [check["holds"] for check in record["checks"]]
    assert True in holds or False in holds, "loss and goodput are seen"
    plateau = judge_captures(suite, suite.chosen("startup-plateau")[0], "", files[:1])
    assert plateau["verdict"] == "does not apply"


def test_what_is_no_capture_is_refused(tmp_path: Path) -> None:
    case = SUITE.chosen("high-loss")[0]
    with refused("file", str(tmp_path / "none.pcap")):
        judge_captures(SUITE, case, "random loss", [tmp_path / "none.pcap"])
    with refused("unsupported", "--only"):
        judge_captures(SUITE, SUITE.chosen("multipath")[0], "", [tmp_path / "none.pcap"])


@pytest.mark.slow
def test_the_command_judges_captures(tmp_path: Path) -> None:
    _, _, files = captures("reno", "high-loss", "random loss", tmp_path)
    asked = [word for file in files for word in ("--capture", file)]
    outcome = ackclock("evaluate", *asked, "--only", "Q3:random loss")
    assert outcome.exit_code == 0, outcome.output
    assert "Evidence: captures point-0-replicate-0-senders.pcap, " in " ".join(
        outcome.stdout.split()
    )
