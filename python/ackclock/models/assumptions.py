"""Assumptions that several models share, and their reasons for not applying to a flow.

The violation of an `Assumption` is an empty text if the path satisfies it, or if a scenario cannot
tell.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan, sqrt

from ackclock.elements.facts import NONE
from ackclock.models.model import Assumption
from ackclock.models.path import Bottleneck, Control, FlowPath


def unless(kept: bool, how: str) -> str:
    """Returns `how` an assumption is violated; empty if it is `kept`."""
    return "" if kept else how


def violated_if(fact: bool | None, how: str, question: str) -> str:
    """Returns `how` an assumption is violated if a fact holds; says so if the fact is unknown."""
    if fact is None:
        return f"it is not known whether {question}"
    return how if fact else ""


# Windows under random loss vary. A limit at this multiple of the mean costs 2 % of the rate, if it
# is a receive window, or a link before a queue (`aimd_chain` with and without it, for Reno).
PEAK_RECEIVED, _PEAK_AT_LINK = 1.75, 1.5

GREEDY = Assumption(
    "greedy",
    "there is always data to send",
    lambda path: violated_if(
        None if path.transfer.is_greedy is None else not path.transfer.is_greedy,
        "there is not always data to send",
        "there is always data to send",
    ),
)
_ACTIVE = "the flow is active all the time, and its slow start is negligible"


def _inactive(path: FlowPath) -> str:
    return unless(path.transfer.is_always_active, "the flow is not active all the time")


LONG_RUN = Assumption("long_run", _ACTIVE, _inactive)


def long_run(
    cycle_s: Callable[[FlowPath], float], settling_s: Callable[[FlowPath], float] | None = None
) -> Assumption:
    """Returns the assumption that a run shows the mean over many cycles, after a slow start.

    Args:
        cycle_s: Time between two reductions of the window of a flow.
        settling_s: Time after the start until cycles are alike; by default a cycle, or that of
            growing the whole window if slow start may end below it.
    """

    def violation(path: FlowPath) -> str:
        run, cycle = path.transfer, cycle_s(path)
        if (reason := _inactive(path)) or isnan(cycle) or run.measured_s == inf:
            return reason
        settling = settling_s(path) if settling_s else cycle * _cycles_to_settle(path)
        settled, measured = run.settles_s >= settling, run.measured_s / cycle
        least = _MEASURED if settled else _MEASURED_UNSETTLED
        return unless(
            measured >= least,
            f"the window falls about every {cycle:.3g} s, and the run measures {run.measured_s:.3g}"
            f" s, {run.settles_s:.3g} s after the start: its mean may be another",
        )

    return Assumption("long_run", _ACTIVE, violation)


def _cycles_to_settle(path: FlowPath) -> float:
    """Returns the cycles until the window is as large as later.

    A cycle of linear growth adds what the window falls. CUBIC grows faster, the more is missing.
    """
    sender, control = path.sender, path.control
    is_short = control.slow_start_ends_early or sender.initial_threshold_segments < inf
    is_linear = control.growth == "linear" and control.kept_share < 1
    return 1 / (1 - control.kept_share) if is_short and is_linear else 1.0


# Measured cycles with and without a slow start before them, from which on the mean over a run of a
# drop-tail queue was found (`benches/accuracy.py`).
_MEASURED, _MEASURED_UNSETTLED = 3.0, 10.0


def _few_losses(path: FlowPath) -> str:
    run, loss = path.transfer, path.loss
    window = min(loss.window_segments, path.sender.receive_window_segments)
    per_s = loss.rate * window / max(path.round_trip.base_s, 1e-9)
    if (reason := _inactive(path)) or not 0 < per_s < inf or run.measured_s == inf:
        return reason
    losses = per_s * run.measured_s
    settled = run.settles_s * per_s >= _SETTLED_LOSSES or losses >= _UNSETTLED_LOSSES
    everywhere = losses * (path.instances or 1) * run.runs
    return unless(
        settled, f"about {losses:.3g} losses are expected, and slow start is part of the mean"
    ) or unless(
        everywhere >= _FEWEST_LOSSES,
        f"about {everywhere:.3g} losses are expected in all, and chance moves such a mean by "
        f"{50 / sqrt(max(everywhere, 1e-9)):.2g} %",
    )


# Losses expected in the warm-up, or in the measured time without it, and in all runs together. The
# rate over n loss intervals of Reno has a standard deviation of 0.5/sqrt(n): 20,000 intervals of
# its rule, drawn for this.
_SETTLED_LOSSES, _UNSETTLED_LOSSES, _FEWEST_LOSSES = 2.0, 40.0, 100.0

MANY_LOSSES = Assumption("long_run", _ACTIVE, _few_losses)


def _unsteady_flows(path: FlowPath) -> str:
    if not (path.transfer.is_greedy and path.transfer.is_always_active):
        return ""  # of itself, other assumptions say so
    others = path.bottleneck.competitors
    unknown = next((other.name for other in others if other.stays is None), "")
    if leaving := next((other.name for other in others if other.stays is False), ""):
        return f"{leaving} does not send all the time"
    return unless(not unknown, f"it is not known whether {unknown} sends all the time")


STEADY_FLOWS = Assumption(
    "steady_flows", "the flows at the bottleneck do not come and go", _unsteady_flows
)
STEADY_LINK = Assumption(
    "steady_link",
    "the links' rates are constant",
    lambda path: violated_if(
        path.bottleneck.varies, "the link's rate varies", "the link's rate varies"
    ),
)


def _spaced(path: FlowPath, allowed: tuple[str, ...]) -> str:
    how = {
        "bursty": "losses are bursty, and their mean rate is used",
        "even": "losses are evenly spaced",
        None: "it is not known how losses follow one another",
    }
    return how.get(path.loss.spacing, "") if path.loss.spacing not in allowed else ""


INDEPENDENT_LOSSES = Assumption(
    "independent_losses",
    "each segment is lost independently at random",
    lambda path: _spaced(path, ("independent",)),
)
NO_LOSS_BURSTS = Assumption(
    "no_loss_bursts",
    "segments are lost one at a time: at random, or evenly spaced",
    lambda path: _spaced(path, ("independent", "even")),
)
STEADY_LOSS = Assumption(
    "steady_loss",
    "the loss rate is constant",
    lambda path: violated_if(
        path.loss.changes,
        "the loss rate changes, and its mean over the measured time is used",
        "the loss rate changes",
    ),
)
NO_LOST_ACKS = Assumption(
    "no_lost_acks",
    "no ACK is lost",
    lambda path: unless(path.loss.ack_rate == 0, "lost ACKs are ignored"),
)


def _busy_acks(path: FlowPath) -> str:
    acks = path.acks
    if acks.unknown:
        return f"it is not known whether ACKs wait: {acks.unknown}"
    if path.bottleneck.acks_share > _ACKS_SHARE:
        return f"ACKs of other flows wait in the queue of {path.bottleneck.hop}"
    if acks.filled_by:
        return f"data of {acks.filled_by} fills {acks.hop}, and ACKs wait behind it"
    return unless(acks.load <= 1, f"ACKs need {acks.load:.3g} times the rate of {acks.hop}")


# ACKs are small: a thousandth of a link's rate is about one in thirty packets.
_ACKS_SHARE = 1e-3

FREE_ACKS = Assumption(
    "free_acks",
    "the ACKs' path has room: none waits, and no queue drops one; data does not wait for ACKs",
    _busy_acks,
)


FREQUENT_ACKS = Assumption(
    "frequent_acks",
    "an ACK covers at most two segments, as RFC 5681 section 4.2 demands",
    lambda path: unless(
        path.sender.segments_acked <= 2,
        f"an ACK covers {path.sender.segments_acked:g} segments, and releases bursts",
    ),
)


def jitter(path: FlowPath, how: str = "jitter is ignored") -> str:
    """Returns `how` jitter violates an assumption; empty if there is none and the time is known."""
    unknown = path.round_trip.unknown
    return violated_if(path.round_trip.has_jitter, how, "there is jitter") or unless(
        not unknown, f"the round-trip time leaves out a serialisation: {unknown}"
    )


def _varying_rtt(path: FlowPath) -> str:
    if reason := jitter(path, "the round-trip time varies, and jitter is ignored"):
        return reason
    if path.loss.rate > 0 and path.bottleneck.unknown:
        return f"it is not known whether windows fill the link: {path.bottleneck.unknown}"
    if isnan(path.loss.window_segments):
        return f"it is not known whether windows fill the link: {path.control.unstated}"
    if unclear := _unknown_traffic(path):
        return f"it is not known whether the link is filled: {unclear}"
    # A queue builds up if random loss allows windows larger than the link needs.
    window = path.loss.window_segments * _PEAK_AT_LINK
    fills = path.loss.rate > 0 and window > path.share_segments
    low, high = path.round_trip.base_s * 1e3, path.full_queue_round_trip_s * 1e3
    longest = "an unknown time" if isnan(high) else f"{high:.4g} ms"
    if (other := path.bottleneck.filled_by) and path.loss.rate > 0 and not fills:
        return f"{other} fills a link, and queueing increases the round-trip time"
    return unless(
        not fills,
        f"windows reach {window:.3g} segments and fill the flow's share of the link, "
        f"{path.share_segments:.3g}: the round-trip time rises from {low:.4g} up to {longest}",
    )


def _unknown_traffic(path: FlowPath) -> str:
    """Returns a competitor of which it is not known how much it sends; empty if there is none."""
    unknown = (other for other in path.bottleneck.competitors if isnan(other.most_bit_per_s))
    return next((f"{other.name} sends an unknown amount" for other in unknown), "")


STEADY_RTT = Assumption(
    "steady_rtt",
    "the round-trip time is constant and independent of the window",
    _varying_rtt,
)
AN_ACK_EACH = Assumption(
    "an_ack_each",
    "every segment is acknowledged at once, or the sender counts bytes",
    lambda path: unless(
        path.sender.segments_per_ack == 1,
        f"one ACK covers {path.sender.segments_per_ack:g} segments, so the window grows more "
        "slowly",
    ),
)


def not_received(path: FlowPath, reached: float) -> str:
    """Returns why a window that reaches so many segments is not received; empty if it is."""
    received = path.sender.receive_window_segments
    return unless(
        reached <= received,
        f"the receive window is {received:g} segments, and the window would reach {reached:.3g}",
    )


NO_WINDOW_LIMIT = Assumption(
    "no_window_limit",
    "only losses limit the window",
    lambda path: not_received(path, path.loss.window_segments * PEAK_RECEIVED),
)


def recovery_share(path: FlowPath) -> float:
    """Returns about which share of the time recovery and timeouts take under random loss.

    A loss comes every 0.76/sqrt(p) round trips (Mathis and others 1997, with C = 1.31). Its repair
    costs about one, in which the window is smaller. A share of the losses ends in a timeout: if
    three duplicate ACKs are missing, the retransmission is lost, or the recovery repairs only one
    loss. The shares are fits to simulations of `benches/accuracy.py`: 18 senders at loss rates from
    0.03 to 4 %. They are within a fifth of the share found where that is more than 1 %.
    """
    p, round_trip_s = path.loss.rate, path.round_trip.base_s
    if not 0 < p < 1 or round_trip_s <= 0:
        return 0.0
    timeouts = {
        "timeout_only": 1.0,
        "reno": 1.6 * sqrt(p),
        "newreno": 2.0 * p,
        "tahoe": 1.6 * sqrt(p),
        "sack": 1.25 * p,
    }.get(path.sender.recovery, 0.0)
    waits = path.sender.first_timeout_s / round_trip_s + _RESTART
    restarts = _RESTART if path.sender.recovery == "tahoe" else 0.0
    return sqrt(p) * (_REPAIR + (timeouts * waits + restarts) / 0.76)


# Round trips that a repair and a restart after a timeout cost; from the same simulations.
_REPAIR, _RESTART = 1.3, 4.0


def few_timeouts(most: float) -> Assumption:
    """Returns the assumption that recovery and timeouts take at most a share of the time."""

    def violation(path: FlowPath) -> str:
        share = recovery_share(path)
        if isnan(share):
            return "not known how long recovery and timeouts take"
        return unless(
            share <= most,
            f"recovery ({path.sender.recovery}) and timeouts take about {100 * share:.2g} % of the "
            f"time at a loss rate of {100 * path.loss.rate:.3g} %",
        )

    return Assumption(
        "few_timeouts",
        f"losses are rare: recovery and timeouts take at most {100 * most:g} % of the time",
        violation,
    )


def _marks_unlike_losses(path: FlowPath) -> str:
    control = path.control
    after_loss = control.kept, control.kept_share
    if not path.sender.codepoint or after_loss == (
        control.kept_after_mark,
        control.kept_share_after_mark,
    ):
        return ""
    does = "does not state how it answers a mark"
    if control.kept_after_mark is not None:
        does = "does not answer a mark as it does a loss"
    return violated_if(
        path.bottleneck.marks,
        f"the queue marks, and {control.name} {does}",
        "the queue marks packets",
    )


MARKS_AS_LOSSES = Assumption(
    "marks_as_losses", "a mark leaves as much of the window as a loss", _marks_unlike_losses
)
NO_RANDOM_LOSS = Assumption(
    "no_random_loss",
    "segments are lost only if the queue overflows",
    lambda path: unless(path.loss.rate == 0, "there is random loss too"),
)


#: Round-trip times up to this ratio count as equal.
LIKE = 1.01


def _unlike_round_trips(path: FlowPath) -> str:
    if not (times := path.bottleneck.round_trips):
        return ""
    (shortest, _), (longest, _) = times[0], times[-1]
    return unless(
        longest <= shortest * LIKE,
        f"base round-trip times are from {shortest * 1e3:.4g} to {longest * 1e3:.4g} ms",
    )


SAME_ROUND_TRIPS = Assumption(
    "same_round_trips", "all flows have the same base round-trip time", _unlike_round_trips
)
QUEUE_ALONE_DELAYS = Assumption(
    "steady_rtt", "only the bottleneck's queue varies the round-trip time", jitter
)


# What the first slow start loses is as much as its window, and NewReno was found to take two round
# trips for each segment; a quarter is added. Reno needs its timer, up to twice.
_NEWRENO_ROUNDS, _RENO_TIMEOUTS = 2.5, 3.0


def first_repair_s(path: FlowPath, window: float) -> float:
    """Returns how long the repair of the losses of the first slow start may take, in s.

    Args:
        path: The path of the flow.
        window: Window in segments at which slow start loses.
    """
    if path.control.slow_start_ends_early:
        return 0.0
    return {
        "newreno": _NEWRENO_ROUNDS * window * path.round_trip.base_s,
        "reno": _RENO_TIMEOUTS * path.sender.first_timeout_s,
    }.get(path.sender.recovery, 0.0)


def first_repair(path: FlowPath, window: float) -> str:
    """Returns why the losses of the first slow start may not be repaired when the warm-up ends.

    Args:
        path: The path of the flow.
        window: Window in segments at which slow start loses.
    """
    takes_s, settles_s = first_repair_s(path, window), path.transfer.settles_s
    return unless(
        takes_s <= settles_s,
        f"{path.sender.recovery} may take {takes_s:.3g} s to repair what the first slow start "
        f"loses, and the warm-up ends after {settles_s:.3g} s",
    )


# Time for which a queue that steers lets slow start go on, at most about. Chosen here.
_LET_GO_S = 0.3


# Linux hands at most a millisecond's worth or 64 kB to the link at once (tcp_tso_autosize).
_BURST_S, _BURST_BYTES = 1e-3, 65536.0


def burst_segments(path: FlowPath) -> float:
    """Returns the segments that segmentation offload hands to a link at once; 0 without it."""
    if not path.sender.bursts:
        return 0.0
    in_bytes = _BURST_BYTES / max(path.sender.mss_bytes, 1)
    return min(_BURST_S * path.bottleneck.segments_per_s, in_bytes)


def burst_elsewhere(path: FlowPath) -> str:
    """Returns why a burst is lost at another hop than the bottleneck; empty if none is."""
    places, burst = path.bottleneck.other_places, burst_segments(path)
    return unless(
        not burst > places,
        f"the sender hands bursts of up to {burst:.3g} segments to its link, and a queue on the "
        f"way holds {places:.3g}",
    )


def slow_recovery(path: FlowPath) -> str:
    """Returns why every loss costs more than a round trip; empty if it does not."""
    return {
        "timeout_only": "each loss ends in a timeout",
        "tahoe": "slow start follows each loss",
    }.get(path.sender.recovery, "")


QUICK_RECOVERY = Assumption(
    "quick_recovery", "a loss reduces the window, and takes a round trip to repair", slow_recovery
)
FIRST_REPAIR = Assumption(
    "first_repair",
    "what the first slow start loses is repaired before the warm-up ends",
    lambda path: first_repair(
        path, path.share_segments * (1 + _LET_GO_S / max(path.round_trip.base_s, 1e-9))
    ),
)

RENO = Assumption("reno", "additive increase by one, multiplicative decrease by a half")


def _lost_in_slow_start(path: FlowPath) -> str:
    """Says if slow start overflows the queue before a random loss, and its repair takes long."""
    held = path.share_segments + path.bottleneck.buffer_segments / path.bottleneck.flows
    if held * path.loss.rate <= _LOSSES_BEFORE and (reason := first_repair(path, held)):
        return reason
    return _queue_of_slow_start(path, held)


def _queue_of_slow_start(path: FlowPath, held: float) -> str:
    """Says if slow start fills the queue before it meets a random loss, and the queue remains."""
    share, settles_s = path.share_segments, path.transfer.settles_s
    reached = min(_SENT_BEFORE_LOSS / max(path.loss.rate, 1e-9), held)
    if not share < reached:
        return ""
    lasts_s = queue_lasts_s(path, reached / share * path.round_trip.base_s)
    return unless(
        lasts_s <= settles_s,
        f"slow start may fill the queue with {reached:.3g} segments, which remain for "
        f"{lasts_s:.3g} s, and the warm-up ends after {settles_s:.3g} s",
    )


# Segments over 1/p that a window may reach in slow start before it hears of a loss. Chosen here.
_SENT_BEFORE_LOSS = 2.0


def queue_lasts_s(path: FlowPath, drains_s: float) -> float:
    """Returns how long a queue lasts that only single losses reduce.

    Simulated queues of slow start last for a few times the time that the link takes to send them.
    The more of the window is kept, the longer they last: CUBIC took 15 s for 1.1 s at random loss.

    Args:
        path: The path of the flow.
        drains_s: Time in which the link sends the queue.
    """
    kept = 0.5 if isnan(path.control.kept_share) else path.control.kept_share
    return drains_s / (1 - kept) ** 2


# Random losses of a full queue that end slow start before the overflow. Chosen here.
_LOSSES_BEFORE = 3.0

NO_FIRST_OVERFLOW = Assumption(
    "first_repair",
    "what the first slow start loses is repaired before the warm-up ends",
    _lost_in_slow_start,
)

# Assumptions about the path of every model of a long flow under random loss.
OF_RANDOM_LOSS = (
    GREEDY,
    MANY_LOSSES,
    STEADY_LINK,
    INDEPENDENT_LOSSES,
    STEADY_LOSS,
    NO_LOST_ACKS,
    FREE_ACKS,
    FREQUENT_ACKS,
    NO_FIRST_OVERFLOW,
    STEADY_RTT,
)
# The same for a model without timeouts and without a window limit.
OF_RANDOM_LOSS_ALONE = (few_timeouts(0.08), NO_WINDOW_LIMIT, *OF_RANDOM_LOSS)
# The same for the laws of evenly spaced losses: they are lower than windows under random loss by
# about as much as recovery takes.
OF_EVEN_LOSS_ALONE = (
    few_timeouts(0.12),
    NO_WINDOW_LIMIT,
    *(NO_LOSS_BURSTS if each is INDEPENDENT_LOSSES else each for each in OF_RANDOM_LOSS),
)


def needs_tcp(path: FlowPath) -> str:
    """Returns the reason why a model of TCP does not apply; empty if it does."""
    transport, control = path.sender.transport, path.control.name
    if transport != "tcp":
        name = f"the rate control {control}" if transport == "udp" else control
        return f"not TCP, but {name}" if control else "not TCP"
    return unless(path.round_trip.base_s > 0, "no round-trip time without queueing")


def needs_random_loss(path: FlowPath) -> str:
    """Returns the reason why a model of TCP under random loss does not apply; empty if it does."""
    return needs_tcp(path) or _no_random_loss(path)


def needs_equation(path: FlowPath, loss: str, name: str) -> str:
    """Returns the reason why a model of a rate control does not apply under random loss.

    Args:
        path: The path of the flow.
        loss: The loss rate that the throughput equation of the control uses.
        name: The control with that equation.
    """
    if path.sender.transport == "tcp" or not path.control.name:
        return "no rate control"
    if path.control.equation != loss:
        hedge = "known to be " if path.control.equation is None else ""
        return f"{path.control.name} is not {hedge}{name}"
    return needs_loss_and_round_trip(path)


def needs_loss_and_round_trip(path: FlowPath) -> str:
    """Returns the reason why a model of any transport under random loss does not apply."""
    return unless(
        path.round_trip.base_s > 0, "no round-trip time without queueing"
    ) or _no_random_loss(path)


def _no_random_loss(path: FlowPath) -> str:
    if path.loss.rate == 0:
        return "no random loss"
    return unless(path.loss.rate < 1, "everything is lost")


def not_aimd(control: Control) -> str:
    """Returns the reason why a control is not known to be AIMD; empty if it is."""
    return _other_than(control, "linear", "constant", f"{control.name} is not AIMD")


def not_reno(control: Control) -> str:
    """Returns the reason why a control is not known to be AIMD(1, 1/2); empty if it is."""
    how = f"{control.name} is not AIMD(1, 1/2)"
    return _other_than(control, "linear", "constant", how) or unless(control.is_reno, how)


def not_cubic(control: Control) -> str:
    """Returns the reason why a control is not known to be CUBIC; empty if it is."""
    return _other_than(control, "cubic", "constant", f"{control.name} is not CUBIC")


def not_highspeed(control: Control) -> str:
    """Returns the reason why a control is not known to be HighSpeed TCP (RFC 3649), or empty."""
    return _other_than(control, "highspeed", "by_window", f"{control.name} is not HighSpeed TCP")


def not_by_path_model(control: Control) -> str:
    """Returns the reason why a control is not known to send by a model of the path, as BBR does."""
    if control.growth not in (None, "by_path_model"):
        return f"{control.name} does not send by a model of the path, as BBR does"
    if control.path_model is not None:
        return ""
    return control.unstated or f"{control.name} does not state the gains of its model of the path"


def _other_than(control: Control, growth: str, kept: str, how: str) -> str:
    other = control.growth not in (None, growth) or control.kept not in (None, kept)
    if other or control.unstated:
        return how if other else control.unstated
    if control.reacts_to_delay is None:
        return f"{control.name} does not state whether it reacts to delay"
    if control.reacts_to_delay:
        return f"{control.name} reacts to delay as well"
    least_ms = control.least_rtt_s * 1e3
    return unless(
        not least_ms > 0, f"{control.name} grows by less in round trips below {least_ms:.4g} ms"
    )


def rate_varies(bottleneck: Bottleneck) -> str:
    """Returns the reason why the bottleneck's rate is not known to be constant; empty if it is."""
    return violated_if(
        bottleneck.varies, "the bottleneck's rate varies", "the bottleneck's rate varies"
    )


def not_of_given_size(path: FlowPath) -> str:
    """Returns the reason why a flow is not known to be a transfer of a given size, or empty."""
    if isnan(path.transfer.size_segments):
        return "the size of the transfer is not known"
    return unless(path.transfer.size_segments < inf, "not a transfer of a given size")


def no_droptail(bottleneck: Bottleneck) -> str:
    """Returns the reason why the bottleneck is not known to be a drop-tail queue with a limit."""
    if unknown := unknown_bottleneck(bottleneck) or _unknown_queue(bottleneck):
        return unknown
    if bottleneck.drops is None:
        return f"{bottleneck.queue} does not state which packets it drops"
    if bottleneck.drops == "tail" and isnan(bottleneck.buffer_segments):
        return f"{bottleneck.queue} does not state how much it holds"
    limited = bottleneck.is_droptail and bottleneck.buffer_segments < inf
    return unless(limited, "the bottleneck has no drop-tail queue with a limit") or violated_if(
        bottleneck.marks_flows,
        f"{bottleneck.queue} marks packets before it is full",
        f"{bottleneck.queue} marks packets before it is full",
    )


def unlike_competitors(path: FlowPath) -> str:
    """Returns the reason why not all flows at the bottleneck have one control; empty if they have.

    What the controls are called does not count, only what they state.
    """
    own = replace(path.control, name="")
    for other in path.bottleneck.competitors:
        if other.transport != "tcp" or replace(other.control, name="") != own:
            return f"{other.name} shares the bottleneck"
    return ""


def lacks(bottleneck: Bottleneck, fact: object, named: str) -> str:
    """Returns the reason why the bottleneck is not known to have something; empty if it has it.

    Args:
        bottleneck: The bottleneck.
        fact: What it states about it: a record, `NONE`, or None if it states nothing.
        named: The name of it, with an article.
    """
    if unknown := unknown_bottleneck(bottleneck) or _unknown_queue(bottleneck):
        return unknown
    if fact is None:
        return f"{bottleneck.queue} does not state whether it has {named}"
    return unless(fact is not NONE, f"{bottleneck.queue} does not have {named}")


def unknown_bottleneck(bottleneck: Bottleneck) -> str:
    """Returns the reason why a hop may be slower than the bottleneck; empty if none may."""
    return unless(not bottleneck.unknown, f"the bottleneck is not known: {bottleneck.unknown}")


def _unknown_queue(bottleneck: Bottleneck) -> str:
    return unless(bool(bottleneck.queue), "the bottleneck's queue is not known")


def needs_aimd(path: FlowPath) -> str:
    """Returns the reason why a model of any AIMD under random loss does not apply."""
    return needs_random_loss(path) or not_aimd(path.control)


def needs_reno(path: FlowPath) -> str:
    """Returns the reason why a model of AIMD(1, 1/2) under random loss does not apply."""
    return needs_random_loss(path) or not_reno(path.control)
