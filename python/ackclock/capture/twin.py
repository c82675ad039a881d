"""The twin: our sender, given the ACKs that a sender in a capture was given."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc

from ackclock import engine
from ackclock.capture.sources import Capture, Source, find
from ackclock.elements import facts
from ackclock.errors import InputError, ScenarioError
from ackclock.result.result import Result
from ackclock.scenario import Scenario

#: Flow of the scenario that stands for a capture from elsewhere.
_FLOW = "capture"

# A threshold that was never set, in Linux.
_UNSET = 2**30

#: Largest number of random draws of another stack that are inferred.
MOST_DRAWS = 100


class Reading(NamedTuple):
    """A reading of the other stack's window.

    Attributes:
        time_s: On the clock of the capture.
        cwnd: Congestion window in segments.
        ssthresh: Slow-start threshold in segments; None if it was never set.
        pacing: Pacing rate in bit/s; None if unknown.
        least_rtt_s: Least round-trip time so far; None if unknown.
    """

    time_s: float
    cwnd: int
    ssthresh: int | None
    pacing: float | None = None
    least_rtt_s: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Our sender beside one connection of a capture.

    Attributes:
        flow: Name of the flow and number of the instance; empty for a capture from elsewhere.
        control: Congestion control of our sender.
        point: Index of the point.
        replicate: Number of the replicate.
        outcome: The connection: `source` and `destination` (address and port), `mss_bytes`,
            `on_the_way_s` (time that ACKs took from the capture to the other stack). Counts:
            `steps` (events), `acks`, `segments` and `equal_segments`, `silences`, `timers`,
            `readings`, `equal_windows`, `equal_thresholds`, `pacing_readings`, `equal_pacing`.
            Windows and thresholds are equal within one segment, pacing rates within 2 %. Lists:
            `differences`, the first thousand with `step`, `time_s`, `kind`, `theirs`, `ours`;
            `shown`, the steps. Lastly `ended`: why the comparison stopped, or None; and `draws`:
            the outcomes of the other stack's random draws, as far as they could be inferred.
    """

    flow: str
    control: str
    point: int
    replicate: int
    outcome: dict[str, Any]

    @property
    def differs(self) -> bool:
        """True if anything differs."""
        return bool(self.outcome["differences"])


def twin(
    source: str | Path,
    *,
    control: str | None = None,
    bulk: bool = False,
    readings: Sequence[Reading] = (),
    steps: tuple[int, int] | None = None,
) -> list[Comparison]:
    """Gives the ACKs of captured connections to our sender, and compares what it does.

    Args:
        source: Result folder of `emulate`, or of `simulate` with captures; or a capture, taken at
            the sender, that begins with the handshake. Of a capture, the connection with the most
            payload is played.
        control: Congestion control of our sender, in a capture from elsewhere: a name, or a table
            in TOML. A result states its own.
        bulk: True if the application always had data, in a capture from elsewhere. By default each
            segment counts as written just before it left.
        readings: Readings of the window, in a capture from elsewhere. A result has its own.
        steps: First and last step to return; None for those before the first difference.

    Returns:
        A comparison of each TCP flow of each run.

    Raises:
        InputError: The source holds nothing to play, or `control` is given for a result.
        CaptureError: A file is not a capture, or has no such connection.
        ScenarioError: The control is unknown or its parameters are invalid.
    """
    captured = find(source)
    if captured.run is None:
        [capture] = captured.captures
        scenario = stand_in(control or "cubic")
        return [_play(scenario, _FLOW, 0, capture, "", bulk, list(readings), steps, "")]
    if control is not None:
        raise InputError(
            "contradiction", "control", f"is for a capture from elsewhere; {source} states its own"
        )
    return _of_run(captured, Path(source), steps)


def _of_run(captured: Source, folder: Path, steps: tuple[int, int] | None) -> list[Comparison]:
    run = captured.run or {}
    result = Result.load(folder)
    comparisons = []
    for capture in captured.captures:
        tree = run["points"][capture.point]["scenario"]
        scenario = Scenario(tree, folder)
        for flow in tree["flows"]:
            if facts.transport(flow)[0] != "tcp" or _is_only_in_kernel(flow):
                continue
            greedy = bool(facts.traffic(flow)["greedy"])
            instances = dict(capture.flows)[flow["name"]]
            for instance in range(instances):
                key = (capture.point, capture.replicate, flow["name"], instance)
                label = flow["name"] if instances == 1 else f"{flow['name']}/{instance}"
                comparisons.append(
                    _play(
                        scenario, flow["name"], instance, capture, run["method"], greedy,
                        _readings(result, key), steps, label,
                    )
                )  # fmt: skip
    if not comparisons:
        raise InputError(
            "no-data", str(folder), "has no TCP flow with a control of the engine; choose another"
        )
    return comparisons


def _is_only_in_kernel(flow: dict[str, Any]) -> bool:
    return facts.only_in_kernel(facts.control(flow)[1])


def _readings(result: Result, key: tuple[int, int, str, int]) -> list[Reading]:
    """Returns the kernel's windows in an emulation; nothing for a simulation."""
    table = result.tables.get("tcp_info")
    if table is None:
        return []
    point, replicate, flow, instance = key
    rows = table.filter(
        (pc.field("point") == point)
        & (pc.field("replicate") == replicate)
        & (pc.field("flow") == flow)
        & (pc.field("instance") == instance)
    ).select(
        [
            "time_s",
            "cwnd_segments",
            "ssthresh_segments",
            "pacing_rate_bit_per_s",
            "rtt_min_s",
        ]
    )
    return [
        Reading(
            row["time_s"],
            int(row["cwnd_segments"]),
            None
            if row["ssthresh_segments"] is None or row["ssthresh_segments"] >= _UNSET
            else int(row["ssthresh_segments"]),
            row["pacing_rate_bit_per_s"],
            row["rtt_min_s"],
        )
        for row in rows.to_pylist()
        if row["cwnd_segments"] is not None
    ]


def _play(
    scenario: Scenario, flow: str, instance: int, capture: Capture, method: str, bulk: bool,
    readings: list[Reading], steps: tuple[int, int] | None, label: str,
) -> Comparison:  # fmt: skip
    def played(taken: Scenario, on_the_way_s: float | None = None) -> dict[str, Any]:
        return engine.twin(
            list(capture.files), taken.tree, taken.folder, flow, instance,
            written=(list(capture.flows), 0.0) if method else None, method=method, bulk=bulk,
            readings=list(readings), on_the_way_s=on_the_way_s, shown=steps,
        )  # fmt: skip

    [described] = [
        flow_tree for flow_tree in scenario.resolve().tree["flows"] if flow_tree["name"] == flow
    ]
    name, stated = facts.control(described)
    outcome = played(scenario) | {"draws": []}
    if stated["draws"] and readings:
        parameter = f"flows.{flow}.transport.control.{stated['draws']['parameter']}"
        outcome = _with_draws(
            lambda draws: played(scenario.replace({parameter: draws}), outcome["on_the_way_s"]),
            stated["draws"]["outcomes"],
            outcome,
        )
    return Comparison(label, name, capture.point, capture.replicate, outcome)


def _with_draws(
    play: Callable[[list[int]], dict[str, Any]], outcomes: int, without: dict[str, Any]
) -> dict[str, Any]:
    """Plays with the outcomes of the other stack's random draws, one draw after the other.

    Each draw takes the outcome with which most of the capture is equal. The last draw is the one
    after which another makes no difference.
    """

    def equal(outcome: dict[str, Any]) -> int:
        return int(outcome["equal_pacing"] + outcome["equal_windows"] + outcome["equal_segments"])

    draws: list[int] = []
    best = without
    while len(draws) < MOST_DRAWS:
        tried = [play([*draws, outcome]) for outcome in range(outcomes)]
        scores = [equal(outcome) for outcome in tried]
        if len(set(scores)) == 1:
            break
        draws = [*draws, scores.index(max(scores))]
        best = tried[draws[-1]]
    return best | {"draws": draws}


def stand_in(control: str) -> Scenario:
    """Returns a scenario whose only flow has that control; its path does not matter."""
    written = control.strip()
    if not written.startswith("{"):
        written = f"{{ kind = {json.dumps(written)} }}"
    try:
        scenario = Scenario.from_toml(_STAND_IN.format(control=written, flow=_FLOW))
        scenario.resolve()
    except ScenarioError as error:
        raise error.for_field("control") from error
    return scenario


_STAND_IN = """\
schema = 1
duration = "1 s"

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "1 Mbit/s" }}
queue = {{ kind = "droptail", limit = "10 packets" }}

[[flows]]
name = "{flow}"
route = ["there"]
return = ["there"]
transport = {{ kind = "tcp", control = {control} }}
"""
