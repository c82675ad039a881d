"""TFRCP beside TCP: the figures of the paper of 1999 that introduces it.

One file for each figure, or for figures that differ in one thing. `path` and `senders` are what all
of them run, `friendliness` what they ask of it, `paper` what they say alike.
"""

from ackclock.reproduction import Experiment
from ackclock_reproductions.tfrcp import (
    figure_3,
    figure_4,
    figure_6,
    figures_2,
    figures_5,
    on_linux,
    readings,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    figures_2.FIGURE_2A,
    figures_2.FIGURE_2B,
    figures_2.FIGURE_2C,
    figure_3.EXPERIMENT,
    figure_4.EXPERIMENT,
    figures_5.FIGURE_5A,
    figures_5.FIGURE_5B,
    figure_6.EXPERIMENT,
    readings.EXPERIMENT,
    on_linux.EXPERIMENT,
)
