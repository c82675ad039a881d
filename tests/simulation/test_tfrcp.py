"""TFRCP in the engine; the core tests its behaviour packet by packet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ackclock import simulate

from .paths import flow, path, scenario
from .rows import column

FROM_S, UNTIL_S = 60.0, 90.0
FLOWS, RATE_BIT_PER_S, PACKET_BYTES = 16, 1.5e6, 1000
#: M, by default, in seconds.
ROUND_S = 2.0


def test_a_blackout_slows_it_down_and_five_rounds_get_over_it() -> None:
    dark = {
        "kind": "scheduled_loss",
        "applies": "all",
        "steps": [
            {"from": f"{FROM_S} s", "probability": "100 %"},
            {"from": f"{UNTIL_S} s", "probability": "0 %"},
        ],
    }
    sender = {
        "kind": "udp",
        "control": {"kind": "tfrcp"},
        "mss": f"{PACKET_BYTES} bytes",
        "header": "0 bytes",
    }
    hops = path(f"{RATE_BIT_PER_S / 1e6} Mbit/s", "50 ms", "19 packets", dark)
    flows = [flow(sender | {"send_jitter": "5 ms"}, count=FLOWS, start=["0 s", "2 s"])]
    result = simulate(scenario(hops, flows, "130 s", replicates=3, sample_interval="100 ms"))

    for replicate in range(3):
        # A row for each flow, a column for each time.
        times, allowed, delivered = (
            np.array(
                [
                    column(result, "samples", name, replicate=replicate, instance=instance)
                    for instance in range(FLOWS)
                ]
            )
            for name in ("time_s", "allowed_rate_bit_per_s", "delivered_bytes")
        )

        def row_at(moment: float, times: NDArray = times[0]) -> int:
            return int(np.searchsorted(times, moment - 1e-6))

        before = allowed[:, row_at(FROM_S - 10 * ROUND_S) : row_at(FROM_S)].max(axis=1)
        assert (allowed[:, row_at(FROM_S) : row_at(UNTIL_S)].max(axis=1) <= before).all()
        # The round in which it began, and one more: everything since is lost, and each round sends
        # one packet.
        within = allowed[:, row_at(FROM_S + 2 * ROUND_S + 0.5) : row_at(UNTIL_S)]
        np.testing.assert_allclose(within, 8 * PACKET_BYTES / ROUND_S)
        # The first round after it begins within a round's time. From one packet, five rounds give
        # at least 16 a second.
        after = UNTIL_S + 6 * ROUND_S + 0.2
        assert allowed[:, row_at(after)].sum() >= 0.9 * RATE_BIT_PER_S
        goodput = (delivered[:, row_at(after + 10)] - delivered[:, row_at(after)]).sum() / 10
        usual = (delivered[:, row_at(FROM_S)] - delivered[:, row_at(FROM_S - 20)]).sum() / 20
        assert goodput >= 0.9 * usual
