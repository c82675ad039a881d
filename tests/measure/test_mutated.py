"""Damaged captures take little memory; `benches/mutated_captures.py` tries more of them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .mutated import mutated

TRIAL = Path(__file__).parents[2] / "benches" / "mutated_captures.py"


@pytest.mark.long
def test_damaged_captures_take_little_memory(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    """In a process of their own: the bound on memory includes all that is loaded."""
    outcome = run_python(str(TRIAL), "--count", "4", "--processes", "1")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.startswith("Of 4 damaged captures, ")


def test_damages_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert mutated(1) == mutated(1)
    assert len({mutated(seed) for seed in range(5)}) == 5
