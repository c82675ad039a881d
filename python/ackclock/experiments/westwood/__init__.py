"""TCP Westwood's family: the figures of the paper of 2002 that introduces ABSE.

One file for each figure, or pair of them. `paths` and `senders` are what all of them run, `paper` what they say alike.
"""

from ackclock.experiments.experiment import Experiment
from ackclock.experiments.westwood import (
    figure_2,
    figure_12,
    figure_16,
    figure_18,
    figure_19,
    figure_20,
    figure_21,
    on_linux,
    readings,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_2.EXPERIMENT,
    figure_12.EXPERIMENT,
    figure_16.GOODPUT,
    figure_16.DROPS,
    figure_18.EXPERIMENT,
    figure_19.EXPERIMENT,
    figure_20.BE_BESIDE,
    figure_20.ABSE_BESIDE,
    figure_21.ABSE_JOINS,
    figure_21.NEWRENO_JOINS,
    on_linux.EXPERIMENT,
    readings.EXPERIMENT,
)
