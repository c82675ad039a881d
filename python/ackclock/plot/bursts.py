"""The figure `bursts`."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from ackclock.errors import InputError
from ackclock.metrics.tables import column
from ackclock.plot.canvas import entitle, looks, new
from ackclock.plot.figure import FigureKind
from ackclock.plot.flows import described
from ackclock.plot.style import control_label, line_styles
from ackclock.result import Result

__all__ = ["BURSTS", "bursts"]

# Where the least and the most frequent are further apart than this, bars stand on a logarithmic
# axis.
_FAR = 30


def bursts(result: Result) -> Figure:
    """Draws how many packets left between two readings of the clock, and how often that many did.

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
            # One session, one flow.
            [name], [looked] = shown.flows, line_styles(result.run, controls)
            label = f"{name} ({control_label(result.run, controls[0])})"
            # Its edge shows a bar where the axis is so long that it has no width.
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
    "bursts", "Histogram of the number of packets that a sender's session sent together.",
    ("send",), bursts, (), ("bursts", "flows"),
)  # fmt: skip
