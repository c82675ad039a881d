"""Simulation of HighSpeed TCP's windows at one drop-tail queue: fluid growth, random losses.

A flow's window w_i grows by a(w_i)/R_i per second, and by w_i/R_i in slow start; R_i = r_i + q/C.
The flow sends w_i/R_i. The overflow of the queue is split among the flows in proportion to their
rates. A flow that loses x packets in a step is hit with probability 1 - exp(-x), so that results do
not depend on the step. One round trip later its window falls to (1 - b(w_i)) w_i. Until then it is
not hit again.

This is between the saw-tooth, whose flows are all synchronised, and a packet simulation: there are
no bursts and no timeouts. Only the choice of the flows that are hit is random.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ackclock.models.domain import NOT_NEGATIVE, POSITIVE, check
from ackclock.models.hstcp_response import decrease, increase
from ackclock.models.model import Array
from ackclock.models.refusal import refuse

# Initial window. It doubles so fast that its value does not matter.
_FIRST_WINDOW = 2.0


@dataclass(frozen=True)
class Timing:
    """The times of a simulation.

    Attributes:
        duration_s: Simulated time, with the warm-up.
        warmup_s: Time at the beginning left out of the results.
        step_s: Step; must be a small part of the shortest round trip.
    """

    duration_s: float = 160.0
    warmup_s: float = 60.0
    step_s: float = 1e-3

    def __post_init__(self) -> None:
        check(
            step=(self.step_s, POSITIVE),
            warmup=(self.warmup_s, NOT_NEGATIVE),
            duration=(self.duration_s, POSITIVE),
        )
        if self.duration_s - self.warmup_s < self.step_s:
            refuse(
                "warmup",
                self.warmup_s,
                f"leaves no time to measure within {self.duration_s:g} s; give less",
            )


@dataclass(frozen=True)
class Simulated:
    """Results over the time after the warm-up.

    The first axis is that of the runs. The arrays `rates` and `windows` have a second axis for the
    flows.

    Attributes:
        utilisation: Share of C that was used.
        queue: Mean packets in the queue.
        loss: Packets dropped over packets sent. An overflow drops many at once.
        events: Window reductions per packet sent.
        rates: Goodput of each flow, packets/s.
        windows: Mean windows.
    """

    utilisation: Array
    queue: Array
    loss: Array
    events: Array
    rates: Array
    windows: Array


def simulate(
    rate: float, round_trips: ArrayLike, buffers: ArrayLike, seeds: ArrayLike = 1, *,
    sync: bool = False, timing: Timing | None = None,
) -> Simulated:  # fmt: skip
    """Simulates independent runs side by side, each with its buffer and seed.

    Args:
        rate: C in packets/s.
        round_trips: r_i of every flow in s, without queueing.
        buffers: Queue limit of each run in packets, or one for all.
        seeds: Random seed of each run. A run does not depend on the other runs.
        sync: True if an overflow hits every flow.
        timing: Duration, warm-up and step.

    Raises:
        ValueError: An argument is out of its domain.
    """
    r, timing = np.atleast_1d(np.asarray(round_trips, float)), timing or Timing()
    B, chances = (
        np.ravel(values)
        for values in np.broadcast_arrays(np.asarray(buffers, float), np.asarray(seeds))
    )
    check(rate=(rate, POSITIVE), round_trips=(r, POSITIVE), buffers=(B, NOT_NEGATIVE))
    if timing.step_s >= r.min():
        refuse(
            "step",
            timing.step_s,
            f"s is too long beside the shortest round trip; give less than {r.min():g}",
        )
    runs = _Runs(
        rate, r, B, [np.random.default_rng(int(seed)) for seed in chances], sync, timing.step_s
    )
    warm, steps = round(timing.warmup_s / timing.step_s), round(timing.duration_s / timing.step_s)
    for step in range(steps):
        if step == warm:
            runs.forget()
        runs.step(step * timing.step_s)
    return runs.over(steps - warm)


# Windows at which a(w) is tabulated. Linear interpolation between them has an error below one
# millionth.
_WINDOWS = np.geomspace(1.0, 1e8, 20_000)
_INCREASES = increase(_WINDOWS)


class _Runs:
    """The state of all runs: arrays of runs by flows, or of runs."""

    # The type of `chances` is quoted, as it would import numpy.random with the models.
    def __init__(
        self, rate: float, round_trips: Array, buffers: Array, chances: "list[np.random.Generator]",
        sync: bool, step_s: float,
    ) -> None:  # fmt: skip
        self._rate, self._round_trips, self._buffers = rate, round_trips, buffers
        self._chances, self._sync, self._step_s = chances, sync, step_s
        shape = (len(buffers), len(round_trips))
        self._windows = np.full(shape, _FIRST_WINDOW)
        self._queue = np.zeros(len(buffers))
        self._slow_start = np.ones(shape, bool)
        self._falls_at = np.full(shape, np.inf)
        self._next_fall = np.inf
        self.forget()

    def forget(self) -> None:
        """Resets the sums: packets sent and dropped, windows, falls, queues, unused capacity."""
        flows, runs = np.zeros_like(self._windows), np.zeros_like(self._queue)
        self._sent, self._dropped, self._window_sum, self._falls = (
            flows,
            flows.copy(),
            flows.copy(),
            flows.copy(),
        )
        self._queue_sum, self._idle = runs, runs.copy()

    def step(self, now: float) -> None:
        """Advances by one step from `now`."""
        dt, w = self._step_s, self._windows
        rounds = dt / (self._round_trips + (self._queue / self._rate)[:, np.newaxis])
        sent = w * rounds
        filled = self._queue + sent.sum(1) - self._rate * dt
        self._sent += sent
        self._window_sum += w
        self._idle -= np.minimum(filled, 0.0)
        self._queue = np.minimum(np.maximum(filled, 0.0), self._buffers)
        self._queue_sum += self._queue
        grown = np.interp(w, _WINDOWS, _INCREASES)
        if self._slow_start.any():
            grown = np.where(self._slow_start, w, grown)
        self._windows = w + grown * rounds
        if (filled > self._buffers).any():
            self._overflow(now, dt / rounds, sent, np.maximum(filled - self._buffers, 0.0))
        if self._next_fall <= now + dt:
            self._fall(now + dt)

    def _overflow(self, now: float, R: Array, sent: Array, overflow: Array) -> None:
        dropped = sent * (overflow / sent.sum(1))[:, np.newaxis]
        self._dropped += dropped
        for run in np.flatnonzero(overflow):
            if self._sync:
                hit = np.ones(dropped.shape[1], bool)
            else:
                hit = self._chances[run].random(dropped.shape[1]) < -np.expm1(-dropped[run])
            hit &= np.isinf(self._falls_at[run])
            self._falls_at[run, hit] = now + R[run, hit]
        self._next_fall = self._falls_at.min()

    def _fall(self, now: float) -> None:
        falls = self._falls_at <= now
        w = self._windows[falls]
        self._windows[falls] = np.maximum((1 - decrease(w)) * w, 1.0)
        self._slow_start &= ~falls
        self._falls += falls
        self._falls_at[falls] = np.inf
        self._next_fall = self._falls_at.min()

    def over(self, steps: int) -> Simulated:
        """Returns the results from the sums of so many steps."""
        measured_s, sent = steps * self._step_s, self._sent.sum(1)
        return Simulated(
            utilisation=1 - self._idle / (self._rate * measured_s),
            queue=self._queue_sum / steps,
            loss=self._dropped.sum(1) / sent,
            events=self._falls.sum(1) / sent,
            rates=(self._sent - self._dropped) / measured_s,
            windows=self._window_sum / steps,
        )
