"""The summary that is printed after a run."""

from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from ackclock.result import Result


def print_warnings(result: "Result") -> None:
    """Prints the warnings of a result to standard error."""
    for warning in result.run["warnings"]:
        say(f"warning: {warning}", err=True)


def print_run(result: "Result", folder: Path, models: str, as_json: bool) -> None:
    """Prints the summary of a run, and a warning if its means have not settled."""
    from ackclock import stationarity
    from ackclock.report import run_tables
    from ackclock.run import prediction
    from ackclock.table import averaging

    judged = stationarity.judge(result)
    if judged.warning:
        say(f"warning: {judged.warning}", err=True)
    rows = run_tables.flow_rows(result, prediction.predict(result, models), judged)
    if as_json:
        hops = run_tables.hop_rows(result, judged)
        answer = {"folder": str(folder), "partial": result.partial, "flows": rows, "hops": hops}
        if result.run["method"] == "emulate":
            answer["fidelity"] = run_tables.fidelity_rows(result)
        print_json(answer)
        return
    print_table(run_tables.flow_table(rows, f"{result.run['name']}: {averaging(result)}"))
    if judged.marked:
        say(stationarity.NOTE)
    say(f"result: {folder}")
