"""ECN end to end: codepoints, DCTCP behind a step, ABE, Prague."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ackclock import Result, measure, simulate
from ackclock.models import dctcp_step

from . import laws
from .paths import Tree, flow, path, scenario, tcp
from .rows import at_end, column, goodput, value_of

#: 10 000 packets of 1250 bytes per second, with 1210 bytes of payload.
RATE = "100 Mbit/s"
SEGMENT = {"mss": "1210 bytes", "header": "40 bytes"}


def waiting(result: Result, after: float) -> np.ndarray:
    """Returns the sampled packets that wait after a time."""
    time, packets = (
        column(result, "hops", name, hop="out") for name in ("time_s", "backlog_packets")
    )
    return np.asarray(packets[time > after])


def step(threshold: str, limit: str = "1000 packets", **more: object) -> Tree:
    return {"kind": "step_marking", "limit": limit, "threshold": threshold, **more}


@pytest.mark.slow
def test_one_dctcp_flow_behind_a_step_has_the_queue_of_its_model() -> None:
    """Equations 3 to 10 of Alizadeh 2010, with K = 30 and a pipe of 40 segments.

    The model is a fluid; a packet more or less is allowed at each end of the queue, and one for the
    queue being sampled between packets. The share of marks follows a cycle of six round trips, in
    which marks come in whole segments: a tenth.
    """
    transport = tcp("dctcp", "rfc", delayed_ack={"every": "1 segment"}, **SEGMENT)
    hops = path(RATE, "2 ms", step("30 packets"))
    result = simulate(
        scenario(hops, [flow(transport)], "6 s", warmup="1 s", sample_interval="100 us")
    )
    laws.check(result)
    expected = dctcp_step.MODEL.answer(rate=1e4, rtt=4e-3 + 1e-4, threshold=30)
    queue = waiting(result, 1.0)
    assert queue.max() == pytest.approx(expected["largest_queue"], abs=2)
    assert queue.min() == pytest.approx(expected["smallest_queue"], abs=2)
    assert value_of(result, "flows", "goodput_bit_per_s") == pytest.approx(96.8e6, rel=1e-3)
    share = at_end(result, "marks") / at_end(result, "departures")
    assert share == pytest.approx(expected["alpha"], rel=0.1)


def test_classic_feedback_hides_the_share_of_marks_from_dctcp() -> None:
    """An echo until the answer arrives counts a round trip of unmarked segments too."""

    def mean_queue(feedback: str) -> float:
        transport = tcp("dctcp", "rfc", ecn_feedback=feedback, **SEGMENT)
        hops = path(RATE, "2 ms", step("30 packets"))
        run = scenario(hops, [flow(transport)], "4 s", warmup="1 s", sample_interval="1 ms")
        return float(waiting(simulate(run), 1.0).mean())

    assert mean_queue("classic") < mean_queue("dctcp")


@pytest.mark.slow
def test_a_flow_that_keeps_more_after_a_mark_uses_more_of_a_link_with_a_short_queue() -> None:
    """RFC 8511: with nearly no queue the mean window is (1 + beta)/2 of the peak."""

    def utilisation(beta: float) -> float:
        control = {"kind": "reno", "beta_after_mark": beta}
        transport = tcp(control, "rfc", ecn=True, delayed_ack={"every": "1 segment"}, **SEGMENT)
        hops = path(RATE, "20 ms", step("1 packet"))
        run = scenario(hops, [flow(transport)], "60 s", warmup="20 s")
        return value_of(simulate(run), "flows", "goodput_bit_per_s") / 96.8e6

    # The queue of a packet and the round trip of a reaction make the peak exceed the pipe a little.
    assert utilisation(0.5) == pytest.approx(0.75, abs=0.02)
    assert utilisation(0.8) == pytest.approx(0.90, abs=0.02)


def prague(rtt: str, **parameters: str) -> Tree:
    control = {"kind": "prague", **parameters}
    return flow(tcp(control, "l4s", **SEGMENT), f"prague{rtt.split()[0]}", access_delay=rtt)


def prague_alone(queue: Tree) -> tuple[Result, float]:
    """Returns Prague at 50 Mbit/s and 20 ms, and its marks in each virtual round trip of 25 ms."""
    hops = path("50 Mbit/s", "10 ms", queue)
    transport = tcp("prague", "l4s", **SEGMENT)
    run = scenario(hops, [flow(transport)], "20 s", warmup="5 s", sample_interval="1 ms")
    result = simulate(run)
    laws.check(result)
    time, marks = (column(result, "hops", name, hop="out") for name in ("time_s", "marks"))
    return result, float(marks[-1] - marks[np.searchsorted(time, 5.0)]) / 15.0 * 0.025


def test_prague_alone_keeps_the_queue_at_the_step() -> None:
    """50 Mbit/s, 20 ms, marks above 1 ms: at most a packet more in 99 % of the time.

    A step marks whole round trips, so the share of marks is that of DCTCP, sqrt(2/W), and not the
    2/W of independent marks. W is 125 packets in 25 ms. A fifth is allowed, as the law is that of a
    fluid for large windows.
    """
    result, marks = prague_alone(step("1 ms"))
    # 1 ms is five packets of 1250 bytes.
    assert np.quantile(waiting(result, 5.0), 0.99) <= 5 + 1
    assert goodput(result)[0] > 0.98 * 48.4e6
    assert marks == pytest.approx(np.sqrt(2 * 125), rel=0.2)


def test_behind_a_wide_ramp_prague_has_few_marks_per_round_trip() -> None:
    """Two by the law of a reaction in every round trip, and at most twice that.

    A reaction waits for the end of a window, for the target, and for a mark.
    """
    _, marks = prague_alone(step("0 us", ramp="10 ms"))
    assert 2 <= marks <= 4


@pytest.mark.slow
def test_prague_shares_a_link_whatever_the_round_trip() -> None:
    """5 ms beside 25 ms, one step: rates within 20 %; in proportion to windows it would be 5."""
    hops = path("50 Mbit/s", "1 ms", step("1 ms"))
    flows = [prague("3 ms"), prague("23 ms")]
    run = scenario(hops, flows, "60 s", warmup="20 s", replicates=3)
    result = simulate(run)
    short, long = (goodput(result, flow=name).mean() for name in ("prague3", "prague23"))
    assert 0.8 <= short / long <= 1.25


def test_without_the_correction_a_short_round_trip_takes_nearly_all() -> None:
    """Rates in proportion to round trips would be 5 to 1; a step does worse."""
    hops = path("50 Mbit/s", "1 ms", step("1 ms"))
    flows = [prague(rtt, target_rtt="0 s") for rtt in ("3 ms", "23 ms")]
    result = simulate(scenario(hops, flows, "60 s", warmup="20 s"))
    short, long = (goodput(result, flow=name)[0] for name in ("prague3", "prague23"))
    assert short / long > 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("control", "codepoint", "others"), [("prague", "ect1", "ect0"), ("dctcp", "ect0", "ect1")]
)
def test_captures_carry_the_codepoints(
    control: str, codepoint: str, others: str, tmp_path: Path
) -> None:
    """A control asks for its codepoint; the capture has it, and CE where the queue marked."""
    preset = "l4s" if control == "prague" else "linux"
    hops = path("20 Mbit/s", "5 ms", step("1 ms"))
    run = scenario(hops, [flow(tcp(control, preset, **SEGMENT))], "2 s")
    result = simulate(run, pcap=tmp_path)
    folder = tmp_path / "captures"
    folder.mkdir()
    result = simulate(run, pcap=folder)
    capture = folder / "point-0-replicate-0-receivers.pcap"
    rows = measure(capture, tmp_path / "measured").tables["connections"].to_pylist()
    (data,) = [row for row in rows if row["ce_packets"] > 0]
    assert data[f"{codepoint}_packets"] > 1000
    assert data[f"{others}_packets"] == 0
    # What is still in the queue or on its way at the end has not arrived.
    assert at_end(result, "marks") - 100 < data["ce_packets"] <= at_end(result, "marks")


@pytest.mark.parametrize(
    ("client", "server", "marked", "counted"),
    [(1, 2, True, False), (3, 3, True, True), (3, 2, True, False), (2, 2, False, False)],
)
def test_hosts_negotiate_ecn_as_linux_does(
    client: int, server: int, marked: bool, counted: bool
) -> None:
    queue = {"kind": "codel", "limit": "200 packets", "ecn": True}
    transport = tcp("cubic", "linux", tcp_ecn={"client": client, "server": server})
    described = scenario(path("10 Mbit/s", "20 ms", queue), [flow(transport)], "10 s")
    parameters = described.resolve().tree["flows"][0]["transport"]
    assert parameters["ecn"] is marked
    assert (parameters["ecn_feedback"] == "accurate") is counted
    marks = simulate(described).tables["hops"]["marks"].to_numpy().max()
    assert (marks > 0) == marked
