"""What the entries of this paper share. It could be had as a later account of it only, which numbers its figures."""

from functools import partial

from ackclock.reproduction import Kind, Verdict, figure

GROUP = "wifi"
SOURCE = 'T. Li, D. J. Leith, "Buffer sizing for TCP flows in 802.11e WLANs", IEEE Communications Letters, 2008'

#: The record of a figure, by the number that the later account gives it.
entry = partial(figure, GROUP, SOURCE)

#: What was chosen for all figures, in short.
GUESSES = "contention of data, frame formats and TCP beside Reno guessed, by what comes out"


def reading(exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is said comes out, except for some of it: under what was chosen."""
    return Verdict(Kind.READING, GUESSES, exceptions)
