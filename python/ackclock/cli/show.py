"""What `ackclock show` shows: the registries of the engine, the models, the metrics and the causes, as tables."""

from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_table
from ackclock.registry import kinds, registry, schema
from ackclock.suggestion import suggestion

if TYPE_CHECKING:
    from ackclock.reproduction import Experiment

Table = tuple[str, list[str], list[list[str]]]


#: What is listed besides the kinds of elements that the engine has.
_OTHERS = ("models", "metrics", "causes", "experiments", "presets", "schema")


@click.command()
@click.argument("kind", type=click.Choice([*kinds(), *_OTHERS]))
@click.argument("name", required=False)
@json_option
def show(kind: str, name: str | None, as_json: bool) -> None:
    """List what there is; with a name, what it can be told.

    \b
    Example:
      ackclock show controls
      ackclock show queues droptail
    """
    if kind == "schema":
        print_json(schema())
        return
    listed = records(kind)
    if name is not None:
        if name not in listed:
            raise click.UsageError(f'"{name}" is none of the {kind}; {suggestion(name, listed)}')
        listed = {name: listed[name]}
    if as_json:
        print_json(list(listed.values()))
    elif name is None:
        print_table(kind, *overview(listed))
    else:
        for title, head, cells in details(listed[name]):
            print_table(title, head, cells)


def records(kind: str) -> dict[str, dict[str, Any]]:
    """Every record of a kind by name, as plain data."""
    if kind == "models":
        from ackclock.models import MODELS

        return {model.name: model.described() for model in MODELS}
    if kind == "metrics":
        from ackclock.metrics import METRICS

        return {
            one.name: {"name": one.name, "label": one.label, "unit": one.unit, "summary": one.summary}
            for one in METRICS
        }
    if kind == "causes":
        from ackclock.comparison import CAUSES

        return {one.name: {"name": one.name, "summary": one.sentence} for one in CAUSES}
    if kind == "experiments":
        from ackclock.reproduction import experiments

        return {one.name: experiment(one) for one in experiments()}
    if kind == "presets":
        described = schema()["$defs"]["Preset"]["oneOf"]
        summaries = {one["const"]: one.get("description", "") for one in described}
        return {
            name: {"name": name, "summary": summaries[name], "values": values}
            for name, values in registry()["presets"].items()
        }
    return {entry["name"]: entry for entry in registry()[kind]}


def experiment(record: "Experiment") -> dict[str, Any]:
    """An experiment's record as plain data, without what it computes."""
    return {
        "name": record.name,
        "label": record.shows,
        "summary": record.question,
        "reference": record.source,
        "group": record.group,
        "says": record.says,
        "cost_s": record.cost_s,
    }


def overview(listed: dict[str, dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Head and cells: one row for each record."""
    columns = [
        name
        for name in ("name", "label", "unit", "summary", "reference")
        if any(name in one for one in listed.values())
    ]
    return columns, [[str(one.get(name, "")) for name in columns] for one in listed.values()]


def details(record: dict[str, Any]) -> list[Table]:
    """The tables about one record."""
    tables: list[Table] = []
    told = ("label", "summary", "says", "reference", "unit", "group", "cost_s")
    words = [[name, str(record[name])] for name in told if record.get(name)]
    if words:
        tables.append((record["name"], ["", ""], words))
    if "parameters" in record:
        rows = parameters(record["parameters"])
        tables.append(
            ("parameters" if rows else "no parameters", ["parameter", "default", "choices or example", "meaning"], rows)
        )
    if record.get("facts"):
        known = {name: fact for name, fact in record["facts"].items() if fact is not None}
        tables.append(("facts, of the example or the defaults", ["fact", "value"], _flat(known)))
    if "values" in record:
        tables.append((record["name"], ["parameter", "value"], _flat(record["values"])))
    if "formula" in record:
        tables.append(("formula", [""], [[line] for line in record["formula"].splitlines()]))
        columns = ["name", "letter", "unit", "default", "domain", "meaning"]
        tables.append(("inputs", columns, [[one[name] for name in columns] for one in record["inputs"]]))
        columns = ["name", "letter", "unit", "meaning"]
        tables.append(("outputs", columns, [[one[name] for name in columns] for one in record["outputs"]]))
        tables.append(("assumptions", ["", ""], [[one["name"], one["sentence"]] for one in record["assumptions"]]))
    return tables


def parameters(schema: dict[str, Any]) -> list[list[str]]:
    """A JSON schema's properties as rows: name, default, choices or example, meaning."""
    definitions = schema.get("$defs", {})
    required = schema.get("required", [])
    rows = []
    for name, described in schema.get("properties", {}).items():
        if name == "kind":
            continue
        kind = definitions.get(str(described.get("$ref", "")).rsplit("/", 1)[-1], {})
        default = described.get("default")
        written = "required" if name in required else "" if default is None else _text(default)
        rows.append(
            [
                name,
                written,
                _choices(described) or _choices(kind),
                described.get("description") or kind.get("description", ""),
            ]
        )
    return [[" ".join(cell.split()) for cell in row] for row in rows]


def _choices(described: dict[str, Any]) -> str:
    choices = described.get("enum") or [one["const"] for one in described.get("oneOf", []) if "const" in one]
    return " | ".join(map(_text, choices)) if choices else "; ".join(map(_text, described.get("examples", [])[:1]))


def _flat(values: dict[str, Any], prefix: str = "") -> list[list[str]]:
    rows = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [[prefix + name, _text(value)]]
    return rows


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
