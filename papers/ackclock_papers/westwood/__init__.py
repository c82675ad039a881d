"""The family of TCP Westwood: the figures of the 2002 paper that introduces ABSE.

Each figure or pair of figures has a file. `paths` and `senders` make the scenarios, `paper` has the
common parts of the entries.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.westwood import (
    figure_2,
    figure_3,
    figure_5,
    figure_7,
    figure_11,
    figure_12,
    figure_14,
    figure_16,
    figure_18,
    figure_19,
    figure_20,
    figure_21,
    figures_9_10,
    figures_13_15,
    on_linux,
    readings,
    section_4_4,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_2.EXPERIMENT,
    figure_3.EXPERIMENT,
    figure_5.EXPERIMENT,
    figure_7.EXPERIMENT,
    figures_9_10.FIGURE_9,
    figures_9_10.FIGURE_10,
    figure_11.EXPERIMENT,
    figure_12.EXPERIMENT,
    figures_13_15.FIGURE_13,
    figures_13_15.FIGURE_13C,
    figure_14.EXPERIMENT,
    figures_13_15.FIGURE_15,
    figure_16.GOODPUT,
    figure_16.DROPS,
    figure_18.EXPERIMENT,
    section_4_4.BY_DELAY,
    section_4_4.BY_SPEED,
    figure_19.EXPERIMENT,
    figure_20.BE_BESIDE,
    figure_20.ABSE_BESIDE,
    figure_21.ABSE_JOINS,
    figure_21.NEWRENO_JOINS,
    readings.EXPERIMENT,
    on_linux.EXPERIMENT,
)
