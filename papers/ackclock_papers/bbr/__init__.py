"""BBR version 1 beside loss-based flows, and beside itself with other round-trip times."""

from ackclock.reproduction import Experiment
from ackclock_papers.bbr import round_trips, shares

EXPERIMENTS: tuple[Experiment, ...] = (shares.EXPERIMENT, round_trips.EXPERIMENT)
