"""Builder of a page in Markdown."""

import inspect
import re
from collections.abc import Iterable, Sequence
from types import ModuleType

from reference_pages.kinds import KINDS
from reference_pages.schemas import Json, anchor, cell, choices_of, kind_of, toml

__all__ = ["MARK", "REPAIR", "Page", "after_the_first_line", "attributes"]

REPAIR = "make docs-write"
MARK = (
    "<!-- Generated from the engine's registries; to change it, change what they say and run "
    f"`{REPAIR}`. -->"
)


class Page:
    """A page under construction.

    Tables, choices and quantities that it refers to are explained once at its end.
    """

    def __init__(self, title: str, registered: Json, definitions: Json | None = None) -> None:
        self._parts = [MARK, f"# {title}"]
        self._kinds = {
            frozenset(entry["name"] for entry in registered[kind]): kind for kind in KINDS
        }
        self._definitions: Json = dict(definitions or {})
        self._wanted: dict[str, None] = {}
        self._missing: dict[str, str] = {}
        self._quantities: list[tuple[str, str, str]] = []

    def paragraph(self, text: str) -> None:
        """Adds a paragraph."""
        self._parts.append(text)

    def heading(self, level: int, code: str) -> None:
        """Adds a heading in code style."""
        self._parts.append(f"{'#' * level} `{code}`")

    def title(self, text: str) -> None:
        """Adds a heading of the second level."""
        self._parts.append(f"## {text}")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Adds a table."""
        lines = [head, ["---"] * len(head), *rows]
        self._parts.append("\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines))

    def names(self, head: Sequence[str], meanings: Iterable[tuple[str, str]]) -> None:
        """Adds a table of names as they are written, with their meanings."""
        self.table(head, [(f"`{name}`", meaning) for name, meaning in meanings])

    def element(self, entry: Json, pattern: str) -> None:
        """Adds the section of one registered element."""
        parameters = entry["parameters"]
        self._definitions.update(parameters.get("$defs", {}))
        self.heading(2, entry["name"])
        self.paragraph(f"**{entry['label']}.** {entry['summary']}")
        more = parameters.get("description", "").removeprefix("Parameters.").strip()
        if more:
            self.paragraph(more)
        example = self._example(parameters)
        if example is not None:
            text = toml({"kind": entry["name"], **example})
            self.paragraph(f"```toml\n{pattern.format(text)}\n```")
        if parameters.get("properties"):
            self.fields(parameters)
        elif not more:
            self.paragraph("It has no parameters.")
        if entry["facts"]:
            of = "the example" if example else "its defaults"
            self.paragraph(f"With {of} it states these [facts](#facts):")
            self.facts(entry["facts"])
        self.paragraph(f"Reference: {entry['reference']}.".replace("..", "."))

    def fields(self, table: Json, missing: str = "—") -> None:
        """Adds the fields of a table.

        Args:
            table: Schema of the table.
            missing: Text for the default of an optional field that has none.
        """
        required = table.get("required", [])
        rows = []
        for name, field in table.get("properties", {}).items():
            if name == "kind" and "const" in field:
                continue  # the heading has it
            written = self._written(field, missing)
            default = f"`{toml(field['default'])}`" if field.get("default") is not None else missing
            default = "required" if name in required else default
            rows.append((f"`{name}`", written, default, field.get("description", "")))
        if rows:
            self.table(("field", "written as", "default", "meaning"), rows)

    def all_facts(self, schema: Json) -> None:
        """Adds the section on the facts of a kind."""
        self._definitions.update(schema.get("$defs", {}))
        self.title("Facts")
        self.paragraph(
            "What every element states about itself. Facts are computed from the parameters and "
            "stand in the resolved scenario as `facts`; what is not known is null. They need not "
            "be written."
        )
        rows = [
            (f"`{name}`", self._written(field, "—"), field.get("description", ""))
            for name, field in schema["properties"].items()
        ]
        self.table(("fact", "value", "meaning"), rows)

    def facts(self, facts: Json) -> None:
        """Adds the known facts of an element."""
        known = {name: fact for name, fact in facts.items() if fact is not None}
        self.table(
            ("fact", "value"), [(f"`{name}`", f"`{toml(fact)}`") for name, fact in known.items()]
        )

    def choices(self, name: str) -> dict[str, str]:
        """Returns the values of a choice with their meanings; empty for any other definition."""
        return choices_of(self._definitions.get(name, {}))

    def meaning(self, path: str, properties: Json) -> str:
        """Returns the description of a parameter at a path within tables."""
        name, _, rest = path.partition(".")
        field = properties.get(name, {})
        if rest:
            return self.meaning(rest, self._resolve(field).get("properties", {}))
        return str(field.get("description", ""))

    def explain(self) -> None:
        """Adds the tables and choices referred to so far, and those that these refer to."""
        while self._wanted:
            name = next(iter(self._wanted))
            del self._wanted[name]
            definition = self._definitions[name]
            self._definitions[name] = {**definition, "explained": True}
            meaning, choices = definition.get("description", ""), choices_of(definition)
            tables = [variant for variant in definition.get("oneOf", []) if kind_of(variant)]
            if not (choices or tables or "properties" in definition):
                self._quantities.append(
                    (f'<a id="{anchor(name)}"></a>{name}', meaning, self._for_example(definition))
                )
                continue
            self.heading(2, name)
            self.paragraph(meaning)
            if choices:
                self.table(
                    ("value", "meaning"),
                    [(f"`{toml(value)}`", means) for value, means in choices.items()],
                )
            elif tables:
                self._variants(tables)
            else:
                self.fields(definition, self._missing.get(name, "—"))

    def _variants(self, tables: Iterable[Json]) -> None:
        """Adds tables that are distinguished by their `kind`."""
        for table in tables:
            self.heading(3, f'{{ kind = "{kind_of(table)}", … }}')
            self.paragraph(table.get("description", ""))
            self.fields(table)

    def _for_example(self, definition: Json) -> str:
        examples = definition.get("examples")
        return (
            " or ".join(f"`{toml(example)}`" for example in examples)
            if examples
            else self._written(definition, "—")
        )

    def finish(self) -> str:
        """Returns the text, ending with what it refers to."""
        self.explain()
        if self._quantities:
            self._parts.append("## Quantities")
            self.table(
                ("quantity", "what it is", "written as, for example"), sorted(self._quantities)
            )
        return "\n\n".join(part for part in self._parts if part) + "\n"

    def _resolve(self, schema: Json) -> Json:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        return self._definitions.get(name, {}) if name else schema

    def _refer(self, name: str, missing: str) -> str:
        """Returns a link to an explanation at the end of the page."""
        definition = self._definitions.get(name, {})
        if not (
            choices_of(definition) or "properties" in definition or "description" in definition
        ):
            return self._written(definition, missing)
        if not definition.get("explained"):
            self._wanted[name] = None
            self._missing[name] = missing
        choices = ", ".join(f"`{toml(value)}`" for value in choices_of(definition))
        link = f"[{name}](#{anchor(name)})"
        return f"{link}: {choices}" if choices else link

    def _written(self, schema: Json, missing: str) -> str:
        """Returns the notation of a value."""
        if "$ref" in schema:
            return self._refer(schema["$ref"].removeprefix("#/$defs/"), missing)
        if "const" in schema:
            return f"`{toml(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{toml(value)}`" for value in schema["enum"] if value is not None)
        variants = schema.get("oneOf") or schema.get("anyOf")
        if variants:
            return self._one_of(variants, missing)
        types = schema.get("type", [])
        names = [
            self._typed(name, schema, missing)
            for name in ([types] if isinstance(types, str) else types)
        ]
        return " or ".join(name for name in names if name) or "—"

    def _one_of(self, variants: Sequence[Json], missing: str) -> str:
        kinds = [kind_of(variant) for variant in variants]
        registered = self._kinds.get(frozenset(kinds))
        if registered:
            return f"a [{KINDS[registered].noun}]({registered}.md)"
        if all(kinds):
            return " or ".join(f'`{{ kind = "{kind}", … }}`' for kind in kinds)
        texts = (
            self._written(variant, missing) for variant in variants if variant.get("type") != "null"
        )
        return " or ".join(dict.fromkeys(texts))

    def _typed(self, name: str, schema: Json, missing: str) -> str:
        match name:
            case "array" if "prefixItems" in schema:
                return "list: " + ", ".join(
                    self._written(item, missing) for item in schema["prefixItems"]
                )
            case "array":
                members = self._written(schema.get("items", {}), missing)
                return f"list of {members.removeprefix('a ')}"
            case "object" if "properties" in schema:
                return "`{ " + ", ".join(f"{field} = …" for field in schema["properties"]) + " }`"
            case "boolean":
                return "`true`, `false`"
            case "integer" | "number":
                noun = "whole number" if name == "integer" else "number"
                low, high = schema.get("minimum"), schema.get("maximum")
                if low == high and low is not None:
                    return f"`{low}`"
                bounds = (
                    f"from {low}" if low is not None else "",
                    f"to {high}" if high is not None else "",
                )
                return " ".join(filter(None, (noun, *bounds)))
            case _:
                return {"string": "text", "object": "table"}.get(name, "")

    def _example(self, parameters: Json) -> Json | None:
        """Returns an element's example, or examples of its required parameters if all have one."""
        if parameters.get("examples"):
            example: Json = parameters["examples"][0]
            return example
        values = {}
        for name in parameters.get("required", []):
            field = parameters["properties"][name]
            kind = self._resolve(field)
            examples = field.get("examples") or kind.get("examples") or [*choices_of(kind)]
            if not examples:
                return None
            values[name] = examples[0]
        return values


def after_the_first_line(module: ModuleType) -> str:
    """Returns a module's docstring after its summary."""
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2]


def attributes(record: type) -> Iterable[tuple[str, str]]:
    """Yields the attributes in a record's docstring with their meanings."""
    listed = inspect.cleandoc(record.__doc__ or "").partition("Attributes:\n")[2]
    for one in re.split(r"\n(?=    \w)", listed):
        name, _, meaning = " ".join(one.split()).partition(": ")
        yield name, meaning
