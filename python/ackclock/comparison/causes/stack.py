"""Causes that lie in what Linux does in its own way: features of the kernel's TCP that the engine has not.

The features, and what each was found to cost on five paths, are in docs/guides/fidelity.md.
"""

from collections.abc import Mapping
from typing import Any

from ackclock import facts, units
from ackclock.comparison.causes.cause import OF_THE_WINDOW, Cause, Evidence, percent

__all__ = [
    "BURSTS", "DELAYED_ACKS", "FRIENDLY_GROWTH", "HYSTART", "KERNEL_SETTINGS", "RECOVERY", "WHOLE_SEGMENTS",
]  # fmt: skip

# Parameters that matter only where there are timeouts, or only where something is lost.
_OF_TIMEOUTS = frozenset(
    {"rto_minimum", "rto_floor", "rto_maximum", "rto_adaptive", "after_timeout", "repeated_timeout"}
)
_OF_LOSSES = frozenset(
    {
        "ssthresh_from", "recovery", "partial_ack", "partial_window_deflation", "growth_at_recovery_end",
        "avoid_multiple_fast_retransmits",
        "limited_transmit", "rescue_retransmission", "ssthresh_in_whole_segments", "duplicate_threshold",
    }
)  # fmt: skip


def _control(evidence: Evidence) -> facts.Facts:
    """The facts of the flow's control."""
    return facts.control((evidence.flow or {}).get("transport", {}))[1]


def _in_linux(evidence: Evidence) -> Mapping[str, Any]:
    """The facts of the same control in Linux; empty if Linux has none."""
    return _control(evidence)["linux"] or {}


def _loses_at_random(evidence: Evidence) -> bool:
    """Then windows stay small, bursts have an end, and CUBIC is below Reno's window; else the queue decides."""
    return evidence.path is not None and evidence.path.loss.rate > 0


def _matters(evidence: Evidence, parameter: str) -> bool:
    """Whether a parameter that the kernel has otherwise can have mattered in these runs."""
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
    told = [name for name in refused if _matters(evidence, name)]
    return f"not as the scenario asks: {', '.join(told)}" if told else ""


def _friendly_growth(evidence: Evidence) -> str:
    concerns = (
        _control(evidence)["reno_friendly_speedup"] is True
        and _in_linux(evidence).get("reno_friendly_speedup") is False
    )
    smaller = (
        evidence.metric in (*OF_THE_WINDOW, "rtt", "rtt_p99", "queueing_delay")
        and not evidence.more
    )
    if not (
        evidence.is_kernel_beside_engine and concerns and smaller and _loses_at_random(evidence)
    ):
        return ""
    return "the engine's CUBIC has friendly_speedup, Linux's has not"


def _hystart(evidence: Evidence) -> str:
    """What a slow start cost that went too far: what was sent again early beyond what a settled flow sends again."""
    early, again = evidence.both("early_retransmissions"), evidence.both("retransmissions")
    ours, engines = (
        max(0.0, 2 * part - 1) * share for part, share in zip(early, again, strict=True)
    )
    has_hystart = _in_linux(evidence).get("slow_start_ends_on_delay") is True
    if not (evidence.is_kernel_beside_engine and has_hystart and engines - ours > 0):
        return ""
    if evidence.metric in ("retransmissions", "loss_rate") and not evidence.fits(
        (ours - engines) / again[1]
    ):
        return ""
    return (
        f"beginning cost {percent(engines)} of the segments in simulate, {percent(ours)} in emulate"
    )


def _bursts(evidence: Evidence) -> str:
    ours, engines = evidence.both("tail_drop_rate")
    if not (evidence.is_kernel_beside_engine and ours - engines > 0):
        return ""
    if evidence.metric in ("retransmissions", "loss_rate") and not evidence.more:
        return ""
    return f"a full queue dropped {percent(ours)} of the packets in emulate, {percent(engines)} in simulate"


def _whole_segments(evidence: Evidence) -> str:
    """Cutting off costs less than a segment of the window."""
    if not evidence.is_kernel_beside_engine or evidence.flow is None or evidence.path is None:
        return ""
    transport = evidence.flow["transport"]
    window = evidence.reference_saw.get("cwnd", 0.0) / evidence.path.sender.mss_bytes
    reduced = (
        min(evidence.both("retransmissions")) > 0
        and transport.get("ssthresh_in_whole_segments") is False
    )
    fits = window > 0 and 0 < -evidence.relative <= 1 / window
    if not (reduced and fits and evidence.metric in OF_THE_WINDOW):
        return ""
    return f"windows are {window:.2g} segments on average: a segment is up to {percent(1 / window)} of one"


def _delayed_acks(evidence: Evidence) -> str:
    if (
        not evidence.is_kernel_beside_engine
        or evidence.flow is None
        or evidence.flow["transport"]["kind"] != "tcp"
    ):
        return ""
    delayed = evidence.flow["transport"]["delayed_ack"]
    longest = units.seconds(delayed["timeout"])
    ours, engines = evidence.both("rtt")
    shorter = 1 - ours / engines
    if units.packets(delayed["every"]) <= 1 or not (
        _loses_at_random(evidence) and 0 < engines - ours <= longest
    ):
        return ""
    effect = {"rtt": -shorter, "goodput": shorter}.get(evidence.metric, 0.0)
    if not evidence.fits(effect):
        return ""
    return f"the engine's receiver holds an ACK up to {longest * 1e3:g} ms; round trips were {percent(shorter)} shorter"


def _recovery(evidence: Evidence) -> str:
    ours, engines = evidence.both("timeouts")
    effect = evidence.share_of_timeouts(engines - ours)
    if not (
        evidence.is_kernel_beside_engine
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
        "by time (RACK, tail-loss probes) and spreads reductions (PRR)"
        if rack
        else "with PRR, RACK being off"
    )
    return f"{ours:.2g} timeouts a run in emulate, {engines:.2g} in simulate; Linux recovers {how}"


KERNEL_SETTINGS = Cause(
    "kernel_settings",
    "The kernel implements some TCP parameters of the scenario differently (table settings).",
    _settings,
)
FRIENDLY_GROWTH = Cause(
    "friendly_growth",
    "Linux's CUBIC has the slow Reno-friendly growth of RFC 8312; RFC 9438 grows by a segment"
    " per round above the last maximum.",
    _friendly_growth,
)
HYSTART = Cause(
    "hystart",
    "Linux's CUBIC leaves slow start by HyStart, on ACK spacing; the engine's leaves on a "
    "loss, or with HyStart++ on longer round trips.",
    _hystart,
)
BURSTS = Cause(
    "bursts",
    "Linux sends trains of segments (segmentation offload), which overflow a queue that "
    "spaced segments would fit.",
    _bursts,
)
WHOLE_SEGMENTS = Cause(
    "whole_segments",
    "Linux keeps window and threshold in whole segments, rounded down, which matters more for"
    " small windows.",
    _whole_segments,
)
DELAYED_ACKS = Cause(
    "delayed_acks",
    "Linux's receiver acknowledges at once at the end of a burst; the engine's waits for a second segment.",
    _delayed_acks,
)
RECOVERY = Cause(
    "recovery",
    "Linux detects and repairs losses differently from RFC 6675, and so has other timeouts.",
    _recovery,
)
