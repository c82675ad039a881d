"""Finds the smallest drop-tail buffer of a scenario that meets targets."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, isfinite, isnan, log, sqrt
from pathlib import Path
from typing import Any

from ackclock import units
from ackclock.advice.buffer import aqm, effort, models
from ackclock.advice.buffer.bottleneck import Bottleneck, Rule, bottleneck, rules
from ackclock.advice.buffer.measures import (
    FEWEST_SAMPLES,
    MEASURES,
    MET,
    MISSED,
    UNDECIDED,
    Target,
    finite_flows,
)
from ackclock.advice.buffer.search import Stretch, crossing, stretch
from ackclock.advice.buffer.trials import Outcome, Runs, Setting, Trials, droptail
from ackclock.errors import InputError, ScenarioError
from ackclock.result.folder import (
    RESULT,
    Contents,
    refuse_foreign_folder,
    refuse_unwritable_folder,
)
from ackclock.result.manifest import write_sealed
from ackclock.result.result import Result
from ackclock.run import address
from ackclock.scenario import Scenario

#: Schema version of advice.json; changes with its shape.
SCHEMA = 4

#: Folder of the runs within that of the recommendation.
RUNS = "runs"

#: Files that a folder of this recommendation may hold.
ADVICE = Contents(
    "buffer recommendation",
    "advice.json",
    re.compile(
        rf"advice\.json|report\.html|trade-off\.(svg|png)|{RUNS}(/[0-9a-f]+(/({RESULT.names.pattern}))?)?"
    ),
)

#: Default target of utilisation, if a long flow crosses the link.
UTILISATION = 0.98

#: Default limit of the share of packets that the queue may drop. At 1 % Reno's window is twelve
#: segments (Mathis et al., 1997), and what is not TCP, such as speech, begins to suffer.
LOSS = 0.01

# The curve starts at this share of the bandwidth-delay product, or where every target that wants a
# larger buffer is already met. It ends at this multiple: rules and saw-tooths lie between. Chosen
# here.
_LEAST_PART, _MOST_PRODUCTS = 1 / 64, 2.0

# If a target is not met even there, the curve continues up to this multiple of the product. Chosen
# here: far beyond every rule.
_FARTHEST_PRODUCTS = 32.0

# The recommended buffer is at most this many times the smallest one that meets the targets. More
# adds delay and hardly any room for traffic that was not described. Chosen here.
_MOST_ROOM = 2.0

# The curve extends beyond the allowed delay by this factor, to show the cost of a larger buffer.
_BEYOND_DELAY = 1.5

# A run that covers fewer saw-teeth of a long flow may begin and end anywhere in one. Replicates
# begin alike and end at the same place in a saw-tooth, so their interval does not show this. Chosen
# here.
_FEW_SAW_TEETH = 5

# Without a flow under a control there is no product: packets to use instead. Chosen here.
_NO_PRODUCT = 64.0


@dataclass(frozen=True)
class Alone:
    """The buffers that a single target requires.

    Attributes:
        target: The target.
        sizes: Buffers that meet it; None if none of those tried does.
        best: The buffer that comes nearest, of those tried.
    """

    target: Target
    sizes: Stretch | None
    best: Outcome


@dataclass(frozen=True)
class Tried:
    """A rule of thumb and its result.

    Attributes:
        rule: The rule.
        outcome: Result with its buffer.
    """

    rule: Rule
    outcome: Outcome


@dataclass(frozen=True)
class BufferAdvice:
    """The recommendation and its evidence.

    Attributes:
        hop: The hop with the buffer.
        targets: The targets asked for.
        question: Address of the question, see `question`.
        recommended: The recommended buffer, one that meets all targets. It is the geometric mean of
            the smallest and the largest such buffer, or twice the smallest, whichever is less. That
            leaves the same factor to either end, up to two; at an end, traffic that differs from
            the scenario would miss a target. None if there is no answer.
        answer: The smallest buffer that was shown to meet all targets; None if none was.
        below: The next smaller buffer that was tried, which was not shown to meet them.
        known_from: Smallest size that may meet all targets: below it one is certainly missed. With
            the size of the answer it bounds the smallest buffer.
        largest: The largest buffer that meets all targets; None if there is no answer, or if no
            upper end was found.
        binding: The target that the next smaller buffer does not meet.
        status: `found`; `infeasible` if no drop-tail buffer can meet all targets; `undecided` if
            some may.
        alone: What each target requires by itself.
        curve: Drop-tail buffers of the trade-off curve, ascending: its grid, the answer and the
            next smaller one.
        every: Everything that was simulated, drop-tail buffers by size first.
        rules: Rules of thumb.
        present: Result with the queue of the scenario.
        models: Predictions of models.
        alternatives: Active queue management, if it was searched: for each kind the setting that
            meets all targets, or comes nearest.
        replicates: Replicates in a batch.
        name: Name of the scenario.
        warnings: One line each.
        trials: The simulations.
    """

    hop: Bottleneck
    targets: tuple[Target, ...]
    question: str
    recommended: Outcome | None
    answer: Outcome | None
    below: Outcome | None
    known_from: int | None
    largest: int | None
    binding: Target | None
    status: str
    alone: tuple[Alone, ...]
    curve: tuple[Outcome, ...]
    every: tuple[Outcome, ...]
    rules: tuple[Tried, ...]
    present: Outcome
    models: tuple[models.Says, ...]
    alternatives: tuple[Outcome, ...]
    replicates: int
    name: str
    warnings: tuple[str, ...]
    trials: Trials

    @property
    def managed(self) -> Outcome | None:
        """The queue management that meets all targets and is best, see `aqm.best`."""
        return aqm.best(self.alternatives, self.targets, self.recommended)

    @property
    def advised(self) -> Outcome | None:
        """The queue to configure: `recommended`, or a managed one that is better; None for nothing.

        See `aqm.is_better`.
        """
        managed = self.managed
        if managed is None or self.recommended is None:
            return self.recommended or managed
        return managed if aqm.is_better(managed, self.recommended) else self.recommended

    @property
    def nearest(self) -> Outcome:
        """The queue that comes nearest to the targets, of all that were tried."""
        tried = [outcome for outcome in self.every if outcome.setting.queue is not None]
        return min(tried, key=lambda outcome: aqm.distance(outcome, self.targets))


def advise_buffer(
    scenario: Scenario,
    *,
    hop: str | None = None,
    utilisation: str | float | None = None,
    p99_delay: str | None = None,
    loss: str | float | None = None,
    completion_p95: str | None = None,
    with_aqm: bool = False,
    folder: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    announce: Callable[[str], None] | None = None,
) -> BufferAdvice:
    """Finds the smallest drop-tail buffer that meets targets, and recommends one to configure.

    Args:
        scenario: Link, flows and round trips; without a sweep. Its replicates form a batch, of
            which up to four decide.
        hop: The hop with the buffer; by default the shared hop whose link is used most.
        utilisation: Lowest utilisation of its link, `"98 %"`. This is the default if a long flow
            crosses the hop; otherwise there is no such target.
        p99_delay: Highest 99 % quantile of the queueing delay over time, `"20 ms"`.
        loss: Highest share of packets that the queue may drop, `"0.1 %"`; by default 1 %. There is
            no limit with `"100 %"`.
        completion_p95: Highest 95 % quantile of the completion times of finite transfers, `"2 s"`.
        with_aqm: True to try every kind of active queue management, even if a drop-tail buffer
            meets all targets.
        folder: Where runs are kept, in `RUNS`, so that an interrupted search continues; by default
            nowhere.
        progress: Takes the name of the current run, about ten times a second.
        announce: Takes one line before the search begins. It states the expected number of runs,
            time and disk space, from a short trial, or how many runs are kept already.

    Returns:
        The recommendation.

    Raises:
        ScenarioError: Bad input; one line.
        InputError: A target is malformed or impossible whatever the buffer, or the folder holds
            something that is not ackclock's.
    """
    targets = _targets(utilisation, p99_delay, loss, completion_p95)
    asked_for = question(
        scenario,
        hop=hop,
        utilisation=utilisation,
        p99_delay=p99_delay,
        loss=loss,
        completion_p95=completion_p95,
        with_aqm=with_aqm,
    )
    points = scenario.expand()
    if len(points) != 1:
        raise ScenarioError(
            "unsupported",
            "sweep",
            f"has {len(points)} points, but a buffer is sized for one; remove the sweep",
        )
    scenario = points[0].scenario
    tree = scenario.resolve().tree
    runs = Runs(None if folder is None else Path(folder) / RUNS, progress or (lambda _words: None))
    present, _ = runs.result(scenario, "the scenario as it is", keep=False)
    target_hop = bottleneck(present, hop)
    if utilisation is None and target_hop.long_flows > 0:
        targets["utilisation"] = Target(MEASURES["utilisation"], UTILISATION)
    if loss is None and targets:
        targets["loss"] = Target(MEASURES["loss"], LOSS)
    elif loss is not None and targets["loss"].bound == 1:
        del targets["loss"]  # No limit.
    asked = tuple(targets[name] for name in MEASURES if name in targets)
    _refuse(asked, target_hop, present)
    if announce is not None:
        _announce(announce, scenario, hop, len(asked), None if folder is None else Path(folder))
    if folder is not None:
        prepare(Path(folder), asked_for)
    trials = Trials(scenario, int(tree["seed"]), target_hop, runs)
    return _advised(trials, asked, tree, asked_for, with_aqm=with_aqm)


def question(
    scenario: Scenario, *, hop: str | None, utilisation: str | float | None, p99_delay: str | None,
    loss: str | float | None, completion_p95: str | None, with_aqm: bool = False,
) -> str:  # fmt: skip
    """Returns the address of a question.

    It is the same for the same scenario, files, hop and targets, however they are written.

    Raises:
        ScenarioError: Bad input; one line.
        InputError: A target is malformed.
    """
    targets = _targets(utilisation, p99_delay, loss, completion_p95)
    bounds = {name: target.bound for name, target in targets.items()}
    asked = {"run": address.of_run(scenario), "hop": hop, "targets": bounds}
    return address.of_content(asked | ({"aqm": True} if with_aqm else {}))


def _targets(
    utilisation: str | float | None,
    p99_delay: str | None,
    loss: str | float | None,
    completion_p95: str | None,
) -> dict[str, Target]:
    """Returns the targets that are given, by measure."""
    given = {
        "utilisation": utilisation, "delay_p99_s": p99_delay, "loss": loss,
        "completion_p95_s": completion_p95,
    }  # fmt: skip
    return {name: _target(name, written) for name, written in given.items() if written is not None}


def _announce(
    announce: Callable[[str], None],
    scenario: Scenario,
    hop: str | None,
    targets: int,
    folder: Path | None,
) -> None:
    """Announces the cost of the search, or what is already done."""
    kept = [] if folder is None else list((folder / RUNS).glob(f"*/{RESULT.mark}"))
    if kept:
        announce(f"goes on from what is kept in {folder}: {len(kept)} batches of runs")
        return
    grid = effort.Grid(_FARTHEST_PRODUCTS, _NO_PRODUCT)
    cost = effort.expected(scenario, hop, targets, grid, kept=folder is not None)
    if cost is not None:
        announce(cost.words)


def prepare(folder: Path, asked_for: str) -> None:
    """Makes a folder for a recommendation, unless it exists.

    An earlier recommendation is removed; its runs are used.

    Raises:
        OSError: The folder cannot be written to, or holds something that is not ackclock's.
    """
    refuse_foreign_folder(folder, ADVICE)
    refuse_unwritable_folder(folder / ADVICE.mark)
    folder.mkdir(parents=True, exist_ok=True)
    write_sealed(folder / ADVICE.mark, {"schema": SCHEMA, "question": asked_for})


_READ: dict[str, tuple[str, Callable[[Any], float]]] = {
    "utilisation": ("98 %", units.share),
    "delay_p99_s": ("20 ms", units.seconds),
    "loss": ("0.1 %", units.share),
    "completion_p95_s": ("2 s", units.seconds),
}


def _target(name: str, written: str | float) -> Target:
    """Parses one target; refuses it if no buffer could ever meet it."""
    measure = MEASURES[name]
    example, read = _READ[name]
    option = measure.option.removeprefix("--")
    try:
        bound = read(written)
    except ValueError:
        base = units.parse(example).base
        raise units.refusal(option, str(written), (base,), example=example) from None
    if name == "utilisation" and bound > 1:
        raise InputError(
            "out-of-range",
            option,
            f'"{written}" is more than 100 %',
        )
    if name == "loss" and not 0 <= bound <= 1:
        raise InputError(
            "out-of-range",
            option,
            f'"{written}" is not between 0 % and 100 %; for example "{example}"',
        )
    if name != "loss" and bound <= 0:
        raise InputError(
            "out-of-range",
            option,
            f'"{written}" is not positive; for example "{example}"',
        )
    return Target(measure, bound)


def _refuse(targets: tuple[Target, ...], hop: Bottleneck, present: Result) -> None:
    """Refuses targets that are missing or that evidently contradict the scenario."""
    if not targets:
        options = ", ".join(measure.option for measure in MEASURES.values())
        raise ScenarioError(
            "missing",
            "targets",
            f"no long flow crosses {hop.name}, so none is the default; set one of {options}",
        )
    bounds = {target.measure.name: target.bound for target in targets}
    scenario = present.points[0]["scenario"]
    if bounds.get("delay_p99_s", hop.packet_s) < hop.packet_s:
        takes = units.shown(hop.packet_s, "s")
        raise InputError(
            "contradiction",
            "p99-delay",
            f"is less than the {takes} that one packet takes at {hop.name}; choose more",
        )
    measured = units.seconds(scenario["duration"]) - units.seconds(scenario["warmup"])
    samples = measured / units.seconds(scenario["sample_interval"])
    if "delay_p99_s" in bounds and samples < FEWEST_SAMPLES:
        problem = (
            f"{samples:.0f} samples tell no 99 % quantile; shorten sample_interval, "
            f"{FEWEST_SAMPLES} at least"
        )
        raise ScenarioError("contradiction", "sample_interval", problem)
    if "completion_p95_s" in bounds:
        names = finite_flows(scenario, hop.name)
        if not names:
            raise InputError(
                "contradiction",
                "completion-p95",
                f"no finite transfer crosses {hop.name}; remove this target or add a transfer",
            )
        least = min(
            (path.round_trip.propagation_s / 2 for path in hop.paths if path.flow in names),
            default=0.0,
        )
        if bounds["completion_p95_s"] <= least:
            half = units.shown(least, "s")
            raise InputError(
                "contradiction",
                "completion-p95",
                f"must be more than the {half} of the way to the receiver",
            )


def _advised(
    trials: Trials,
    targets: tuple[Target, ...],
    tree: dict[str, object],
    asked_for: str,
    *,
    with_aqm: bool,
) -> BufferAdvice:
    hop, setting_of = trials.hop, droptail(trials.hop)
    present = trials.outcome(Setting("the queue as it is", None))
    thumb = rules(hop)
    predicted = models.asked(hop, targets)
    sizes = _sizes(
        trials,
        targets,
        [rule.packets for rule in thumb]
        + [prediction.packets for prediction in predicted if prediction.packets],
    )
    alone = tuple(_alone(trials, target, sizes) for target in targets)
    together = _together(trials, targets, sizes, alone)
    answer = None if together is None else trials.outcome(setting_of(together.low.met))
    tried = tuple(Tried(rule, trials.outcome(setting_of(rule.packets))) for rule in thumb)
    recommended = None
    if together is not None:
        recommended = _recommended(
            trials, targets, together.low.met, together.high.met if together.high else max(sizes)
        )
    tails = sorted(_droptails(trials), key=lambda outcome: outcome.setting.size)
    below = None
    if answer is not None:
        below = next(
            (outcome for outcome in reversed(tails) if outcome.setting.size < answer.setting.size),
            None,
        )
    wanted = {
        *sizes,
        *(outcome.setting.size for outcome in (recommended, answer, below) if outcome is not None),
    }
    curve = tuple(outcome for outcome in tails if outcome.setting.size in wanted)
    warnings = _warnings(present, hop, answer or alone[0].best, tree)
    alternatives: tuple[Outcome, ...] = ()
    if with_aqm or answer is None or not hop.is_droptail:
        alternatives = aqm.alternatives(trials, targets, max(sizes), every=with_aqm)
    others = [outcome for outcome in trials.every() if outcome not in tails]
    return BufferAdvice(
        hop, targets, asked_for, recommended, answer, below,
        None if together is None else (together.low.missed or 0) + 1,
        together.high.met if together and together.high else None, _binding(below, targets),
        _status(trials, targets, together), alone, curve, (*tails, *others), tried, present,
        tuple(
            prediction.for_buffer(hop, answer.setting.size) if answer else prediction
            for prediction in predicted
        ), alternatives,
        int(str(tree["replicates"])), str(tree["name"]), tuple(warnings), trials,
    )  # fmt: skip


def _recommended(
    trials: Trials, targets: tuple[Target, ...], smallest: int, largest: int
) -> Outcome:
    """Returns a buffer among those that meet all targets, as `BufferAdvice.recommended` says.

    Targets may be missed between two sizes that meet them. If the wanted size was not shown to meet
    them, the nearest one that was is taken.
    """
    wanted = middle(smallest, largest)
    setting = droptail(trials.hop)(wanted)
    if trials.judge(setting, *targets) == MET:
        return trials.outcome(setting)
    meets = [
        outcome
        for outcome in _droptails(trials)
        if smallest <= outcome.setting.size <= largest and outcome.meets_all(targets)
    ]
    return min(meets, key=lambda outcome: abs(log(outcome.setting.size / wanted)))


def middle(smallest: int, largest: int) -> int:
    """Returns the geometric mean of two sizes, at most `_MOST_ROOM` times the smaller one."""
    return max(smallest, min(round(sqrt(smallest * largest)), int(_MOST_ROOM * smallest), largest))


def _warnings(
    present: Outcome, hop: Bottleneck, shown: Outcome, tree: dict[str, object]
) -> list[str]:
    warnings = []
    if present.replicates == 1:
        warnings.append(
            "one replicate: the means decide, without intervals; set replicates = 5 or more"
        )
    elif all(len(set(by_replicate.values())) == 1 for by_replicate in present.values.values()):
        warnings.append(
            "all replicates are equal: nothing is random; give flows a range, for example "
            'start = ["0 s", "1 s"]'
        )
    limit = shown.setting.size / max(hop.long_flows, 1)
    flows = sum(
        path.instances or 0
        for path in hop.saw_teeth
        if path.sender.receive_window_segments > path.share_segments + limit
    )
    if flows and (each := shown.reductions / flows) < _FEW_SAW_TEETH:
        warnings.append(
            f"duration: {tree['duration']} after a warm-up of {tree['warmup']} is short: with "
            f"{shown.setting.label} a long flow cuts its window {each:.2g} times in it, and where "
            "in a saw-tooth runs end moves the answer by more than its interval; give a longer "
            "one"
        )
    if not hop.is_droptail:
        warnings.append(
            f"hops.{hop.name}.queue: is {hop.queue_name}; drop-tail is tried in its place, "
            "AQM after it"
        )
    return warnings


def _sizes(trials: Trials, targets: tuple[Target, ...], named: list[int]) -> list[int]:
    """Returns the grid of the curve, ascending.

    Its sizes are those that rules and models name, and doublings until both ends are clear.
    """
    hop, setting_of = trials.hop, droptail(trials.hop)
    product = hop.bdp_packets if isfinite(hop.bdp_packets) and hop.bdp_packets > 1 else _NO_PRODUCT
    farthest = ceil(_FARTHEST_PRODUCTS * product)
    delay = next((target.bound for target in targets if target.measure.name == "delay_p99_s"), 0.0)
    named = [named_size for named_size in named if named_size <= farthest]
    top = round(
        max(
            _MOST_PRODUCTS * product, min(_BEYOND_DELAY * delay / hop.packet_s, farthest), *named, 4
        )
    )
    # The product itself is one of the sizes.
    share, sizes = _LEAST_PART, []
    while (size := max(1, round(share * product))) < top:
        sizes.append(size)
        share *= 2
    sizes = [*dict.fromkeys(sizes), top]
    growing = [target for target in targets if target.measure.name != "delay_p99_s"]

    def open_at(size: int, *, met: bool) -> bool:
        return any((trials.judge(setting_of(size), target) == MET) is met for target in growing)

    while sizes[0] > 1 and growing and not open_at(sizes[0], met=False):
        sizes.insert(0, max(1, sizes[0] // 2))
    while (
        sizes[-1] < farthest
        and open_at(sizes[-1], met=False)
        and _overflows(trials, setting_of(sizes[-1]))
    ):
        sizes.append(min(sizes[-1] * 2, farthest))
    return sorted(
        {*sizes, *(named_size for named_size in named if sizes[0] < named_size < sizes[-1])}
    )


def _overflows(trials: Trials, setting: Setting) -> bool:
    """Returns true if the queue ever drops; one that never does behaves exactly as a larger one."""
    return bool(trials.outcome(setting).intervals["loss"].mean > 0)


def _alone(trials: Trials, target: Target, sizes: list[int]) -> Alone:
    setting_of = droptail(trials.hop)
    sizes_met = stretch(sizes, lambda size: trials.judge(setting_of(size), target))
    sign = -1.0 if target.measure.at_least else 1.0

    def far(outcome: Outcome) -> tuple[float, int]:
        mean = sign * outcome.intervals[target.measure.name].mean
        return (float("inf") if isnan(mean) else mean), outcome.setting.size

    return Alone(target, sizes_met, min(_droptails(trials), key=far))


def _together(
    trials: Trials, targets: tuple[Target, ...], sizes: list[int], alone: tuple[Alone, ...]
) -> Stretch | None:
    """Returns the buffers that meet all targets, from the grid and the edges of each target."""
    setting_of = droptail(trials.hop)
    edges = [
        edge for part in alone if part.sizes for edge in (part.sizes.low, part.sizes.high) if edge
    ]
    ends = {size for edge in edges for size in (edge.met, edge.missed) if size is not None}

    def judge(size: int) -> str:
        return trials.judge(setting_of(size), *targets)

    sizes_met = stretch(sorted({*sizes, *ends}), judge)
    if sizes_met is not None:
        return sizes_met

    # Edges are known within a few percent only, so sizes that meet all may lie between two of them.
    def fails(size: int) -> set[str]:
        return {
            target.measure.name
            for target in targets
            if trials.judge(setting_of(size), target) != MET
        }

    tried = sorted(outcome.setting.size for outcome in _droptails(trials))
    for low, high in pairwise(tried):
        if fails(low).isdisjoint(fails(high)) and (met := crossing(low, high, fails)) is not None:
            return stretch(sorted({*tried, met}), judge)
    return None


def _status(trials: Trials, targets: tuple[Target, ...], sizes_met: Stretch | None) -> str:
    """Returns whether there is an answer, or might be.

    There might be if some buffer that was tried does not certainly miss a target.
    """
    if sizes_met is not None:
        return "found"
    perhaps = any(
        all(outcome.judge(target) != MISSED for target in targets) for outcome in _droptails(trials)
    )
    return "undecided" if perhaps else "infeasible"


def _binding(below: Outcome | None, targets: tuple[Target, ...]) -> Target | None:
    """Returns the target that the next smaller buffer is furthest from meeting."""
    if below is None:
        return None
    order = {MISSED: 0, UNDECIDED: 1}
    failing = [target for target in targets if below.judge(target) != MET]
    return min(failing, key=lambda target: order[below.judge(target)], default=None)


def _droptails(trials: Trials) -> list[Outcome]:
    return [
        outcome
        for outcome in trials.every()
        if outcome.setting.size and outcome.setting.is_droptail
    ]
