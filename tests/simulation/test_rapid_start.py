"""Rapid Start and SEARCH's drain in whole runs."""

from typing import Any

import pytest

from ackclock import Scenario, simulate
from ackclock.result.result import Result

SCENARIO = """
schema = 1
name = "starts"
duration = "{duration}"
replicates = 1

[[hops]]
name = "line"
link = {{ kind = "constant", rate = "40 Mbit/s" }}
queue = {{ kind = "droptail", limit = "{limit}" }}
delay = "50 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "40 Mbit/s" }}
queue = {{ kind = "droptail", limit = "5000 packets" }}
delay = "50 ms"

[[flows]]
name = "main"
route = ["line"]
return = ["back"]
control_states = true
traffic = {{ kind = "bulk" }}

[flows.transport]
kind = "tcp"
preset = "rfc-modern"
initial_window = "{window}"
delayed_ack = {{ every = "1 packet" }}
control = {{ kind = "cubic"{more} }}
"""


def run(more: str, limit: str = "330 packets", window: str = "10 packets") -> Result:
    values = {"more": more, "limit": limit, "window": window, "duration": "5 s"}
    return simulate(Scenario.from_toml(SCENARIO.format(**values)))


def states(result: Result) -> list[dict[str, Any]]:
    return result.tables["control_states"].to_pylist()


def modes(result: Result) -> list[str]:
    return list(dict.fromkeys(row["mode"] for row in states(result)))


def test_a_rapid_start_fills_the_path_sooner_and_converges_to_it() -> None:
    plain, rapid = run(""), run(", rapid_start = {}", window="20 packets")
    assert modes(rapid)[:2] == ["rapid_start", "rapid_recovery"]

    def filled(result: Result) -> float:
        window = 330 * 1448
        return next(row["time_s"] for row in states(result) if row["cwnd_bytes"] >= window)

    # Unpaced windows would be 10, 20, …, 320: five round trips and a part of the sixth. The paced
    # one grows by w' = 2 w(t - 1): by e^0.853 = 2.35 in a round trip, from 20 to 330 in 3.3.
    assert filled(plain) == pytest.approx(0.1 + 0.6, abs=0.03)
    assert filled(rapid) == pytest.approx(0.1 + 0.1 + 0.33, abs=0.05)
    recovery = [row for row in states(rapid) if row["mode"] == "rapid_recovery"]
    # Path and buffer hold 660 packets; what arrives of a window is about that, and 0.7 is left.
    assert recovery[-1]["cwnd_bytes"] / 1448 == pytest.approx(0.7 * 660, rel=0.15)
    windows = [row["cwnd_bytes"] for row in recovery]
    assert windows == sorted(windows, reverse=True)
    rate = rapid.tables["flows"].to_pylist()[0]["goodput_bit_per_s"]
    assert rate > plain.tables["flows"].to_pylist()[0]["goodput_bit_per_s"]


def test_a_drain_empties_the_queue_that_search_leaves() -> None:
    kept, drained = (
        run(f', slow_start_exit = "{name}"', limit="2600 packets")
        for name in ("search", "search-drain")
    )
    assert "drain" in modes(drained)
    assert "drain" not in modes(kept)
    ends = {}
    for name, result in (("kept", kept), ("drained", drained)):
        rows = [row for row in states(result) if row["ssthresh_bytes"] is not None]
        ends[name] = rows[0]["cwnd_bytes"] / 1448
    # SEARCH ends with 5.3 to 5.7 products of 333 packets. Of these a round trip of 100 ms, which
    # its three bins are, delivers one.
    assert ends["kept"] > 4.5 * 333
    assert ends["drained"] == pytest.approx(333, rel=0.15)
