#!/usr/bin/env python3
"""Tries a linear model of the stability of TCP Westwood with ABSE, and holds it against the engine.

    .venv/bin/python benches/abse_stability.py

The document announces such a model in its section 6 and states nothing of it. This one has N equal
flows at a RED router, as Hollot, Misra, Towsley and Gong (INFOCOM 2001) have for Reno. At a loss
the window W becomes s T. Here s is the estimate, and T the round-trip time without a queue.
Windows and queue follow

    dW/dt = 1/R - p(t - R) (W/R) (W - s T),    dq/dt = N W/R - C,    R = T + q/C.

While the queue is busy, a flow is delivered its share of the link whatever its window is: s = C/N.
So the filter of the estimate, and its sampling, are not in the loop.
The equilibrium and the loop are

    p (W - C T/N) W = 1;    W = (C T + q)/N;    p = 2 K (q - low);
    L(s) = (2 K/(p R)) (N/R) exp(-s R) w/(s + w) / ((s + A)(s + 1/R));    A = p (2 W - C T/N)/R.

K is the slope of RED's probability. Its drops are spaced evenly, which doubles it (Floyd and
Jacobson 1993, section 7). The rate of its average is w.

Prints a line for each of three operating points. It has the queue and the phase margin of the
model, and the queue of the engine. There the time constant is the adaptive one, or is constant.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from ackclock import Result, Scenario, simulate

PACKET_BYTES = 1500
DURATION_S, WARMUP_S, REPLICATES = 90, 30, 4
#: Time constants of the filter; None is the adaptive one.
FILTERS = (None, "100 ms", "5 s")


class Point(NamedTuple):
    """An operating point: N flows, link in packets/s, T in s, and the parameters of RED."""

    flows: int
    rate: float
    rtt: float
    low: int
    high: int
    most: float
    weight: float


POINTS = (
    Point(60, 5000, 0.1, 50, 500, 0.1, 0.0005),
    Point(60, 5000, 0.2, 100, 300, 0.3, 0.002),
    Point(60, 5000, 0.3, 100, 150, 0.5, 0.0005),
)


def slope(point: Point) -> float:
    """Returns 2 K, the slope of the share that RED drops, per packet of its average."""
    return 2 * point.most / (point.high - point.low)


def equilibrium(point: Point) -> float:
    """Returns the queue at which RED drops what the windows need, in packets."""
    N, C, T = point.flows, point.rate, point.rtt

    def excess(q: float) -> float:
        return slope(point) * (q - point.low) - N**2 / ((C * T + q) * q)

    return float(brentq(excess, point.low + 1e-9, 20 * point.high))


def phase_margin(point: Point) -> float:
    """Returns the phase margin in degrees; infinite if the loop's gain is below one."""
    N, C, T = point.flows, point.rate, point.rtt
    q = equilibrium(point)
    p, R, W = slope(point) * (q - point.low), T + q / C, (C * T + q) / N
    A, average = p * (2 * W - C * T / N) / R, -np.log1p(-point.weight) * C
    s = 1j * np.geomspace(1e-3, 200, 100_000)
    loop = slope(point) / (p * R) * N / R * np.exp(-s * R) * average / (s + average)
    loop /= (s + A) * (s + 1 / R)
    crossing = int(np.argmax(np.abs(loop) < 1))
    if crossing == 0:
        return np.inf
    return 180 + float(np.degrees(np.unwrap(np.angle(loop)))[crossing])


def simulated(point: Point, tau: str | None) -> Result:
    """Returns the simulation of a point with a time constant of the filter."""
    estimator = {"kind": "abse"} | ({"tau": tau} if tau else {})
    delay = f"{point.rtt / 2 * 1e3:g} ms"
    queue = {
        "kind": "red",
        "limit": "4000 packets",
        "minimum_threshold": f"{point.low} packets",
        "maximum_threshold": f"{point.high} packets",
        "maximum_probability": point.most,
        "weight": point.weight,
        "gentle": True,
    }
    link = {"kind": "constant", "rate": f"{8 * PACKET_BYTES * point.rate:.0f} bit/s"}
    fast = {"kind": "constant", "rate": "10 Gbit/s"}
    ample = {"kind": "droptail", "limit": "unlimited"}
    transport = {
        "kind": "tcp",
        "preset": "rfc",
        "control": {"kind": "westwood_abse", "estimator": estimator},
        "delayed_ack": {"every": "1 packets"},
    }
    flow = {
        "name": "abse", "count": point.flows, "route": ["router"], "return": ["back"],
        "start": ["0 s", "5 s"], "transport": transport, "traffic": {"kind": "bulk"},
    }  # fmt: skip
    return simulate(
        Scenario(
            {
                "schema": 1, "name": "ABSE at RED", "replicates": REPLICATES,
                "duration": f"{DURATION_S} s", "warmup": f"{WARMUP_S} s",
                "sample_interval": "20 ms",
                "hops": [
                    {"name": "router", "link": link, "queue": queue, "delay": delay},
                    {"name": "back", "link": fast, "queue": ample, "delay": delay},
                ],
                "flows": [flow],
            }
        )
    )  # fmt: skip


def queue_of(result: Result) -> tuple[float, float]:
    """Returns the mean queue and its standard deviation after the warm-up, in packets."""
    hops = result.tables["hops"]
    names = np.array(hops["hop"].to_pylist())
    time_s, backlog = (np.array(hops[name]) for name in ("time_s", "backlog_packets"))
    counted = backlog[(names == "router") & (time_s > WARMUP_S)]
    return float(counted.mean()), float(counted.std())


def main() -> None:
    """Prints a row for each operating point."""
    print("queue of the model, phase margin; queue of the engine, mean and deviation, by tau")
    for point in POINTS:
        row = [f"{equilibrium(point):.0f}, {phase_margin(point):.0f} degrees"]
        for tau in FILTERS:
            mean, deviation = queue_of(simulated(point, tau))
            row.append(f"{tau or 'adaptive'}: {mean:.0f} +- {deviation:.0f}")
        print(";  ".join(row), flush=True)


if __name__ == "__main__":
    main()
