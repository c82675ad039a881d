import pytest

from .pretended import Pretended


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """The native emulator, pretended."""
    return Pretended().take_the_place(monkeypatch)
