"""Planted departures of a path: `compare` names each, before anything that follows from it."""

import re
from typing import Any

import numpy as np
import pytest

from ackclock import Scenario, predict, simulate
from ackclock.comparison import Column, Comparison
from ackclock.comparison.answer import sentences
from ackclock.comparison.explanation import explanations

PATH = """\
schema = 1
name = "planted"
duration = "40 s"
warmup = "5 s"
replicates = 3

[[hops]]
name = "there"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "20 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "20 ms"

[[flows]]
name = "main"
route = ["there"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "reno" } }
start = ["0 s", "1 s"]
"""


def path(**changes: Any) -> Scenario:
    """Returns the path with changes to its hop there."""
    return Scenario.from_toml(PATH).replace(
        {name.replace("__", "."): value for name, value in changes.items()}
    )


def beside(scenario: Scenario) -> Comparison:
    """Returns the comparison of all models with the simulation."""
    points = [
        {"assignments": point.assignments, "scenario": point.scenario.resolve().tree}
        for point in scenario.expand()
    ]
    assigned = tuple(point["assignments"] for point in points)
    columns = {
        "predict": Column("predict", assigned, predict(scenario, "all")),
        "simulate": Column("simulate", assigned, simulate(scenario)),
    }
    run = {
        "name": "planted", "seed": "1", "replicates": 3, "versions": {}, "partial": False,
        "points": points, "scenario": scenario.tree,
    }  # fmt: skip
    return Comparison(run, columns)


def first_cause(comparison: Comparison) -> str:
    """Returns the first cause of a difference; empty if none has one."""
    return next((explanation.cause.name for explanation in explanations(comparison)), "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_cross_traffic_counts_by_its_rate(seed: int) -> None:
    share = np.random.default_rng(seed).uniform(0.4, 0.85)
    traffic = {"kind": "cbr", "rate": f"{10 * share:.2f} Mbit/s"}
    cross = {
        "name": "cross", "route": ["there"], "return": ["back"], "transport": {"kind": "udp"},
        "traffic": traffic,
    }  # fmt: skip
    scenario = path()
    scenario = scenario.replace({"flows": [scenario.tree["flows"][0], cross]})
    comparison = beside(scenario)
    assert first_cause(comparison) == "cross_traffic"


@pytest.mark.slow
@pytest.mark.parametrize("spread", ["8 ms", "20 ms"])
def test_reordering_is_named(spread: str) -> None:
    law = {"kind": "uniform", "maximum": spread}
    jitter = [{"kind": "jitter", "distribution": law, "reordering": "allowed"}]
    impaired = path(hops__there__impairments=jitter, flows__main__transport__preset="rfc")
    comparison = beside(impaired)
    assert first_cause(comparison) == "reordering"


@pytest.mark.slow
@pytest.mark.parametrize("rate", ["60 kbit/s", "120 kbit/s"])
def test_a_slow_way_back_is_named(rate: str) -> None:
    comparison = beside(path(hops__back__link__rate=rate, hops__back__queue__limit="30 packets"))
    assert first_cause(comparison) == "return_path"


@pytest.mark.slow
def test_nothing_of_these_is_named_on_a_plain_path() -> None:
    named = {explanation.cause.name for explanation in explanations(beside(path()))}
    assert not named & {"cross_traffic", "reordering", "return_path"}


@pytest.mark.slow
def test_the_answer_has_the_share_of_each_flow() -> None:
    traffic = {"kind": "cbr", "rate": "6 Mbit/s"}
    cross = {
        "name": "cross", "route": ["there"], "return": ["back"], "transport": {"kind": "udp"},
        "traffic": traffic,
    }  # fmt: skip
    scenario = path()
    comparison = beside(scenario.replace({"flows": [scenario.tree["flows"][0], cross]}))
    [sentence] = [
        text for text in sentences(comparison, ["goodput"]) if "share of the link" in text
    ]
    shares = dict(re.findall(r"(main|cross) ([\d.]+)", sentence))
    goodputs = {
        row.subject: row.cells["simulate"].interval
        for row in comparison.rows
        if row.metric == "goodput"
    }
    for name, share in shares.items():
        assert float(share) == pytest.approx(goodputs[name].mean / 1e5, abs=0.05)
    assert set(shares) == {"main", "cross"}
    assert f"main {shares['main']} ± " in sentence
