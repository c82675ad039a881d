"""Our own figures of rate controls: their smoothness, their response times, the equation's error.

`senders` has the senders that are compared, and their path.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.own.rate_control import figure_1, figure_5, figures_2_4

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_1.EXPERIMENT,
    figures_2_4.LOSS_STEP,
    figures_2_4.BANDWIDTH_STEP,
    figures_2_4.OUTAGE,
    figure_5.EXPERIMENT,
)
