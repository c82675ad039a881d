"""Fields: the paths on which candidates are judged, as data.

A field has categories of paths. Each draws its paths from ranges. Those that everybody is shown are
drawn from the field alone; the others from a salt, too, which only the caller of a judgement knows.
"""

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import engine, units
from ackclock.elements.registry import registry
from ackclock.errors import InputError
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.fields import Fields
from ackclock.evaluation.reading import scenarios
from ackclock.limits import SCENARIO_BYTES, read_file
from ackclock.sweeps import parameters
from ackclock.sweeps.designs import Design
from ackclock.sweeps.parameters import Parameter, Range

#: Version of the file's form.
SCHEMA = 1

#: Every field by name: a file of the folder `fields`.
FIELDS = ("wan", "quick")

#: Probes that every field has.
PROBES = ("contract", "windows", "little loss", "much loss")

# Seed of the paths that everybody is shown.
_SHOWN = "shown"

# A nudged path differs by so little that no control should care: a share of each value. Ours.
_NUDGE = 0.03

# A search looks at values within this factor of those of the path that it begins with. Ours.
_AROUND = 1.7

Assignments = Mapping[str, Any]


@dataclass(frozen=True)
class Category:
    """A kind of path.

    Attributes:
        name: Name in records.
        title: Name for people.
        tree: The scenario, with `"X"` in the place of the candidate.
        parameters: What differs from path to path.
        points: Number of hidden paths.
        shown: Number of paths that are the same for everybody.
        replicates: Number of seeds if the field says so; 0 for that of the judgement.
        carries: Share of the rate that the path carries.
        has_solo: True if the other flow is run without the candidate, too.
    """

    name: str
    title: str
    tree: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    points: int
    shown: int
    replicates: int
    carries: float
    has_solo: bool

    def hidden_paths(self, salt: str) -> tuple[Assignments, ...]:
        """Returns the paths that a salt hides."""
        return self._drawn(self.points, salt)

    @cached_property
    def shown_paths(self) -> tuple[Assignments, ...]:
        """The paths that everybody is shown."""
        return self._drawn(self.shown, _SHOWN)

    def _drawn(self, count: int, salt: str) -> tuple[Assignments, ...]:
        digest = hashlib.sha256(f"{self.name}\0{salt}".encode()).digest()
        seed = int.from_bytes(digest[:4], "big")
        return tuple(Design("random", count).points(self.parameters, seed)) if count else ()

    def nudged(self, path: Assignments, salt: str) -> Assignments:
        """Returns a path next to another: all its quantities a few percent higher or lower."""
        nudged: dict[str, Any] = {}
        for number, parameter in enumerate(self.parameters):
            value = path[parameter.paths[0]]
            if isinstance(parameter.over, Range):
                digest = hashlib.sha256(f"{salt}\0{number}\0{value}".encode()).digest()
                factor = 1 + _NUDGE * (1 if digest[0] % 2 else -1)
                value = parameter.over.written(_number(value) * factor)
            nudged |= parameter.assignments(value)
        return nudged

    def around(self, path: Assignments) -> "Category":
        """Returns the category with its ranges narrowed around a path."""
        narrowed = []
        for parameter in self.parameters:
            over, value = parameter.over, path[parameter.paths[0]]
            if isinstance(over, Range):
                number = _number(value)
                low, high = max(over.low, number / _AROUND), min(over.high, number * _AROUND)
                over = replace(over, low=low, high=high) if low < high else over
            else:
                over = replace(over, values=(value,))
            narrowed.append(Parameter(parameter.paths, over))
        return replace(self, parameters=tuple(narrowed))

    def value(self, path: Assignments, name: str) -> float:
        """Returns a value of the scenario on a path, in base units."""
        written = path.get(f"values.{name}", self.tree["values"][name])
        return units.parse(written).amount

    def scenario(
        self, candidate: Candidate, paths: Sequence[Assignments], seed: int, replicates: int,
        *, solo: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Returns the tree of a scenario whose sweep has these paths.

        Args:
            candidate: The control in the place of X.
            paths: The paths.
            seed: The seed.
            replicates: Number of runs of each.
            solo: True to leave the candidate's flows out.
        """
        tree = candidate.in_place(self.tree)
        if solo:
            tree["flows"] = [flow for flow in tree["flows"] if flow["name"] == "other"]
        tree |= {"name": f"judge: {self.title}", "seed": seed, "replicates": replicates}
        names = list(paths[0])
        if len(paths) == 1:
            return engine.replace(tree, dict(paths[0]))
        rows: list[Any] = [[path[name] for name in names] for path in paths]
        if len(names) == 1:
            rows = [row for [row] in rows]
        return {**tree, "sweep": {", ".join(names): rows}}


@dataclass(frozen=True)
class Field:
    """A field.

    Attributes:
        name: Name on the command line.
        title: Title.
        digest: Hash of the file.
        categories: The categories, in the order of the file.
        probes: Paths that show a trait of a control.
        references: The shipped controls that candidates are judged beside.
    """

    name: str
    title: str
    digest: str
    categories: tuple[Category, ...]
    probes: Mapping[str, Category]
    references: tuple[str, ...]

    @property
    def race(self) -> Iterator[Category]:
        """The categories that have shown paths."""
        return (category for category in self.categories if category.shown)


def load(name: str) -> Field:
    """Reads a field by its name, or from a file.

    Raises:
        InputError: There is none, or a mistake is in it; one line.
    """
    path = Path(name)
    if path.suffix != ".toml":
        if name not in FIELDS:
            raise InputError.unknown("--field", "field", name, FIELDS)
        text = (resources.files("ackclock.judgement") / f"fields/{name}.toml").read_bytes()
        return _read(text, f"{name}.toml", name)
    try:
        text = read_file(path, SCENARIO_BYTES)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        words = "no such file" if missing else f"{error.strerror}"
        raise InputError("file", f"{path}", f"{words}; a field is a .toml file") from None
    return _read(text, str(path), path.stem)


def _read(text: bytes, file: str, name: str) -> Field:
    try:
        tree = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("syntax", file, f"is not TOML: {error}") from None
    try:
        return _field(Fields(tree, ""), name, hashlib.sha256(text).hexdigest()[:16])
    except InputError as error:
        raise error.for_field(f"{file}: {error.field}") from None


def _field(fields: Fields, name: str, digest: str) -> Field:
    if fields.has("like"):
        return _part(fields, name, digest)
    if fields.whole("schema") != SCHEMA:
        raise InputError("unsupported", "schema", f"is not {SCHEMA}, which this version reads")
    trees = scenarios(fields.table("scenarios"))
    field = Field(
        name,
        fields.text("title"),
        digest,
        tuple(_category(table, trees) for table in fields.tables("category")),
        {probe.name: probe for probe in (_category(t, trees) for t in fields.tables("probe"))},
        _references(fields),
    )
    fields.done()
    for probe in PROBES:
        if probe not in field.probes:
            raise InputError("missing", "probe", f'the probe "{probe}" is missing')
    if not field.categories:
        raise InputError("missing", "category", "is missing; a field has a category or more")
    return field


def _part(fields: Fields, name: str, digest: str) -> Field:
    """Reads a field that has some of the paths of another."""
    if fields.whole("schema") != SCHEMA:
        raise InputError("unsupported", "schema", f"is not {SCHEMA}, which this version reads")
    title, whole = fields.text("title"), load(fields.choice("like", FIELDS))
    categories = {category.name: category for category in whole.categories}
    wanted = fields.texts("categories") or tuple(categories)
    for each in wanted:
        if each not in categories:
            raise InputError.unknown("categories", "category", each, categories)
    points, shown, lives = (fields.whole(key, 10_000) for key in ("points", "shown", "lives"))
    contract = whole.probes["contract"]
    part = Field(
        name,
        title,
        hashlib.sha256(f"{digest} {whole.digest}".encode()).hexdigest()[:16],
        tuple(
            replace(each, points=min(each.points, points), shown=min(each.shown, shown))
            for each in map(categories.__getitem__, wanted)
        ),
        {**whole.probes, "contract": replace(contract, shown=min(contract.shown, lives))},
        _references(fields),
    )
    fields.done()
    return part


def _references(fields: Fields) -> tuple[str, ...]:
    """Returns the shipped controls that a field names; all that the engine runs if it names none.

    CUBIC is what others are compared with, and Reno's answer to losses is the usual one.
    """
    every = [each["name"] for each in registry()["controls"] if each["simulated"]]
    given = fields.texts("references") or tuple(every)
    for name in given:
        if name not in every:
            raise InputError.unknown("references", "congestion control", name, every)
    return tuple(dict.fromkeys((*given, "cubic", "reno")))


def _category(fields: Fields, trees: Mapping[str, Any]) -> Category:
    tree = trees[fields.choice("scenario", trees)]
    category = Category(
        name=fields.text("name"),
        title=fields.text("title"),
        tree=engine.replace(dict(tree), fields.take("set", dict, "a table of changes", {})),
        parameters=tuple(parameters.parse(text) for text in fields.texts("vary")),
        points=fields.whole("points", 0),
        shown=fields.whole("shown", 0),
        replicates=fields.whole("replicates", 0),
        carries=fields.number("carries", 1.0),
        has_solo=fields.flag("solo", default=False),
    )
    fields.done()
    return category


def _number(written: Any) -> float:
    """Returns the number of a value as a range wrote it."""
    return float(str(written).partition(" ")[0])
