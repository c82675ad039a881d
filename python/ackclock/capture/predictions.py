"""Predictions of models for captured connections: the table `predictions` of a measurement."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.capture import estimates
from ackclock.capture.connections import apart, largest
from ackclock.capture.estimates import KEYS, Estimate, Resampled
from ackclock.elements.facts import Facts
from ackclock.elements.registry import registry
from ackclock.metrics.bootstrap import middle
from ackclock.metrics.tables import column
from ackclock.models import FlowPath, Model, answer
from ackclock.models import capture as captured
from ackclock.models import flow_paths as scenario_paths
from ackclock.models.path import Control, RttLaw
from ackclock.models.resolved import control
from ackclock.result.result import Result

Array = NDArray[np.float64]
Row = dict[str, Any]

COLUMNS = (
    *KEYS, "instances", "control", "model", "label", "goodput_bit_per_s", "goodput_low_bit_per_s",
    "goodput_high_bit_per_s", "model_bit_per_s", "limit", "measured_bit_per_s",
    "measured_low_bit_per_s", "measured_high_bit_per_s", "says", "verdict", "within", "violated",
    "note", "inputs", "outputs",
)  # fmt: skip

# Models are asked about this many connections, the largest. Chosen here: more than anybody reads.
CONNECTIONS = 10

# Controls that a captured connection may have, with their default parameters.
_MAY_BE = ("reno", "cubic")

# Each resample solves the chain again. This number places the ends of the interval within a tenth
# of its width. Chosen here.
_RESAMPLES = 100


def predictions(
    result: Result, connection: Row, estimate: Estimate, models: Sequence[Model]
) -> list[Row]:
    """Returns one row per model for a row of the table `connections`.

    Rows have the columns of `ackclock.models.predictions`, and `replicate` and `instance`. The
    answer of the model lies between `goodput_low_bit_per_s` and `goodput_high_bit_per_s`, given the
    uncertainty of its inputs. `measured_bit_per_s`, `measured_low_bit_per_s` and
    `measured_high_bit_per_s` are the goodput of the table `estimates`.
    """
    why_not = captured.why_not(connection, estimate.row)
    paths = [] if why_not else _paths(result, connection, estimate)
    may_be = [_MayBe(path, _drawn(path, estimate.resampled)) for path in paths]
    measured = {
        f"measured{end}_bit_per_s": estimate.row[f"goodput{end}_bit_per_s"]
        for end in ("", "_low", "_high")
    }
    answers = [
        _unasked(connection, model, why_not) if why_not else _answer(model, may_be)
        for model in models
    ]
    return [{name: connection[name] for name in KEYS} | says | measured for says in answers]


def of_connections(measured: Result, models: Sequence[Model], top: int) -> dict[str, pa.Table]:
    """Returns the tables `estimates` and `predictions` for the largest connections."""
    connections = largest(measured, top)
    alone = apart(measured, connections)
    estimated = [
        estimates.estimate(result, row) for result, row in zip(alone, connections, strict=True)
    ]
    rows = [
        row
        for result, connection, estimate in zip(alone, connections, estimated, strict=True)
        for row in predictions(result, connection, estimate, models)
    ]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return {"estimates": estimates.table(estimated), "predictions": prediction_table(columns)}


def prediction_table(columns: dict[str, list[Any]]) -> pa.Table:
    """Returns the table `predictions` with these columns."""
    types = dict.fromkeys(("point", "replicate", "instance", "instances"), pa.int64())
    types |= {name: pa.float64() for name in columns if name.endswith("_bit_per_s")}
    types |= dict.fromkeys(("inputs", "outputs"), pa.map_(pa.string(), pa.float64()))
    types |= {"violated": pa.list_(pa.string()), "within": pa.float64()}
    return pa.table(
        {name: pa.array(values, types.get(name, pa.string())) for name, values in columns.items()}
    )


class _MayBe(NamedTuple):
    """A possible path of a connection: as estimated, and as resampled."""

    path: FlowPath
    drawn: list[FlowPath]


def _paths(result: Result, connection: Row, estimate: Estimate) -> list[FlowPath]:
    scenario = result.points[connection["point"]]["scenario"]
    by_flow = {path.flow: path for path in (scenario_paths(scenario) if scenario else [])}
    law = _law(result.rows("rtt_histogram", **{name: connection[name] for name in KEYS}))
    return captured.flow_paths(
        connection, estimate.row, law, possible_controls(), by_flow.get(connection["flow"])
    )


@cache
def possible_controls() -> tuple[Control, ...]:
    """Returns the controls that a captured connection may have, with default parameters."""
    facts = {entry["name"]: Facts(entry["facts"]) for entry in registry()["controls"]}
    return tuple(control(name, facts[name]) for name in _MAY_BE)


def _law(buckets: pa.Table) -> RttLaw | None:
    """Returns the midpoints of the buckets, of whole round trips if these are known."""
    if buckets.num_rows == 0:
        return None
    low, high, samples = (
        column(buckets, name).astype(float) for name in ("low_s", "high_s", "samples")
    )
    whole = column(buckets, "part") == "whole"
    chosen = whole if whole.any() else ~whole
    middles = (low[chosen] + high[chosen]) / 2
    return RttLaw(tuple(middles), tuple(samples[chosen])) if (middles > 0).all() else None


def _unasked(connection: Row, model: Model, why_not: str) -> Row:
    unknown = ("goodput_bit_per_s", "model_bit_per_s", "limit", "says", "inputs", "outputs")
    more = ("goodput_low_bit_per_s", "goodput_high_bit_per_s")
    return dict.fromkeys((*unknown, *more)) | {
        "flow": connection["flow"], "instances": 1, "control": "tcp", "model": model.name,
        "label": model.label, "verdict": "does not apply", "within": None, "violated": [],
        "note": why_not,
    }  # fmt: skip


def _drawn(path: FlowPath, resampled: Resampled | None) -> list[FlowPath]:
    """Returns the path with each resampled loss rate and mean round-trip time.

    The RTT distribution is left out: except for the rate of a link, goodput depends only on the
    mean.
    """
    if resampled is None:
        return []
    pairs = zip(
        resampled.indication_rate[:_RESAMPLES].tolist(),
        resampled.rtt_s[:_RESAMPLES].tolist(),
        strict=True,
    )
    return [
        replace(
            path,
            loss=replace(path.loss, rate=loss),
            round_trip=replace(path.round_trip, base_s=rtt, law=None),
        )
        for loss, rtt in pairs
        if loss >= 0 and rtt > 0
    ]


def _answer(model: Model, may_be: list[_MayBe]) -> Row:
    """Returns the answer for the first path to which the model applies."""
    candidate = next(
        (candidate for candidate in may_be if model.applies(candidate.path).applies), may_be[0]
    )
    says = answer(model, candidate.path)
    if len(may_be) > 1 and says["inputs"] is not None:
        says["note"] = "; ".join(
            filter(
                None, (f"taken for {candidate.path.control.name}: no capture tells", says["note"])
            )
        )
    low, high = _interval(model, candidate.drawn) if says["inputs"] is not None else (None, None)
    return says | {"goodput_low_bit_per_s": low, "goodput_high_bit_per_s": high}


def _interval(model: Model, drawn: list[FlowPath]) -> tuple[float | None, float | None]:
    """Returns the interval of the answer."""
    asked = [path for path in drawn if not model.refusal(path)]
    # Without losses only the window limits the answer of a loss-based model.
    answers = [_cap(path) for path in drawn if path.loss.rate == 0 and model.refusal(path)]
    if asked:
        inputs = [model.inputs_of(path) for path in asked]
        columns = {name: np.array([values[name] for values in inputs]) for name in inputs[0]}
        inside = model.inside(**columns)
        alone = model.goodputs(**{name: values[inside] for name, values in columns.items()})
        caps = np.array([_cap(path) for path in asked])[inside]
        answers += np.minimum(alone * asked[0].sender.mss_bytes * 8, caps).tolist()
    low, high = middle(np.array(answers))
    return _finite(low), _finite(high)


def _cap(path: FlowPath) -> float:
    return min(path.window_bit_per_s, path.bottleneck.link_bit_per_s)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
