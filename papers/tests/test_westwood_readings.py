"""Foundations of the figures over a parameter: readings, their checks, and the effect of trains."""

import math
from functools import cache

import numpy as np
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

from ackclock import Result, rate_estimates, simulate
from ackclock.metrics import CONVERGED_SHARE, CONVERGENCE_INTERVAL_S
from ackclock.reproduction.outcome import Band
from ackclock_papers.replicates import of_replicates, quotient
from ackclock_papers.westwood import figure_18, figure_21, readings
from ackclock_papers.westwood.checks import CHECKS, LATE, Check, Sent
from ackclock_papers.westwood.over_parameter import JITTER_S
from ackclock_papers.westwood.paths import one_bottleneck, wired_wireless
from ackclock_papers.westwood.reading import AS_PRINTED, Reading
from ackclock_papers.westwood.senders import ABSE, RFC_2582

SENDERS = 10
PATH = one_bottleneck(45, 400)
#: One of ten senders' share of the packets that the path holds, in segments.
SHARE_OF_PIPE = PATH.pipe_packets / SENDERS
#: The round-trip time with a full buffer.
ROUND_TRIP_S = 0.14


@cache
def ten(jitter_s: float | None) -> Result:
    """Returns a run of ten ABSE senders by a later paper, over a buffer of one pipe."""
    reading = Reading("", jitter_s=jitter_s, estimators={"ABSE": readings.LATER_PAPER})
    scenario = reading.scenario(PATH, {"ABSE": SENDERS}, {}, 40, 5.0).replace(replicates=1)
    return simulate(scenario, packets=True)


def length_of_trains(result: Result) -> float:
    """Returns the mean length of trains at the bottleneck, after slow start, in packets."""
    packets = result.tables["packets"]
    arrived = pc.and_(pc.equal(packets["event"], "arrive"), pc.equal(packets["hop"], "bottleneck"))
    senders = packets.filter(pc.and_(arrived, pc.greater(packets["time_s"], 15)))[
        "instance"
    ].to_numpy()
    return senders.size / (1 + np.count_nonzero(np.diff(senders)))


def kept_after_losses(result: Result) -> float:
    """Returns the mean ssthresh after fast retransmits, in segments."""
    events = result.tables["events"]
    reacted = events.filter(
        pc.and_(pc.equal(events["kind"], "fast_retransmit"), pc.greater(events["time_s"], 15))
    )
    return float(pc.mean(reacted["ssthresh_after_bytes"]).as_py()) / 1000


@pytest.mark.slow
def test_ten_senders_packets_travel_in_trains_unless_send_times_vary() -> None:
    assert length_of_trains(ten(None)) > 20
    assert length_of_trains(ten(JITTER_S)) < 5


@pytest.mark.slow
def test_in_trains_abse_takes_the_path_to_hold_far_less_than_it_does() -> None:
    assert kept_after_losses(ten(None)) < SHARE_OF_PIPE / 3
    assert kept_after_losses(ten(JITTER_S)) > SHARE_OF_PIPE * 2 / 3


def acks(times_s: NDArray[np.float64], train: int) -> dict[str, NDArray[np.float64]]:
    """Returns a trace of one sender whose window is a train of segments.

    The window lasts twice its least round-trip time.
    """
    rtt = np.full(times_s.size, ROUND_TRIP_S)
    rtt[0] = ROUND_TRIP_S / 2
    acknowledged = 1000.0 * np.arange(1, times_s.size + 1)
    cwnd = np.full(times_s.size, 1000.0 * train)
    return {
        "time_s": times_s,
        "ack": acknowledged,
        "rtt_s": rtt,
        "smoothed_rtt_s": rtt,
        "cwnd_bytes": cwnd,
    }


def last_share(times_s: NDArray[np.float64], train: int, estimator: dict[str, str]) -> float:
    """Returns the last estimate over the true rate."""
    [estimate] = rate_estimates(acks(times_s, train), [estimator], mss=1000).columns[1:]
    return float(estimate[-1].as_py()) / (train * 8000 / ROUND_TRIP_S)


def test_abse_reads_a_tenth_of_what_comes_in_trains_and_the_arithmetic_says_so() -> None:
    """Each round trip has one train at the link's rate.

    T, half a round trip, begins within the gap. By the ACK after the gap one segment came in all of
    it, by the next two came in a little more, and only the last ACK gives the rate. Each counts for
    the time since the previous one.
    """
    train, spacing = 120, PATH.service_time_s
    place, gap = np.arange(1, train + 1), ROUND_TRIP_S - (train - 1) * spacing
    samples, steps = place / (gap + (place - 1) * spacing), np.where(place == 1, gap, spacing)
    expected = (samples * steps).sum() / train
    starts = ROUND_TRIP_S * np.arange(300)
    in_trains = np.concatenate([start + spacing * (place - 1) for start in starts])
    evenly = ROUND_TRIP_S / train * np.arange(in_trains.size)
    assert expected == pytest.approx(0.093, abs=0.001)
    assert last_share(in_trains, train, {"kind": "abse"}) == pytest.approx(expected, rel=0.1)
    assert last_share(in_trains, train, {"kind": "abse_literal"}) < 0.5
    assert last_share(in_trains, train, {"kind": "be"}) > 3
    assert last_share(in_trains, train, {"kind": "re"}) == pytest.approx(1, abs=0.01)
    for kind in ("abse", "abse_literal", "be", "re"):
        assert last_share(evenly, train, {"kind": kind}) == pytest.approx(1, abs=0.02)


def test_the_link_is_full_only_without_trains() -> None:
    [idle], [full] = (
        of_replicates(ten(jitter_s), "utilisation", "bottleneck") for jitter_s in (None, JITTER_S)
    )
    assert idle < 95 < 99 < full


def test_the_printed_equations_by_switches_are_those_of_the_preset() -> None:
    reading = (
        Reading("").scenario(one_bottleneck(5), {"ABSE": 2}, {}, 20, 1.0).replace(replicates=2)
    )
    preset = reading.replace({"flows.ABSE.transport.control": ABSE.tree})
    assert reading.flows["ABSE"].transport.control.estimator.to_dict() == AS_PRINTED
    by_switches, by_preset = simulate(reading), simulate(preset)
    assert by_switches.tables["samples"].equals(by_preset.tables["samples"])


def test_what_breaks_up_trains_is_only_where_there_are_several_senders() -> None:
    reading = Reading("", access_delay_s=0.005, access_mbit_per_s=10)
    path = one_bottleneck(45)
    alone, several = (reading.scenario(path, {"NewReno": count}, {}, 20, 1.0) for count in (1, 2))
    assert [hop.name for hop in alone.hops] == ["bottleneck", "return"]
    assert [hop.name for hop in several.hops] == ["access", "bottleneck", "return"]
    routes = [list(scenario.flows[0].route) for scenario in (alone, several)]
    assert routes == [["bottleneck"], ["access", "bottleneck"]]
    assert list(several.flows[0].access_delay) == ["0 s", "5 ms"]
    assert (alone.flows[0].transport.send_jitter, several.flows[0].transport.send_jitter) == (
        "185 us",
        "10000 us",
    )
    for scenario in (alone, several):
        scenario.check()


def test_a_reading_changes_the_senders_that_it_says() -> None:
    reading = Reading(
        "",
        transport={"rto_minimum": "0.2 s"},
        estimators={"CRB": {"theta": 1.0}},
        counts_in_service=True,
    )
    scenario = reading.scenario(wired_wireless(0.01), {"CRB": 1, "NewReno": 2}, {}, 20, 1.0)
    crb, newreno = scenario.flows
    assert crb.transport.control.to_dict() == {"kind": "westwood_crb", "estimator": {"theta": 1.0}}
    assert newreno.transport.control.kind == "reno"
    assert all(flow.transport.rto_minimum == "0.2 s" for flow in scenario.flows)
    assert all(
        flow.transport.partial_ack == RFC_2582.tree["partial_ack"] for flow in scenario.flows
    )
    assert all(hop.queue.counts_packet_in_service for hop in scenario.hops)
    scenario.check()


def test_newcomers_come_late_and_are_of_the_same_kind() -> None:
    scenario = Sent(one_bottleneck(10), (("ABSE", 5), (LATE, 5)), True).scenario(Reading(""))
    there, late = scenario.flows
    assert there.transport.control == late.transport.control
    assert (list(there.start), list(late.start)) == (["0 s", "1 s"], ["100 s", "101 s"])


def test_a_table_has_the_checks_that_its_readings_can_change() -> None:
    by_title = {part.title: {check.says for check in part.checks} for part in readings.PARTS}
    of_abse = by_title["Readings of ABSE, trains broken up"]
    assert "Jain's index of ABSE" in of_abse
    assert not of_abse & {"Jain's index of NewReno", "goodput of BE, 4 packets, Mbit/s"}
    assert "goodput of CRB over NewReno, 0.5 % lost" in by_title["Readings of BE, RE and CRB"]
    assert by_title["Readings of the senders, the buffer and the path"] == {
        check.says for check in CHECKS
    }


def test_a_number_of_interest_is_always_accepted() -> None:
    check = Check("1", "it is", Band(2), (), lambda _results: pytest.fail("not asked for"))
    assert (check.holds(1.9), check.holds(2.0), check.holds(math.nan)) == (False, True, False)
    assert check._replace(accepted=None).holds(-1e9)


def test_every_reading_is_tabled_under_a_name_of_its_own() -> None:
    names = [
        reading.name
        for part in readings.PARTS
        for reading in part.readings
        if reading is not readings.FOUND
    ]
    names += [reading.name for swept in readings.BY_JITTER.values() for reading in swept]
    assert len(set(names)) == len(names)


def test_a_quotient_takes_each_replicate_once() -> None:
    ratio = quotient([2.0, 6.0], [1.0, 2.0])
    assert (ratio.mean, ratio.replicates) == (2.5, 2)


def test_the_bound_at_a_thousandth_follows_from_the_square_root_law() -> None:
    """A window of sqrt(3/2p) segments per round trip fits into the pipe at 11 Mbit/s and 0.1 %."""
    window = math.sqrt(1.5 / 0.001)
    assert window < figure_18.PATH.pipe_packets
    law = window * 1000 * 8e-6 / figure_18.PATH.round_trip_s
    assert 2.3 < figure_18.PATH.goodput_mbit_per_s / law < figure_18.MOST_AT_A_THOUSANDTH


def test_newcomers_have_most_of_a_share_after_so_many_overflows() -> None:
    """Five senders hold everything, five nothing; all windows halve, then grow equally."""
    path, senders = figure_21.PATH, 2 * figure_21.SENDERS
    held = path.pipe_packets + path.there[0].buffer_packets
    old, new, elapsed_s = 2 * held / senders, 0.0, 0.0
    shares = []
    while len(shares) < figure_21.OVERFLOWS:
        old, new, rounds = old / 2, new / 2, held / 2 / senders
        old, new = old + rounds, new + rounds
        assert (old + new) * figure_21.SENDERS == pytest.approx(held)
        # A round trip is at most that of a full buffer.
        elapsed_s += rounds * held * path.service_time_s
        shares.append(new * senders / held)
    assert shares[-2] < CONVERGED_SHARE <= shares[-1]
    # The rest is slow start, a timeout, and two intervals until it is known.
    rest_s = (
        figure_21.READILY.most
        - elapsed_s
        - figure_21.SMALLEST_TIMEOUT_S
        - 2 * CONVERGENCE_INTERVAL_S
    )
    assert rest_s == pytest.approx(math.log2(held / senders) * held * path.service_time_s, abs=0.06)


def test_the_curves_of_late_joiners_add_up_to_the_link() -> None:
    name = "ABSE joins ABSE"
    result = simulate(figure_21.runs()[name].scenario.replace(replicates=1))
    old, new = (figure_21._smoothed(result, flow) for flow in (figure_21.OLD, figure_21.NEW))
    settled = old[0] > 120
    together = figure_21.SENDERS * (old[1] + new[1])[settled]
    assert together.mean() == pytest.approx(figure_21.PATH.goodput_mbit_per_s, rel=0.01)
    assert new[1][old[0] <= figure_21.JOIN_S].max() == 0
