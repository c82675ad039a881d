"""The estimates of the Westwood family in floating point, from recorded calls: another reading.

Written from the papers (Mascolo et al. 2001; Wang, Valla, Sanadidi, Ng, Gerla 2002), in seconds and
bytes per second, to hold the integer programs to.
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


def thresholds(rows: list[dict[str, Any]], combined: bool) -> Iterator[tuple[float, int]]:
    """Yields for each loss ssthresh by RE, or by CRB, and what the kernel was answered.

    A loss at which the two estimates of CRB are about equally far from deciding is left out.
    """
    found = Estimates()
    for row in rows:
        if row["kind"] == "init":
            found = Estimates()
        elif row["kind"] == "pkts_acked":
            found.take(row)
        elif row["kind"] == "ssthresh" and found.rtt_min_s < float("inf"):
            cwnd = row["cwnd_before"]
            by_rate = found.held(found.re.value, row["mss"])
            by_bandwidth = found.held(found.be.value, row["mss"])
            if combined and abs(cwnd - THETA * by_rate) < 2 * THETA:
                continue
            held = by_rate if not combined or cwnd > THETA * by_rate else by_bandwidth
            yield max(min(held, cwnd), 2), row["result"]
