"""Verdicts on made-up traces."""

import pytest

from ackclock.evaluation import Verdict, judge
from ackclock.evaluation.checks import Finding
from ackclock.evaluation.suite import Assertion, Dialect, Origin, Setup
from ackclock.evaluation.verdict import together
from tests.evaluation.made_up import trace

BBR3 = Dialect("bbr3", "BBR", {})
CUBIC = Dialect("cubic", "cubic", {})


def asserted(origin: str, holds: bool | None, *names: str, ours: bool = False) -> Assertion:
    finding = Finding(holds, f"{origin} found")
    return Assertion(
        f"{origin} said",
        Origin(origin),
        ours,
        names or ("bbr3",),
        "x",
        ("UP", "cwnd"),
        lambda _: finding,
    )


def verdict(*assertions: Assertion, dialect: Dialect = BBR3):
    setup = Setup("", {}, {}, assertions=assertions)
    return judge(setup, dialect, trace((("slow_start", 3),)))


@pytest.mark.parametrize(
    ("expected", "findings"),
    [
        (Verdict.PASS, [("stated", True)]),
        (Verdict.PASS, [("set-up", True), ("stated", True), ("stated", None), ("ours", True)]),
        (Verdict.FAIL, [("set-up", True), ("stated", True), ("stated", False), ("ours", False)]),
        (Verdict.SILENT, [("stated", True), ("ours", False)]),
        (Verdict.SILENT, [("stated", None), ("ours", True)]),
        (Verdict.NOT, [("set-up", False), ("stated", False)]),
        (Verdict.NOT, [("stated", None), ("ours", None)]),
    ],
)
def test_a_verdict_follows_from_findings(expected: Verdict, findings: list) -> None:
    assert verdict(*(asserted(origin, holds) for origin, holds in findings)).verdict is expected


def test_reasons_are_computed() -> None:
    failing = verdict(asserted("stated", True), asserted("stated", False, ours=True))
    assert failing.reason == "stated said (our bound): stated found"
    unmet = verdict(asserted("set-up", False), asserted("stated", True))
    assert unmet.reason == "the set-up is not reached: set-up said: set-up found"


def test_a_control_without_such_states_is_told_what_it_reports() -> None:
    judgement = verdict(asserted("stated", False), dialect=CUBIC)
    assert judgement.verdict is Verdict.NOT
    assert judgement.reason == "cubic has no UP, cwnd; its states are slow_start"
    assert judgement.judged == ()


def test_what_addresses_any_control_is_checked_on_all() -> None:
    behaviour = asserted("stated", False, "any")
    judgement = verdict(asserted("stated", False), behaviour, dialect=CUBIC)
    assert judgement.verdict is Verdict.FAIL
    assert [judged.assertion for judged in judgement.judged] == [behaviour]


def test_the_worst_of_several_runs_counts() -> None:
    assert together([Verdict.PASS, Verdict.NOT]) is Verdict.PASS
    assert together([Verdict.PASS, Verdict.SILENT, Verdict.NOT]) is Verdict.SILENT
    assert together([Verdict.PASS, Verdict.FAIL, Verdict.SILENT]) is Verdict.FAIL
    assert together([Verdict.NOT]) is Verdict.NOT
