"""TFRCP beside TCP: the figures of the 1999 paper that introduces it.

Each figure has a file, or a group of figures that differ in one respect. `path` and `senders` make
the scenarios, `friendliness` evaluates them, and `paper` has what all entries share.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.tfrcp import (
    figure_3,
    figure_4,
    figure_6,
    figures_2,
    figures_5,
    on_linux,
    readings,
    section_2,
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
    section_2.EXPERIMENT,
    on_linux.EXPERIMENT,
)
