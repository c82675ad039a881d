"""What the entries of this paper share. It could be had as a text that had lost most of its digits, without its end."""

from functools import partial

from ackclock.reproduction import Band, Kind, Verdict, figure

GROUP = "tfrcp"
SOURCE = (
    'J. Padhye, J. Kurose, D. Towsley, R. Koodli, "A model based TCP-friendly rate control protocol", NOSSDAV, 1999'
)

#: The record of a figure, by its number.
entry = partial(figure, GROUP, SOURCE)

#: What counts as the paper's "close to 1", said before anything was run: a mean over the loads, and every point.
CLOSE, EVERY = Band(0.7, 1.4), Band(0.5, 2.0)

#: What was chosen for all figures, in short.
GUESSES = "delay, length of packets and of runs, and r0 guessed, their digits being lost"


def reading(more: str = "", exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is said comes out, except for some of it: under what was chosen."""
    return Verdict(Kind.READING, f"{GUESSES}{more and '; '}{more}", exceptions)


def missed(why: str) -> Verdict:
    """The verdict on a figure of which what is said does not come out, whatever was guessed."""
    return Verdict(Kind.NOT, f"{why}; {GUESSES}")
