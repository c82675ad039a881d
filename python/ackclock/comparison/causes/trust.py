"""Causes that lie in how sure the numbers are."""

import math

from ackclock.comparison.causes.cause import Cause, Evidence, percent

__all__ = ["LATE_PACKETS", "TOO_FEW_REPLICATES", "UNRELIABLE_RUNS"]


def _too_few(evidence: Evidence) -> str:
    sizes = dict(zip((evidence.method, evidence.reference), evidence.replicates, strict=True))
    if evidence.method == "predict":
        del sizes["predict"]  # has no chance in it
    if math.isnan(evidence.difference.half_width):
        alone = " and ".join(name for name, count in sizes.items() if count < 2)
        return f"one replicate of {alone} has no spread: it cannot be told whether this is chance"
    if abs(evidence.difference.mean) > evidence.difference.half_width:
        return ""
    counts = " and ".join(f"{count} of {name}" for name, count in sizes.items())
    wide = (
        evidence.difference.half_width / abs(evidence.reference_mean)
        if evidence.reference_mean
        else 0.0
    )
    return (
        f"the interval, ± {percent(wide)}, is wider than the residual, with {counts}"
        if wide > 0
        else ""
    )


def _unreliable(evidence: Evidence) -> str:
    runs = f"{evidence.unreliable} run{'' if evidence.unreliable == 1 else 's'}"
    return (
        f"{runs} that this machine was too busy for, taken in all the same"
        if evidence.unreliable
        else ""
    )


def _late(evidence: Evidence) -> str:
    """Both ways are longer by what half of the packets were late at most; under random loss a rate falls with that."""
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
    return f"packets were late: up to {late_s * 1e3:.2g} ms in half of the round trips, {percent(share)} of one"


TOO_FEW_REPLICATES = Cause(
    "too_few_replicates",
    "Replicates differ by chance; with few of them, small differences cannot be resolved.",
    _too_few,
)
UNRELIABLE_RUNS = Cause(
    "unreliable_runs",
    "The mean includes unreliable runs (--unreliable).",
    _unreliable,
)
LATE_PACKETS = Cause(
    "late_packets",
    "The emulator wakes up late and hosts take time, which lengthens every round trip.",
    _late,
)
