"""The command `show`: every registry as tables."""

from typing import TYPE_CHECKING, Any

import click

from ackclock.cli.complete import names_shown
from ackclock.cli.options import json_option
from ackclock.cli.output import print_json, print_table
from ackclock.cli.records import SCHEMA, Records, records, shown
from ackclock.elements.registry import schema
from ackclock.errors import InputError, suggestion

if TYPE_CHECKING:
    from ackclock.table import Table


class _KindOrName(click.Choice[str]):
    """A kind, or a name that is looked up among all kinds; help lists the kinds."""

    def convert(self, value: Any, *_where: Any) -> str:
        """Returns the value; `show` looks it up."""
        return str(value)


@click.command()
@click.argument("kind", type=_KindOrName(shown()))
@click.argument("name", required=False, shell_complete=names_shown)
@json_option
def show(kind: str, name: str | None, as_json: bool) -> None:
    """List available components, or the parameters of one.

    A name needs its kind only if several kinds have it.

    \b
    Example:
      ackclock show queues
      ackclock show droptail
      ackclock show metrics rtt
    """
    if kind not in shown():
        kind, name = _only(kind, name)
    if kind == SCHEMA:
        print_json(schema())
        return
    listed = records(kind)
    if name is not None:
        if name not in listed:
            raise InputError(
                "unknown-name",
                "NAME",
                f'unknown name "{name}" among {kind}; {suggestion(name, listed)}',
            )
        listed = {name: listed[name]}
    if as_json:
        print_json(list(listed.values()))
    elif name is None:
        print_table(overview(kind, listed))
    else:
        for table in details(listed[name]):
            print_table(table)


def _only(name: str, second: str | None) -> tuple[str, str]:
    """Returns the one kind that has a name, and the name.

    Raises:
        InputError: No kind or several have it, or a second name follows it.
    """
    kinds = shown()
    if second is not None:
        raise InputError.unknown("KIND", "kind", name, kinds)
    names = {kind: records(kind) for kind in kinds if kind != SCHEMA}
    having = [kind for kind, listed in names.items() if name in listed]
    if not having:
        choices = [*kinds, *(record for listed in names.values() for record in listed)]
        similar = [choice for choice in choices if choice[0] == name[:1]]  # of hundreds
        otherwise = f"choose from {', '.join(kinds)}"
        raise InputError.unknown("KIND", "kind or name", name, similar, otherwise)
    if len(having) > 1:
        words = f'"{name}" is in {" and ".join(having)}; for example: show {having[0]} {name}'
        raise InputError("unknown-name", "KIND", words)
    return having[0], name


def overview(kind: str, listed: Records) -> "Table":
    """Returns the table of all records of a kind."""
    from ackclock.table import Column, table

    fields = ("name", "label", "unit", "subjects", "methods", "options", "summary", "reference")
    names = [name for name in fields if any(name in record for record in listed.values())]
    spare = {"reference": 0, "subjects": 1}
    columns = [Column(name, spare=spare.get(name)) for name in names]
    return table(
        kind,
        columns,
        ([_text(record.get(name, "")) for name in names] for record in listed.values()),
    )


def details(record: dict[str, Any]) -> "list[Table]":
    """Returns the tables about one record."""
    from ackclock.table import table

    tables = []
    words = [
        [name, _text(record[name])]
        for name in (
            "label",
            "summary",
            "says",
            "reference",
            "unit",
            "subjects",
            "group",
            "cost_s",
            "methods",
            "options",
        )
        if record.get(name)
    ]
    if words:
        tables.append(table(record["name"], ["", ""], words))
    if "parameters" in record:
        rows = parameters(record["parameters"])
        title = "parameters" if rows else "no parameters"
        tables.append(table(title, ["parameter", "default", "choices or example", "meaning"], rows))
    if record.get("facts"):
        tables.append(
            table(
                "facts, of the example or the defaults", ["fact", "value"], _flat(record["facts"])
            )
        )
    if "values" in record:
        tables.append(table(record["name"], ["parameter", "value"], _flat(record["values"])))
    if "columns" in record:
        tables.append(_members("columns", record["columns"], ("name", "summary")))
    if "formula" in record:
        tables.append(table("formula", [""], ([line] for line in record["formula"].splitlines())))
        tables.append(
            _members(
                "inputs",
                record["inputs"],
                ("name", "letter", "unit", "default", "domain", "meaning"),
            )
        )
        if record["tables"]:
            tables.append(
                table(
                    "tables that replace inputs",
                    ["name", "instead of", "columns", "meaning"],
                    (
                        [
                            entry["name"],
                            _text(entry["replaces"]),
                            _text([*entry["columns"], *entry["others"]]),
                            entry["meaning"],
                        ]
                        for entry in record["tables"]
                    ),
                )
            )
        tables.append(_members("outputs", record["outputs"], ("name", "letter", "unit", "meaning")))
        tables.append(
            table(
                "assumptions",
                ["", ""],
                (
                    [assumption["name"], assumption["sentence"]]
                    for assumption in record["assumptions"]
                ),
            )
        )
        tables.append(_accuracy(record["accuracy"]))
    return tables


def _accuracy(bands: list[dict[str, Any]]) -> "Table":
    from ackclock.table import table

    rows = (
        [
            ", ".join(band["outputs"]),
            f"within {100 * band['within']:g} %" if band["within"] else "exact",
            band["origin"],
            band["source"],
        ]
        for band in bands
    )
    return table("accuracy, if no assumption is violated", ["output", "error", "origin", ""], rows)


def _members(title: str, members: list[dict[str, Any]], columns: tuple[str, ...]) -> "Table":
    from ackclock.table import table

    return table(title, columns, ([member[name] for name in columns] for member in members))


def parameters(schema: dict[str, Any]) -> list[list[str]]:
    """Returns a JSON schema's properties as rows: name, default, choices or example, meaning."""
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
    choices = described.get("enum") or [
        choice["const"] for choice in described.get("oneOf", []) if "const" in choice
    ]
    return (
        " | ".join(map(_text, choices))
        if choices
        else "; ".join(map(_text, described.get("examples", [])[:1]))
    )


def _flat(values: dict[str, Any], prefix: str = "") -> list[list[str]]:
    """Returns name and value of each field that is known, those of tables within included.

    A table with nothing but its kind is that word.
    """
    rows = []
    for name, value in values.items():
        if isinstance(value, dict) and set(value) == {"kind"}:
            rows.append([prefix + name, value["kind"]])
        elif isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        elif value is not None:
            rows.append([prefix + name, _text(value)])
    return rows


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
