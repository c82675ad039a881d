"""Estimates the inputs of models for a captured connection, with intervals: table `estimates`.

- **Loss** is the number of losses over the number of segments sent. The table `connections` counts
  losses in three ways. The middle one, `losses_estimate`, is taken: retransmissions without the
  unneeded ones. Third duplicate ACKs count too few where losses come close together or end in
  timeouts. All retransmissions count too many. Both stand beside it as `loss_at_least` and
  `loss_at_most`.
- **Loss indications** are what a sender reacts to, once for all losses in a window: fast
  retransmissions and timeouts of the table `flows`. Models take their rate as the loss rate, as the
  authors of PFTK did with their measurements. Losses may come in bursts, for example at the end of
  slow start. The rate of single losses would then report reactions that never happened.
- **Round-trip time** and **goodput** are those of the table `flows`.
- **Intervals** have 95 % confidence. They come from a circular block bootstrap over the intervals
  of the table `samples` (`ackclock.metrics.bootstrap`), in blocks of at least ten round trips. They
  cover the fluctuations within this one connection, not those between days. Captures of fewer than
  eight blocks have no intervals. If nothing was lost, the upper end of the loss interval is the
  largest probability at which that happens in one of forty such connections.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ackclock.metrics.bootstrap import middle, resampled_sums
from ackclock.metrics.tables import column
from ackclock.result.result import Result

Array = NDArray[np.float64]
Row = dict[str, Any]

#: Columns that identify a connection in every table.
KEYS = ("point", "replicate", "flow", "instance")

#: Columns of the table `samples` that estimates are made of.
SAMPLED = (
    *KEYS, "time_s", "sent_packets", "retransmitted_packets", "delivered_bytes", "rtt_s",
)  # fmt: skip

#: Columns of the table, with their descriptions.
COLUMNS: dict[str, str] = {
    "point": "Index of the point; 0 for a capture from elsewhere.",
    "replicate": "Number of the replicate; 0 for a capture from elsewhere.",
    "flow": "Name of the flow.",
    "instance": "Number of the instance.",
    "segments_sent": (
        "Segments sent with payload, retransmissions included; packets if segments are unknown."
    ),
    "losses": "Number of losses, `losses_estimate` of the table `connections`.",
    "loss": "Losses over segments sent.",
    "loss_low": "Lower end of its interval.",
    "loss_high": "Upper end of its interval.",
    "loss_at_least": "Loss rate from the lower bound `losses_lower`.",
    "loss_at_most": "Loss rate from the upper bound `losses_upper`.",
    "indications": "Loss indications: fast retransmissions and timeouts.",
    "indication_rate": "Loss indications over segments sent: the loss rate that models are given.",
    "indication_rate_low": "Lower end of its interval.",
    "indication_rate_high": "Upper end of its interval.",
    "rtt_mean_s": "Mean round-trip time.",
    "rtt_low_s": "Lower end of its interval.",
    "rtt_high_s": "Upper end of its interval.",
    "goodput_bit_per_s": "Payload acknowledged, each byte once, over time.",
    "goodput_low_bit_per_s": "Lower end of its interval.",
    "goodput_high_bit_per_s": "Upper end of its interval.",
    "segments_per_ack": "Mean number of segments per ACK that acknowledged any.",
    "link_bit_per_s": (
        "Payload acknowledged over time while a queue stood before a link; null if that was not "
        "the main limit."
    ),
    "block_s": "Length of the blocks behind the intervals; null without intervals.",
    "blocks": "Number of these blocks.",
}

_TEXT, _INTEGER = ("flow",), ("point", "replicate", "instance")

# Chosen here: a block should hold correlated samples together. A saw-tooth of a few dozen segments
# is the longest such stretch.
_ROUND_TRIPS_PER_BLOCK = 10

# Timestamps are binary fractions of a second.
_ROUNDING = 1e-9

# Enough to place the ends of a 95 % interval within a few percent of its width. Chosen here.
_RESAMPLES = 400

_TAIL = 0.025


class Resampled(NamedTuple):
    """Averages over resampled records of one connection.

    Attributes:
        loss: Loss rates.
        indication_rate: Rates of loss indications.
        rtt_s: Mean round-trip times.
        goodput_bit_per_s: Goodputs.
        block_s: Length of a block.
        blocks: Number of blocks.
    """

    loss: Array
    indication_rate: Array
    rtt_s: Array
    goodput_bit_per_s: Array
    block_s: float
    blocks: int


@dataclass(frozen=True)
class Estimate:
    """The estimates of one connection.

    Attributes:
        row: Row of the table.
        resampled: Source of the intervals; None without intervals.
    """

    row: Row
    resampled: Resampled | None


def estimate(result: Result, connection: Row) -> Estimate:
    """Returns the estimates of a row of the table `connections`."""
    keys = {name: connection[name] for name in KEYS}
    [flow] = result.rows("flows", **keys).to_pylist() or [{}]
    sent = _known_or(connection["data_segments"], float(connection["data_packets"]))
    reactions = [flow.get("fast_retransmits"), flow.get("timeouts")]
    indications = None if None in reactions else float(sum(reactions))
    rates = {
        "loss": _share(connection["losses_estimate"], sent),
        "indication_rate": _share(indications, sent),
        "loss_at_least": _share(connection["losses_lower"], sent),
        "loss_at_most": _share(connection["losses_upper"], sent),
        "rtt_mean_s": flow.get("rtt_mean_s"),
        "goodput_bit_per_s": flow.get("goodput_bit_per_s"),
    }
    counts = {
        "segments_sent": sent,
        "losses": connection["losses_estimate"],
        "indications": indications,
    }
    counts |= {
        "segments_per_ack": _segments_per_ack(connection),
        "link_bit_per_s": _link(result, connection),
    }
    row = dict.fromkeys(COLUMNS) | keys | counts | rates
    resampled = _resample(result.rows("samples", SAMPLED, **keys), row)
    if resampled is not None:
        for name, unit, values in (
            ("loss", "", resampled.loss),
            ("indication_rate", "", resampled.indication_rate),
            ("rtt", "_s", resampled.rtt_s),
            ("goodput", "_bit_per_s", resampled.goodput_bit_per_s),
        ):
            low, high = middle(values)
            row |= {f"{name}_low{unit}": _or_none(low), f"{name}_high{unit}": _or_none(high)}
        row |= {"block_s": resampled.block_s, "blocks": resampled.blocks}
    for name in ("loss", "indication_rate"):
        if row[name] == 0 and sent > 0:
            row |= {
                f"{name}_low": 0.0,
                f"{name}_high": 1 - _TAIL ** (1 / sent),
            }  # End of the exact binomial interval.
    return Estimate(row, resampled)


def table(estimated: list[Estimate]) -> pa.Table:
    """Returns the table `estimates`."""
    types = dict.fromkeys(_TEXT, pa.string()) | dict.fromkeys(_INTEGER, pa.int64())
    rows = [connection.row for connection in estimated]
    return pa.table(
        {
            name: pa.array([row[name] for row in rows], types.get(name, pa.float64()))
            for name in COLUMNS
        }
    )


def _resample(samples: pa.Table, row: Row) -> Resampled | None:
    """Returns ratios of sums over resampled records.

    They are scaled so that the record itself gives the estimate.
    """
    *counts, rtt_column = SAMPLED[len(KEYS) :]
    time, sent, retransmitted, delivered = (
        np.diff(column(samples, name).astype(float)) for name in counts
    )
    rtt = column(samples, rtt_column).astype(float)[1:]
    if time.size == 0 or not row["rtt_mean_s"]:  # unknown, or 0 where times are wrong
        return None
    # Intervals before the first round-trip time do not count in the mean.
    timed = np.where(np.isnan(rtt), 0, time)
    resent = np.nan_to_num(retransmitted)
    # A sender reacts once per round trip, however many packets it retransmits.
    reactions = np.minimum(resent, np.maximum(1, time / row["rtt_mean_s"]))
    parts = np.array([time, sent, resent, delivered, timed, timed * np.nan_to_num(rtt), reactions])
    usual = float(np.median(time))
    round_trips = _ROUND_TRIPS_PER_BLOCK * row["rtt_mean_s"] / usual if usual > 0 else 1.0
    block = max(1, int(np.ceil(round_trips - _ROUNDING)))
    sums = resampled_sums(parts, block, _RESAMPLES)
    if sums is None:
        return None
    whole = parts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = _known_or(row["loss"], np.nan) * (sums[2] / sums[1]) / (whole[2] / whole[1])
        indications = (
            _known_or(row["indication_rate"], np.nan) * (sums[6] / sums[1]) / (whole[6] / whole[1])
        )
        rtt_mean = row["rtt_mean_s"] * (sums[5] / sums[4]) / (whole[5] / whole[4])
        goodput = (
            _known_or(row["goodput_bit_per_s"], np.nan)
            * (sums[3] / sums[0])
            / (whole[3] / whole[0])
        )
    return Resampled(loss, indications, rtt_mean, goodput, block * usual, time.size // block)


def _segments_per_ack(connection: Row) -> float | None:
    acks, acknowledged, mss = (
        connection[name] for name in ("pure_acks", "acknowledged_bytes", "mss_bytes")
    )
    if acks is None or acknowledged is None or not mss:
        return None
    return _share(acknowledged / mss, acks - (connection["duplicate_acks"] or 0))


def _link(result: Result, connection: Row) -> float | None:
    """Returns the rate of the link if a queue stood before it most of the time."""
    limit = "bottleneck_rate"
    if connection["limit"] != limit:
        return None
    stretches = result.rows(
        "limit_periods", **{name: connection[name] for name in KEYS}, limit=limit
    )
    lasts = column(stretches, "end_s") - column(stretches, "start_s")
    carried = float(np.nansum(column(stretches, "rate_bit_per_s") * lasts))
    return _share(carried, float(lasts.sum()))


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None or whole <= 0 else part / whole


def _known_or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
