"""Our path and Aurora's simulator under the same rates.

Aurora's rules (Jay et al., ICML 2019; its `network_sim.py`), written again from what is published.
Packets leave evenly at the sender's rate. The link has a rate in packets/s and a delay each way.
Its queue is a delay, which falls with time; a packet that would wait longer than that allows is
dropped. Every packet is acknowledged, and an interval counts what comes back in it.
"""

from pathlib import Path

import numpy as np
import pytest

import ackclock.gym

#: Link in packets/s, one-way delay in s, queue in packets, and the rates of intervals in packets/s.
LINK, DELAY, QUEUE = 400.0, 0.04, 60
RATES = [200, 200, 360, 360, 380, 380, 300, 440, 440, 360, 320, 200, 200, 390, 390, 390]
INTERVAL = 0.5
#: Bytes of a packet and of its payload.
PACKET, PAYLOAD = 1500, 1448

PATH = f"""
schema = 1
duration = "{(len(RATES) + 2) * INTERVAL} s"

[[hops]]
name = "there"
link = {{ kind = "constant", rate = "{LINK * PACKET * 8:.0f} bit/s" }}
queue = {{ kind = "droptail", limit = "{QUEUE} packets" }}
delay = "{DELAY * 1000} ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "10 Gbit/s" }}
queue = {{ kind = "droptail", limit = "1000 packets" }}
delay = "{DELAY * 1000} ms"

[[flows]]
name = "mine"
route = ["there"]
return = ["back"]

[flows.transport]
kind = "tcp"
control = {{ kind = "external" }}
preset = "rfc-modern"
delayed_ack = {{ every = "1 segments" }}
initial_window = "1 segments"
"""


class Aurora:
    """Aurora's link and sender.

    `interval` returns throughput in packets/s and mean latency in s.
    """

    def __init__(self) -> None:
        self.now = self.next_send = self.waiting = self.updated = 0.0
        self.returns: list[tuple[float, float]] = []

    def interval(self, rate: float) -> tuple[float, float]:
        end = self.now + INTERVAL
        self.next_send = max(self.next_send, self.now)
        while self.next_send < end:
            sent = self.next_send
            self.waiting = max(self.waiting - (sent - self.updated), 0.0)
            self.updated = sent
            if self.waiting + 1 / LINK <= QUEUE / LINK:
                self.waiting += 1 / LINK
                self.returns.append((sent + 2 * DELAY + self.waiting, 2 * DELAY + self.waiting))
            self.next_send += 1 / rate
        back = [latency for time, latency in self.returns if self.now <= time < end]
        self.now = end
        return len(back) / INTERVAL, float(np.mean(back)) if back else float("nan")


def test_throughput_and_latency_are_those_of_auroras_simulator(tmp_path: Path) -> None:
    """Within 2 % in each interval after the first round trip, which the initial window decides."""
    file = tmp_path / "aurora.toml"
    file.write_text(PATH)
    env = ackclock.gym.SingleFlow(file, action="rate", interval=f"{INTERVAL} s")
    env.reset(seed=1)
    theirs = Aurora()
    for number, rate in enumerate(RATES):
        megabits = rate * PAYLOAD * 8 / 1e6
        *_, info = env.step(np.array([(np.log2(megabits) - 5) / 11], np.float32))
        throughput, latency = theirs.interval(rate)
        if number == 0:
            continue
        ours = info["throughput_bit_per_s"] / 8 / PAYLOAD
        # One packet more or less may come back in an interval, whose edges differ by its phase.
        assert ours == pytest.approx(throughput, rel=0.02, abs=2 / INTERVAL), number
        assert info["rtt_s"] == pytest.approx(latency, rel=0.02), number
