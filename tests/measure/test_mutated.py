"""Damaged captures take neither long nor much memory; `benches/mutated_captures.py` tries more."""

from pathlib import Path

import pytest

from .mutated import MOST_BYTES, MOST_S, cost, mutated


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_capture_takes_little(seed: int, tmp_path: Path) -> None:
    took = cost(mutated(seed), tmp_path)
    assert took.processor_s < MOST_S
    assert took.memory_bytes < MOST_BYTES


def test_damages_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert mutated(1) == mutated(1)
    assert len({mutated(seed) for seed in range(5)}) == 5
