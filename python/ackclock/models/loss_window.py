"""The mean window that a loss rate allows, by the law of a control."""

from math import inf, isnan, nan

from ackclock.models import cubic_response, hstcp_response, square_root
from ackclock.models.path import Control


def loss_window(control: Control, loss: float, rtt_s: float, segments_per_ack: float) -> float:
    """Returns the mean window in segments, without recovery and timeouts.

    Args:
        control: The control; one that does not react to losses has no limit.
        loss: Share of segments lost.
        rtt_s: Round-trip time without queueing.
        segments_per_ack: b, as in `ackclock.models.path.Sender`.

    Returns:
        Infinite if losses do not limit the window; NaN if the control does not state its law, or
        the law needs a round-trip time that is unknown or zero.
    """
    if not 0 < loss < 1 or control.kept == "all":
        return inf
    if control.is_aimd and not isnan(control.growth_segments):
        constant = square_root.constant(
            segments_per_ack, control.growth_segments, control.kept_share
        )
        return float(constant / loss**0.5)
    if control.equation:
        return float(square_root.constant(segments_per_ack) / loss**0.5)
    if control.is_highspeed:
        return float(hstcp_response.window(loss))
    is_cubic = control.growth == "cubic" and control.kept == "constant"
    if is_cubic and not isnan(control.cubic_c) and rtt_s > 0:
        return float(cubic_response.window(loss, rtt_s, control.cubic_c, control.kept_share))
    return nan
