"""What several models take for granted, and how a flow's path violates it; and why a model has no answer at all.

An `Assumption` says nothing (an empty text) where the path keeps it, or where a scenario cannot
tell.
"""

from math import inf, isnan, sqrt

from ackclock.models.model import Assumption
from ackclock.models.path import Bottleneck, Control, FlowPath


def unless(kept: bool, how: str) -> str:
    """How an assumption is violated; empty if it is kept."""
    return "" if kept else how


def violated_if(fact: bool | None, how: str, question: str) -> str:
    """How an assumption is violated if a fact holds; that it is unknown if no element states the fact."""
    if fact is None:
        return f"it is not known whether {question}"
    return how if fact else ""


GREEDY = Assumption(
    "greedy",
    "there is always data to send",
    lambda path: violated_if(
        None if path.transfer.is_greedy is None else not path.transfer.is_greedy,
        "there is not always data to send",
        "there is always data to send",
    ),
)
LONG_RUN = Assumption(
    "long_run",
    "the flow is active all the time and long past its slow start",
    lambda path: unless(path.transfer.is_always_active, "it is not active all the time"),
)
STEADY_LINK = Assumption(
    "steady_link",
    "the links' rates do not vary",
    lambda path: violated_if(
        path.bottleneck.varies, "the link's rate varies", "the link's rate varies"
    ),
)
INDEPENDENT_LOSSES = Assumption(
    "independent_losses",
    "segments are lost at random, each on its own",
    lambda path: violated_if(
        path.loss.is_bursty,
        "losses come in bursts, their mean rate is used",
        "losses come in bursts",
    ),
)
STEADY_LOSS = Assumption(
    "steady_loss",
    "the loss rate does not change",
    lambda path: violated_if(
        path.loss.changes,
        "the loss rate changes, its mean over the measured time is used",
        "the loss rate changes",
    ),
)
NO_LOST_ACKS = Assumption(
    "no_lost_acks",
    "no ACK is lost",
    lambda path: unless(path.loss.ack_rate == 0, "lost ACKs are left out"),
)


def jitter(path: FlowPath, how: str = "jitter is left out") -> str:
    """How jitter violates an assumption; empty if there is none."""
    return violated_if(path.round_trip.has_jitter, how, "there is jitter")


def _varying_rtt(path: FlowPath) -> str:
    if found := jitter(path, "the round-trip time varies, jitter is left out"):
        return found
    # Where random loss leaves windows larger than the link needs, a queue builds up: sqrt(3/2 / p)
    # is Reno's mean.
    fills = path.loss.rate > 0 and sqrt(1.5 / path.loss.rate) > path.share_segments
    low, high = path.round_trip.base_s * 1e3, path.full_queue_round_trip_s * 1e3
    longest = "an unknown time" if isnan(high) else f"{high:.4g} ms"
    return unless(
        not fills,
        f"windows fill the link, queueing takes the round-trip time from {low:.4g} up to {longest}",
    )


STEADY_RTT = Assumption(
    "steady_rtt",
    "the round-trip time does not vary and does not depend on the window",
    _varying_rtt,
)
AN_ACK_EACH = Assumption(
    "an_ack_each",
    "every segment is acknowledged at once, or counted by bytes",
    lambda path: unless(
        path.sender.segments_per_ack == 1,
        f"an ACK stands for {path.sender.segments_per_ack:g} segments: the window grows more slowly",
    ),
)
NO_WINDOW_LIMIT = Assumption(
    "no_window_limit",
    "the window is limited by nothing but losses",
    lambda path: unless(
        path.loss.rate > 0 and sqrt(1.5 / path.loss.rate) <= path.sender.receive_window_segments,
        f"the receiver's window is {path.sender.receive_window_segments:g} segments",
    ),
)
LOST_ON_THE_WAY = Assumption(
    "all_arrives",
    "what is sent arrives: TCP sends again what is lost",
    lambda path: unless(
        path.sender.transport == "tcp",
        f"{path.loss.rate:.3g} of what is sent is lost and not sent again",
    ),
)

# A window of W leaves W - 1 duplicate ACKs at best; half a mean window is what there is after a
# loss. Three are needed.
_FEW_SEGMENTS = 10

FEW_TIMEOUTS = Assumption(
    "few_timeouts",
    "losses are few and far between: no timeouts, no loss of a retransmission",
    lambda path: unless(
        path.loss.rate > 0 and sqrt(1.5 / path.loss.rate) >= _FEW_SEGMENTS,
        f"windows are small (below {_FEW_SEGMENTS} segments), so that timeouts, which it leaves out, count",
    ),
)

RENO = Assumption("reno", "additive increase by one, multiplicative decrease by a half")

# What every model of a long flow under random loss assumes of the path.
OF_RANDOM_LOSS = (
    GREEDY,
    LONG_RUN,
    STEADY_LINK,
    INDEPENDENT_LOSSES,
    STEADY_LOSS,
    NO_LOST_ACKS,
    STEADY_RTT,
)
# The same of one that knows neither timeouts nor a window limit.
OF_RANDOM_LOSS_ALONE = (FEW_TIMEOUTS, NO_WINDOW_LIMIT, *OF_RANDOM_LOSS)


def needs_tcp(path: FlowPath) -> str:
    """Why a model of TCP has no answer."""
    if path.sender.transport != "tcp":
        return (
            f"no TCP, but the rate control {path.control.name}" if path.control.name else "no TCP"
        )
    return unless(path.round_trip.base_s > 0, "no round-trip time without queueing")


def needs_random_loss(path: FlowPath) -> str:
    """Why a model of TCP under random loss has no answer."""
    return needs_tcp(path) or _no_random_loss(path)


def needs_equation(path: FlowPath, loss: str, name: str) -> str:
    """Why a model of a rate control over UDP has no answer under random loss.

    Args:
        path: The path of the flow.
        loss: The loss rate that the throughput equation of the control is given.
        name: The control with that equation.
    """
    if path.sender.transport == "tcp" or not path.control.name:
        return "no rate control"
    if path.control.equation != loss:
        return f"{path.control.name} is not {name}"
    return needs_loss_and_round_trip(path)


def needs_loss_and_round_trip(path: FlowPath) -> str:
    """Why a model of any transport under random loss has no answer."""
    return unless(
        path.round_trip.base_s > 0, "no round-trip time without queueing"
    ) or _no_random_loss(path)


def _no_random_loss(path: FlowPath) -> str:
    if path.loss.rate == 0:
        return "no random loss"
    return unless(path.loss.rate < 1, "everything is lost")


def not_aimd(control: Control) -> str:
    """Why a control is not known to be AIMD; empty if it is."""
    return _other_than(control, "linear", "constant", f"{control.name} is not AIMD")


def not_reno(control: Control) -> str:
    """Why a control is not known to be AIMD(1, 1/2); empty if it is."""
    how = f"{control.name} is not AIMD(1, 1/2)"
    return _other_than(control, "linear", "constant", how) or unless(control.is_reno, how)


def not_cubic(control: Control) -> str:
    """Why a control is not known to be CUBIC; empty if it is."""
    return _other_than(control, "cubic", "constant", f"{control.name} is not CUBIC")


def not_highspeed(control: Control) -> str:
    """Why a control is not known to be HighSpeed TCP (RFC 3649); empty if it is."""
    return _other_than(control, "highspeed", "by_window", f"{control.name} is not HighSpeed TCP")


def _other_than(control: Control, growth: str, kept: str, how: str) -> str:
    other = control.growth not in (None, growth) or control.kept not in (None, kept)
    return how if other else control.unstated


def rate_varies(bottleneck: Bottleneck) -> str:
    """Why the rate of the bottleneck is not known to be constant; empty if it is."""
    return violated_if(
        bottleneck.varies, "the bottleneck's rate varies", "the bottleneck's rate varies"
    )


def no_droptail(bottleneck: Bottleneck) -> str:
    """Why the bottleneck is not known to have a drop-tail queue with a limit; empty if it has one."""
    if bottleneck.queue and bottleneck.drops is None:
        return f"{bottleneck.queue} does not state which packets it drops"
    if bottleneck.drops == "tail" and isnan(bottleneck.buffer_segments):
        return f"{bottleneck.queue} does not state how much it holds"
    limited = bottleneck.is_droptail and bottleneck.buffer_segments < inf
    return unless(limited, "the bottleneck has no drop-tail queue with a limit")


def needs_aimd(path: FlowPath) -> str:
    """Why a model of any AIMD under random loss has no answer."""
    return needs_random_loss(path) or not_aimd(path.control)


def needs_reno(path: FlowPath) -> str:
    """Why a model of AIMD(1, 1/2) under random loss has no answer."""
    return needs_random_loss(path) or not_reno(path.control)
