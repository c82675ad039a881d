"""The lab page: a scenario as sliders, the engine behind them, a link to share.

`links` turns a scenario into the part of an address after `#` and back. `page` has the files of the
page, and `server` serves it on this machine. `calls` answers it in place of an engine of its own.
"""

from ackclock.lab.links import LabState, decode, encode

__all__ = ["LabState", "decode", "encode"]
