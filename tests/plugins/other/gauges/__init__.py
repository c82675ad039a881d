"""A model, a metric, a figure, an experiment and a suite of another package than ackclock.

It uses public names only: see docs/decisions/0021-other-packages.md.
"""

from collections.abc import Mapping

import numpy as np

from ackclock import Result, load, plot
from ackclock.evaluation import SuiteFile
from ackclock.metrics import FLOWS, Metric, Value, by_replicate, interval
from ackclock.models import Accuracy, FlowPath, Input, Model, Output
from ackclock.plot import FigureKind
from ackclock.reproduction import Band, Basis, Claim, Experiment, Origin, Outcome, Run


def _refusal(path: FlowPath) -> str:
    return "" if path.bottleneck.flows else "nobody knows how many flows share the link"


MODEL = Model(
    name="equal_share",
    label="equal share",
    summary="Each flow has the same share of the bottleneck.",
    reference="nobody, 2026",
    formula="x = C / n",
    inputs=(
        Input("rate", "C", "segments/s", "rate of the link", on_wire=True),
        Input("flows", "n", "", "flows that share it"),
    ),
    outputs=(Output("share", "x", "segments/s", "rate of a flow"),),
    goodput="share",
    assumptions=(),
    evaluate=lambda rate, flows: {"share": rate / flows},
    inputs_of=lambda path: {
        "rate": path.bottleneck.segments_per_s,
        "flows": path.bottleneck.flows,
    },
    refusal=_refusal,
    accuracy=(Accuracy(("share",), 0.0, "proof", "it is the definition of an equal share"),),
    usual=True,
)


def _delivered(result: Result) -> list[Value]:
    rows = result.rows("flows").to_pylist()
    return [
        Value(row["point"], row["replicate"], row["flow"], row["delivered_bytes"]) for row in rows
    ]


DELIVERED = Metric(
    "delivered", "delivered", "Payload delivered in the whole run.", "bytes", "MB", 1e-6, FLOWS,
    _delivered, settles=False,
)  # fmt: skip


def bars(result: Result) -> plot.FigureSpec:
    """Shows what each flow delivered in its first run."""
    values = by_replicate(result, DELIVERED)
    flows = [subject for point, subject in values if point == 0]
    megabytes = [values[0, flow][0] * DELIVERED.shown_per_unit for flow in flows]
    places = np.arange(len(flows), dtype=float)
    series = plot.Series("line-1", places, plot.values_of(megabytes), "marks", "delivered")
    x = plot.Axis("flow", ticks=tuple(zip(places, flows, strict=True)), is_choice=True)
    y = plot.Axis("delivered", "MB", begin=0.0)
    return plot.FigureSpec("delivered", "What flows delivered", x, y, (plot.Panel((series,)),))


BARS = FigureKind("delivered", "What each flow delivered.", ("simulate",), bars, (), ("flows",))


def _conclude(results: Mapping[str, Result]) -> Outcome:
    [values] = by_replicate(results["first"], DELIVERED).values()
    megabytes = interval([value * 1e-6 for value in values.values()])
    claim = Claim.of(
        "Ten seconds of 10 Mbit/s deliver 10 MB or more", megabytes, Band(10, 12.5), "MB",
        origin=Origin.STATED,
    )  # fmt: skip
    return Outcome(Basis(), (), None, (claim,))


def _runs() -> Mapping[str, Run]:
    return {"first": Run(load("first.toml").replace({"duration": "10 s", "replicates": 2}))}


EXPERIMENTS = (
    Experiment(
        "gauges-figure-1", "gauges", "A. Nobody, Gauges, 2026", "Figure 1",
        "How much do ten seconds deliver?", "Ten megabytes.", 1.0, _conclude, _runs,
    ),
)  # fmt: skip

SUITE = SuiteFile("gauges", "gauges", "suite.toml")
