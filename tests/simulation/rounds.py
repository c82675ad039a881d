"""Rounds of a flow, one by one, from samples taken once per round trip.

The link takes practically no time, so a window is sent at one time, and the next a round-trip time
later. The flow starts half a round-trip time after time zero, and samples are a round-trip time
apart. So every sample lies between two such times, and two samples enclose one round. This remains
so: deviations in a run of some ten thousand rounds add up to less than half a round-trip time;
`read` checks that.

A round is *congestion avoidance*, the subject of the chain, up to and including the round in which
a segment is lost. The reaction begins with the round in which the loss is detected (two rounds if
fewer than three segments were sent behind the lost one). Then comes fast recovery, or the silence
before a timeout and slow start. A reaction to a loss during a reaction belongs to it.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ackclock import Result

from .rows import column

AVOIDANCE, RECOVERY, TIMEOUT = range(3)
#: Share of rounds left out at the beginning.
WARM_UP = 1 / 20


@dataclass(frozen=True)
class Rounds:
    """One entry per round.

    Attributes:
        sent: Segments, retransmissions included.
        phase: `AVOIDANCE`, or the outcome of a reaction: `RECOVERY` or `TIMEOUT`.
        loss: Share of all packets of the run that was lost.
    """

    sent: NDArray[np.int64]
    phase: NDArray[np.int64]
    loss: float

    @property
    def avoidance(self) -> NDArray[np.int64]:
        """Segments sent in each round of congestion avoidance."""
        return self.sent[self.phase == AVOIDANCE]

    def share(self, phase: int) -> float:
        """Returns the share of rounds in a phase."""
        return float((self.phase == phase).mean())


def read(result: Result, replicate: int) -> Rounds:
    """Returns the rounds of a replicate without the first ones."""
    key = {"replicate": replicate}
    time, sent, mode = (
        column(result, "samples", name, **key) for name in ("time_s", "sent_packets", "mode")
    )
    hop_time, drops = (
        column(result, "hops", name, **key, hop="out") for name in ("time_s", "drops_impairment")
    )
    assert len(time) > 100
    lost = np.diff(drops[np.searchsorted(hop_time, time)])
    kinds, moments = (column(result, "events", name, **key) for name in ("kind", "time_s"))
    phase = _phases(kinds, _round_of(time, moments), np.flatnonzero(lost), mode)
    first = round(len(phase) * WARM_UP)
    share = (
        column(result, "flows", "dropped_packets", **key)[0]
        / column(result, "flows", "sent_packets", **key)[0]
    )
    return Rounds(np.diff(sent)[first:].astype(np.int64), phase[first:], float(share))


def _phases(kinds: NDArray, rounds: NDArray, losing: NDArray, mode: NDArray) -> NDArray[np.int64]:
    """Returns the phase of every round.

    `losing` are the rounds with a loss, `mode` is that of the samples.
    """
    phase = np.full(len(mode) - 1, AVOIDANCE)
    losses = losing.tolist()
    ended = 0  # end of the last reaction
    began = None
    came_to = RECOVERY
    for kind, now in zip(kinds.tolist(), rounds.tolist(), strict=True):
        if kind != "recovery_end":
            if began is None:
                came_to = RECOVERY
                first = bisect_left(losses, ended)
                lost = first < len(losses) and losses[first] < now
                began = losses[first] + 1 if lost else ended
            if kind == "timeout":
                came_to = TIMEOUT
        elif began is not None:
            end = now if came_to == RECOVERY else _end_of_slow_start(mode, now)
            phase[began:end] = came_to
            ended, began = max(ended, end), None
    if began is not None:
        phase[began:] = came_to
    return phase


def _round_of(time: NDArray, moments: NDArray) -> NDArray[np.int64]:
    """Returns the index of the round of each event."""
    index = np.searchsorted(time, moments) - 1
    into = (moments - time[index]) / (time[1] - time[0])
    assert ((into > 0.05) & (into < 0.95)).all(), "samples are between the moments of sending"
    return np.clip(index, 0, len(time) - 2)


def _end_of_slow_start(mode: NDArray, index: int) -> int:
    """Returns the first round, from this one on, that begins in congestion avoidance."""
    avoiding = np.flatnonzero(mode[index : index + 1000] != "slow_start")
    return index + int(avoiding[0]) if len(avoiding) else len(mode) - 1
