import pytest

from .pretended import Pretended


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """A stand-in for the native emulator."""
    return Pretended().take_the_place(monkeypatch)
