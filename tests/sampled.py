"""Made-up results from rates, for tests of metrics that read the samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ackclock import Result

#: Payload of a full packet in bytes: 1000 bits.
MSS_BYTES = 125

Rates = Sequence[float] | np.ndarray


def sampled(
    replicates: Sequence[dict[str, Sequence[Rates]]],
    every_s: float = 0.1,
    warmup_s: float = 0.0,
    start_s: float = 0.0,
    allowed: bool = False,
    reliable: Sequence[bool] | None = None,
) -> Result:
    """Returns a result whose flows send, deliver and may send at these rates.

    Args:
        replicates: For each replicate, by the flow's name: the rates of each instance in kbit/s
            between successive samples.
        every_s: Interval between samples.
        warmup_s: Length of the warm-up.
        start_s: Start of the flows.
        allowed: True if samples have the rate that a rate control allows.
        reliable: Reliability of each replicate of an emulation.
    """
    samples: dict[str, list] = {
        name: [] for name in ("replicate", "flow", "instance", "time_s", "sent_packets")
    }
    samples |= {"delivered_bytes": [], "smoothed_rtt_s": []} | (
        {"allowed_rate_bit_per_s": []} if allowed else {}
    )
    flows: dict[str, list] = {
        name: [] for name in ("replicate", "flow", "instance", "start_s", "end_s")
    }
    longest = 0
    for replicate, groups in enumerate(replicates):
        for flow, instances in groups.items():
            for instance, rates in enumerate(instances):
                count = len(rates) + 1
                longest = max(longest, len(rates))
                packets = np.concatenate([[0.0], np.cumsum(np.asarray(rates, float) * every_s)])
                samples["replicate"] += [replicate] * count
                samples["flow"] += [flow] * count
                samples["instance"] += [instance] * count
                samples["time_s"] += (np.arange(count) * every_s).tolist()
                samples["sent_packets"] += packets.tolist()
                samples["delivered_bytes"] += (packets * MSS_BYTES).tolist()
                samples["smoothed_rtt_s"] += [0.05] * count
                if allowed:
                    samples["allowed_rate_bit_per_s"] += [*(np.asarray(rates, float) * 1000), 0.0]
                for name, value in zip(
                    flows, (replicate, flow, instance, start_s, np.nan), strict=True
                ):
                    flows[name].append(value)
    transport = {"kind": "tcp", "facts": {"mss_bytes": MSS_BYTES}}
    described = [{"name": name, "transport": transport} for name in replicates[0]]
    scenario = {"warmup": f"{warmup_s} s", "duration": f"{longest * every_s} s", "flows": described}
    tables = {name: pa.table({"point": [0] * len(table["flow"])} | table) for name, table in
              (("samples", samples), ("flows", flows))}  # fmt: skip
    if reliable is not None:
        numbers = list(range(len(reliable)))
        tables["fidelity"] = pa.table(
            {"point": [0] * len(numbers), "replicate": numbers, "reliable": list(reliable)}
        )
    return Result(
        {"method": "simulate", "points": [{"assignments": {}, "scenario": scenario}]}, tables
    )
