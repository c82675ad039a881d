"""Reproduces published results: experiments, their conclusions, and the catalogue of all.

An experiment states a question, the published numbers, what is run, and a conclusion. Packages
announce experiments through the entry-point group `ackclock.reproductions`; see `catalogue`.
"""

from ackclock.reproduction.catalogue import chosen, experiments
from ackclock.reproduction.experiment import Experiment, Run, analytic, figure, measured
from ackclock.reproduction.outcome import (
    PUBLISHED,
    Band,
    Basis,
    Cell,
    Claim,
    Comparison,
    Kind,
    Origin,
    Outcome,
    Setting,
    Table,
    Verdict,
    plain,
)
from ackclock.reproduction.runner import prepare, recorded, reproduce, reproduce_all, write_gallery

__all__ = [
    "PUBLISHED",
    "Band",
    "Basis",
    "Cell",
    "Claim",
    "Comparison",
    "Experiment",
    "Kind",
    "Origin",
    "Outcome",
    "Run",
    "Setting",
    "Table",
    "Verdict",
    "analytic",
    "chosen",
    "experiments",
    "figure",
    "measured",
    "plain",
    "prepare",
    "recorded",
    "reproduce",
    "reproduce_all",
    "write_gallery",
]
