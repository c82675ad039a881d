"""What the entries share: figures 8 to 12 of Reddy's paper, whose section III restates the Letter of Li and Leith."""

from functools import partial

from ackclock.reproduction import Basis, figure

GROUP = "wifi"
SOURCE = (
    'D. A. M. Reddy, "Influence of router buffer size on TCP execution" (figures 8 to 12), of the '
    'cell and the adaptive buffer of T. Li, D. J. Leith, "Buffer sizing for TCP flows in 802.11e '
    'WLANs", IEEE Communications Letters, 2008'
)

#: The record of a figure, by Reddy's number.
entry = partial(figure, GROUP, SOURCE)

#: What was chosen for all figures, in short.
GUESSES = "contention of data, frame formats and TCP beside Reno guessed, by what comes out"


def basis(why: str = "") -> Basis:
    """What verdicts rest on: what was chosen; and why what does not come out does not."""
    return Basis(GUESSES, why)
