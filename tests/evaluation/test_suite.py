"""The suites that come with ackclock are complete; mistakes are refused in one line."""

from dataclasses import replace
from pathlib import Path

import pytest

from ackclock.evaluation import Candidate, Plan, load, measured, names
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.measured import together
from ackclock.evaluation.suite import Origin
from ackclock.evaluation.verdict import Verdict
from tests.refusals import refused

SMALL = """
schema = 2

[suite]
title = "Small"
source = "a test"
revision = "1"
date = "2026-01-01"

[references]
cubic = { kind = "cubic" }

[states]
slow_start = "it grows"
congestion_avoidance = "it grows slowly"

[controls.reno]
title = "Reno"

[controls.reno.states]
slow_start = "slow_start"

[scenarios.alone]
schema = 1
duration = "10 s"

[scenarios.alone.values]
rate = "10 Mbit/s"
round_trip = "40 ms"
full_segment = "1448 bytes"
payload_share = "1448 / 1500"
start = "0 s"

[[scenarios.alone.hops]]
name = "there"
link = { kind = "scheduled", steps = [{ from = "0 s", rate = "rate" }] }
queue = { kind = "droptail", limit = "66 packets" }
delay = "0.5 * round_trip"

[[scenarios.alone.hops]]
name = "back"
link = { kind = "constant", rate = "rate" }
queue = { kind = "droptail", limit = "66 packets" }
delay = "0.5 * round_trip"

[[scenarios.alone.flows]]
name = "flow"
route = ["there"]
return = ["back"]
start = "start"
control_states = true
transport = { kind = "X", segmentation_offload = false }

[[case]]
id = "one"
number = "1"
section = "1"
title = "Slow start ends"
stated = ["It ends."]

[[case.run]]
scenario = "alone"

[case.run.set]
"hops.there.link.steps" = [
    { from = "0 s", rate = "rate" },
    { from = "slower", rate = "0.5 * rate" },
]

[case.run.events]
slower = { at = { entry = "congestion_avoidance" } }

[[case.run.check]]
says = "Slow start is followed by congestion avoidance"
origin = "stated"
kind = "next"
state = "slow_start"
is = ["congestion_avoidance"]

[[case]]
id = "two"
number = "2"
section = "2"
title = "It uses the link"

[[case.run]]
scenario = "alone"
vary = { "values.rate" = ["1 Mbit/s", "2 Mbit/s"] }

[[case.run.check]]
says = "It uses the link"
metric = "utilisation"
of = "there"
least = { times = 0.9, of = "cubic" }
"""


@pytest.fixture(name="write")
def _write(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "small.toml"
        path.write_text(text)
        return str(path)

    return write


def test_the_suite_of_the_draft_has_every_case_of_its_appendix() -> None:
    suite = load("bbr-draft")
    assert suite.revision == "draft-ietf-ccwg-bbr-06"
    assert [case.number for case in suite.cases] == [str(n) for n in range(1, 23)]
    assert [case.section for case in suite.cases] == [f"A.{n}" for n in range(1, 23)]
    for case in suite.cases:
        assert case.stated, case.id
        origins = [assertion.origin for run in case.setups for assertion in run.assertions]
        assert Origin.STATED in origins, case.id


@pytest.mark.slow
def test_every_case_of_the_draft_makes_a_scenario_that_is_valid() -> None:
    suite = load("bbr-draft")
    for case in suite.cases:
        for setup in case.setups:
            for path in suite.paths:
                candidate = Candidate.of_tcp({"kind": "bbr1"})
                cell = Cell(case.id, setup, path, candidate, 3, 1, suite.least_round_trips)
                times = {event.name: 3.0 + n for n, event in enumerate(setup.events)}
                cell.scenario(times).resolve()
                cell.scenario({}).resolve()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if name != "bbr-draft"])
@pytest.mark.parametrize("is_full", [False, True])
def test_every_cell_makes_a_scenario_that_is_valid(name: str, is_full: bool) -> None:
    suite = load(name)
    queue, control = Candidate.of_queue({"kind": "pie"}), Candidate.of_tcp({"kind": "prague"})
    candidate = queue if suite.is_of_queues else control
    plan = Plan(suite, suite.cases, candidate, suite.paths, (1, 2), is_full)
    for case in suite.cases:
        assert case.stated or case.lacks, case.id
        for setup in case.setups:
            cells = plan.cells(case, setup, suite.paths[0])
            assert cells.quantities, case.id
            together(cells.cells).check()
            resolved = cells.cells[0].scenario().resolve().tree
            subjects = {"all flows", *(flow["name"] for flow in resolved["flows"])}
            subjects |= {hop["name"] for hop in resolved["hops"]}
            for quantity in cells.quantities:
                assert set(quantity.subject.split("/")) <= subjects, (case.id, quantity.key)


@pytest.mark.slow
def test_a_reported_check_decides_no_verdict() -> None:
    """CUBIC would miss this bound by far; the run has it as a check that is reported."""
    suite = load("rfc9743")
    (case,) = suite.chosen("Q20")
    (setup,) = case.setups
    (criterion,) = setup.criteria
    impossible = replace(
        criterion, bounds=(replace(criterion.bounds[0], times=5.0),), far=(), is_reported=True
    )
    plan = Plan(suite, (case,), Candidate.read("vegas"), suite.paths, (1, 2))
    for criteria, expected in (
        ((criterion, impossible), (Verdict.PASS,)),
        ((impossible,), (Verdict.NOT,)),
        ((replace(impossible, is_reported=False),), (Verdict.CONCERN, Verdict.FAIL)),
    ):
        only = replace(setup, criteria=criteria)
        cells = plan.cells(replace(case, setups=(only,)), only, suite.paths[0])
        verdict, reason, records = measured.judged(cells, cells.measure(lambda _: None))
        assert verdict in expected
        assert [record["reported"] for record in records] == [each.is_reported for each in criteria]
        assert reason.startswith("reported, and decides nothing") is (verdict is Verdict.NOT)


def test_the_questions_of_the_rfc_are_all_there() -> None:
    suite = load("rfc9743")
    sections = {case.section for case in suite.cases}
    asked = ["5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.5", "5.2.1", "5.2.2", "5.2.3", "5.3.1"]
    asked += ["5.3.2", "6.2", "6.4", *(f"7.{number}" for number in range(1, 12))]
    assert sections == {*asked, "ours"}


def test_events_without_a_time_change_nothing_before_the_end() -> None:
    suite = load("bbr-draft")
    setup = suite.chosen("drain-time")[0].setups[0]
    cell = Cell("drain", setup, suite.paths[0], Candidate.of_tcp({"kind": "bbr1"}), 1)
    steps = cell.scenario({}).resolve().tree["hops"][0]["link"]["steps"]
    assert steps[1]["from"] == "5 s" == f"{cell.duration_s:g} s"


def test_a_suite_is_read_from_a_file(write) -> None:
    suite = load(write(SMALL))
    assert [case.id for case in suite.cases] == ["one", "two"]
    assert suite.dialects["reno"].states == {"slow_start": "slow_start"}
    plan = Plan(suite, suite.cases, Candidate.of_tcp({"kind": "reno"}), suite.paths, (1, 2))
    cells = plan.cells(suite.cases[1], suite.cases[1].setups[0], suite.paths[0])
    assert [cell.values["rate"] for cell in cells.cells] == [1e6, 2e6]
    assert cells.runs == 2 * 2 * 2  # cells, seeds, and CUBIC beside it


@pytest.mark.parametrize(
    ("code", "field", "old", "new"),
    [
        ("syntax", "", "schema = 2", "schema = "),
        ("unsupported", "schema", "schema = 2", "schema = 1"),
        ("missing", "suite.title", 'title = "Small"\n', ""),
        ("unknown-field", "suite.datum", "date =", 'datum = "x"\ndate ='),
        (
            "unknown-name",
            "controls.reno.states.slow_start",
            '= "slow_start"\n\n[sc',
            '= "slow"\n\n[sc',
        ),
        (
            "unknown-name",
            "scenarios.alone.like",
            "[scenarios.alone]\nschema = 1",
            '[scenarios.alone]\nlike = "other"\nschema = 1',
        ),
        ("unknown-name", "case.0.run.0.scenario", 'scenario = "alone"', 'scenario = "alne"'),
        (
            "unknown-field",
            "case.0.run.0.set.hops.ther",
            '"hops.there.link.steps" =',
            '"hops.ther.link.steps" =',
        ),
        ("missing", "case.0.run.0.events.slower.at", "at = { entry", "at = { enter"),
        ("unknown-name", "case.0.run.0.check.0.is", '["congestion_avoidance"]', '["avoidance"]'),
        ("unknown-name", "case.0.run.0.check.0.origin", '"stated"\nkind', '"said"\nkind'),
        ("unknown-name", "case.0.run.0.check.0.for", 'kind = "next"', 'for = ["x"]\nkind = "next"'),
        ("unknown-name", "case.0.run.0.check.0.kind", 'kind = "next"', 'kind = "nxt"'),
        (
            "unknown-name",
            "case.0.run.0.check.0.since",
            'state = "slow_start"\nis',
            'state = "slow_start"\nsince = "faster"\nis',
        ),
        ("unknown-name", "case.1.run.0.check.0.metric", '"utilisation"', '"utilization"'),
        ("unknown-name", "case.1.run.0.check.0.least.of", 'of = "cubic"', 'of = "cubc"'),
        ("missing", "case.1.run.0.check.0", "least =", "# least ="),
        ("wrong-type", "case.1.run.0.vary.values.rate", '["1 Mbit/s", "2 Mbit/s"]', '"1 Mbit/s"'),
    ],
)
def test_what_is_no_suite_is_refused(write, code: str, field: str, old: str, new: str) -> None:
    assert old in SMALL
    file = write(SMALL.replace(old, new, 1))
    with refused(code, f"{file}: {field}" if field else file):
        load(file)


def test_a_case_without_runs_says_why(write) -> None:
    head = SMALL[: SMALL.index("[[case.run]]")]
    file = write(head)
    with refused("missing", f"{file}: case.0.run"):
        load(file)
    (case,) = load(write(head + 'lacks = "it is not there"\n')).cases
    assert (case.setups, case.lacks) == ((), "it is not there")


def test_an_unknown_suite_and_case_are_refused() -> None:
    with refused("unknown-name", "--suite", "bbr-draf"):
        load("bbr-draf")
    with refused("file", "nowhere.toml"):
        load("nowhere.toml")
    with refused("unknown-name", "--only", "polcer", "policer"):
        load("bbr-draft").chosen("1,polcer")


def test_cases_are_chosen_by_name_and_number() -> None:
    suite = load("bbr-draft")
    assert [case.number for case in suite.chosen("policer, 3")] == ["3", "17"]
    assert suite.chosen("") == suite.cases
