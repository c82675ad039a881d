"""The observations of a learner: columns by name, each a function of its last interval.

Nothing else is observed than what a sender knows. A preset is a list of columns and the number of
intervals that are remembered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.errors import InputError
from ackclock.gym.intervals import Array, Intervals


@dataclass(frozen=True)
class Observed:
    """A column of observations.

    Attributes:
        summary: Its meaning, with its unit.
        values: Takes intervals; returns an array by environment and learner, NaN where unknown.
    """

    summary: str
    values: Callable[[Intervals], Array]


def _send_ratio(intervals: Intervals) -> Array:
    """Returns sent over delivered data; 1 where it would be 1000 or more, as in Aurora's code."""
    sent, delivered = intervals.column("sent_bytes"), intervals.column("delivered_bytes")
    counts = (delivered > 0) & (sent < 1000 * delivered)
    ratio: Array = np.divide(sent, delivered, out=np.ones_like(sent), where=counts)
    return ratio


def _marked(intervals: Intervals) -> Array:
    delivered = intervals.column("delivered_bytes")
    share: Array = np.divide(
        intervals.column("marked_bytes"), delivered,
        out=np.zeros_like(delivered), where=delivered > 0,
    )  # fmt: skip
    return share


def _of_most(intervals: Intervals) -> Array:
    most = intervals.most_rate
    share: Array = np.divide(intervals.throughput, most, out=np.zeros_like(most), where=most > 0)
    return share


def _packets(name: str) -> Callable[[Intervals], Array]:
    return lambda intervals: intervals.column(name) / intervals.column("mss_bytes")


def _column(name: str, scale: float = 1.0) -> Callable[[Intervals], Array]:
    return lambda intervals: intervals.column(name) * scale


#: Every column by its name.
OBSERVATIONS: dict[str, Observed] = {
    "send_ratio": Observed("sent over delivered data", _send_ratio),
    "latency_ratio": Observed(
        "mean over least round-trip time", lambda intervals: intervals.rtt_ratio
    ),
    "latency_gradient": Observed(
        "slope of the round-trip times over time in s/s", _column("rtt_gradient")
    ),
    "loss_share": Observed(
        "data lost, of data lost or delivered", lambda intervals: intervals.loss
    ),
    "marked_share": Observed("data marked, of data delivered", _marked),
    "throughput_of_most": Observed(
        "delivery rate over the highest of the episode so far", _of_most
    ),
    "throughput_mbit_per_s": Observed(
        "delivery rate in Mbit/s", lambda intervals: intervals.throughput / 1e6
    ),
    "sent_mbit_per_s": Observed(
        "sending rate in Mbit/s", lambda intervals: intervals.per_second("sent_bytes") / 1e6
    ),
    "rtt_mean_s": Observed("mean round-trip time in s", _column("rtt_mean_s")),
    "rtt_min_s": Observed("smallest round-trip time of the interval in s", _column("rtt_min_s")),
    "rtt_last_s": Observed("last round-trip time in s", _column("rtt_last_s")),
    "least_rtt_s": Observed(
        "smallest round-trip time of the connection in s", _column("least_rtt_s")
    ),
    "smoothed_rtt_s": Observed("smoothed round-trip time in s", _column("smoothed_rtt_s")),
    "interval_s": Observed("length of the interval in s", _column("interval_s")),
    "acks": Observed("number of ACKs", _column("acks")),
    "timeouts": Observed("number of retransmission timeouts", _column("timeouts")),
    "in_flight_packets": Observed("data in flight in full segments", _packets("in_flight_bytes")),
    "cwnd_packets": Observed("congestion window in full segments", _packets("cwnd_bytes")),
    "rate_mbit_per_s": Observed(
        "ordered pacing rate in Mbit/s, 0 if none was", _column("rate_bit_per_s", 1e-6)
    ),
}

#: Columns and remembered intervals by the name of a preset. The columns of `aurora` are those of
#: Aurora's code (Jay et al., ICML 2019). The columns of `orca` are quantities of Orca's state
#: (Abbasloo et al., SIGCOMM 2020). Its throughput is divided by the highest so far, so that paths
#: are comparable.
PRESETS: dict[str, tuple[tuple[str, ...], int]] = {
    "aurora": (("send_ratio", "latency_ratio", "latency_gradient"), 10),
    "orca": (
        (
            "throughput_of_most", "loss_share", "latency_ratio", "acks", "interval_s",
            "smoothed_rtt_s", "least_rtt_s", "cwnd_packets",
        ),
        1,
    ),
    "full": (tuple(OBSERVATIONS), 1),
}  # fmt: skip


def chosen(names: str | Sequence[str], history: int | None) -> tuple[tuple[str, ...], int]:
    """Returns columns and remembered intervals of a preset or of a list of columns.

    Raises:
        InputError: There is no such preset or column, or nothing is remembered.
    """
    if isinstance(names, str):
        if names not in PRESETS:
            raise InputError.unknown("observation", "preset", names, PRESETS)
        columns, usual = PRESETS[names]
    else:
        columns, usual = tuple(names), 1
        for name in columns:
            if name not in OBSERVATIONS:
                raise InputError.unknown("observation", "column", name, OBSERVATIONS)
    kept = usual if history is None else history
    if not columns or not 1 <= kept <= 1000:
        raise InputError(
            "out-of-range",
            "history",
            f"is {kept}; choose 1 to 1000 intervals of some columns",
            kept,
        )
    return columns, kept
