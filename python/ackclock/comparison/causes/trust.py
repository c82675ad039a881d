"""Causes in the precision of the numbers."""

from ackclock.comparison.causes.cause import Cause, Evidence, percent


def _unreliable(evidence: Evidence) -> str:
    runs = f"{evidence.unreliable} run{'' if evidence.unreliable == 1 else 's'}"
    return (
        f"{runs} that this machine was too busy for, included as asked"
        if evidence.unreliable
        else ""
    )


def _late(evidence: Evidence) -> str:
    """Compares the difference with twice the median lateness, as both directions are late.

    Under random loss the rate falls as the round trip grows.
    """
    path, late_s = evidence.path, 2 * evidence.late_s
    if (
        evidence.method != "emulate"
        or path is None
        or not (late_s > 0 and path.round_trip.base_s > 0)
    ):
        return ""
    longer = evidence.metric in ("rtt", "rtt_p99") and 0 < evidence.difference.mean <= late_s
    share = late_s / path.round_trip.base_s
    slower = evidence.metric == "goodput" and 0 < -evidence.relative <= share
    if not (longer or slower):
        return ""
    return (
        f"in half of the round trips packets were late by up to {late_s * 1e3:.2g} ms, "
        f"{percent(share)} of the RTT"
    )


UNRELIABLE_RUNS = Cause(
    "unreliable_runs",
    "Unreliable runs are included in the mean, as asked for (--unreliable).",
    _unreliable,
)
LATE_PACKETS = Cause(
    "late_packets",
    "The emulator wakes up late and hosts take time, which lengthens every round trip.",
    _late,
)
