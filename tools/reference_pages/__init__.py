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

__all__ = ["INDEX", "PAGES", "elements"]

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

#: Contents of all pages, by group, in the order in which a user needs them. In the line of a kind,
#: `{labels}` stands for the labels of its elements.
INDEX: dict[str, dict[str, str]] = {
    "Describe a scenario": {
        "scenario": "All fields of a scenario: hops, flows, times and the sweep.",
        "presets": "Values of the TCP parameters in each preset, side by side.",
        "transports": "TCP with all its parameters, UDP with and without a rate control, QUIC.",
        "traffic": "Sources of data: {labels}.",
        "sizes": "Distributions of transfer sizes.",
        "controls": "Congestion controls of TCP, with parameters and what each does at a loss.",
        "rate_controls": "Controls of the sending rate over UDP.",
        "estimators": "Estimators of a path's rate from ACKs, as TCP Westwood uses them.",
        "queues": "Queue disciplines of a hop, and when they drop or mark packets.",
        "links": "Links of constant, scheduled, random or recorded rate, and wireless stations.",
        "media": "Wireless cells, for which several hops contend.",
        "impairments": "What befalls packets at a hop: {labels}.",
        "feedback": "Algorithms that turn a link's capacity into the rate fed back to a host.",
    },
    "Read results": {
        "results": "Files of a result, and every column of its tables.",
        "metrics": "Definitions of goodput, loss, delay and all other metrics.",
        "figures": "Figures that `ackclock plot` draws, and their options.",
        "comparisons": "Columns of a comparison of methods, and causes of a difference.",
    },
    "Predict, decide, reproduce": {
        "models": "Formulas, inputs, outputs and assumptions of the models behind `predict`.",
        "advice": "Targets and regions behind `ackclock advise`.",
        "experiments": "Published tables and figures that `ackclock reproduce` computes.",
    },
}
