"""The tables that people read after a run: each row a dict, plain data for a terminal, a report or JSON."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ackclock.control import control_of, rivals
from ackclock.metrics import Interval, metric, summarise
from ackclock.result import Result

FLOW_METRICS = ("goodput", "rtt", "retransmissions", "drops", "timeouts")
ARRIVAL_METRICS = ("active", "completion_time")
HOP_METRICS = ("utilisation", "hop_drops", "backlog", "queueing_delay")

# What a narrow terminal goes without, the first of them first; then what models say, the last of them first.
_SPARE_FLOW_COLUMNS = ("dropped %", "timeouts", "retransmitted %", "Jain's index", "utilisation %", "RTT ms")
SPARE_PREDICTION_COLUMNS = ("says", "model alone Mbit/s")

Rows = list[dict[str, Any]]


def averaging(result: Result) -> str:
    """What the numbers of a result are, for titles."""
    count, untrusted = result.run["replicates"], len(result.untrusted)
    one = "one replicate" if result.run["scenario"] else "one session"
    words = f"means of {count} replicates ± 95 % confidence" if count > 1 else f"{one}, no confidence interval"
    if untrusted:
        runs = f"{untrusted} untrusted run{'' if untrusted == 1 else 's'}"
        words += f", {runs} {'left out' if result.left_out else 'taken in'}"
    return f"interrupted, of what was run: {words}" if result.partial else words


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


def plain(value: Any) -> Any:
    """For JSON: intervals as `{"mean", "low", "high", "replicates"}`, unknown numbers as None, NumPy's as Python's."""
    if isinstance(value, Interval):
        return {
            "mean": plain(value.mean),
            "low": plain(value.low),
            "high": plain(value.high),
            "replicates": value.replicates,
        }
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    return value


def json_text(value: Any) -> str:
    """What is `plain` as text of several lines, the last of them ended."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


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


def named(flow: str, instances: int | None) -> str:
    """A flow and how many instances it has; None if they arrive."""
    if instances is None:
        return f"{flow} (arriving)"
    return flow if instances == 1 else f"{flow} ×{instances}"


def swept_paths(rows: Rows) -> list[str]:
    """The swept parameters that the row does not say otherwise: a swept control stands in the column of controls."""
    paths = list(rows[0]["assignments"]) if rows else []
    return [path for path in paths if not all(row["assignments"][path] == row.get("control") for row in rows)]


def assigned(assignments: Mapping[str, Any]) -> list[str]:
    """The swept values of a point, each with its name."""
    return [f"{name} {value}" for name, value in zip(short(assignments), assignments.values(), strict=True)]


def short(paths: Iterable[str]) -> list[str]:
    """The shortest endings of paths that tell them apart, at least the name of the field."""
    paths = list(paths)
    ended = []
    for path in paths:
        parts = path.split(".")
        fewest = 2 if parts[-1] == "kind" else 1
        for count in range(fewest, len(parts) + 1):
            ending = ".".join(parts[-count:])
            if sum(other.endswith(ending) for other in paths) == 1:
                break
        ended.append(ending)
    return ended


def written(interval: Interval | None, name: str) -> str:
    """`5.21 ± 0.13` in the metric's shown unit."""
    return "–" if interval is None else written_interval(interval, metric(name).shown_per_unit)


def written_interval(interval: Interval, scale: float = 1) -> str:
    """`5.21 ± 0.13`, or without what is not known of it."""
    if math.isnan(interval.mean):
        return "–"
    if math.isnan(interval.half_width):
        return number(interval.mean, scale)
    if interval.half_width == 0:
        return f"{number(interval.mean, scale)} ± 0"
    # Two digits of what is uncertain, at most four of what is known.
    digits = min(_digits(interval.mean * scale), _digits(interval.half_width * scale, 2))
    return f"{interval.mean * scale:.{digits}f} ± {interval.half_width * scale:.{digits}f}"


def number(value: float | None, scale: float = 1) -> str:
    """A number with about four digits, a dash for unknown."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value * scale:.{_digits(value * scale)}f}"


def _digits(value: float, significant: int = 4) -> int:
    """Decimal places that show so many digits."""
    return 0 if value == 0 else max(0, min(6, significant - 1 - math.floor(math.log10(abs(value)))))


def _by_subject(result: Result, name: str) -> dict[tuple[int, str], Interval]:
    return {(one.point, one.subject): one.interval for one in summarise(result, metric(name))}


def _predictions(predicted: Result | None) -> dict[tuple[int, str], dict[str, float]]:
    says: dict[tuple[int, str], dict[str, float]] = {}
    for row in predicted.tables["predictions"].to_pylist() if predicted else []:
        if row["goodput_bit_per_s"] is not None:
            says.setdefault((row["point"], row["flow"]), {})[row["label"]] = row["goodput_bit_per_s"]
    return says
