"""A trace of rows: states in the words of a suite, bounds, variables that follow from others."""

import numpy as np
import pytest

from ackclock.evaluation import PathValues
from ackclock.evaluation.trace import DERIVED, VARIABLES, of_rows, of_samples

PATH = PathValues(((0.0, 10e6),), 0.04, 1000, {"start": 0.0, "end": 1.0})
NAN = float("nan")
COLUMNS = [
    "ssthresh_bytes",
    "cwnd_bytes",
    "in_flight_bytes",
    "delivered_bytes",
    "newly_lost_bytes",
    "rtt_s",
    "pacing_rate_bit_per_s",
    "sample_bit_per_s",
    "sample_app_limited",
    "max_bw_bit_per_s",
    "bw_bit_per_s",
    "bw_shortterm_bit_per_s",
    "inflight_longterm_bytes",
    "inflight_shortterm_bytes",
    "min_rtt_s",
    "extra_acked_bytes",
    "pacing_gain",
    "cwnd_gain",
    "round_count",
    "full_bw_count",
    "full_bw_now",
    "full_bw_reached",
    "idle_restart",
]


def rows(**columns: list) -> dict:
    """Returns three rows; a column that is not given is unknown."""
    return {
        "time_s": [0.0, 0.1, 0.2],
        "event": ["ack", "lost", "ack"],
        "mode": ["startup", "startup", "probe_bw"],
        "phase": ["init", "init", "1"],
        **{name: [NAN] * 3 for name in COLUMNS},
        **columns,
    }


def trace(**columns: list):
    states = {"startup": "STARTUP", "probe_bw": "CRUISE", "probe_bw 1": "DOWN"}
    return of_rows(rows(**columns), states, ["inflight_longterm"], PATH)


def test_states_have_the_names_of_the_suite() -> None:
    run = trace()
    assert run.known_states == ["STARTUP", "DOWN"]
    assert [(visit.state, visit.start, visit.end) for visit in run.visits] == [
        ("STARTUP", 0, 2), ("DOWN", 2, 3),
    ]  # fmt: skip


def test_a_bound_that_is_not_there_is_infinite_and_another_variable_absent() -> None:
    run = trace()
    assert np.isinf(run.values("inflight_longterm")).all()
    assert run.values("bw_shortterm") is None
    assert run.values("inflight_1") is None


def test_what_a_row_does_not_know_is_what_was_known() -> None:
    run = trace(in_flight_bytes=[100.0, NAN, 300.0], sample_bit_per_s=[1.0, NAN, 2.0])
    assert run.values("in_flight").tolist() == [100, 100, 300]
    assert np.isnan(run.values("sample")[1]), "a sample is of one ACK"


def test_losses_add_up() -> None:
    assert trace(newly_lost_bytes=[0.0, NAN, 500.0]).values("lost").tolist() == [0, 0, 500]


def test_inflight_1_is_the_draft_s() -> None:
    # 8 Mbit/s and 40 ms are 40 kB; the quantum of 1 ms is 1 kB, raised to two segments.
    model = {"bw_bit_per_s": [8e6] * 3, "min_rtt_s": [0.04] * 3}
    assert trace(**model, pacing_rate_bit_per_s=[8e6] * 3).values("inflight_1")[0] == 40_000
    # At 40 bytes, three quanta of two segments are more than four segments.
    tiny = {"bw_bit_per_s": [64e3] * 3, "min_rtt_s": [0.005] * 3}
    assert trace(**tiny, pacing_rate_bit_per_s=[64e3] * 3).values("inflight_1")[0] == 6_000
    assert trace(**tiny).values("bdp")[0] == pytest.approx(40)


def test_every_variable_is_described() -> None:
    for unit, meaning in (*VARIABLES.values(), *DERIVED.values()):
        assert unit in ("", "s", "bit/s", "bytes")
        assert meaning.endswith(".")


def test_samples_make_a_trace_without_states() -> None:
    samples = {
        "time_s": [0.0, 0.1, 0.2, 0.3],
        "cwnd_bytes": [14720.0, 20000.0, np.nan, 10000.0],
        "in_flight_bytes": [np.nan] * 4,
        "delivered_bytes": [0.0, 5000.0, 12000.0, 20000.0],
        "smoothed_rtt_s": [np.nan, 0.04, 0.05, 0.05],
        "allowed_rate_bit_per_s": [np.nan] * 4,
    }
    events = {"time_s": [0.25, 0.9], "kind": ["reduction", "timeout"]}
    made = of_samples(samples, events, PATH)
    assert set(made.variables) == {"cwnd", "delivered", "rtt"}
    assert made.values("cwnd").tolist() == [14720.0, 20000.0, 20000.0, 10000.0]
    assert made.events.tolist() == ["sample", "sample", "sample", "loss"]
    assert made.known_states == [""]
