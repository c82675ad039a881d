"""Common parts of this paper's entries.

Letters: p loss probability, w_max largest window (segments), L link rate (segments/s), ET mean of
the throughput T.
"""

from collections.abc import Callable

from ackclock.reproduction import Experiment, Outcome, analytic

SOURCE = (
    'O. Bogoiavlenskaia, M. Kojo, M. Mutka, T. Alanko, "Analytical Markovian model of TCP '
    'congestion avoidance algorithm performance", University of Helsinki, report C-2002-13, 2002'
)

# Only captions and text of the figures were available. The numbers beside ours are from an
# unpublished reference computation of the paper's formulas, independent of this program. No verdict
# counts them.
NO_DRAWING = "of the figure only text and caption could be had"

# Tolerance for numbers of figures.
FIGURE_SHARE = 0.01
FIGURE_CRITERION = "within 1 %, or within the last digit"


def entry(
    shows: str, question: str, says: str, cost_s: float, compute: Callable[[], Outcome]
) -> Experiment:
    """Returns the record of a table or figure; `shows` is for example "Figure 8.1"."""
    kind, number = shows.lower().split()
    name = f"markov-{kind}-{number}"
    return Experiment(name, "markov", SOURCE, shows, question, says, cost_s, analytic(compute))
