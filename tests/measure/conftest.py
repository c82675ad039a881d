from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import Result, Scenario, measure, simulate

from .pretended import Pretended


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """A stand-in for the native measurement."""
    return Pretended().take_the_place(monkeypatch)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with a file to name."""
    monkeypatch.chdir(tmp_path)
    Path("web.pcap").write_bytes(b"pretended")
    return tmp_path


Captured = Callable[[Scenario], tuple[Result, Path]]


@pytest.fixture
def captured(tmp_path: Path) -> Captured:
    """Returns a function that simulates with captures: the result, and its folder."""

    def run(scenario: Scenario) -> tuple[Result, Path]:
        (tmp_path / "captures").mkdir()
        result = simulate(scenario, pcap=tmp_path / "captures")
        return result, result.save(tmp_path / "run", {"pcap": tmp_path / "captures"})

    return run


@pytest.fixture
def measured(captured: Captured, tmp_path: Path) -> Callable[..., tuple[Result, Result]]:
    """Returns a function that simulates a scenario, and measures the senders' captures."""

    def run(scenario: Scenario, **options: object) -> tuple[Result, Result]:
        result, folder = captured(scenario)
        return result, measure(folder, tmp_path / "measured", **options)

    return run
