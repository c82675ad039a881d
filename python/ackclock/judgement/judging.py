"""Judges a candidate in five stages, each of which may end it.

It is compiled, and lives a thousand random short lives. It races over the shown paths that tell
shipped controls apart. It runs over the hidden paths of the field. A search looks for its worst
path.
"""

import hashlib
import json
import math
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, Final, cast

import numpy as np

from ackclock import engine
from ackclock.errors import InputError
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.criteria import beyond_chance, chance_of_more, resampled
from ackclock.judgement import adversary, flags, references
from ackclock.judgement.field import Assignments, Category, Field, load
from ackclock.judgement.flags import Flag
from ackclock.judgement.measures import MEASURES, SOLO, Measure, Observed, paired, score
from ackclock.judgement.references import CUBIC, Reference, with_solo
from ackclock.judgement.runs import Bench, CandidateFailed, InProcess, Processes, Task
from ackclock.judgement.source import Language, Source, read
from ackclock.run import address
from ackclock.run.simulation import cores

#: Version of the form of `judge.json`.
SCHEMA: Final = 1

#: The salt unless a caller gives another. It hides nothing: it is in this file.
SALT: Final = "ackclock"

#: Number of seeds on each path.
REPLICATES: Final = 5

# Paths of each category in a race, and in a round of the field.
_RACE, _ROUND = 4, 5

# Paths of a part of the contract, of which one is run twice.
_LIVES = 20

# Longest time of the first run of a candidate, and of its contract, in s.
_FIRST_S, _CONTRACT_S = 1.5, 4.0

# Share of the budget that is kept for the search. Ours, as the others.
_FOR_SEARCH = 0.2

#: Number of worst paths that are given back as scenarios.
WORST: Final = 5

Tell = Callable[[str], None]


class Stages:
    """The names of the stages."""

    COMPILE, CONTRACT, RACE, FIELD, ADVERSARY = (
        "compile", "contract", "race", "field", "adversary",
    )  # fmt: skip


@dataclass
class _Progress:
    """The state of a judgement under way."""

    flags: list[Flag] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    hidden: dict[str, Any] = field(default_factory=dict)
    raced: dict[str, list[int]] = field(default_factory=dict)
    done: int = 0
    worst: list[dict[str, Any]] = field(default_factory=list)
    ended: str = ""
    lacking: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        return any(flag.name == name for flag in self.flags)


@dataclass(frozen=True)
class Judgement:
    """A judgement.

    Attributes:
        record: All of it as plain data, as in `judge.json`.
        scenarios: The worst paths as trees of scenarios; a file of the candidate is beside them.
        files: The candidate's file, by name.
    """

    record: dict[str, Any]
    scenarios: tuple[dict[str, Any], ...]
    files: Mapping[str, bytes]

    @property
    def flags(self) -> list[str]:
        """Names of the flags."""
        return [flag["name"] for flag in self.record["flags"]]

    @property
    def vector(self) -> dict[str, float]:
        """The mean of each measure by name; NaN if unknown."""
        return {
            row["name"]: math.nan if row["mean"] is None else row["mean"]
            for row in self.record["vector"]
        }

    @property
    def ranks(self) -> dict[str, int]:
        """The rank among the shipped controls of each measure; 1 is best."""
        return {
            row["name"]: row["rank"] for row in self.record["vector"] if row["rank"] is not None
        }


def judge(
    source: str,
    field: str = "wan",
    budget_s: float = 10.0,
    *,
    salt: str = SALT,
    seed: int = 1,
    weights: Mapping[str, float] | None = None,
    tell: Tell = lambda _words: None,
) -> Judgement:
    """Judges a congestion control in seconds: is it worth a closer look?

    The source may be text that a program wrote: a class in Python runs in processes with limits, a
    program in C in the engine's machine.

    Args:
        source: A file (`mine.bpf.c`, `mine.py`, `mine.py:Class`), the text of a program in Python
            or C, a name, or a table of parameters in TOML.
        field: The paths.
        budget_s: Time that it may take. Less time covers fewer paths.
        salt: Hides the paths. A search loop takes one of its own, and another one to decide.
        seed: The seed of all runs.
        weights: Weights of measures, by name, for a score; there is none without them.
        tell: Takes what is going on, in a few words.

    Raises:
        InputError: The source is not a candidate, or an option is wrong.
    """
    if not budget_s > 0:
        raise InputError("out-of-range", "budget_s", f"{budget_s} is not above zero; try 10")
    for name in weights or {}:
        if name not in {measure.name for measure in MEASURES}:
            names = [measure.name for measure in MEASURES]
            raise InputError.unknown("weights", "measure", name, names)
    began = time.monotonic()
    candidate = read(source)
    judging = _Judging(candidate, load(field), salt, seed, budget_s, tell, began)
    return judging.judgement(source, weights or {})


def _bench(source: Source) -> AbstractContextManager[Bench]:
    """Returns the place where the runs of a candidate happen."""
    if source.language is Language.PARAMETERS:
        return nullcontext(cast("Bench", InProcess(source.candidate, cores())))
    compiles = any(name.endswith(".c") for name in source.files)
    return cast(
        "AbstractContextManager[Bench]",
        Processes(source.candidate, source.files, compiles=compiles),
    )


class _Judging:
    """One judgement under way."""

    def __init__(
        self, source: Source, on: Field, salt: str, seed: int, budget_s: float, tell: Tell,
        began: float,
    ) -> None:  # fmt: skip
        self._source, self._field, self._salt, self._seed = source, on, salt, seed
        self._tell, self._budget_s, self._began = tell, budget_s, began
        self._so_far = _Progress()
        self._references: dict[str, Reference] = {}
        self._waited_s = 0.0

    @property
    def _cubic(self) -> Reference:
        return self._references[CUBIC]

    @property
    def _spent_s(self) -> float:
        """Time of the judgement, without that of references that were not kept."""
        return time.monotonic() - self._began - self._waited_s

    def _until(self, share: float) -> float:
        """Returns the moment by which a share of the budget is spent."""
        return self._began + self._waited_s + share * self._budget_s

    def judgement(self, written: str, weights: Mapping[str, float]) -> Judgement:
        """Runs the stages."""
        so_far = self._so_far
        if self._source.refusals:
            so_far.flags += [Flag(name, words) for name, words in self._source.refusals]
            so_far.ended = Stages.COMPILE
        else:
            # The search needs scipy, whose import takes a second.
            Thread(target=adversary.prepare, daemon=True).start()
            with _bench(self._source) as bench:
                self._load_references()
                try:
                    self._staged(bench)
                except CandidateFailed as failure:
                    so_far.flags.append(flags.of_failure(failure.how, failure.words))
                    so_far.ended = so_far.ended or Stages.CONTRACT
                so_far.lacking = list(bench.lacking)
        return self._concluded(written, weights)

    def _load_references(self) -> None:
        waited = time.monotonic()
        names: list[str] = []

        def hear(name: str) -> None:
            if not names:
                self._tell("runs the shipped controls over these paths, once")
            names.append(name)

        self._references = references.load(self._field, self._salt, self._seed, REPLICATES, hear)
        if names:
            self._waited_s += time.monotonic() - waited

    def _staged(self, bench: Bench) -> None:
        so_far = self._so_far
        for stage, run in (
            (Stages.COMPILE, self._compile),
            (Stages.CONTRACT, self._contract),
            (Stages.RACE, self._race),
            (Stages.FIELD, self._run_field),
            (Stages.ADVERSARY, self._adversary),
        ):
            self._tell(stage)
            began = time.monotonic()
            so_far.ended = stage
            try:
                run(bench)
            finally:
                so_far.stages[stage] = time.monotonic() - began
            if stage == Stages.CONTRACT and (so_far.has("fails") or so_far.has("does_not_end")):
                return
            if stage == Stages.RACE and so_far.has("clearly_worse"):
                return
        so_far.ended = ""

    def _compile(self, bench: Bench) -> None:
        """Runs one short path: it compiles, is loaded, and its calls end."""
        probe = self._field.probes["contract"]
        task = Task("first", probe, probe.shown_paths[:1], self._seed, 1, "digest", _FIRST_S)
        _all(bench, [task])

    def _contract(self, bench: Bench) -> None:
        """Runs a thousand short lives, some of them twice, and the probes."""
        probe = self._field.probes["contract"]
        contract = Task(
            "contract",
            probe,
            probe.shown_paths,
            self._seed,
            probe.replicates,
            "digest",
            _CONTRACT_S,
        )
        parts = [
            replace(contract, key=f"contract {first}", paths=contract.paths[first : first + _LIVES])
            for first in range(0, len(contract.paths), _LIVES)
        ]
        again = replace(parts[0], key="again")
        tasks = [*parts, again, *references.probe_tasks(self._field, self._seed)]
        self._probes = _all(bench, tasks)
        lives = [self._probes[part.key] for part in parts]
        self._so_far.flags += flags.of_contract(lives, self._probes["again"])

    def _race(self, bench: Bench) -> None:
        """Runs the shown paths that tell controls apart, and the paths next to them."""
        so_far = self._so_far
        so_far.raced = {category.name: self._telling(category) for category in self._field.race}
        for half in (0, 1):
            drawn = [
                (category, tuple(category.shown_paths[number] for number in numbers[half::2]))
                for category in self._field.race
                for numbers in (so_far.raced[category.name],)
            ]
            observed = _all(bench, references.tasks(drawn, self._seed, REPLICATES))
            so_far.shown = _joined(so_far.shown, observed)
            order = {name: numbers[0::2] + (numbers[1::2] if half else [])
                     for name, numbers in so_far.raced.items()}  # fmt: skip
            there = {name: self._of_shown(reference, order)
                  for name, reference in self._references.items()}  # fmt: skip
            own = with_solo(so_far.shown, _solo_of(there[CUBIC].shown))
            worse = list(flags.clearly_worse(own, there, looks=2))
            if worse:
                break
        so_far.raced, so_far.shown = order, own
        so_far.flags += [*worse, *self._neighbours(bench, there[CUBIC])]
        much, _, _ = flags.loses_much(own, there[CUBIC].shown)
        so_far.flags += flags.of_probes(self._probes, much, self._references)
        so_far.flags += flags.of_paths(own, there[CUBIC].shown) if worse else ()

    def _neighbours(self, bench: Bench, cubic: Reference) -> Iterator[Flag]:
        drawn = [
            (category, tuple(category.nudged(category.shown_paths[number], self._salt)
                             for number in self._so_far.raced[category.name]))
            for category in self._field.race
        ]  # fmt: skip
        tasks = references.tasks(drawn, self._seed, REPLICATES)
        solo = [
            Task(category.name, category, paths, self._seed, REPLICATES, solo=True)
            for category, paths in drawn
            if category.has_solo
        ]
        beside = InProcess(Candidate.read(CUBIC), cores())
        of_cubic, alone = _all(beside, tasks), _all(beside, solo)
        own = _all(bench, tasks)
        yield from flags.of_neighbours(
            (self._so_far.shown, cubic.shown), (with_solo(own, alone), with_solo(of_cubic, alone))
        )

    def _of_shown(self, reference: Reference, order: Mapping[str, Sequence[int]]) -> Reference:
        """Returns a reference with the paths of the race only."""
        return replace(reference, shown=_chosen(reference.shown, order))

    def _telling(self, category: Category) -> list[int]:
        """Returns the shown paths on which the shipped controls differ most, beside chance."""
        shares = []
        for reference in self._references.values():
            shown = reference.shown[category.name]
            share = shown.get("share of other", shown["share of x"])
            shares.append(np.array(share, float))
        stacked = np.stack(shares)  # controls, paths, seeds
        between = np.nanvar(np.nanmean(stacked, axis=2), axis=0)
        within = np.nanmean(np.nanvar(stacked, axis=2), axis=0)
        order = np.argsort(-between / (within + 1e-4), kind="stable")
        return [int(number) for number in order[:_RACE]]

    def _run_field(self, bench: Bench) -> None:
        """Runs the hidden paths in rounds, each with some of every category."""
        so_far = self._so_far
        until = self._until(1 - _FOR_SEARCH)
        drawn = [(each, each.hidden_paths(self._salt)) for each in self._field.categories]
        rounds = max(len(paths) for _, paths in drawn) // _ROUND
        for number in range(rounds):
            if number and time.monotonic() > until:
                break
            part = [(each, paths[number * _ROUND : (number + 1) * _ROUND]) for each, paths in drawn]
            tasks = references.tasks(part, self._seed, REPLICATES)
            so_far.hidden = _joined(so_far.hidden, _all(bench, tasks))
            so_far.done += sum(len(paths) for _, paths in part)
        own, cubic = self._field_numbers(), self._at_hidden(self._cubic)
        so_far.flags += flags.of_paths(own, cubic)
        so_far.hidden = own

    def _field_numbers(self) -> dict[str, Any]:
        return with_solo(self._so_far.hidden, _solo_of(self._at_hidden(self._cubic)))

    def _at_hidden(self, reference: Reference) -> dict[str, Any]:
        """Returns a reference's quantities on the hidden paths that were run."""
        counts = {name: len(those["share of x"]) for name, those in self._so_far.hidden.items()}
        return _chosen(reference.hidden, {name: range(count) for name, count in counts.items()})

    def _adversary(self, bench: Bench) -> None:
        """Searches for worse paths from the worst of the field."""
        worst = self._worst(self._so_far.hidden, self._at_hidden(self._cubic), hidden=True)
        if worst:
            category, start, _, measure = worst[0]
            worse = adversary.search(
                bench, category, start, measure, self._seed, self._until(1.0), self._tell
            )
            worst = sorted([*worst, *worse], key=lambda each: -each[2])
        self._so_far.worst = [self._described(*each) for each in worst[:WORST]]

    def _worst(
        self, own: Observed, cubic: Observed, *, hidden: bool
    ) -> list[tuple[Category, Assignments, float, Measure]]:
        """Returns the paths on which a candidate does worst beside CUBIC, the worst first."""
        categories = {each.name: each for each in self._field.categories}
        by_path: dict[tuple[str, int], tuple[float, Measure]] = {}
        for measure in MEASURES:
            mine, usual = measure.means(own), measure.means(cubic)
            for key in mine.keys() & usual.keys():
                beyond = float(measure.worse(np.array(mine[key]), np.array(usual[key])))
                if beyond > by_path.get(key, (0.0, measure))[0]:
                    by_path[key] = (beyond, measure)
        paths = {
            name: category.hidden_paths(self._salt)
            if hidden
            else [category.shown_paths[number] for number in self._so_far.raced.get(name, [])]
            for name, category in categories.items()
        }
        every = [
            (categories[name], paths[name][number], beyond, measure)
            for (name, number), (beyond, measure) in sorted(by_path.items())
        ]
        return sorted(every, key=lambda each: -each[2])[:WORST]

    def _described(
        self, category: Category, path: Assignments, beyond: float, measure: Measure
    ) -> dict[str, Any]:
        tree = category.scenario(self._source.candidate, [path], self._seed, REPLICATES)
        return {
            "category": category.name,
            "title": category.title,
            "assignments": dict(path),
            "measure": measure.name,
            "worse_than_cubic": beyond * measure.matters,
            "beyond": beyond,
            "scenario": tree,
        }

    def _concluded(self, written: str, weights: Mapping[str, float]) -> Judgement:
        so_far = self._so_far
        raced = not so_far.hidden
        own = so_far.shown if raced else so_far.hidden
        there = {
            name: _chosen(reference.shown, so_far.raced) if raced else self._at_hidden(reference)
            for name, reference in self._references.items()
            if own
        }
        if raced and own:
            worst = self._worst(own, there[CUBIC], hidden=False)
            so_far.worst = [self._described(*each) for each in worst]
        vector = _vector(own, there, self._source) if own else []
        scenarios = tuple(each.pop("scenario") for each in so_far.worst)
        paths = sum(len(each.hidden_paths(self._salt)) for each in self._field.categories)
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "candidate": {
                "name": self._source.name,
                "language": self._source.language.value,
                "control": dict(self._source.candidate.tree),
                "sha256": {
                    name: hashlib.sha256(content).hexdigest()
                    for name, content in self._source.files.items()
                },
            },
            "field": {
                "name": self._field.name,
                "title": self._field.title,
                "digest": self._field.digest,
                "salt": hashlib.sha256(self._salt.encode()).hexdigest()[:16],
                "paths": paths,
                "judged": so_far.done,
                "replicates": REPLICATES,
                "seed": self._seed,
            },
            "engine": address.engine(),
            "ended": so_far.ended,
            "stages": {name: round(seconds, 3) for name, seconds in so_far.stages.items()},
            "seconds": round(self._spent_s, 3),
            "limits_not_set": so_far.lacking,
            "flags": [flag.record for flag in _once(so_far.flags)],
            "vector": vector,
            "worst": so_far.worst,
        }
        if weights:
            record["weights"] = dict(weights)
            record["score"] = score(vector, weights) if vector else None
        record["command"] = (
            shlex.join(["ackclock", "judge", written]) if "\n" not in written else ""
        )
        return Judgement(json.loads(json.dumps(record)), scenarios, self._source.files)


def _once(every: Sequence[Flag]) -> list[Flag]:
    """Returns flags, each name once."""
    return list({flag.name: flag for flag in reversed(every)}.values())[::-1]


def _all(bench: Bench, tasks: Sequence[Task]) -> dict[str, Any]:
    return {task.key: answer for task, answer in bench.run(tasks, math.inf)}


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Returns quantities of more paths after those of others."""
    if not first:
        return dict(second)
    return {
        name: {
            key: [*values, *second[name][key]]
            for key, values in those.items()
            if key in second[name]
        }
        for name, those in first.items()
    }


def _chosen(observed: Observed, numbers: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Returns the quantities of some paths of each category."""
    return {
        name: {key: [values[number] for number in some] for key, values in observed[name].items()}
        for name, some in numbers.items()
        if name in observed
    }


def _solo_of(observed: Observed) -> dict[str, Any]:
    """Returns the other flow's share alone, as quantities of a solo run."""
    return {
        name: {"share of other": those[SOLO]} for name, those in observed.items() if SOLO in those
    }


def _vector(
    own: Observed, references_there: Mapping[str, Observed], source: Source
) -> list[dict[str, Any]]:
    """Returns a row for each measure: mean, interval, rank, and the difference from CUBIC."""
    rows, chances = [], []
    others = {
        name: observed for name, observed in references_there.items() if not source.is_shipped(name)
    }
    cubic = references_there[CUBIC]
    for measure in MEASURES:
        mine = measure.means(own)
        values = np.array(list(mine.values()))
        row: dict[str, Any] = {
            "name": measure.name, "label": measure.label, "unit": measure.unit,
            "per_unit": measure.per_unit, "better": "more" if measure.is_more_better else "less",
            "paths": int(values.size), "mean": None, "low": None, "high": None, "cubic": None,
            "better_than_cubic": None, "rank": None, "of": len(others) + 1,
            "beside_cubic": "unknown",
        }  # fmt: skip
        rows.append(row)
        if values.size < 2:
            chances.append(1.0)
            continue
        low, high = resampled(values)
        means = {name: float(np.mean(list(measure.means(each).values()) or [math.nan]))
                 for name, each in others.items()}  # fmt: skip
        mean = float(values.mean())
        sign = 1.0 if measure.is_more_better else -1.0
        ranks = measure.ranks(np.array([mean, *means.values()]))
        a, b = paired(mine, measure.means(cubic))
        difference = sign * (a - b)
        from_, until = resampled(difference)
        row |= {
            "mean": mean, "low": low, "high": high, "cubic": float(b.mean()),
            "better_than_cubic": float(difference.mean()), "difference_low": from_,
            "difference_high": until, "rank": int(ranks[0]),
        }  # fmt: skip
        chances.append(2 * min(chance_of_more(difference), chance_of_more(-difference)))
    beyond = beyond_chance(chances, flags.LEVEL)
    for place, row in enumerate(rows):
        if row["mean"] is not None:
            is_better = row["better_than_cubic"] > 0
            row["beside_cubic"] = (
                ("better" if is_better else "worse") if place in beyond else "within chance"
            )
    return rows


def scenario_text(tree: Mapping[str, Any], comment: str) -> str:
    """Returns the text of a scenario file."""
    return f"# {comment}\n{engine.to_toml(dict(tree))}"


def file_of(folder: Path, number: int) -> Path:
    """Returns the file of a worst path."""
    return folder / f"worst-{number}.toml"
