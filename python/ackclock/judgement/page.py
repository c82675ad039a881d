"""The page of a judgement, and its tables."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ackclock.engine import version
from ackclock.judgement.flags import FLAGS
from ackclock.judgement.measures import BY_NAME, MEASURES
from ackclock.report.environment import environment
from ackclock.table import Column, Table, table

Record = dict[str, Any]

_BESIDE = {
    "better": "✓ better", "worse": "✗ worse", "within chance": "within chance", "unknown": "–",
}  # fmt: skip


def answer(record: Record) -> str:
    """Returns the judgement in a sentence or two."""
    name, field = record["candidate"]["name"], record["field"]
    rows = record["vector"]
    parts = []
    for word in ("better", "worse"):
        labels = [row["label"] for row in rows if row["beside_cubic"] == word]
        if labels:
            parts.append(f"{word} than CUBIC in {_listed(labels)}")
    beside = "; ".join(parts) or "as good as CUBIC, as far as these paths tell"
    count = len(record["flags"])
    flags = f"{count} flag{'' if count == 1 else 's'}" if count else "no flag"
    if record["ended"]:
        return f"{name} ended in stage {record['ended']}, with {flags}."
    paths = f"{field['judged']} hidden paths"
    if field["judged"] < field["paths"]:
        paths = f"{field['judged']} of {field['paths']} hidden paths, all that the budget allowed"
    return f"{name}: {flags}. Over {paths}, it is {beside}."


def flags_table(record: Record) -> Table:
    """Returns the table of the flags."""
    rows = [[f"! {flag['name']}", flag["words"]] for flag in record["flags"]]
    return table("Flags", [Column("flag"), Column("evidence", numeric=False)], rows)


def vector_table(record: Record) -> Table:
    """Returns the table of the measures."""
    rows = []
    for row in record["vector"]:
        shown = BY_NAME[row["name"]].shown
        if row["mean"] is None:
            rows.append([row["label"], "unknown", "", "", "", "–"])
            continue
        between = f"{shown(row['low'])} to {shown(row['high'])}"
        rank = f"{row['rank']} of {row['of']}"
        rows.append(
            [
                row["label"],
                shown(row["mean"]),
                between,
                shown(row["cubic"]),
                rank,
                _BESIDE[row["beside_cubic"]],
            ]
        )
    names = ("measure", "mean", "interval", "CUBIC", "rank", "beside CUBIC")
    return table("Measures", [Column(name, numeric=False) for name in names], rows)


def worst_table(record: Record) -> Table:
    """Returns the table of the worst paths."""
    rows = []
    for number, path in enumerate(record["worst"], 1):
        measure = BY_NAME[path["measure"]]
        values = ", ".join(_assigned(name, value) for name, value in path["assignments"].items())
        beyond = measure.shown(path["worse_than_cubic"])
        rows.append([f"worst-{number}.toml", path["title"], values, f"{measure.label}: {beyond}"])
    names = ("scenario", "path", "values", "worse than CUBIC")
    return table("Worst paths", [Column(name, numeric=False) for name in names], rows)


def loaded_table(records: Sequence[Record]) -> Table:
    """Returns the table of the paths that the kernel ran."""
    rows = []
    for each in records:
        engine = "–" if each["simulated"] is None else _between(each["simulated"])
        kernel = each["why_not"] or f"{each['kernel'] / 1e6:.3g} Mbit/s"
        alike = f"{each['equal']} of {each['calls']}" if each["calls"] else "none recorded"
        rows.append([each["scenario"], engine, kernel, alike])
    names = ("scenario", "goodput, engine", "goodput, kernel", "calls answered alike")
    return table("On the running kernel", [Column(name, numeric=False) for name in names], rows)


def _between(ends: Sequence[float]) -> str:
    low, high = (end / 1e6 for end in ends)
    return f"{low:.3g} to {high:.3g} Mbit/s"


def page(record: Record, scenarios: Sequence[str]) -> str:
    """Returns the page: one self-contained HTML file.

    Args:
        record: The judgement as plain data.
        scenarios: Texts of the worst paths.
    """
    template = environment("judgement").get_template("judgement.html.jinja")
    return template.render(
        title=f"{record['candidate']['name']}: judged",
        one=record,
        answer=answer(record),
        flags=flags_table(record) if record["flags"] else None,
        vector=vector_table(record) if record["vector"] else None,
        worst=worst_table(record) if record["worst"] else None,
        loaded=loaded_table(record["loaded"]) if record.get("loaded") else None,
        scenarios=list(enumerate(scenarios, 1)),
        measures=MEASURES,
        meanings=FLAGS,
        facts=_facts(record),
        data=None,
    )


def _facts(record: Record) -> Mapping[str, str]:
    field, candidate = record["field"], record["candidate"]
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in record["stages"].items())
    facts = {
        "candidate": f"{candidate['name']}, {candidate['language']}",
        "field": f"{field['name']}: {field['title']} (data {field['digest']})",
        "hidden paths": f"{field['judged']} of {field['paths']}, by the salt with hash "
        f"{field['salt']}",
        "seeds": f"{field['replicates']} from {field['seed']}",
        "time": f"{record['seconds']:.1f} s: {stages}" if stages else f"{record['seconds']:.1f} s",
        "evidence": "simulation, packet by packet",
        "version": f"{version()}, build {record['engine'][:12]}",
        "command": record["command"],
    }
    if record["limits_not_set"]:
        facts["limits not set"] = ", ".join(record["limits_not_set"])
    if "score" in record:
        weights = ", ".join(f"{name} {weight:g}" for name, weight in record["weights"].items())
        shown = "unknown" if record["score"] is None else f"{record['score']:.3g}"
        facts["score"] = f"{shown}, by the weights given: {weights}"
    return {name: text for name, text in facts.items() if text}


def _assigned(path: str, value: Any) -> str:
    """Returns what a path sets, numbers with three digits; a field's `buffer` is in BDP."""
    name = path.split(".")[-1].replace("_", " ")
    text = str(value["kind"] if isinstance(value, dict) else value)
    text = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.3g}", text)
    return f"{name} {text}{' BDP' if path == 'values.buffer' else ''}"


def _listed(labels: Sequence[str]) -> str:
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last
