"""What the entries of this paper share. Its figures could be had as captions and text only."""

from functools import partial

from ackclock.reproduction import Kind, Verdict, figure
from ackclock_reproductions.westwood.senders import STANDARD

SOURCE = (
    'R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Using adaptive rate estimation to provide enhanced and robust '
    'transport over heterogeneous networks", ICNP, 2002'
)


#: The record of a figure, by its number.
entry = partial(figure, "westwood", SOURCE)


def reading(more: str = "", exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is printed comes out, except for some of it: under what was chosen."""
    chosen = f"{STANDARD.name}; length of the runs, starts and jitter guessed"
    return Verdict(Kind.READING, f"{chosen}{more and '; '}{more}", exceptions)
