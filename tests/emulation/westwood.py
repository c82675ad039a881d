"""The estimates of the Westwood family in floating point, from recorded calls: another reading.

Written from the papers, in seconds and bytes per second, to hold the integer programs to. BE and
its
filter: Mascolo et al. 2001. RE and CRB: Wang, Valla, Sanadidi, Ng, Gerla 2002. ABSE: Wang, Valla,
Sanadidi, Gerla 2002, equations 1 to 6.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TAU_S = 0.5
LONGEST_S = TAU_S / 2  # A sample of zero stands for each of these of silence.
SHORTEST_S = 0.01
THETA = 1.4


@dataclass
class LowPass:
    """First order, by the bilinear rule. ACKs of one microsecond are one sample."""

    value: float = 0.0
    last: float = 0.0
    before: tuple[float, float] = (0.0, 0.0)

    def begin(self) -> None:
        self.before = (self.value, self.last)

    def sample(self, silence_s: float, sample: float | None, data: float = 0.0) -> None:
        """Takes the sample after a silence: a rate, or data delivered in the step that is left."""
        self.value, self.last = self.before
        zeros = int(silence_s / LONGEST_S + 1e-9)
        rest = silence_s - zeros * LONGEST_S
        if zeros and rest < SHORTEST_S:
            zeros, rest = zeros - 1, LONGEST_S
        for _ in range(zeros):
            self.feed(0.0, LONGEST_S)
        self.feed(data / rest if sample is None else sample, rest)

    def feed(self, sample: float, step: float) -> None:
        kept = (2 * TAU_S - step) * self.value + step * (sample + self.last)
        self.value, self.last = kept / (2 * TAU_S + step), sample


@dataclass
class Estimates:
    """BE and RE of one connection."""

    be: LowPass = field(default_factory=LowPass)
    re: LowPass = field(default_factory=LowPass)
    ended_us: int = 0
    step_s: float = 0.0
    data: float = 0.0
    delivered: int = 0
    rtt_min_s: float = float("inf")

    def take(self, row: dict[str, Any]) -> None:
        """Takes an ACK."""
        now_us, rtt_s = row["now_ns"] // 1000, row["rtt_us"] / 1e6
        segments = row["delivered"] - self.delivered
        self.delivered = row["delivered"]
        if rtt_s > 0:
            self.rtt_min_s = min(self.rtt_min_s, rtt_s)
        if not self.ended_us:
            self.ended_us = now_us
            return
        if now_us > self.ended_us:
            self.step_s = (now_us - self.ended_us) / 1e6
            self.ended_us, self.data = now_us, 0.0
            self.be.begin()
            self.re.begin()
        self.data += segments * row["mss"]
        if self.step_s:
            self.be.sample(self.step_s, None, self.data)
            if rtt_s > 0:
                self.re.sample(self.step_s, row["argument_1"] / rtt_s)

    def held(self, rate: float, mss: int) -> float:
        """The window, in segments, that a rate fills without a queue."""
        return rate * self.rtt_min_s / mss


@dataclass
class Adaptive:
    """ABSE of one connection."""

    history: list[tuple[float, float]] = field(default_factory=list)
    variations: list[float] = field(default_factory=list)
    estimate: float = 0.0
    last: float = 0.0
    variation: float = 0.0
    throughput: float = 0.0
    before: tuple[float, ...] = ()
    gap: float = 0.0
    delivered: int = 0
    data: float = 0.0
    rtt_min_s: float = float("inf")

    def take(self, row: dict[str, Any]) -> None:
        """Takes an ACK."""
        now = row["now_ns"] // 1000 / 1e6
        if row["rtt_us"] > 0:
            self.rtt_min_s = min(self.rtt_min_s, row["rtt_us"] / 1e6)
        if self.history:
            self.data += (row["delivered"] - self.delivered) * row["mss"]
        self.delivered = row["delivered"]
        again = bool(self.history) and now == self.history[-1][0]
        if self.history and not again:
            self.gap = now - self.history[-1][0]
            self.before = (self.estimate, self.last, self.variation, self.throughput)
            self.variations = [*self.variations[-9:], 0.0]
        self.history = [*self.history[: -1 if again else None], (now, self.data)][-2000:]
        if self.gap and row["srtt_us8"]:
            self.update(row["cwnd_before"] * row["mss"], row["srtt_us8"] // 8 / 1e6)

    def update(self, window: float, rtt: float) -> None:
        """Equations 2 to 6, then 1."""
        estimate, last, variation, throughput = self.before
        self.throughput = 0.6 * throughput + 0.4 * self.since(rtt)[0] / rtt
        held = self.throughput * self.rtt_min_s
        interval = max(rtt * (window - held) / window, self.gap) if held < window else self.gap
        data, reach = self.since(interval)
        self.last = data / reach
        self.variation = 0.6 * variation + 0.4 * abs(self.last - last)
        self.variations[-1] = self.variation
        largest = max(self.variations)
        tau = rtt * (1 + 10 * (self.variation / largest if largest else 0))
        kept = max((2 * tau - self.gap) / (2 * tau + self.gap), 0)
        self.estimate = kept * estimate + (1 - kept) * self.last

    def since(self, interval: float) -> tuple[float, float]:
        """The data since the last ACK before an interval, or the first of all, and the time."""
        now, data = self.history[-1]
        old = [entry for entry in self.history if now - entry[0] >= interval - 1e-9]
        then, delivered = old[-1] if old else self.history[0]
        return data - delivered, now - then


def adaptive_thresholds(rows: list[dict[str, Any]]) -> Iterator[tuple[float, int]]:
    """Yields for each loss ssthresh by ABSE, and what the kernel was answered."""
    estimator = Adaptive()
    for row in rows:
        if row["kind"] == "init":
            estimator = Adaptive()  # The state is cleared.
        elif row["kind"] == "pkts_acked":
            estimator.take(row)
        elif row["kind"] == "ssthresh":
            held = estimator.estimate * estimator.rtt_min_s / row["mss"]
            yield max(min(held, row["cwnd_before"]), 2), row["result"]


def thresholds(rows: list[dict[str, Any]], *, combined: bool) -> Iterator[tuple[float, int]]:
    """Yields for each loss ssthresh by RE, or by CRB, and what the kernel was answered.

    A loss at which the two estimates of CRB are about equally far from deciding is left out.
    """
    estimates = Estimates()
    for row in rows:
        if row["kind"] == "init":
            estimates = Estimates()  # The state of a socket is cleared.
        elif row["kind"] == "pkts_acked":
            estimates.take(row)
        elif row["kind"] == "ssthresh" and estimates.rtt_min_s < float("inf"):
            cwnd = row["cwnd_before"]
            by_rate = estimates.held(estimates.re.value, row["mss"])
            by_bandwidth = estimates.held(estimates.be.value, row["mss"])
            if combined and abs(cwnd - THETA * by_rate) < 2 * THETA:
                continue
            held = by_rate if not combined or cwnd > THETA * by_rate else by_bandwidth
            yield max(min(held, cwnd), 2), row["result"]
