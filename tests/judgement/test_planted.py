"""Candidates with a known trait get its flag; good ones get none."""

import pytest

from ackclock import judge

from .planted import GOOD, planted

# Parameters are judged fast; the others start processes and compile.
_FAST = [name for name, text in GOOD.items() if "\n" not in text]

#: One of each kind, which every run of the tests judges.
_TYPICAL = (
    "reno",
    "no backoff in C",
    "sleeps",
    "divides by zero",
    "endless",
    "not Python",
    "memory",
    "a file in C",
    "the queue",
)


def check(field: str, name: str) -> None:
    text, flag = planted(field)[name]
    judged = judge(text, field, 60)
    assert flag in judged.flags, judged.record["flags"]


@pytest.mark.slow
@pytest.mark.parametrize("name", _TYPICAL)
def test_a_trait_has_its_flag(name: str, field: str) -> None:
    check(field, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", _FAST)
def test_a_good_candidate_has_no_flag(name: str, field: str) -> None:
    judged = judge(GOOD[name], field, 60)
    assert judged.flags == [], judged.record["flags"]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in GOOD if name not in _FAST])
def test_a_good_program_has_no_flag(name: str, field: str) -> None:
    judged = judge(GOOD[name], field, 120)
    assert judged.flags == [], judged.record["flags"]


@pytest.mark.long
def test_every_trait_has_its_flag(field: str) -> None:
    wrong = {}
    for name, (text, flag) in planted(field).items():
        if name not in _TYPICAL:
            judged = judge(text, field, 120)
            if flag not in judged.flags:
                wrong[name] = (flag, judged.record["flags"])
    assert wrong == {}


def test_there_are_forty_and_more() -> None:
    assert len(planted("wan")) >= 40
