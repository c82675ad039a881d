"""HighSpeed TCP at a router: the figures of the paper of 2004 on the effect of the buffer's size.

`router` has the two paths, who crosses them and what models say of them; `paper` what the figures
say alike.
"""

from ackclock.reproduction import Experiment
from ackclock_reproductions.hstcp import figure_14, figure_15, figures_16_17

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_14.EXPERIMENT,
    figure_15.EXPERIMENT,
    figures_16_17.FIGURE_16,
    figures_16_17.FIGURE_17,
)
