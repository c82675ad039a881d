"""The suite that comes with ackclock is complete; mistakes are refused in one line."""

from pathlib import Path

import pytest

from ackclock.evaluation import Candidate, load, names
from ackclock.evaluation.setup import Cell
from ackclock.evaluation.suite import Origin
from tests.refusals import refused

SMALL = """
schema = 1

[suite]
title = "Small"
source = "a test"
revision = "1"
date = "2026-01-01"

[path]
rate = "10 Mbit/s"
round_trip = "40 ms"
buffer_bdp = 2.0

[states]
slow_start = "it grows"
congestion_avoidance = "it grows slowly"

[controls.reno]
title = "Reno"

[controls.reno.states]
slow_start = "slow_start"

[[case]]
id = "one"
number = 1
section = "1"
title = "Slow start ends"
stated = ["It ends."]

[[case.run]]
duration = "10 s"

[[case.run.event]]
name = "slower"
kind = "rate"
at = { entry = "congestion_avoidance" }
to = "50 %"

[[case.run.check]]
says = "Slow start is followed by congestion avoidance"
origin = "stated"
kind = "next"
state = "slow_start"
is = ["congestion_avoidance"]
"""


@pytest.fixture(name="write")
def _write(tmp_path: Path):
    def write(text: str) -> str:
        path = tmp_path / "small.toml"
        path.write_text(text)
        return str(path)

    return write


def test_the_suite_of_the_draft_has_every_case_of_its_appendix() -> None:
    assert names() == ["bbr-draft"]
    suite = load("bbr-draft")
    assert suite.revision == "draft-ietf-ccwg-bbr-06"
    assert [case.number for case in suite.cases] == list(range(1, 23))
    assert [case.section for case in suite.cases] == [f"A.{n}" for n in range(1, 23)]
    for case in suite.cases:
        assert case.stated, case.id
        origins = [assertion.origin for run in case.setups for assertion in run.assertions]
        assert Origin.STATED in origins, case.id


@pytest.mark.slow
def test_every_case_makes_a_scenario_that_is_valid() -> None:
    suite = load("bbr-draft")
    for case in suite.cases:
        for setup in case.setups:
            for path in (suite.path, *suite.corners):
                own, candidate = setup.on(path), Candidate.of_tcp({"kind": "bbr1"})
                cell = Cell(case.id, setup, own, candidate, 3, suite.least_round_trips)
                times = {event.name: 1.0 + n for n, event in enumerate(setup.events)}
                cell.scenario(times).resolve()
                cell.scenario({}).resolve()


def test_events_without_a_time_change_nothing_before_the_end() -> None:
    suite = load("bbr-draft")
    setup = suite.chosen("drain-time")[0].setups[0]
    cell = Cell("drain", setup, setup.on(suite.path), Candidate.of_tcp({"kind": "bbr1"}), 1)
    steps = cell.scenario({}).tree["hops"][0]["link"]["steps"]
    assert steps[1]["from"] == f"{round(cell.duration_s * 1e9)} ns"


def test_a_suite_is_read_from_a_file(write) -> None:
    suite = load(write(SMALL))
    assert [case.id for case in suite.cases] == ["one"]
    assert suite.path.buffer_packets == round(2 * 10e6 * 0.04 / 8 / 1500)
    assert suite.dialects["reno"].states == {"slow_start": "slow_start"}


@pytest.mark.parametrize(
    ("code", "field", "old", "new"),
    [
        ("syntax", "", "schema = 1", "schema = "),
        ("unsupported", "schema", "schema = 1", "schema = 2"),
        ("missing", "suite.title", 'title = "Small"\n', ""),
        ("wrong-type", "path.buffer_bdp", "buffer_bdp = 2.0", 'buffer_bdp = "2"'),
        ("wrong-unit", "path.rate", 'rate = "10 Mbit/s"\nr', 'rate = "10 ms"\nr'),
        ("unknown-field", "suite.datum", "date =", 'datum = "x"\ndate ='),
        (
            "unknown-name",
            "controls.reno.states.slow_start",
            '= "slow_start"\n\n[[',
            '= "slow"\n\n[[',
        ),
        ("unknown-name", "case.0.run.0.event.0.kind", 'kind = "rate"', 'kind = "rates"'),
        ("missing", "case.0.run.0.event.0.to", 'to = "50 %"\n', ""),
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
        ("missing", "case.0.run.0.application", 'kind = "rate"', 'kind = "application"'),
    ],
)
def test_what_is_no_suite_is_refused(write, code: str, field: str, old: str, new: str) -> None:
    assert old in SMALL
    file = write(SMALL.replace(old, new, 1))
    with refused(code, f"{file}: {field}" if field else file):
        load(file)


def test_an_unknown_suite_and_case_are_refused() -> None:
    with refused("unknown-name", "--suite", "bbr-draf"):
        load("bbr-draf")
    with refused("file", "nowhere.toml"):
        load("nowhere.toml")
    with refused("unknown-name", "--only", "polcer", "policer"):
        load("bbr-draft").chosen("1,polcer")


def test_cases_are_chosen_by_name_and_number() -> None:
    suite = load("bbr-draft")
    assert [case.number for case in suite.chosen("policer, 3")] == [3, 17]
    assert suite.chosen("") == suite.cases
