#!/usr/bin/env python3
"""Times models as a user calls them from Python, and writes a section of BENCHMARKS.md.

    .venv/bin/python benches/models.py

The section is "Models". Closed forms are computed for a million points, with all outputs of the
record. Loss rates go from 1e-6 to 0.4, logarithmically spaced; other inputs are one number. Window
chains are solved, too. Curves over psi enumerate their states again in every repeat. Of several
repeats the fastest counts, because disturbances only make a run slower. For the chain's kernel
alone, run `cargo bench --bench chain`.
"""

import os
import time
from collections.abc import Callable

import numpy as np
import section

from ackclock.models import MODELS, aimd_chain, explicit_rate, solve
from ackclock.models import model as named

POINTS = 1_000_000
REPEATS = 7
#: Models that solve a chain for each point.
CHAINS = (
    "aimd_chain",
    "instcap",
    "tcp_alone",
    "constant_source",
    "mm1k",
    "mm1k_burst",
    "hstcp_red",
    "hstcp_window_sim",
)
#: Values of inputs without a default, other than the loss rate and the rate.
GIVEN = {"rtt": 0.1, "size": 100.0, "buffer": 50.0, "psi": 10.0, "decay": 0.1, "flows": 10.0}
#: Number of points of a curve over psi.
CURVE = 20


def fastest(work: Callable[[], object]) -> float:
    """Returns the milliseconds of the fastest of some repeats."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken) * 1e3


def closed_forms() -> list[str]:
    """Returns a row for each closed form: a model without a chain for each point."""
    varied = {"loss": np.geomspace(1e-6, 0.4, POINTS), "rate": np.geomspace(1, 1e6, POINTS)}
    rows = []
    for model in MODELS:
        if model.name not in CHAINS:
            given = {
                field.name: (GIVEN | varied)[field.name]
                for field in model.inputs
                if field.default is None
            }
            rows.append(
                f"| {model.name}, a million points "
                f"| {fastest(lambda m=model, g=given: m.answer(**g)):.0f} ms |"
            )
    return rows


def chains() -> list[str]:
    """Returns rows for one chain of 10 000 windows, and for a thousand of 1000."""
    slowest = max(
        fastest(lambda p=p: aimd_chain.solve(aimd_chain.Bernoulli(p), 10_000))
        for p in (1e-8, 1e-6, 1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9)
    )
    losses = [aimd_chain.Bernoulli(float(p)) for p in np.geomspace(1e-8, 0.9, 1000)]
    many = fastest(lambda: aimd_chain.solve_many(losses, 1000))
    return [
        f"| the chain of 10,000 windows, the slowest of eight loss rates from 1e-8 to 0.9 "
        f"| {slowest:.1f} ms |",
        f"| chains of 1,000 windows for 1,000 loss rates | {many:.0f} ms |",
    ]


def curves() -> list[str]:
    """Returns rows for efficiency over psi with two buffers, as in the publication's figures."""

    def both(source: explicit_rate.InstantaneousCapacity | explicit_rate.Unregulated) -> None:
        explicit_rate.enumerate_states.cache_clear()
        for buffer in (10, 12):
            states = explicit_rate.enumerate_states(
                explicit_rate.Loop(40, buffer, window=65), source
            )
            for psi in np.geomspace(1, 200, CURVE):
                explicit_rate.solve(
                    states, explicit_rate.TwoRateLink.of_sojourns(float(psi))
                ).efficiency()

    instcap = fastest(lambda: both(explicit_rate.InstantaneousCapacity()))
    alone = fastest(lambda: both(explicit_rate.Unregulated()))
    return [
        f"| TCP with INSTCAP, {CURVE} values of psi for two buffers | {instcap:.0f} ms |",
        f"| TCP alone, the same | {alone:.0f} ms |",
    ]


def main() -> None:
    """Prints the table and writes it into BENCHMARKS.md."""
    question = fastest(lambda: solve(named("pftk"), "loss", 100.0, rtt=0.1, timeout=0.4))
    rows = ["| | |", "|---|---:|", *closed_forms(), *chains(), *curves()]
    rows += [f"| the loss rate at which PFTK gives a throughput | {question:.1f} ms |"]
    measured = "\n".join([f"Load average {os.getloadavg()[1]:.1f}.", "", *rows])
    print(measured)
    section.write("BENCHMARKS.md", "models", measured)


if __name__ == "__main__":
    main()
