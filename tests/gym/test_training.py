"""The guide's training script, where stable-baselines3 is installed."""

import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/learning.md"


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("stable_baselines3") is None,
    reason="NO TRAINING: stable-baselines3 is not installed; the guide's script did not run",
)
def test_the_guides_script_trains(tmp_path: Path) -> None:
    text = GUIDE.read_text()
    [script] = re.findall(r"^```python training\n(.*?)^```$", text, re.M | re.S)
    [paths] = re.findall(r"^```toml paths.toml\n(.*?)^```$", text, re.M | re.S)
    (tmp_path / "paths.toml").write_text(paths)
    (tmp_path / "train.py").write_text(script)
    assert len(script.splitlines()) <= 70
    subprocess.run([sys.executable, "train.py", "0.2"], cwd=tmp_path, check=True)
    assert "policy.pth" in zipfile.ZipFile(tmp_path / "policy.zip").namelist()
