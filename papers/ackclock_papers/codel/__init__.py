"""CoDel: what RFC 8289 says of its target."""

from ackclock.reproduction import Experiment
from ackclock_papers.codel import section_3_2

EXPERIMENTS: tuple[Experiment, ...] = (section_3_2.EXPERIMENT,)
