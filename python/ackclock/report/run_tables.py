"""Tables about a run.

Each row is a dict of plain data, for a terminal, a report or JSON.
"""

import math
from collections.abc import Iterable
from typing import Any

from ackclock.metrics import ALL_FLOWS, Interval, in_shown_unit, metric, summarise
from ackclock.result.flows import control_of, rivals
from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.table import (
    Cell,
    Column,
    Rows,
    Table,
    Written,
    as_written,
    named,
    scaled,
    short,
    swept_paths,
    table,
    text,
)
from ackclock.validity.stationarity import NOTE, Stationarity, judge, starred

FLOW_METRICS = ("goodput", "rtt", "retransmissions", "loss_rate", "timeouts")
ARRIVAL_METRICS = ("active_flows", "completion_time")
REQUEST_METRICS = ("request_time", "rebuffer_share", "page_time")

# Columns of metrics in the table of flows: name, unit, and the order in which a narrow terminal
# leaves them out. They are chosen by hand, for the width of a page; `ackclock table` has any other.
_FLOW_COLUMNS = {
    "utilisation": Column("utilisation", "%", 4),
    "rtt": Column("RTT", "ms", 5),
    "retransmissions": Column("retransmitted", "%", 3),
    "loss_rate": Column("dropped", "%", 0),
    "timeouts": Column("timeouts", "per run", 1),
    "fairness": Column("Jain's index", spare=2),
    "active_flows": Column("active", spare=2),
    "completion_time": Column("completion", "s"),
    "request_time": Column("request", "ms"),
    "rebuffer_share": Column("rebuffering", "%"),
    "page_time": Column("page", "s"),
}
# Letters of a label that a narrow terminal keeps.
_LEAST = 7
_HOP_COLUMNS = {
    "utilisation": Column("utilisation", "%"),
    "hop_drops": Column("dropped", "%"),
    "backlog": Column("backlog", "packets"),
    "queueing_delay": Column("queueing delay", "ms"),
}
#: Meaning of the mark at a model's number.
VIOLATED = "? violates an assumption of the model; ackclock predict says which"

# Columns of numbers in the table of fidelity, each with its scale.
_FIDELITY_COLUMNS = {
    "lateness_p99_s": (Column("p99 lateness", "ms"), 1e3),
    "lateness_max_s": (Column("largest lateness", "ms"), 1e3),
    "longest_gap_s": (Column("longest gap", "ms"), 1e3),
    "host_wait_max_s": (Column("longest wait of a host", "ms"), 1e3),
    "host_stalled_share": (Column("hosts stalled", "%"), 100),
    "softirq_wait_share": (Column("softirqs waited", "%"), 100),
    "cpu_share": (Column("CPU", "%"), 100),
    "probe_extra_p50_s": (Column("median probe extra", "ms"), 1e3),
}


def flow_rows(
    result: Result, predicted: Result | None = None, judged: Stationarity | None = None
) -> Rows:
    """Returns one row per point and flow.

    Fields:
        point, assignments, flow, control, control_label: What the row is about.
        count: Number of instances; None if instances arrive.
        goodput, rtt, …: Interval of each metric, over all instances of the flow.
        active_flows, completion_time: Intervals of arrivals, otherwise None.
        request_time, rebuffer_share, page_time: Intervals of a client's requests, otherwise None.
        utilisation: That of the busiest shared hop on the flow's route.
        fairness: Among all instances of the point under a control; None for fewer than two.
        stationarity: Verdict on whether its means have settled; None if the flow is not judged.
        predicted: Goodput in bit/s by the model's label.
        violated: Names of the assumptions that the flow violates by the model's label.
    """
    judged = judged or judge(result)
    by_metric = {name: _by_subject(result, name) for name in FLOW_METRICS}
    of_arrivals = {name: _by_subject(result, name) for name in ARRIVAL_METRICS}
    of_requests = {
        name: {
            key: interval
            for key, interval in _by_subject(result, name).items()
            if not math.isnan(interval.mean)
        }
        for name in REQUEST_METRICS
        if "requests" in result.tables
    }
    utilisation = _by_subject(result, "utilisation")
    fairness = {point: interval for (point, _), interval in _by_subject(result, "fairness").items()}
    says, violated = _predictions(predicted)
    rows = []
    for index, point in enumerate(result.points):
        flows = point["scenario"]["flows"]
        for flow in flows:
            key = (index, flow["name"])
            if key not in by_metric["goodput"]:
                continue  # Interrupted before this flow had a result.
            route = [
                utilisation[index, hop] for hop in flow["route"] if (index, hop) in utilisation
            ]
            rows.append(
                {
                    "point": index,
                    "assignments": point["assignments"],
                    "flow": flow["name"],
                    "count": flow.get("count"),
                }
                | {"control": control_of(flow)}
                | {"control_label": control_label(control_of(flow))}
                | {name: by_metric[name][key] for name in FLOW_METRICS}
                | {
                    name: of_arrivals[name][key] if "arrivals" in flow else None
                    for name in ARRIVAL_METRICS
                }
                | {name: of_requests.get(name, {}).get(key) for name in REQUEST_METRICS}
                | {"stationarity": judged.row(*key)}
                | {"utilisation": max(route, key=lambda interval: interval.mean, default=None)}
                | {
                    "fairness": fairness.get(index) if rivals(flows) > 1 else None,
                    "predicted": says.get(key, {}),
                    "violated": violated.get(key, {}),
                }
            )
    return rows


def hop_rows(result: Result, judged: Stationarity | None = None) -> Rows:
    """Returns one row per point and hop.

    - `point`, `assignments`, `hop`, and the interval of each metric.
    - `unsettled`: true if a flow that crosses the hop has not settled.
    """
    judged = judged or judge(result)
    by_metric = {name: _by_subject(result, name) for name in _HOP_COLUMNS}
    return [
        {"point": index, "assignments": result.points[index]["assignments"], "hop": hop}
        | {name: by_metric[name][index, hop] for name in _HOP_COLUMNS}
        | {"unsettled": (index, hop) in judged.marked}
        for index, hop in by_metric["utilisation"]
    ]


def fidelity_rows(result: Result) -> Rows:
    """Returns one row per emulated run: the table `fidelity` with `assignments`."""
    return [
        row | {"assignments": result.points[row["point"]]["assignments"]}
        for row in (result.tables["fidelity"].to_pylist() if "fidelity" in result.tables else [])
    ]


def prediction_rows(predicted: Result) -> Rows:
    """Returns the rows of the table `predictions` with `assignments`.

    Inputs and outputs are dicts, in which infinity is `unlimited`.
    """
    return [
        row
        | {"assignments": predicted.points[row["point"]]["assignments"]}
        | {name: _by_name(row[name]) for name in ("inputs", "outputs")}
        for row in predicted.tables["predictions"].to_pylist()
    ]


def answered(rows: Rows) -> tuple[Rows, str]:
    """Returns the rows of `prediction_rows` with an answer, and a line about those without.

    If no model has an answer, returns all rows, which say why.
    """
    kept = [row for row in rows if row["verdict"] != "does not apply"]
    return (kept, applying(rows)) if kept else (rows, "")


def applying(rows: Rows) -> str:
    """Returns a line that says how many models apply; empty if none was asked or all do."""
    asked = {row["label"] for row in rows}
    kept = {row["label"] for row in rows if row["verdict"] != "does not apply"}
    if not asked or kept == asked:
        return ""
    return (
        f"{len(kept)} of {len(asked)} models apply; "
        "ackclock predict --models NAME says why another does not."
    )


def _by_name(pairs: Iterable[tuple[str, float]] | None) -> dict[str, float | str] | None:
    if pairs is None:
        return None
    return {name: "unlimited" if value == math.inf else value for name, value in pairs}


def flow_table(rows: Rows, title: str = "Flows", note: str = "") -> Table:
    """Returns the table of `flow_rows`."""
    swept = swept_paths(rows)
    models = list(dict.fromkeys(model for row in rows for model in row["predicted"]))
    rare = ("fairness", "active_flows", *REQUEST_METRICS)
    absent = {name for name in rare if all(row[name] is None for row in rows)}
    absent |= {"completion_time"} if "active_flows" in absent else set()
    metrics = [name for name in _FLOW_COLUMNS if name not in absent]
    columns: list[Column | str] = [
        *short(swept),
        Column("flow", least=_LEAST),
        Column("control", least=_LEAST),
        Column("goodput", "Mbit/s"),
        *(_FLOW_COLUMNS[name] for name in metrics),
        # Models are left out before metrics, the last one first.
        *(Column(model, "Mbit/s", -1 - position) for position, model in enumerate(models)),
    ]
    doubtful = {row["point"] for row in rows if _unsettled(row)}
    cells = (
        [
            *_assigned(row, swept),
            named(row["flow"], row["count"]),
            Written(row["control"], row["control_label"]),
            starred(in_shown_unit(row["goodput"], "goodput"), _unsettled(row)),
            *(
                starred(in_shown_unit(row[name], name), _is_marked(row, name, doubtful))
                for name in metrics
            ),
            *(_predicted_goodput(row, model) for model in models),
        ]
        for row in rows
    )
    noted = _noted(note, any(map(_unsettled, rows)))
    noted = f"{noted} {VIOLATED}.".lstrip() if violated_models(rows) else noted
    return table(title, columns, cells, noted)


def violated_models(rows: Rows) -> set[str]:
    """Returns the labels of the models of which a flow violates an assumption."""
    return {model for row in rows for model in row["violated"]}


def _predicted_goodput(row: dict[str, Any], model: str) -> Cell:
    """Returns the goodput that a model tells a flow, marked if an assumption is violated."""
    goodput = scaled(row["predicted"].get(model), 1e-6)
    return Written(goodput, f"{text(goodput)}?") if model in row["violated"] else goodput


def hop_table(rows: Rows, title: str = "Hops", note: str = "") -> Table:
    """Returns the table of `hop_rows`."""
    swept = swept_paths(rows)
    cells = (
        [
            *_assigned(row, swept),
            row["hop"],
            *(starred(in_shown_unit(row[name], name), row["unsettled"]) for name in _HOP_COLUMNS),
        ]
        for row in rows
    )
    noted = _noted(note, any(row["unsettled"] for row in rows))
    return table(title, [*short(swept), "hop", *_HOP_COLUMNS.values()], cells, noted)


def fidelity_table(rows: Rows) -> Table:
    """Returns the table of `fidelity_rows`."""
    swept = swept_paths(rows)
    columns = [*short(swept), "replicate", "verdict", "lost outside"]
    cells = (
        [
            *_assigned(row, swept),
            row["replicate"],
            row["verdict"],
            row["outside_drops"],
            *(scaled(row[name], scale) for name, (_, scale) in _FIDELITY_COLUMNS.items()),
        ]
        for row in rows
    )
    note = (
        "For each run: verdict, packets lost outside the hops, lateness of packets, and load of "
        "the emulator."
    )
    return table(
        "Fidelity", [*columns, *(column for column, _ in _FIDELITY_COLUMNS.values())], cells, note
    )


def emulation_tables(result: Result) -> list[Table]:
    """Returns the tables of fidelity and of refused settings; empty for other methods."""
    return [
        table
        for table in (fidelity_table(fidelity_rows(result)), refused_settings(result))
        if table.rows
    ]


def refused_settings(result: Result) -> Table:
    """Returns the settings that the kernel does not have as asked, each once."""
    names = ["host", "name", "asked", "has", "refusal"]
    rows = (
        result.tables["settings"].select(names).to_pylist() if "settings" in result.tables else []
    )
    settings = dict.fromkeys(
        tuple(row[name] or None for name in names) for row in rows if row["refusal"]
    )
    note = "Settings of the kernel that differ from the scenario."
    return table("Settings", ["host", "setting", "asked", "actual", "reason"], settings, note)


def prediction_table(rows: Rows, title: str = "Predictions of models", note: str = "") -> Table:
    """Returns the table of `prediction_rows`."""
    swept = swept_paths(rows)
    columns: list[Column | str] = [
        *short(swept), "flow", "control", "model", Column("goodput", "Mbit/s"),
        Column("model alone", "Mbit/s", 1), Column("output", spare=0), "verdict", "note",
    ]  # fmt: skip
    cells = (
        [
            *_assigned(row, swept),
            named(row["flow"], row["instances"]),
            Written(row["control"], control_label(row["control"])),
            row["label"],
            scaled(row["goodput_bit_per_s"], 1e-6),
            scaled(row["model_bit_per_s"], 1e-6),
            row["says"] or None,
            row["verdict"],
            row["note"],
        ]
        for row in rows
    )
    return table(title, columns, cells, note)


def _unsettled(row: dict[str, Any]) -> bool:
    """True if the means of a row of `flow_rows` have not settled."""
    return row["stationarity"] is not None and row["stationarity"]["settled"] is False


def _is_marked(row: dict[str, Any], name: str, doubtful: set[int]) -> bool:
    """True if a metric of a row has not settled; at `doubtful` points a flow has not."""
    definition = metric(name)
    unsettled = row["point"] in doubtful if definition.subjects is ALL_FLOWS else _unsettled(row)
    return definition.settles and unsettled


def _noted(note: str, marked: bool) -> str:
    """Returns a note; if a mark is used, with its meaning."""
    return f"{note} {NOTE}.".lstrip() if marked else note


def _assigned(row: dict[str, Any], swept: Iterable[str]) -> list[str]:
    """Returns the swept values of a row, as they were written."""
    return [as_written(row["assignments"][path]) for path in swept]


def _by_subject(result: Result, name: str) -> dict[tuple[int, str], Interval]:
    return {
        (summary.point, summary.subject): summary.interval
        for summary in summarise(result, metric(name))
    }


def _predictions(
    predicted: Result | None,
) -> tuple[dict[tuple[int, str], dict[str, float]], dict[tuple[int, str], dict[str, list[str]]]]:
    """Returns the goodput and the violated assumptions of each flow, by the model's label."""
    says: dict[tuple[int, str], dict[str, float]] = {}
    violated: dict[tuple[int, str], dict[str, list[str]]] = {}
    for row in predicted.tables["predictions"].to_pylist() if predicted else []:
        key = row["point"], row["flow"]
        if row["goodput_bit_per_s"] is not None:
            says.setdefault(key, {})[row["label"]] = row["goodput_bit_per_s"]
            if row["violated"]:
                violated.setdefault(key, {})[row["label"]] = row["violated"]
    return says, violated
