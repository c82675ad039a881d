"""Transfers that overflow a queue in slow start: tables, curves, and sums counted by rounds."""

import math
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackclock import models
from ackclock.models import short_transfer
from ackclock.models.short_transfer import NEWRENO, RENO, SACK, Sender

from ..refusals import refused

MODEL = short_transfer.MODEL

#: 1 Mbit/s and 1000 bytes; the source gives neither.
NETWORK = {"rate": 125.0, "rtt": 0.5, "initial_window": 1.0, "handshake": 0.0}

#: The receiver's choices (d in slow start and congestion avoidance), and byte counting in slow
#: start only.
SENDERS = {
    "d1": {"segments_per_ack": 1}, "d2": {"segments_per_ack": 2}, "d3": {"segments_per_ack": 3},
    "bytes": {"segments_per_ack": 1, "avoidance_segments_per_ack": 2},
}  # fmt: skip

#: Segments/s by transfer, and by buffer and sender.
COLUMNS = [
    (20, "d1"),
    (20, "d2"),
    (20, "d3"),
    (70, "d1"),
    (70, "d2"),
    (70, "d3"),
    (20, "bytes"),
    (70, "bytes"),
]
TABLE = {
    60: (18.6, 13.1, 10.8, 18.6, 13.1, 10.8, 18.6, 18.6),
    100: (26.4, 19.3, 15.2, 26.4, 19.3, 15.2, 26.4, 26.4),
    200: (18.8, 32.1, 25.7, 43.6, 32.1, 25.7, 18.7, 43.6),
    300: (21.2, 22.0, 34.8, 27.3, 42.7, 34.8, 20.4, 27.3),
    400: (24.7, 23.0, 23.0, 31.1, 35.0, 42.5, 23.2, 31.1),
    600: (31.0, 27.3, 25.0, 39.1, 30.7, 30.6, 27.7, 39.1),
    1000: (40.5, 33.9, 29.9, 54.0, 38.4, 35.1, 34.9, 54.0),
    5000: (83.3, 71.6, 60.5, 98.9, 77.2, 66.5, 73.6, 98.9),
}

senders = {
    "buffer": st.floats(1, 300), "rate": st.floats(10, 1e5), "rtt": st.floats(0.1, 2),
    "segments_per_ack": st.floats(0.25, 6),
}  # fmt: skip


def answer(sender: str = "d1", **inputs: object) -> dict:
    return MODEL.answer(**(NETWORK | SENDERS[sender] | inputs))


def rate(size: object, buffer: float, sender: str) -> np.ndarray:
    return np.asarray(answer(sender, size=size, buffer=buffer)["mean_rate"])


@pytest.mark.parametrize("size", TABLE)
def test_the_tabulated_throughputs(size: int) -> None:
    says = [float(rate(size, buffer, sender)) for buffer, sender in COLUMNS]
    assert says == pytest.approx(TABLE[size], abs=0.0505)


@pytest.mark.parametrize(("buffer", "jumps"), [(20, (103, 231, 327)), (70, (264, 395, 527))])
def test_the_jumps_are_where_the_overflow_is(buffer: int, jumps: tuple[int, ...]) -> None:
    for sender, jump in zip(("d1", "d2", "d3"), jumps, strict=True):
        says = answer(sender, size=1, buffer=buffer)
        assert says["overflow_segments"] == pytest.approx(jump, abs=0.51)
        before, after = rate([jump - 1, jump + 10], buffer, sender)
        assert after < 0.75 * before


@pytest.mark.parametrize("buffer", [20, 70])
def test_an_ack_for_each_wins_until_it_loses(buffer: int) -> None:
    jumps = [
        math.floor(answer(sender, size=1, buffer=buffer)["overflow_segments"])
        for sender in ("d1", "d2", "d3")
    ]
    small = np.arange(4, jumps[0])
    by_d1, by_d2, by_d3 = (rate(small, buffer, sender) for sender in ("d1", "d2", "d3"))
    assert (by_d1 >= by_d2).all()
    assert (by_d2 >= by_d3).all()
    # Between the jump of d and that of d + 1 the larger d wins, if more than one or two segments
    # are lost.
    between = np.arange(jumps[0] + 5, jumps[1])
    assert (rate(between, buffer, "d2") > rate(between, buffer, "d1")).all()
    between = np.arange(jumps[1] + 5, jumps[2])
    assert (rate(between, buffer, "d3") > rate(between, buffer, "d2")).all()


def test_an_ack_for_each_wins_again_with_a_large_buffer() -> None:
    sizes = np.array([600, 1000, 2000, 5000, 10_000])
    assert (rate(sizes, 70, "d1") > 1.15 * rate(sizes, 70, "d2")).all()


def test_byte_counting_in_slow_start_alone() -> None:
    def gain(sizes: range, buffer: int) -> np.ndarray:
        return rate(sizes, buffer, "bytes") / rate(sizes, buffer, "d2")

    assert (gain(range(10, 264), 70) > 1).all()
    assert (gain(range(266, 405), 70) < 1).all()
    long = gain(range(600, 5001, 50), 70)
    assert 1.25 <= long.min() <= long.max() <= 1.75
    assert (gain(range(10, 100), 20) > 1).all()
    lost = gain(range(110, 331), 20)
    assert 0.5 < lost.min() < 0.7
    assert (lost < 1).all()
    # From there on both wait for the timer, and differ by a few percent.
    assert gain(range(350, 5001, 50), 20) == pytest.approx(1, abs=0.05)


@pytest.mark.slow
@given(size=st.floats(1, 1e5), **senders)
def test_the_parts_make_the_whole(size: float, **network: float) -> None:
    says = MODEL.answer(size=size, handshake=1, initial_window=1, **network)
    parts = [float(says[name]) for name in ("slow_start_time", "recovery_time", "rest_time")]
    assert min(parts) >= 0
    assert sum(parts) + network["rtt"] == pytest.approx(float(says["time"]))
    assert says["mean_rate"] <= network["rate"] * (1 + 1e-9)
    if size <= says["overflow_segments"]:
        assert says["recovery_time"] == says["rest_time"] == says["timeouts"] == 0


@pytest.mark.slow
@given(rounds=st.integers(0, 9), w1=st.integers(1, 10), rtt=st.floats(0.01, 1))
def test_whole_rounds_of_a_slow_start_are_counted(rounds: int, w1: int, rtt: float) -> None:
    # On a fast enough link only round trips count; with a large enough buffer nothing is lost.
    says = MODEL.answer(
        size=w1 * (2 ** (rounds + 1) - 1),
        rate=1e12,
        rtt=rtt,
        buffer=1e6,
        initial_window=w1,
        handshake=0,
    )
    assert says["time"] == pytest.approx((rounds + 1) * rtt, rel=1e-6)
    assert says["timeouts"] == 0


def avoidance_counted(sender: Sender, left: float, W: float) -> float:
    """Returns the same sum, round by round."""
    time = 0.0
    while left > W * (1 + 1e-9):
        left, time, W = left - W, time + sender.round(W), W + 1 / sender.d_ca
        if sender.B + sender.bdp < W:
            W *= sender.decrease_factor
    return time + sender.last(left)


@settings(max_examples=50, deadline=None)
@given(
    left=st.integers(1, 100_000), window=st.integers(2, 40), pipe=st.integers(3, 60),
    buffer=st.integers(0, 60), d_ca=st.sampled_from([1.0, 2.0, 4.0]),
)  # fmt: skip
def test_congestion_avoidance_is_the_sum_of_its_rounds(
    left: int, window: int, pipe: int, buffer: int, d_ca: float
) -> None:
    # No window is at the edge of the pipe or of the buffer, where rounding would decide.
    sender = Sender(
        100.0, (pipe + 0.3) / 100, buffer + 0.1, 1.0, d_ca, 1.0, math.inf, 0.5, 1.0, RENO
    )
    start = min(window, pipe)
    expected = avoidance_counted(sender, left, start)
    assert short_transfer._congestion_avoidance(sender, left, start) == pytest.approx(
        expected, rel=1e-3
    )


def test_a_long_transfer_goes_at_the_saw_tooths_rate() -> None:
    for buffer in (5, 20, 62, 70):
        long = rate(1e9, buffer, "d1") / 125
        tooth = models.model("sawtooth").answer(rate=125, rtt=0.5, buffer=buffer)["utilisation"]
        assert long == pytest.approx(float(tooth), rel=0.02)


@pytest.mark.slow
@given(recovery=st.sampled_from([RENO, NEWRENO, SACK]), **senders)
def test_a_threshold_at_the_overflow_loses_nothing(recovery: int, **network: float) -> None:
    network |= {"initial_window": 1.0}
    before = MODEL.answer(size=1e4, recovery=recovery, **network)
    says = MODEL.answer(
        size=1e4, recovery=recovery, initial_threshold=before["overflow_window"], **network
    )
    assert (
        says["lost"] == says["recovery_time"] == says["timeouts"] == says["fast_retransmits"] == 0
    )
    assert says["threshold"] == before["overflow_window"]


@pytest.mark.parametrize("buffer", [20, 70])
def test_how_senders_of_today_recover(buffer: int) -> None:
    reno, newreno, sack, cubic = (
        answer(size=5000, buffer=buffer, recovery=recovery, decrease_factor=kept)
        for recovery, kept in ((RENO, 0.5), (NEWRENO, 0.5), (SACK, 0.5), (SACK, 0.7))
    )
    W_D, L = float(reno["detected_window"]), float(reno["lost"])
    assert reno["threshold"] == W_D / (8 if buffer == 20 else 4)
    assert newreno["threshold"] == sack["threshold"] == W_D / 2
    assert cubic["threshold"] == pytest.approx(0.7 * W_D)
    assert reno["timeouts"] == 1
    assert newreno["timeouts"] == sack["timeouts"] == cubic["timeouts"] == 0
    detection = (0.5 + buffer / 125) / 2
    assert newreno["recovery_time"] == pytest.approx(detection + math.ceil(L) * 0.5)
    # A round trip with the queue full, after what came before the loss and three more: simulated,
    # the fast retransmit comes after 3.844 s with 20 places.
    assert sack["recovery_time"] == pytest.approx(0.5 + buffer / 125)
    if buffer == 20:
        before = 103 - 63  # in the last round, after six of 1, 2, ... 32
        assert sack["slow_start_time"] == pytest.approx(6 * 0.5 + 0.5 + (before - 1 + 3) / 125)
    assert sack["time"] < reno["time"]
    # The paper's rule, where recovery does not follow it.
    assert answer(size=5000, buffer=buffer, reductions=3)["threshold"] == W_D / 8


def test_too_few_behind_the_first_hole_need_the_timer() -> None:
    for recovery in (RENO, NEWRENO, SACK):
        two, three = (answer(size=103 + more, buffer=20, recovery=recovery) for more in (2, 3))
        assert (two["timeouts"], two["fast_retransmits"]) == (1, 0)
        assert three["fast_retransmits"] == 1


@pytest.mark.parametrize(
    ("wrong", "code", "field", "value"),
    [
        ({"buffer": -1}, "out-of-range", "buffer", -1),
        ({"segments_per_ack": 0}, "out-of-range", "segments_per_ack", 0),
        ({"reductions": 4}, "out-of-range", "reductions", 4),
        ({"recovery": 3}, "out-of-range", "recovery", 3),
        ({"decrease_factor": 1}, "out-of-range", "decrease_factor", 1),
        (
            {"initial_window": [10, 30]},
            "contradiction",
            "initial_window",
            30,
        ),
    ],
)
def test_what_it_is_not_meant_for_is_refused(
    wrong: dict, code: str, field: str, value: float
) -> None:
    with refused(code, field, value):
        answer(**({"size": 100, "buffer": 20} | wrong))


@pytest.mark.slow
def test_it_can_be_asked_backwards() -> None:
    # The buffer that 300 segments just do not overflow, and the segments sent in ten seconds.
    inputs = {"size": 300.0} | NETWORK
    [buffer] = models.solve(MODEL, "buffer", 300.0, output="overflow_segments", **inputs).values
    assert buffer + 62.5 == pytest.approx((300 + 1) / 2)
    sizes = models.solve(MODEL, "size", 10.0, buffer=20.0, **NETWORK).values
    assert [float(answer(size=size, buffer=20)["time"]) for size in sizes] == pytest.approx(
        [10.0] * len(sizes)
    )


def a_transfer(resolved, **change: object) -> models.FlowPath:
    quiet = {
        "hops.wireless.impairments": [],
        "flows.main.traffic": {"kind": "transfer", "size": "500 kB"},
    }
    [path] = models.flow_paths(resolved(**(quiet | change)))
    return path


def test_what_a_scenario_says_of_a_transfer(resolved) -> None:
    path = a_transfer(resolved, **{"flows.main.transport.initial_ssthresh": "40 packets"})
    verdict = MODEL.applies(path)
    assert (verdict.within is not None, verdict.violated) == (True, ())
    inputs, _ = MODEL.answer_path(path)
    assert (inputs["size"], inputs["initial_threshold"], inputs["initial_window"]) == (500, 40, 10)
    assert (
        inputs["recovery"],
        inputs["decrease_factor"],
        inputs["segments_per_ack"],
        inputs["handshake"],
    ) == (
        SACK,
        0.5,
        1,
        1,
    )
    assert inputs["overflow_timeout"] == max(1, path.full_queue_round_trip_s)
    cubic = a_transfer(resolved, **{"flows.main.transport.control": {"kind": "cubic"}})
    assert MODEL.answer_path(cubic)[0]["decrease_factor"] == 0.7
    assert [name for name, _ in MODEL.applies(cubic).violated] == ["repaired_at_once", "aimd"]


def test_a_slow_start_that_ends_or_slows_down_at_a_known_window(resolved) -> None:
    def answer(**control: object) -> dict[str, float]:
        field = "flows.main.transport.control"
        path = a_transfer(resolved, **{field: {"kind": "reno"} | control})
        assert "slow_start_to_threshold" not in [name for name, _ in MODEL.applies(path).violated]
        return MODEL.answer_path(path)[0]

    plain = answer()
    assert (plain["initial_threshold"], plain["change_window"]) == (inf, inf)
    slower = answer(slow_start_change=24, slow_start_divisor=3)
    assert (slower["change_window"], slower["later_segments_per_ack"]) == (24, 3)
    assert slower["initial_threshold"] == inf
    # Hoe's threshold is the product of the rate and the round-trip time without a queue.
    hoe = answer(slow_start_exit="hoe")
    assert hoe["initial_threshold"] == pytest.approx(hoe["rate"] * hoe["rtt"], rel=1e-12)
    assert hoe["change_window"] == inf


def test_no_product_is_known_if_acks_are_far_apart(resolved) -> None:
    """Three ACKs of two segments each span more than half of a round trip of seven segments."""
    path = a_transfer(
        resolved,
        **{"flows.main.transport.control": {"kind": "reno", "slow_start_exit": "hoe"}},
    )
    short = replace(
        path,
        bottleneck=replace(path.bottleneck, segments_per_s=7 / path.round_trip.base_s),
        sender=replace(path.sender, segments_acked=2.0),
    )
    assert MODEL.answer_path(short)[0]["initial_threshold"] == inf
    nearer = replace(short, sender=replace(path.sender, segments_acked=1.0))
    assert MODEL.answer_path(nearer)[0]["initial_threshold"] == pytest.approx(7)


def test_a_repair_by_the_timer_is_named(resolved) -> None:
    path = a_transfer(
        resolved,
        **{
            "flows.main.transport.recovery": "reno",
            "hops.wireless.queue": {"kind": "droptail", "limit": "12 packets"},
        },
    )
    assert MODEL.answer_path(path)[1]["timeouts"] == 1
    [(name, why)] = MODEL.applies(path).violated
    assert (name, why.split(",")[0]) == ("repaired_at_once", "the repair waits for a timer")


def test_the_timeout_is_that_of_a_full_queue(resolved) -> None:
    linux = {
        "flows.main.transport.rto_floor": "variance",
        "flows.main.transport.rto_minimum": "200 ms",
    }
    path = a_transfer(resolved, **linux)
    assert MODEL.answer_path(path)[0]["overflow_timeout"] == pytest.approx(
        path.full_queue_round_trip_s + 0.2
    )
    assert path.full_queue_round_trip_s > path.round_trip.base_s + 0.01


@pytest.mark.parametrize(
    ("change", "violated"),
    [
        ({"flows.main.count": 3}, "alone: 3 flows share the link"),
        (
            {"flows.main.transport.control": {"kind": "reno", "slow_start_exit": "hystart++"}},
            "slow_start_to_threshold: the control ends it earlier or slows it down",
        ),
        (
            {"flows.main.transport.receive_window": "20 packets"},
            "no_window_limit: the receive window is 20 segments",
        ),
        (
            {"flows.main.transport.initial_window": "1 packet"},
            "no_delayed_ack_timer: the ACK of the first segment waits for it",
        ),
        (
            {"hops.wireless.impairments": [{"kind": "iid_loss", "probability": "1 %"}]},
            "no_random_loss: there is random loss too",
        ),
    ],
)
def test_what_a_flow_violates_is_named(resolved, change: dict, violated: str) -> None:
    verdict = MODEL.applies(a_transfer(resolved, **change))
    assert verdict.words == "applies with violated assumptions"
    assert violated in verdict.note


@pytest.mark.parametrize(
    ("change", "why_not"),
    [
        ({"flows.main.traffic": {"kind": "bulk"}}, "not a transfer of a given size"),
        ({"flows.main.transport.recovery": "timeout_only"}, "loss recovery is timeout_only"),
        ({"flows.main.transport.control": {"kind": "westwood_plus"}},
         "westwood_plus is neither AIMD nor CUBIC"),
        (
            {"hops.wireless.queue": {"kind": "droptail", "limit": "unlimited"}},
            "the bottleneck has no drop-tail queue with a limit",
        ),
        ({"flows.main.transport.delayed_ack.every": "200 packets",
          "flows.main.transport.byte_counting": "per_ack"}, "segments_per_ack: 200 "),
        ({"hops.wireless.queue": {"kind": "droptail", "limit": "5 packets"}},
         "initial_window: 10 segments overflow a buffer of 5 segments before any ACK"),
    ],
)  # fmt: skip
def test_where_it_has_no_answer(resolved, change: dict, why_not: str) -> None:
    quiet = {
        "hops.wireless.impairments": [],
        "flows.main.traffic": {"kind": "transfer", "size": "500 kB"},
    }
    answers = models.predictions([resolved(**(quiet | change))], [MODEL])
    assert answers["verdict"] == ["does not apply"]
    assert answers["note"][0].startswith(why_not)
