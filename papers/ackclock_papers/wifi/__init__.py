"""Buffers of an 802.11e access point: Reddy's figures 8 to 12, of the 2008 Letter by Li and Leith.

`cell` has the path of all runs, `paper` the common parts of the entries.
"""

from ackclock.reproduction import Experiment
from ackclock_papers.wifi import figure_8, figures_9_10, figures_11_12

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_8.EXPERIMENT,
    figures_9_10.FIGURE_9,
    figures_9_10.FIGURE_10,
    figures_11_12.FIGURE_11,
    figures_11_12.FIGURE_12,
)
