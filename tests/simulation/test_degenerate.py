"""Scenarios at and beyond the limits: each ends soon with a clear result or one clear line.

The engine runs in another process, so a run that hangs, dies or uses up the memory is one failed
test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ackclock import Result

from ..refusals import refused
from . import laws
from .engine import Engine
from .paths import RECOVERIES, Tree, flow, hop, loss, path, scenario, tcp, udp
from .rows import at_end, column, value_of

CENTURY = "3155760000 s"
DROP_TAIL = {"kind": "droptail"}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def run(
    engine: Engine, hops: list[Tree], flows: list[Tree], duration: str, **more: object
) -> Result:
    """Returns a result for which all general laws hold."""
    more.setdefault("sample_interval", duration)
    result = engine.simulate(scenario(hops, flows, duration, **more))
    laws.check(result)
    assert not result.partial
    return result


def simple(limit: str | Tree = "50 packets", *losses: Tree) -> list[Tree]:
    return path("10 Mbit/s", "10 ms", limit, *losses)


def delivered(result: Result, **equal: object) -> float:
    return column(result, "flows", "delivered_bytes", **equal).sum()


def transfer(size: str) -> Tree:
    return {"kind": "transfer", "size": size}


# Nothing fits.


@pytest.mark.parametrize("limit", ["0 packets", "0 bytes"])
def test_no_buffer_that_counts_the_packet_in_service_passes_nothing(
    engine: Engine, limit: str
) -> None:
    queue = DROP_TAIL | {"limit": limit, "counts_packet_in_service": True}
    result = run(engine, simple(queue), [flow(tcp())], "100 s")
    assert delivered(result) == 0
    assert at_end(result, "arrivals") == at_end(result, "drops_queue") > 0
    assert value_of(result, "flows", "goodput_bit_per_s") == 0
    assert np.isnan(value_of(result, "flows", "rtt_mean_s"))


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_no_buffer_passes_one_packet_at_a_time(engine: Engine, recovery: str) -> None:
    result = run(engine, simple("0 packets"), [flow(tcp(recovery=recovery))], "100 s")
    assert delivered(result) > 0
    assert at_end(result, "backlog_packets") == 0


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["rfc", "linux", "ns2-2002"])
@pytest.mark.parametrize("applies", ["data", "acks", "all"])
@pytest.mark.parametrize("side", ["before_queue", "after_link"])
def test_everything_lost(engine: Engine, side: str, applies: str, preset: str) -> None:
    hops = simple("50 packets", loss("100 %", side=side, applies=applies))
    hops[1]["impairments"] = hops[0]["impairments"]
    result = run(engine, hops, [flow(tcp(preset=preset))], "1000 s")
    handshake = preset != "ns2-2002"
    # Without ACKs only the first segment arrives, and the sender does not know.
    assert delivered(result) == (1000 if applies == "acks" and not handshake else 0)
    assert value_of(result, "flows", "timeouts") > 8
    used = side == "after_link" or applies == "acks"
    assert (at_end(result, "served_bytes") > 0) == used


def test_a_channel_that_stays_bad(engine: Engine) -> None:
    stuck = {"kind": "gilbert_elliott", "good_to_bad": "100 %", "bad_to_good": "0 %"}
    assert delivered(run(engine, simple("50 packets", stuck), [flow(tcp())], "100 s")) == 0


@pytest.mark.parametrize("limit", ["50 packets", "10 ms", "unlimited"])
def test_a_link_down_for_ever(engine: Engine, limit: str) -> None:
    flows = [flow(tcp()), flow(udp(), "cross", traffic={"kind": "cbr", "rate": "1 Mbit/s"})]
    result = run(engine, path("0 bit/s", "10 ms", limit), flows, "100 s")
    assert delivered(result) == 0
    assert at_end(result, "departures") == 0
    assert at_end(result, "served_bytes") == 0
    assert at_end(result, "busy_s") == 0


def test_a_way_back_that_is_down(engine: Engine) -> None:
    hops = [hop("out", "10 Mbit/s", "10 ms"), hop("back", "0 bit/s", "10 ms")]
    result = run(engine, hops, [flow(tcp(handshake=False))], "100 s")
    assert delivered(result) == 10_000  # the initial window


@pytest.mark.parametrize("rates", [["10 Mbit/s", "0 bit/s"], ["0 bit/s", "0 bit/s"]])
def test_outages_of_a_markov_link(engine: Engine, rates: list[str]) -> None:
    link = {"kind": "markov", "rates": rates, "mean_sojourn": "1 s"}
    result = run(engine, path(link, "10 ms", "50 packets"), [flow(tcp())], "100 s")
    assert (delivered(result) > 0) == ("10 Mbit/s" in rates)


def test_a_markov_link_that_never_comes_back(engine: Engine) -> None:
    link = {
        "kind": "markov",
        "rates": ["10 Mbit/s", "0 bit/s"],
        "transition_matrix": [["99 %", "1 %"], ["0 %", "100 %"]],
    }
    link |= {"step": "100 ms", "initial": 0}
    result = run(
        engine, path(link, "10 ms", "50 packets"), [flow(tcp())], "1000 s", sample_interval="1 s"
    )
    served = column(result, "hops", "served_bytes", hop="out")
    assert 0 < served[-1] == served[-100]


# Very fast, very slow, very small, very large.


def test_no_delay_and_a_huge_rate(engine: Engine) -> None:
    hops = [hop("out", "400 Gbit/s", "0 s", "100 packets"), hop("back", "400 Gbit/s", "0 s")]
    result = run(engine, hops, [flow(tcp())], "5 ms")
    assert value_of(result, "flows", "goodput_bit_per_s") == pytest.approx(
        400e9 * 1000 / 1040, rel=0.01
    )


def test_the_highest_rate_is_carried_in_fractions_of_a_nanosecond(engine: Engine) -> None:
    # A packet of 1040 bytes takes 832 ps, an ACK 32 ps: several leave in one nanosecond, but not
    # more than the rate allows.
    hops = [hop("out", "10 Tbit/s", "0 s", "100 packets"), hop("back", "10 Tbit/s", "0 s")]
    result = run(engine, hops, [flow(tcp())], "100 us")
    assert value_of(result, "flows", "goodput_bit_per_s") == pytest.approx(
        10e12 * 1000 / 1040, rel=0.01
    )
    with refused("out-of-range", "hops.out.link.rate", "10 Tbit/s"):
        run(engine, [hop("out", "11 Tbit/s", "0 s"), hops[1]], [flow(tcp())], "100 us")


@pytest.mark.parametrize("side", ["before_queue", "after_link"])
def test_a_packet_that_takes_no_time_at_the_first_moment(engine: Engine, side: str) -> None:
    # A SYN of 40 bytes at 400 Gbit/s: less than a nanosecond.
    hops = [
        hop("out", "400 Gbit/s", "0 s", impairments=[loss("0 %", side=side)]),
        hop("back", "1 Mbit/s", "0 s"),
    ]
    assert delivered(run(engine, hops, [flow(tcp())], "1 s")) > 1e6


def test_no_delay_no_header_and_one_byte(engine: Engine) -> None:
    hops = [hop("out", "400 Gbit/s", "0 s", "100 packets"), hop("back", "400 Gbit/s", "0 s")]
    result = run(engine, hops, [flow(tcp(mss="1 byte", header="0 bytes"))], "20 us")
    assert delivered(result) > 0


@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("mss", [1, 65_000])
def test_tiny_and_huge_segments(engine: Engine, mss: int, recovery: str) -> None:
    transport = tcp(mss=f"{mss} bytes", recovery=recovery)
    result = run(engine, simple("50 packets", loss("1 %")), [flow(transport)], "20 s")
    assert delivered(result) > 100 * mss
    assert delivered(result) % mss == 0


def test_a_segment_that_no_packet_holds(engine: Engine) -> None:
    with refused("out-of-range", "flows.main.transport.mss", 65535):
        run(engine, simple(), [flow(tcp(mss="65496 bytes"))], "1 s")


def test_ten_gigabits_and_a_second(engine: Engine) -> None:
    hops = [hop("out", "10 Gbit/s", "1 s", "1000 packets"), hop("back", "10 Gbit/s", "1 s")]
    result = run(engine, hops, [flow(tcp("cubic"))], "30 s")
    # Only the SYN's timer is shorter than the path, so slow start continues undisturbed.
    assert value_of(result, "flows", "timeouts") == 1
    assert value_of(result, "flows", "rtt_min_s") >= 2


def test_a_kilobit_a_second(engine: Engine) -> None:
    result = run(engine, path("1 kbit/s", "10 ms", "5 packets"), [flow(tcp())], "1000 s")
    assert 0.5 < value_of(result, "flows", "goodput_bit_per_s") / 1000 < 1


def test_an_hour_of_delay(engine: Engine) -> None:
    result = run(
        engine, path("10 Mbit/s", "1 h"), [flow(tcp(), traffic=transfer("10 kB"))], "1000 h"
    )
    assert delivered(result) == 10_000
    assert value_of(result, "flows", "completion_time_s") > 3 * 3600


@pytest.mark.parametrize("window", ["100 packets", "100000 packets"])
def test_an_initial_window_larger_than_the_queue(engine: Engine, window: str) -> None:
    result = run(engine, simple("5 packets"), [flow(tcp(initial_window=window))], "10 s")
    assert delivered(result) > 0


def test_an_initial_window_larger_than_memory(engine: Engine) -> None:
    with refused("out-of-range", "flows.main.transport.initial_window"):
        run(engine, simple(), [flow(tcp(initial_window="4000000000 packets"))], "1 s")


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_receive_window_of_one_segment(engine: Engine, recovery: str) -> None:
    transport = tcp(receive_window="1 packet", recovery=recovery, delayed_ack={"every": "1 packet"})
    result = run(engine, simple(), [flow(transport)], "10 s")
    # One segment per round trip of 20 ms and the service of a segment.
    assert value_of(result, "flows", "sent_packets") == pytest.approx(9.98 / 0.020832, abs=2)


# Time.


def test_a_century_with_a_transfer_at_its_end(engine: Engine) -> None:
    flows = [flow(tcp(), start="3155759900 s", traffic=transfer("10 kB"))]
    late = run(engine, simple(), flows, CENTURY)
    early = run(engine, simple(), [flow(tcp(), traffic=transfer("10 kB"))], "100 s")
    assert delivered(late) == 10_000
    assert value_of(late, "flows", "completion_time_s") == value_of(
        early, "flows", "completion_time_s"
    )


def test_a_century_of_a_link_that_changes_each_millisecond(engine: Engine) -> None:
    link = {"kind": "markov", "rates": ["10 Mbit/s", "1 Mbit/s"], "mean_sojourn": "1 ms"}
    flows = [flow(tcp(), start="3155759900 s", traffic=transfer("10 kB"))]
    result = run(engine, path(link, "10 ms"), flows, CENTURY)
    assert delivered(result) == 10_000
    assert np.isnan(at_end(result, "capacity_bytes")), "nobody has counted for a century"


def test_a_century_after_a_transfer(engine: Engine) -> None:
    assert (
        delivered(run(engine, simple(), [flow(tcp(), traffic=transfer("10 kB"))], CENTURY))
        == 10_000
    )


def test_a_nanosecond(engine: Engine) -> None:
    result = run(engine, simple(), [flow(tcp())], "1 ns")
    assert delivered(result) == 0
    assert value_of(result, "flows", "goodput_bit_per_s") == 0


def test_samples_farther_apart_than_the_run_is_long(engine: Engine) -> None:
    result = run(engine, simple(), [flow(tcp())], "10 s", sample_interval="100 s")
    assert column(result, "samples", "time_s").tolist() == [0, 10]
    assert delivered(result) > 1e6


def test_the_smallest_timeout_is_the_largest(engine: Engine) -> None:
    transport = tcp(rto_minimum="1 s", rto_maximum="1 s")
    result = run(
        engine, simple("5 packets", loss("30 %")), [flow(transport)], "100 s", sample_interval="1 s"
    )
    assert set(column(result, "samples", "rto_s")) == {1.0}
    assert value_of(result, "flows", "timeouts") > 10
    assert delivered(result) > 0


# Missing flows.


def test_no_flows(engine: Engine) -> None:
    result = run(engine, simple(), [], "10 s")
    assert result.tables["flows"].num_rows == 0
    assert at_end(result, "arrivals") == 0


def test_nothing_at_all(engine: Engine) -> None:
    result = run(engine, [], [], "10 s")
    assert all(table.num_rows == 0 for table in result.tables.values())


def test_a_flow_without_hops(engine: Engine) -> None:
    with refused("unknown-name", "flows.main.route.0", "out"):
        run(engine, [], [flow(tcp())], "10 s")


@pytest.mark.parametrize("start", ["10 s", "20 s"])
def test_a_flow_that_starts_at_the_end_or_after(engine: Engine, start: str) -> None:
    result = run(engine, simple(), [flow(tcp(), start=start)], "10 s")
    assert value_of(result, "flows", "measured_s") == 0
    assert np.isnan(value_of(result, "flows", "goodput_bit_per_s"))


@pytest.mark.parametrize("stop", ["4 s", "5 s"])
def test_a_flow_that_stops_before_it_starts(engine: Engine, stop: str) -> None:
    with refused("contradiction", "flows.main.stop"):
        run(engine, simple(), [flow(tcp(), start="5 s", stop=stop)], "10 s")


def test_a_transfer_that_is_stopped(engine: Engine) -> None:
    result = run(engine, simple(), [flow(tcp(), traffic=transfer("1 GB"), stop="1 s")], "10 s")
    assert value_of(result, "flows", "end_s") == 1
    assert np.isnan(value_of(result, "flows", "completion_time_s"))
    assert 0 < delivered(result) < 10e6 / 8 * 1.1


def test_a_thousand_flows_in_one_nanosecond(engine: Engine) -> None:
    result = run(engine, simple(), [flow(tcp(), count=1000)], "60 s", sample_interval="10 s")
    assert result.tables["flows"].num_rows == 1000
    assert at_end(result, "busy_s") > 50
    # The SYNs that find the queue full are all retransmitted at the same time.
    assert (column(result, "flows", "delivered_bytes") > 0).sum() > 50


# Routes.


def test_a_route_through_the_same_hop_twice(engine: Engine) -> None:
    result = run(engine, simple(), [flow(tcp(), route=["out", "out"])], "10 s")
    # Every packet takes the link twice.
    assert 2e6 < value_of(result, "flows", "throughput_bit_per_s") < 5e6


def test_the_same_hop_there_and_back(engine: Engine) -> None:
    result = run(
        engine,
        [hop("out", "10 Mbit/s", "10 ms", "50 packets")],
        [flow(tcp()) | {"return": ["out"]}],
        "10 s",
    )
    assert value_of(result, "flows", "goodput_bit_per_s") > 2e6


def test_the_same_hop_at_once_and_for_ever(engine: Engine) -> None:
    hops = [hop("out", "400 Gbit/s", "0 s", "50 packets")]
    result = run(
        engine, hops, [flow(tcp(), route=["out"] * 254) | {"return": ["out"] * 254}], "100 us"
    )
    assert at_end(result, "arrivals") > 254


# Reordered or duplicated packets.


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_jitter_larger_than_the_delay(engine: Engine, recovery: str) -> None:
    jitter = {
        "kind": "jitter",
        "distribution": {"kind": "uniform", "maximum": "100 ms"},
        "reordering": "allowed",
    }
    result = run(engine, simple("50 packets", jitter), [flow(tcp(recovery=recovery))], "20 s")
    # Reordering looks like loss and causes retransmissions, but nothing is lost.
    assert delivered(result) > 100_000
    assert value_of(result, "flows", "retransmitted_packets") > 0
    assert at_end(result, "drops_queue") == at_end(result, "drops_impairment") == 0


@pytest.mark.parametrize("side", ["before_queue", "after_link"])
@pytest.mark.parametrize("recovery", RECOVERIES)
def test_everything_twice(engine: Engine, recovery: str, side: str) -> None:
    double = {"kind": "duplicate", "probability": "100 %", "applies": "all", "side": side}
    hops = simple("50 packets", double)
    hops[1]["impairments"] = [double]
    result = run(engine, hops, [flow(tcp(recovery=recovery), traffic=transfer("500 kB"))], "1000 s")
    assert delivered(result) == 500_000


@pytest.mark.slow
def test_everything_256_times(engine: Engine) -> None:
    hops = simple("50 packets", *[{"kind": "duplicate", "probability": "100 %"}] * 8)
    assert (
        delivered(run(engine, hops, [flow(tcp(), traffic=transfer("100 kB"))], "100 s")) == 100_000
    )


# The ends of transfers.


@pytest.mark.slow
@pytest.mark.parametrize("recovery", RECOVERIES)
@pytest.mark.parametrize("size", [1, 999, 1000, 1001, 10_000])
def test_the_last_segment(engine: Engine, size: int, recovery: str) -> None:
    # The last segment is lost, so there are no three duplicate ACKs for it.
    flows = [flow(tcp(recovery=recovery), traffic=transfer(f"{size} bytes"))]
    result = run(engine, simple("50 packets", loss("30 %")), flows, "1000 s", replicates=5)
    assert (column(result, "flows", "delivered_bytes") == size).all()
