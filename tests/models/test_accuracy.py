"""Models are as close to the simulator as their verdicts say."""

import csv
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, metrics, models, simulate

RECORDED = Path(__file__).parents[2] / "benches" / "accuracy.csv"


def test_usual_models_promise_at_most_fifteen_percent() -> None:
    for model in models.MODELS:
        for band in model.accuracy:
            assert band.origin in ("proof", "publication", "measured")
            assert band.source
            assert (band.within == 0) == (band.origin == "proof")
            assert not model.usual or band.within <= 0.15, model.name


def test_recorded_answers_are_within_the_bands_of_today() -> None:
    lines = [line for line in RECORDED.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    inside = 0
    for row in rows:
        band = models.model(row["model"]).accuracy_of(row["output"])
        inside += band is not None and abs(float(row["error"])) <= band.within
    assert len(rows) > 200
    assert inside >= 0.95 * len(rows)


def at_drop_tail(control: dict[str, Any], preset: str, limit: int) -> Scenario:
    hop = {
        "name": "link",
        "link": {"kind": "constant", "rate": "20 Mbit/s"},
        "queue": {"kind": "droptail", "limit": f"{limit} packets"},
        "delay": "20 ms",
    }
    transport = {"kind": "tcp", "preset": preset, "control": control}
    flow = {"name": "flow", "route": ["link"], "return": ["back"], "transport": transport}
    return Scenario(
        {
            "schema": 1,
            "name": "at drop-tail",
            "duration": "70 s",
            "warmup": "20 s",
            "replicates": 1,
            "hops": [hop, {**hop, "name": "back"}],
            "flows": [flow | {"traffic": {"kind": "bulk"}}],
        }
    )


@pytest.mark.parametrize("limit", [30, 70, 150])
@pytest.mark.parametrize(
    ("model", "kind", "preset"),
    [
        ("sawtooth", "reno", "rfc"),
        ("cubic_sawtooth", "cubic", "rfc"),
        ("cubic_sawtooth", "cubic", "linux"),
    ],
)
def test_a_saw_tooth_is_within_its_band(model: str, kind: str, preset: str, limit: int) -> None:
    scenario = at_drop_tail({"kind": kind}, preset, limit)
    [path] = models.flow_paths(scenario.resolve().tree)
    answer = models.answer(models.model(model), path)
    assert answer["within"] is not None, answer["note"]
    result = simulate(scenario)
    for output, metric in (("goodput", "goodput"), ("mean_rtt", "rtt")):
        [simulated] = metrics.by_replicate(result, metrics.metric(metric))[0, "flow"].values()
        predicted = (
            answer["goodput_bit_per_s"] if output == "goodput" else answer["outputs"][output]
        )
        band = models.model(model).accuracy_of(output)
        assert band is not None
        assert predicted == pytest.approx(simulated, rel=band.within)
