"""The ending of a session in words, and what it delivered as a table."""

from typing import Any

from ackclock.result.result import Result
from ackclock.table import Cell, Column, Table, Written, scaled, table

# Reasons for each irregular ending, as seen from the side that reports it.
_BROKEN_OFF = {
    "no_answer": "no answer from {peer} in time: nothing waits there, or it has another key",
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
    """Returns the reason for an irregular ending; empty if the session ended in good order."""
    return _BROKEN_OFF.get(session["ending"], "").format(**session)


def ended(session: dict[str, Any]) -> str:
    """Returns how a session ended, in a few words."""
    return _IN_GOOD_ORDER.get(session["ending"], "broken off")


def flow_table(result: Result, title: str = "Flows", note: str = "") -> Table:
    """Returns the table of the only flow.

    Columns that this side does not know are left out. The table is empty if the session never
    began.
    """
    flows = result.tables["flows"].to_pylist()
    if not flows:
        return table(title, (), (), note)
    flow = flows[0]
    bursts = result.tables["bursts"].to_pylist() if "bursts" in result.tables else []
    sent, lost = flow["sent_packets"], flow["lost_packets"]
    cells = {
        Column("goodput", "Mbit/s"): _number(flow["goodput_bit_per_s"], 1e-6),
        Column("seconds"): _number(flow["measured_s"]),
        Column("MB arrived"): _number(flow["delivered_bytes"], 1e-6),
        Column("packets"): Written(sent, f"{sent:,}"),
        Column("lost", "%"): None if not sent else _number(lost, 100 / sent),
        Column("RTT", "ms"): _number(flow["rtt_mean_s"], 1e3),
        Column("largest burst"): max((row["packets"] for row in bursts), default=None),
    }
    present = {column: cell for column, cell in cells.items() if cell is not None}
    return table(title, present, [present.values()], note)


def _number(value: float | None, scale: float = 1.0) -> Cell:
    """Formats a number with four digits; None if it is unknown."""
    shown = scaled(value, scale)
    return None if shown is None else Written(shown, f"{shown:.4g}")
