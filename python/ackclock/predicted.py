"""What models say of captured connections, measured beside predicted: the table `predictions` of a measurement."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.estimates import KEYS, Estimate, Resampled
from ackclock.metrics.bootstrap import middle
from ackclock.metrics.tables import column
from ackclock.models import FlowPath, Model, answer
from ackclock.models import capture as captured
from ackclock.models import flow_paths as scenario_paths
from ackclock.models.path import RttLaw
from ackclock.result import Result

__all__ = ["COLUMNS", "predictions"]

Array = NDArray[np.float64]
Row = dict[str, Any]

COLUMNS = (
    *KEYS, "instances", "control", "model", "label", "goodput_bit_per_s", "goodput_low_bit_per_s",
    "goodput_high_bit_per_s", "model_bit_per_s", "limit", "measured_bit_per_s", "measured_low_bit_per_s",
    "measured_high_bit_per_s", "says", "verdict", "violated", "note", "inputs", "outputs",
)  # fmt: skip

# A chain is solved anew for each: enough for the interval's ends to be good to a tenth of its width. Chosen here.
_RESAMPLES = 100


def predictions(
    result: Result, connections: Sequence[Row], found: Sequence[Estimate], models: Sequence[Model]
) -> list[Row]:
    """One row for each connection and model.

    They have the columns of `ackclock.models.predictions`, and `replicate` and `instance`; `goodput_low_bit_per_s` and
    `goodput_high_bit_per_s`, between which the model's answer lies as far as its inputs are known; and
    `measured_bit_per_s`, `measured_low_bit_per_s`, `measured_high_bit_per_s`, the goodput of the table `estimates`.
    """
    rows = []
    for connection, estimate in zip(connections, found, strict=True):
        why_not = captured.why_not(connection, estimate.row)
        paths = [] if why_not else _paths(result, connection, estimate)
        measured = {
            f"measured{end}_bit_per_s": estimate.row[f"goodput{end}_bit_per_s"] for end in ("", "_low", "_high")
        }
        for model in models:
            says = _unasked(connection, model, why_not) if why_not else _answer(model, paths, estimate.resampled)
            rows.append({name: connection[name] for name in KEYS} | says | measured)
    return rows


def _paths(result: Result, connection: Row, estimate: Estimate) -> list[FlowPath]:
    scenario = result.points[connection["point"]]["scenario"]
    known = {path.flow: path for path in (scenario_paths(scenario) if scenario else [])}
    law = _law(result.rows("rtt_law", **{name: connection[name] for name in KEYS}))
    return captured.flow_paths(connection, estimate.row, law, known.get(connection["flow"]))


def _law(buckets: pa.Table) -> RttLaw | None:
    """The middle of each bucket, whole round trips if they are known."""
    if buckets.num_rows == 0:
        return None
    low, high, samples = (column(buckets, name).astype(float) for name in ("low_s", "high_s", "samples"))
    whole = column(buckets, "part") == "whole"
    chosen = whole if whole.any() else ~whole
    middles = (low[chosen] + high[chosen]) / 2
    return RttLaw(tuple(middles), tuple(samples[chosen])) if (middles > 0).all() else None


def _unasked(connection: Row, model: Model, why_not: str) -> Row:
    unknown = ("goodput_bit_per_s", "model_bit_per_s", "limit", "says", "inputs", "outputs")
    more = ("goodput_low_bit_per_s", "goodput_high_bit_per_s")
    return dict.fromkeys((*unknown, *more)) | {
        "flow": connection["flow"], "instances": 1, "control": "tcp", "model": model.name, "label": model.label,
        "verdict": "does not apply", "violated": [], "note": why_not,
    }  # fmt: skip


def _answer(model: Model, paths: list[FlowPath], resampled: Resampled | None) -> Row:
    """Of the first path about which the model can be asked."""
    path = next((one for one in paths if model.applies(one).applies), paths[0])
    says = answer(model, path)
    if len(paths) > 1 and says["inputs"] is not None:
        says["note"] = "; ".join(filter(None, (f"taken for {path.control}: no capture tells", says["note"])))
    low, high = (None, None)
    if resampled is not None and says["inputs"] is not None:
        low, high = _interval(model, path, resampled)
    return says | {"goodput_low_bit_per_s": low, "goodput_high_bit_per_s": high}


def _interval(model: Model, path: FlowPath, resampled: Resampled) -> tuple[float | None, float | None]:
    """Where the answer lies as loss and mean round-trip time are resampled.

    The law of the round-trip time is left out: but for a link's rate the mean is all that a goodput takes of it.
    """
    drawn = zip(resampled.indication_rate[:_RESAMPLES].tolist(), resampled.rtt_s[:_RESAMPLES].tolist(), strict=True)
    paths = [replace(path, loss=loss, round_trip_s=rtt, rtt_law=None) for loss, rtt in drawn if loss >= 0 and rtt > 0]
    asked = [one for one in paths if model.applies(one).applies]
    # Without losses a model of losses is held back by the window alone.
    answers = [_cap(one) for one in paths if one.loss == 0 and one not in asked]
    if asked:
        inputs = [model.inputs_of(one) for one in asked]
        outputs = model.answer(**{name: np.array([one[name] for one in inputs]) for name in inputs[0]})
        alone = (outputs[model.goodput] * path.mss_bytes * 8).tolist()
        answers += [min(rate, _cap(one)) for rate, one in zip(alone, asked, strict=True)]
    low, high = middle(np.array(answers))
    return _finite(low), _finite(high)


def _cap(path: FlowPath) -> float:
    return min(path.window_bit_per_s, path.link_bit_per_s)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
