"""Made-up results: one flow, any points and replicates, and the numbers that a test needs."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ackclock import Result, Scenario, predict
from ackclock.comparison import Column, Comparison
from ackclock.result.run_json import SCHEMA

SWEEP = {"hops.wireless.impairments.0.probability": ["0.5 %", "5 %"]}
RELIABLE = "reliable"

# Columns of the table of fidelity that are zero.
_QUIET = (
    "outside_drops",
    "lateness_max_s",
    "longest_gap_s",
    "host_wait_max_s",
    "host_stalled_share",
    "softirq_wait_share",
    "cpu_share",
)


def points_of(scenario: Scenario) -> list[dict[str, Any]]:
    return [
        {"assignments": point.assignments, "scenario": point.scenario.resolve().tree}
        for point in scenario.expand()
    ]


def made_up(
    method: str,
    scenario: Scenario,
    goodputs: Sequence[Sequence[float | None]],
    *,
    reliable: Mapping[tuple[int, int], bool] | None = None,
    **columns: float | None,
) -> Result:
    """Returns a result with `goodputs[point][replicate]` in Mbit/s.

    `columns` are the same in every run.
    """
    other = {
        "rtt_mean_s": 0.08, "cwnd_mean_bytes": 1e4, "retransmitted_packets": 10.0,
        "sent_packets": 1000, "dropped_packets": 10, "dropped_acks": 0, "timeouts": 0.0,
        "completion_time_s": None,
        "start_s": 0.0,
    } | columns  # fmt: skip
    keys = [(point, run) for point, values in enumerate(goodputs) for run in range(len(values))]
    flows = [
        {"point": point, "replicate": run, "flow": "main", "instance": 0, "control": "reno"}
        | {"goodput_bit_per_s": None if (value := goodputs[point][run]) is None else value * 1e6}
        | other
        for point, run in keys
    ]
    samples = [
        {
            "point": point,
            "replicate": run,
            "flow": "main",
            "instance": 0,
            "time_s": time,
            "cwnd_bytes": 1e4,
        }
        | {
            "rtt_s": None if method == "emulate" else 0.08,
            "smoothed_rtt_s": 0.08,
            "retransmitted_packets": time,
        }
        for point, run in keys
        for time in (1.0, 2.0, 3.0, 4.0, 5.0)
    ]
    run = {
        "schema": SCHEMA, "method": method, "name": "made up", "seed": "1",
        "replicates": max(map(len, goodputs)), "versions": {}, "partial": False, "warnings": [],
        "controls": [], "scenario": scenario.tree,
        "points": points_of(scenario),
    }  # fmt: skip
    tables = {
        "flows": pa.Table.from_pylist(flows, _typed(flows)),
        "samples": pa.Table.from_pylist(samples, _typed(samples)),
    }
    if method == "emulate":
        tables["fidelity"] = _fidelity(keys, reliable or {})
        tables["settings"] = pa.table(
            {name: [] for name in ("point", "host", "name", "asked", "has", "refusal")}
        )
    return Result(run, tables)


def _typed(rows: Sequence[Mapping[str, Any]]) -> pa.Schema:
    """A column of None only is a column of numbers."""
    kinds = {str: pa.string(), int: pa.int64()}
    return pa.schema(
        {name: kinds.get(type(value), pa.float64()) for name, value in rows[0].items()}
    )


def _fidelity(
    keys: Sequence[tuple[int, int]], reliable: Mapping[tuple[int, int], bool]
) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "point": point,
                "replicate": run,
                "reliable": int(reliable.get((point, run), True)),
                "verdict": RELIABLE,
            }
            | {"lateness_p50_s": 4e-5, "lateness_p99_s": 2e-4, "probe_extra_p50_s": 1e-4}
            | dict.fromkeys(_QUIET, 0.0)
            for point, run in keys
        ]
    )


def compared(scenario: Scenario, models: str | None, **results: Result | str) -> Comparison:
    """Returns a comparison of results by column (`_` for `-`).

    A text instead of a result says why it is missing.
    """
    points = points_of(scenario)
    assigned = tuple(point["assignments"] for point in points)
    columns: dict[str, Column] = {}
    if models is not None:
        columns["predict"] = Column("predict", assigned, predict(scenario, models))
    for key, result in results.items():
        name = key.replace("_", "-")
        source = columns.get(name.removeprefix("measure-")) if name.startswith("measure-") else None
        answer, why = (None, result) if isinstance(result, str) else (result, "")
        columns[name] = Column(name, assigned, answer, why, source)
    run = {
        "name": "made up",
        "seed": "1",
        "replicates": 3,
        "versions": {},
        "partial": False,
        "points": points,
    }
    return Comparison(run | {"scenario": scenario.tree}, columns)
