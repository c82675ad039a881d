"""Reference pages and the scenario's JSON schema as files, written from what the engine says of itself.

`python -m ackclock.reference --check` names the files that are not as the engine says (exit code 1 if any); `--write`
writes them.
"""

import argparse
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ackclock.advice import regions
from ackclock.advice.buffer import measures
from ackclock.advice.buffer.measures import MEASURES
from ackclock.capture import estimates
from ackclock.comparison import CAUSES
from ackclock.comparison.rows import FIELDS
from ackclock.metrics import METRICS, WITH_PARAMETERS, Outage, Response
from ackclock.models import MODELS
from ackclock.models import capture as capture_terms
from ackclock.models import path as scenario_terms
from ackclock.registry import registry, schema
from ackclock.reproduction import experiments

__all__ = ["differences", "main", "pages"]

Json = dict[str, Any]

REPAIR = "make docs-write"
MARK = f"<!-- Generated from the engine's registries; to change it, change what they say and run `{REPAIR}`. -->"


class Kind(NamedTuple):
    """How one of the engine's registries is presented."""

    title: str
    #: What one of it is called.
    noun: str
    #: How it stands in a scenario; `{}` is the table.
    pattern: str
    #: Where it stands in a scenario.
    place: str


KINDS = {
    "controls": Kind(
        "Congestion controls",
        "control",
        "control = {}",
        'Written as `control` in the table `transport = { kind = "tcp", … }` of a flow.',
    ),
    "rate_controls": Kind(
        "Rate controls",
        "rate control",
        "control = {}",
        'Written as `control` in the table `transport = { kind = "udp", … }` of a flow. Without one, UDP sends each '
        "write of the application at once.",
    ),
    "estimators": Kind(
        "Rate estimators",
        "rate estimator",
        "estimator = {}",
        "What estimates the rate of a path from the ACKs that come back. Its parameters are written as `estimator` in "
        "a control of the Westwood family, with `kind` where the control can have several; captures are asked with "
        "`ackclock measure --estimators`, and any trace of ACKs with `ackclock.rate_estimates` in Python.",
    ),
    "queues": Kind("Queues", "queue", "queue = {}", "Written as `queue` in a hop."),
    "links": Kind("Links", "link", "link = {}", "Written as `link` in a hop."),
    "media": Kind(
        "Media",
        "medium",
        "media = [{}]",
        "Written in the list `media`, or as an item `[[media]]`, each with a `name` of its own beside what is below: "
        "that is what links of kind `contender` give, those of the hops that contend for it. "
        "Only a simulation has media.",
    ),
    "feedback": Kind(
        "Feedback algorithms",
        "feedback algorithm",
        "algorithm = {}",
        "What is made of the measured capacity of a hop before it is fed back. Written as `algorithm` in a link of "
        "kind `feedback`.",
    ),
    "impairments": Kind(
        "Impairments",
        "impairment",
        "impairments = [{}]",
        "Written in the list `impairments` of a hop, in the order in which a packet meets them.",
    ),
    "traffic": Kind("Traffic", "source", "traffic = {}", "Written as `traffic` in a flow."),
    "sizes": Kind(
        "Size laws",
        "size law",
        "size = {}",
        "Of which each instance of a flow draws how much it sends. Written as `size` in traffic of kind `transfer`, in "
        "the place of an amount.",
    ),
}


def pages(registered: Json, described: Json) -> dict[str, str]:
    """All generated files.

    Args:
        registered: What the engine has, as `ackclock.registry.registry` gives it.
        described: The JSON schema of a scenario.

    Returns:
        Path within the repository to text.
    """
    names = [kind["name"] for kind in registered["kinds"]]
    texts = {f"docs/reference/{name}.md": _kind_page(name, registered) for name in names}
    texts["docs/reference/presets.md"] = _preset_page(registered, described)
    texts["docs/reference/scenario.md"] = _scenario_page(registered, described)
    texts["docs/reference/models.md"] = _model_page(registered)
    texts["docs/reference/metrics.md"] = _metric_page(registered)
    texts["docs/reference/experiments.md"] = _experiment_page(registered)
    texts["docs/reference/results.md"] = _result_page(registered)
    texts["docs/reference/comparisons.md"] = _comparison_page(registered)
    texts["docs/reference/advice.md"] = _advice_page(registered)
    texts["docs/reference/README.md"] = _index(texts)
    texts["schema/scenario.schema.json"] = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    return texts


def differences(root: Path, texts: Mapping[str, str]) -> list[str]:
    """One line for each file below `root` that is missing or has another text."""
    lines = []
    for name, text in texts.items():
        file = root / name
        if not file.is_file():
            lines.append(f"{name}: is missing; run `{REPAIR}` and commit what it writes")
        elif file.read_text(encoding="utf-8") != text:
            lines.append(f"{name}: is not what the engine says of itself; run `{REPAIR}` and commit what it writes")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks or writes the files; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m ackclock.reference",
        description="Checks or writes docs/reference/ and schema/, which are generated from the engine's registries.",
        epilog="example: python -m ackclock.reference --check",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="say which files are not current; exit code 1 if any")
    what.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository (default: the current folder)")
    options = parser.parse_args(arguments)
    if not (options.root / "pyproject.toml").is_file():
        parser.error(f'--root: "{options.root}" has no pyproject.toml; give the folder of the repository')
    texts = pages(registry(), schema())
    if options.check:
        lines = differences(options.root, texts)
        print(*lines, sep="\n", end="\n" if lines else "", file=sys.stderr)
        return 1 if lines else 0
    for name, text in texts.items():
        file = options.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return 0


def _kind_page(kind: str, registered: Json) -> str:
    page = _Page(KINDS[kind].title, registered)
    page.paragraph(KINDS[kind].place)
    if not registered[kind]:
        page.paragraph("There is none yet.")
    else:
        index = [(f"[`{entry['name']}`](#{_anchor(entry['name'])})", entry["summary"]) for entry in registered[kind]]
        page.table(("kind", "what it does"), index)
    for entry in registered[kind]:
        page.element(entry, KINDS[kind].pattern)
    facts = next(one["facts"] for one in registered["kinds"] if one["name"] == kind)
    if facts.get("properties"):
        page.all_facts(facts)
    return page.finish()


def _preset_page(registered: Json, described: Json) -> str:
    presets = registered["presets"]
    parameters = _tagged(described, "tcp").get("properties", {})
    page = _Page("Presets", registered, described.get("$defs", {}))
    page.paragraph(
        'Named sets of TCP parameters, chosen by `preset` in `transport = { kind = "tcp", … }`. '
        "What is written beside it replaces the preset's value. Values that differ between presets are in bold."
    )
    meanings = page.choices("Preset")
    page.names(("preset", "is"), [(name, meanings.get(name, "")) for name in presets])
    rows = []
    flat = {name: dict(_leaves(values)) for name, values in presets.items()}
    for path in dict.fromkeys(path for values in flat.values() for path in values):
        values = [f"`{_toml(values[path])}`" if path in values else "—" for values in flat.values()]
        if len(set(values)) > 1:
            values = [f"**{value}**" for value in values]
        rows.append((f"`{path}`", *values, page.meaning(path, parameters)))
    page.table(("parameter", *(f"`{name}`" for name in presets), "meaning"), rows)
    return page.finish()


def _model_page(registered: Json) -> str:
    page = _Page("Models", registered)
    page.paragraph(
        "What `ackclock predict` asks, of the flows of a scenario or of plain numbers "
        "(`ackclock predict pftk --loss 1% --rtt 100ms`). A model says for which flows it has no answer, and which of "
        "its assumptions a flow violates. Tables and figures of simulations show the usual ones beside what was "
        "simulated; `--models` chooses others."
    )
    rows = [(f"[`{one.name}`](#{_anchor(one.name)})", "yes" if one.usual else "", one.summary) for one in MODELS]
    page.table(("model", "usual", "what it is"), rows)
    page.title("From a scenario to a model")
    for terms in scenario_terms.RECORDS:
        summary, _, rest = inspect.cleandoc(terms.__doc__ or "").partition("Attributes:\n")[0].partition("\n\n")
        page.paragraph(f"**{terms.__name__}.** {summary} {' '.join(rest.split())}".strip())
        page.names(("field", "what it is"), _attributes(terms))
    page.title("From a capture to a model")
    page.paragraph(_after_the_first_line(capture_terms))
    for model in MODELS:
        page.heading(2, model.name)
        page.paragraph(f"**{model.label}.** {model.summary}")
        page.paragraph(_after_the_first_line(sys.modules[model.evaluate.__module__]))
        record = model.described()
        page.paragraph(f"```text\n{record['formula']}\n```")
        head = ("input", "letter", "unit", "default", "domain", "meaning")
        page.table(head, [_quantity(one, ("default", "domain")) for one in record["inputs"]])
        page.table(("output", "letter", "unit", "meaning"), [_quantity(one) for one in record["outputs"]])
        page.paragraph("It assumes:")
        page.paragraph("\n".join(f"- `{one['name']}`: {one['sentence']}" for one in record["assumptions"]))
        page.paragraph(f"Reference: {model.reference}.")
    return page.finish()


def _after_the_first_line(module: ModuleType) -> str:
    """What a module's docstring says after its summary."""
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2]


def _quantity(one: Json, more: Sequence[str] = ()) -> tuple[str, ...]:
    """A row of a model's inputs or outputs."""
    letter = f"`{one['letter']}`" if one["letter"] else "—"
    return (f"`{one['name']}`", letter, one["unit"] or "—", *(one[name] for name in more), one["meaning"])


def _metric_page(registered: Json) -> str:
    page = _Page("Metrics", registered)
    page.paragraph(
        "What tables, figures (`ackclock plot --metric`) and reports show: means over replicates with 95 % Student-t "
        "intervals, of the time after the warm-up unless they say otherwise."
    )
    rows = [(f"`{one.name}`", one.label, one.shown_unit or "—", one.summary) for one in METRICS]
    page.table(("metric", "label", "shown in", "what it is"), rows)
    page.title("With parameters")
    page.paragraph(
        "In Python some metrics are made for two flows, a time scale or a moment: "
        "`metrics.summarise(result, metrics.rate_variation(0.5))` has means and intervals over replicates, as of the "
        "others, and `metrics.by_replicate` each replicate's value. The coefficient of variation over the time scale "
        "is also a figure (`ackclock plot --kind variation`)."
    )
    made = [(f"`{one.__name__}{_parameters(one)}`", _paragraphs(one)) for one in WITH_PARAMETERS]
    page.table(("made by", "what it is"), made)
    for numbers in (Response, Outage):
        page.heading(2, numbers.__name__)
        page.paragraph(inspect.cleandoc(numbers.__doc__ or "").partition("\n")[0])
        page.names(("number", "what it is"), _attributes(numbers))
    return page.finish()


def _parameters(function: Callable[..., object]) -> str:
    """As it is called: names without types, those that may be left out in brackets."""
    known = inspect.signature(function).parameters.values()
    needed = [one.name for one in known if one.default is one.empty]
    spare = [f"{one.name}={one.default!r}" for one in known if one.default is not one.empty]
    return f"({', '.join([*needed, *spare])})"


def _attributes(record: type) -> Iterable[tuple[str, str]]:
    """What a record's docstring says of its attributes."""
    listed = inspect.cleandoc(record.__doc__ or "").partition("Attributes:\n")[2]
    for one in re.split(r"\n(?=    \w)", listed):
        name, _, meaning = " ".join(one.split()).partition(": ")
        yield name, meaning


def _paragraphs(function: Callable[..., object]) -> str:
    """What it is said to be, up to the list of its arguments, on one line."""
    text = re.split(r"\n\n(?:Args|Returns|Raises):", inspect.cleandoc(function.__doc__ or ""))[0]
    return " ".join(text.split())


def _experiment_page(registered: Json) -> str:
    page = _Page("Experiments", registered)
    page.paragraph(
        "Published tables and figures that `ackclock reproduce` computes again. How to read what it says is in the "
        "guide `docs/guides/reproduce.md`."
    )
    for group in dict.fromkeys(one.group for one in experiments()):
        page.heading(2, group)
        members = [one for one in experiments() if one.group == group]
        for source in dict.fromkeys(one.source for one in members):
            page.paragraph(f"{source}.")
            rows = [(f"`{one.name}`", one.question, one.says) for one in members if one.source == source]
            page.table(("experiment", "question", "what it says"), rows)
    return page.finish()


def _result_page(registered: Json) -> str:
    page = _Page("Results", registered)
    page.paragraph(
        "A result is a folder: `run.json` (the resolved scenario of each point, seed, versions, warnings) and these "
        "tables in Parquet. The name of a column ends in its unit. What is not known is null, never zero."
    )
    for table in registered["tables"]:
        page.heading(2, table["name"])
        page.paragraph(table["summary"])
        page.names(("column", "holds"), [(column["name"], column["summary"]) for column in table["columns"]])
    page.heading(2, "estimates")
    page.paragraph(
        "What one captured connection means in the terms of models, with 95 % intervals; of a capture, the largest "
        "connections."
    )
    page.paragraph(_after_the_first_line(estimates))
    page.names(("column", "holds"), estimates.COLUMNS.items())
    return page.finish()


def _comparison_page(registered: Json) -> str:
    page = _Page("Comparisons", registered)
    page.paragraph(
        "A comparison is a folder that `ackclock compare` writes: a result of each way, `comparison.json` (what was "
        "asked, what answered, the explanations by number) and `comparison.parquet`, one row for each metric, point, "
        "flow or hop, and way. How to read it is in the guide `docs/guides/which-way.md`."
    )
    page.names(("column", "holds"), FIELDS.items())
    page.title("Causes")
    page.paragraph(
        "What may explain a residual. A cause is named where its evidence is in the results, and where its direction, "
        "and its size if that is known, fit."
    )
    page.names(("cause", "what it is"), [(one.name, one.sentence) for one in CAUSES])
    return page.finish()


def _advice_page(registered: Json) -> str:
    page = _Page("Advice", registered)
    page.paragraph(
        "`ackclock advise feedback` says whether a sender should be told the rate of a link, and what. With `-o` it "
        "writes a result, a point for each scheme, and `advice.json`, the same as `--json` prints. What all this means "
        "is in the guide `docs/guides/rate-feedback.md`."
    )
    page.paragraph(
        "`ackclock advise buffer` says how small a drop-tail buffer may be, or that none meets the targets. With `-o` "
        "it writes `advice.json`, the figure `trade-off.svg` (and `.png`), and `runs/`, a result of each run under its "
        "address. The guide is `docs/guides/sizing-a-buffer.md`."
    )
    page.title("Targets for a buffer")
    page.paragraph(_after_the_first_line(measures))
    page.names(
        ("target", "of"),
        [(f"{one.option}", f"{one.label}, {'at least' if one.at_least else 'at most'}") for one in MEASURES.values()],
    )
    page.title("Regions of psi")
    page.paragraph(_after_the_first_line(regions))
    rows = [(one.name, f"{one.low:g}", "" if one.high == inf else f"{one.high:g}", one.says) for one in regions.REGIONS]
    page.table(("region", "from", "to", "what it means for feedback"), rows)
    return page.finish()


def _index(texts: Mapping[str, str]) -> str:
    """A page that leads to all others."""
    pages = {Path(name).name: text for name, text in texts.items() if name.endswith(".md")}
    titles = {name: text.partition("\n# ")[2].partition("\n")[0] for name, text in pages.items()}
    links = [f"- [{title}]({name})" for name, title in titles.items()]
    return "\n\n".join((MARK, "# Reference", "\n".join(links))) + "\n"


def _scenario_page(registered: Json, described: Json) -> str:
    page = _Page("Scenario", registered, described.get("$defs", {}))
    page.paragraph(
        "A scenario is a TOML file, or the same tree in Python. Fields that are not named here are refused. "
        "Quantities are written with their unit. The same as JSON schema: `schema/scenario.schema.json`."
    )
    page.fields(described)
    page.explain()
    for transport in _transports(described):
        kind, control = _kind(transport), ", control = …" if "control" in transport["properties"] else ""
        page.heading(2, f'transport = {{ kind = "{kind}"{control}, … }}')
        page.fields(transport, missing="[preset](presets.md)" if kind == "tcp" else "—")
    return page.finish()


class _Page:
    """A page being written. Tables, choices and quantities that it refers to are explained at its end, once each."""

    def __init__(self, title: str, registered: Json, definitions: Json | None = None) -> None:
        self._parts = [MARK, f"# {title}"]
        self._kinds = {frozenset(entry["name"] for entry in registered[kind]): kind for kind in KINDS}
        self._definitions: Json = dict(definitions or {})
        self._wanted: dict[str, None] = {}
        self._missing: dict[str, str] = {}
        self._quantities: list[tuple[str, str, str]] = []

    def paragraph(self, text: str) -> None:
        self._parts.append(text)

    def heading(self, level: int, code: str) -> None:
        self._parts.append(f"{'#' * level} `{code}`")

    def title(self, text: str) -> None:
        self._parts.append(f"## {text}")

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        lines = [head, ["---"] * len(head), *rows]
        self._parts.append("\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines))

    def names(self, head: Sequence[str], meanings: Iterable[tuple[str, str]]) -> None:
        """A table of names as they are written, and what each means."""
        self.table(head, [(f"`{name}`", meaning) for name, meaning in meanings])

    def element(self, entry: Json, pattern: str) -> None:
        """The section of one registered element."""
        parameters = entry["parameters"]
        self._definitions.update(parameters.get("$defs", {}))
        self.heading(2, entry["name"])
        self.paragraph(f"**{entry['label']}.** {entry['summary']}")
        more = parameters.get("description", "").removeprefix("Parameters.").strip()
        if more:
            self.paragraph(more)
        example = self._example(parameters)
        if example is not None:
            text = _toml({"kind": entry["name"], **example})
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
        """The fields of a table; `missing` stands for the default of one that has none and may be left out."""
        required = table.get("required", [])
        rows = []
        for name, field in table.get("properties", {}).items():
            if name == "kind" and "const" in field:
                continue  # the heading has it
            written = self._written(field, missing)
            default = f"`{_toml(field['default'])}`" if field.get("default") is not None else missing
            default = "required" if name in required else default
            rows.append((f"`{name}`", written, default, field.get("description", "")))
        if rows:
            self.table(("field", "written as", "default", "meaning"), rows)

    def all_facts(self, schema: Json) -> None:
        """The section on the facts of a kind."""
        self._definitions.update(schema.get("$defs", {}))
        self.title("Facts")
        self.paragraph(
            "What every element states about itself. Facts are computed from the parameters and stand in the resolved "
            "scenario as `facts`; what is not known is null. They need not be written."
        )
        rows = [
            (f"`{name}`", self._written(field, "—"), field.get("description", ""))
            for name, field in schema["properties"].items()
        ]
        self.table(("fact", "value", "meaning"), rows)

    def facts(self, facts: Json) -> None:
        """The facts of an element that are known."""
        known = {name: fact for name, fact in facts.items() if fact is not None}
        self.table(("fact", "value"), [(f"`{name}`", f"`{_toml(fact)}`") for name, fact in known.items()])

    def choices(self, name: str) -> dict[str, str]:
        """The values of a definition that is a choice, each with its meaning; none if it is something else."""
        return _choices(self._definitions.get(name, {}))

    def meaning(self, path: str, properties: Json) -> str:
        """What a parameter within tables is described as."""
        name, _, rest = path.partition(".")
        field = properties.get(name, {})
        if rest:
            return self.meaning(rest, self._resolve(field).get("properties", {}))
        return str(field.get("description", ""))

    def explain(self) -> None:
        """Adds the tables and choices that the text has referred to so far, and those that they refer to."""
        while self._wanted:
            name = next(iter(self._wanted))
            del self._wanted[name]
            definition = self._definitions[name]
            self._definitions[name] = {**definition, "explained": True}
            meaning, choices = definition.get("description", ""), _choices(definition)
            tables = [variant for variant in definition.get("oneOf", []) if _kind(variant)]
            if not (choices or tables or "properties" in definition):
                self._quantities.append((f'<a id="{_anchor(name)}"></a>{name}', meaning, self._for_example(definition)))
                continue
            self.heading(2, name)
            self.paragraph(meaning)
            if choices:
                self.table(("value", "meaning"), [(f"`{_toml(value)}`", means) for value, means in choices.items()])
            elif tables:
                self._variants(tables)
            else:
                self.fields(definition, self._missing.get(name, "—"))

    def _variants(self, tables: Iterable[Json]) -> None:
        """Tables that are told apart by their `kind`."""
        for table in tables:
            self.heading(3, f'{{ kind = "{_kind(table)}", … }}')
            self.paragraph(table.get("description", ""))
            self.fields(table)

    def _for_example(self, definition: Json) -> str:
        examples = definition.get("examples")
        return (
            " or ".join(f"`{_toml(example)}`" for example in examples) if examples else self._written(definition, "—")
        )

    def finish(self) -> str:
        """The text, with what it refers to at the end."""
        self.explain()
        if self._quantities:
            self._parts.append("## Quantities")
            self.table(("quantity", "what it is", "written as, for example"), sorted(self._quantities))
        return "\n\n".join(part for part in self._parts if part) + "\n"

    def _resolve(self, schema: Json) -> Json:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        return self._definitions.get(name, {}) if name else schema

    def _refer(self, name: str, missing: str) -> str:
        """A link to what is explained at the end of the page."""
        definition = self._definitions.get(name, {})
        if not (_choices(definition) or "properties" in definition or "description" in definition):
            return self._written(definition, missing)
        if not definition.get("explained"):
            self._wanted[name] = None
            self._missing[name] = missing
        choices = ", ".join(f"`{_toml(value)}`" for value in _choices(definition))
        link = f"[{name}](#{_anchor(name)})"
        return f"{link}: {choices}" if choices else link

    def _written(self, schema: Json, missing: str) -> str:
        """How a value is written."""
        if "$ref" in schema:
            return self._refer(schema["$ref"].removeprefix("#/$defs/"), missing)
        if "const" in schema:
            return f"`{_toml(schema['const'])}`"
        if "enum" in schema:
            return ", ".join(f"`{_toml(value)}`" for value in schema["enum"] if value is not None)
        variants = schema.get("oneOf") or schema.get("anyOf")
        if variants:
            return self._one_of(variants, missing)
        types = schema.get("type", [])
        names = [self._typed(name, schema, missing) for name in ([types] if isinstance(types, str) else types)]
        return " or ".join(name for name in names if name) or "—"

    def _one_of(self, variants: Sequence[Json], missing: str) -> str:
        kinds = [_kind(variant) for variant in variants]
        registered = self._kinds.get(frozenset(kinds))
        if registered:
            return f"a [{KINDS[registered].noun}]({registered}.md)"
        if all(kinds):
            return " or ".join(f'`{{ kind = "{kind}", … }}`' for kind in kinds)
        texts = (self._written(variant, missing) for variant in variants if variant.get("type") != "null")
        return " or ".join(dict.fromkeys(texts))

    def _typed(self, name: str, schema: Json, missing: str) -> str:
        match name:
            case "array" if "prefixItems" in schema:
                return "list: " + ", ".join(self._written(item, missing) for item in schema["prefixItems"])
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
                bounds = (f"from {low}" if low is not None else "", f"to {high}" if high is not None else "")
                return " ".join(filter(None, (noun, *bounds)))
            case _:
                return {"string": "text", "object": "table"}.get(name, "")

    def _example(self, parameters: Json) -> Json | None:
        """An element's parameters: its own example, or what is required, if all of it has examples."""
        if parameters.get("examples"):
            example: Json = parameters["examples"][0]
            return example
        values = {}
        for name in parameters.get("required", []):
            field = parameters["properties"][name]
            kind = self._resolve(field)
            examples = field.get("examples") or kind.get("examples") or [*_choices(kind)]
            if not examples:
                return None
            values[name] = examples[0]
        return values


def _choices(definition: Json) -> dict[str, str]:
    variants = definition.get("oneOf", [])
    if not variants or any("const" not in variant for variant in variants):
        return dict.fromkeys(definition.get("enum", []), "")
    return {variant["const"]: variant.get("description", "") for variant in variants}


def _kind(table: Json) -> Any:
    """What a table's `kind` must be; nothing if that is not said."""
    return table.get("properties", {}).get("kind", {}).get("const")


def _transports(described: Json) -> Iterable[Json]:
    """The tables that a flow's transport may be."""
    flow = described.get("$defs", {}).get("Flow", described)
    transports: Iterable[Json] = flow["properties"].get("transport", {}).get("oneOf", ())
    return transports


def _tagged(tree: Any, kind: str) -> Json:
    """The first table within a schema whose `kind` is that; empty if there is none."""
    if isinstance(tree, dict):
        if _kind(tree) == kind:
            return tree
        tree = list(tree.values())
    if isinstance(tree, list):
        return next(filter(None, (_tagged(branch, kind) for branch in tree)), {})
    return {}


def _leaves(table: Json, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _toml(value: Any) -> str:
    """A value as in a TOML file, on one line."""
    match value:
        case dict():
            # What is left out has no value in TOML.
            written = {name: part for name, part in value.items() if part is not None}
            return "{ " + ", ".join(f"{_key(name)} = {_toml(part)}" for name, part in written.items()) + " }"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    is_bare = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _anchor(name: str) -> str:
    """As GitHub makes it from a heading."""
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter in "-_")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
