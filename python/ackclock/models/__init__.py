"""Analytic models: pure functions that read like their papers, and one record each. Append new ones to `MODELS`."""

from typing import Any

from ackclock.models import pftk, square_root
from ackclock.models.model import Input, Model, Verdict
from ackclock.models.path import FlowPath, flow_path, flow_paths

__all__ = ["MODELS", "FlowPath", "Input", "Model", "Verdict", "flow_path", "flow_paths", "predictions"]

MODELS: tuple[Model, ...] = (square_root.MODEL, pftk.MODEL)


def predictions(points: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Every model's answer for every flow of every point.

    Args:
        points: Resolved scenarios without a sweep.

    Returns:
        Columns. `goodput_bit_per_s` is the smaller of the model's rate and the path's cap, None where the model does
        not apply; `model_bit_per_s` is the model's alone (both are sums over the flow's instances, like the metric
        goodput); `limit` says which of the two it is; `note` why not, or which assumptions are not met.
    """
    rows = [
        {
            "point": index,
            "flow": path.flow,
            "instances": path.instances,
            "control": path.control or path.transport,
            "model": model.name,
            "label": model.label,
        }
        | _answer(model, path)
        for index, scenario in enumerate(points)
        for path in flow_paths(scenario)
        for model in MODELS
    ]
    return {name: [row[name] for row in rows] for name in COLUMNS}


COLUMNS = (
    "point", "flow", "instances", "control", "model", "label", "goodput_bit_per_s", "model_bit_per_s", "limit", "note",
)  # fmt: skip


def _answer(model: Model, path: FlowPath) -> dict[str, Any]:
    verdict = model.applies(path)
    if not verdict.applies:
        return {"goodput_bit_per_s": None, "model_bit_per_s": None, "limit": None, "note": "; ".join(verdict.notes)}
    alone = model.goodput(path) * path.mss_bytes * 8
    caps = {"model": alone, "link": path.link_bit_per_s, "receive window": path.window_bit_per_s}
    limit = min(caps, key=lambda name: caps[name])
    notes = list(verdict.notes)
    if limit != "model":
        notes.insert(0, f"capped by the {limit}")
    total = {"goodput_bit_per_s": caps[limit] * path.instances, "model_bit_per_s": alone * path.instances}
    return total | {"limit": limit, "note": "; ".join(notes)}
