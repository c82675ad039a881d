"""Short transfers whose slow start overflows a queue: Reddy's figures 2 to 7.

Their theorem is by Barakat and Altman. The module `overflow` covers the window at the overflow and
the threshold that remains, `throughput` the speed of transfers. What the text advises is in
`guidance`, and `transfers` is the network, in the engine and in the model.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.short_transfers import guidance, overflow, throughput

EXPERIMENTS: tuple[Experiment, ...] = (
    *overflow.EXPERIMENTS,
    *throughput.EXPERIMENTS,
    *guidance.EXPERIMENTS,
)
"""In the order of their numbers."""
