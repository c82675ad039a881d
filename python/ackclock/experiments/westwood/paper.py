"""What the entries of this paper share. Its figures could be had as captions and text only."""

from collections.abc import Callable, Mapping

from ackclock.experiments.experiment import Experiment, Run
from ackclock.experiments.outcome import Kind, Outcome, Table, Verdict
from ackclock.experiments.westwood.senders import STANDARD
from ackclock.metrics import Interval
from ackclock.result import Result
from ackclock.summary import written_interval

#: Our numbers: by what tells rows apart, and by column.
Rows = dict[tuple[str, ...], dict[str, Interval]]

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


def measured(title: str, keys: tuple[str, ...], rows: Rows) -> Table:
    """A table of our numbers with their intervals; the columns are those of the rows, in order of appearance."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    cells = [
        (*key, *(written_interval(row[name]) if name in row else "–" for name in columns)) for key, row in rows.items()
    ]
    return Table(f"{title}: means of replicates ± 95 % confidence", (*keys, *columns), tuple(cells))
