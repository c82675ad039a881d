"""The figure `bursts`."""

from dataclasses import replace

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.flows import described
from ackclock.plot.kind import FigureKind
from ackclock.plot.scales import is_wide
from ackclock.plot.spec import Axis, FigureSpec, Panel, Series
from ackclock.plot.style import line_styles
from ackclock.result.labels import control_label
from ackclock.result.result import Result


def _bursts(result: Result) -> FigureSpec:
    """Shows the distribution of burst sizes: packets that left between two clock readings.

    Raises:
        InputError: The result is of another method.
    """
    if "bursts" not in result.tables:
        raise InputError(
            "no-data", "", 'this result has no table "bursts"; ackclock send writes it'
        )
    rows, shown = result.tables["bursts"], described(result, 0)
    packets, counts = column(rows, "packets").astype(float), column(rows, "bursts").astype(float)
    series = []
    if counts.size:
        # A session has one flow.
        [(name, flow)] = shown.flows.items()
        [style] = line_styles(result.run, [flow.control])
        label = f"{name} ({control_label(flow.control)})"
        series = [Series(style, packets, counts, "columns", label)]
    is_log = is_wide(counts)
    y = Axis("how often", scale="log" if is_log else "linear", begin=None if is_log else 0.0)
    if is_log:
        y = replace(y, ends=(0.5, 2 * float(counts.max())))
    ends = (0.0, float(packets.max()) + 1) if counts.size else (0.0, 2.0)
    return FigureSpec(
        "bursts", "Bursts", Axis("packets that left together", ends=ends, is_dense=True), y,
        (Panel(tuple(series)),), shown.name + (" (interrupted run)" if result.partial else ""),
        BURSTS.summary, absent="nothing happened",
    )  # fmt: skip


BURSTS = FigureKind(
    "bursts", "Distribution of a sender's burst sizes: packets sent between two clock readings.",
    ("send",), _bursts, (), ("bursts", "flows"),
)  # fmt: skip

FIGURES = (BURSTS,)
