"""The section of a report about a session of `ackclock send` or `ackclock receive`."""

from typing import Any

from ackclock.result.labels import control_label
from ackclock.result.result import Result
from ackclock.session import tables
from ackclock.table import number

_OF_SENDER = (
    "Goodput and arrivals are as the receiver reported, never more than was sent. Lost packets are "
    "those that the control counts as lost. A burst is what left between two readings of the clock."
)
_OF_RECEIVER = (
    "Goodput is from the first packet to the last. Packets are counted by the highest number that "
    "arrived; the missing numbers are lost."
)


def section(result: Result) -> dict[str, Any]:
    """Returns the answer and the table of its only flow."""
    note = _OF_SENDER if result.run["method"] == "send" else _OF_RECEIVER
    if not result.tables["flows"].num_rows:
        note = "There was no session."
    return {
        "answers": _answers(result),
        "flows": tables.flow_table(result, note=note),
        "tables": [],
    }


def _answers(result: Result) -> list[str]:
    """Returns what was delivered, lost and how long a round trip took, in sentences."""
    flows = result.tables["flows"].to_pylist()
    if not flows:
        return ["There was no session."]
    flow = flows[0]
    sentences = [
        f"{number(flow['goodput_bit_per_s'], 1e-6)} Mbit/s for {number(flow['measured_s'])} s."
    ]
    sent, lost = flow["sent_packets"], flow["lost_packets"]
    if sent and lost is not None:
        sentences.append(f"{100 * lost / sent:.2g} % of {sent:,} packets were lost.")
    if flow["rtt_mean_s"] is not None:
        sentences.append(f"The mean round trip took {number(flow['rtt_mean_s'], 1e3)} ms.")
    return sentences


def facts(result: Result) -> dict[str, Any]:
    """Returns the peer, the control, how the session ended and how long it lasted."""
    session = result.run["session"]
    stated = {"peer": session["peer"]} if "peer" in session else {}
    stated |= {"control": control_label(session["control"])} if "control" in session else {}
    lasted = f"{number(session['lasted_s'])} s"
    for flow in result.tables["flows"].to_pylist():
        lasted = f"{number(flow['measured_s'])} s, after a wait of {number(flow['start_s'])} s"
    return stated | {"ended": tables.broken_off(session) or tables.ended(session), "lasted": lasted}
