"""DCTCP in data centres: scalable flows over switches that mark by a step."""

from ackclock.reproduction import Experiment
from ackclock_papers.dctcp import multi_hop

EXPERIMENTS: tuple[Experiment, ...] = (multi_hop.EXPERIMENT,)
