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
    interrupted = [Sure(False, "Interrupted:", "methods, points or replicates are missing.")]
    statements = interrupted if comparison.partial else []
    for column in comparison.columns.values():
        if column.result is None:
            statements.append(Sure(False, f"No answer from {column.label}:", f"{column.why}."))
    if comparison.linux and "emulate" in results:
        statements.append(
            Sure(
                False,
                f"Linux ran its {comparison.linux}",
                "in place of the control of the scenario.",
            )
        )
    if "emulate" in results:
        statements.append(reliable(results["emulate"]))
    statements.append(
        replicates({answer.speaker(comparison, name): result for name, result in results.items()})
    )
    statements += of_l4s([column.l4s for column in comparison.columns.values()])
    unsettled = [column.unsettled for column in comparison.columns.values() if column.unsettled]
    if unsettled:
        statements.append(
            Sure(False, "Not settled:", f"{sentence(unsettled[0])} Such means have a *.")
        )
    elif any(
        verdict.settled
        for result in results.values()
        for verdict in judge(result).verdicts.values()
    ):
        statements.append(Sure(True, "Means have settled", "as far as it can be judged."))
    violated = _violated(comparison)
    if violated:
        statements.append(Sure(False, "Assumptions violated:", violated, "tables"))
    statements.append(_explained(comparison))
    statements += [
        Sure(False, f"{column.label}:", sentence(warning))
        for column in comparison.columns.values()
        if column.result is not None
        for warning in column.result.run["warnings"]
        if not warning.startswith(_SAID)
    ]
    return statements


def of_result(result: Result, judged: Stationarity) -> list[Sure]:
    """Returns what supports the numbers of a run and what does not."""
    statements = []
    if result.partial:
        statements.append(Sure(False, "Interrupted:", "replicates or points are missing."))
    if result.run["method"] == "emulate":
        statements.append(reliable(result))
    if result.run["method"] in ("simulate", "emulate"):
        statements += of_l4s([l4s.judge(result)])
        goodput = summarise(result, metric("goodput"))
        if all(math.isnan(summary.interval.mean) for summary in goodput):
            statements.append(Sure(False, "Nothing was measured:", "no flow has a mean."))
        else:
            statements.append(replicates({"this run": result}))
        if judged.warning:
            statements.append(Sure(False, "Not settled:", f"{sentence(judged.warning)}"))
        elif any(verdict.settled for verdict in judged.verdicts.values()):
            is_all = all(verdict.settled for verdict in judged.verdicts.values())
            words = "enough congestion epochs, no drift" if is_all else "as far as it can be judged"
            statements.append(Sure(True, "Means have settled:", f"{words}."))
    statements += [
        Sure(False, "Note:", sentence(warning))
        for warning in result.run["warnings"]
        if not warning.startswith(_SAID)
    ]
    return statements


def of_l4s(judged: Sequence[L4s]) -> list[Sure]:
    """Returns if runs with L4S flows are what they claim; nothing if there are none."""
    warnings = [judgement.warning for judgement in judged if judgement.warning]
    if warnings:
        lead, _, rest = warnings[0].partition(": ")
        return [Sure(False, f"{capital(lead)}:", sentence(rest))]
    sentences = [judgement.sentence for judgement in judged if judgement.sentence]
    if not sentences:
        return []
    lead, _, rest = sentences[0].partition(". ")
    return [Sure(True, f"{lead}:", rest)]


def sentence(text: str) -> str:
    """Returns a text with a full stop."""
    return text if text.endswith(".") else f"{text}."


def reliable(emulated: Result) -> Sure:
    """Returns how many emulated runs are reliable."""
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


def replicates(results: dict[str, Result], noun: str = "method") -> Sure:
    """Returns the number of runs of each result, by its name; few are a reason for caution.

    Args:
        results: By name.
        noun: The thing that a name names.
    """
    if not results:
        return Sure(True, "Computed, without randomness.")
    several = any(len(result.points) > 1 for result in results.values())
    where = " at each point" if several else ""
    counts = {name: f"{result.counted}{result.cut_short}" for name, result in results.items()}
    fewest = min(result.replicates[0] for result in results.values())
    if len(set(counts.values())) == 1:
        [result, *others] = results.values()
        runs = f"replicate{'' if result.replicates[1] == 1 else 's'}"
        each = f" of each {noun}" if others else ""
        words = f"{result.counted} {runs}{result.cut_short}{each}{where}."
    else:
        words = f"{', '.join(f'{count} of {name}' for name, count in counts.items())}{where}."
    repeated = {
        name: (len(result.identical), len(result.points))
        for name, result in results.items()
        if result.identical
    }
    if repeated:
        return identical(repeated)
    if fewest < 2:
        return Sure(False, "No interval:", words)
    if any(result.of_phases for result in results.values()):
        words += (
            " Nothing in them is random: they differ by phases, within a round trip at the start "
            "and within a packet time in the delay."
        )
    if fewest < _FEW:
        return Sure(False, "Few replicates:", f"{words} Smaller differences cannot be seen.")
    return Sure(True, "Enough replicates:", words)


def identical(points_of: Mapping[str, tuple[int, int]]) -> Sure:
    """Says that replicates do not tell a spread.

    Args:
        points_of: How many points have identical replicates, and how many there are, by what ran
            them.
    """
    sentences = []
    for name, (count, points) in points_of.items():
        where = f" at {count} of {points} points" if points > 1 else ""
        sentences.append(
            f"nothing random affects those of {name}{where}, so that they count as one."
        )
    return Sure(False, "Identical replicates:", " ".join(sentences))


def _violated(comparison: Comparison) -> str:
    """Names the models whose assumptions are violated, and how often."""
    cells = [
        row.cells["predict"]
        for row in comparison.rows
        if row.metric == "goodput" and "predict" in row.cells and row.cells["predict"].is_known
    ]
    doubtful = [cell for cell in cells if cell.prediction is not None and cell.prediction.violated]
    if not doubtful:
        return ""
    names = dict.fromkeys(
        cell.prediction.model.label for cell in doubtful if cell.prediction is not None
    )
    return f"in {len(doubtful)} of {len(cells)} predictions ({', '.join(names)})."


def _explained(comparison: Comparison) -> Sure:
    residuals = [residual for row in comparison.rows for residual in row.residuals.values()]
    if not residuals:
        return Sure(False, "Nothing to compare:", "fewer than two methods have a number.")
    standings = [residual.standing for residual in residuals]
    exceed = standings.count(EXCEEDS)
    unexplained = sum(residual.is_unexplained for residual in residuals)
    rest = tally(comparison)
    if UNSURE in standings:
        return Sure(False, "Differences may be chance:", rest, "tables")
    if not exceed:
        threshold = " of 1 % or more" if SLIGHT in standings else ""
        return Sure(True, f"No difference{threshold} exceeds its interval.", rest, "tables")
    lead = f"{exceed - unexplained} of {exceed} differences explained."
    return Sure(unexplained == 0, lead, rest, "why")
