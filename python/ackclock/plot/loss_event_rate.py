"""The figure `loss_event_rate`."""

from ackclock.plot.canvas import Span
from ackclock.plot.kind import FigureKind, View
from ackclock.plot.series import TAKES, Replicate, is_known
from ackclock.plot.spec import Axis, FigureSpec, Panel
from ackclock.result.result import Result


def _loss_event_rate(
    result: Result, *, point: int = 0, replicate: int = 0, span: Span | None = None
) -> FigureSpec:
    """Shows the loss rate estimated by a rate control, as packets lost or loss events."""
    run = Replicate(result, point, replicate, span)
    series = [
        line.series(line.rows["loss_event_rate"] * 100, part=run.main)
        for line in run.lines("time_s", "loss_event_rate")
    ]
    y = Axis("loss event rate", "%", begin=0.0)
    summary = LOSS_EVENT_RATE.summary
    return run.figure("loss_event_rate", "Loss event rate", y, [Panel(tuple(series))], summary)


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
    ("simulate", "emulate", "send"), _loss_event_rate, TAKES, ("samples", "flows"), _lacks,
)  # fmt: skip

FIGURES = (LOSS_EVENT_RATE,)
