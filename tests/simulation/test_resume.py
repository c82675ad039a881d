"""Careful Resume (RFC 9959) in whole runs: times, phases, what instances leave to later ones."""

from typing import Any

import pytest

from ackclock import Scenario, predict, simulate
from ackclock.result.result import Result

SCENARIO = """
schema = 1
name = "resume"
duration = "{duration}"
replicates = 1

[[hops]]
name = "sat"
link = {{ kind = "constant", rate = "{rate}" }}
queue = {{ kind = "droptail", limit = "{limit}" }}
delay = "300 ms"

[[hops]]
name = "back"
link = {{ kind = "constant", rate = "50 Mbit/s" }}
queue = {{ kind = "droptail", limit = "10000 packets" }}
delay = "300 ms"

[[flows]]
name = "main"
route = ["sat"]
return = ["back"]
control_states = true
transport = {{ kind = "tcp", control = {{ kind = "{control}" }}, preset = "{preset}", \
mss = "1448 bytes", header = "52 bytes", handshake = false{more} }}
traffic = {{ kind = "transfer", size = "{size}" }}
{arrivals}
"""

#: 2500 packets of 1448 bytes.
SAVED = ', resume = { cwnd = "3.62 MB", rtt = "600 ms" }'


def run(more: str, **changes: str) -> Result:
    values = {
        "duration": "60 s",
        "rate": "50 Mbit/s",
        "limit": "10000 packets",
        "control": "reno",
        "preset": "rfc",
        "size": "4.83 MB",
        "arrivals": "",
        **changes,
    }
    return simulate(Scenario.from_toml(SCENARIO.format(more=more, **values)))


def completed(result: Result) -> list[float]:
    rows = result.tables["flows"].to_pylist()
    return [row["completion_time_s"] for row in rows]


def phases(result: Result, instance: int = 0) -> list[str]:
    rows = result.tables["control_states"].to_pylist()
    names = [row["phase"] for row in rows if row["instance"] == instance]
    return [name for name, before in zip(names, [None, *names], strict=False) if name != before]


def states(result: Result) -> list[dict[str, Any]]:
    return result.tables["control_states"].to_pylist()


@pytest.mark.parametrize("preset", ["rfc", "linux"])
@pytest.mark.parametrize("control", ["reno", "cubic", "cuback"])
def test_a_transfer_over_a_satellite_takes_2_s_instead_of_5(control: str, preset: str) -> None:
    # 3334 packets over 50 Mbit/s and 600 ms: 5.3 s, and 2.0 s if it begins with 1250 packets. The
    # band of 10 % was set with them, from rounds of an ACK for each packet.
    more = ', delayed_ack = { every = "1 packet" }'
    plain = run(more, control=control, preset=preset)
    resumed = run(more + SAVED, control=control, preset=preset)
    print(control, preset, completed(plain), completed(resumed), phases(resumed))
    assert completed(plain)[0] == pytest.approx(5.3, rel=0.1)
    assert completed(resumed)[0] == pytest.approx(2.0, rel=0.1)
    assert phases(resumed) == ["reconnaissance", "unvalidated", "validating", "normal"]


def test_a_jump_into_a_small_queue_retreats() -> None:
    # 10 Mbit/s and a buffer of 50 packets hold 550 packets in a round trip, half of 2500 is 1250.
    more = ', delayed_ack = { every = "1 packet" }'
    resumed = run(more + SAVED, rate="10 Mbit/s", limit="50 packets", preset="rfc-modern")
    assert phases(resumed) == [
        "reconnaissance",
        "unvalidated",
        "validating",
        "safe_retreat",
        "normal",
    ]
    retreat = [row for row in states(resumed) if row["phase"] == "safe_retreat"]
    windows = {row["cwnd_bytes"] for row in retreat}
    assert len(windows) == 1, "the window holds, without a proportional reduction"
    after = next(row for row in states(resumed) if row["time_s"] > retreat[-1]["time_s"])
    # What arrived of the jump, 549 packets with those before it; half of it, one more in the end.
    (window,) = windows
    assert window < 0.5 * 1250 * 1448
    assert after["ssthresh_bytes"] < 0.5 * 1300 * 1448


def test_instances_resume_what_earlier_ones_leave() -> None:
    more = ', delayed_ack = { every = "1 packet" }, resume = { from = "earlier_flow" }'
    arrivals = 'arrivals = { kind = "fixed", mean_interval = "20 s" }'
    result = run(more, arrivals=arrivals)
    first, second, third = completed(result)[:3]
    assert first == pytest.approx(5.3, rel=0.1)
    assert second < 0.6 * first
    assert third < 0.6 * first
    assert phases(result, 0) == ["normal"]
    assert phases(result, 1)[:2] == ["reconnaissance", "unvalidated"]


def test_one_instance_at_a_time_uses_what_was_saved() -> None:
    # The third begins while the second still runs, and has nothing.
    more = ', delayed_ack = { every = "1 packet" }, resume = { from = "earlier_flow" }'
    arrivals = 'arrivals = { kind = "fixed", mean_interval = "5500 ms" }'
    result = run(more, arrivals=arrivals, size="9.66 MB", rate="10 Mbit/s", duration="40 s")
    assert phases(result, 0) == phases(result, 1) == ["normal"]
    assert phases(result, 3)[0] == "reconnaissance"
    assert sum(phases(result, number)[0] == "reconnaissance" for number in range(7)) >= 2


def test_an_old_set_is_not_used() -> None:
    more = ', resume = { from = "earlier_flow", lifetime = "10 s" }'
    arrivals = 'arrivals = { kind = "fixed", mean_interval = "20 s" }'
    result = run(more, arrivals=arrivals)
    assert phases(result, 1) == ["reconnaissance", "normal"]


def test_models_decline_a_transfer_that_may_resume() -> None:
    values = {"duration": "60 s", "rate": "50 Mbit/s", "limit": "100 packets", "control": "reno"}
    values |= {"preset": "rfc", "size": "1 MB", "arrivals": ""}
    for more, declines in (("", False), (SAVED, True)):
        result = predict(Scenario.from_toml(SCENARIO.format(more=more, **values)))
        rows = result.tables["predictions"].to_pylist()
        reasons = [str(row) for row in rows]
        assert all("earlier connection" in reason for reason in reasons) == declines
