"""One scenario's answers side by side: residuals, their intervals, and causes. A pure function of results.

`ackclock.each_method.compare` makes them; this package holds `Comparison` and what it consists of.
"""

from ackclock.comparison.causes import CAUSES, Cause, Evidence, Finding, cause, findings
from ackclock.comparison.column import COLUMNS, Column, label_of
from ackclock.comparison.table import (
    COMPARED,
    EXCEEDS,
    SLIGHT,
    UNSURE,
    WITHIN,
    Cell,
    Comparison,
    Residual,
    Row,
)

__all__ = [
    "CAUSES", "COLUMNS", "COMPARED", "EXCEEDS", "SLIGHT", "UNSURE", "WITHIN", "Cause", "Cell",
    "Column", "Comparison", "Evidence", "Finding", "Residual", "Row", "cause", "findings",
    "label_of",
]  # fmt: skip
