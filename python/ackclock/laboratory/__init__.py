"""The lab page: a scenario as sliders, the engine behind them, a link to share.

A link is the part of the page's address after `#`. The page runs an engine of its own, or has the
server run it.
"""

from typing import TYPE_CHECKING

from ackclock.errors import LackingError
from ackclock.laboratory.links import LabState, decode, encode

if TYPE_CHECKING:
    from ackclock.laboratory.widget import LabWidget
    from ackclock.scenario import Scenario

__all__ = ["LabState", "decode", "encode", "lab"]


def lab(scenario: "Scenario") -> "LabWidget":
    """Returns the lab page of a scenario as a widget for Jupyter.

    Its `scenario` follows the sliders, and its `result()` simulates that in full.

    Args:
        scenario: With or without a sweep, of which the first point is shown.

    Raises:
        LackingError: anywidget, or the engine for pages, is not installed.
    """
    try:
        from ackclock.laboratory.widget import LabWidget
    except ImportError:
        raise LackingError(
            "lacking", "anywidget", "is not installed: pip install 'ackclock[notebook]'"
        ) from None
    return LabWidget(scenario)
