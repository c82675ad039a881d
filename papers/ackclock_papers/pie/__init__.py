"""PIE: two flows through Linux's, over round-trip times."""

from ackclock.reproduction import Experiment
from ackclock_papers.pie import round_trips

EXPERIMENTS: tuple[Experiment, ...] = (round_trips.EXPERIMENT,)
