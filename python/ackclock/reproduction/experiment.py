"""The record of a reproduced experiment, and of its runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ackclock.reproduction.outcome import Outcome

if TYPE_CHECKING:
    from ackclock.capture.estimators import Estimators
    from ackclock.result.result import Result
    from ackclock.scenario import Scenario


#: Replicates of a quick run: the fewest that have a spread.
QUICK_REPLICATES = 2


@dataclass(frozen=True)
class Run:
    """A run on which an experiment's conclusion depends.

    Attributes:
        scenario: With its sweep and replicates.
        method: `emulate` takes as long as the scenario lasts, and only some machines can do it.
        measured: True if its captures are measured too.
        estimators: Rate estimators for that measurement, as for `ackclock.measure`.
        side_by_side: Number of emulated runs at once.
        spare: Number of emulated runs that may be unreliable; averages leave them out.
        quick: The scenario of a quick run; by default the same with at most `QUICK_REPLICATES`.
    """

    scenario: "Scenario"
    method: Literal["simulate", "emulate"] = "simulate"
    measured: bool = False
    estimators: "Estimators" = ()
    side_by_side: int = 1
    spare: int = 0
    quick: "Scenario | None" = None

    def quickly(self) -> "Run":
        """Returns the run for a first look: fewer replicates, and shorter where that is honest."""
        shortened = self.quick
        if shortened is None:
            fewer = min(self.scenario.expand()[0].scenario.resolve().replicates, QUICK_REPLICATES)
            shortened = self.scenario.replace({"replicates": fewer})
        return replace(self, scenario=shortened, quick=None)


def measured(name: str) -> str:
    """Returns the name of the measurement of a run's captures."""
    return f"{name}, measured"


@dataclass(frozen=True)
class Experiment:
    """One table or figure, published or from one of our guides.

    Attributes:
        name: Name on the command line: group, then `table` or `figure` and its number, or its
            subject.
        group: Name shared by experiments that can be asked for together.
        source: The publication or guide.
        shows: The table or figure in it.
        question: The question.
        says: What the publication or guide shows or says, in our words.
        cost_s: Approximate time on one processor in seconds, with drawing and waiting for real
            time.
        conclude: Makes the outcome from the results of `runs` by name. Measurements have the name
            that `measured` gives. An analytic experiment has no runs.
        runs: The runs, by the name of their result.
        package: Package that announces it; its files belong to the address of the record. The
            catalogue fills it in.
        failing: Claims that are documented not to hold, besides those that say so themselves.
    """

    name: str
    group: str
    source: str
    shows: str
    question: str
    says: str
    cost_s: float
    conclude: "Callable[[Mapping[str, Result]], Outcome]"
    runs: "Callable[[], Mapping[str, Run]]" = dict
    package: str = ""
    failing: frozenset[str] = frozenset()

    def outcome(self, results: "Mapping[str, Result]") -> Outcome:
        """Draws the conclusion, and marks each claim as documented to hold or not."""
        outcome = self.conclude(results)
        claims = (
            replace(claim, documented=claim.said not in self.failing)
            if claim.documented is True
            else claim
            for claim in outcome.claims
        )
        return replace(outcome, claims=tuple(claims))


def figure(
    group: str,
    source: str,
    number: str,
    question: str,
    says: str,
    cost_s: float,
    conclude: "Callable[[Mapping[str, Result]], Outcome]",
    runs: "Callable[[], Mapping[str, Run]]",
) -> Experiment:
    """Returns the record of a figure by its number.

    `group` and `source` are those of all its publication's entries.
    """
    return Experiment(
        f"{group}-figure-{number}",
        group,
        source,
        f"Figure {number}",
        question,
        says,
        cost_s,
        conclude,
        runs,
    )


def analytic(compute: Callable[[], Outcome]) -> "Callable[[Mapping[str, Result]], Outcome]":
    """Returns the conclusion of an experiment without runs."""

    def conclude(_results: "Mapping[str, Result]") -> Outcome:
        return compute()

    return conclude
