"""Distributions over time: of the queueing delay at a hop, or of a flow's round-trip time."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ackclock import units
from ackclock.errors import InputError, suggestion
from ackclock.metrics.frame import swept
from ackclock.metrics.tables import grouped
from ackclock.plot.kind import FigureKind, View, refusal
from ackclock.plot.panels import Dimension, Grid, dimension, dimensions, grid, selected
from ackclock.plot.spec import Axis, FigureSpec, Series
from ackclock.plot.style import control_styles, line, method_style
from ackclock.plot.subject import bottleneck, points_table
from ackclock.result.result import Result

_NO_SAMPLES = "has no samples; run it again"
_NO_SAMPLES_HERE = "no samples"

#: Lines that one can tell apart.
_MOST_LINES = 8

# A curve has this many points, evenly spaced in probability.
_CURVE = np.linspace(0.0, 1.0, 201)


class _Samples(NamedTuple):
    """The samples of a distribution.

    Attributes:
        label: What they are of.
        by_run: Samples in milliseconds by point and replicate.
    """

    label: str
    by_run: dict[tuple[int, int], NDArray[np.float64]]


def _cdf(result: Result, *, subject: str | None = None, x: str | None = None) -> FigureSpec:
    """Shows the share of time in which a delay is at most as large.

    It is over the sampling times after the warm-up, so over time, not over packets. A line is over
    all replicates; its band has the smallest and the largest of any replicate.

    Args:
        result: The result of `simulate`, `emulate` or `measure`.
        subject: A hop, for its queueing delay, or a flow, for the latest round-trip time of its
            instances; by default the bottleneck, or the first flow if hops are not observed.
        x: Path of the swept value whose values are the lines; by default a choice such as the
            control, else the last swept quantity.

    Raises:
        InputError: There is no such subject, or there are too many lines or panels.
    """
    samples, series, made = _prepared(result, subject, x)
    looks = control_styles(result.run)

    def curves(values: dict[str, Any]) -> list[Series]:
        curves = []
        for position, (value, runs) in enumerate(_lines(series, _members(result, samples, values))):
            each = np.array([np.quantile(run, _CURVE) for run in runs])
            style = looks.get(str(value), line(position)) if series else _only(result)
            label = series.panel_title(value) if series else ""
            whole = np.quantile(np.concatenate(runs), _CURVE)
            ends = (each.min(axis=0), each.max(axis=0))
            curves.append(Series(f"{style}/", whole, 100 * _CURVE, label=label, inner=ends))
        return curves

    panels = made.panels(curves)
    most = max(float(series.x[-1]) for panel in panels for series in panel.series)
    return FigureSpec(
        "cdf", f"Distribution of the {samples.label}",
        Axis(samples.label, "ms", ends=(0.0, 1.03 * most or 1.0), is_dense=True),
        Axis("share of time", "%", ends=(0.0, 100.0)), panels, str(result.run["name"]), CDF.summary,
        columns=len(made.column_values), absent=_NO_SAMPLES_HERE,
    )  # fmt: skip


def _only(result: Result) -> str:
    return method_style(str(result.run["method"]))


def _box(result: Result, *, subject: str | None = None, x: str | None = None) -> FigureSpec:
    """Shows quartiles of a delay over time as boxes, with whiskers at 5 % and 95 %.

    They are over all replicates and the sampling times after the warm-up.

    Args:
        result: As for `cdf`.
        subject: As for `cdf`.
        x: Path of the swept value with a box for each value; by default as the lines of `cdf`.

    Raises:
        InputError: As for `cdf`.
    """
    samples, series, made = _prepared(result, subject, x)
    values = series.values if series else ("",)

    def boxes(swept_values: dict[str, Any]) -> list[Series]:
        lines = _lines(series, _members(result, samples, swept_values))
        places = np.array([float(values.index(value)) for value, _ in lines])
        shares = (0.05, 0.25, 0.5, 0.75, 0.95)
        every = [np.quantile(np.concatenate(runs), shares) for _, runs in lines]
        low, first, median, third, high = np.array(every).reshape(-1, 5).T
        return [
            Series(
                _only(result), places, median, "boxes", low=low, high=high, inner=(first, third)
            )
        ]  # fmt: skip

    ticks = tuple(
        (float(place), series.value_text(value) if series else "")
        for place, value in enumerate(values)
    )
    axis = Axis(series.axis_name, series.unit) if series else Axis()
    return FigureSpec(
        "box", f"Quartiles of the {samples.label}", replace(axis, ticks=ticks, is_choice=True),
        Axis(samples.label, "ms", begin=0.0), made.panels(boxes),
        f"{result.run['name']}, whiskers at 5 % and 95 % of time", BOX.summary,
        columns=len(made.column_values), absent=_NO_SAMPLES_HERE,
    )  # fmt: skip


def _prepared(
    result: Result, subject: str | None, x: str | None
) -> tuple[_Samples, Dimension | None, Grid]:
    """Returns the samples, the swept value that lines or boxes stand for, and the panels."""
    return _samples(result, subject), *_arranged(result, x)


def _arranged(result: Result, x: str | None) -> tuple[Dimension | None, Grid]:
    choosable = dimensions(points_table(result))
    if x is not None:
        series: Dimension | None = dimension(choosable, x, "--x")
    else:
        few = [candidate for candidate in choosable if len(candidate.values) <= _MOST_LINES]
        choices = [candidate for candidate in few if not candidate.is_number]
        series = next(iter([*choices, *reversed(few)]), None)
    if series is not None and len(series.values) > 4 * _MOST_LINES:
        raise InputError(
            "out-of-range", "--x", f"{series.path} has {len(series.values)} values; choose another"
        )
    others = sorted(
        (candidate for candidate in choosable if candidate != series),
        key=lambda candidate: -len(candidate.values),
    )
    return series, grid(others)


def _members(
    result: Result, samples: _Samples, values: dict[str, Any]
) -> list[tuple[dict[str, Any], list[NDArray[np.float64]]]]:
    """Returns the points with some swept values that have samples: values, samples of each run."""
    columns = swept(result.points)
    rows = [
        {"point": point, **{column.name: column.values[point] for column in columns}}
        for point in range(len(result.points))
    ]
    runs: dict[int, list[NDArray[np.float64]]] = {}
    for (point, _), of_run in samples.by_run.items():
        runs.setdefault(point, []).append(of_run)
    return [(row, runs[row["point"]]) for row in selected(rows, values) if row["point"] in runs]


def _lines(
    series: Dimension | None, members: list[tuple[dict[str, Any], list[NDArray[np.float64]]]]
) -> list[tuple[Any, list[NDArray[np.float64]]]]:
    """Returns each value of the series in a panel, with the samples of its runs."""
    if series is None:
        return [("", runs) for _, runs in members[:1]]
    return [
        (value, runs)
        for value in series.values
        for row, runs in members
        if row[series.column] == value
    ]


def _samples(result: Result, subject: str | None) -> _Samples:
    """Returns the samples of a hop's queueing delay or of a flow's round-trip time."""
    hops = _names(result, "hops", "hop")
    flows = _names(result, "samples", "flow")
    chosen = subject or bottleneck(result) or next(iter(flows), None)
    if chosen is None:
        raise InputError("no-data", "", _NO_SAMPLES)
    if chosen not in (*hops, *flows):
        raise InputError(
            "unknown-name",
            "--subject",
            f'unknown flow or hop "{chosen}"; {suggestion(chosen, [*hops, *flows])}',
        )
    if chosen in hops:
        rows = result.rows("hops", hop=chosen)
        label = f"queueing delay at {chosen}"
        names: tuple[str, ...] = ("time_s", "backlog_bytes", "rate_bit_per_s")
    else:
        rows = result.rows("samples", flow=chosen)
        label = f"round-trip time of {chosen}"
        names = ("time_s", "rtt_s")
    by_run = {}
    for (point, replicate), columns in grouped(rows, ("point", "replicate"), names):
        if (point, replicate) in result.left_out:
            continue
        late = columns["time_s"] > _warmup_s(result, point)
        if chosen in hops:
            late &= columns["rate_bit_per_s"] > 0
            values = columns["backlog_bytes"][late] * 8e3 / columns["rate_bit_per_s"][late]
        else:
            values = columns["rtt_s"][late] * 1e3
        values = values[np.isfinite(values)]
        if values.size:
            by_run[point, replicate] = values
    if not by_run:
        raise InputError("no-data", "", f"has no sample of the {label}")
    return _Samples(label, by_run)


def _warmup_s(result: Result, point: int) -> float:
    scenario = result.points[point]["scenario"]
    return -math.inf if scenario is None else units.seconds(scenario["warmup"])


def _names(result: Result, table: str, column: str) -> list[str]:
    """Returns the names in a column of a table, in order of appearance; none without the table."""
    if table not in result.tables:
        return []
    return [str(name) for name in result.rows(table)[column].unique().to_pylist()]


def _lacks(result: Result, view: View) -> str | None:
    if "hops" not in result.tables and "samples" not in result.tables:
        return _NO_SAMPLES
    if view.x or view.subject:
        return None
    return refusal(lambda: _prepared(result, None, None))


_METHODS = ("simulate", "emulate")

CDF = FigureKind(
    "cdf",
    "Distribution over time of the queueing delay at a hop, or of a flow's round-trip time.",
    _METHODS, _cdf, ("subject", "x"), (), _lacks,
)  # fmt: skip

BOX = FigureKind(
    "box",
    "Quartiles over time of the queueing delay at a hop, or of a flow's round-trip time, with "
    "whiskers at 5 % and 95 %.",
    _METHODS, _box, ("subject", "x"), (), _lacks, on_pages=False,
)  # fmt: skip

FIGURES = (CDF, BOX)
