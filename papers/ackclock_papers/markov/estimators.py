"""Estimators of connections from captures, as in the validation, and the models' predictions.

The estimators are the paper's where it has them. The metrics are those of the table `connections`,
here in segments per second: ATp is unique data over elapsed time, ATpXmit includes retransmissions
over the transfer time, NoTOTput is mean window over mean round-trip time. The law of the round-trip
time is that of the samples, not a parametric one.

Letters: p loss rate of a segment, R round-trip time (s), L rate of the link (segments/s), T0 first
timeout (s).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ackclock import Result
from ackclock.models import aimd_chain, floyd_fall, pftk

#: Counts of losses, each over the segments sent. In the paper's terms: a lower bound, the estimate
#: for the models, an over-estimate and an upper bound. The last is from the emulator's own drop
#: counters.
LOSSES = ("triple duplicates", "estimate", "retransmissions", "post-loss ACKs", "dropped")
#: The count that the models use.
USED = "estimate"

METRICS = ("ATp", "ATpXmit", "NoTOTput")
#: ET with windows weighted by round and by segment; X is the renewal-reward rate.
PREDICTIONS = ("ET by round", "ET by segment", "X", "FF", "PFTK", "X with timeouts")

# Minimum of the variance term of Linux's timer (TCP_RTO_MIN in include/net/tcp.h).
_LEAST_VARIANCE_S = 0.2

_KEYS = ("point", "replicate", "flow", "instance")
_COUNTED = {
    "triple duplicates": "losses_lower",
    "estimate": "losses_estimate",
    "retransmissions": "retransmitted_packets",
    "post-loss ACKs": "post_loss_acks",
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Connection:
    """A connection, as its capture shows it.

    Attributes:
        flow: Name of its flow group.
        instance: Its number in the group.
        metrics: Metrics by name, in segments/s.
        losses: Loss rates by name of the count.
        segments: Segments sent, retransmissions included.
        mean_rtt: Mean of all round-trip samples, in seconds.
        law: Law of the round-trip time.
        sd_rtt: Standard deviation of the round-trip time, in seconds.
        window: Mean flight size, in segments.
        receive_window: Largest window that the receiver offered, in segments.
        timeouts: Share of the responses to losses that were timeouts.
    """

    flow: str
    instance: int
    metrics: dict[str, float]
    losses: dict[str, float]
    segments: int
    mean_rtt: float
    sd_rtt: float
    law: aimd_chain.rtt.RoundTrip
    window: float
    receive_window: float
    timeouts: float

    @property
    def first_timeout(self) -> float:
        """T0 in seconds: mean round-trip time plus four deviations, at least 200 ms, as in Linux.

        The timer's own deviation is a mean absolute one that follows the last round trips, so this
        is a guess within a factor of two.
        """
        return self.mean_rtt + max(_LEAST_VARIANCE_S, 4 * self.sd_rtt)


def connections(run: Result, measured: Result) -> list[Connection]:
    """Returns the connections of a run, from its measured captures and its own drop counts.

    A connection without losses or without round-trip samples is left out: no model applies to it.
    """
    truth = {_key(row): row for row in run.tables["flows"].to_pylist()}
    laws: dict[tuple[Any, ...], list[Row]] = {}
    for row in measured.tables["rtt_histogram"].to_pylist():
        if row["part"] == "whole":
            laws.setdefault(_key(row), []).append(row)
    rows = [row for row in measured.tables["connections"].to_pylist() if row["payload_bytes"]]
    return [
        connection(row, truth[_key(row)], laws[_key(row)])
        for row in rows
        if _key(row) in laws and row[_COUNTED[USED]]
    ]


def connection(row: Row, truth: Row, law: list[Row]) -> Connection:
    """Returns a connection from its rows of `connections`, `flows` and `rtt_histogram`."""
    bits = 8 * row["mss_bytes"]
    segments = int(row["data_segments"])
    losses = {name: row[column] / segments for name, column in _COUNTED.items()}
    losses["dropped"] = (truth["dropped_packets"] - truth["dropped_acks"]) / truth["sent_packets"]
    middles = np.array([sqrt(bucket["low_s"] * bucket["high_s"]) for bucket in law])
    weights = np.array([bucket["samples"] for bucket in law], float)
    return Connection(
        flow=row["flow"],
        instance=row["instance"],
        metrics={
            "ATp": row["delivered_rate_bit_per_s"] / bits,
            "ATpXmit": row["transmitted_rate_bit_per_s"] / bits,
            "NoTOTput": row["window_rate_bit_per_s"] / bits,
        },
        losses=losses,
        segments=segments,
        mean_rtt=float(np.average(middles, weights=weights)),
        sd_rtt=float(np.sqrt(np.cov(middles, fweights=weights.astype(int), ddof=0))),
        law=aimd_chain.rtt.empirical(middles, weights),
        window=row["in_flight_mean_bytes"] / row["mss_bytes"],
        receive_window=row["receive_window_max_bytes"] / row["mss_bytes"],
        timeouts=row["retransmissions_timeout"]
        / max(row["retransmissions_timeout"] + row["fast_recoveries"], 1),
    )


def predictions(captured: Connection, L: float) -> dict[str, float]:
    """Returns the models' predictions for a connection over a link of rate L, in segments/s.

    ET, X and FF are as in the paper. PFTK is without timeouts and with b = 1, as in the paper,
    since the window grows by a segment each round trip, however many segments an ACK covers.
    """
    p, chain = captured.losses[USED], _chain(captured, USED)
    return {
        "ET by round": mean_throughput(captured, L, "round"),
        "ET by segment": mean_throughput(captured, L, "segment"),
        "X": aimd_chain.renewal_rate(chain, captured.law, L),
        "FF": float(floyd_fall.bound(p, captured.mean_rtt)),
        "PFTK": float(pftk.triple_duplicate_only(p, captured.mean_rtt, b=1)),
        "X with timeouts": aimd_chain.timeouts.renewal_rate(
            chain, p, captured.law, captured.first_timeout, L
        ),
    }


def mean_throughput(captured: Connection, L: float, mode: str, losses: str = USED) -> float:
    """Returns ET in segments/s, for one weighting of the window and one count of losses."""
    return aimd_chain.Throughput(_chain(captured, losses), captured.law, L, mode).mean()


def _chain(captured: Connection, losses: str) -> aimd_chain.WindowChain:
    return aimd_chain.solve(
        aimd_chain.Bernoulli(captured.losses[losses]), max(2.0, captured.receive_window)
    )


def self_filled(p: float, L: float, base_rtt: float, buffer: float, receive_window: float) -> float:
    """Returns the rate of the chain that fills its own buffer, in segments/s.

    It uses only the emulator's settings, no measurement.

    Args:
        p: Error probability of the channel.
        L: Rate of its link, in segments/s.
        base_rtt: Round-trip time with empty queues, in seconds.
        buffer: Packets that may wait, in segments.
        receive_window: Largest window, in segments.
    """
    bottleneck = aimd_chain.drop_tail.Bottleneck(L, base_rtt, buffer)
    chain = aimd_chain.drop_tail.solve(aimd_chain.Bernoulli(p), bottleneck, w_max=receive_window)
    return aimd_chain.renewal_rate(chain, bottleneck.rtt, L)


def error(prediction: float, metric: float) -> float:
    """Returns the relative error of a prediction, over the measured value."""
    return abs(prediction - metric) / metric


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEYS)
