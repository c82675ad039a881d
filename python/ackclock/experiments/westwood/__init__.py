"""TCP Westwood's family: the figures of the paper of 2002 that introduces ABSE.

One file for each figure, or pair of them. `paths` and `senders` are what all of them run, `paper` what they say alike.
"""

from ackclock.experiments.experiment import Experiment
from ackclock.experiments.westwood import figure_2

EXPERIMENTS: tuple[Experiment, ...] = (figure_2.EXPERIMENT,)
