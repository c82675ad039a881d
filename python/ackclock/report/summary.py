"""A run in sentences: what was run, and what stands out in its numbers."""

import math
from collections import Counter
from typing import Any

from ackclock import units
from ackclock.elements import facts
from ackclock.metrics import Interval
from ackclock.metrics.tables import column
from ackclock.models import flow_path
from ackclock.result.flows import control_of
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import Rows, assigned, number

# A link that is busy for this share of the time is always busy, as far as digits show it.
_ALWAYS = 0.995

# A queueing delay of this share of the shortest round trip is noticeable.
_NOTICEABLE = 0.1


def title(result: Result) -> str:
    """A line such as `first: one CUBIC flow, 10 Mbit/s, 40 ms; 5 runs of 30 s`."""
    runs = "1 run" if result.replicates[1] == 1 else f"{result.counted} runs"
    each = " at each" if len(result.points) > 1 else ""
    durations = {point["scenario"]["duration"] for point in result.points}
    length = f" of {durations.pop()}" if len(durations) == 1 else ""
    return f"{subject(result)}; {runs}{length}{each}{result.cut_short}"


def subject(result: Result) -> str:
    """The scenario in a few words, such as `first: one CUBIC flow, 10 Mbit/s, 40 ms`."""
    scenario, swept = result.points[0]["scenario"], len(result.points) > 1
    flows = _flows(scenario, swept=swept)
    parts = [flows, f"{len(result.points)} points"] if swept else [flows, *_path(scenario)]
    return f"{result.run['name']}: {', '.join(parts)}"


def _flows(scenario: dict[str, Any], *, swept: bool) -> str:
    if any("count" not in flow for flow in scenario["flows"]):
        return "arriving flows"
    count = sum(flow["count"] for flow in scenario["flows"])
    controls = {control_of(flow) for flow in scenario["flows"]}
    label = f"{control_label(controls.pop())} " if len(controls) == 1 and not swept else ""
    return f"one {label}flow" if count == 1 else f"{count} {label}flows"


def _path(scenario: dict[str, Any]) -> list[str]:
    """Rate, round trip and buffer of the slowest link of the first flow, as far as fixed."""
    flow = scenario["flows"][0]
    named = {hop["name"]: hop for hop in scenario["hops"]}
    hops = [named[name] for name in flow["route"]]
    rates = facts.constant_rates(hops)
    if not rates:
        return []
    slowest = hops[rates.index(min(rates))]
    amounts = [(min(rates), "bit/s")]
    if not isinstance(flow["access_delay"], list):
        amounts.append((flow_path(scenario, flow).round_trip.propagation_s, "s"))
    words = [units.shown(*amount).replace(".0 ", " ") for amount in amounts]
    capacity = facts.queue(slowest)[1]["capacity"] or {}
    return [*words, f"{capacity['limit']} of buffer"] if capacity.get("kind") == "limit" else words


def sentences(result: Result, rows: Rows, hops: Rows) -> list[str]:
    """Returns sentences about a run.

    Args:
        result: Of `simulate` or `emulate`.
        rows: Its `flow_rows`.
        hops: Its `hop_rows`.
    """
    if not rows:
        return []
    swept = len(result.points) > 1
    sentences = _of_sweep(rows) if swept else _of_point(result, rows, hops)
    return [*sentences, *_unmeasured(result, rows)]


def _unmeasured(result: Result, rows: Rows) -> list[str]:
    """Returns a sentence for each flow without means, and for each reason."""
    reasons = Counter(
        (row["flow"], _why_unmeasured(result, row["point"], row["flow"]))
        for row in rows
        if math.isnan(row["goodput"].mean)
    )
    points = len(result.points)
    return [
        f"{flow} has no means{f' at {count} of {points} points' if points > 1 else ''}: {why}."
        for (flow, why), count in reasons.items()
        if why
    ]


def _why_unmeasured(result: Result, point: int, flow: str) -> str:
    scenario, lived = result.points[point]["scenario"], result.rows("flows", point=point, flow=flow)
    if not lived.num_rows:
        return "none of it arrived"
    if (column(lived, "start_s") >= units.seconds(scenario["duration"])).all():
        return f"it starts after the end ({scenario['duration']})"
    if (column(lived, "end_s") <= units.seconds(scenario["warmup"])).all():
        return f"it ends within the warm-up ({scenario['warmup']})"
    return ""


def _of_point(result: Result, rows: Rows, hops: Rows) -> list[str]:
    scenario = result.points[0]["scenario"]
    crossed = {name for flow in scenario["flows"] for name in flow["route"]}
    busy = [
        hop for hop in hops if hop["hop"] in crossed and not math.isnan(hop["utilisation"].mean)
    ]
    sentences = []
    if busy:
        most = max(busy, key=lambda hop: float(hop["utilisation"].mean))
        link = "The link" if len(crossed) == 1 else f"The link of {most['hop']}"
        share = most["utilisation"].mean
        often = "always busy" if share >= _ALWAYS else f"busy {100 * share:.3g} % of the time"
        sentences.append(f"{link} is {often}.")
        sentences += _queueing(rows, crossed, busy)
    fairness: Interval | None = rows[0]["fairness"]
    if fairness is not None and not math.isnan(fairness.mean):
        sentences.append(f"Jain's fairness index of the flows is {fairness.mean:.3g}.")
    return sentences


def _queueing(rows: Rows, crossed: set[str], busy: Rows) -> list[str]:
    """Returns a sentence about the longest queue, and how to shorten a full one."""
    delays = [hop for hop in busy if not math.isnan(hop["queueing_delay"].mean)]
    trips = [row["rtt"].mean for row in rows if not math.isnan(row["rtt"].mean)]
    if not delays or not trips:
        return []
    most = max(delays, key=lambda hop: float(hop["queueing_delay"].mean))
    delay_s = most["queueing_delay"].mean
    where = "" if len(crossed) == 1 else f" of {most['hop']}"
    is_short = delay_s < _NOTICEABLE * min(trips)
    lead = "Queues are short: the" if is_short else "The"
    sentences = [f"{lead} mean queueing delay{where} is {1e3 * delay_s:.3g} ms."]
    if not is_short and len(busy) == 1 and busy[0]["utilisation"].mean >= _ALWAYS:
        sentences.append("How small a buffer would do: ackclock advise buffer.")
    return sentences


def _of_sweep(rows: Rows) -> list[str]:
    measured = [row for row in rows if not math.isnan(row["goodput"].mean)]
    if len(measured) < 2:
        return []
    ends = [end(measured, key=lambda row: float(row["goodput"].mean)) for end in (min, max)]
    several = len({row["flow"] for row in rows}) > 1

    def where(row: dict[str, Any]) -> str:
        flow = [row["flow"]] if several else []
        others = {
            path: value for path, value in row["assignments"].items() if value != row["control"]
        }
        control = [control_label(row["control"])] if others != row["assignments"] else []
        return ", ".join([*flow, *control, *assigned(others)])

    least, most = (f"{number(row['goodput'].mean, 1e-6)} Mbit/s ({where(row)})" for row in ends)
    return [f"Goodput goes from {least} to {most}."]
