"""Queueing delays of packets: the table `delays` and its quantiles."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock import Result, simulate
from ackclock.metrics import METRICS, packet_delay_quantile, summarise

from .. import refusals
from .paths import Tree, flow, hop, path, scenario, tcp, udp
from .rows import column

#: A packet of 1500 bytes takes a millisecond.
RATE = "12 Mbit/s"
#: Width of a histogram's bucket.
BUCKET = 1 / 128


def overloaded(queue: Tree, **more: object) -> Result:
    """Returns datagrams at twice the link's rate."""
    out = hop("out", RATE, "5 ms", queue, packet_delays=True, **more)
    datagrams = {"kind": "cbr", "rate": "24 Mbit/s"}
    sender = flow(udp(mss="1500 bytes"), name="flood", traffic=datagrams)
    return simulate(scenario([out, hop("back", RATE, "5 ms")], [sender], "2 s", warmup="1 s"))


def quantile(result: Result, share: float, subject: str) -> float:
    """Returns a quantile in ms."""
    summaries = summarise(result, packet_delay_quantile(share))
    (interval,) = [summary.interval for summary in summaries if summary.subject == subject]
    return interval.mean * 1e3


def test_a_full_queue_delays_each_packet_by_what_it_holds() -> None:
    """A packet is admitted behind 19 others and the rest of the one in service."""
    result = overloaded({"kind": "droptail", "limit": "20 packets"})
    for share in (0.05, 0.5, 0.99):
        assert 19 <= quantile(result, share, "out") <= 20 * (1 + BUCKET)
    waited = column(result, "delays", "packets").sum()
    # Packets that arrive in a second: those sent in it, and what waits at its ends.
    assert waited == pytest.approx(1000, abs=22)


def test_both_kinds_of_service_record_the_same() -> None:
    """CoDel with a target that is never reached is drop-tail that decides when the link asks."""
    lazy = {"kind": "codel", "target": "10 s", "interval": "20 s", "limit": "20 packets"}
    other = overloaded(lazy)
    result = overloaded({"kind": "droptail", "limit": "20 packets"})
    for share in (0.05, 0.5, 0.95):
        assert quantile(result, share, "out") == quantile(other, share, "out")


def test_recording_changes_nothing_else() -> None:
    senders = [flow(tcp(), count=3, start=["0 s", "1 s"])]
    hops = path("10 Mbit/s", "10 ms", {"kind": "droptail", "limit": "30 packets"})
    plain = simulate(scenario(hops, senders, "10 s"))
    recording = simulate(scenario([hops[0] | {"packet_delays": True}, *hops[1:]], senders, "10 s"))
    for name, table in plain.tables.items():
        assert table.equals(recording.tables[name]), name
    assert set(recording.tables) - set(plain.tables) == {"delays"}


def test_quantiles_are_those_of_the_packets() -> None:
    """The median over packets, beside that over time from the sampled backlog."""
    senders = [flow(tcp(), count=2)]
    hops = path("10 Mbit/s", "10 ms", {"kind": "droptail", "limit": "40 packets"})
    hops[0]["packet_delays"] = True
    result = simulate(scenario(hops, senders, "30 s", warmup="5 s", sample_interval="5 ms"))
    (over_time,) = [
        summary.interval.mean * 1e3
        for summary in summarise(result, METRICS["queueing_delay_p50"])
        if summary.subject == "out"
    ]
    # A link that is always busy serves packets at a constant rate, so that both are nearly equal:
    # within the time of two packets, since the backlog leaves out the packet in service.
    assert quantile(result, 0.5, "out") == pytest.approx(over_time, abs=1.7)
    assert quantile(result, 0.5, "out") <= quantile(result, 0.99, "out")


def test_flows_have_delays_of_their_own() -> None:
    """A sparse flow behind FQ-CoDel waits for the packet in service.

    If greedy flows have just become active as well, each of them may send a quantum before it,
    which takes two packets.
    """
    senders = [
        flow(tcp(), name="greedy", count=8),
        flow(
            udp(mss="200 bytes"),
            name="sparse",
            traffic={"kind": "cbr", "rate": "64 kbit/s"},
            start="1 s",
        ),
    ]
    hops = path("8 Mbit/s", "10 ms", {"kind": "fq_codel"})
    hops[0]["packet_delays"] = True
    result = simulate(scenario(hops, senders, "30 s", warmup="10 s"))
    packet_ms = 1.04
    assert quantile(result, 0.5, "out/sparse") <= packet_ms * (1 + BUCKET)
    assert quantile(result, 0.99, "out/sparse") <= (1 + 8 * 2) * packet_ms * (1 + BUCKET)
    assert quantile(result, 0.5, "out/greedy") > 2 * packet_ms
    assert not [
        summary
        for summary in summarise(result, METRICS["packet_delay_p50"])
        if "[" in summary.subject
    ]


def test_marks_are_a_share_of_arrivals() -> None:
    senders = [flow(tcp(ecn=True), count=4)]
    hops = path("10 Mbit/s", "20 ms", {"kind": "codel", "ecn": True})
    result = simulate(scenario(hops, senders, "20 s"))
    (share,) = [
        summary.interval.mean
        for summary in summarise(result, METRICS["hop_marks"])
        if summary.subject == "out"
    ]
    # The sample at the end of the warm-up, at time 0, is not counted.
    marks, arrivals = (
        np.ptp(column(result, "hops", column_name, hop="out"))
        for column_name in ("marks", "arrivals")
    )
    assert share == pytest.approx(marks / arrivals)
    assert share > 0


def test_it_needs_a_shared_hop() -> None:
    hops = path(RATE, "5 ms")
    hops[0] |= {"packet_delays": True, "scope": "per_flow"}
    with refusals.refused("contradiction", "hops.out.packet_delays"):
        scenario(hops, [flow(tcp())], "1 s").resolve()


def test_shares_are_between_zero_and_one() -> None:
    for share in (0, 1, np.nan):
        with refusals.refused("out-of-range", "share"):
            packet_delay_quantile(share)
