"""Causes in Linux: features of the kernel's TCP that the engine does not have.

The features, and the measured cost of each on five paths, are in docs/notes/linux-2012.md.
"""

from ackclock.comparison.causes.cause import OF_THE_WINDOW, Cause, Evidence, percent
from ackclock.elements import facts

# Parameters that matter only with timeouts, and parameters that matter only with losses.
_OF_TIMEOUTS = frozenset(
    {"rto_minimum", "rto_floor", "rto_maximum", "rto_adaptive", "after_timeout", "repeated_timeout"}
)
_OF_LOSSES = frozenset(
    {
        "ssthresh_from",
        "recovery",
        "sack",
        "partial_ack",
        "partial_window_deflation",
        "growth_at_recovery_end",
        "avoid_multiple_fast_retransmits",
        "limited_transmit",
        "rescue_retransmission",
        "ssthresh_in_whole_segments",
        "duplicate_threshold",
        "recovery_window",
        "undo",
    }
)


def _control(evidence: Evidence) -> facts.Facts:
    """Returns the facts of the flow's control."""
    return facts.control(evidence.flow or {})[1]


def _transport(evidence: Evidence) -> facts.Facts:
    """Returns the facts of the flow's transport."""
    return facts.transport(evidence.flow or {})[1]


def _window(evidence: Evidence) -> facts.Facts:
    """Returns the facts of the flow's congestion window; empty without one."""
    return _transport(evidence)["congestion_window"] or facts.Facts()


def _in_linux(evidence: Evidence) -> facts.Facts:
    """Returns the facts of the same control in Linux; empty if none is known."""
    return _control(evidence)["linux"] or facts.Facts()


def _follows_linux(evidence: Evidence) -> bool:
    """Returns true if the engine's control computes as Linux's does, in whole segments."""
    return bool(_window(evidence)["linux_arithmetic"])


def _sends_bursts(evidence: Evidence) -> bool:
    """Returns true if the simulated flow sends and acknowledges in bursts, as Linux does."""
    return bool(_transport(evidence)["bursts"])


def _loses_at_random(evidence: Evidence) -> bool:
    """Returns true if packets are lost at random.

    Then windows stay small, bursts end, and CUBIC stays below Reno's window. Otherwise the
    queue decides.
    """
    return evidence.path is not None and evidence.path.loss.rate > 0


def _matters(evidence: Evidence, parameter: str) -> bool:
    """Returns true if a parameter that the kernel sets differently can have mattered."""
    if parameter in _OF_TIMEOUTS:
        return any(seen > 0 for seen in evidence.both("timeouts"))
    if parameter in _OF_LOSSES:
        return any(seen > 0 for seen in evidence.both("retransmissions"))
    if parameter == "idle_restart":
        return evidence.path is not None and not evidence.path.transfer.is_greedy
    return parameter != "rto_initial" or (
        evidence.path is not None and evidence.path.transfer.has_handshake
    )


def _settings(evidence: Evidence) -> str:
    if not evidence.is_kernel_beside_engine or evidence.flow is None:
        return ""
    before = f"flows.{evidence.flow['name']}.transport."
    refused = dict.fromkeys(
        row["name"].removeprefix(before)
        for row in evidence.settings
        if row["refusal"] and row["name"].startswith(before)
    )
    named = [name for name in refused if _matters(evidence, name)]
    return f"not as in the scenario: {', '.join(named)}" if named else ""


def _friendly_growth(evidence: Evidence) -> str:
    growth = _control(evidence)["growth"] or facts.Facts()
    concerns = (
        growth["reno_friendly_speedup"] is True
        and _in_linux(evidence)["reno_friendly_speedup"] is False
    )
    smaller = (
        evidence.metric in (*OF_THE_WINDOW, "rtt", "rtt_p99", "queueing_delay")
        and not evidence.more
    )
    if not (
        evidence.is_kernel_beside_engine and concerns and smaller and _loses_at_random(evidence)
    ):
        return ""
    return "the simulated CUBIC has friendly_speedup, Linux's does not"


def _hystart(evidence: Evidence) -> str:
    """Compares the cost of an overlong slow start.

    The cost is the share of early retransmissions beyond those of a settled flow.
    """
    early, again = evidence.both("early_retransmissions"), evidence.both("retransmissions")
    ours, engines = (
        max(0.0, 2 * part - 1) * share for part, share in zip(early, again, strict=True)
    )
    only_linux = _in_linux(evidence)["slow_start_ends_early"] is True and not _follows_linux(
        evidence
    )
    if not (evidence.is_kernel_beside_engine and only_linux and engines - ours > 0):
        return ""
    if evidence.metric in ("retransmissions", "loss_rate") and not evidence.fits(
        (ours - engines) / again[1]
    ):
        return ""
    return (
        f"slow start cost {percent(engines)} of the segments in the simulation, "
        f"{percent(ours)} in Linux"
    )


def _bursts(evidence: Evidence) -> str:
    ours, engines = evidence.both("tail_drop_rate")
    if _sends_bursts(evidence) or not (evidence.is_kernel_beside_engine and ours - engines > 0):
        return ""
    if evidence.metric in ("retransmissions", "loss_rate") and not evidence.more:
        return ""
    return (
        f"a full queue dropped {percent(ours)} of the packets in Linux, {percent(engines)} in the "
        "simulation"
    )


def _whole_segments(evidence: Evidence) -> str:
    """Checks the size: rounding down costs less than one segment of the window."""
    if not evidence.is_kernel_beside_engine or evidence.flow is None or evidence.path is None:
        return ""
    window = evidence.reference_saw.get("cwnd", 0.0) / evidence.path.sender.mss_bytes
    reduced = (
        min(evidence.both("retransmissions")) > 0
        and _window(evidence)["whole_threshold"] is False
        and not _follows_linux(evidence)
    )
    fits = window > 0 and 0 < -evidence.relative <= 1 / window
    if not (reduced and fits and evidence.metric in OF_THE_WINDOW):
        return ""
    return (
        f"the mean congestion window is {window:.2g} segments, so that one segment is "
        f"{percent(1 / window)} of it"
    )


def _delayed_acks(evidence: Evidence) -> str:
    delayed = _transport(evidence)["delayed_acks"]
    if not evidence.is_kernel_beside_engine or not delayed or _sends_bursts(evidence):
        return ""
    longest = delayed["timeout_s"]
    ours, engines = evidence.both("rtt")
    shorter = 1 - ours / engines
    if delayed["segments"] <= 1 or not (
        _loses_at_random(evidence) and 0 < engines - ours <= longest
    ):
        return ""
    effect = {"rtt": -shorter, "goodput": shorter}.get(evidence.metric, 0.0)
    if not evidence.fits(effect):
        return ""
    return (
        f"the simulated receiver delays ACKs by up to {longest * 1e3:g} ms; round trips in Linux "
        f"were {percent(shorter)} shorter"
    )


def _recovery(evidence: Evidence) -> str:
    ours, engines = evidence.both("timeouts")
    effect = evidence.share_of_timeouts(engines - ours)
    if not (
        evidence.is_kernel_beside_engine
        and _transport(evidence)["loss_recovery"] != "rack"
        and evidence.metric in OF_THE_WINDOW
        and evidence.fits(effect)
    ):
        return ""
    rack = (
        next(
            (row["has"] for row in evidence.settings if row["name"] == "net.ipv4.tcp_recovery"), "1"
        )
        != "0"
    )
    how = (
        "by time (RACK, tail-loss probes) and reduces its window gradually (PRR)"
        if rack
        else "with PRR; RACK is off"
    )
    return (
        f"{ours:.2g} timeouts per run in Linux, {engines:.2g} in the simulation; Linux recovers "
        f"{how}"
    )


KERNEL_SETTINGS = Cause(
    "kernel_settings",
    "Some TCP parameters of the kernel differ from those of the scenario (table settings).",
    _settings,
)
FRIENDLY_GROWTH = Cause(
    "friendly_growth",
    "Linux's CUBIC keeps the slow Reno-friendly growth of RFC 8312; with RFC 9438 the window grows "
    "by one segment per round trip above the last maximum.",
    _friendly_growth,
)
HYSTART = Cause(
    "hystart",
    "Linux's CUBIC ends slow start with HyStart, when the spacing of ACKs indicates a queue; the "
    "simulated one continues until a loss, or with HyStart++ until the RTT rises.",
    _hystart,
)
BURSTS = Cause(
    "bursts",
    "Linux sends trains of segments (segmentation offload), which overflow a queue that spaced "
    "segments would fit into.",
    _bursts,
)
WHOLE_SEGMENTS = Cause(
    "whole_segments",
    "Linux rounds the congestion window and ssthresh down to whole segments; the smaller the "
    "windows, the more that costs.",
    _whole_segments,
)
DELAYED_ACKS = Cause(
    "delayed_acks",
    "Linux's receiver acknowledges at once at the end of a burst; the simulated one waits for a "
    "second segment.",
    _delayed_acks,
)
RECOVERY = Cause(
    "recovery",
    "Linux detects and repairs losses differently from RFC 6675, so its timeouts differ.",
    _recovery,
)
