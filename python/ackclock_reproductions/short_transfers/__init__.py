"""Short transfers whose slow start overflows a queue: Reddy's figures 2 to 7, of Barakat and Altman.

`overflow` has at which window, and what threshold is left; `throughput` how fast transfers are.
`transfers` is the network, in the engine and in the model.
"""

from ackclock.reproduction import Experiment
from ackclock_reproductions.short_transfers import overflow, throughput

EXPERIMENTS: tuple[Experiment, ...] = (*overflow.EXPERIMENTS, *throughput.EXPERIMENTS)
"""In the order of their numbers."""
