"""The goals of BENCHMARKS.md say what the page's tables say."""

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")


@pytest.fixture(name="goals")
def generator() -> Any:
    """The script that writes the table of goals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benches"))
        import goals
    return goals


def test_the_goals_are_those_of_the_tables(goals: Any) -> None:
    assert goals.goals(PAGE) in PAGE, "run benches/goals.py"


def test_another_number_in_a_table_is_another_verdict(goals: Any) -> None:
    slower = PAGE.replace("| bytes per packet in flight | ", "| bytes per packet in flight | 1")
    assert "| bytes per packet in flight | at most 64 | 58 | reached |" in goals.goals(PAGE)
    assert "| bytes per packet in flight | at most 64 | 158 | missed |" in goals.goals(slower)


def test_a_table_without_its_row_is_refused(goals: Any) -> None:
    with pytest.raises(ValueError, match="0 rows begin with bytes per idle flow"):
        goals.goals(PAGE.replace("bytes per idle flow", "bytes of a flow"))
