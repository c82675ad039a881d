"""Common parts of this paper's entries.

Only captions and text of its figures were available.
"""

from functools import partial

from ackclock.reproduction import Basis, figure
from ackclock_papers.westwood.over_parameter import JITTER
from ackclock_papers.westwood.senders import STANDARD

SOURCE = (
    'R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Using adaptive rate estimation to provide '
    'enhanced and robust transport over heterogeneous networks", ICNP, 2002'
)


#: Makes the record of a figure from its number.
entry = partial(figure, "westwood", SOURCE)


#: Choices common to all figures; `readings` tables the effect of other choices.
CHOSEN = (
    f"{STANDARD.name}; ABSE as printed; CRB with θ = 1; the packet on the link among the buffer's; "
    f"send times {JITTER}, where there are several TCP senders, else up to the service time of a "
    "packet; length of the runs and starts guessed"
)


def basis(more: str = "", why: str = "") -> Basis:
    """Returns the basis of the verdicts: what was chosen, and why some claims do not hold."""
    return Basis(f"{CHOSEN}{more and '; '}{more}", why)
