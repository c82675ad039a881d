"""Confirms a recommendation by emulation with the kernel's TCP.

The recommended buffer and the smallest one that meets the targets are emulated.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ackclock.advice.buffer.advise import BufferAdvice
from ackclock.advice.buffer.measures import intervals, values
from ackclock.advice.buffer.trials import Outcome, Setting, goes_on
from ackclock.errors import LackingError
from ackclock.result.result import Result
from ackclock.run import address, cache
from ackclock.run.time_budget import duration_s
from ackclock.scenario import Scenario, ScenarioError

Tell = Callable[[float], None]


@dataclass(frozen=True)
class Confirmation:
    """Results of emulating a recommendation.

    Attributes:
        outcomes: Results of the recommended buffer and of the smallest that meets the targets, or
            of the next smaller one where these are the same. Unreliable runs are left out.
        unreliable: Number of unreliable runs.
        why: Reason why there are no results; empty if there are some.
    """

    outcomes: tuple[Outcome, ...]
    unreliable: int
    why: str


def confirm(
    advice: BufferAdvice, folder: str | Path | None, announce: Callable[[str], None], tell: Tell
) -> Confirmation:
    """Emulates in real time; a machine that cannot emulate gives the reason.

    Args:
        advice: The recommendation.
        folder: Where results are kept; None for nowhere.
        announce: Takes one line about what takes real time.
        tell: Takes the share done.

    Raises:
        KeyboardInterrupt: Interrupted; runs that had finished are kept.
    """
    if advice.answer is None:
        return Confirmation((), 0, "no buffer was recommended, so there is nothing to confirm")
    both = (
        advice.recommended,
        advice.answer if advice.answer is not advice.recommended else advice.below,
    )
    settings = [outcome.setting for outcome in both if outcome is not None]
    runs = [(setting, advice.trials.with_queue(setting)) for setting in settings]
    words = " and ".join(setting.label for setting in settings)
    announce(
        f"emulate: {words}, {sum(duration_s(scenario) for _, scenario in runs):g} s of real "
        "time and some more"
    )
    with tempfile.TemporaryDirectory(prefix="ackclock-") as scratch:
        place = Path(scratch) if folder is None else Path(folder)
        outcomes, unreliable = [], 0
        try:
            for position, (setting, scenario) in enumerate(runs):
                result, name = _emulated(scenario, place, _part(tell, position, len(runs)))
                unreliable += len(result.unreliable)
                outcomes.append(_outcome(setting, result, advice.hop.name, name))
        except (LackingError, ScenarioError) as error:
            return Confirmation((), 0, str(error))
        except KeyboardInterrupt:
            raise KeyboardInterrupt(goes_on(folder)) from None
    return Confirmation(tuple(outcomes), unreliable, "")


def _part(tell: Tell, position: int, parts: int) -> Tell:
    return lambda share: tell((position + share) / parts)


def _emulated(scenario: Scenario, place: Path, tell: Tell) -> tuple[Result, str]:
    made_of = address.of_emulation(scenario)
    kept = cache.complete_result(place / made_of, made_of)
    if kept is not None:
        return kept, made_of
    result = cache.emulate(scenario, place / made_of, tell, captures=False)
    if result.run.get("failed"):
        raise LackingError(
            "failed", "", next(line for line in result.run["warnings"] if "failed" in line)
        )
    if result.partial:
        raise KeyboardInterrupt
    return result, made_of


def _outcome(setting: Setting, result: Result, hop: str, name: str) -> Outcome:
    by_measure = values(result, hop)
    return Outcome(setting, by_measure, intervals(by_measure), (name,))
