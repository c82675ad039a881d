"""Evaluates congestion controls by suites of test cases: data, checks on a trace, verdicts.

A suite is a file that any implementation can be tested by. Here its runs are simulated.
"""

from ackclock.controls.evaluation.candidate import Candidate
from ackclock.controls.evaluation.checks import KINDS, Finding
from ackclock.controls.evaluation.moments import Moment, Span
from ackclock.controls.evaluation.runner import EVALUATION, Plan, continues, evaluate
from ackclock.controls.evaluation.suite import Suite, load, names
from ackclock.controls.evaluation.trace import DERIVED, VARIABLES, PathValues, Trace
from ackclock.controls.evaluation.verdict import RunVerdict, Verdict, judge

__all__ = [
    "DERIVED",
    "EVALUATION",
    "KINDS",
    "VARIABLES",
    "Candidate",
    "Finding",
    "Moment",
    "PathValues",
    "Plan",
    "RunVerdict",
    "Span",
    "Suite",
    "Trace",
    "Verdict",
    "continues",
    "evaluate",
    "judge",
    "load",
    "names",
]
