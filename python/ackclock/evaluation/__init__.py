"""Evaluates congestion controls by suites of test cases: data, checks on runs, verdicts.

A suite is a file that any implementation can be tested by. Here its runs are simulated.
"""

from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.checks import KINDS, Finding
from ackclock.evaluation.kept import KeptMetrics
from ackclock.evaluation.moments import Moment, Span
from ackclock.evaluation.reading import SuiteFile, load, names
from ackclock.evaluation.runner import EVALUATION, Plan, continues, evaluate
from ackclock.evaluation.suite import Suite
from ackclock.evaluation.trace import DERIVED, VARIABLES, PathValues, Trace
from ackclock.evaluation.verdict import RunVerdict, Verdict, judge

__all__ = [
    "DERIVED",
    "EVALUATION",
    "KINDS",
    "VARIABLES",
    "Candidate",
    "Finding",
    "KeptMetrics",
    "Moment",
    "PathValues",
    "Plan",
    "RunVerdict",
    "Span",
    "Suite",
    "SuiteFile",
    "Trace",
    "Verdict",
    "continues",
    "evaluate",
    "judge",
    "load",
    "names",
]
