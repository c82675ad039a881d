"""The record of one experiment that is reproduced."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.experiments.outcome import Outcome

if TYPE_CHECKING:
    from ackclock.result import Result
    from ackclock.scenario import Scenario


@dataclass(frozen=True)
class Experiment:
    """One table or figure, published or of a guide of ours.

    Attributes:
        name: On the command line: group, `table` or `figure`, number.
        group: What it can be asked for together with.
        source: The publication, or the guide.
        shows: Which table or figure of it.
        question: What is asked.
        says: What the publication or the guide shows or says, in our words.
        cost_s: About how many seconds of one processor it takes, drawing included.
        conclude: Makes the outcome, from the results of `runs` by name; nothing is to be run for an analytic one.
        runs: The scenarios to simulate first, sweeps and replicates included, by the name of their result.
    """

    name: str
    group: str
    source: str
    shows: str
    question: str
    says: str
    cost_s: float
    conclude: "Callable[[Mapping[str, Result]], Outcome]"
    runs: "Callable[[], Mapping[str, Scenario]]" = dict


def analytic(compute: Callable[[], Outcome]) -> "Callable[[Mapping[str, Result]], Outcome]":
    """The conclusion of an experiment for which nothing is run."""

    def conclude(_results: "Mapping[str, Result]") -> Outcome:
        return compute()

    return conclude
