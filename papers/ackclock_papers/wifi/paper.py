"""Common parts of figures 8 to 12 of Reddy's paper, whose section III restates Li and Leith."""

from functools import partial

from ackclock.reproduction import Basis, figure

GROUP = "wifi"
SOURCE = (
    'D. A. M. Reddy, "Influence of router buffer size on TCP execution" (figures 8 to 12), of the '
    'cell and the adaptive buffer of T. Li, D. J. Leith, "Buffer sizing for TCP flows in 802.11e '
    'WLANs", IEEE Communications Letters, 2008'
)

#: Makes the record of a figure from Reddy's number.
entry = partial(figure, GROUP, SOURCE)

#: Choices common to all figures, in short.
GUESSES = "contention of data, frame formats and TCP beside Reno guessed, by what comes out"


def basis(why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(GUESSES, why)
