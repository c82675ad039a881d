"""The small field, on which tests judge."""

import pytest

#: The controls beside which candidates are judged there.
REFERENCES = ("cubic", "reno", "dctcp", "vegas", "bbr3", "ledbat")


@pytest.fixture(name="field", scope="session")
def _field() -> str:
    """The name of a field that is judged in a moment."""
    return "quick"
