"""Random scenarios of the elements of 2026 keep the laws of every result.

The engine checks as it runs that packets are conserved; the tables are checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ackclock import Scenario, simulate

from . import laws
from .paths import flow, hop, scenario, tcp

Tree = dict[str, Any]
Draw = np.random.Generator

#: Scenarios of a block. Ten blocks are 600.
BLOCK = 60


def one_of(draw: Draw, *choices: object) -> Any:
    return choices[int(draw.integers(len(choices)))]


def random_link(draw: Draw) -> Tree:
    rate = f"{one_of(draw, 1, 4, 20)} Mbit/s"
    phase = f"{one_of(draw, 8, 10, 11)} s"
    return one_of(
        draw,
        {"kind": "constant", "rate": rate},
        {"kind": "leo", "lowest": "1 Mbit/s", "highest": "20 Mbit/s", "phase": phase},
        {
            "kind": "leo",
            "lowest": "5 Mbit/s",
            "highest": "5 Mbit/s",
            "outage": "300 ms",
            "phase": phase,
        },
        {"kind": "scheduled", "steps": [
            {"from": "0 s", "rate": rate},
            {"from": "2 s", "rate": "0 bit/s"},
            {"from": "2500 ms", "rate": "2 Mbit/s"},
        ]},
    )  # fmt: skip


def random_impairments(draw: Draw) -> list[Tree]:
    law = one_of(
        draw,
        {"kind": "wifi", "mean": f"{one_of(draw, 1, 5, 12)} ms"},
        {"kind": "rbpdv"},
        {"kind": "rbpdv", "signed": True},
    )
    order = one_of(draw, "forbidden", "allowed")
    every = [
        {"kind": "jitter", "distribution": law, "reordering": order, "until": "4 s"},
        {"kind": "leo", "outage": f"{one_of(draw, 0, 200)} ms", "phase": "9 s"},
        {"kind": "iid_loss", "probability": one_of(draw, "0.1 %", "3 %")},
    ]
    return [impairment for impairment in every if draw.random() < 0.4]


def random_traffic(draw: Draw) -> Tree:
    return one_of(
        draw,
        {"kind": "bulk"},
        {"kind": "rpc", "response": "30 kB", "mean_idle": "200 ms"},
        {"kind": "rpc", "response": {"kind": "web_search"}, "outstanding": 3},
        {"kind": "chunks", "abr": one_of(draw, "buffer_based", "rate_based"), "number": 0},
        {"kind": "pages", "outstanding": one_of(draw, 1, 6), "mean_reading": "500 ms"},
        {"kind": "short_tcp", "mean_idle": "300 ms"},
        {"kind": "transfer", "size": "400 kB"},
    )


def random_control(draw: Draw) -> Tree:
    start = one_of(draw, {}, {"rapid_start": {}}, {"slow_start_exit": "search-drain"})
    both = {"rapid_start": {"k": 0.611}, "slow_start_exit": "hystart++"}
    return one_of(
        draw,
        {"kind": "cuback", "slow_start_exit": one_of(draw, "none", "search-drain")},
        {"kind": "cubic", "arithmetic": "exact", **start},
        {"kind": "reno", "arithmetic": "exact", **one_of(draw, start, both)},
        {"kind": "bbr3", "min_rtt_on_probe": one_of(draw, "expire", "saved")},
    )


def random_flow(draw: Draw, name: str) -> Tree:
    control, traffic, more = random_control(draw), random_traffic(draw), {}
    preset = one_of(draw, "rfc", "rfc-modern", "linux")
    validations = ("off", "half_used", "full", "rate_limited_increase")
    more["window_validation"] = one_of(draw, *validations)
    if draw.random() < 0.3:
        more["tcp_ecn"] = {
            "client": int(draw.integers(6)),
            "server": int(draw.integers(6)),
        }
    if control["kind"] != "bbr3" and draw.random() < 0.4:
        saved = {"cwnd": f"{one_of(draw, 40, 1000)} kB", "rtt": f"{one_of(draw, 30, 60)} ms"}
        more["resume"] = one_of(draw, saved, {"from": "earlier_flow"})
    if draw.random() < 0.3:
        more["delayed_ack"] = {"every": f"{one_of(draw, 1, 8, 32)} segments"}
    arrives = traffic["kind"] == "transfer" and draw.random() < 0.7
    arrivals = {"arrivals": {"kind": "poisson", "mean_interval": "600 ms"}} if arrives else {}
    return flow(
        tcp(control, preset, **more),
        name,
        traffic=traffic,
        control_states=bool(draw.random() < 0.2),
        **arrivals,
    )


def random_scenario(seed: int) -> Scenario:
    draw = np.random.default_rng(seed)
    limit = f"{one_of(draw, 5, 40, 400)} packets"
    queue = one_of(draw, limit, {"kind": "fq_codel"}, {"kind": "codel", "limit": "200 packets"})
    delay = f"{one_of(draw, 1, 20, 100)} ms"
    out = hop("out", random_link(draw), delay, queue, impairments=random_impairments(draw))
    back = hop("back", "10 Mbit/s", delay, "100 packets", impairments=random_impairments(draw))
    flows = [random_flow(draw, f"flow {number}") for number in range(int(draw.integers(1, 4)))]
    if draw.random() < 0.4:
        voip = {"kind": "udp", "header": "40 bytes"}
        flows.append({"name": "calls", "route": ["out"], "transport": voip,
                      "traffic": {"kind": "voip"}, "count": 2})  # fmt: skip
    return scenario([out, back], flows, "6 s", seed=seed, replicates=1)


def check_block(block: int) -> None:
    for seed in range(BLOCK * block, BLOCK * (block + 1)):
        result = simulate(random_scenario(seed))
        try:
            laws.check(result)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_random_scenarios_keep_the_laws() -> None:
    check_block(0)


@pytest.mark.long
@pytest.mark.parametrize("block", range(1, 10))
def test_many_random_scenarios_keep_the_laws(block: int) -> None:
    check_block(block)
