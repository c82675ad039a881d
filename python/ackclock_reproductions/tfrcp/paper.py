"""What the entries of this paper share. It could be had as a text that had lost most of its digits, without its end."""

from functools import partial

from ackclock.reproduction import Basis, figure, words

GROUP = "tfrcp"
SOURCE = (
    'J. Padhye, J. Kurose, D. Towsley, R. Koodli, "A model based TCP-friendly rate control '
    'protocol", NOSSDAV, 1999'
)

#: The record of a figure, by its number.
entry = partial(figure, GROUP, SOURCE)

#: The paper's "close to 1" and "approximately one".
CLOSE = words.about("1")

#: What was chosen for all figures, in short.
GUESSES = "delay, length of packets and of runs, and r0 guessed, their digits being lost"


def basis(more: str = "", why: str = "") -> Basis:
    """What verdicts rest on: what was chosen; and why what does not come out does not."""
    return Basis(f"{GUESSES}{more and '; '}{more}", why)
