"""Lines of the guide that read a sweep with other packages. Each runs where its package is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..patience import PATIENCE_S
from .small import answer, written

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "sweeps.md"
READERS = re.findall(
    r"^```python readers\n(import (\w+)\n.*?)^```$", GUIDE.read_text(), re.M | re.S
)


def test_the_guide_has_three_readers() -> None:
    assert [package for _, package in READERS] == ["pandas", "polars", "duckdb"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(("code", "package"), READERS, ids=[name for _, name in READERS])
def test_other_packages_read_a_sweep(
    code: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(
        package, reason=f"{package} is not installed: the guide's lines did not run"
    )
    monkeypatch.chdir(tmp_path)
    answer("sweep", "run", written(tmp_path), "-o", "out/buffers", "--replicates", 2)
    here = code.replace("hops_bottleneck_queue", "hops_b_queue")
    outcome = subprocess.run(
        [sys.executable, "-c", here],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    # Two buffers, and no other row.
    numbers = re.findall(r"\d\.\d+e[+]?\d+|\b\d{5,}\.\d+", outcome.stdout)
    assert len(numbers) == 2, outcome.stdout
