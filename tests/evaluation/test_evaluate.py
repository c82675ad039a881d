"""The command, end to end, on a few cheap cases."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import Result as Outcome

from ackclock import __version__, units
from ackclock.evaluation import Candidate, Plan, followed, load, runner
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.page import page
from ackclock.report.section import Live
from tests.test_report import Checker

from ..damage import DAMAGE
from ..in_process import ackclock
from ..refusals import check_refusal

DRAFT = ("--suite", "bbr-draft")
CASES = "startup-plateau,drain-time,up-plateau,probe-rtt-in-startup"


@pytest.fixture(name="evaluated", scope="module")
def _evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("evaluated") / "bbr1"
    outcome = ackclock("evaluate", "bbr1", *DRAFT, "--only", CASES, "--seeds", 2, "-o", folder)
    return folder, outcome


@pytest.fixture(name="evaluation", scope="module")
def _evaluation(evaluated: tuple[Path, Outcome]) -> dict:
    return json.loads((evaluated[0] / "evaluation.json").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_bbr1_passes_what_is_stated_of_startup(evaluated, evaluation: dict) -> None:
    _, outcome = evaluated
    assert outcome.exit_code == 0, outcome.stderr
    verdicts = {case["id"]: case["verdict"] for case in evaluation["cases"]}
    assert verdicts == {
        "startup-plateau": "pass",
        "drain-time": "does not apply",
        "up-plateau": "does not apply",
        "probe-rtt-in-startup": "pass",
    }
    reason = next(case for case in evaluation["cases"] if case["id"] == "up-plateau")["reason"]
    assert reason.startswith("bbr1 has no full_bw_now; its states are STARTUP, DRAIN")


@pytest.mark.slow
def test_the_numbers_are_those_of_the_path(evaluation: dict) -> None:
    startup = evaluation["cases"][0]["runs"][0]["checks"]
    rate = next(check for check in startup if check["says"].startswith("max_bw"))
    payload = 10e6 * 1448 / 1500
    assert rate["unit"] == "bit/s"
    assert 0.98 * payload < rate["value"] < 1.02 * payload
    assert (rate["holds"], rate["held"], rate["of"]) == (True, 2, 2)


def test_the_form_of_the_data_is_stable(evaluation: dict) -> None:
    assert evaluation["schema"] == runner.SCHEMA == 2
    assert list(evaluation) == [
        "schema", "partial", "suite", "control", "references", "command", "version", "build",
        "evaluated", "full", "wide", "seeds", "paths", "counts", "badge", "against", "emulated",
        "failed", "concerns", "cases", "digest",
    ]  # fmt: skip
    assert list(evaluation["suite"]) == [
        "name", "title", "source", "revision", "date", "url", "noun", "notes", "demands",
        "digest",
    ]  # fmt: skip
    assert list(evaluation["control"]) == ["kind", "label", "reference", "parameters"]
    (case, *_) = evaluation["cases"]
    assert list(case) == [
        "id", "number", "section", "title", "stated", "ours", "defect", "path", "verdict",
        "reason", "evaluated", "runs", "address", "figures",
    ]  # fmt: skip
    (run,) = case["runs"]
    assert list(run) == [
        "name", "checks", "criteria", "figure", "verdict", "reason", "seeds", "figure_seed",
        "scenario",
    ]  # fmt: skip
    assert list(run["checks"][0]) == [
        "says", "origin", "number", "kind", "holds", "held", "of", "found", "value", "unit",
        "at_s", "seed",
    ]  # fmt: skip
    assert evaluation["version"] == __version__
    assert evaluation["seeds"] == [1, 2]
    assert evaluation["control"]["parameters"]["drain_gain"] == 88


def test_the_page_can_be_quoted_and_stands_alone(evaluated, evaluation: dict) -> None:
    folder = evaluated[0]
    text = (folder / "index.html").read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert (checker.open, checker.outside) == ([], [])
    assert len(set(checker.ids)) == len(checker.ids)
    assert "<script src" not in text
    for words in (
        "draft-ietf-ccwg-bbr-06", "2026-07-06", __version__, evaluation["evaluated"],
        "seeds 1 to 2", "drain_gain 88", evaluation["suite"]["digest"], f"--only {CASES}",
    ):  # fmt: skip
        assert words in text, words
    assert text.count("ResizeObserver") == 1, "the script is there once"
    figures = {
        run["figure"]: [
            Live(**figure) for figure in json.loads((folder / run["figure"]).read_text())
        ]
        for case in evaluation["cases"]
        for run in case["runs"]
        if run["figure"]
    }
    assert page(evaluation, figures) == text, "a function of the data"
    assert len(figures) == 5
    assert text.count("<figure") == 2 * len(figures), "data and rates of each run"


def test_the_terminal_shows_verdicts_and_where_to_look(evaluated) -> None:
    folder, outcome = evaluated
    assert re.search(r"1 +STARTUP ends when .*✓ pass", outcome.stdout)
    assert "BBRv1 on path P0, 4 cases: 2 pass, 2 that do not apply." in outcome.stdout
    assert str(folder / "index.html") in outcome.stdout


def test_nothing_is_run_twice(evaluated, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, first = evaluated

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("it was run again")

    monkeypatch.setattr(followed, "simulate", refuse)
    again = ackclock("evaluate", "bbr1", *DRAFT, "--only", CASES, "--seeds", 2, "-o", folder)
    assert (again.exit_code, again.stdout) == (0, first.stdout)


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_record_is_made_again(
    evaluated, evaluation: dict, tmp_path: Path, damage: str
) -> None:
    place = tmp_path / "copied"
    shutil.copytree(evaluated[0], place)
    (record,) = place.glob("cases/drain-time.*/record.json")
    DAMAGE[damage](record)
    again = ackclock("evaluate", "bbr1", *DRAFT, "--only", CASES, "--seeds", 2, "-o", place)
    assert again.exit_code == 0, again.stderr
    written = json.loads((place / "evaluation.json").read_text(encoding="utf-8"))
    assert written["cases"] == evaluation["cases"]


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_mark_is_named_or_written_again(
    evaluated, evaluation: dict, tmp_path: Path, damage: str
) -> None:
    place = tmp_path / "copied"
    shutil.copytree(evaluated[0], place)
    DAMAGE[damage](place / "evaluation.json")
    again = ackclock("evaluate", "bbr1", *DRAFT, "--only", CASES, "--seeds", 2, "-o", place)
    assert again.exit_code == 2
    assert len(again.stderr.splitlines()) == 1
    forced = ackclock(
        "evaluate", "bbr1", *DRAFT, "--only", CASES, "--seeds", 2, "-o", place, "--force"
    )
    assert forced.exit_code == 0, forced.stderr
    written = json.loads((place / "evaluation.json").read_text(encoding="utf-8"))
    assert written["cases"] == evaluation["cases"]


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate, calls = followed.simulate, []

    def interrupted(*arguments: object, **options: object):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return simulate(*arguments, **options)

    monkeypatch.setattr(followed, "simulate", interrupted)
    arguments = ("evaluate", "reno", *DRAFT, "--only", "1,5", "--seeds", 1, "-o", tmp_path / "reno")
    outcome = ackclock(*arguments)
    assert outcome.exit_code == 130
    assert "1 case done: the same command continues" in outcome.stderr
    written = json.loads((tmp_path / "reno" / "evaluation.json").read_text())
    assert (written["partial"], len(written["cases"])) == (True, 1)
    assert "interrupted" in (tmp_path / "reno" / "index.html").read_text()
    monkeypatch.setattr(followed, "simulate", simulate)
    assert ackclock(*arguments).exit_code == 0


@pytest.mark.parametrize(
    ("control", "code", "field"),
    [
        ("bbr9", "unknown-name", "CONTROL"),
        ('{ kind = "bbr9" }', "unknown-name", "CONTROL.kind"),
        ('{ kind = "bbr1", bandwidth_round = 5 }', "unknown-field", "CONTROL.bandwidth_round"),
        ("{ kind =", "syntax", "CONTROL"),
        ("quic:quinn", "syntax", "CONTROL"),
        ("quic:quinn/reno", "unknown-name", "CONTROL"),
        ("quic:quinn/ackclock:dctcp", "unsupported", "CONTROL"),
        ("quic:absent/reno", "unsupported", "CONTROL"),
        (
            '{ kind = "quic", stack = "quinn", control = "bbr", mtu = 1 }',
            "unknown-field",
            "CONTROL.mtu",
        ),
    ],
)
def test_a_control_that_is_none_is_refused(control: str, code: str, field: str) -> None:
    check_refusal(ackclock("evaluate", control), code, field)


def test_what_is_compared_with_is_an_evaluation_or_a_control(tmp_path: Path) -> None:
    outcome = ackclock("evaluate", "reno", "--against", "nowhere", "-o", tmp_path / "reno")
    check_refusal(outcome, "unknown-name", "--against", "neither an evaluation nor a control")
    assert not (tmp_path / "reno").exists()
    (tmp_path / "evaluation.json").write_text("{}")
    outcome = ackclock("evaluate", "reno", "--against", tmp_path, "-o", tmp_path / "reno")
    assert (outcome.exit_code, len(outcome.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class Only:\n    pass\n", "Only"),
        ("class Helper:\n    pass\nclass Mine(Helper):\n    pass\n", "Mine"),
        ("class A(B):\n    pass\nclass C(B):\n    pass\n", ""),
        ("x = 1\n", ""),
    ],
)
def test_the_class_of_a_file_is_found(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    outcome = ackclock("evaluate", file, "--only", "Q2")
    assert outcome.exit_code == 2
    asked = f"class {name} has no" if name else "classes; name one"
    assert asked in outcome.stderr


def test_another_evaluation_is_not_replaced_unasked(evaluated) -> None:
    folder, _ = evaluated
    outcome = ackclock("evaluate", "reno", *DRAFT, "--only", "1", "--seeds", 1, "-o", folder)
    assert outcome.exit_code == 2
    assert "holds another evaluation" in outcome.stderr


@pytest.mark.slow
def test_a_control_that_fails_gives_4(tmp_path: Path) -> None:
    # A window of four segments at most leaves the link idle.
    control = '{ kind = "bbr1", cwnd_gain = 1, startup_gain = 300 }'
    outcome = ackclock(
        "evaluate", control, *DRAFT, "--only", "rate-up", "--seeds", 1, "-o", tmp_path / "slow"
    )
    assert outcome.exit_code == 4, outcome.stdout
    assert "fail: rate-up" in outcome.stderr


@pytest.mark.slow
def test_a_control_of_ones_own_is_named(tmp_path: Path) -> None:
    control = '{ kind = "kernel", shipped = "aimd" }'
    folder = tmp_path / "own"
    outcome = ackclock("evaluate", control, *DRAFT, "--only", "policer", "--seeds", 1, "-o", folder)
    assert "\nbpf:aimd on path " in outcome.stdout
    evaluation = json.loads((folder / "evaluation.json").read_text())
    assert evaluation["control"]["label"] == "bpf:aimd"
    assert "<h1>bpf:aimd: " in (folder / "index.html").read_text()


@pytest.mark.slow
def test_an_implementation_of_quic_is_judged_by_what_any_control_shows(tmp_path: Path) -> None:
    folder = tmp_path / "quinn"
    outcome = ackclock(
        "evaluate", "quic:quinn/cubic", *DRAFT, "--only", "startup-plateau,policer", "--seeds", 1,
        "-o", folder,
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.stderr
    evaluation = json.loads((folder / "evaluation.json").read_text())
    verdicts = {case["id"]: case["verdict"] for case in evaluation["cases"]}
    assert verdicts == {"startup-plateau": "does not apply", "policer": "pass"}
    control = evaluation["control"]
    assert (control["kind"], control["label"]) == ("quinn/cubic", "quinn/cubic")
    assert control["reference"].startswith("quinn-proto ")
    assert control["parameters"]["stack"] == "quinn"
    policer = next(case for case in evaluation["cases"] if case["id"] == "policer")
    assert policer["runs"][0]["figure"]


def test_the_second_run_enters_the_state_at_the_same_time() -> None:
    suite = load("bbr-draft")
    setup = suite.chosen("drain-time")[0].setups[1]
    candidate = Candidate.of_tcp({"kind": "bbr1"})
    plan = Plan(suite, suite.cases, candidate, suite.paths[:1], (1,))
    ran = followed.follow(Cell("drain-time", setup, suite.paths[0], candidate, 1), plan.dialect)
    (entered,) = setup.events[0].moment.times_s(ran.trace)
    assert entered == pytest.approx(ran.times["slower"], abs=1e-9)
    half = ran.scenario.resolve().tree["hops"][0]["link"]["steps"][1]
    assert units.seconds(half["from"]) == pytest.approx(entered, abs=1e-9)
    assert half["rate"] == "5 Mbit/s"


def test_a_path_that_holds_too_little_is_told_so() -> None:
    suite = load("bbr-draft")
    (case,) = suite.chosen("startup-plateau")
    path = next(path for path in suite.paths if path.name == "slow and near")
    cell = Cell(case.id, case.setups[0], path, Candidate.of_tcp({"kind": "bbr1"}), 1)
    assert runner._too_large(case, cell) == (
        "the path holds 0.417 packets, and the case needs 10 at least"
    )


def test_a_path_with_bursts_has_all_cases_and_a_distant_one_not() -> None:
    suite = load("bbr-draft")
    plan = Plan(suite, suite.cases, Candidate.of_tcp({"kind": "bbr3"}), suite.paths, (1,))
    cases: dict[str, set[str]] = {}
    for case, path in plan.parts():
        cases.setdefault(path.name, set()).add(case.id)
    everything = {case.id for case in suite.cases}
    assert cases["P0 with bursts"] == everything
    own_rate = {"sub-packet", "rate-up", "rate-down", "policer"}
    assert cases["slow and far"] == everything - own_rate
    for path in suite.paths:
        cell = Cell("startup-plateau", suite.cases[0].setups[0], path, plan.candidate, 1)
        [flow] = cell.scenario({}).tree["flows"]
        bursts = path.name == "P0 with bursts"
        assert flow["transport"]["segmentation_offload"] is bursts, path.name


def test_list_names_every_case() -> None:
    outcome = ackclock("evaluate", "--list", *DRAFT, "--json")
    assert [case["number"] for case in json.loads(outcome.stdout)] == [str(n) for n in range(1, 23)]


@pytest.mark.slow
def test_a_rate_control_is_judged_by_samples(tmp_path: Path) -> None:
    outcome = ackclock(
        "evaluate", "tfrc", *DRAFT, "--only", "1,policer", "--seeds", 1, "-o", tmp_path / "tfrc"
    )
    evaluation = json.loads((tmp_path / "tfrc" / "evaluation.json").read_text())
    verdicts = {case["id"]: case["verdict"] for case in evaluation["cases"]}
    assert verdicts["startup-plateau"] == "does not apply", outcome.stderr
    assert evaluation["cases"][1]["runs"][0]["checks"], "goodput and loss"
