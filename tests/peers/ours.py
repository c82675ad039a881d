"""Runs the reference scenarios in ackclock."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ackclock
from ackclock.result.tables import matching

from .outcome import Outcome

SCENARIOS = Path(__file__).parent / "scenarios"


def simulate(case: str, replicates: int | None = None, **transport: str) -> list[Outcome]:
    """Returns the outcome of each replicate of a case, with other parameters of its transport.

    Cases are named as in `ns2.cases`. The scenario's number of replicates is the default.
    """
    changes = {f"flows.bulk.transport.{name}": value for name, value in transport.items()}
    return outcomes(load(case).replace(changes), replicates)


def outcomes(scenario: ackclock.Scenario, replicates: int | None = None) -> list[Outcome]:
    """Simulates a scenario; returns the outcome of each replicate."""
    result = ackclock.simulate(scenario.replace(replicates=replicates) if replicates else scenario)
    return [read(result, replicate) for replicate in range(result.run["replicates"])]


def load(case: str) -> ackclock.Scenario:
    """Returns the scenario of a case, named by file, loss recovery, and limit of the queue."""
    scenario, recovery, *limit = case.split()
    changes = {"flows.bulk.transport.recovery": recovery}
    if limit:
        changes["hops.bottleneck.queue.limit"] = f"{limit[0]} packets"
    return ackclock.load(SCENARIOS / f"{scenario}.toml").replace(changes)


def with_losses(case: str, percent: float, seed: int) -> ackclock.Scenario:
    """Returns the scenario of one run of a case with random loss."""
    loss = [{"kind": "iid_loss", "probability": f"{percent:g} %"}]
    return (
        load(case).replace({"hops.bottleneck.impairments": loss}).replace(seed=seed, replicates=1)
    )


def simulate_with_losses(case: str, percent: float, seed: int) -> tuple[Outcome, list[int]]:
    """Returns one run of a case with random loss, and the packets that the bottleneck lost.

    Packets are counted from 0 as they leave it. Beyond the last packet sent here more losses follow
    at the same rate, for a peer that sends more.
    """
    result = ackclock.simulate(with_losses(case, percent, seed), packets=True)
    packets = result.tables["packets"]
    # A packet that is not lost is received a propagation delay later.
    delay = seconds(result.run["points"][0]["scenario"]["hops"][1]["delay"])
    received = matching(packets, {"event": "receive", "kind": "data"})["time_s"].to_numpy() - delay
    lost = matching(packets, {"event": "drop", "hop": "bottleneck"})["time_s"].to_numpy()
    numbers = np.searchsorted(received, lost - 1e-9) + np.arange(len(lost))
    end = len(received) + len(lost)
    beyond = end + np.flatnonzero(np.random.default_rng(seed).random(end + 2000) < percent / 100)
    return read(result, 0), [*numbers.tolist(), *beyond.tolist()]


def read(result: ackclock.Result, replicate: int) -> Outcome:
    """Returns the outcome of one replicate."""
    settings = result.run["points"][0]["scenario"]
    warmup = seconds(settings["warmup"])
    mss = 1000.0
    flows = result.rows("flows", replicate=replicate, flow="bulk").sort_by("instance")
    events = result.rows("events", replicate=replicate, kind="fast_retransmit")
    hop = result.rows("hops", replicate=replicate, hop="bottleneck").sort_by("time_s")
    first, overflow = [], []
    for instance in flows["instance"].to_pylist():
        reactions = matching(events, {"instance": instance})
        times = reactions["time_s"].to_numpy()
        cwnd = reactions["cwnd_before_bytes"].to_numpy() / mss
        first.append(float(cwnd[0]) if len(cwnd) else None)
        overflow.append(float(cwnd[times >= warmup].max()) if (times >= warmup).any() else None)
    since = hop["time_s"].to_numpy() >= warmup - 1e-9

    def counted(column: str) -> float:
        values = hop[column].to_numpy()[since]
        return float(values[-1] - values[0])

    return Outcome(
        goodput_bit_per_s=flows["goodput_bit_per_s"].to_pylist(),
        retransmitted_packets=flows["retransmitted_packets"].to_pylist(),
        timeouts=flows["timeouts"].to_pylist(),
        slow_start_window=first,
        overflow_window=overflow,
        drop_rate=(counted("drops_queue") + counted("drops_aqm")) / counted("arrivals"),
    )


def seconds(text: str) -> float:
    """Converts `"10 s"` to 10."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3}[unit]
