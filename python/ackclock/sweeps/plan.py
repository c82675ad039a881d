"""The plan of a sweep: what is swept, which points there are, and what is wanted of each.

A plan is plain data. It is the file `sweep.json` of the sweep's folder, and a worker gets it as it
is.
"""

import contextlib
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ackclock import engine, stacks
from ackclock.errors import InputError, ScenarioError, suggestion
from ackclock.metrics import METRICS, Metric, metric
from ackclock.metrics.metric import unknown_subject
from ackclock.run import address
from ackclock.scenario import Scenario
from ackclock.sweeps import designs, parameters
from ackclock.sweeps.precision import Precision

# Version of `sweep.json`.
_SCHEMA = 3

#: Methods of a sweep in execution order, the most expensive last.
METHODS = ("predict", "simulate", "emulate")

#: Tables of a run that a sweep can keep.
TABLES = ("flows", "hops", "samples", "events")

#: Metrics of a sweep that names none.
METRICS_BY_DEFAULT = ("goodput", "utilisation", "queueing_delay", "rtt", "loss_rate")

#: Longest duration of a run, in seconds, as long as no run has ended. A guess.
RUN_LIMIT_S = 600.0

# Combinations of ends at which a value is tried, 0.5 ms each. If there are more, it is not refused.
_MOST_CORNERS = 1000

#: Point and replicate of a run.
Key = tuple[int, int]


class Asked(NamedTuple):
    """A metric, perhaps of one subject only: `utilisation(bottleneck)`."""

    metric: Metric
    subject: str | None

    def __str__(self) -> str:
        return self.metric.name if self.subject is None else f"{self.metric.name}({self.subject})"


def asked(text: str) -> Asked:
    """Reads `utilisation` or `utilisation(bottleneck)`.

    Raises:
        InputError: There is no such metric.
    """
    name, bracket, rest = text.strip().partition("(")
    choices = list(METRICS)
    if name.strip() not in choices or (bracket and not rest.endswith(")")):
        raise InputError(
            "unknown-name", "", f'unknown metric "{text}"; {suggestion(name, choices)}', text
        )
    return Asked(metric(name.strip()), rest[:-1].strip() if bracket else None)


class Batch(NamedTuple):
    """Runs of one method that one worker executes together.

    Attributes:
        runs: Point and replicate of each.
        assignments: Values of the swept paths of each point.
        expected_s: Expected duration; 0 if unknown.
        run_limit_s: Longest duration of one run.
        method: One of `METHODS`.
    """

    runs: tuple[Key, ...]
    assignments: dict[int, dict[str, Any]]
    expected_s: float = 0.0
    run_limit_s: float = RUN_LIMIT_S
    method: str = "simulate"


@dataclass(frozen=True)
class Plan:
    """The plan of a sweep.

    Attributes:
        scenario: Tree of the scenario, with its own sweep.
        folder: Folder in which the scenario's files are looked up.
        design: Kind and size, such as `sobol:64`.
        vary: Parameters, as `ackclock.sweeps.parameters.parse` reads them.
        methods: Some of `METHODS`, in that order.
        models: Models that predict, as `ackclock.models.chosen` reads them.
        metrics: Metrics, as `asked` reads them.
        keep: Tables that are kept of each run.
        least: Replicates of each point at the first look.
        most: Largest number of replicates of a point.
        until: Half width and kind of the wanted interval; None for `least` replicates.
        independent: True if each point has its own random numbers.
        engine: Address of the engine.
        stacks: Digest of each stack that was brought, by name.
        version: Version of ackclock.
        schema: Version of this format.
    """

    scenario: dict[str, Any]
    folder: str
    design: str
    vary: tuple[str, ...]
    methods: tuple[str, ...]
    models: str
    metrics: tuple[str, ...]
    keep: tuple[str, ...]
    least: int
    most: int
    until: dict[str, Any] | None
    independent: bool
    engine: str
    stacks: dict[str, str]
    version: str
    schema: int = _SCHEMA

    @classmethod
    def make(
        cls,
        scenario: Scenario,
        *,
        design: str = "grid",
        vary: Sequence[str] = (),
        methods: Sequence[str] = ("simulate",),
        models: str = "usual",
        metrics: Sequence[str] = METRICS_BY_DEFAULT,
        keep: Sequence[str] = ("flows",),
        replicates: tuple[int, int] | None = None,
        until: Precision | None = None,
        independent: bool = False,
    ) -> "Plan":
        """Makes a plan. A path in `vary` is no longer swept by the scenario itself.

        Raises:
            InputError: A parameter, a metric or the scenario is wrong.
        """
        vary = parameters.of_each(vary, scenario.tree)
        read = [parameters.parse(text) for text in vary]
        _refuse_twice([path for parameter in read for path in parameter.paths])
        firsts = {
            path: ("--vary", parameter.over.levels(2)[0])
            for parameter in read
            for path in parameter.paths
        }
        try:
            base = scenario.changed(firsts)
        except ScenarioError as error:
            raise error.placed(lambda _: "--vary") from None
        if until is not None:
            least, most = replicates or (until.least, until.most)
        else:
            own = base.tree.get("replicates", 1)
            least, most = replicates or (own, own)
        plan = cls(
            scenario=base.tree,
            folder=str(base.folder.absolute()),
            design=str(designs.parse(design)),
            vary=tuple(vary),
            methods=tuple(method for method in METHODS if method in _checked_methods(methods)),
            models=models,
            metrics=tuple(str(asked(text)) for text in metrics),
            keep=tuple(keep),
            least=least,
            most=most,
            until=None
            if until is None
            else {"half_width": until.half_width, "relative": until.relative, "base": until.base},
            independent=independent,
            engine=address.engine(),
            stacks=stacks.digests(),
            version=engine.version(),
        )
        plan._check(base)
        return plan

    def check_stacks(self) -> None:
        """Refuses a process that has not the stacks with which the sweep was begun.

        Raises:
            InputError: A stack is absent, or another.
        """
        for name, digest in self.stacks.items():
            stack = stacks.find(name)
            if stack is None or stack.digest != digest:
                raise InputError(
                    "contradiction", "--stack",
                    f"the sweep was begun with {name}=LIBRARY, whose SHA-256 is {digest[:16]}…; "
                    "bring the same library", name,
                )  # fmt: skip

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> "Plan":
        """Reads the contents of `sweep.json`.

        Raises:
            InputError: They are damaged or of another version.
        """
        names = {field.name for field in fields(cls)}
        if tree.get("schema") != _SCHEMA or set(tree) != names:
            raise InputError(
                "file", "sweep.json", "is damaged or of another version; run the sweep again"
            )
        lists = {name: tuple(tree[name]) for name in ("vary", "methods", "metrics", "keep")}
        return cls(**{**tree, **lists})

    def to_json(self) -> dict[str, Any]:
        """Returns the contents of `sweep.json`."""
        return asdict(self)

    @cached_property
    def address(self) -> str:
        """Address of the plan and of what decides its numbers."""
        return address.of_content(self.to_json())

    @cached_property
    def base(self) -> Scenario:
        """The scenario without its sweep."""
        tree = {name: value for name, value in self.scenario.items() if name != "sweep"}
        return Scenario(tree, Path(self.folder))

    @cached_property
    def asked(self) -> list[Asked]:
        """The metrics."""
        return [asked(text) for text in self.metrics]

    @cached_property
    def precision(self) -> Precision | None:
        """The interval that is asked for, if one is."""
        if self.until is None:
            return None
        return Precision(**self.until, least=self.least, most=self.most)

    @property
    def seed(self) -> int:
        """The seed of the scenario, and of the design."""
        return int(self.scenario.get("seed", 1))

    @cached_property
    def points(self) -> list[dict[str, Any]]:
        """The assignments of each point: those of the scenario's own sweep, times the design's."""
        own = [point.assignments for point in Scenario(self.scenario, Path(self.folder)).expand()]
        read = [parameters.parse(text) for text in self.vary]
        design = designs.parse(self.design)
        designs.within_most(len(own) * design.count(read))
        varied = list(design.points(read, self.seed))
        return [{**assigned, **other} for assigned, other in itertools.product(own, varied)]

    def wanted_of(self, method: str) -> tuple[int, Precision | None]:
        """Returns the replicates of each point at the first look, and the interval asked for.

        A prediction is a number without spread.
        """
        return (1, None) if method == "predict" else (self.least, self.precision)

    def tree(self, point: int, assignments: Mapping[str, Any], replicates: int) -> dict[str, Any]:
        """Returns the scenario of a point, with so many replicates."""
        changes: dict[str, Any] = {**assignments, "replicates": replicates}
        if self.independent:
            drawn = hashlib.sha256(f"{self.seed}/{point}".encode()).digest()
            changes["seed"] = str(int.from_bytes(drawn[:8]))
        return engine.replace(self.base.tree, changes)

    def _check(self, base: Scenario) -> None:
        """Raises an error unless the plan's names exist and its values can be run."""
        for table in self.keep:
            if table not in TABLES:
                raise InputError.unknown("--keep", "table", table, TABLES)
        base.check()
        own = self.points[0]
        if "replicates" in own:
            raise InputError(
                "contradiction", "replicates", "cannot be swept here; choose it by --replicates"
            )
        if self.independent and "seed" in own:
            raise InputError(
                "contradiction", "--independent", "chooses seeds, but the sweep does; remove one"
            )
        self._check_ends(base, own)
        first = self.base.replace(own).resolve().tree
        for record, subject in self.asked:
            if subject is not None and subject not in (subjects := record.subjects.names(first)):
                raise unknown_subject([record], subject, subjects, "--metric")

    def _check_ends(self, base: Scenario, own: dict[str, Any]) -> None:
        """Raises an error if an end of a range, or a listed value, is wrong at every point.

        A value that only does not fit to some of the others is a failure of those points.
        """
        read = [parameters.parse(text) for text in self.vary]
        for parameter in read:
            others = [other for other in read if other is not parameter]
            for value in parameter.over.tried():
                assigned = parameter.assignments(value)
                changed = {path: ("--vary", to) for path, to in {**own, **assigned}.items()}
                try:
                    base.changed(changed).check()
                except InputError as error:
                    if error.code != "contradiction" or not self._fits(base, assigned, others):
                        raise

    def _fits(
        self, base: Scenario, assigned: dict[str, Any], others: Sequence[parameters.Parameter]
    ) -> bool:
        """Returns true if values are good with some ends of the other parameters."""
        ends = designs.Design("grid", 2).points(others, self.seed)
        corners = itertools.product([point.assignments for point in base.expand()], ends)
        for tried, (rest, end) in enumerate(corners):
            if tried == _MOST_CORNERS:
                return True
            with contextlib.suppress(InputError):
                self.base.replace({**rest, **end, **assigned}).check()
                return True
        return False


def _refuse_twice(paths: Sequence[str]) -> None:
    """Raises an error if two parameters have the same path: points would not differ."""
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise InputError(
                "contradiction", "--vary", f'"{path}" is there twice; give it one range or list',
                path,
            )  # fmt: skip


def _checked_methods(methods: Sequence[str]) -> Sequence[str]:
    """Returns the names of methods.

    Raises:
        InputError: One is unknown, or there is none.
    """
    for method in methods or [""]:
        if method not in METHODS:
            raise InputError.unknown("--method", "method", method, METHODS)
    return methods
