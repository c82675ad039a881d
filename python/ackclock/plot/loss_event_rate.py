"""The figure `loss_event_rate`."""

from matplotlib.figure import Figure

from ackclock.plot.canvas import Span, new
from ackclock.plot.figure import FigureKind, View
from ackclock.plot.series import TAKES, Replicate, draw_line, is_known, with_looks
from ackclock.result.result import Result

__all__ = ["LOSS_EVENT_RATE", "loss_event_rate"]


@with_looks
def loss_event_rate(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> Figure:
    """Draws the loss rate estimated by a rate control, as packets lost or loss events."""
    run = Replicate(result, point, replicate, span)
    figure, [axes] = new()
    for line in run.lines("time_s", "loss_event_rate"):
        draw_line(axes, line.rows["time_s"], line.rows["loss_event_rate"] * 100, line, line.label)
    axes.set_ylabel("loss event rate (%)")
    return run.finish(figure, [axes], "Loss event rate")


def _lacks(result: Result, view: View) -> str | None:
    if is_known(result, "loss_event_rate", view.point):
        return None
    return (
        "has no flow under a rate control, which would take a loss rate; "
        "choose for example --kind rtt"
    )


LOSS_EVENT_RATE = FigureKind(
    "loss_event_rate",
    "Loss rate estimated by a rate control, by its own definition: packets lost or loss events.",
    ("simulate", "emulate", "send"), loss_event_rate, TAKES, ("samples", "flows"), _lacks,
)  # fmt: skip
