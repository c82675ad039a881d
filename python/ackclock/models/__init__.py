"""Analytic models: one record each, on pure functions that follow their papers.

Append new ones to `MODELS`, which also has those of other packages (`ackclock.plugins`). The
records of `ackclock.models.path` derive loss rate, round-trip time and limits from a scenario.
"""

from collections.abc import Iterable
from typing import Any

from ackclock.errors import InputError
from ackclock.models import (
    aimd_chain,
    bbr_bounds,
    bbr_share,
    cardwell,
    codel_cycle,
    cubic_response,
    cubic_sawtooth,
    dctcp_step,
    dualpi2_shares,
    edca,
    explicit_rate,
    floyd_fall,
    hstcp_response,
    hstcp_router,
    mark_response,
    mathis,
    pftk,
    reno_response,
    sawtooth,
    short_transfer,
    square_root,
    steered_queue,
    tfrc,
    tfrcp,
)
from ackclock.models.accuracy import Accuracy
from ackclock.models.domain import Domain
from ackclock.models.inverse import NoSolutionError, Solution, solve
from ackclock.models.model import Assumption, Input, Model, Output, Rule, TableInput, Verdict
from ackclock.models.path import FlowPath
from ackclock.models.resolved import flow_path, flow_paths
from ackclock.plugins import Records

__all__ = [
    "MODELS",
    "Accuracy",
    "Assumption",
    "Domain",
    "FlowPath",
    "Input",
    "InputError",
    "Model",
    "NoSolutionError",
    "Output",
    "Rule",
    "Solution",
    "TableInput",
    "Verdict",
    "answer",
    "chosen",
    "flow_path",
    "flow_paths",
    "model",
    "predictions",
    "solve",
]

MODELS: Records[Model] = Records(
    "ackclock.models",
    Model,
    (
        square_root.MODEL,
        floyd_fall.MODEL,
        mathis.MODEL,
        pftk.MODEL,
        tfrc.MODEL,
        tfrcp.MODEL,
        cardwell.MODEL,
        short_transfer.MODEL,
        sawtooth.MODEL,
        cubic_sawtooth.MODEL,
        codel_cycle.MODEL,
        steered_queue.MODEL,
        dualpi2_shares.MODEL,
        reno_response.MODEL,
        hstcp_response.MODEL,
        cubic_response.MODEL,
        mark_response.MODEL,
        dctcp_step.MODEL,
        bbr_share.MODEL,
        bbr_bounds.MODEL,
        *hstcp_router.MODELS,
        aimd_chain.MODEL,
        explicit_rate.INSTCAP,
        explicit_rate.TCP_ALONE,
        explicit_rate.CONSTANT_SOURCE,
        explicit_rate.effective_capacity.MODEL,
        *edca.MODELS,
    ),
)

# Rates that differ by less are equal, so that a flow at its cap is not reported as above it.
_SAME_RATE = 1 + 1e-9


def model(name: str) -> Model:
    """Returns the model of that name.

    Raises:
        ValueError: There is no such model.
    """
    for record in MODELS:
        if record.name == name:
            return record
    raise InputError.unknown("", "model", name, (record.name for record in MODELS))


def chosen(names: str) -> tuple[Model, ...]:
    """Selects models by name.

    Args:
        names: Comma-separated names. Here `all` means all models, and `usual` those that tables and
            figures of simulations show by default.

    Raises:
        ValueError: There is no model of one of the names.
    """
    asked = [name.strip() for name in names.split(",")]
    wanted = [model(name) for name in asked if name not in ("all", "usual")]
    return tuple(
        record
        for record in MODELS
        if record in wanted or "all" in asked or ("usual" in asked and record.usual)
    )


def predictions(
    points: list[dict[str, Any]], models: Iterable[Model] = MODELS
) -> dict[str, list[Any]]:
    """Returns the models' answers for every flow of every point.

    Args:
        points: Resolved scenarios without a sweep.
        models: Models to evaluate.

    Returns:
        Columns. In `goodput_bit_per_s` is the smaller of the model's rate and the path's cap, None
        if the model does not apply. In `model_bit_per_s` is the model's own rate. Both are sums
        over the flow's instances, like the metric goodput; `limit` names the smaller one. In
        `verdict` is one of `Verdict.words`, in `within` the error band of the goodput as a share,
        None if an assumption is violated. In `violated` are the names of the assumptions that the
        flow violates. In `note` is the reason why the model does not apply, or how the assumptions
        are violated. In `says` is the model's primary output with its unit; `inputs` and `outputs`
        hold all of them by name. The last three are per instance and without caps.
    """
    rows = [
        {"point": index} | answer(record, path)
        for index, scenario in enumerate(points)
        for path in flow_paths(scenario)
        for record in models
    ]
    return {name: [row[name] for row in rows] for name in COLUMNS}


COLUMNS = (
    "point",
    "flow",
    "instances",
    "control",
    "model",
    "label",
    "goodput_bit_per_s",
    "model_bit_per_s",
    "limit",
    "says",
    "verdict",
    "within",
    "violated",
    "note",
    "inputs",
    "outputs",
)


def answer(model: Model, path: FlowPath) -> dict[str, Any]:
    """Returns a model's answer about one flow: a row of `predictions`, without the point."""
    verdict, answered = model.applies(path), None
    if verdict.applies:
        try:
            answered = model.answer_path(path)
        except InputError as error:  # each input is in its domain, but they contradict each other
            verdict = Verdict(str(error))
    says = {
        "flow": path.flow,
        "instances": path.instances,
        "control": path.control.name or path.sender.transport,
        "model": model.name,
        "label": model.label,
        "verdict": verdict.words,
        "within": verdict.within,
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
    link = path.bottleneck.link_bit_per_s * (path.bottleneck.flows if model.divides_link else 1)
    caps = {
        "model": alone,
        "link": link * _SAME_RATE,
        "receive window": path.window_bit_per_s * _SAME_RATE,
    }
    limit = min(caps, key=lambda name: caps[name])
    if limit != "model":
        says["note"] = "; ".join(filter(None, (f"capped by the {limit}", verdict.note)))
    capped = min(alone, link, path.window_bit_per_s)
    instances = path.instances or 0
    total = {"goodput_bit_per_s": capped * instances, "model_bit_per_s": alone * instances}
    return says | total | {"limit": limit, "inputs": inputs, "outputs": outputs}
