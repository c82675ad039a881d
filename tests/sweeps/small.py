"""A small scenario: two controls through a slow link, some milliseconds of computing each."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ackclock import Scenario
from ackclock.sweeps.store import Store

from ..in_process import ackclock

SCENARIO = """\
schema = 1
name = "small"
duration = "2 s"
warmup = "500 ms"
replicates = 3

[[hops]]
name = "b"
link = { kind = "constant", rate = "1 Mbit/s" }
queue = { kind = "droptail", limit = "20 packets" }
delay = "20 ms"

[[hops]]
name = "r"
link = { kind = "constant", rate = "1 Mbit/s" }
queue = { kind = "droptail", limit = "20 packets" }
delay = "20 ms"

[[flows]]
name = "a"
route = ["b"]
return = ["r"]
transport = { kind = "tcp", control = { kind = "reno" } }
start = ["0 s", "200 ms"]

[sweep]
"flows.a.transport.control.kind" = ["reno", "cubic"]
"hops.b.queue.limit" = ["5 packets", "20 packets"]
"""

BUFFER = "hops.b.queue.limit=5..50 packets log"


def scenario() -> Scenario:
    return Scenario.from_toml(SCENARIO)


def written(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def answer(*arguments: object) -> Any:
    outcome = ackclock(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


def in_order(table: pa.Table) -> list[dict[str, Any]]:
    """The rows by point, replicate, and whatever else tells rows of a run apart."""
    keys = ("point", "replicate", "method", "flow", "instance", "metric", "subject")
    names = [name for name in keys if name in table.column_names]
    plain = table.set_column(0, "point", table["point"])
    for index, field in enumerate(plain.schema):
        if pa.types.is_dictionary(field.type):
            plain = plain.set_column(index, field.name, plain[field.name].cast(pa.string()))
    rows: list[dict[str, Any]] = plain.take(
        pc.sort_indices(plain, [(name, "ascending") for name in names])
    ).to_pylist()
    return rows


def contents(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Everything a sweep has found, in an order that does not depend on its batches."""
    store = Store(folder)
    runs = in_order(store.runs().drop_columns(["cpu_s"]))
    return {
        "flows": in_order(store.dataset("flows").to_table()),
        "metrics": in_order(store.dataset("metrics").to_table()),
        "runs": runs,
    }
