"""An import that costs more than it gives."""

import sys
from importlib.machinery import ModuleSpec
from types import FrameType

_HERE = ("ackclock", "ackclock_papers", "pyarrow")


def spare_pandas() -> None:
    """Lets imports of pandas by this package and by Arrow fail in this process.

    Arrow imports it, if it is installed, for its first array, to look for its types. That takes
    longer than a short simulation, and neither commands nor workers of a sweep have a use for it.
    Code of others, such as a control of one's own, still gets it.
    """
    sys.meta_path.insert(0, _WithoutPandas())


class _WithoutPandas:
    def find_spec(
        self, name: str, _path: object = None, _target: object = None
    ) -> ModuleSpec | None:
        if name == "pandas" and _importing().partition(".")[0] in _HERE:
            raise ModuleNotFoundError("ackclock does without pandas", name=name)
        return None


def _importing() -> str:
    """Returns the name of the module that imports. Arrow's compiled code has none of its own."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")) if frame is not None else ""
