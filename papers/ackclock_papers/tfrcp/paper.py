"""Common parts of this paper's entries.

The only text available had lost most of its digits and its end.
"""

from functools import partial

from ackclock.reproduction import Basis, figure, words

GROUP = "tfrcp"
SOURCE = (
    'J. Padhye, J. Kurose, D. Towsley, R. Koodli, "A model based TCP-friendly rate control '
    'protocol", NOSSDAV, 1999'
)

#: Makes the record of a figure from its number.
entry = partial(figure, GROUP, SOURCE)

#: The paper's "close to 1" and "approximately one".
CLOSE = words.about("1")

#: Choices common to all figures, in short.
GUESSES = "delay, length of packets and of runs, and r0 guessed, their digits being lost"


def basis(more: str = "", why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(f"{GUESSES}{more and '; '}{more}", why)
