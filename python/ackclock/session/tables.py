"""What people read of a session: how it ended, and what came of it; the same for a terminal and a report."""

from typing import Any

from ackclock.result import Result

__all__ = ["broken_off", "ended", "flow_cells"]

# Of each ending that is none in good order, why, in words of the side it is told on.
_BROKEN_OFF = {
    "no_answer": "no answer from {peer} within the time: nobody waits there, or with another key",
    "silence": "nothing was heard from {peer} for {silence_s:.3g} s; the session was given up",
    "dishonest": "{peer} claims packets that it cannot have; the session was given up",
    "refused_version": "{peer} speaks another version of the format",
    "refused_busy": "{peer} has a session with somebody else; try again when that is over",
    "refused_control": "--control: {peer} does not offer it; ask for another, or see its --control",
    "refused_dishonest": "{peer} does not believe what was received",
    "refused_silence": "{peer} has not heard of us for too long and has given up",
}
_IN_GOOD_ORDER = {
    "finished": "all was sent", "unconfirmed": "all was sent", "stopped": "stopped here",
    "peer_stopped": "stopped by the other side",
}  # fmt: skip


def broken_off(session: dict[str, Any]) -> str:
    """Why a session ended otherwise than in good order; empty if it did not."""
    return _BROKEN_OFF.get(session["ending"], "").format(**session)


def ended(session: dict[str, Any]) -> str:
    """How a session ended, in a few words."""
    return _IN_GOOD_ORDER.get(session["ending"], "broken off")


def flow_cells(result: Result) -> tuple[list[str], list[list[str]]]:
    """Head and cells of the only flow as text, without what this side does not know; nothing if it never began."""
    flows = result.tables["flows"].to_pylist()
    bursts = result.tables["bursts"].to_pylist() if "bursts" in result.tables else []

    def number(value: float | None, scale: float = 1.0) -> str:
        return "" if value is None else f"{value * scale:.4g}"

    if not flows:
        return [], []
    flow = flows[0]
    sent = flow["sent_packets"]
    lost = flow["lost_packets"]
    cells = {
        "goodput Mbit/s": number(flow["goodput_bit_per_s"], 1e-6),
        "seconds": number(flow["measured_s"]),
        "MB arrived": number(flow["delivered_bytes"], 1e-6),
        "packets": f"{sent:,}",
        "lost %": "" if lost is None or not sent else number(100 * lost / sent),
        "RTT ms": number(flow["rtt_mean_s"], 1e3),
        "largest burst": str(max((row["packets"] for row in bursts), default="")),
    }
    kept = {name: value for name, value in cells.items() if value != ""}
    return list(kept), [list(kept.values())]
