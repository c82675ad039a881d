"""The verdicts of the suite of RFC 9743 on controls whose faults are known.

The lines are those of section 10 of the specification of evaluations, except where a comment says
otherwise. Seeds are few: the differences are large.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.evaluation import Candidate, Plan, evaluate, load, measured
from ackclock.evaluation.campaign import Campaign
from ackclock.evaluation.verdict import Verdict

from ..controls.test_python import RENO
from ..in_process import ackclock

pytestmark = pytest.mark.long

FAULTS = f"""{RENO}

class Blind(Mine):
    def ssthresh(self, call):
        return max(call.cwnd, 2)


class Fixed(Mine):
    def cong_avoid(self, call):
        call.cwnd = 1000

    def ssthresh(self, call):
        return 1000


class Twice(Mine):
    def ssthresh(self, call):
        return max(call.cwnd // 4, 2)


class Growing(Mine):
    def cong_avoid(self, call):
        call.cwnd += call.argument[1]
"""


class Patient(Candidate):
    """Reno whose timeout never backs off."""

    @property
    def transport(self) -> dict:
        return {**super().transport, "rto_maximum": "200 ms"}


class Deaf(Candidate):
    """A sender at the rate of the link, whatever happens."""

    def flow(self, flow: Mapping, options: Mapping) -> dict:
        del options
        traffic = {"kind": "cbr", "rate": "rate", "packet_size": "1448 bytes"}
        return {**flow, "transport": {"kind": "udp"}, "traffic": traffic}


def verdicts(control: str | Candidate, only: str, folder: Path, seeds: int = 3) -> dict[str, str]:
    suite = load("rfc9743")
    candidate = Candidate.read(control) if isinstance(control, str) else control
    plan = Plan(suite, suite.chosen(only), candidate, suite.paths, (*range(1, seeds + 1),))
    record, complete = evaluate(plan, folder)
    assert complete
    return {case["number"]: case["verdict"] for case in record["cases"]}


@pytest.fixture(name="faults", scope="module")
def _faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("faults") / "faults.py"
    file.write_text(FAULTS)
    return file


def test_a_reference_passes_against_itself(tmp_path: Path) -> None:
    by_number = verdicts("cubic", "", tmp_path / "cubic")
    # Marks that a receiver hides are known to deceive CUBIC: no criterion relative to itself.
    assert by_number.pop("Q19") == Verdict.KNOWN
    assert set(by_number.values()) == {Verdict.PASS, Verdict.NOT}
    assert [number for number, verdict in by_number.items() if verdict == Verdict.NOT] == [
        "Q9", "Q12", "Q23",
    ]  # fmt: skip
    record = json.loads((tmp_path / "cubic" / "evaluation.json").read_text())
    (beside,) = (case for case in record["cases"] if case["number"] == "Q6")
    for cell in beside["runs"][0]["criteria"][0]["cells"]:
        assert cell["mean"] == cell["references"]["cubic"]["mean"], "no harm"


def test_two_flows_of_the_reference_share_alike(tmp_path: Path) -> None:
    verdicts("cubic", "Q6", tmp_path, seeds=20)
    record = json.loads((tmp_path / "evaluation.json").read_text())
    alike = [
        cell["mean"]
        for case in record["cases"]
        for cell in case["runs"][0]["criteria"][0]["cells"]
        if cell["cell"].startswith("other cubic, 1 of x, 1 of other")
    ]
    # Half of the payload, within 2 % of the link: section 10. Over four products of buffer the
    # share of a run has a standard deviation of 9 %, so that three seeds would not tell.
    assert alike == pytest.approx([0.5 * 1448 / 1500 * 10e6] * 3, abs=0.02 * 10e6)


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        # A window that reacts to no loss fills every buffer, as CUBIC does: its median is longer.
        (
            "Fixed",
            {"Q1": Verdict.FAIL, "Q2": Verdict.CONCERN, "Q3": Verdict.FAIL, "Q6": Verdict.FAIL},
        ),
        # It gives up three quarters at a loss, as who reacts twice does.
        ("Twice", {"Q2": Verdict.PASS, "Q3": Verdict.CONCERN, "Q6": Verdict.PASS}),
        ("Blind", {"Q3": Verdict.FAIL, "Q6": Verdict.FAIL}),
        ("Growing", {"Q3": Verdict.FAIL, "Q6": Verdict.FAIL}),
    ],
)
def test_a_planted_fault_fails_its_question(
    faults: Path, tmp_path: Path, control: str, expected: dict[str, str]
) -> None:
    by_number = verdicts(f"{faults}:{control}", ",".join(expected), tmp_path / control)
    assert by_number == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Patient, {"Q1": Verdict.FAIL, "Q2": Verdict.PASS, "Q6": Verdict.PASS}),
        (Deaf, {"Q1": Verdict.FAIL, "Q3": Verdict.FAIL, "Q6": Verdict.FAIL}),
    ],
)
def test_a_fault_of_the_sender_fails_its_question(
    kind: type[Candidate], expected: dict[str, str], tmp_path: Path
) -> None:
    sender = kind("reno", {"kind": "reno", "alpha": 1.0})
    assert verdicts(sender, ",".join(expected), tmp_path / "fault") == expected
    record = json.loads((tmp_path / "fault" / "evaluation.json").read_text())
    runs = {run["name"]: run["verdict"] for run in record["cases"][0]["runs"]}
    assert runs["no feedback"] == Verdict.FAIL
    if kind is Deaf:
        criteria = record["cases"][-1]["runs"][0]["criteria"]
        assert {entry["metric"]: entry["grade"] for entry in criteria}["starved_share"] != "holds"


def test_reno_is_slow_to_fill_a_gigabit(tmp_path: Path) -> None:
    """From 100 Mbit/s to 1 Gbit/s at 100 ms: a segment more each round trip takes minutes."""
    suite = load("rfc9743")
    (case,) = suite.chosen("Q21")
    (setup, _) = case.setups
    cell = {
        "hops.bottleneck.link.steps.1.rate": ("10 * rate",), "values.rate": ("100 Mbit/s",),
        "values.round_trip": ("100 ms",),
    }  # fmt: skip
    only = replace(case, setups=(replace(setup, campaign_grid=cell),))
    plan = Plan(suite, (only,), Candidate.read("reno"), suite.paths, (1, 2, 3))
    record, _ = evaluate(replace(plan, campaign=Campaign()), tmp_path)
    (used,) = (
        criterion
        for criterion in record["cases"][0]["runs"][0]["criteria"]
        if criterion["metric"] == "utilisation"
    )
    assert used["grade"] in ("missed", "far"), used["found"]
    assert record["cases"][0]["verdict"] in (Verdict.CONCERN, Verdict.FAIL)


def test_a_control_without_fault_fails_none_of_them(faults: Path, tmp_path: Path) -> None:
    by_number = verdicts(f"{faults}:Mine", "Q2,Q6", tmp_path / "reno")
    assert Verdict.FAIL not in by_number.values()


def test_version_1_of_bbr_fails_where_the_rfc_says_so(tmp_path: Path) -> None:
    by_number = verdicts("bbr1", "Q3,Q6", tmp_path / "bbr1")
    assert by_number["Q3"] == Verdict.FAIL
    assert by_number["Q6"] in (Verdict.CONCERN, Verdict.FAIL)


def test_ledbat_gives_way(tmp_path: Path) -> None:
    verdicts("ledbat", "Q6", tmp_path / "ledbat")
    record = json.loads((tmp_path / "ledbat" / "evaluation.json").read_text())
    criteria = record["cases"][0]["runs"][0]["criteria"]
    (starved,) = (entry for entry in criteria if entry["metric"] == "starved_share")
    assert max(cell["mean"] for cell in starved["cells"]) == 0.0
    # Where its delay fits into the buffer, it leaves four fifths to a flow of CUBIC, and to one
    # of Reno, whose queue is shorter, 70 %.
    (kept,) = (entry for entry in criteria if entry["metric"] == "goodput")
    left = {
        cell["cell"]: cell["mean"] / (1448 / 1500 * 10e6)
        for cell in kept["cells"]
        if cell["cell"].endswith("1 of x, 1 of other, buffer 4")
    }
    assert min(left.values()) > 0.7
    assert left["other cubic, 1 of x, 1 of other, buffer 4"] > 0.8
    verdicts("ledbat", "Q2", tmp_path / "alone")
    record = json.loads((tmp_path / "alone" / "evaluation.json").read_text())
    (deep,) = (
        cell["mean"]
        for cell in record["cases"][0]["runs"][0]["criteria"][0]["cells"]
        if cell["cell"] == "buffer 4, 1 of x"
    )
    assert deep == pytest.approx(0.1, rel=0.05), "its target"


def test_dctcp_without_marks_is_reno(tmp_path: Path) -> None:
    """A band of 10 %: their windows after a loss differ by the rounding of a share (DCTCP)."""
    verdicts("dctcp", "Q10", tmp_path / "dctcp", 5)
    record = json.loads((tmp_path / "dctcp" / "evaluation.json").read_text())
    for cell in record["cases"][0]["runs"][0]["criteria"][0]["cells"]:
        assert cell["mean"] == pytest.approx(cell["references"]["reno"]["mean"], rel=0.1)


def test_prague_behind_drop_tail_is_reno(tmp_path: Path) -> None:
    """A band of 10 %: it paces, and its window grows with the square of the round trip."""
    verdicts("prague", "Q3", tmp_path / "prague", 3)
    record = json.loads((tmp_path / "prague" / "evaluation.json").read_text())
    for cell in record["cases"][0]["runs"][0]["criteria"][1]["cells"]:
        assert cell["mean"] == pytest.approx(cell["references"]["reno"]["mean"], rel=0.1)


def test_a_rate_control_is_evaluated_where_the_question_fits(tmp_path: Path) -> None:
    by_number = verdicts("tfrc", "Q18,Q20,Q25", tmp_path / "tfrc", 2)
    assert by_number["Q25"] == Verdict.NOT
    record = json.loads((tmp_path / "tfrc" / "evaluation.json").read_text())
    reasons = {case["number"]: case["reason"] for case in record["cases"]}
    assert reasons["Q25"].startswith('cannot be run: flows.x.traffic.kind: "rpc"')
    assert record["control"]["label"] == "TFRC"
    # It retransmits nothing, and no timeout ends it.
    (case,) = (case for case in record["cases"] if case["number"] == "Q18")
    grades = {entry["metric"]: entry["grade"] for entry in case["runs"][0]["criteria"]}
    assert grades == {"useful_share": "holds", "timeouts": "holds"}
    assert by_number["Q20"] in (Verdict.PASS, Verdict.CONCERN)


def test_an_interrupted_evaluation_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    simulate, calls = measured.simulate, []

    def interrupted(*arguments: object, **options: object):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return simulate(*arguments, **options)

    command = ("evaluate", "reno", "--only", "Q16,Q20", "--seeds", 2)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert ackclock(*command, "-o", whole).exit_code == 0
    # Without what the first evaluation has kept of the references.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    with monkeypatch.context() as patch:
        patch.setattr(measured, "simulate", interrupted)
        assert ackclock(*command, "-o", parts).exit_code == 130
    assert ackclock(*command, "-o", parts).exit_code == 0
    for name in ("evaluation.json", "cells.csv", "index.html"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


def test_a_comparison_ends_with_4_if_something_is_worse(tmp_path: Path) -> None:
    before, now = tmp_path / "before", tmp_path / "now"
    assert ackclock("evaluate", "cubic", "--only", "Q13", "--seeds", 6, "-o", before).exit_code == 0
    again = ackclock(
        "evaluate", "cubic", "--only", "Q13", "--seeds", 6, "--against", before, "-o", now
    )
    assert again.exit_code == 0, again.stderr
    assert "0 worse" in " ".join(again.stdout.split())
    slower = '{ kind = "reno", beta = 0.2 }'
    worse = ackclock(
        "evaluate", slower, "--only", "Q13", "--seeds", 6, "--against", before, "-o",
        tmp_path / "slower",
    )  # fmt: skip
    assert worse.exit_code == 4
    record = json.loads((tmp_path / "slower" / "evaluation.json").read_text())
    assert record["against"]["worse"] > 0
