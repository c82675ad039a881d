"""The table of a congestion control's states, after every ACK and every change."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock import Result, simulate

from .paths import flow, path, scenario, tcp
from .rows import column

PATH = path("10 Mbit/s", "20 ms", "17 packets")


def run(control: str, **fields: bool) -> Result:
    return simulate(scenario(PATH, [flow(tcp(control, "linux"), **fields)], "12 s"))


@pytest.fixture(scope="module")
def ran() -> Result:
    return run("bbr3", control_states=True)


def test_it_is_written_on_request_only() -> None:
    result = run("bbr3")
    assert "control_states" not in result.tables
    (described,) = result.points[0]["scenario"]["flows"]
    assert "control_states" not in described


def test_a_row_for_each_ack_in_order(ran: Result) -> None:
    times, events = column(ran, "control_states", "time_s"), column(ran, "control_states", "event")
    assert (np.diff(times) >= 0).all()
    delivered = column(ran, "control_states", "delivered_bytes")[events == "ack"]
    assert (np.diff(delivered) >= 0).all()
    assert len(delivered) > 3000
    assert {"open", "ack", "loss", "recovery_end"} <= set(events)


def test_the_model_is_within_its_bounds(ran: Result) -> None:
    states = {
        name: column(ran, "control_states", name)
        for name in ("bw_bit_per_s", "max_bw_bit_per_s", "bw_shortterm_bit_per_s")
    }
    most = np.fmin(states["max_bw_bit_per_s"], states["bw_shortterm_bit_per_s"])
    acks = column(ran, "control_states", "event") == "ack"
    assert states["bw_bit_per_s"][acks] == pytest.approx(most[acks], abs=1)
    gains = column(ran, "control_states", "pacing_gain")
    assert set(gains) <= {2.77, 0.5, 0.9, 1.0, 1.25}


def test_rate_limited_increase_shows_the_most_in_flight() -> None:
    # 3 segments in each round trip: maxFS stays the initial window of ten.
    traffic = {"kind": "cbr", "rate": "2.4 Mbit/s", "packet_size": "3000 bytes"}
    transport = tcp("reno", "rfc", window_validation="rate_limited_increase")
    result = simulate(
        scenario(PATH, [flow(transport, traffic=traffic, control_states=True)], "5 s")
    )
    most = column(result, "control_states", "max_fs_bytes")
    stated = most[~np.isnan(most)]
    assert len(stated) > 100
    assert stated.min() >= 10_000
    windows = column(result, "control_states", "cwnd_bytes")[~np.isnan(most)]
    assert (windows <= 2 * stated).all()
    plain = run("reno", control_states=True)
    assert np.isnan(column(plain, "control_states", "max_fs_bytes")).all()
