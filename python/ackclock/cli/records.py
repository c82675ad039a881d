"""Records of every registry by name, as plain data: those of the engine and of this package."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ackclock.elements.registry import kinds, registry, schema

if TYPE_CHECKING:
    from ackclock.reproduction import Experiment

#: Plain data, by name.
Records = dict[str, dict[str, Any]]

#: A kind that has no records: the JSON schema of scenarios.
SCHEMA = "schema"


def shown() -> list[str]:
    """Returns the kinds that can be shown: elements, the other registries, and the schema."""
    return [*_registries(), SCHEMA]


def _registries() -> dict[str, Callable[[], Records]]:
    return {kind: partial(_elements, kind) for kind in kinds()} | {
        "presets": _presets,
        "models": _models,
        "metrics": _metrics,
        "figures": _figures,
        "tables": partial(_elements, "tables"),
        "counters": partial(_elements, "counters"),
        "causes": _causes,
        "experiments": _experiments,
    }


def records(kind: str) -> Records:
    """Returns every record of a kind by name, as plain data."""
    return _registries()[kind]()


def _elements(kind: str) -> Records:
    return {entry["name"]: entry for entry in registry()[kind]}


def _presets() -> Records:
    described = schema()["$defs"]["Preset"]["oneOf"]
    summaries = {preset["const"]: preset.get("description", "") for preset in described}
    presets = registry()["presets"]
    return {
        name: {"name": name, "summary": summaries[name], "values": values}
        for name, values in presets.items()
    }


def _models() -> Records:
    from ackclock.models import MODELS

    return {model.name: model.described() for model in MODELS}


def _metrics() -> Records:
    from ackclock.metrics import METRICS

    return {
        metric.name: {
            "name": metric.name,
            "label": metric.label,
            "unit": metric.unit,
            "subjects": metric.subjects.nouns,
            "summary": metric.summary,
        }
        for metric in METRICS.values()
    }


def _figures() -> Records:
    from ackclock.plot import catalogue

    return catalogue()


def _causes() -> Records:
    from ackclock.comparison import CAUSES

    return {cause.name: {"name": cause.name, "summary": cause.sentence} for cause in CAUSES}


def _experiments() -> Records:
    from ackclock.reproduction import experiments

    return {name.name: experiment(name) for name in experiments()}


def experiment(record: "Experiment") -> dict[str, Any]:
    """Returns an experiment's record as plain data, without its computation."""
    return {
        "name": record.name,
        "label": record.shows,
        "summary": record.question,
        "reference": record.source,
        "group": record.group,
        "says": record.says,
        "cost_s": record.cost_s,
    }
