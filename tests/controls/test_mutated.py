"""Damaged objects are refused in a line; `benches/hostile_objects.py` tries more of them."""

import re
import subprocess
from collections.abc import Callable

import pytest

from .mutated import mutated
from .paths import ROOT

TRIAL = ROOT / "benches" / "hostile_objects.py"
GUIDE = ROOT / "docs" / "guides" / "emulating-controls.md"
LIMITS = ROOT / "crates" / "ackclock-bpf" / "src" / "limits.rs"


@pytest.mark.long
def test_damaged_objects_take_little_time_and_memory(
    run_python: Callable[..., subprocess.CompletedProcess],
) -> None:
    """In processes of their own: the bound on memory includes all that is loaded."""
    outcome = run_python(str(TRIAL), "--count", "100")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.startswith("100 damaged objects, ")


def test_damages_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    assert mutated(1) == mutated(1)
    assert len({mutated(seed) for seed in range(5)}) == 5


@pytest.mark.parametrize(
    ("limit", "row"),
    [
        ("OBJECT_BYTES: usize = 4_000_000", "bytes | 4 million"),
        ("SECTIONS: usize = 1_000", "sections; relocations of a section, or of fields | 1,000;"),
        ("RELOCATIONS: usize = 20_000", "of a section, or of fields | 1,000; 20,000"),
        ("NAME_BYTES: usize = 512", "bytes of a name | 512"),
        ("TYPE_LEVELS: u8 = 64", "types within each other; members that lead to a field | 64;"),
        ("ACCESS_LEVELS: usize = 64", "members that lead to a field | 64; 64"),
        ("MAPS: usize = 64", "maps, and bytes in them; maps that stay in the kernel | 64,"),
        ("MAP_BYTES: u64 = 64 << 20", "maps that stay in the kernel | 64, 64 MiB; none"),
        ("MEMORY_BYTES: usize = 1 << 20", "bytes of global variables | 1 MiB"),
    ],
)
def test_the_guide_states_the_limits(limit: str, row: str) -> None:
    assert re.search(rf"^pub const {limit};$", LIMITS.read_text("utf-8"), re.MULTILINE)
    assert row in GUIDE.read_text("utf-8")
