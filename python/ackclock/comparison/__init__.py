"""Compares the answers of several methods to one scenario: differences, intervals and causes.

A comparison is a pure function of results. `ackclock.comparison.each_method.compare` makes the
results; this package holds `Comparison` and its parts. `SideBySide` is of any results.
"""

from ackclock.comparison.causes import CAUSES, Cause, Evidence, Finding, cause, findings
from ackclock.comparison.column import COLUMNS, Column, label_of
from ackclock.comparison.differences import EXCEEDS, SLIGHT, UNSURE, WITHIN
from ackclock.comparison.side_by_side import SideBySide, beside
from ackclock.comparison.table import COMPARED, Cell, Comparison, Residual, Row

__all__ = [
    "CAUSES",
    "COLUMNS",
    "COMPARED",
    "EXCEEDS",
    "SLIGHT",
    "UNSURE",
    "WITHIN",
    "Cause",
    "Cell",
    "Column",
    "Comparison",
    "Evidence",
    "Finding",
    "Residual",
    "Row",
    "SideBySide",
    "beside",
    "cause",
    "findings",
    "label_of",
]
