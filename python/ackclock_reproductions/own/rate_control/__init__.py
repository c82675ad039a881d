"""Our own pictures of rate controls: how smooth they are, how soon they answer, how good the equation is.

`senders` has who is compared and on what path.
"""

from ackclock.reproduction import Experiment
from ackclock_reproductions.own.rate_control import figure_1, figure_5, figures_2_4

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_1.EXPERIMENT,
    figures_2_4.LOSS_STEP,
    figures_2_4.BANDWIDTH_STEP,
    figures_2_4.OUTAGE,
    figure_5.EXPERIMENT,
)
