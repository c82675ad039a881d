"""Each metric says what its values are about, and has no values about anything else."""

from collections.abc import Callable
from typing import Any

import pytest

from ackclock import Result, Scenario, metrics, simulate
from ackclock.elements.registry import registry
from ackclock.metrics import METRICS, WITH_PARAMETERS, Metric
from ackclock.metrics.subjects import ALL_FLOWS, AT_HOPS, FLOWS, HOPS

from .refusals import refused
from .simulation.paths import Tree, flow, hop, scenario, tcp, udp

#: A metric of each function, for flows `near` and `far` and a step or an outage at 2 s.
MADE: dict[Callable[..., Metric], Metric] = {
    metrics.rate_ratio: metrics.rate_ratio("near", "far"),
    metrics.closeness: metrics.closeness("near", "far"),
    metrics.rate_cov: metrics.rate_cov(0.2, each=True),
    metrics.queueing_delay_quantile: metrics.queueing_delay_quantile(0.9),
    metrics.packet_delay_quantile: metrics.packet_delay_quantile(0.9),
    metrics.equivalence_of: metrics.equivalence_of("near", "far", 0.2),
    metrics.response_to: metrics.response_to("after", 2.0, 0.2),
    metrics.outage_of: metrics.outage_of("worst", 2.0, 3.0, 0.2),
    metrics.recovery_rounds: metrics.recovery_rounds(2.0, 3.0, 0.2),
}


def of_queue(queue: Tree) -> Scenario:
    """Returns flows of several kinds through a queue that records delays, and their own hops."""
    hops = [
        hop("out", "10 Mbit/s", "10 ms", queue, packet_delays=True),
        hop("own", "100 Mbit/s", "1 ms", scope="per_flow"),
        hop("back", "10 Mbit/s", "10 ms"),
    ]
    scalable = tcp("dctcp", "linux", ecn=True, ecn_codepoint="ect1")
    steady = {"kind": "cbr", "rate": "1 Mbit/s"}
    arrivals = {"kind": "poisson", "mean_interval": "300 ms"}
    page = {"kind": "transfer", "size": "20 kB"}
    flows = [
        flow(scalable, "near", count=2, route=["own", "out"]),
        flow(tcp(), "far"),
        flow(udp(), "voice", traffic=steady),
        flow(tcp(), "pages", traffic=page, arrivals=arrivals),
    ]
    return scenario(hops, flows, "5 s", warmup="1 s", sample_interval="100 ms")


@pytest.fixture(scope="module")
def asked() -> Scenario:
    return of_queue({"kind": "dualpi2"})


@pytest.fixture(scope="module")
def result(asked: Scenario) -> Result:
    return simulate(asked)


def subjects_of(result: Result, metric: Metric) -> set[str]:
    return {value.subject for value in metric.values(result)}


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_values_are_of_the_stated_kind(asked: Scenario, result: Result, metric: Metric) -> None:
    names = metric.subjects.names(asked.resolve().tree)
    # Convergence and starvation are of flows that share; other metrics have a value, perhaps an
    # unknown one, of every flow or hop.
    of_sharing = metric.name in ("convergence_time", "starved_share")
    unshared = {"voice", "pages"} if of_sharing else set()
    assert subjects_of(result, metric) == set(names) - unshared


@pytest.mark.parametrize("function", WITH_PARAMETERS, ids=lambda function: function.__name__)
def test_values_of_made_metrics_are_too(
    asked: Scenario, result: Result, function: Callable[..., Metric]
) -> None:
    made = MADE[function]
    arriving = {subject for subject in subjects_of(result, made) if subject.startswith("pages/")}
    assert subjects_of(result, made) - arriving
    assert subjects_of(result, made) - arriving <= set(made.subjects.names(asked.resolve().tree))


def test_kinds_of_subjects(asked: Scenario) -> None:
    tree: dict[str, Any] = asked.resolve().tree
    assert FLOWS.names(tree) == ["near", "far", "voice", "pages"]
    assert HOPS.names(tree) == ["out", "back"]
    assert ALL_FLOWS.names(tree) == ["all flows"]
    assert AT_HOPS.names(tree) == [
        "out", "back", "out[low_latency]", "out[classic]", "out/near", "out/far", "out/voice",
        "out/pages",
    ]  # fmt: skip


WITHOUT_PARAMETERS = [
    element["name"]
    for element in registry()["queues"]
    if not set(element["parameters"].get("required", ()))
]


@pytest.mark.slow
@pytest.mark.parametrize("queue", WITHOUT_PARAMETERS)
def test_the_classes_of_every_queue_are_known(queue: str) -> None:
    """Names of subjects come from facts: no other queue than those has classes."""
    asked = of_queue({"kind": queue})
    metric = METRICS["packet_delay_p50"]
    assert subjects_of(simulate(asked), metric) == set(metric.subjects.names(asked.resolve().tree))


@pytest.mark.parametrize(
    ("names", "subject"),
    [
        (["fairness"], "near"),
        (["goodput"], "out"),
        (["utilisation"], "own"),
        (["goodput", "utilisation"], "all flows"),
        (["packet_delay_p99"], "near"),
    ],
    ids=str,
)
def test_a_table_says_what_a_metric_is_about(
    result: Result, names: list[str], subject: str
) -> None:
    about = [METRICS[name].subjects.nouns for name in names]
    with refused("unknown-name", "subject", subject, *names, *about):
        result.frame(*names, subject=subject)
