"""Reports on results: one self-contained HTML page.

It shows the scenario, capture or session, tables, figures, versions and seeds.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from ackclock.report import capture, run_tables, session
from ackclock.result import Result
from ackclock.stationarity import judge
from ackclock.table import averaging

__all__ = ["page"]


def page(
    results: Sequence[tuple[Result, Result | None]], progress: Callable[[float], None] | None = None
) -> str:
    """Returns the text of the page. The same results give the same text.

    Args:
        results: Each with its predictions, or None.
        progress: Takes the share done.
    """
    from ackclock.report.environment import environment  # as in _section

    sections = []
    for number, (result, predicted) in enumerate(results):

        def tell(done: float, start: int = number) -> None:
            if progress is not None:
                progress((start + done) / len(results))

        sections.append(_section(number, result, predicted, tell))
    title = ", ".join(dict.fromkeys(result.run["name"] for result, _ in results))
    return environment().get_template("page.html.jinja").render(title=title, sections=sections)


def _section(
    number: int, result: Result, predicted: Result | None, progress: Callable[[float], None]
) -> dict[str, Any]:
    # Matplotlib is slow to import, and tables on a terminal, which are in this package, do without.
    from ackclock import plot

    scenario = result.points[0]["scenario"]
    figures = []
    available = plot.figures(result, predicted)
    for position, (name, draw) in enumerate(available.items()):
        figures.append((name, plot.inline(plot.render(draw(), "svg"), f"r{number}-{name}-")))
        progress((position + 1) / len(available))
    return _said(result, predicted) | {
        "run": result.run,
        "facts": _facts(result),
        "scenario": scenario,
        "points": len(result.points),
        "sweep": (result.run["scenario"] or {}).get("sweep", {}),
        "route": lambda names: " → ".join(names) if names else "–",
        "span": lambda written: " to ".join(written) if isinstance(written, list) else written,
        "brief": _brief,
        "figures": figures,
        "json": json.dumps(result.run["scenario"], indent=2, ensure_ascii=False),
        "resolved": json.dumps(scenario, indent=2, ensure_ascii=False),
    }


def _said(result: Result, predicted: Result | None) -> dict[str, Any]:
    """Returns the answers, the table of flows, and the other tables of a result."""
    if result.run["method"] == "measure":
        return capture.section(result, predicted)
    return session.section(result) if result.is_session else _of_run(result, predicted)


def _of_run(result: Result, predicted: Result | None) -> dict[str, Any]:
    """Returns the answers and tables of a run."""
    words = averaging(result)
    words = words[0].upper() + words[1:]
    note = (
        f"{words}. Goodput (summed over a flow's instances), utilisation (of the busiest shared "
        "hop on its route) and RTT exclude the warm-up; retransmissions, drops and timeouts "
        "cover the whole run."
    )
    judged = judge(result)
    flows = run_tables.flow_table(run_tables.flow_rows(result, predicted, judged), note=note)
    hops = run_tables.hop_table(
        run_tables.hop_rows(result, judged), note=f"{words}, without the warm-up."
    )
    tables = [hops, *run_tables.emulation_tables(result)]
    if predicted is not None:
        note = "Goodput is the model's, or what the path allows if that is less."
        rows, others = run_tables.answered(run_tables.prediction_rows(predicted))
        tables.append(run_tables.prediction_table(rows, note=f"{note} {others}".rstrip()))
    return {"answers": [], "flows": flows, "tables": tables, "unsettled": judged.warning}


def _facts(result: Result) -> dict[str, Any]:
    """Returns the facts at the top of a section."""
    run, scenario = result.run, result.points[0]["scenario"]
    facts: dict[str, Any] = {"method": run["method"]}
    if run["method"] == "measure":
        facts |= capture.facts(result)
    if result.is_session:
        facts |= session.facts(result)
    if scenario is not None:
        lasts = f"{scenario['duration']}, averages from {scenario['warmup']} on"
        facts |= {
            "seed": run["seed"], "replicates": run["replicates"], "points": len(result.points),
            "duration": lasts,
        }  # fmt: skip
    facts.update(run["versions"], **run.get("machine", {}))
    return facts


def _brief(element: dict[str, Any]) -> str:
    """Formats an element as `constant: rate 45 Mbit/s`."""
    words = [
        f"{name} {_value(value)}"
        for name, value in element.items()
        if name not in ("kind", "facts")
    ]
    return f"{element['kind']}: {', '.join(words)}" if words else str(element["kind"])


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return (
            f"({_brief(value)})"
            if "kind" in value
            else f"({', '.join(f'{k} {_value(v)}' for k, v in value.items())})"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
