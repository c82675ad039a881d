"""Means of a sweep against one of its swept values, from a tidy table."""

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.errors import InputError
from ackclock.metrics import Metric
from ackclock.plot.canvas import entitle, looks, new
from ackclock.plot.scales import set_scales
from ackclock.plot.style import style

__all__ = ["lines"]

# Lines that a reader can tell apart.
_MOST_LINES = 12


def lines(tidy: pa.Table, x: str, metric: Metric, title: str) -> Figure:
    """Draws means and intervals against a swept value: a line for each combination of the others.

    Args:
        tidy: Columns of swept values with units in their names, `subject`, `mean` and `half_width`
            in the metric's unit, as from `ackclock.sweeps.summary.frame`.
        x: Column of the horizontal axis; numbers.
        metric: The metric.
        title: Words above it.

    Raises:
        InputError: The column holds texts, or there are too many lines.
    """
    if pa.types.is_dictionary(tidy[x].type):
        raise InputError("unsupported", "--x", f"{x} is not a number; choose another column", x)
    fixed = {"point", x, "mean", "half_width", "replicates"}
    others = [
        name
        for name in tidy.column_names
        if name not in fixed and len(set(tidy[name].to_pylist())) > 1
    ]
    found: dict[tuple[object, ...], list[tuple[float, float, float]]] = {}
    for row in tidy.to_pylist():
        if row["mean"] is not None:
            key = tuple(row[name] for name in others)
            half = row["half_width"]
            found.setdefault(key, []).append(
                (row[x], row["mean"], np.nan if half is None else half)
            )
    if len(found) > _MOST_LINES:
        raise InputError(
            "unsupported", "--x", f"would be {len(found)} lines, the most is {_MOST_LINES}; "
            f"choose among {', '.join(others)} with --where",
        )  # fmt: skip
    with looks():
        figure, [axes] = new(height=3.8)
        drawn = []
        for position, (key, members) in enumerate(found.items()):
            at, means, half = np.array(sorted(members), float).T
            means, half = means * metric.shown_per_unit, half * metric.shown_per_unit
            looked = style(position)
            label = ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in key)
            axes.plot(
                at, means, color=looked.color, linestyle=looked.linestyle, marker=looked.marker,
                label=label,
            )  # fmt: skip
            if not np.isnan(half).all():
                axes.errorbar(
                    at, means, np.nan_to_num(half), fmt="none", ecolor=looked.color,
                    elinewidth=0.8, capsize=2.5,
                )  # fmt: skip
            drawn.append(list(means))
        axes.set_xlabel(_named(tidy, x))
        unit = f" ({metric.shown_unit})" if metric.shown_unit else ""
        axes.set_ylabel(f"{metric.label}{unit}")
        entitle(axes, title)
        set_scales(axes, tidy[x].to_pylist(), drawn)
        if others and found:
            head = "\n".join(_named(tidy, one) for one in others)
            axes.legend(
                loc="upper left",
                bbox_to_anchor=(1.0, 1.0),
                fontsize=8,
                title=head,
                title_fontsize=7,
            )
    return figure


def _named(tidy: pa.Table, name: str) -> str:
    """Returns the path and the unit of a swept column; its name if it does not say."""
    described = tidy.schema.field(name).metadata or {}
    path, unit = (described.get(key, b"").decode() for key in (b"path", b"unit"))
    return f"{path or name} ({unit})" if unit else path or name
