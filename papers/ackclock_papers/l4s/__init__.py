"""L4S: scalable flows beside classic ones through DualPI2."""

from ackclock.reproduction import Experiment
from ackclock_papers.l4s import round_trips

EXPERIMENTS: tuple[Experiment, ...] = (round_trips.EXPERIMENT,)
