"""`-o` never replaces a file that ackclock did not write, and always one that it did."""

import shlex
from pathlib import Path

import pytest

from .test_cli import QUICK, ackclock, error_of

#: Commands that write a file, by what they write.
COMMANDS = {
    "page.html": "report run",
    "goodput.svg": "plot run --kind cwnd",
    "goodput.png": "plot run --kind cwnd",
    "goodput.pdf": "plot run --kind cwnd",
    "goodput.csv": "table run goodput",
    "goodput.json": "table run goodput",
    "goodput.parquet": "table run goodput",
    "goodput.tex": "table run goodput",
    "swept.csv": "sweep show swept --y goodput",
    "swept.parquet": "sweep show swept --y goodput",
    "swept.svg": "sweep show swept --y goodput --x seed",
}


@pytest.fixture
def run(scenario_file: Path) -> Path:
    """A folder with a result and a sweep."""
    assert ackclock("simulate", scenario_file, *QUICK, "-o", "run").exit_code == 0
    swept = ackclock("sweep", "run", scenario_file, *QUICK[:4], "--vary", "seed=1,2", "-o", "swept")
    assert swept.exit_code == 0, swept.stderr
    return Path()


@pytest.mark.long
def test_only_files_of_ackclock_are_replaced(run: Path) -> None:
    mine = 'name = "mine"  # ackclock simulate mine.toml\n'
    for name, command in COMMANDS.items():
        (run / name).write_text(mine, encoding="utf-8")
        refused = ackclock(*shlex.split(command), "-o", name)
        assert refused.exit_code == 2, command
        error = error_of(refused)
        assert (error.code, error.field) == ("file", "-o"), command
        assert error.message.startswith(f"{name} exists")
        assert (run / name).read_text(encoding="utf-8") == mine
        (run / name).unlink()
        for _ in range(2):
            written = ackclock(*shlex.split(command), "-o", name)
            assert written.exit_code == 0, (command, written.stderr)


@pytest.mark.long
def test_a_page_replaces_no_scenario(run: Path, scenario_file: Path) -> None:
    before = scenario_file.read_bytes()
    assert ackclock("report", "run", "-o", scenario_file).exit_code == 2
    assert scenario_file.read_bytes() == before
    assert (run / "run" / "run.json").exists()
