"""Linux's `westwood` against the engine's: rate estimates and goodput.

The kernel does not report its estimate. It is recomputed from a capture at the sender, with a
replica of the kernel's integer arithmetic. The engine's capture is measured in the same manner,
which shows how good the replica is.
"""

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from ackclock import Result, plot
from ackclock.metrics import Interval, interval
from ackclock.reproduction import (
    Band,
    Basis,
    Claim,
    Experiment,
    Origin,
    Outcome,
    Run,
    Setting,
    measured,
)
from ackclock.scenario import Scenario
from ackclock_papers.emulated import ENGINE, LINUX, kernel
from ackclock_papers.replicates import measured as table_of
from ackclock_papers.replicates import quotient
from ackclock_papers.westwood import over_time
from ackclock_papers.westwood.paths import one_bottleneck

SOURCE = "ackclock, guide “Reproducing a paper with ackclock”, 2026"
FLOW, REPLICA = "sender", "westwood_linux"

PATH = one_bottleneck(10, buffer_packets=64, round_trip_s=0.04, loss=0.005, counts_in_service=False)
DURATION_S, WARMUP_S, REPLICATES = 30.0, 5.0, 3

#: CLOCK_MONOTONIC_COARSE moves once per tick (clock_getres(2)); Python has no name for it.
_COARSE_CLOCK = 6
#: Without such a clock the system is not Linux. The engine's replica then has the default of most
#: kernels.
_USUAL_HZ = 250

#: Only statistical agreement is expected: random loss of at most 1 %, SACK on both sides.
STATISTICAL = Band(0.9, 1.1)
#: The same arithmetic on the same ACKs; only the round-trip times of a capture could differ.
FAITHFUL = Band(0.999, 1.001)


def ticks_per_second() -> int:
    """Returns HZ of the running kernel."""
    try:
        return round(1 / time.clock_getres(_COARSE_CLOCK))
    except OSError:
        return _USUAL_HZ


def runs() -> Mapping[str, Run]:
    """Returns runs of one sender over a link with random loss, simulated and emulated.

    Both are captured, and measured with the replica.
    """
    replica = {"kind": REPLICA, "hz": ticks_per_second()}
    control = {
        "kind": "westwood_plus", "estimator": replica, "cut": "at_recovery_end",
        "growth": "per_window",
    }  # fmt: skip
    flow = {
        "name": FLOW,
        "transport": {"kind": "tcp", "preset": "linux", "control": control},
        **PATH.route,
    }
    scenario = Scenario(
        {
            "schema": 1,
            "name": "Westwood+ of Linux",
            "duration": f"{DURATION_S:g} s",
            "warmup": f"{WARMUP_S:g} s",
            "replicates": REPLICATES,
            "sample_interval": "0.1 s",
            "hops": PATH.hops,
            "flows": [flow],
        }
    )
    estimators = {REPLICA: replica}
    return {
        ENGINE: Run(scenario, "simulate", measured=True, estimators=estimators),
        LINUX: Run(scenario, "emulate", measured=True, estimators=estimators),
    }


def replica_rates(measurement: Result, replicate: int) -> over_time.Series:
    """Returns the replica's estimate along a capture, in Mbit/s."""
    rows = measurement.rows(
        "rate_estimates", point=0, replicate=replicate, flow=FLOW, estimator=REPLICA
    )
    return over_time.Series(rows["time_s"].to_numpy(), rows["rate_bit_per_s"].to_numpy() / 1e6)


def conclude(results: Mapping[str, Result]) -> Outcome:
    """Compares estimates and goodput, and the replica with the engine's own estimate."""
    between = (WARMUP_S, DURATION_S)
    own = over_time.mean_estimates(results[ENGINE], FLOW, *between)
    estimates = {
        method: [
            replica_rates(results[measured(method)], replicate).mean(*between)
            for replicate in range(REPLICATES)
        ]
        for method in (ENGINE, LINUX)
    }
    got = {
        method: over_time.mean_goodputs(results[method], FLOW, *between)
        for method in (ENGINE, LINUX)
    }
    claims = (
        Claim.of(
            "The replica along the engine's capture has the estimate that the engine's control has "
            "(their ratio)",
            quotient(estimates[ENGINE], own), FAITHFUL, "times", origin=Origin.STATED,
        ),
        Claim.of(
            "Linux takes the path's rate to be what the engine does (over the engine's, by the "
            "replica)",
            quotient(estimates[LINUX], estimates[ENGINE]), STATISTICAL, "times", documented=None,
            origin=Origin.STATED,
        ),
        Claim.of(
            "Linux gets what the engine gets (goodput over the engine's)",
            quotient(got[LINUX], got[ENGINE]),
            STATISTICAL, "times", documented=None, origin=Origin.STATED,
        ),
    )  # fmt: skip
    rows: dict[tuple[str, ...], dict[str, Interval]] = {
        (method,): {
            "estimate by replica, Mbit/s": interval(estimates[method]),
            "goodput, Mbit/s": interval(got[method]),
        }
        for method in (ENGINE, LINUX)
    }
    rows[ENGINE,]["estimate of the control, Mbit/s"] = interval(own)
    tables = (table_of("Westwood+ of the engine and of the kernel", ("sender",), rows),)
    return Outcome(Basis(), (), partial(_draw, results), claims, _settings(results[LINUX]), tables)


def _settings(run: Result) -> tuple[Setting, ...]:
    listed = [
        (
            "path",
            f"10 Mbit/s, 40 ms there and back, 64 packets, {PATH.there[0].loss:.1%} of data "
            "packets lost",
        ),
        ("sender and receiver", f"preset linux; {kernel(run)}"),
        ("ticks per second (HZ)", str(ticks_per_second())),
        ("run", f"{DURATION_S:g} s, measured from {WARMUP_S:g} s on, {REPLICATES} replicates"),
    ]
    return tuple(Setting(name, value, Origin.CHOSEN) for name, value in listed)


def _draw(results: Mapping[str, Result]) -> Figure:
    curves = [
        plot.Curve(
            "rate of the link, payload", [0, DURATION_S], [PATH.goodput_mbit_per_s] * 2, "reference"
        )
    ]
    for method in (ENGINE, LINUX):
        rates = replica_rates(results[measured(method)], 0)
        curves.append(
            plot.Curve(
                f"{method}, by the replica", list(rates.time_s), list(np.asarray(rates.values))
            )
        )
    return plot.curves(
        curves, "time (s)", "rate estimate (Mbit/s)", "Westwood+ of the engine and of Linux"
    )


EXPERIMENT = Experiment(
    "westwood-validation",
    "westwood",
    SOURCE,
    "Westwood+ on Linux",
    "Does Linux's Westwood+ have the same estimates and goodput as the engine's?",
    "At 0.5 % random loss estimates and goodput agree within a tenth; the kernel's estimate is "
    "recomputed from a capture.",
    REPLICATES * (DURATION_S + 5.0),
    conclude,
    runs,
)
