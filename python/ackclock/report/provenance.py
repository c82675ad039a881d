"""The provenance of numbers: commands, versions, seed, machine and the scenario as a file."""

import re
import shlex
from typing import Any

from ackclock import engine
from ackclock.comparison import Comparison
from ackclock.report.question import timing
from ackclock.report.section import Made
from ackclock.result.result import Result

_SAME = "Save the scenario below under that name. Predictions and simulated runs repeat exactly"
_VARIES = "emulated runs vary with the machine"


def question(scenario: dict[str, Any] | None, otherwise: str) -> str:
    """Returns the question that a scenario states, or other words."""
    return str((scenario or {}).get("question") or otherwise)


def of_comparison(comparison: Comparison) -> Made:
    """Returns how a comparison was made."""
    run, results = comparison.run, [column.result for column in comparison.columns.values()]
    file = f"{_slug(run['name'])}.toml"
    methods = ",".join(dict.fromkeys(column.method for column in comparison.columns.values()))
    linux = f" --linux {comparison.linux}" if comparison.linux else ""
    command = f"ackclock compare {file} --methods {methods}{linux}"
    facts: dict[str, Any] = {"versions": _versions(run["versions"]), "seed": run["seed"]}
    facts["replicates"] = ", ".join(
        f"{column.result.counted} {column.method}"
        for column in comparison.columns.values()
        if column.result is not None and column.method in ("simulate", "emulate")
    )
    facts["points"] = len(comparison.points)
    facts["duration"] = timing(point["scenario"] for point in comparison.points)
    machine: dict[str, Any] = {}
    for result in results:
        machine |= result.run.get("machine", {}) if result is not None else {}
    facts |= machine
    facts["intervals"] = (
        "95 %. Differences replicate by replicate, as all methods have the same random losses "
        "(Student's t; Welch's with fewer than two in common)"
    )
    return Made([command], f"{_SAME}; {_VARIES}.", facts, engine.to_toml(run["scenario"]))


def of_result(result: Result, more: dict[str, Any]) -> Made:
    """Returns how a run, a measurement or a session was made.

    Args:
        result: The result.
        more: Further facts.
    """
    run, scenario = result.run, result.points[0]["scenario"]
    method = run["method"]
    facts: dict[str, Any] = {"method": method, "versions": _versions(run["versions"])} | more
    if scenario is not None:
        facts |= {"seed": run["seed"], "replicates": result.counted}
        facts |= {"points": len(result.points)}
        facts["duration"] = timing(point["scenario"] for point in result.points)
    facts |= run.get("machine", {})
    if method == "measure":
        return Made([f"ackclock measure {shlex.quote(str(run['source']))}"], "", facts, "")
    if result.is_session or run["scenario"] is None:
        return Made([], "", facts, "")
    note = f"{_SAME}." if method != "emulate" else f"{_SAME}; {_VARIES}."
    toml = engine.to_toml(run["scenario"])
    return Made([f"ackclock {method} {_slug(run['name'])}.toml"], note, facts, toml)


def _versions(versions: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _slug(name: str) -> str:
    return re.sub(r"[^\w.]+", "-", name).strip("-") or "scenario"
