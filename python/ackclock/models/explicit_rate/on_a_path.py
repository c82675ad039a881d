"""Inputs, refusals and assumptions of the two-rate models for a flow's path."""

from math import inf

from ackclock.elements.facts import NONE
from ackclock.models.assumptions import (
    AN_ACK_EACH,
    GREEDY,
    NO_LOST_ACKS,
    jitter,
    needs_tcp,
    no_droptail,
    not_reno,
    unknown_bottleneck,
    unless,
    violated_if,
)
from ackclock.models.model import Assumption
from ackclock.models.path import FlowPath, LinkStates

# Times that differ by less are equal.
_SAME_TIME = 1e-6


def inputs_of(path: FlowPath) -> dict[str, float]:
    """Returns the inputs of the models; the path must not be refused."""
    states = path.bottleneck.link_states
    assert states, "refused without"
    high, low = (
        states.segments_per_s.index(extreme(states.segments_per_s)) for extreme in (max, min)
    )
    trip = path.round_trip.propagation_s
    psi = [sojourn / trip for sojourn in states.sojourns_s]
    window = (
        {}
        if path.sender.receive_window_segments == inf
        else {"window": path.sender.receive_window_segments}
    )
    return window | {
        "rate": states.segments_per_s[high], "low_rate": states.segments_per_s[low], "rtt": trip,
        "buffer": path.bottleneck.buffer_segments, "psi": psi[high], "low_psi": psi[low],
    }  # fmt: skip


def inputs_with_ample_window(path: FlowPath) -> dict[str, float]:
    """Returns the same for models with a finite window, the input `ample_window`."""
    inputs = inputs_of(path)
    return inputs | ({"ample_window": inputs.pop("window")} if "window" in inputs else {})


def refusal_alone(path: FlowPath) -> str:
    """Returns the reason why the model of TCP alone does not apply."""
    feedback = path.bottleneck.feedback
    follows_feedback = violated_if(
        None if feedback is None else bool(feedback),
        "the sender's host follows a fed-back rate",
        "the sender's host follows a fed-back rate",
    )
    return (
        needs_tcp(path) or unknown_bottleneck(path.bottleneck) or follows_feedback or _refusal(path)
    )


def refusal_with_feedback(path: FlowPath) -> str:
    """Returns the reason why the model of INSTCAP does not apply."""
    feedback = path.bottleneck.feedback
    if reason := needs_tcp(path) or unknown_bottleneck(path.bottleneck):
        return reason
    if not feedback:
        absence = "no feedback" if feedback is NONE else "not known to be feedback"
        return f"there is {absence} of the link's rate to the sender's host"
    return unless(
        feedback.algorithm == "instcap", f"the feedback is {feedback.algorithm}, not INSTCAP"
    ) or _refusal(path)


def refusal_of_constant_source(path: FlowPath) -> str:
    """Returns the reason why the model of a constant source does not apply."""
    return (
        needs_tcp(path)
        or "there is no source of constant rate before the link; ask it with plain numbers"
    )


def refusal_of_effective_capacity(path: FlowPath) -> str:
    """Returns the reason why effective capacity does not apply."""
    return (
        needs_tcp(path)
        or "it is a rate for a source, not a flow's goodput; ask it with plain numbers"
    )


def _refusal(path: FlowPath) -> str:
    states = path.bottleneck.link_states
    if not states:
        has = "is not known to have" if states is None else "has no"
        return needs_tcp(path) or f"the bottleneck {has} Markov link"
    rates = states.segments_per_s
    different = len(set(rates))
    count = "one rate" if different == 1 else f"{len(rates)} rates"
    return (
        needs_tcp(path)
        or unless(len(rates) == different == 2, f"the link has {count}, the analysis is for two")
        or unless(min(rates) > 0, "the link sends nothing in its low state")
        or unless(path.round_trip.propagation_s > 0, "no propagation delay")
        or not_reno(path.control)
        or unless(path.bottleneck.flows == 1, "several flows share the link")
        or no_droptail(path.bottleneck)
        or unless(path.loss.rate == 0, "there is random loss too")
        or _psi_refusal(path, states)
    )


def _psi_refusal(path: FlowPath, states: LinkStates) -> str:
    psi = min(states.sojourns_s) / path.round_trip.propagation_s
    return unless(
        psi >= 1,
        f"the link changes every {psi:.3g} round trips, but the analysis needs psi ≥ 1",
    )


def _other_recovery(path: FlowPath) -> str:
    return unless(
        path.sender.recovery == "timeout_only", f"loss recovery is {path.sender.recovery}"
    )


def _other_epochs(path: FlowPath) -> str:
    step = path.bottleneck.link_states.step_s if path.bottleneck.link_states else 0.0
    when = f"every {step * 1e3:.4g} ms" if step else "at any time"
    return unless(abs(step - path.round_trip.propagation_s) < _SAME_TIME, f"it may change {when}")


def _other_lag(path: FlowPath) -> str:
    feedback = path.bottleneck.feedback
    if not feedback:
        return ""
    later, trip = feedback.lag_s, path.round_trip.propagation_s
    lag = f"it follows {later * 1e3:.4g} ms later, but a round trip is {trip * 1e3:.4g} ms"
    alone = unless(feedback.share == 1, f"the source may use {feedback.share:.4g} of the rate")
    slow = unless(feedback.jumps, "the source's rate follows by what its own packets bring back")
    return "; ".join(filter(None, (unless(abs(later - trip) < _SAME_TIME, lag), alone, slow)))


# With the shares of time in two states that n changes show, the mean rate of a link whose rates
# differ by a factor of three has an error of about 0.35/sqrt(n).
_FEWEST_CHANGES = 100


def _few_changes(path: FlowPath) -> str:
    states, run = path.bottleneck.link_states, path.transfer
    if not run.is_always_active or not states:
        return unless(run.is_always_active, "the flow is not active all the time")
    changes = run.measured_s / sum(states.sojourns_s) * run.runs
    return unless(
        changes >= _FEWEST_CHANGES,
        f"the link returns to a rate about {changes:.3g} times in all, and chance moves the mean",
    )


FOLLOWS_A_ROUND_TRIP_LATER = Assumption(
    "follows_a_round_trip_later",
    "the source has the whole rate of the link one round trip ago, without further delay",
    _other_lag,
)
# With fewer, losses are overestimated by more than the band allows, as packets do not arrive back
# to back (`benches/accuracy.py`).
_FEWEST_ROUND_TRIPS = 10

# Smaller buffers, as a share of what is in flight at the high rate, lose more than even arrivals.
_LEAST_BUFFER = 0.25


def _fast_changes(path: FlowPath) -> str:
    states, trip = path.bottleneck.link_states, path.round_trip.propagation_s
    psi = min(states.sojourns_s) / trip if states and trip > 0 else inf
    return unless(
        psi >= _FEWEST_ROUND_TRIPS,
        f"the link changes every {psi:.3g} round trips, and losses are then overestimated",
    )


def _small_buffer(path: FlowPath) -> str:
    states, buffer = path.bottleneck.link_states, path.bottleneck.buffer_segments
    in_flight = max(states.segments_per_s) * path.round_trip.propagation_s if states else 0.0
    return unless(
        buffer >= _LEAST_BUFFER * in_flight,
        f"the buffer holds {buffer:.3g} segments, {buffer / max(in_flight, 1e-9):.2g} of what is "
        "in flight, and bursts overflow it",
    )


SLOW_CHANGES = Assumption(
    "slow_changes",
    f"the link keeps a rate for {_FEWEST_ROUND_TRIPS} round trips or more on average",
    _fast_changes,
)
NO_BURSTS = Assumption(
    "no_bursts",
    f"the buffer holds {_LEAST_BUFFER:g} of what is in flight or more: bursts do not matter",
    _small_buffer,
)
BACK_TO_BACK = Assumption(
    "back_to_back", "packets of a round trip leave the host back to back at its beginning"
)
SPREAD = Assumption(
    "spread", "packets of a round trip arrive at the link evenly spread, like the ACKs before them"
)
OF_THE_LOOP = (
    Assumption(
        "timeouts_only", "every loss causes a timeout in the third round trip", _other_recovery
    ),
    Assumption("epochs", "the link changes only at multiples of the round trip", _other_epochs),
    Assumption("no_loss_in_slow_start", "there are no losses in slow start"),
    AN_ACK_EACH,
    GREEDY,
    Assumption("long_run", "the flow is active all the time, and sees many changes", _few_changes),
    NO_LOST_ACKS,
    Assumption(
        "steady_rtt",
        "only the queues vary the round-trip time",
        jitter,
    ),
)  # fmt: skip
