"""Explicit-rate feedback to TCP over a varying link: the figures of the 2001 paper.

The paper introduces INSTCAP and EFFCAP. `paper` holds what it says of its testbed, `loop` turns
that into scenarios, and `efficiency` evaluates the runs.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.abr import (
    cells,
    figure_2,
    figure_15,
    figures_8_9,
    figures_10_14,
    figures_16_17,
    figures_18_19,
    figures_20_23,
    no_delay,
    on_linux,
    reserved_rate,
    section_4,
    true_source,
)

EXPERIMENTS: tuple[Experiment, ...] = (
    no_delay.EXPERIMENT,
    figure_2.EXPERIMENT,
    figures_8_9.FIGURE_8,
    figures_8_9.FIGURE_9,
    figures_10_14.FIGURE_10,
    figures_10_14.FIGURE_11,
    figures_10_14.FIGURE_12,
    figures_10_14.FIGURE_13,
    figures_10_14.FIGURE_14,
    figure_15.EXPERIMENT,
    figures_16_17.FIGURE_16,
    figures_16_17.FIGURE_17,
    figures_18_19.FIGURE_18,
    figures_18_19.FIGURE_19,
    figures_20_23.FIGURE_20,
    figures_20_23.FIGURE_21,
    figures_20_23.FIGURE_22,
    figures_20_23.FIGURE_23,
    reserved_rate.EXPERIMENT,
    section_4.EXPERIMENT,
    true_source.EXPERIMENT,
    cells.EXPERIMENT,
    on_linux.EXPERIMENT,
)
