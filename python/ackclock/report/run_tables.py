"""The tables that people read after a run: each row a dict, plain data for a terminal, a report or JSON."""

import math
from collections.abc import Iterable

from ackclock.metrics import Interval, metric, summarise
from ackclock.result import Result
from ackclock.result.flows import control_of, rivals
from ackclock.table import Rows, named, number, short, swept_paths, written

FLOW_METRICS = ("goodput", "rtt", "retransmissions", "drops", "timeouts")
ARRIVAL_METRICS = ("active", "completion_time")
HOP_METRICS = ("utilisation", "hop_drops", "backlog", "queueing_delay")

# What a narrow terminal goes without, the first of them first; then what models say, the last of them first.
_SPARE_FLOW_COLUMNS = ("dropped %", "timeouts", "retransmitted %", "Jain's index", "utilisation %", "RTT ms")
SPARE_PREDICTION_COLUMNS = ("says", "model alone Mbit/s")


def flow_rows(result: Result, predicted: Result | None = None) -> Rows:
    """One row for each point and flow.

    Each has `point`, `assignments`, `flow`, `count` (None if instances arrive), `control`, each metric's interval
    (instances taken together), of arrivals how many are `active` and their `completion_time` (None of others), the
    utilisation of the busiest shared hop on the flow's route, `fairness` among all instances of the point under a
    control (None for less than two), and `predicted`, model's label to goodput in bit/s.
    """
    by_metric = {name: _by_subject(result, name) for name in FLOW_METRICS}
    of_arrivals = {name: _by_subject(result, name) for name in ARRIVAL_METRICS}
    utilisation = _by_subject(result, "utilisation")
    fairness = {point: interval for (point, _), interval in _by_subject(result, "fairness").items()}
    says = _predictions(predicted)
    rows = []
    for index, point in enumerate(result.points):
        flows = point["scenario"]["flows"]
        for flow in flows:
            key = (index, flow["name"])
            if key not in by_metric["goodput"]:
                continue  # interrupted before
            route = [utilisation[index, hop] for hop in flow["route"] if (index, hop) in utilisation]
            rows.append(
                {"point": index, "assignments": point["assignments"], "flow": flow["name"], "count": flow.get("count")}
                | {"control": control_of(flow)}
                | {name: by_metric[name][key] for name in FLOW_METRICS}
                | {name: of_arrivals[name][key] if "arrivals" in flow else None for name in ARRIVAL_METRICS}
                | {"utilisation": max(route, key=lambda one: one.mean, default=None)}
                | {"fairness": fairness.get(index) if rivals(flows) > 1 else None, "predicted": says.get(key, {})}
            )
    return rows


def hop_rows(result: Result) -> Rows:
    """One row for each point and hop: `point`, `assignments`, `hop` and each metric's interval."""
    by_metric = {name: _by_subject(result, name) for name in HOP_METRICS}
    return [
        {"point": index, "assignments": result.points[index]["assignments"], "hop": hop}
        | {name: by_metric[name][index, hop] for name in HOP_METRICS}
        for index, hop in by_metric["utilisation"]
    ]


def fidelity_rows(result: Result) -> Rows:
    """One row for each run of an emulation: the table `fidelity`, with `assignments`; none of other ways."""
    return [
        row | {"assignments": result.points[row["point"]]["assignments"]}
        for row in (result.tables["fidelity"].to_pylist() if "fidelity" in result.tables else [])
    ]


def prediction_rows(predicted: Result) -> Rows:
    """The rows of the table `predictions`, with `assignments`; inputs and outputs as dicts, infinite as `unlimited`."""
    return [
        row
        | {"assignments": predicted.points[row["point"]]["assignments"]}
        | {name: _by_name(row[name]) for name in ("inputs", "outputs")}
        for row in predicted.tables["predictions"].to_pylist()
    ]


def _by_name(pairs: Iterable[tuple[str, float]] | None) -> dict[str, float | str] | None:
    if pairs is None:
        return None
    return {name: "unlimited" if value == math.inf else value for name, value in pairs}


def flow_cells(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Head and cells of `flow_rows` as text."""
    swept = swept_paths(rows)
    models = list(dict.fromkeys(model for row in rows for model in row["predicted"]))
    head = [*short(swept), "flow", "control", "goodput Mbit/s"]
    head += [f"{model} Mbit/s" for model in models]
    names = {
        "utilisation": "utilisation %",
        "rtt": "RTT ms",
        "retransmissions": "retransmitted %",
        "drops": "dropped %",
    }
    names |= {"timeouts": "timeouts"}
    if any(row["fairness"] is not None for row in rows):
        names["fairness"] = "Jain's index"
    if any(row["active"] is not None for row in rows):
        names |= {"active": "active", "completion_time": "completion s"}
    head += names.values()
    cells = [
        [
            *(str(row["assignments"][path]) for path in swept),
            named(row["flow"], row["count"]),
            row["control"],
            written(row["goodput"], "goodput"),
            *(number(row["predicted"].get(model), 1e-6) for model in models),
            *(written(row[name], name) for name in names),
        ]
        for row in rows
    ]
    return head, cells


def spare_flow_columns(head: list[str]) -> list[str]:
    """What of the head of `flow_cells` a narrow terminal goes without, the first of them first."""
    of_models = [name for name in head if name.endswith(" Mbit/s") and name != "goodput Mbit/s"]
    return [*_SPARE_FLOW_COLUMNS, *reversed(of_models)]


def hop_cells(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Head and cells of `hop_rows` as text."""
    swept = swept_paths(rows)
    head = [*short(swept), "hop", "utilisation %", "dropped %", "backlog packets", "queueing delay ms"]
    cells = [
        [
            *(str(row["assignments"][path]) for path in swept),
            row["hop"],
            *(written(row[name], name) for name in HOP_METRICS),
        ]
        for row in rows
    ]
    return head, cells


def fidelity_cells(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Head and cells of `fidelity_rows` as text."""
    swept = swept_paths(rows)
    names = {
        "lateness_p99_s": ("p99 lateness ms", 1e3),
        "lateness_max_s": ("largest lateness ms", 1e3),
        "longest_gap_s": ("longest gap ms", 1e3),
        "cpu_share": ("CPU %", 100),
        "probe_extra_p50_s": ("median probe extra ms", 1e3),
    }
    head = [*short(swept), "replicate", "verdict", "lost outside", *(shown for shown, _ in names.values())]
    cells = [
        [
            *(str(row["assignments"][path]) for path in swept),
            str(row["replicate"]),
            row["verdict"],
            str(row["outside_drops"]),
            *(number(row[name], scale) for name, (_, scale) in names.items()),
        ]
        for row in rows
    ]
    return head, cells


def refused_setting_cells(result: Result) -> tuple[list[str], list[list[str]]]:
    """Head and cells of what the kernel does otherwise than it was asked, each once."""
    names = ["host", "name", "asked", "has", "refusal"]
    rows = result.tables["settings"].select(names).to_pylist() if "settings" in result.tables else []
    found = dict.fromkeys(tuple(row[name] for name in names) for row in rows if row["refusal"])
    return ["host", "setting", "asked", "is", "why"], [[cell or "–" for cell in row] for row in found]


def prediction_cells(rows: Rows) -> tuple[list[str], list[list[str]]]:
    """Head and cells of `prediction_rows` as text."""
    swept = swept_paths(rows)
    head = [
        *short(swept),
        "flow",
        "control",
        "model",
        "goodput Mbit/s",
        "model alone Mbit/s",
        "says",
        "verdict",
        "note",
    ]
    cells = [
        [
            *(str(row["assignments"][path]) for path in swept),
            named(row["flow"], row["instances"]),
            row["control"],
            row["label"],
            number(row["goodput_bit_per_s"], 1e-6),
            number(row["model_bit_per_s"], 1e-6),
            row["says"] or "–",
            row["verdict"],
            row["note"],
        ]
        for row in rows
    ]
    return head, cells


def _by_subject(result: Result, name: str) -> dict[tuple[int, str], Interval]:
    return {(one.point, one.subject): one.interval for one in summarise(result, metric(name))}


def _predictions(predicted: Result | None) -> dict[tuple[int, str], dict[str, float]]:
    says: dict[tuple[int, str], dict[str, float]] = {}
    for row in predicted.tables["predictions"].to_pylist() if predicted else []:
        if row["goodput_bit_per_s"] is not None:
            says.setdefault((row["point"], row["flow"]), {})[row["label"]] = row["goodput_bit_per_s"]
    return says
