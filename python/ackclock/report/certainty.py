"""The certainty of numbers: reliable runs, replicates, settled means, explained differences."""

import math
from collections.abc import Mapping, Sequence

from ackclock.comparison import EXCEEDS, SLIGHT, UNSURE, Comparison, answer
from ackclock.comparison.explanation import tally
from ackclock.metrics import metric, summarise
from ackclock.report.section import Sure
from ackclock.result.result import Result
from ackclock.table import capital
from ackclock.validity import l4s
from ackclock.validity.l4s import L4s
from ackclock.validity.stationarity import Stationarity, judge

__all__ = ["identical", "of_comparison", "of_result"]

# Below so many replicates an interval says little.
_FEW = 5

# Warnings of a run that are said in other words.
_SAID = ("one replicate", "interrupted")


def of_comparison(comparison: Comparison) -> list[Sure]:
    """Returns what supports a comparison and what does not."""
    results = {
        name: column.result
        for name, column in comparison.columns.items()
        if column.result is not None and column.method in ("simulate", "emulate")
    }
    said = [Sure(False, "Interrupted:", "methods, points or replicates are missing.")]
    found = said if comparison.partial else []
    for column in comparison.columns.values():
        if column.result is None:
            found.append(Sure(False, f"No answer from {column.label}:", f"{column.why}."))
    if "emulate" in results:
        found.append(_reliable(results["emulate"]))
    found.append(_replicates({answer.speaker(comparison, one): of for one, of in results.items()}))
    found += _l4s([column.l4s for column in comparison.columns.values()])
    unsettled = [column.unsettled for column in comparison.columns.values() if column.unsettled]
    if unsettled:
        found.append(Sure(False, "Not settled:", f"{_sentence(unsettled[0])} Such means have a *."))
    elif any(verdict.settled for of in results.values() for verdict in judge(of).verdicts.values()):
        found.append(Sure(True, "Means have settled", "as far as it can be judged."))
    violated = _violated(comparison)
    if violated:
        found.append(Sure(False, "Assumptions violated:", violated, "tables"))
    found.append(_explained(comparison))
    found += [
        Sure(False, f"{column.label}:", _sentence(warning))
        for column in comparison.columns.values()
        if column.result is not None
        for warning in column.result.run["warnings"]
        if not warning.startswith(_SAID)
    ]
    return found


def of_result(result: Result, judged: Stationarity) -> list[Sure]:
    """Returns what supports the numbers of a run and what does not."""
    found = []
    if result.partial:
        found.append(Sure(False, "Interrupted:", "replicates or points are missing."))
    if result.run["method"] == "emulate":
        found.append(_reliable(result))
    if result.run["method"] in ("simulate", "emulate"):
        found += _l4s([l4s.judge(result)])
        goodput = summarise(result, metric("goodput"))
        if all(math.isnan(one.interval.mean) for one in goodput):
            found.append(Sure(False, "Nothing was measured:", "no flow has a mean."))
        else:
            found.append(_replicates({"this run": result}))
        if judged.warning:
            found.append(Sure(False, "Not settled:", f"{_sentence(judged.warning)}"))
        elif any(verdict.settled for verdict in judged.verdicts.values()):
            found.append(Sure(True, "Means have settled:", "enough congestion epochs, no drift."))
    found += [
        Sure(False, "Note:", _sentence(warning))
        for warning in result.run["warnings"]
        if not warning.startswith(_SAID)
    ]
    return found


def _l4s(judged: Sequence[L4s]) -> list[Sure]:
    """Returns if runs with L4S flows are what they claim; nothing if there are none."""
    warnings = [one.warning for one in judged if one.warning]
    if warnings:
        lead, _, rest = warnings[0].partition(": ")
        return [Sure(False, f"{capital(lead)}:", _sentence(rest))]
    sentences = [one.sentence for one in judged if one.sentence]
    if not sentences:
        return []
    lead, _, rest = sentences[0].partition(". ")
    return [Sure(True, f"{lead}:", rest)]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _reliable(emulated: Result) -> Sure:
    rows = emulated.tables["fidelity"].select(["reliable", "lateness_p99_s"]).to_pylist()
    good = sum(bool(row["reliable"]) for row in rows)
    late = [row["lateness_p99_s"] for row in rows if row["lateness_p99_s"] is not None]
    if good == len(rows):
        leads = {1: "The emulated run is", 2: "Both emulated runs are"}
        lead = leads.get(good, f"All {good} emulated runs are")
        worst = f"99 % of the packets left at most {1e3 * max(late):.2g} ms late." if late else ""
        return Sure(True, f"{lead} reliable.", worst, "tables")
    taken = "averages include the others." if emulated.averages_unreliable else "others left out."
    return Sure(False, f"{good} of {len(rows)} emulated runs are reliable;", taken, "tables")


def _replicates(results: dict[str, Result]) -> Sure:
    """Returns the number of runs of each method; few are a reason for caution."""
    if not results:
        return Sure(True, "Computed, without randomness.")
    several = any(len(result.points) > 1 for result in results.values())
    at = " at each point" if several else ""
    counts = {name: f"{result.counted}{result.cut_short}" for name, result in results.items()}
    fewest = min(result.replicates[0] for result in results.values())
    if len(set(counts.values())) == 1:
        [result, *others] = results.values()
        noun = f"replicate{'' if result.replicates[1] == 1 else 's'}"
        each = " of each method" if others else ""
        words = f"{result.counted} {noun}{result.cut_short}{each}{at}."
    else:
        words = f"{', '.join(f'{count} of {name}' for name, count in counts.items())}{at}."
    repeated = {
        name: (len(result.identical), len(result.points))
        for name, result in results.items()
        if result.identical
    }
    if repeated:
        return identical(repeated)
    if fewest < 2:
        return Sure(False, "No interval:", words)
    if fewest < _FEW:
        return Sure(False, "Few replicates:", f"{words} Smaller differences cannot be seen.")
    return Sure(True, "Enough replicates:", words)


def identical(found: Mapping[str, tuple[int, int]]) -> Sure:
    """Says that replicates do not tell a spread.

    Args:
        found: How many points have identical replicates, and how many there are, by what ran them.
    """
    said = []
    for name, (count, points) in found.items():
        at = f" at {count} of {points} points" if points > 1 else ""
        said.append(f"nothing random affects those of {name}{at}, so that they count as one.")
    return Sure(False, "Identical replicates:", " ".join(said))


def _violated(comparison: Comparison) -> str:
    """Names the models whose assumptions are violated, and how often."""
    cells = [
        row.cells["predict"]
        for row in comparison.rows
        if row.metric == "goodput" and "predict" in row.cells and row.cells["predict"].is_known
    ]
    found = [cell for cell in cells if cell.prediction is not None and cell.prediction.violated]
    if not found:
        return ""
    names = dict.fromkeys(
        cell.prediction.model.label for cell in found if cell.prediction is not None
    )
    return f"in {len(found)} of {len(cells)} predictions ({', '.join(names)})."


def _explained(comparison: Comparison) -> Sure:
    residuals = [one for row in comparison.rows for one in row.residuals.values()]
    if not residuals:
        return Sure(False, "Nothing to compare:", "fewer than two methods have a number.")
    standings = [one.standing for one in residuals]
    exceed = standings.count(EXCEEDS)
    unexplained = sum(one.is_unexplained for one in residuals)
    rest = tally(comparison)
    if UNSURE in standings:
        return Sure(False, "Differences may be chance:", rest, "tables")
    if not exceed:
        of = " of 1 % or more" if SLIGHT in standings else ""
        return Sure(True, f"No difference{of} exceeds its interval.", rest, "tables")
    lead = f"{exceed - unexplained} of {exceed} differences explained."
    return Sure(unexplained == 0, lead, rest, "why")
