"""The evaluations of the site: a page for each control and a matrix, the same bytes each time."""

from dataclasses import replace
from pathlib import Path

import pytest

import evaluations
from tests.test_report import Checker


@pytest.mark.slow
def test_the_matrix_has_a_column_for_each_control(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    suite = evaluations.load("rfc9743")
    few = suite.chosen("Q9,Q20")
    monkeypatch.setattr(evaluations, "load", lambda _: _with(suite, few))
    for name in ("a", "b"):
        evaluations.main([str(tmp_path / name), "reno", "bbr1"])
    text = (tmp_path / "a" / "index.html").read_text()
    checker = Checker()
    checker.feed(text)
    assert (checker.open, checker.outside) == ([], ["reno/index.html", "bbr1/index.html"])
    assert text.count("– does not apply") == 2
    assert text.count("✓ pass") == 2
    assert '<a href="bbr1/index.html">BBR version 1</a>.' in text
    for file in sorted(path for path in (tmp_path / "a").rglob("*") if path.is_file()):
        other = tmp_path / "b" / file.relative_to(tmp_path / "a")
        assert file.read_bytes() == other.read_bytes(), file.name


def _with(suite, cases):
    return replace(suite, cases=cases, seeds=(2, 2))
