"""What several models take for granted, and how a flow's path violates it; and why a model has no answer at all.

An `Assumption` says nothing (an empty text) where the path keeps it, or where a scenario cannot tell.
"""

from ackclock.models.model import Assumption
from ackclock.models.path import FlowPath


def unless(kept: bool, how: str) -> str:
    """How an assumption is violated; empty if it is kept."""
    return "" if kept else how


GREEDY = Assumption(
    "greedy",
    "there is always data to send",
    lambda path: unless(path.is_greedy, "there is not always data to send"),
)
LONG_RUN = Assumption(
    "long_run",
    "the flow is active all the time and long past its slow start",
    lambda path: unless(path.is_always_active, "it is not active all the time"),
)
STEADY_LINK = Assumption(
    "steady_link",
    "the links' rates do not vary",
    lambda path: unless(not path.link_varies, "the link's rate varies"),
)
INDEPENDENT_LOSSES = Assumption(
    "independent_losses",
    "segments are lost at random, each on its own",
    lambda path: unless(not path.loss_is_bursty, "losses come in bursts, their mean rate is used"),
)
NO_LOST_ACKS = Assumption(
    "no_lost_acks",
    "no ACK is lost",
    lambda path: unless(path.ack_loss == 0, "lost ACKs are left out"),
)
STEADY_RTT = Assumption(
    "steady_rtt",
    "the round-trip time does not vary and does not depend on the window",
    lambda path: unless(not path.has_jitter, "the round-trip time varies, jitter is left out"),
)

# What every model of a long flow under random loss assumes of the path.
OF_RANDOM_LOSS = (GREEDY, LONG_RUN, STEADY_LINK, INDEPENDENT_LOSSES, NO_LOST_ACKS, STEADY_RTT)


def needs_tcp(path: FlowPath) -> str:
    """Why a model of TCP has no answer."""
    if path.transport != "tcp":
        return "no TCP"
    return unless(path.round_trip_s > 0, "no round-trip time without queueing")


def needs_random_loss(path: FlowPath) -> str:
    """Why a model of TCP under random loss has no answer."""
    if path.loss == 0:
        return needs_tcp(path) or "no random loss"
    return needs_tcp(path) or unless(path.loss < 1, "everything is lost")


def needs_reno(path: FlowPath) -> str:
    """Why a model of AIMD(1, 1/2) under random loss has no answer."""
    reno = path.is_aimd and path.growth_segments == 1 and path.kept_share == 0.5
    return needs_random_loss(path) or unless(reno, f"{path.control} is not AIMD(1, 1/2)")
