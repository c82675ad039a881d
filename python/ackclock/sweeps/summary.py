"""A metric of a sweep over replicates: one row for each point and flow or hop, as a tidy table."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ackclock.errors import InputError, suggestion
from ackclock.metrics import Metric
from ackclock.metrics.confidence import interval
from ackclock.metrics.metric import unknown_subject
from ackclock.metrics.tables import grouped
from ackclock.sweeps.plan import Asked
from ackclock.sweeps.store import Store
from ackclock.table import Cell, Column, Interval, Table, Written, short, table, text
from ackclock.validity.stationarity import starred

#: Meaning of the word at a number of replicates.
ONE = "identical: nothing random affects these replicates, so that they count as one"

# What tells rows of a point apart.
_KEYS = ("method", "subject")


def frame(store: Store, asked: Asked) -> pa.Table:
    """Returns means over replicates as a tidy table, named as those of `Result.frame`.

    Columns: `point`; the swept values, with units in their names; `method`; `subject`, the flow or
    hop; METRIC and `METRIC_half_width` in the metric's unit; `METRIC_unsettled`, true if the runs
    are too short for it; `replicates`; `identical`, true if nothing random affects them, so that
    they count as one. A half width is null for fewer than two replicates. The
    level is 95 %, or that of the last look (see `precision`). Unreliable runs are left out. A
    prediction is that of the model that fits best. The last columns are then `model`, its name, and
    `violated`, true if the flow violates one of its assumptions.

    Raises:
        InputError: The sweep did not compute the metric, it has no such subject, no run has ended,
            or a batch is damaged.
    """
    name = asked.metric.name
    computed = dict.fromkeys(other.metric.name for other in store.plan.asked)
    if name not in computed:
        raise InputError(
            "no-data", f"{store.folder}", f"has no metric {name}; "
            f"there is {', '.join(computed)}",
        )  # fmt: skip
    store.refuse_damage("metrics")
    values = store.values([name])
    subjects = values["subject"].unique().to_pylist()
    if subjects and asked.subject is not None and asked.subject not in subjects:
        raise unknown_subject([asked.metric], asked.subject, subjects, f"{store.folder}")
    rows: list[tuple[int, str, str, Interval, str | None, bool]] = []
    keys = ("point", "method", "subject")
    columns = ("value", "model", "unsettled")
    for (point, method, subject), group in grouped(values, keys, columns):
        if asked.subject in (None, subject):
            _, precision = store.plan.wanted_of(method)
            sample = group["value"]
            mean = interval(sample) if precision is None else precision.interval(sample.tolist())
            unsettled = bool(group["unsettled"].any())
            rows.append((point, method, subject, mean, group["model"][0], unsettled))
    if not rows:
        raise InputError("no-data", f"{store.folder}", f"has no values of {asked} yet")
    order = {method: place for place, method in enumerate(store.plan.methods)}
    rows.sort(key=lambda row: (row[0], order[row[1]], row[2]))
    repeated = store.identical()
    points, methods, subjects, intervals, models, unsettled_rows = zip(*rows, strict=True)
    means = pa.table(
        {
            "point": pa.array(points, pa.int64()),
            "method": pa.array(methods, pa.string()),
            "subject": pa.array(subjects, pa.string()),
            name: pa.array(
                [estimate.mean for estimate in intervals], pa.float64(), from_pandas=True
            ),
            f"{name}_half_width": pa.array(
                [estimate.half_width for estimate in intervals], pa.float64(), from_pandas=True
            ),
            f"{name}_unsettled": pa.array(unsettled_rows, pa.bool_()),
            "replicates": pa.array([estimate.replicates for estimate in intervals], pa.int64()),
            "identical": pa.array(
                [
                    method == "simulate" and point in repeated
                    for point, method in zip(points, methods, strict=True)
                ]
            ),
            **(_prediction_columns(store, points, subjects, models) if any(models) else {}),
        }
    )
    of_points = store.points.take(means["point"])
    for place, swept in enumerate(store.swept, 1):
        means = means.add_column(place, store.points.schema.field(swept), of_points[swept])
    return means


def _prediction_columns(
    store: Store, points: Sequence[int], subjects: Sequence[str], models: Sequence[str | None]
) -> dict[str, pa.Array]:
    """Returns the columns of predictions."""
    violated, rows = store.violated(), zip(points, subjects, models, strict=True)
    doubts = [None if row[-1] is None else row in violated for row in rows]
    return {"model": pa.array(models, pa.string()), "violated": pa.array(doubts, pa.bool_())}


def bottleneck(store: Store, tidy: pa.Table) -> str | None:
    """Returns the hop that a figure shows unless asked for another.

    It is the busiest one on the data's route, on average over the points.

    Args:
        store: The sweep.
        tidy: From `frame`.

    Returns:
        None if the table is not about several hops, or utilisation was not computed.
    """
    tree = store.plan.base.replace(store.plan.points[0]).resolve().tree
    hops = {hop["name"] for hop in tree["hops"]}
    subjects = set(tidy["subject"].to_pylist())
    if len(subjects) < 2 or not subjects <= hops:
        return None
    on_route = subjects & {name for flow in tree["flows"] for name in flow["route"]}
    busy = {
        hop: float(np.mean(columns["value"]))
        for (hop,), columns in grouped(store.values(["utilisation"]), ("subject",), ("value",))
        if hop in on_route
    }
    return max(busy, key=lambda hop: busy[hop], default=None)


def without_copies(tidy: pa.Table, kept: str | None = None) -> pa.Table:
    """Returns a tidy table without swept columns that repeat another, as joined paths do.

    Args:
        tidy: From `frame`.
        kept: A column that stays.
    """
    seen: dict[tuple[object, ...], str] = {}
    copies = [
        name
        for name in sorted(_swept(tidy), key=lambda name: name != kept)
        if seen.setdefault(tuple(tidy[name].to_pylist()), name) != name
    ]
    return tidy.drop_columns(copies)


def _swept(tidy: pa.Table) -> list[str]:
    return [field.name for field in tidy.schema if b"path" in (field.metadata or {})]


def where(tidy: pa.Table, conditions: tuple[str, ...]) -> pa.Table:
    """Returns the rows that meet conditions such as `hops.b.delay=10` or `subject=download`.

    A number is in the unit of its column.

    Raises:
        InputError: There is no such column, or no such value.
    """
    for condition in conditions:
        name, sign, wanted = (part.strip() for part in condition.partition("="))
        if not sign:
            raise InputError("syntax", "--where", f'"{condition}" is not COLUMN=VALUE', condition)
        column = name if name in _KEYS else column_of(tidy, name, "--where")
        texts = [_written(value) for value in tidy[column].to_pylist()]
        number = re.match(r"[-+.\deE]+", wanted)
        kept = np.array([text in (wanted, number and number[0]) for text in texts])
        if not kept.any():
            choices = list(dict.fromkeys(texts))
            raise InputError(
                "no-data", "--where", f'"{condition}" is true of no point; '
                f"{suggestion(wanted, choices)}", condition,
            )  # fmt: skip
        tidy = tidy.filter(pa.array(kept))
    return tidy


def column_of(tidy: pa.Table, name: str, option: str) -> str:
    """Returns the column of a swept path, of its own name, or of a part of it that no other has.

    Raises:
        InputError: There is none.
    """
    swept = _swept(tidy)
    plain = re.sub(r"\W+", "_", name).strip("_")
    for pattern in (rf"{plain}", rf"{plain}_.*", rf"(.*_)?{plain}(_.*)?"):
        matching = [column for column in swept if plain and re.fullmatch(pattern, column)]
        if len(matching) == 1:
            return str(matching[0])
    raise InputError(
        "unknown-name", option, f'nothing swept is called "{name}"; {suggestion(name, swept)}', name
    )


def shown(tidy: pa.Table, metric: Metric, title: str, x: str | None = None) -> Table:
    """Returns a tidy table for people: swept values that vary, and the metric in its usual unit.

    Args:
        tidy: From `frame`.
        metric: The metric.
        title: Words above it.
        x: The swept column that varies fastest, and stands first.
    """
    swept = _swept(tidy)
    varying = [column for column in swept if len(set(tidy[column].to_pylist())) > 1]
    others = [column for column in varying if column != x]
    others += [column for column in _KEYS if len(set(tidy[column].to_pylist())) > 1]
    rows = tidy.to_pylist()
    if x is not None:
        rows.sort(key=lambda row: tuple(row[column] for column in (*others, x)))
    name, scale = metric.name, metric.shown_per_unit
    keys = ["point", *filter(None, [x]), *others]
    columns = [
        *_heads(tidy, keys),
        Column(metric.label, metric.shown_unit),
        Column("replicates"),
        *([Column("model")] if "model" in tidy.column_names else []),
    ]
    cells = [
        [
            *(_written(row[column]) if column in swept else row[column] for column in keys),
            _mean(row, name, scale),
            _count(row),
            *([row["model"]] if "model" in row else []),
        ]
        for row in rows
    ]
    return table(title, columns, cells)


def _mean(row: Mapping[str, Any], name: str, scale: float) -> Cell:
    """Returns the mean of a row with its interval, marked if it has not settled or is doubtful."""
    mean = _interval(row[name], row[f"{name}_half_width"], row["replicates"], scale)
    if row.get("violated"):
        return Written(mean, f"{text(mean)}?")
    return starred(mean, row[f"{name}_unsettled"])


def _count(row: Mapping[str, Any]) -> Cell:
    """Returns the number of replicates of a row, marked if they are identical."""
    count = row["replicates"]
    return Written(count, f"{count} identical") if row["identical"] else count


def _heads(tidy: pa.Table, keys: list[str]) -> list[Column]:
    """Returns the columns of keys: swept ones by the shortest name of their path, with the unit."""
    described = {name: tidy.schema.field(name).metadata or {} for name in keys}
    paths = {
        name: metadata[b"path"].decode()
        for name, metadata in described.items()
        if b"path" in metadata
    }
    names = dict(zip(paths, short(paths.values()), strict=True))
    return [
        Column(names.get(name, name), described[name].get(b"unit", b"").decode()) for name in keys
    ]


def _interval(
    mean: float | None, half_width: float | None, replicates: int, scale: float
) -> Interval | None:
    if mean is None:
        return None
    half = float("nan") if half_width is None else half_width * scale
    return Interval(mean * scale, half, replicates)


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
