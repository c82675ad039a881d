"""The summary that is printed after a run."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.cli.output import print_json, print_rows, say, say_wrapped

if TYPE_CHECKING:
    from ackclock.result.result import Result
    from ackclock.table import Table
    from ackclock.validity.l4s import L4s


def print_warnings(result: "Result") -> None:
    """Prints the warnings of a result to standard error: first, that it is not what it claims."""
    from ackclock.validity import l4s

    for warning in (l4s.judge(result).warning, *result.run["warnings"]):
        if warning:
            say(f"warning: {warning}", err=True)


def print_run(
    result: "Result", folder: Path, models: str, as_json: bool, lasted_s: float | None = None
) -> None:
    """Prints the summary of what was run, and on standard error whether its means have settled.

    Args:
        result: Of `simulate` or `emulate`.
        folder: Where it is.
        models: Those whose predictions stand beside it, as far as there is room.
        as_json: Whether to print JSON instead.
        lasted_s: How long the command took; None if it did not run anything.
    """
    from ackclock.report import run_tables, summary
    from ackclock.run import prediction
    from ackclock.validity import l4s, stationarity

    claimed = l4s.judge(result)
    judged = stationarity.judge(result)
    if judged.warning:
        say(f"warning: {judged.warning}", err=True)
    rows = run_tables.flow_rows(result, prediction.predict(result, models), judged)
    hops = run_tables.hop_rows(result, judged)
    if as_json:
        answer = {"folder": str(folder), "partial": result.partial, "flows": rows, "hops": hops}
        print_json(answer | _verdicts(result, claimed))
        return
    words = result.averaging
    warmups = {point["scenario"]["warmup"] for point in result.points}
    if len(warmups) == 1 and warmups != {"0 s"}:
        words += f", from {warmups.pop()} on"
    words = words.replace("± 95 % confidence", "± 95 % confidence where the digits show it")
    shown = print_rows(_brief(run_tables.flow_table(rows, summary.title(result))), words)
    if judged.marked:
        say_wrapped(stationarity.NOTE)
    if run_tables.violated_models(rows) & {column.name for column in shown.columns}:
        say_wrapped(run_tables.VIOLATED)
    sentences = summary.sentences(result, rows, hops)
    if claimed.sentence:
        sentences = [*sentences, claimed.sentence]
    if sentences:
        say()
        say_wrapped(" ".join(sentences))
    say()
    kind = "cwnd" if len(result.points) == 1 else "sweep"
    say(f"  result  {folder}")
    say(f"  next    ackclock plot {shlex.quote(str(folder))} --kind {kind}")
    if lasted_s is not None and result.run["method"] == "simulate":
        say(f"  time    {lasted_s:.1f} s for {_virtual(result):g} s of virtual time")


def _verdicts(result: "Result", claimed: "L4s") -> dict[str, Any]:
    """Returns the verdicts on the runs: of an emulation, and of flows that ask for L4S."""
    from ackclock.report import run_tables

    verdicts: dict[str, Any] = {"l4s": claimed.rows()} if claimed.verdicts else {}
    if result.run["method"] == "emulate":
        verdicts["fidelity"] = run_tables.fidelity_rows(result)
    return verdicts


def _virtual(result: "Result") -> float:
    """The seconds that were simulated, of all runs."""
    return sum(result.lasted_s.values())


def _brief(table: "Table") -> "Table":
    """The table without the half widths that its digits do not show."""
    from ackclock.table import brief

    return replace(table, rows=tuple(tuple(map(brief, row)) for row in table.rows))
