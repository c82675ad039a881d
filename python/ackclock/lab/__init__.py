"""The lab page: a scenario as sliders, the engine behind them, a link to share.

`links` turns a scenario into the part of an address after `#` and back, `page` has the files of the
page, `calls` answers it in place of the engine in the page, `server` serves it on this machine.
"""

from ackclock.lab.links import LabState, decode, encode

__all__ = ["LabState", "decode", "encode"]
