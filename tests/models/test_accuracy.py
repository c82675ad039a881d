"""Models are as close to the simulator as their verdicts say."""

import csv
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, metrics, models, simulate

BENCH = Path(__file__).parents[2] / "benches" / "accuracy.py"
RECORDED = BENCH.with_suffix(".csv")
SEED = "900"


def test_usual_models_promise_at_most_fifteen_percent() -> None:
    for model in models.MODELS:
        for band in model.accuracy:
            assert band.origin in ("proof", "publication", "measured")
            assert band.source
            assert (band.within == 0) == (band.origin == "proof")
            assert not model.usual or band.within <= 0.15, model.name


@pytest.mark.slow
def test_todays_predictions_are_those_that_were_compared() -> None:
    """The recorded errors are those of today's models, whose scenarios are drawn again.

    A model that is changed needs new draws of the bench.
    """
    place = importlib.util.spec_from_file_location("accuracy", BENCH)
    assert place is not None
    assert place.loader is not None
    bench = importlib.util.module_from_spec(place)
    place.loader.exec_module(bench)
    lines = [line for line in RECORDED.read_text("utf-8").splitlines() if line[0] != "#"]
    rows = [row for row in csv.DictReader(lines) if row["seed"] == SEED]
    today = {
        (family.__name__, flow, model.name, output): value
        for family in bench.FAMILIES
        for flow, model, output, value, _ in bench.predicted(bench.drawn(family, int(SEED)))
    }
    recorded = {
        (row["family"], row["flow"], row["model"], row["output"]): float(row["predicted"])
        for row in rows
    }
    assert today == pytest.approx(recorded, rel=1e-5)


def test_the_record_quotes_the_bands_of_today() -> None:
    lines = [line for line in RECORDED.read_text("utf-8").splitlines() if line[0] != "#"]
    for row in csv.DictReader(lines):
        band = models.model(row["model"]).accuracy_of(row["output"])
        assert band is not None
        assert int(row["within"]) == (abs(float(row["error"])) <= band.within), row


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


@pytest.mark.slow
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
