"""Judges captures of an implementation that is not ours, by the criteria or checks of one case.

A capture shows rates, round trips, retransmissions and the time between them, and neither queues
nor windows. What it does not show is not tested, and the record says so. The bounds that are shares
of a reference control's values are of its simulation on the same path.
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import units
from ackclock.capture.measurement import measure
from ackclock.elements import facts
from ackclock.errors import InputError
from ackclock.evaluation import foreign
from ackclock.evaluation.candidate import Candidate
from ackclock.evaluation.cell import Cell
from ackclock.evaluation.criteria import Array, Criterion, Grade, Judgement, Quantity, graded
from ackclock.evaluation.criteria import Measured as MeasuredCell
from ackclock.evaluation.kept import KeptMetrics
from ackclock.evaluation.measured import VERDICTS, Cells, order
from ackclock.evaluation.runner import Plan
from ackclock.evaluation.suite import Case, Setup, Suite, is_candidate
from ackclock.evaluation.traces import Foreign
from ackclock.evaluation.verdict import Verdict
from ackclock.metrics import by_replicate
from ackclock.metrics.tables import column, mean_of_known
from ackclock.result.result import Result

Record = dict[str, Any]

#: Begins what is said of a criterion or check that a capture cannot answer.
NOT_TESTED = "not tested: "

# Metrics that a capture shows of a connection, and those that it shows if nothing is left out: it
# counts timeouts over the whole connection.
_OF_CONNECTIONS = ("goodput", "sent_packets", "useful_share", "longest_stall", "starved_share")
_IN_WHOLE = ("timeouts",)
_OF_ALL = ("fairness", "windowed_fairness")
_WITH_SAMPLES = ("response_reached_s",)

#: Least share of a case's time that a capture must have: at its end, a sender may wait. Ours.
LEAST_SHARE = 0.8

# Samples of a round trip for checks of a trace, and the least interval of samples.
_SAMPLES, _LEAST_INTERVAL_S = 20, 0.001


@dataclass(frozen=True)
class _Capture:
    """A capture that was measured.

    Attributes:
        name: Name of its file.
        result: The measurement, whose flows are connections.
        flows: Names of the connections that carry data, the one with the most data first.
    """

    name: str
    result: Result
    flows: tuple[str, ...]

    def samples(self, name: str) -> Array:
        """Returns a column of the samples of the first connection."""
        table = self.result.tables["samples"]
        own = np.array(table["flow"].to_pylist(), str) == self.flows[0]
        return np.asarray(column(table, name)[own], float)

    def since(self, from_s: float, name: str) -> float:
        """Returns by how much a counter of the first connection grows after a time."""
        counts, is_late = self.samples(name), self.samples("time_s") > from_s
        if not is_late.any():
            return 0.0
        return float(counts[-1] - (counts[~is_late][-1] if (~is_late).any() else 0.0))

    @property
    def last_s(self) -> float:
        """The time of the last sample in which the first connection has delivered more."""
        grows = np.flatnonzero(np.diff(self.samples("delivered_bytes"), prepend=0.0) > 0)
        return float(self.samples("time_s")[grows[-1]]) if grows.size else 0.0

    @property
    def until_s(self) -> float:
        """The time of its last sample."""
        return float(self.samples("time_s")[-1])


def judge_captures(
    suite: Suite, case: Case, run: str, files: Sequence[Path], kept: KeptMetrics | None = None
) -> Record:
    """Returns the verdict on captures as plain data.

    Args:
        suite: The suite.
        case: The case on whose path they were made.
        run: Name of the run, if the case has several.
        files: Captures of one and the same set-up, taken near the sender.
        kept: Metrics of references that were simulated before.

    Raises:
        InputError: A file is not a capture or holds no TCP, or the case cannot be judged so.
    """
    setups = [setup for setup in case.setups if setup.assertions or setup.criteria]
    if not setups:
        raise InputError("unsupported", "--only", f"{case.id} was not evaluated: {case.lacks}")
    setup = foreign.run_of(setups, run)
    if setup.assertions:
        if len(files) > 1:
            raise InputError("contradiction", "--capture", f"{case.id} is judged by one capture")
        return _followed(suite, case, setup, files[0])
    return _measured(suite, case, setup, files, kept)


def _measured(
    suite: Suite, case: Case, setup: Setup, files: Sequence[Path], kept: KeptMetrics | None
) -> Record:
    stands_in = Candidate.of_tcp({"kind": "reno"})
    seeds = tuple(range(1, suite.seeds[0] + 1))
    references = Plan(suite, (case,), stands_in, suite.paths[:1], seeds).references
    stands_in = next(iter(references.values()), stands_in)
    cell = Cell(case.id, setup, suite.paths[0], stands_in, seeds[0], len(seeds))
    scenario = cell.scenario().resolve().tree
    captures = [
        _read(file, str(scenario["sample_interval"]), str(scenario["warmup"])) for file in files
    ]
    why = _unfit(scenario, setup, captures, cell.duration_s)
    unknown = {
        criterion.says: _not_shown(criterion.quantity, scenario) for criterion in setup.criteria
    }
    rows: dict[str, dict[str, Array]] = {"": {}}
    if not why and not all(unknown.values()):
        (of_cell,) = Cells((cell,), references, kept).measure(lambda _: None)
        rows |= {
            name: {key: np.full(len(files), mean_of_known(values)) for key, values in own.items()}
            for name, own in of_cell.by_control.items()
            if name
        }
        for criterion in setup.criteria:
            if not unknown[criterion.says]:
                quantity = criterion.quantity
                rows[""][quantity.key] = _values(quantity, captures, scenario, cell.duration_s)
    beside = MeasuredCell(len(files), rows, cell.values)
    judgements = [criterion.judge(beside) for criterion in setup.criteria]
    grades = graded(judgements)
    checks = [
        _check(criterion, judgement, grade, beside, why or unknown[criterion.says])
        for criterion, judgement, grade in zip(setup.criteria, judgements, grades, strict=True)
    ]
    worst = min(range(len(grades)), key=lambda number: order(grades[number]))
    verdict = VERDICTS[grades[worst]]
    reason = checks[worst]["found"]
    if verdict is Verdict.PASS:  # Also of one capture, which decides nothing and shows something.
        beyond = [number for number, check in enumerate(checks) if check["holds"] is False]
        verdict = Verdict.CONCERN if beyond else verdict
        reason, worst = (checks[beyond[0]]["found"], beyond[0]) if beyond else (reason, worst)
    if verdict is not Verdict.NOT:
        reason = f"{checks[worst]['says']}: {reason}"
    return {
        "case": case.id,
        "run": setup.name,
        "evidence": _evidence(files),
        "rows": sum(capture.result.tables["samples"].num_rows for capture in captures),
        "until_s": max(capture.until_s for capture in captures),
        "verdict": verdict.value,
        "reason": reason,
        "checks": checks,
    }


def _evidence(files: Sequence[Path]) -> str:
    names = ", ".join(file.name for file in files)
    return f"capture{'s' if len(files) > 1 else ''} {names}"


def _read(file: Path, interval: str, warmup: str = "0 s") -> _Capture:
    """Measures a capture.

    Raises:
        InputError: It cannot be read, or holds no TCP connection with data.
    """
    if not file.is_file():
        raise InputError("file", f"{file}", "no such file")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(file, Path(folder) / "measured", interval=interval, warmup=warmup)
        tables = {name: result.tables[name] for name in ("flows", "samples", "connections")}
    result = Result(result.run, tables)
    flows = tables["flows"].to_pylist()
    if not flows or not tables["samples"].num_rows:
        words = "holds no TCP connection with data; QUIC is judged by its qlog: --trace"
        raise InputError("no-data", f"{file}", words)
    flows.sort(key=lambda row: -(row["delivered_bytes"] or 0))
    return _Capture(file.name, result, tuple(dict.fromkeys(str(row["flow"]) for row in flows)))


def _unfit(
    scenario: Mapping[str, Any], setup: Setup, captures: Sequence[_Capture], duration_s: float
) -> str:
    """Returns why captures cannot be judged by a run; empty if they can."""
    written = {flow["name"]: flow for flow in setup.scenario["flows"]}
    others = [
        name for name, flow in written.items() if not is_candidate(facts.whole(flow, "transport"))
    ]
    if others:
        return f"{NOT_TESTED}a capture does not tell your connections from those of {others[0]}"
    count = sum(flow.get("count") or 0 for flow in scenario["flows"])
    for capture in captures:
        if not count or len(capture.flows) != count:
            there = len(capture.flows)
            wanted = str(count) if count else "arriving"
            return (
                f"{NOT_TESTED}{capture.name} holds {there} connection{'s' * (there > 1)} with "
                f"data, and the path has {wanted}"
            )
        if capture.until_s < LEAST_SHARE * duration_s and not _ends(setup):
            return (
                f"{NOT_TESTED}{capture.name} ends at {capture.until_s:g} s, and the case lasts "
                f"{duration_s:g} s"
            )
    return ""


def _ends(setup: Setup) -> bool:
    """Returns true if a run's connections may end before it: without feedback, say."""
    return any(criterion.quantity.metric.name == "sent_packets" for criterion in setup.criteria)


def _not_shown(quantity: Quantity, scenario: Mapping[str, Any]) -> str:
    """Returns why a capture does not show a metric; empty if it does."""
    name = quantity.metric.name
    several = sum(flow.get("count") or 0 for flow in scenario["flows"]) > 1
    if name in _OF_ALL or (name in (*_OF_CONNECTIONS, *_WITH_SAMPLES) and not several):
        return ""
    if name in _IN_WHOLE and not several:
        if units.seconds(scenario["warmup"]) == 0:
            return ""
        return f"{NOT_TESTED}a capture counts {quantity.label} of the warm-up, too"
    return f"{NOT_TESTED}a capture does not show {quantity.label} of {quantity.subject}"


# Metrics that are counted from the end of the warm-up to that of the case: the connection of a
# capture may be silent before that end, and its own totals have the warm-up.
_COUNTED = {"goodput": ("delivered_bytes", 8.0), "sent_packets": ("sent_packets", 1.0)}


# A connection may stand still until the end of the case, and its capture ends before.
_STALL = "longest_stall"


def _values(
    quantity: Quantity, captures: Sequence[_Capture], scenario: Mapping[str, Any], duration_s: float
) -> Array:
    """Returns a metric of each capture."""
    name, warmup_s = quantity.metric.name, units.seconds(scenario["warmup"])
    values = []
    for capture in captures:
        if name in _COUNTED:
            column_of_samples, times = _COUNTED[name]
            count = times * capture.since(warmup_s, column_of_samples)
            per_s = quantity.metric.unit.endswith("/s")
            values.append(count / (duration_s - warmup_s) if per_s else count)
            continue
        subject = capture.flows[0] if name not in _OF_ALL else quantity.subject
        of_subject = by_replicate(capture.result, quantity.metric).get((0, subject), {})
        value = next(iter(of_subject.values()), math.nan)
        values.append(max(value, duration_s - capture.last_s) if name == _STALL else value)
    return np.array(values, float)


def _check(
    criterion: Criterion, judgement: Judgement, grade: Grade, cell: MeasuredCell, why: str
) -> Record:
    """Returns a criterion with its finding, as a check of a trace has it."""
    if why or grade is Grade.UNKNOWN:
        words = why or f"{NOT_TESTED}{criterion.quantity.label} is unknown"
        return {"says": criterion.says, "holds": None, "found": words}
    show = criterion.quantity.shown
    side = "least" if criterion.is_least else "most"
    others = "".join(
        f"; {name} {show(mean_of_known(cell.metric(name, criterion.quantity)))}"
        for name in sorted(criterion.references)
    )
    beyond = mean_of_known(judgement.values) - mean_of_known(judgement.bound)
    beyond = -beyond if criterion.is_least else beyond
    unsure = "; more captures would decide" if grade is Grade.UNSURE else ""
    return {
        "says": criterion.says,
        "holds": bool(beyond <= 0) if grade is Grade.UNSURE else grade is Grade.HOLDS,
        "found": f"{criterion.quantity.label} {show(mean_of_known(judgement.values))}{others} "
        f"(simulated); our bound: at {side} {show(mean_of_known(judgement.bound))}{unsure}",
    }


def _followed(suite: Suite, case: Case, setup: Setup, file: Path) -> Record:
    """Returns the verdict on a capture by checks of a trace."""
    round_trip_s = units.seconds(str(setup.scenario["values"]["round_trip"]))
    interval_s = max(round_trip_s / _SAMPLES, _LEAST_INTERVAL_S)
    record = foreign.judged(
        suite, case, setup, _trace(_read(file, f"{interval_s:g} s")), _evidence([file])
    )
    lacks, shown = "the trace has no ", f"{NOT_TESTED}a capture does not show "
    for check in record["checks"]:
        check["found"] = check["found"].replace(lacks, shown)
    return record | {"reason": record["reason"].replace(lacks, shown)}


def _trace(capture: _Capture) -> Foreign:
    """Returns the samples of a connection as a trace; each retransmission stands for a loss."""
    time_s = capture.samples("time_s")
    connections = capture.result.tables["connections"].to_pylist()
    payload = next(
        row["largest_payload_bytes"] for row in connections if row["flow"] == capture.flows[0]
    )
    lost = capture.samples("retransmitted_packets") * float(payload)
    variables = {
        "delivered": capture.samples("delivered_bytes"),
        "in_flight": capture.samples("in_flight_bytes"),
        "rtt": capture.samples("rtt_s"),
        "lost": lost,
    }
    grows = np.concatenate([[False], np.diff(lost) > 0])
    states = np.full(len(time_s), "", "U1")
    return Foreign(time_s, states, np.where(grows, "lost", "ack"), variables, None)
