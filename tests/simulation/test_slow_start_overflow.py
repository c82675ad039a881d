"""One transfer by classic Reno whose slow start overflows a drop-tail queue, and its model.

The rate of 125 packets a second and the round trip of half a second are our choice. So bdp = mu T =
62.5 counts the packet in service, and the queue's limit B does not. The initial window is one; d is
the number of segments per ACK. Classic Reno reduces its window (`ssthresh_from = "window"`), not
the flight size. It can retransmit fast again right after a partial ACK; otherwise there would be no
second reduction, and no W_D/8. But duplicates of what go-back-N sends twice do not trigger that
(`avoid_multiple_fast_retransmits = "after_timeout"`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from ackclock import Result, Scenario, models, simulate

from .paths import flow, path, scenario, tcp
from .rows import column, value_of

MU, BDP, ROUND_TRIP = 125, 62.5, 0.5
#: One-way delay: half the round trip, less the packet's service at the link.
ONE_WAY = (BDP - 1) / MU / 2

#: By B and d: the threshold after the timeout, packets lost before it, and fast retransmits.
OVERFLOWS = {
    (20, 1): (13.1, 33, 2), (20, 2): (15.5, 42, 2), (20, 3): (13.9, 28, 2),
    (70, 1): (66.2, 133, 1), (70, 2): (24.9, 67, 2), (70, 3): (22.1, 45, 2),
}  # fmt: skip
#: Largest transfers without loss, by the model.
JUMPS = {(20, 1): 103, (20, 2): 231, (20, 3): 327, (70, 1): 264, (70, 2): 395, (70, 3): 527}


CLASSIC = {
    "recovery": "reno", "ssthresh_from": "window",
    "avoid_multiple_fast_retransmits": "after_timeout",
    "limited_transmit": False,
    "after_timeout": "go_back_n", "clock_granularity": "500 ms",
}  # fmt: skip
NEWRENO = {"recovery": "newreno", "partial_ack": "slow_but_steady"}
SACK = {"recovery": "sack"}


def transfer(segments: int, buffer: int, d: int, sender: dict[str, object]) -> Scenario:
    transport = tcp(
        mss="1000 bytes",
        header="0 bytes",
        handshake=False,
        initial_window="1 packet",
        byte_counting="per_ack",
        delayed_ack={"every": f"{d} packets", "timeout": "100 ms"},
        rto_minimum="1 s",
        **sender,
    )
    traffic = {"kind": "transfer", "size": f"{1000 * segments} bytes"}
    hops = path(f"{8000 * MU} bit/s", f"{ONE_WAY * 1e9:.0f} ns", f"{buffer} packets")
    return scenario(hops, [flow(transport, traffic=traffic)], "300 s", sample_interval="50 ms")


@cache
def run(segments: int, buffer: int, d: int) -> Result:
    """Returns a transfer by classic Reno."""
    return simulate(transfer(segments, buffer, d, CLASSIC))


def answer_of(
    segments: int, buffer: int, d: int, sender: dict[str, object] = CLASSIC
) -> dict[str, float]:
    """Returns the model's answer for the scenario."""
    tree = transfer(segments, buffer, d, sender).resolve().tree
    answered = models.predictions([tree], [models.model("short_transfer")])
    [inputs], [outputs] = answered["inputs"], answered["outputs"]
    assert (inputs["rate"], inputs["buffer"], inputs["segments_per_ack"]) == (MU, buffer, d)
    assert inputs["rtt"] == pytest.approx(ROUND_TRIP, abs=1e-6)
    tick = 0.5 if sender is CLASSIC else 0
    assert inputs["overflow_timeout"] == pytest.approx(
        max(1, ROUND_TRIP + buffer / MU + tick), abs=1e-6
    )
    return outputs


def completion(result: Result) -> float:
    """Returns the time until the last ACK is back; the table's ends when the last byte arrives."""
    return float(value_of(result, "flows", "completion_time_s")) + ONE_WAY


@pytest.mark.parametrize(("buffer", "d"), OVERFLOWS)
def test_the_overflow_packet_by_packet(buffer: int, d: int) -> None:
    threshold, lost, retransmits = OVERFLOWS[buffer, d]
    result, says = run(5000, buffer, d), answer_of(5000, buffer, d)
    [timeout, *_] = column(result, "events", "time_s", kind="timeout")
    assert column(result, "events", "ssthresh_after_bytes", kind="timeout")[
        0
    ] / 1000 == pytest.approx(threshold, abs=0.5)
    assert (
        column(result, "events", "time_s", kind="fast_retransmit") < timeout
    ).sum() == retransmits
    time, drops = (column(result, "hops", name, hop="out") for name in ("time_s", "drops_queue"))
    assert drops[np.searchsorted(time, timeout) - 1] == lost
    # The model's windows are not whole; with B = 20 and d = 2 its mini-cycles differ most from
    # those of packets.
    assert says["threshold"] == pytest.approx(threshold, rel=0.07)
    assert says["lost"] == pytest.approx(lost, rel=0.08)
    assert (says["fast_retransmits"], says["timeouts"]) == (retransmits, 1)
    detected = column(result, "events", "cwnd_before_bytes", kind="fast_retransmit")[0] / 1000
    assert says["detected_window"] == pytest.approx(detected, rel=0.07)


@pytest.mark.slow
@pytest.mark.parametrize("segments", [1, 2, 3, 10, 60, 63, 64, 100, 103, 150, 200, 264])
def test_a_slow_start_without_loss_takes_as_long_as_the_model_says(segments: int) -> None:
    for buffer in (20, 70):
        says = answer_of(segments, buffer, 1)
        if segments <= says["overflow_segments"]:
            assert completion(run(segments, buffer, 1)) == pytest.approx(says["time"], rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("buffer", "d", "sizes"),
    [
        (20, 1, (200, 300, 400)), (70, 1, (400, 600, 1000, 5000)),
        (20, 2, (60, 100, 200, 300, 400, 600, 1000, 5000)),
        (70, 2, (60, 100, 200, 300, 600, 1000, 5000)),
        (20, 3, (60, 100, 200, 400, 600, 1000, 5000)), (70, 3, (60, 100, 200, 300, 1000, 5000)),
    ],
)  # fmt: skip
def test_transfers_take_about_as_long_as_the_model_says(
    buffer: int, d: int, sizes: tuple[int, ...]
) -> None:
    # Sizes away from the jump.
    for segments in sizes:
        assert completion(run(segments, buffer, d)) == pytest.approx(
            answer_of(segments, buffer, d)["time"], rel=0.25
        )


@pytest.mark.slow
@pytest.mark.parametrize(("buffer", "d"), JUMPS)
def test_a_transfer_that_overflows_the_queue_is_slower_by_a_quarter(buffer: int, d: int) -> None:
    jump = answer_of(1, buffer, d)["overflow_segments"]
    assert jump == pytest.approx(JUMPS[buffer, d], abs=0.51)
    before, after = (
        size / completion(run(size, buffer, d)) for size in (round(0.9 * jump), round(1.15 * jump))
    )
    assert after < 0.75 * before


@pytest.mark.slow
@pytest.mark.parametrize("sender", [NEWRENO, SACK], ids=lambda sender: sender["recovery"])
@pytest.mark.parametrize(("buffer", "d"), [(20, 1), (20, 2), (70, 1), (70, 2)])
def test_senders_that_need_no_timer(buffer: int, d: int, sender: dict[str, object]) -> None:
    for segments in (200, 300, 400, 600):
        result, says = (
            simulate(transfer(segments, buffer, d, sender)),
            answer_of(segments, buffer, d, sender),
        )
        assert completion(result) == pytest.approx(says["time"], rel=0.25)
        if (
            segments >= (d + 1) * says["detected_window"]
        ):  # everything sent before the loss is detected
            threshold = (
                column(result, "events", "ssthresh_after_bytes", kind="fast_retransmit")[0] / 1000
            )
            assert says["threshold"] == pytest.approx(threshold, rel=0.07)
            assert column(result, "flows", "timeouts")[0] == says["timeouts"] == 0
