"""L4S: scalable flows beside classic ones, through DualPI2 and through other queues."""

from ackclock.reproduction import Experiment
from ackclock_papers.l4s import coexistence, round_trips

EXPERIMENTS: tuple[Experiment, ...] = (round_trips.EXPERIMENT, coexistence.EXPERIMENT)
