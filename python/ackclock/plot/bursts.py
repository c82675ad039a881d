"""The figure `bursts`."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.canvas import entitle, looks, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.flows import described
from ackclock.plot.style import line_styles
from ackclock.result.labels import control_label
from ackclock.result.result import Result

__all__ = ["BURSTS", "bursts"]

# The vertical axis is logarithmic if the most frequent size is more than this times as frequent as
# the rarest.
_FAR = 30


def bursts(result: Result) -> Figure:
    """Draws the distribution of burst sizes: packets that left between two clock readings.

    Args:
        result: The result of `ackclock send`.

    Raises:
        ValueError: The result is of another method.
    """
    if "bursts" not in result.tables:
        raise InputError(
            "no-data", "", 'this result has no table "bursts"; ackclock send writes it'
        )
    rows, shown = result.tables["bursts"], described(result, 0)
    packets, counts = column(rows, "packets"), column(rows, "bursts")
    controls = [flow.control for flow in shown.flows.values()]
    with looks():
        figure, [axes] = new()
        if counts.size:
            # A session has one flow.
            [name], [looked] = shown.flows, line_styles(result.run, controls)
            label = f"{name} ({control_label(controls[0])})"
            # The edge keeps a bar visible if the axis is so long that the bar has no width.
            axes.bar(packets, counts, color=looked.color, edgecolor=looked.color, label=label)
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
            if counts.max() > _FAR * counts.min():
                axes.set_yscale("log")
                axes.set_ylim(bottom=0.5)
                axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        else:
            axes.text(
                0.5, 0.5, "nothing happened", transform=axes.transAxes, ha="center", va="center"
            )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("packets that left together")
        axes.set_ylabel("how often")
        entitle(axes, f"Bursts: {shown.name}" + (" (interrupted run)" if result.partial else ""))
    return figure


BURSTS = FigureKind(
    "bursts", "Distribution of a sender's burst sizes: packets sent between two clock readings.",
    ("send",), bursts, (), ("bursts", "flows"),
)  # fmt: skip
