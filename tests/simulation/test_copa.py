"""Copa alone: two ways to end, and where slow start decides between them."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock import simulate

from .paths import flow, path, scenario, tcp
from .rows import column, goodput

RTT_S, PACKET_BITS = 0.04, 12_000


def windows(mbit_per_s: int, **parameters: object) -> tuple[float, float, float]:
    """Returns utilisation, and the extremes of the window in bandwidth-delay products."""
    transport = tcp("copa", "linux", mss="1448 bytes", header="52 bytes", **parameters)
    hops = path(f"{mbit_per_s} Mbit/s", "20 ms", "8000 packets")
    times = {"warmup": "15 s", "sample_interval": "10 ms"}
    result = simulate(scenario(hops, [flow(transport)], "30 s", **times))
    time, cwnd = (column(result, "samples", name) for name in ("time_s", "cwnd_bytes"))
    product_bytes = mbit_per_s * 1e6 * RTT_S / PACKET_BITS * 1448
    used = goodput(result)[0] / (mbit_per_s * 1e6 * 1448 / 1500)
    settled = cwnd[time > 15] / product_bytes
    return used, float(np.min(settled)), float(np.max(settled))


@pytest.mark.parametrize("mbit_per_s", [100, 200])
def test_after_slow_start_copa_may_swing_for_ever(mbit_per_s: int) -> None:
    """The velocity doubles while a round trip hides the effect, and overshoots again.

    A third of the link is lost at least where the window falls to nothing and rises as slowly.
    """
    used, smallest, largest = windows(mbit_per_s)
    assert used < 0.8
    assert smallest < 0.1
    assert largest > 1.5


@pytest.mark.parametrize(
    ("mbit_per_s", "parameters"),
    [(150, {}), (100, {"initial_window": "330 packets", "initial_ssthresh": "1 packet"})],
)
def test_from_near_its_product_copa_settles(mbit_per_s: int, parameters: dict[str, str]) -> None:
    used, smallest, largest = windows(mbit_per_s, **parameters)
    assert used > 0.98
    assert smallest > 0.95
    assert largest < 1.1
