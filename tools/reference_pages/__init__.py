"""The generated reference pages, one module each."""

from collections.abc import Callable

from reference_pages import (
    advice,
    comparisons,
    elements,
    experiments,
    figures,
    metrics,
    models,
    presets,
    results,
    scenario,
)
from reference_pages.schemas import Json

__all__ = ["PAGES", "elements"]

#: Pages other than those of element kinds, by name: functions of the registry and of a scenario's
#: schema.
PAGES: dict[str, Callable[[Json, Json], str]] = {
    "presets": presets.text,
    "scenario": scenario.text,
    "models": models.text,
    "metrics": metrics.text,
    "figures": figures.text,
    "experiments": experiments.text,
    "results": results.text,
    "comparisons": comparisons.text,
    "advice": advice.text,
}
