"""The lab page: a scenario as sliders, the engine behind them, a link to share.

A link is the part of the page's address after `#`. The page runs an engine of its own, or has the
server run it.
"""

from ackclock.lab.links import LabState, decode, encode

__all__ = ["LabState", "decode", "encode"]
