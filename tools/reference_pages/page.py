"""Builder of a page in Markdown."""

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

from ackclock.report.publications import markdown
from reference_pages.kinds import KINDS
from reference_pages.schemas import (
    Json,
    anchor,
    assignment,
    cell,
    choices_of,
    kind_of,
    shortened,
    toml,
)

__all__ = [
    "Page",
    "after_the_first_line",
    "attributes",
    "first_sentence",
    "repeated",
]

#: Longest prose in a cell, in characters and sentences; the rest becomes a note below the table.
CELL_CHARACTERS = 200
CELL_SENTENCES = 2
#: Larger bounds of whole numbers are those of the machine, which tell a reader nothing.
LARGEST_BOUND = 2**53

#: Row of a table of fields: name, notation, default, meaning.
Row = tuple[str, str, str, str]

T = TypeVar("T")


class Page:
    """A page under construction.

    Tables, choices and quantities that it refers to are explained once at its end.
    """

    def __init__(self, title: str, registered: Json, definitions: Json | None = None) -> None:
        self._parts = [f"# {title}"]
        self._title = title
        self._kinds = {
            frozenset(entry["name"] for entry in registered[kind]): kind for kind in KINDS
        }
        self._elements = {
            (kind, entry["name"]): _own_fields(entry["parameters"])
            for kind in KINDS
            for entry in registered[kind]
        }
        self._definitions: Json = dict(definitions or {})
        self._wanted: dict[str, None] = {}
        self._missing: dict[str, str] = {}
        self._quantities: list[tuple[str, str, str]] = []
        self._shared: set[Row] = set()
        self._stated: dict[str, str] = {}
        self._contents: int | None = None
        #: Targets of links for definitions and for tables (by `kind`) that are explained elsewhere.
        self.elsewhere: dict[str, str] = {}

    def paragraph(self, text: str) -> None:
        """Adds a paragraph."""
        self._parts.append(text)

    def heading(self, level: int, code: str) -> None:
        """Adds a heading in code style."""
        self._parts.append(f"{'#' * level} `{code}`")

    def title(self, text: str) -> None:
        """Adds a heading of the second level."""
        self._parts.append(f"## {text}")

    def contents(self) -> None:
        """Adds links to all sections that the page so far does not link to."""
        self._contents = len(self._parts)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Adds a table without its empty columns, and notes with what is too long for a cell."""
        short, notes = [], []
        for first, *middle, last in rows:
            kept, rest = _split(last)
            short.append([first, *middle, kept])
            # Of a function the name is enough.
            name = re.sub(r"(?<=\w)\(.*\)`$", "`", first)
            notes += [f"- {name}: {rest}"] if rest else []
        used = [
            index == 0 or any(row[index] not in {"", "—"} for row in short)
            for index in range(len(head))
        ]
        lines = [
            [text for text, is_used in zip(line, used, strict=True) if is_used]
            for line in (head, ["---"] * len(head), *short)
        ]
        self._parts.append("\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines))
        if notes:
            self._parts += ["Notes:", "\n".join(notes)]

    def names(self, head: Sequence[str], meanings: Iterable[tuple[str, str]]) -> None:
        """Adds a table of names as they are written, with their meanings."""
        self.table(head, [(f"`{name}`", meaning) for name, meaning in meanings])

    def shared_parameters(self, entries: Iterable[Json]) -> None:
        """Adds a section on the parameters that several elements have in common."""
        counts = Counter[Row]()
        for entry in entries:
            self._definitions.update(entry["parameters"].get("$defs", {}))
            counts.update(self._rows(entry["parameters"], "—"))
        names = repeated(((row[0], row) for row in counts.elements()), 2)
        self._shared = set(names.values())
        if names:
            self.title("Shared parameters")
            self.paragraph("The sections below refer to this list by name.")
            self._table_of_fields(names.values())

    def element(self, entry: Json, pattern: str) -> None:
        """Adds the section of one registered element."""
        parameters = entry["parameters"]
        self._definitions.update(parameters.get("$defs", {}))
        self.heading(2, entry["name"])
        self.paragraph(f"**{entry['label']}.** {entry['summary']}")
        more = parameters.get("description", "").removeprefix("Parameters.").strip()
        if more and parameters.get("properties"):
            self.paragraph(more)
        example = self._example(parameters)
        if example is not None:
            lines = assignment(pattern, {"kind": entry["name"], **example})
            self.paragraph(f"```toml\n{lines}\n```")
        if parameters.get("properties"):
            has_presets = "preset" in parameters["properties"]
            self.fields(parameters, missing="preset" if has_presets else "—")
        else:
            self.paragraph("It has no parameters.")
        if entry["facts"]:
            self._facts(entry, "of the example" if example else "with the defaults")
        self.paragraph(f"Reference: {markdown(entry['reference'])}.".replace("..", "."))

    def fields(self, table: Json, missing: str = "—") -> None:
        """Adds the fields of a table; those that elements share by name only.

        Args:
            table: Schema of the table.
            missing: Text for the default of an optional field that has none.
        """
        rows = self._rows(table, missing)
        own = [row for row in rows if row not in self._shared]
        names = [row[0] for row in rows if row in self._shared]
        if own:
            self._table_of_fields(own)
        if names:
            also = "It also has" if own else "It has"
            noun = "parameter" if len(names) == 1 else "parameters"
            self.paragraph(f"{also} the [shared {noun}](#shared-parameters) {_listed(names)}.")

    def _rows(self, table: Json, missing: str) -> list[Row]:
        required = table.get("required", [])
        rows = []
        for name, field in table.get("properties", {}).items():
            if name == "kind" and "const" in field:
                continue  # the heading has it
            written = self._written(field, missing)
            default = self._default(field, missing)
            default = "required" if name in required else default
            rows.append((f"`{name}`", written, default, field.get("description", "")))
        return rows

    def _table_of_fields(self, rows: Iterable[Row]) -> None:
        self.table(("field", "written as", "default", "meaning"), rows)

    def _default(self, field: Json, missing: str) -> str:
        """Returns a field's default without the values that are defaults themselves."""
        value = field.get("default")
        if value is None:
            return missing
        left = shortened(value, field, self._definitions)
        return f"`{toml(left)}`" if left != {} or value == {} else "all defaults"

    def all_facts(self, schema: Json) -> None:
        """Adds the section on the facts of a kind."""
        self._definitions.update(schema.get("$defs", {}))
        self.title("Facts")
        self.paragraph(
            "Facts are properties that an element states about itself. ackclock computes them from "
            "the parameters and adds them to the resolved scenario as `facts`. A fact that is "
            'unknown is null. It is `{ kind = "none" }` if the element does not have such a thing; '
            "the examples list these in a comment. A scenario need not state facts."
        )
        rows = [
            (f"`{name}`", self._written(field, "—"), field.get("description", ""))
            for name, field in schema["properties"].items()
        ]
        self.table(("fact", "value", "meaning"), rows)

    def _facts(self, entry: Json, owner: str) -> None:
        """Adds the known facts of an element, or a link to another one with the same."""
        stated = {name: fact for name, fact in entry["facts"].items() if fact is not None}
        none = [name for name, fact in stated.items() if fact == {"kind": "none"}]
        lines = [assignment(f"{name} = {{}}", stated[name]) for name in stated if name not in none]
        language = "toml" if lines else "text"  # not for a comment alone
        if none:
            lines.append("# none: " + ", ".join(none))
        text = "\n".join(lines)
        first = self._stated.setdefault(text, entry["name"])
        if first == entry["name"]:
            self.paragraph(f"[Facts](#facts) {owner}:")
            self.paragraph(f"```{language}\n{text}\n```")
        else:
            self.paragraph(f"[Facts](#facts) {owner}: those of [`{first}`](#{anchor(first)}).")

    def choices(self, name: str) -> dict[str, str]:
        """Returns the values of a choice with their meanings; empty for any other definition."""
        return choices_of(self._definitions.get(name, {}))

    def section(self, name: str) -> None:
        """Adds a definition as a section of its own."""
        self._wanted.pop(name, None)
        self._explain(name, 2)

    def _explain_all(self) -> None:
        """Adds the tables and choices referred to so far, and those that these refer to."""
        before = len(self._parts)
        while self._wanted:
            self._explain(next(iter(self._wanted)), 3)
        if len(self._parts) > before:
            self._parts.insert(before, "## Types")

    def _explain(self, name: str, level: int) -> None:
        self._wanted.pop(name, None)
        definition = self._definitions[name]
        self._definitions[name] = {**definition, "explained": True}
        meaning, choices = definition.get("description", ""), choices_of(definition)
        tables = [variant for variant in definition.get("oneOf", []) if kind_of(variant)]
        if not (choices or tables or "properties" in definition):
            self._quantities.append(
                (f'<a id="{anchor(name)}"></a>{name}', meaning, self._for_example(definition))
            )
            return
        self.heading(level, name)
        self.paragraph(meaning)
        if choices:
            self.table(
                ("value", "meaning"),
                [(f"`{toml(value)}`", means) for value, means in choices.items()],
            )
        elif tables:
            self._variants(tables, level + 1)
        else:
            self.fields(definition, self._missing.get(name, "—"))

    def _variants(self, tables: Sequence[Json], level: int) -> None:
        """Adds tables that are distinguished by their `kind`."""
        self.table(
            ("value", "meaning"),
            [(f"`{_variant(table)}`", table.get("description", "")) for table in tables],
        )
        for table in tables:
            if _own_fields(table):
                self.heading(level, _variant(table))
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
        self._explain_all()
        if self._quantities:
            self._parts.append("## Quantities")
            self.table(("quantity", "meaning", "example"), sorted(self._quantities))
        if self._contents is not None:
            self._parts.insert(self._contents, self._links())
        return "\n\n".join(part for part in self._parts if part) + "\n"

    def _links(self) -> str:
        """Returns a list of links to the sections that the page does not link to beforehand."""
        linked = "\n".join(self._parts[: self._contents])
        titles = [part.removeprefix("## ") for part in self._parts if part.startswith("## ")]
        links = [f"- [{title}](#{anchor(title)})" for title in titles]
        return "\n".join(link for link in links if link.partition("](")[2] not in linked)

    def _resolve(self, schema: Json) -> Json:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        return self._definitions.get(name, {}) if name else schema

    def _refer(self, name: str, missing: str) -> str:
        """Returns a link to an explanation at the end of the page."""
        definition = self._definitions.get(name, {})
        if name in self.elsewhere:
            choices = ", ".join(f"`{toml(value)}`" for value in choices_of(definition))
            return f"[{name}]({self.elsewhere[name]}): {choices}"
        elements = self._same_elements(definition)
        if elements:
            return elements
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

    def _same_elements(self, definition: Json) -> str:
        """Returns links to the elements that a definition repeats; empty if there are none."""
        variants = definition.get("oneOf") or [definition]
        links = []
        for variant in variants:
            fields, name = _own_fields(variant), kind_of(variant)
            place = next(
                (
                    place
                    for place, own_fields in self._elements.items()
                    if fields and fields == own_fields and name in {None, place[1]}
                ),
                None,
            )
            if place is None:
                return ""
            page = "" if KINDS[place[0]].title == self._title else f"{place[0]}.md"
            links.append(f"[`{place[1]}`]({page}#{anchor(place[1])})")
        owner = "" if kind_of(variants[0]) else "parameters of "
        return owner + " or ".join(links)

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
            return " or ".join(
                f'[`{{ kind = "{kind}", … }}`]({self.elsewhere[kind]})'
                if kind in self.elsewhere
                else f'`{{ kind = "{kind}", … }}`'
                for kind in dict.fromkeys(kinds)
            )
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
                    f"to {high}" if high is not None and high < LARGEST_BOUND else "",
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


def repeated(texts: Iterable[tuple[str, T]], times: int = 2) -> dict[str, T]:
    """Returns the most frequent meaning of each name, if it occurs at least so many times."""
    meanings: dict[str, T] = {}
    for (name, meaning), count in Counter(texts).most_common():
        if count >= times:
            meanings.setdefault(name, meaning)
    return meanings


def _own_fields(table: Json) -> Json:
    """Returns the fields of a table other than its `kind`."""
    fields: Mapping[str, Any] = table.get("properties", {})
    return {name: field for name, field in fields.items() if name != "kind"}


def _variant(table: Json) -> str:
    """Returns a table as it is written, without its values."""
    more = ", …" if _own_fields(table) else ""
    return f'{{ kind = "{kind_of(table)}"{more} }}'


def _listed(names: Sequence[str]) -> str:
    """Returns names with commas and an "and"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def first_sentence(text: str) -> str:
    """Returns the first sentence of a text."""
    return _sentences(text)[0]


def _sentences(text: str) -> list[str]:
    """Splits prose; a sentence ends before a capital, a quotation or code, not after an initial."""
    return re.split(r"(?<=\.)(?<!\b[A-Z]\.)\s+(?=[A-Z\"`])", " ".join(text.split()))


def _split(text: str) -> tuple[str, str]:
    """Splits prose into what a cell holds and the rest; the first sentence is always kept."""
    sentences = _sentences(text)
    kept = CELL_SENTENCES
    while kept > 1 and len(" ".join(sentences[:kept])) > CELL_CHARACTERS:
        kept -= 1
    return " ".join(sentences[:kept]), " ".join(sentences[kept:])


def after_the_first_line(module: ModuleType) -> str:
    """Returns a module's docstring after its summary."""
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2]


def attributes(record: type) -> Iterable[tuple[str, str]]:
    """Yields the attributes in a record's docstring with their meanings."""
    listed = inspect.cleandoc(record.__doc__ or "").partition("Attributes:\n")[2]
    for entry in re.split(r"\n(?=    \w)", listed):
        name, _, meaning = " ".join(entry.split()).partition(": ")
        yield name, meaning
