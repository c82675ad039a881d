"""Short transfers whose slow start overflows a queue: Figures 2 to 7 of Barakat and Altman 2000.

`overflow` has at which window, and what threshold is left; `throughput` how fast transfers are. `transfers` is the
network, in the engine and in the model.
"""

from ackclock.experiments.experiment import Experiment
from ackclock.experiments.slow_start import overflow, throughput

EXPERIMENTS: tuple[Experiment, ...] = (*overflow.EXPERIMENTS, *throughput.EXPERIMENTS)
"""In the order of their numbers."""
