#!/usr/bin/env python3
"""TFRC in ns-2 and in ackclock.

As a program it runs all cases in ns-2 and writes the results beside itself, for machines without
ns-2:

    python -m tests.peers.tfrc            # writes reference-tfrc.json
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ackclock
from ackclock.result.tables import matching

from . import ns2, ours

HERE = Path(__file__).parent
SCRIPT = HERE / "tfrc.tcl"
REFERENCE = HERE / "reference-tfrc.json"
COMMAND = "python -m tests.peers.tfrc"
#: Seconds between two counts of delivered data.
INTERVAL = 0.5

Series = NDArray[np.float64]
Quantities = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One scenario in both programs."""

    scenario: str
    #: Changes of ackclock's scenario, by path.
    changes: dict[str, object]
    #: Options of tfrc.tcl.
    options: dict[str, object]
    #: Runs of ns-2.
    runs: int
    #: Runs of ackclock: each mean has four standard errors and its 95 % interval within the band.
    ours: int
    warmup_s: float
    duration_s: float
    #: Number of TFRC flows; they come first.
    tfrc: int = 1


def cases() -> dict[str, Case]:
    """Returns the cases by name."""
    # ns-2's t_RTO is that of a TCP, RTT + 4 of its deviation; minrto_ makes it 4 R.
    loss = {
        f"loss {percent:g} %": Case(
            "tfrc-loss",
            {
                "hops.bottleneck.impairments": [
                    {"kind": "iid_loss", "probability": f"{percent:g} %"}
                ]
            },
            {"loss": f"0 {percent / 100:g}", "minrto": 0.28},
            20,
            8,
            20.0,
            200.0,
        )
        for percent in (0.5, 2, 5)
    }
    return loss | {
        "with tcp": Case(
            "tfrc-tcp",
            {},
            {
                "tfrc": 4,
                "tcp": 4,
                "rate": 8e6,
                "limit": 84,
                "start": 2,
                "minrto": 0.4,
                "duration": 150,
            },
            20,
            4,
            30.0,
            150.0,
            tfrc=4,
        ),
        "step of loss": Case(
            "tfrc-step",
            {},
            {"loss": "0 0.005 60 0.04 120 0.005", "minrto": 0.28, "duration": 240},
            40,
            24,
            20.0,
            240.0,
        ),
    }


def quantities(case: Case, times: Series, delivered: Series, drop_rate: float) -> Quantities:
    """Returns the compared quantities of one run.

    `delivered` has the packets that each flow has delivered, with a row for each time.
    """

    def rate(flows: Series, start: float, end: float) -> float:
        """Returns the mean rate over flows, in bit/s."""
        rows = [np.searchsorted(times, moment - 1e-6) for moment in (start, end)]
        return float((flows[rows[1]] - flows[rows[0]]).mean()) * ns2.PAYLOAD_BITS / (end - start)

    def variation(flows: Series, scale: float) -> float:
        """Returns the coefficient of variation of the rate at a time scale, averaged over flows."""
        since = flows[times >= case.warmup_s - 1e-6]
        bins = np.diff(since[:: round(scale / INTERVAL)], axis=0)
        return float((bins.std(axis=0) / bins.mean(axis=0)).mean())

    tfrc, tcp = delivered[:, : case.tfrc], delivered[:, case.tfrc :]
    if case.scenario == "tfrc-step":
        before, late, after = rate(tfrc, 20, 60), rate(tfrc, 80, 120), rate(tfrc, 160, 240)
        return {
            "rate before": before,
            "rate in the loss": late,
            "rate after": after,
            "rate in the first 5 s of the loss": rate(tfrc, 60, 65),
            "rate in the first 10 s after it": rate(tfrc, 120, 130),
        }
    values = {"rate": rate(tfrc, case.warmup_s, case.duration_s)}
    values |= {f"variation over {scale:g} s": variation(tfrc, scale) for scale in (0.5, 1, 2)}
    if tcp.shape[1]:
        values["rate of tcp"] = rate(tcp, case.warmup_s, case.duration_s)
        values["ratio to tcp"] = values["rate"] / values["rate of tcp"]
        values["variation of tcp over 1 s"] = variation(tcp, 1)
        values["drop rate"] = drop_rate
    return values


def theirs(name: str) -> list[Quantities]:
    """Returns ns-2's quantities, one record per run."""
    case = cases()[name]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda seed: run(case, seed), seeds(case)))


def seeds(case: Case) -> range:
    """Returns the seeds of a case's runs."""
    return range(1, case.runs + 1)


def run(case: Case, seed: int) -> Quantities:
    """Runs tfrc.tcl once."""
    options = {**case.options, "seed": seed, "interval": INTERVAL}
    return read(case, ns2.printed(SCRIPT, options))


def read(case: Case, lines: Iterable[str]) -> Quantities:
    """Returns the quantities from the output of tfrc.tcl."""
    counts: list[Sequence[float]] = []
    drop_rate = 0.0
    for line in lines:
        kind, *words = line.split()
        if kind == "count":
            counts.append([float(word) for word in words])
        else:
            drop_rate = float(words[3]) / float(words[1])
    table = np.array(counts)
    return quantities(case, table[:, 0], table[:, 1:], drop_rate)


def mine(name: str) -> list[Quantities]:
    """Returns ackclock's quantities."""
    case = cases()[name]
    scenario = ackclock.load(ours.SCENARIOS / f"{case.scenario}.toml").replace(case.changes)
    result = ackclock.simulate(scenario.replace(replicates=case.ours))
    return [of_replicate(case, result, replicate) for replicate in range(case.ours)]


def of_replicate(case: Case, result: ackclock.Result, replicate: int) -> Quantities:
    """Returns the compared quantities of one of our runs."""
    samples = result.rows("samples", replicate=replicate)
    columns = []
    for flow in ("tfrc", "tcp"):
        of_flow = matching(samples, {"flow": flow})
        for instance in sorted(set(of_flow["instance"].to_pylist())):
            series = matching(of_flow, {"instance": instance}).sort_by("time_s")
            times = series["time_s"].to_numpy()
            columns.append(series["delivered_bytes"].to_numpy() / 1000.0)
    hop = result.rows("hops", replicate=replicate, hop="bottleneck").sort_by("time_s")
    drops, arrivals = (hop[column].to_numpy()[-1] for column in ("drops_queue", "arrivals"))
    return quantities(case, times, np.stack(columns, axis=1), float(drops) / float(arrivals))


def recorded() -> dict[str, list[Quantities]]:
    """Returns the output of `ns2.record`, by case."""
    by_case: dict[str, list[Quantities]] = json.loads(REFERENCE.read_text())["cases"]
    return by_case


def measured() -> dict[str, list[Quantities]]:
    """Runs every case in ns-2; values have six digits."""
    return {
        name: [
            {key: float(f"{value:.6g}") for key, value in values.items()} for values in theirs(name)
        ]
        for name in cases()
    }


if __name__ == "__main__":
    sys.exit(ns2.record(REFERENCE, COMMAND, measured))
