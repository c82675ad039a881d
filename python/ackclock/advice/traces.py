"""Traces of a link's capacity: Mahimahi packet-delivery traces, and CSV rows of time and rate.

They are read by the engine itself, so both agree.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import engine
from ackclock.errors import ScenarioError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: File name extensions of each format; for any other name the format must be given.
FORMATS = {
    "mahimahi": (".up", ".down", ".mahimahi"),
    "csv": (".csv",),
    "ucc_downlink": (),
    "ucc_uplink": (),
}

_NANOSECONDS = 1e9


@dataclass(frozen=True)
class CapacityTrace:
    """A trace that has been read.

    Attributes:
        path: The file.
        link: Tree of a scenario's link that follows the trace; the file name in it is relative to
            the file's folder.
        length_s: Duration of the recording.
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
        """The mean over the whole trace; 0 if it has no length."""
        return float(self.rates(self.length_s)[0]) if self.length_s > 0 else 0.0

    def rates(self, interval_s: float) -> "NDArray[np.float64]":
        """Returns the mean rates in bit/s of successive intervals, as many as fit.

        A delivery opportunity of a Mahimahi trace counts 1500 bytes. One at the end of an interval
        counts in it, one at its beginning does not.
        """
        import numpy as np

        _, rates = engine.trace_rates(self.link, self.path.parent, round(interval_s * _NANOSECONDS))
        return np.frombuffer(rates, "<f8")


def read(path: str | Path, form: str | None = None) -> CapacityTrace:
    """Reads a trace, played once from beginning to end.

    A CSV trace need not be able to repeat. Its last row may have a rate other than the first, which
    is then ignored, or none.

    Args:
        path: The file.
        form: One of `FORMATS`; by default from the extension of the file name.

    Raises:
        ScenarioError: The file is missing or malformed, or its name does not tell the format. The
            message has file, line, value and remedy.
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
        formats = ", ".join(FORMATS)
        asked = f"format {form} is unknown" if form else "its name does not say its format"
        raise ScenarioError("unsupported", f"{path}", f"{asked}; choose from {formats}")
    tree = {"kind": "trace", "file": path.name, "format": form}
    try:
        return _read(path, tree | {"repeat": False})
    except ScenarioError:  # the last row has no rate and only gives the trace's end
        return _read(path, tree)


def _read(path: Path, link: dict[str, Any]) -> CapacityTrace:
    length_ns, _ = engine.trace_rates(link, path.parent)
    return CapacityTrace(path, link, length_ns / _NANOSECONDS)
