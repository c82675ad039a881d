"""`ackclock regressions`, and the script of action.yml as a workflow runs it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import Scenario

from ..in_process import ackclock
from ..refusals import check, error_of

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "regressions"
CHANGES = {"sweep": {}, "duration": "8 s", "warmup": "1 s", "replicates": 5}
LOSS = "hops.wireless.impairments.0.probability"


@pytest.fixture
def place(leaky_pipe: Scenario, tmp_path: Path) -> Path:
    """A repository with a scenario and its baseline."""
    (tmp_path / "ci").mkdir()
    write(tmp_path, leaky_pipe, "1 %")
    outcome = ackclock("regressions", "ci/leaky.toml", "--update", place=tmp_path)
    assert outcome.exit_code == 0, outcome.stderr
    return tmp_path


def write(place: Path, scenario: Scenario, loss: str) -> None:
    changed = scenario.replace(CHANGES).replace({LOSS: loss})
    (place / "ci" / "leaky.toml").write_text(changed.to_toml(), encoding="utf-8")


def workflow(place: Path, **inputs: str) -> tuple[int, str, str]:
    """Runs the script of the action; returns exit code, summary and standard error."""
    summary = place / "summary.md"
    summary.unlink(missing_ok=True)
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(place),
        "GITHUB_STEP_SUMMARY": str(summary),
    } | {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
    done = subprocess.run(
        [SCRIPT], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    text = summary.read_text(encoding="utf-8") if summary.exists() else ""
    return done.returncode, text, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="not in a repository")
def test_a_workflow_fails_by_a_fall_of_goodput(place: Path, leaky_pipe: Scenario) -> None:
    bounds = "goodput < -3 %\nrtt > 50 %\n"
    code, summary, errors = workflow(place, scenarios="ci/*.toml\n", fail_if=bounds)
    assert code == 0, errors
    assert summary.count(":white_check_mark:") == 2
    write(place, leaky_pipe, "5 %")
    code, summary, errors = workflow(place, scenarios="ci/*.toml\n", fail_if=bounds)
    assert code == 4
    [row] = [line for line in summary.splitlines() if ":x:" in line]
    assert re.match(r"\| :x: \| leaky \| goodput < -3 % \| main \| .* \| −\d+ .*% ≠ \|$", row)
    assert f"`leaky` was changed, too: {LOSS} 1 % → 5 %" in summary
    assert "ackclock: leaky: goodput of main in now fell by" in errors
    pages = place / "out" / "regressions" / "leaky-compared"
    assert (pages / "report.html").exists()
    assert (pages / "differences.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.exists(), reason="not in a repository")
def test_a_workflow_updates_its_baseline(place: Path, leaky_pipe: Scenario) -> None:
    write(place, leaky_pipe, "5 %")
    inputs = {"scenarios": "ci/leaky.toml", "baseline": "kept", "output": "pages"}
    code, summary, errors = workflow(place, **inputs)
    assert code == 2  # No scenario has a baseline: nothing was compared.
    assert "`leaky` has no baseline in `kept`" in summary
    assert "--update" in errors
    assert workflow(place, update="true", **inputs)[0] == 0
    assert workflow(place, **inputs)[0] == 0


@pytest.mark.skipif(not SCRIPT.exists(), reason="not in a repository")
def test_the_action_gives_the_script_every_input() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = re.findall(r"^  ([a-z-]+):$", action.split("\nruns:")[0], re.MULTILINE)
    assert len(inputs) > 5
    passed = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", action))
    assert passed == set(inputs)
    script = SCRIPT.read_text(encoding="utf-8")
    for name in set(inputs) - {"version", "artifact"}:
        assert f"INPUT_{name.upper().replace('-', '_')}" in script


@pytest.mark.long
def test_a_control_is_evaluated_against_the_baseline(tmp_path: Path) -> None:
    words = ("regressions", "--evaluate", "bbr1", "--suite", "bbr-draft", "-o", "out")
    suite = tmp_path / "baseline" / "evaluate-bbr1" / "evaluation.json"
    assert ackclock(*words, "--update", place=tmp_path).exit_code == 0
    assert suite.exists()
    outcome = ackclock(*words, "--summary", "summary.md", place=tmp_path)
    assert outcome.exit_code in (0, 4), outcome.stderr
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "### Evaluation `evaluate-bbr1`" in summary
    assert "Against baseline/evaluate-bbr1/evaluation.json" in summary


@pytest.mark.parametrize(
    ("arguments", "code", "field", "words"),
    [
        ("", "missing", "SCENARIO", "--evaluate CONTROL"),
        ("ci/leaky.toml --suite rfc9743", "contradiction", "--suite", "--evaluate"),
        ("ci/leaky.toml --fail-if goodput<3%", "out-of-range", "--fail-if", "< -3%"),
        ("ci/leaky.toml --fail-if goodput(mian)<-3%", "no-data", "--fail-if", '"mian"'),
        ("ci/lost.toml", "file", "ci/lost.toml", "no such file"),
        ("ci/leaky.toml other/leaky.toml", "contradiction", "ci/leaky.toml", "rename"),
    ],
)
def test_mistakes_are_one_line(
    place: Path, arguments: str, code: str, field: str, words: str
) -> None:
    outcome = ackclock("regressions", *arguments.split(), place=place)
    assert outcome.exit_code == 2
    check(error_of(outcome), code, field, words)
