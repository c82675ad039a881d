"""What the entries of this paper share. Its figures could be had as captions and text only."""

from collections.abc import Callable, Mapping

from ackclock.experiments.experiment import Experiment, Run
from ackclock.experiments.outcome import Kind, Outcome, Verdict
from ackclock.experiments.westwood.senders import STANDARD
from ackclock.result import Result

SOURCE = (
    'R. Wang, M. Valla, M. Y. Sanadidi, M. Gerla, "Using adaptive rate estimation to provide enhanced and robust '
    'transport over heterogeneous networks", ICNP, 2002'
)


def entry(
    number: str,
    question: str,
    says: str,
    cost_s: float,
    conclude: Callable[[Mapping[str, Result]], Outcome],
    runs: Callable[[], Mapping[str, Run]],
) -> Experiment:
    """The record of a figure, by its number."""
    return Experiment(
        f"westwood-figure-{number}", "westwood", SOURCE, f"Figure {number}", question, says, cost_s, conclude, runs
    )


def reading(more: str = "", exceptions: str = "") -> Verdict:
    """The verdict on a figure of which what is printed comes out, except for some of it: under what was chosen."""
    chosen = f"{STANDARD.name}; length of the runs, starts and jitter guessed"
    return Verdict(Kind.READING, f"{chosen}{more and '; '}{more}", exceptions)
