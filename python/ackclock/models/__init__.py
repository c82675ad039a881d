"""Analytic models: pure functions that read like their papers, and one record each. Append new ones to `MODELS`.

The records of `ackclock.models.path` say how loss rate, round-trip time and limits follow from a
scenario.
"""

from collections.abc import Iterable
from typing import Any

from ackclock.errors import InputError
from ackclock.models import (
    aimd_chain,
    cardwell,
    cubic_response,
    edca,
    explicit_rate,
    floyd_fall,
    hstcp_response,
    hstcp_router,
    mathis,
    pftk,
    reno_response,
    sawtooth,
    short_transfer,
    square_root,
    tfrc,
    tfrcp,
)
from ackclock.models.domain import Domain
from ackclock.models.inverse import NoSolutionError, Solution, solve
from ackclock.models.model import Assumption, Input, Model, Output, Rule, Verdict
from ackclock.models.path import FlowPath
from ackclock.models.resolved import flow_path, flow_paths
from ackclock.suggestion import suggestion

__all__ = [
    "MODELS", "Assumption", "Domain", "FlowPath", "Input", "InputError", "Model", "NoSolutionError", "Output", "Rule",
    "Solution", "Verdict", "answer", "chosen", "flow_path", "flow_paths", "model", "predictions", "solve",
]  # fmt: skip

MODELS: tuple[Model, ...] = (
    square_root.MODEL,
    floyd_fall.MODEL,
    mathis.MODEL,
    pftk.MODEL,
    tfrc.MODEL,
    tfrcp.MODEL,
    cardwell.MODEL,
    short_transfer.MODEL,
    sawtooth.MODEL,
    reno_response.MODEL,
    hstcp_response.MODEL,
    cubic_response.MODEL,
    *hstcp_router.MODELS,
    aimd_chain.MODEL,
    explicit_rate.INSTCAP,
    explicit_rate.TCP_ALONE,
    explicit_rate.CONSTANT_SOURCE,
    explicit_rate.effective_capacity.MODEL,
    *edca.MODELS,
)

# Rates that differ by less are equal: a flow at its cap is not said to be above it.
_SAME_RATE = 1 + 1e-9


def model(name: str) -> Model:
    """The record of that name.

    Raises:
        ValueError: There is none.
    """
    for one in MODELS:
        if one.name == name:
            return one
    raise InputError(
        "unknown-name",
        "",
        f'unknown model "{name}"; {suggestion(name, (one.name for one in MODELS))}',
    )


def chosen(names: str) -> tuple[Model, ...]:
    """Models by a word or by their names.

    Args:
        names: Names with commas between them, of which `all` stands for all of them, and `usual`
            for those that tables and figures show beside a simulation without being asked to.

    Raises:
        ValueError: There is no model of one of the names.
    """
    asked = [name.strip() for name in names.split(",")]
    wanted = [model(name) for name in asked if name not in ("all", "usual")]
    return tuple(
        one for one in MODELS if one in wanted or "all" in asked or ("usual" in asked and one.usual)
    )


def predictions(
    points: list[dict[str, Any]], models: Iterable[Model] = MODELS
) -> dict[str, list[Any]]:
    """Models' answers for every flow of every point.

    Args:
        points: Resolved scenarios without a sweep.
        models: Which are asked.

    Returns:
        Columns. `goodput_bit_per_s` is the smaller of the model's rate and the path's cap, None
        where the model does not apply; `model_bit_per_s` is the model's alone (both are sums over
        the flow's instances, like the metric goodput); `limit` says which of the two it is.
        `verdict` is one of `Verdict.words`, `violated` holds the names of the assumptions that the
        flow violates, `note` why the model does not apply, or how they are violated. `says` is the
        model's primary output in words; `inputs` and `outputs` are all of its own, by name. These
        three are of one instance and without caps.
    """
    rows = [
        {"point": index} | answer(one, path)
        for index, scenario in enumerate(points)
        for path in flow_paths(scenario)
        for one in models
    ]
    return {name: [row[name] for row in rows] for name in COLUMNS}


COLUMNS = (
    "point", "flow", "instances", "control", "model", "label", "goodput_bit_per_s", "model_bit_per_s", "limit",
    "says", "verdict", "violated", "note", "inputs", "outputs",
)  # fmt: skip


def answer(model: Model, path: FlowPath) -> dict[str, Any]:
    """A model's answer about one flow: a row of `predictions`, without the point."""
    verdict, answered = model.applies(path), None
    if verdict.applies:
        try:
            answered = model.answer_path(path)
        except InputError as error:  # one is in its domain, but not beside the others
            verdict = Verdict(str(error))
    says = {
        "flow": path.flow,
        "instances": path.instances,
        "control": path.control.name or path.sender.transport,
        "model": model.name,
        "label": model.label,
        "verdict": verdict.words,
        "violated": [name for name, _ in verdict.violated],
        "note": verdict.note,
    }
    if answered is None:
        return says | dict.fromkeys(
            ("goodput_bit_per_s", "model_bit_per_s", "limit", "says", "inputs", "outputs")
        )
    inputs, outputs = answered
    primary = model.output()
    says["says"] = f"{primary.name} {outputs[primary.name]:.4g} {primary.unit}"
    alone = outputs[model.goodput] * path.sender.mss_bytes * 8
    caps = {
        "model": alone,
        "link": path.bottleneck.link_bit_per_s * _SAME_RATE,
        "receive window": path.window_bit_per_s * _SAME_RATE,
    }
    limit = min(caps, key=lambda name: caps[name])
    if limit != "model":
        says["note"] = "; ".join(filter(None, (f"capped by the {limit}", verdict.note)))
    capped = min(alone, path.bottleneck.link_bit_per_s, path.window_bit_per_s)
    instances = path.instances or 0
    total = {"goodput_bit_per_s": capped * instances, "model_bit_per_s": alone * instances}
    return says | total | {"limit": limit, "inputs": inputs, "outputs": outputs}
