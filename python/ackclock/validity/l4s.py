"""Judges if a run with L4S flows is what it claims to be.

An L4S flow sends ECT(1), hears of every mark by accurate ECN, and gives up little for one (RFC
9330, 9331). Each of these can be missing without an error. The run then shows something else: a
Prague that is Reno, or a queue that never marked. The verdict looks at the resolved scenario and at
the counts of queues with classes. All of this must hold.

The flow has ECN, ECT(1), a feedback that counts, and a control that answers the share of marks. Its
route has a low-latency queue, or one that marks at a threshold and has no classic flows. ECT(1)
packets arrived there, and that queue marked them. Classic flows wait in the classic queue.

An emulation reports the kernel's answers to its settings. If the kernel refused accurate ECN, or
has none, that comes first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ackclock.elements import facts
from ackclock.result.result import Result
from ackclock.table import assigned

#: Codepoint of L4S, and the kept share of a control that scales (facts).
_CODEPOINT, _SCALES = "ect1", "by_marks"
#: Feedbacks that count marks, in words.
_FEEDBACKS = {"accurate": "accurate ECN", "dctcp": "DCTCP's feedback"}
#: Classes of a queue with a low-latency queue.
_LOW, _CLASSIC = "low_latency", "classic"
#: The setting of ECN, and the value that asks for accurate ECN.
_SETTING, _ACCURATE = "net.ipv4.tcp_ecn", "3"

Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one L4S flow of one point.

    Attributes:
        fallback: True if the sender does without L4S: it answers marks as Reno does, or there are
            none.
        complaints: What is not as claimed, with a remedy, the most important first.
        observations: What was seen, in sentences.
    """

    fallback: bool
    complaints: tuple[str, ...]
    observations: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """True if nothing contradicts the claim."""
        return not self.complaints

    def row(self) -> dict[str, Any]:
        """Returns the verdict as plain data."""
        return {
            "l4s": self.holds, "fallback": self.fallback,
            "complaints": list(self.complaints), "seen": list(self.observations),
        }  # fmt: skip


@dataclass(frozen=True)
class L4s:
    """The verdicts on a result.

    Attributes:
        points: The points of the result.
        verdicts: By point and flow, of flows that ask for L4S.
    """

    points: list[dict[str, Any]]
    verdicts: Mapping[tuple[int, str], Verdict] = field(default_factory=dict)

    @property
    def warning(self) -> str:
        """One line for all flows that are not what they claim, about the first; empty for none."""
        doubtful = {key: verdict for key, verdict in self.verdicts.items() if not verdict.holds}
        if not doubtful:
            return ""
        (point, flow), first = next(iter(doubtful.items()))
        words = assigned(self.points[point]["assignments"]) if len(self.points) > 1 else []
        where = f"{flow} ({', '.join(words)})" if words else flow
        several = len(self.verdicts) > 1
        others = f"; so it is with {len(doubtful)} of {len(self.verdicts)}" if several else ""
        return f"not L4S: {where}: {first.complaints[0]}{others}"

    @property
    def sentence(self) -> str:
        """The observations on one point where all is as claimed; empty if nothing is L4S."""
        if not self.verdicts or self.warning:
            return ""
        first = next(iter(self.verdicts.values()))
        more = "" if len(self.points) == 1 else " At the first point:"
        return f"L4S as claimed.{more} {' '.join(first.observations)}"

    def rows(self) -> list[dict[str, Any]]:
        """Returns the verdicts as plain data."""
        return [
            {"point": point, "flow": flow} | verdict.row()
            for (point, flow), verdict in self.verdicts.items()
        ]


@dataclass(frozen=True)
class _Counts:
    """Counts of one class of a queue, summed over replicates."""

    arrivals: int = 0
    marks: int = 0


def judge(result: Result) -> L4s:
    """Judges every flow of a simulation or an emulation that asks for L4S.

    There are no verdicts on results of other methods.
    """
    if result.run["method"] not in ("simulate", "emulate"):
        return L4s(result.points)
    counts, refused = _counts(result), _refused(result)
    return L4s(
        result.points,
        {
            (index, flow["name"]): _verdict(
                point["scenario"], flow, counts.get(index, {}), refused.get(index, "")
            )
            for index, point in enumerate(result.points)
            for flow in point["scenario"]["flows"]
            if _claims(flow)
        },
    )


def _claims(flow: Tree) -> bool:
    """True if a flow sends ECT(1), or has a control that asks for it."""
    asked = facts.control(flow)[1]["ecn"]
    return _sends_ect1(flow) or (bool(asked) and asked["codepoint"] == _CODEPOINT)


def _sends_ect1(flow: Tree) -> bool:
    sent = facts.transport(flow)[1]["sent_ecn"]
    return bool(sent) and sent["codepoint"] == _CODEPOINT


def _counts(result: Result) -> dict[int, dict[tuple[str, str], _Counts]]:
    """Returns the counts of classes by point, then by hop and class; of usable runs."""
    counts: dict[int, dict[tuple[str, str], _Counts]] = {}
    table = result.tables.get("classes")
    for row in [] if table is None else table.to_pylist():
        if (row["point"], row["replicate"]) in result.left_out:
            continue
        of_point = counts.setdefault(row["point"], {})
        before = of_point.get((row["hop"], row["class"]), _Counts())
        of_point[row["hop"], row["class"]] = _Counts(
            before.arrivals + row["arrivals"], before.marks + row["marks"]
        )
    return counts


def _refused(result: Result) -> dict[int, str]:
    """Returns the points whose kernels refused accurate ECN, with the reason."""
    table = result.tables.get("settings")
    return {
        row["point"]: row["refusal"]
        for row in ([] if table is None else table.to_pylist())
        if row["name"] == _SETTING and row["asked"] == _ACCURATE and row["refusal"]
    }


def _verdict(
    scenario: Tree, flow: Tree, counts: Mapping[tuple[str, str], _Counts], refused: str
) -> Verdict:
    fallback = [*_of_feedback(flow, refused)]
    complaints = [*fallback, *_of_control(flow)]
    queues = [hop for hop in _route(scenario, flow) if facts.queue(hop)[1]["low_latency"]]
    if not queues:
        complaints += _without_queue(scenario, flow)
        return Verdict(bool(fallback), tuple(complaints), ())
    hop = max(queues, key=lambda queue: counts.get((queue["name"], _LOW), _Counts()).arrivals)
    low = counts.get((hop["name"], _LOW), _Counts())
    if counts:
        complaints += _of_marks(hop, low)
    complaints += _of_others(scenario, flow, hop, counts)
    return Verdict(bool(fallback), tuple(complaints), tuple(_observations(flow, hop, low, counts)))


def _of_feedback(flow: Tree, refused: str) -> Iterator[str]:
    """Yields why the sender cannot hear of every mark."""
    name, sent = facts.control(flow)[0], facts.transport(flow)[1]["sent_ecn"]
    if not sent:
        yield "it has no ECN, so that nothing is marked; remove ecn = false"
    elif refused:
        yield (
            f"the kernel refuses accurate ECN ({refused}), so that {name} falls back to classic "
            "ECN; ackclock doctor l4s says what this machine can do"
        )
    elif sent["feedback"] not in _FEEDBACKS:
        yield (
            f'ecn_feedback = "{sent["feedback"]}" does not count marks, so that '
            f'{name} falls back to Reno; choose "accurate"'
        )


def _of_control(flow: Tree) -> Iterator[str]:
    """Yields what its codepoint promises and its control does not keep, and the reverse."""
    name, stated = facts.control(flow)
    kept, sent = stated["kept_after_mark"], facts.transport(flow)[1]["sent_ecn"]
    if not _sends_ect1(flow):
        if sent:
            yield (
                f"{name} sends {str(sent['codepoint']).upper()} and joins the classic "
                f'queue; choose ecn_codepoint = "{_CODEPOINT}"'
            )
    elif kept is None:
        yield f"{name} does not state how it answers a mark"
    elif kept["kind"] != _SCALES:
        yield (
            f"{name} answers a mark as it would a loss, in a queue that marks often; choose a "
            "scalable control, for example prague"
        )


def _route(scenario: Tree, flow: Tree) -> list[Tree]:
    """Returns the hops that carry a flow's data."""
    return [hop for hop in scenario["hops"] if hop["name"] in flow["route"]]


def _without_queue(scenario: Tree, flow: Tree) -> Iterator[str]:
    """Yields why a path without a low-latency queue is not an L4S path."""
    hops = _route(scenario, flow)
    marking = [hop for hop in hops if facts.queue(hop)[1]["marking"]]
    if marking and facts.queue(marking[0])[1]["low_latency"] is facts.NONE:
        others = [flow["name"] for flow in _classic_at(scenario, marking[0])]
        if others:
            yield (
                f"{marking[0]['name']} has one queue for it and for {others[0]}, which answers a "
                "mark as it would a loss; choose a queue with two classes, for example dualpi2"
            )
        return
    if any(facts.queue(hop)[1]["flow_marking"] for hop in hops):
        return  # each flow has a queue of its own
    if any(facts.queue(hop)[1]["marks"] for hop in hops):
        yield (
            "no hop of its route is known to have a low-latency queue, so that it is marked as "
            "classic flows are, and answers less; choose dualpi2"
        )
    else:
        yield "no hop of its route is known to mark; choose a queue that does, for example dualpi2"


def _of_marks(hop: Tree, low: _Counts) -> Iterator[str]:
    """Yields what is missing at the low-latency queue of a run that counted."""
    if low.arrivals == 0:
        yield f"no ECT(1) packet reached {hop['name']}"
    elif low.marks == 0:
        yield (
            f"the low-latency queue of {hop['name']} marked nothing: it is not the bottleneck, or "
            "the run is too short"
        )


def _of_others(
    scenario: Tree, flow: Tree, hop: Tree, counts: Mapping[tuple[str, str], _Counts]
) -> Iterator[str]:
    """Yields classic flows that are not in the classic queue."""
    any_ect = facts.queue(hop)[1]["low_latency"]["joins"] == "any_ect"
    classic = [other for other in _classic_at(scenario, hop) if other["name"] != flow["name"]]
    astray = [
        other["name"]
        for other in classic
        if facts.transport(other)[1]["sent_ecn"] and (any_ect or _sends_ect1(other))
    ]
    if astray:
        yield (
            f"{astray[0]}, a classic flow, joins the low-latency queue of {hop['name']}; give it "
            'ecn_codepoint = "ect0", and the queue low_latency = "l4s"'
        )
    elif classic and counts and not counts.get((hop["name"], _CLASSIC), _Counts()).arrivals:
        yield f"no packet of {classic[0]['name']} reached the classic queue of {hop['name']}"


def _classic_at(scenario: Tree, hop: Tree) -> list[Tree]:
    """Returns the flows with a window through a hop that are known to answer a mark as a loss."""
    flows = []
    for flow in scenario["flows"]:
        if hop["name"] not in flow["route"] or not facts.transport(flow)[1]["congestion_window"]:
            continue
        kept = facts.control(flow)[1]["kept_after_mark"]
        if kept is not None and kept["kind"] != _SCALES:
            flows.append(flow)
    return flows


def _observations(
    flow: Tree, hop: Tree, low: _Counts, counts: Mapping[tuple[str, str], _Counts]
) -> Iterator[str]:
    """Yields what was seen of a flow."""
    sent = facts.transport(flow)[1]["sent_ecn"]
    if sent and sent["codepoint"] == _CODEPOINT:
        feedback = _FEEDBACKS.get(sent["feedback"], "no feedback that counts marks")
        yield f"{flow['name']} sends ECT(1) with {feedback}."
    if low.arrivals:
        share = f"{100 * low.marks / low.arrivals:.3g} %"
        yield f"The low-latency queue of {hop['name']} marked {share} of its packets."
    if counts.get((hop["name"], _CLASSIC), _Counts()).arrivals:
        yield "Classic packets waited in the other one."
