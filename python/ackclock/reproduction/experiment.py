"""The record of one experiment that is reproduced, and what it has run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ackclock.reproduction.outcome import Outcome

if TYPE_CHECKING:
    from ackclock.estimators import Estimators
    from ackclock.result import Result
    from ackclock.scenario import Scenario


#: Of a run that is to be quick: the fewest that have a spread.
QUICK_REPLICATES = 2


@dataclass(frozen=True)
class Run:
    """Something that is run before an experiment concludes.

    Attributes:
        scenario: Sweeps and replicates included.
        method: `emulate` takes as long as the scenario lasts, and only some machines can.
        measured: Whether its captures are measured too.
        estimators: Rate estimators that run along when they are, as for `ackclock.measure`.
        side_by_side: Of what is emulated, how many runs at once.
        spare: Of what is emulated, how many runs may be unreliable: they are in no average.
        quick: What is run instead to be quick; by default the same with no more than
            `QUICK_REPLICATES`.
    """

    scenario: "Scenario"
    method: Literal["simulate", "emulate"] = "simulate"
    measured: bool = False
    estimators: "Estimators" = ()
    side_by_side: int = 1
    spare: int = 0
    quick: "Scenario | None" = None

    def quickly(self) -> "Run":
        """The run that gives a first look: of fewer replicates, and shorter where that is honest."""
        shortened = self.quick
        if shortened is None:
            fewer = min(self.scenario.expand()[0].scenario.resolve().replicates, QUICK_REPLICATES)
            shortened = self.scenario.replace({"replicates": fewer})
        return replace(self, scenario=shortened, quick=None)


def measured(name: str) -> str:
    """The name of what measuring the captures of a run gives."""
    return f"{name}, measured"


@dataclass(frozen=True)
class Experiment:
    """One table or figure, published or of a guide of ours.

    Attributes:
        name: On the command line: group, then `table` or `figure` and its number, or what it is.
        group: What it can be asked for together with.
        source: The publication, or the guide.
        shows: Which table or figure of it.
        question: What is asked.
        says: What the publication or the guide shows or says, in our words.
        cost_s: About how many seconds it takes one processor, drawing and waiting for real time
            included.
        conclude: Makes the outcome, from the results of `runs` by name, and what was measured of
            them by `measured` of that name; nothing is to be run for an analytic one.
        runs: What is run first, by the name of its result.
        package: Name of the package that announces it, whose files belong to the address of its
            record; the catalogue fills it in.
        failing: What claims say that are documented not to hold, beside those that say so
            themselves.
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
        """Concludes, and says of each claim whether it is documented to hold."""
        found = self.conclude(results)
        claims = (
            replace(one, documented=one.said not in self.failing) if one.documented is True else one
            for one in found.claims
        )
        return replace(found, claims=tuple(claims))


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
    """The record of a figure of a publication or guide, by its number; all of its entries have `group` and `source`."""
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
    """The conclusion of an experiment for which nothing is run."""

    def conclude(_results: "Mapping[str, Result]") -> Outcome:
        return compute()

    return conclude
