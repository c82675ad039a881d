"""Traces of a link's capacity: Mahimahi's packet-delivery traces and rows of time and rate, read as the engine does."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import engine
from ackclock.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FORMATS", "CapacityTrace", "read"]

#: Formats by the endings of names that tell them; of other names it must be said.
FORMATS = {
    "mahimahi": (".up", ".down", ".mahimahi"),
    "csv": (".csv",),
}

_NANOSECONDS = 1e9


@dataclass(frozen=True)
class CapacityTrace:
    """A trace that has been read.

    Attributes:
        path: The file.
        link: The tree of a scenario's link that delivers as it says; the file's name is relative to
            its folder.
        length_s: How long what is recorded lasts.
    """

    path: Path
    link: dict[str, Any]
    length_s: float

    @property
    def format(self) -> str:
        """One of `FORMATS`."""
        return str(self.link["format"])

    @property
    def mean_bit_per_s(self) -> float:
        """Over all of it; 0 if it has no length."""
        return float(self.rates(self.length_s)[0]) if self.length_s > 0 else 0.0

    def rates(self, interval_s: float) -> "NDArray[np.float64]":
        """Mean rates in bit/s of successive intervals from the beginning, as many as fit.

        Of a Mahimahi trace 1500 bytes an opportunity; one at the end of an interval counts, one at
        its beginning does not.
        """
        import numpy as np

        _, rates = engine.trace_rates(self.link, self.path.parent, round(interval_s * _NANOSECONDS))
        return np.frombuffer(rates, "<f8")


def read(path: str | Path, form: str | None = None) -> CapacityTrace:
    """Reads a trace, once from its beginning to its end.

    A CSV trace need not lead back to its beginning: its last row may have another rate than the
    first, which then matters to nobody, or none.

    Args:
        path: The file.
        form: One of `FORMATS`; by default what the ending of its name says.

    Raises:
        ScenarioError: The file is missing or malformed, or its name says no format; file, line,
        value and remedy.
    """
    path = Path(path)
    if not path.is_file():
        raise ScenarioError(
            "file",
            f"{path}",
            "no such file; a capacity trace is for example a Mahimahi .down or a .csv file",
        )
    form = form or next(
        (name for name, endings in FORMATS.items() if path.suffix.lower() in endings), None
    )
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        asked = f"format {form} is unknown" if form else "its name does not say its format"
        raise ScenarioError("unsupported", f"{path}", f"{asked}; choose from {known}")
    tree = {"kind": "trace", "file": path.name, "format": form}
    try:
        return _read(path, tree | {"repeat": False})
    except ScenarioError:  # its last row has no rate and only says where the trace ends
        return _read(path, tree)


def _read(path: Path, link: dict[str, Any]) -> CapacityTrace:
    length_ns, _ = engine.trace_rates(link, path.parent)
    return CapacityTrace(path, link, length_ns / _NANOSECONDS)
