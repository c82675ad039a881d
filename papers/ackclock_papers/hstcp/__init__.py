"""HighSpeed TCP at a router: the figures of the 2004 paper on the effect of the buffer size.

The module `router` has the two paths, their flows and the models' answers; `paper` has the common
parts of the entries.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.hstcp import figure_14, figure_15, figures_16_17

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_14.EXPERIMENT,
    figure_15.EXPERIMENT,
    figures_16_17.FIGURE_16,
    figures_16_17.FIGURE_17,
)
