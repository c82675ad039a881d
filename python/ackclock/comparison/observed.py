"""Observations: what the results of all methods hold about one flow or hop of one point.

Cells of tables and evidence of causes are built from them.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ackclock import units
from ackclock.comparison.causes import SeenPath
from ackclock.comparison.column import Column
from ackclock.metrics import ALL_FLOWS, FLOWS, HOPS, Metric, metric
from ackclock.models import FlowPath, flow_paths
from ackclock.models.prediction import Prediction, best
from ackclock.result.flows import control_of, is_controlled, rivals

# Metrics that causes look at besides the compared one. Those of hops count for the flow that
# crosses them.
_EVIDENCE_OF_FLOWS = (
    "timeouts",
    "retransmissions",
    "loss_rate",
    "rtt",
    "cwnd",
    "smoothed_rtt",
    "cwnd_drift",
    "early_retransmissions",
)
_EVIDENCE_OF_HOPS = ("tail_drop_rate",)

# Hops where packets wait for less than this share of a round trip are left out: they change nothing
# by a hundredth.
_WAITING = 0.01

Values = dict[tuple[int, str], dict[int, float]]


class Topic(NamedTuple):
    """The subject of a row of a comparison.

    Attributes:
        point: Index of the point.
        subject: Name of the flow or hop, or `all flows`.
        is_flow: True if it is a flow.
        flow: The flow; for a hop or all flows, the only flow, or None if there are several.
        path: The path of that flow, as models see it.
        duration_s: Duration of a run of the point.
    """

    point: int
    subject: str
    is_flow: bool
    flow: Mapping[str, Any] | None
    path: FlowPath | None
    duration_s: float

    @property
    def control(self) -> str:
        """Name of the flow's congestion or rate control; empty if the subject is not a flow."""
        return control_of(self.flow) if self.is_flow and self.flow is not None else ""


class Observations:
    """The numbers of all columns; each metric is read once."""

    def __init__(self, columns: Mapping[str, Column], points: Sequence[Mapping[str, Any]]) -> None:
        """Takes the columns; reads nothing yet.

        Args:
            columns: By name.
            points: Each with its resolved `scenario`.
        """
        self._columns = columns
        self._points = points
        self._values: dict[tuple[str, str], Values] = {}

    def topics(self, name: str) -> list[Topic]:
        """Returns the subjects of a metric, by point in the order of the scenario."""
        topics = []
        for point, entry in enumerate(self._points):
            scenario, subjects = entry["scenario"], metric(name).subjects
            for subject in subjects.names(scenario):
                if subjects is HOPS:
                    flows = self._crossing(point, subject)
                elif subjects is ALL_FLOWS:
                    flows = [flow for flow in scenario["flows"] if is_controlled(flow)]
                    if rivals(flows) < 2:
                        continue
                else:
                    flows = [flow for flow in scenario["flows"] if flow["name"] == subject]
                topics.append(self._topic(point, subject, flows, subjects is FLOWS))
        return topics

    def matters(self, name: str, topic: Topic) -> bool:
        """Returns true if any method has a number.

        A hop counts only if packets wait there long enough to lengthen a round trip.
        """
        runs = [column for column in self._columns.values() if column.method != "predict"]
        means = [
            _mean(self.values(column, metric(name)).get((topic.point, topic.subject), {}).values())
            for column in runs
        ]
        if metric(name).subjects is HOPS:
            crossing = self._crossing(topic.point, topic.subject)
            paths = self._paths[topic.point]
            shortest = min(
                (paths[flow["name"]].round_trip.base_s for flow in crossing), default=math.inf
            )
            return any(mean > _WAITING * shortest for mean in means)
        predict = self._columns.get("predict")
        predicted = (
            predict is not None and self.prediction(predict, metric(name), topic) is not None
        )
        return predicted or not all(math.isnan(mean) for mean in means)

    def values(self, column: Column, metric: Metric) -> Values:
        """Returns the values of a metric in a column."""
        key = (column.name, metric.name)
        if key not in self._values:
            self._values[key] = column.values(metric)
        return self._values[key]

    def predictions(self, column: Column, topic: Topic) -> list[dict[str, Any]]:
        """Returns the answers of every model asked about a flow.

        They are rows of the table `predictions` with inputs and outputs as dicts.
        """
        return self._predictions.get((column.own_number(topic.point), topic.subject), [])

    def prediction(self, column: Column, metric: Metric, topic: Topic) -> Prediction | None:
        """Returns the prediction of the model that fits best."""
        rows = self.predictions(column, topic)
        return (
            best(rows, metric.name, dict(topic.flow))
            if topic.is_flow and topic.flow is not None
            else None
        )

    def of_both(self, column: Column, reference: Column, topic: Topic) -> dict[str, Any]:
        """Returns the fields of `Evidence` that describe the runs rather than the difference."""
        emulated = next(
            (column for column in (column, reference) if column.method == "emulate"), None
        )
        fidelity = [] if emulated is None else emulated.fidelity_rows(topic.point)
        late = [max(row["lateness_p50_s"], row["probe_extra_p50_s"] or 0.0) for row in fidelity]
        taken_in = [
            row
            for source in (column, reference)
            if source.averages_unreliable
            for row in source.fidelity_rows(topic.point)
            if not row["reliable"]
        ]
        return {
            "saw": self._saw(column, topic),
            "reference_saw": self._saw(reference, topic),
            "reference_path": self._seen_path(reference, topic),
            "settings": [] if emulated is None else emulated.setting_rows(topic.point),
            "late_s": float(np.median(late)) if late else math.nan,
            "unreliable": len(taken_in),
        }

    @cached_property
    def _predictions(self) -> dict[tuple[int | None, str], list[dict[str, Any]]]:
        column = self._columns.get("predict")
        by_flow: dict[tuple[int | None, str], list[dict[str, Any]]] = {}
        for row in (
            column.result.tables["predictions"].to_pylist() if column and column.result else []
        ):
            numbers = {name: dict(row[name] or ()) for name in ("inputs", "outputs")}
            by_flow.setdefault((row["point"], row["flow"]), []).append(row | numbers)
        return by_flow

    @cached_property
    def _paths(self) -> list[dict[str, FlowPath]]:
        return [
            {path.flow: path for path in flow_paths(entry["scenario"])} for entry in self._points
        ]

    def _topic(
        self, point: int, subject: str, flows: Sequence[Mapping[str, Any]], is_flow: bool
    ) -> Topic:
        scenario = self._points[point]["scenario"]
        flow = flows[0] if len(flows) == 1 else None
        path = self._paths[point][flow["name"]] if flow is not None else None
        return Topic(point, subject, is_flow, flow, path, units.seconds(scenario["duration"]))

    def _crossing(self, point: int, hop: str) -> list[Mapping[str, Any]]:
        """Returns the flows whose data crosses a hop."""
        return [flow for flow in self._points[point]["scenario"]["flows"] if hop in flow["route"]]

    def _seen_path(self, column: Column, topic: Topic) -> SeenPath | None:
        """Returns what a column says of a flow's path; None without a flow."""
        if topic.flow is None:
            return None
        scenario, route = self._points[topic.point]["scenario"], set(topic.flow["route"])
        others = [
            flow["name"]
            for flow in scenario["flows"]
            if flow["name"] != topic.flow["name"] and route & set(flow["route"])
        ]
        hops = [hop["name"] for hop in scenario["hops"]]

        def means(name: str, subjects: Sequence[str]) -> dict[str, float]:
            values = self.values(column, metric(name))
            seen = {
                subject: _mean(values.get((topic.point, subject), {}).values())
                for subject in subjects
            }
            return {subject: mean for subject, mean in seen.items() if not math.isnan(mean)}

        of_hops = (means(name, hops) for name in ("capacity", "utilisation", "queueing_delay"))
        return SeenPath(scenario, means("goodput", others), *of_hops)

    def _saw(self, column: Column, topic: Topic) -> dict[str, float]:
        if topic.flow is None:
            return {}
        subjects = dict.fromkeys(_EVIDENCE_OF_FLOWS, (topic.flow["name"],))
        subjects |= dict.fromkeys(_EVIDENCE_OF_HOPS, tuple(topic.flow["route"]))
        seen = {}
        for name, whose in subjects.items():
            values = self.values(column, metric(name))
            means = [_mean(values.get((topic.point, subject), {}).values()) for subject in whose]
            present = [mean for mean in means if not math.isnan(mean)]
            if present:
                seen[name] = max(present)  # The hop of the route where it matters most.
        return seen


def _mean(values: Any) -> float:
    present = [value for value in values if not math.isnan(value)]
    return sum(present) / len(present) if present else math.nan
