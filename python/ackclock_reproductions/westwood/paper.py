"""What the entries of this paper share. Its figures could be had as captions and text only."""

from functools import partial

from ackclock.reproduction import Basis, figure
from ackclock_reproductions.westwood.over_parameter import JITTER
from ackclock_reproductions.westwood.senders import STANDARD

SOURCE = (
    'R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Using adaptive rate estimation to provide '
    'enhanced and robust transport over heterogeneous networks", ICNP, 2002'
)


#: The record of a figure, by its number.
entry = partial(figure, "westwood", SOURCE)


#: What is taken in all figures alike, chosen once; `readings` tables what comes of others.
CHOSEN = (
    f"{STANDARD.name}; ABSE as printed; CRB with θ = 1; the packet on the link among the buffer's; "
    f"send times {JITTER}, where there are several TCP senders, else up to the service time of a "
    "packet; length of the runs and starts guessed"
)


def basis(more: str = "", why: str = "") -> Basis:
    """What verdicts rest on: what was chosen; and why what does not come out does not."""
    return Basis(f"{CHOSEN}{more and '; '}{more}", why)
