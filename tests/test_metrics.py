import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from ackclock import Result, Scenario, simulate
from ackclock.metrics import (
    METRICS,
    by_replicate,
    closeness,
    difference,
    interval,
    jain,
    metric,
    rate_ratio,
    settling_time,
    summarise,
)
from ackclock.metrics.tables import grouped
from ackclock.table import written_interval

from .refusals import refused


def test_the_interval_is_students() -> None:
    # t with 4 degrees of freedom is 2.7764 at 97.5 %, the standard error sqrt(2.5/5).
    measured = interval([1, 2, 3, 4, 5])
    assert measured.mean == 3
    assert measured.half_width == pytest.approx(2.7764451 * math.sqrt(0.5), rel=1e-7)
    assert (measured.low, measured.high) == (3 - measured.half_width, 3 + measured.half_width)


def test_usual_intervals_are_those_of_scipy() -> None:
    """Releases of SciPy may differ in the last bits; a wrong digit would be far more."""
    for count in range(2, 41):
        values = np.arange(count) % 3
        t = float(special.stdtrit(count - 1, 0.975))
        half_width = t * float(values.std(ddof=1)) / math.sqrt(count)
        assert interval(values).half_width == pytest.approx(half_width, rel=1e-13)


def test_one_run_has_no_spread() -> None:
    assert math.isnan(interval([7]).half_width)
    assert interval([7]).mean == 7
    assert math.isnan(interval([]).mean)


def test_what_is_unknown_does_not_count() -> None:
    assert interval([1, math.nan, 3]) == interval([1, 3])


def test_intervals_cover_the_mean_as_often_as_they_say() -> None:
    draws = np.random.default_rng(1).normal(5, 2, (2000, 4))
    covered = sum(estimate.low <= 5 <= estimate.high for estimate in map(interval, draws))
    assert 0.935 < covered / 2000 < 0.965  # three standard errors of 95 %


@pytest.mark.parametrize(
    ("ours", "others"),
    [
        ([1, 2, 3], [2, 4, 9, 16]),
        ([5.1, 5.2], [4.0, 4.5, 9.0, 2.0, 1.0]),
        ([1, 2, math.nan, 3], [0, 10]),
    ],
)
def test_the_interval_of_a_difference_is_welchs(ours: list[float], others: list[float]) -> None:
    numbers = [value for value in ours if not math.isnan(value)]
    expected = stats.ttest_ind(numbers, others, equal_var=False).confidence_interval(0.95)
    measured = difference(ours, others)
    assert (measured.low, measured.high) == pytest.approx(tuple(expected), rel=1e-9)
    assert measured.replicates == min(len(numbers), len(others))


def test_a_difference_without_spread_or_without_values() -> None:
    assert difference([3, 3], [1, 1, 1]) == (2, 0, 2)
    alone = difference([3], [1, 1, 2])
    assert alone.mean == pytest.approx(3 - 4 / 3)
    assert math.isnan(alone.half_width)
    assert math.isnan(difference([], [1, 2]).mean)


@pytest.mark.parametrize(
    ("shares", "index"), [([1, 1, 1, 1], 1), ([1, 0, 0, 0], 0.25), ([1, 2, 3], 36 / 42)]
)
def test_jains_index(shares: list[float], index: float) -> None:
    assert jain(shares) == pytest.approx(index)
    assert jain(np.multiply(shares, 1e9)) == pytest.approx(index)  # does not depend on the unit


def test_groups_keep_order_and_rows() -> None:
    table = pa.table({"a": ["y", "x", "y", "x"], "b": [1, 1, 1, 2], "v": [1.0, 2.0, None, 4.0]})
    groups = [(key, rows["v"].tolist()) for key, rows in grouped(table, ("a", "b"), ("v",))]
    assert [key for key, _ in groups] == [("y", 1), ("x", 1), ("x", 2)]
    assert groups[0][1][0] == 1
    assert math.isnan(groups[0][1][1])


def run_of(flows: pa.Table | None = None, hops: pa.Table | None = None) -> Result:
    point = {"assignments": {}, "scenario": {"warmup": "2 s"}}
    tables = {"flows": flows, "hops": hops}
    return Result(
        {"points": [point]}, {name: table for name, table in tables.items() if table is not None}
    )


def test_dropped_is_what_hops_dropped_on_the_way_to_the_receiver(leaky_pipe: Scenario) -> None:
    lossy = [{"kind": "iid_loss", "probability": "20 %", "applies": "acks"}]
    result = simulate(leaky_pipe.expand()[1].scenario.replace({"hops.return.impairments": lossy}))
    causes = ("drops_queue", "drops_aqm", "drops_impairment")
    dropped = {
        (replicate, hop): sum(float(rows[cause][-1]) for cause in causes)
        for (replicate, hop), rows in grouped(result.tables["hops"], ("replicate", "hop"), causes)
    }
    for value in metric("loss_rate").values(result):
        forth = sum(dropped[value.replicate, hop] for hop in ("wired", "wireless"))
        [flow] = result.rows("flows", replicate=value.replicate).to_pylist()
        assert value.value == forth / flow["sent_packets"] > 0
        assert flow["dropped_acks"] == dropped[value.replicate, "return"] > forth


def test_instances_are_taken_together_before_replicates_are() -> None:
    flows = pa.table(
        {
            "point": [0] * 4,
            "replicate": [0, 0, 1, 1],
            "flow": ["f"] * 4,
            "goodput_bit_per_s": [1e6, 3e6, 2e6, 4e6],
        }
    )
    [summary] = summarise(run_of(flows), metric("goodput"))
    assert summary.interval.mean == 5e6  # mean of 4 and 6 Mbit/s
    assert summary.interval.replicates == 2


def test_hops_are_measured_after_the_warm_up() -> None:
    time = np.arange(1.0, 11.0)
    hops = pa.table(
        {
            "point": [0] * 10,
            "replicate": [0] * 10,
            "hop": ["h"] * 10,
            "time_s": time,
            "busy_s": np.where(time <= 2, 0, (time - 2) / 2),
            "arrivals": np.where(time <= 2, 1000, 1000 + (time - 2) * 100).astype(int),
            "drops_queue": np.where(time <= 2, 500, 500 + (time - 2) * 10).astype(int),
            "drops_aqm": [0] * 10,
            "drops_impairment": np.where(time <= 2, 0, (time - 2) * 15).astype(int),
            "drops_retries": [0] * 10,
            "backlog_packets": [99, 99, *([4, 6] * 4)],
            "backlog_bytes": [99000, 99000, *([4000, 6000] * 4)],
            "rate_bit_per_s": [4e6] * 10,
            "capacity_bytes": np.where(time <= 2, time * 1e6, 2e6 + (time - 2) * 0.5e6),
        }
    )
    values = {
        name: summarise(run_of(hops=hops), metric(name))[0].interval.mean
        for name in ("utilisation", "capacity", "hop_drops", "backlog", "queueing_delay")
    }
    assert values == pytest.approx(
        {
            "utilisation": 0.5,
            "capacity": 4e6,
            "hop_drops": 0.25,
            "backlog": 5,
            "queueing_delay": 0.01,
        }
    )


@pytest.mark.parametrize("record", METRICS.values(), ids=lambda record: record.name)
def test_every_metric_of_a_run(result: Result, record) -> None:
    summaries = summarise(result, record)
    assert {summary.point for summary in summaries} == set(range(6))
    assert all(summary.interval.replicates in (0, 3) for summary in summaries)
    if record.unit == "" and record.name not in (
        "timeouts",
        "sent_packets",
        "cwnd_drift",
        "max_min_ratio",
        "rate_cov",
    ):  # shares
        assert all(
            0 <= summary.interval.mean <= 1 for summary in summaries if summary.interval.replicates
        )


def test_throughput_falls_as_loss_rises(result: Result) -> None:
    goodput = {
        summary.point: summary.interval.mean for summary in summarise(result, metric("goodput"))
    }
    for first in (0, 3):  # reno, cubic
        assert goodput[first] > goodput[first + 1] > goodput[first + 2] > 0
    # At most the link's rate arrives in the measured 4 s, plus one packet that was in flight.
    throughput = [summary.interval.mean for summary in summarise(result, metric("throughput"))]
    assert max(throughput) <= 11e6 + 1040 * 8 / 4


def test_an_unknown_metric_is_named() -> None:
    with refused("unknown-name", "", "goodptu", "goodput"):
        metric("goodptu")


def test_the_order_of_shares_moves_no_bit_of_jains_index() -> None:
    """Sums of the same numbers in another order differ in their last bits."""
    shares = np.random.default_rng(1).uniform(1, 9, 40)
    orders = [shares, shares[::-1], np.roll(shares, 7), np.sort(shares)]
    assert len({jain(order) for order in orders}) == 1


def test_fairness_is_of_flows_that_were_active_after_the_warm_up(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[1].scenario
    flow = alone.tree["flows"][0]
    early = flow | {"name": "early", "stop": "0.5 s"}  # within the warm-up: its goodput is unknown
    result = simulate(alone.replace(flows=[flow | {"count": 2}, early], replicates=1))
    goodputs = [row["goodput_bit_per_s"] for row in result.tables["flows"].to_pylist()]
    assert goodputs[2] is None
    [value] = metric("fairness").values(result)
    assert value.value == jain(goodputs[:2])


def test_a_share_of_what_nobody_knows_is_unknown(leaky_pipe: Scenario) -> None:
    alone = leaky_pipe.expand()[1].scenario
    flow = alone.tree["flows"][0]
    udp = {"name": "udp", "route": flow["route"], "transport": {"kind": "udp"}}
    udp |= {"traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}
    result = simulate(alone.replace(flows=[flow, udp], replicates=1, duration="2 s"))
    shares = {value.subject: value.value for value in metric("retransmissions").values(result)}
    assert shares["main"] >= 0
    assert math.isnan(shares["udp"])


def samples(**columns: list[float]) -> Result:
    """Returns one flow of two instances in a run of 8 s, with a warm-up of 2 s."""
    count = len(columns["time_s"]) // 2
    whose = {"point": [0], "replicate": [0], "flow": ["f"]}
    table = {name: values * (2 * count) for name, values in whose.items()}
    table |= {"instance": [0] * count + [1] * count} | columns
    point = {"assignments": {}, "scenario": {"warmup": "2 s", "duration": "8 s"}}
    return Result({"points": [point]}, {"samples": pa.table(table)})


def test_round_trip_times_at_the_samples_after_the_warm_up() -> None:
    time = [1.0, 3.0, 5.0, 7.0] * 2
    result = samples(
        time_s=time,
        rtt_s=[9.0, 0.1, None, 0.3, 9.0, 0.1, 0.1, 0.1],
        smoothed_rtt_s=[9.0, *[0.2] * 7],
    )
    [tail] = metric("rtt_p99").values(result)
    assert tail.value == pytest.approx(np.quantile([0.1, 0.3, 0.1, 0.1, 0.1], 0.99))
    [smoothed] = metric("smoothed_rtt").values(result)
    assert smoothed.value == pytest.approx((0.2 * 3 + 0.2 * 3) / 6)
    nothing = samples(time_s=time, rtt_s=[math.nan] * 8)
    assert math.isnan(metric("rtt_p99").values(nothing)[0].value)


def test_how_far_a_flow_has_settled() -> None:
    time = [1.0, 3.0, 4.0, 6.0, 7.0] * 2
    cwnd, again = (
        [99.0, 40.0, 40.0, 10.0, 30.0] * 2,
        [0.0, 6.0, 6.0, 8.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    )
    result = samples(time_s=time, cwnd_bytes=cwnd, retransmitted_packets=again)
    assert metric("cwnd_drift").values(result)[0].value == pytest.approx(20 / 40 - 1)
    assert metric("early_retransmissions").values(result)[0].value == pytest.approx(6 / 8)
    lossless = samples(time_s=time, cwnd_bytes=cwnd, retransmitted_packets=[0.0] * 10)
    assert math.isnan(metric("early_retransmissions").values(lossless)[0].value)


def test_what_has_no_hops_knows_nothing_of_them() -> None:
    assert metric("queueing_delay").values(run_of(pa.table({"point": [0]}))) == []


def shared(rates: dict[str, tuple[float, float]], control: str = "reno") -> Result:
    """Returns one replicate of 20 s with flows that start at a time and have a constant rate."""
    time = np.arange(0.0, 20.01, 0.1)
    columns = {"flow": [], "instance": [], "time_s": [], "delivered_bytes": []}
    for flow, (start_s, rate) in rates.items():
        columns["flow"] += [flow] * time.size
        columns["instance"] += [0] * time.size
        columns["time_s"] += time.tolist()
        columns["delivered_bytes"] += (np.maximum(time - start_s, 0) * rate / 8).tolist()
    samples = {
        "point": [0] * len(columns["flow"]),
        "replicate": [0] * len(columns["flow"]),
    } | columns
    flows = {
        "point": [0] * len(rates), "replicate": [0] * len(rates), "flow": list(rates),
        "instance": [0] * len(rates), "control": [control] * len(rates),
        "goodput_bit_per_s": [rate for _, rate in rates.values()],
        "start_s": [start for start, _ in rates.values()], "end_s": [math.nan] * len(rates),
    }  # fmt: skip
    point = {"assignments": {}, "scenario": {"warmup": "10 s", "duration": "20 s"}}
    return Result({"points": [point]}, {"samples": pa.table(samples), "flows": pa.table(flows)})


def values(result: Result, name: str) -> dict[str, float]:
    return {value.subject: value.value for value in metric(name).values(result)}


def test_friendliness_is_a_share_of_the_mean() -> None:
    result = shared({"old": (0, 1e6), "new": (0, 3e6)})
    assert values(result, "friendliness") == {"old": 0.5, "new": 1.5}
    assert math.isnan(values(shared({"old": (0, 1e6)}, "udp"), "friendliness")["old"])


def test_equivalence_is_the_lesser_over_the_larger() -> None:
    assert values(shared({"old": (0, 1e6), "new": (0, 4e6)}), "equivalence") == {
        "all flows": pytest.approx(0.25)
    }
    assert math.isnan(values(shared({"alone": (0, 1e6)}), "equivalence")["all flows"])


def test_a_newcomer_has_converged_once_it_has_most_of_an_equal_share() -> None:
    # It begins at 4 s with the same rate as the other, which is known at the end of the first two
    # seconds.
    assert values(shared({"old": (0, 1e6), "new": (4, 1e6)}), "convergence_time")[
        "new"
    ] == pytest.approx(2)
    # A tenth of the other's rate never converges to the fair share: its whole time counts.
    late = values(shared({"old": (0, 1e6), "new": (4, 1e5)}), "convergence_time")["new"]
    assert late == pytest.approx(14)


def test_an_estimate_settles_once_it_stays_near() -> None:
    time = np.arange(0.0, 10.0, 0.1)
    # Near for half a second at 2 s, and from 5 s on.
    value = np.where((time >= 5) | ((time >= 2) & (time < 2.5)), 1.1, 2.0)
    assert settling_time(time, value, 1.0) == pytest.approx(5.0)
    assert settling_time(time, value, 1.0, for_s=0.3) == pytest.approx(2.0)
    assert math.isnan(settling_time(time, value, 1.0, within=0.05))


def test_the_bias_of_an_estimate_is_against_the_goodput(leaky_pipe: Scenario) -> None:
    control = {"kind": "westwood_be"}
    short = leaky_pipe.replace(
        {"sweep": {}, "replicates": 2, "flows.main.transport.control": control}
    )
    result = simulate(short)
    names = ("rate_estimate", "estimate_bias", "goodput")
    for estimate, bias, goodput in zip(
        *(metric(name).values(result) for name in names), strict=True
    ):
        assert bias.value == pytest.approx(estimate.value / goodput.value - 1)
    [settled] = summarise(result, metric("estimate_settling_time"))
    assert 0 <= settled.interval.mean < 5


def of_groups(*replicates: dict[str, list[float]]) -> Result:
    """Returns a result with the goodput of each instance of each flow in each replicate."""
    rows = [
        {"point": 0, "replicate": number, "flow": flow, "goodput_bit_per_s": goodput}
        for number, groups in enumerate(replicates)
        for flow, instances in groups.items()
        for goodput in instances
    ]
    point = {
        "assignments": {},
        "scenario": {"warmup": "0 s", "flows": [{"name": name} for name in replicates[0]]},
    }
    return Result({"points": [point]}, {"flows": pa.Table.from_pylist(rows)})


def test_f_and_e_by_hand() -> None:
    result = of_groups({"tfrc": [1e6, 3e6], "tcp": [4e6]}, {"tfrc": [8e6, 8e6], "tcp": [4e6]})
    assert by_replicate(result, rate_ratio("tfrc", "tcp")) == {(0, "tfrc"): {0: 0.5, 1: 2}}
    assert by_replicate(result, closeness("tfrc", "tcp")) == {(0, "tfrc"): {0: 2, 1: 2}}
    [f] = summarise(result, rate_ratio("tfrc", "tcp"))
    assert f.interval == interval([0.5, 2])
    [e] = summarise(result, closeness("tfrc", "tcp"))
    assert e.interval == (
        2,
        0,
        2,
    )  # equally far apart in both, in turn: F's mean of 1.25 does not show it


@pytest.mark.slow
@given(st.lists(st.tuples(st.floats(1, 1e9), st.floats(1, 1e9)), min_size=1, max_size=5))
def test_e_is_f_or_one_over_it_and_the_same_from_both_sides(
    goodputs: list[tuple[float, float]],
) -> None:
    result = of_groups(*({"a": [ours], "b": [others]} for ours, others in goodputs))
    f, back, e, same = (
        list(record.values(result))
        for record in (
            rate_ratio("a", "b"),
            rate_ratio("b", "a"),
            closeness("a", "b"),
            closeness("b", "a"),
        )
    )
    for ratio, other, apart, again in zip(f, back, e, same, strict=True):
        assert apart.value == max(ratio.value, 1 / ratio.value) >= 1
        assert apart.value == pytest.approx(again.value)
        assert ratio.value * other.value == pytest.approx(1)


def test_one_that_gets_nothing_is_infinitely_far() -> None:
    result = of_groups({"a": [0.0], "b": [1e6, 0.0]}, {"a": [1e6], "b": [1e6, 5e5]})
    assert [value.value for value in closeness("a", "b").values(result)] == pytest.approx(
        [math.inf, 4 / 3]
    )
    spreads = by_replicate(result, metric("max_min_ratio"))
    assert spreads[0, "b"] == {0: math.inf, 1: 2}
    assert all(math.isnan(value) for value in spreads[0, "a"].values())  # one alone
    [_, b] = summarise(result, metric("max_min_ratio"))
    assert (b.interval.mean, math.isnan(b.interval.half_width), b.interval.replicates) == (
        math.inf,
        True,
        2,
    )
    assert written_interval(b.interval) == "∞"
    apart = difference([math.inf, 2], [1, 2])
    assert (apart.mean, math.isnan(apart.half_width), apart.replicates) == (math.inf, True, 2)
    nobody = of_groups({"a": [0.0], "b": [0.0]})
    assert math.isnan(rate_ratio("a", "b").values(nobody)[0].value)


def test_a_flow_that_is_not_there_has_no_share() -> None:
    with refused("unknown-name", "flow", "tcpp", '"tcp"'):
        rate_ratio("tfrc", "tcpp").values(of_groups({"tfrc": [1e6], "tcp": [1e6]}))


def test_a_rate_control_is_a_control_and_plain_udp_none() -> None:
    flows = pa.table(
        {
            "point": [0] * 3, "replicate": [0] * 3, "flow": ["tfrc", "tcp", "voice"],
            "control": ["tfrc", "reno", "udp"], "goodput_bit_per_s": [1e6, 3e6, 64e3],
        }
    )  # fmt: skip
    assert metric("fairness").values(run_of(flows))[0].value == jain([1e6, 3e6])
    shares = values(run_of(flows), "friendliness")
    assert (shares["tfrc"], shares["tcp"]) == (0.5, 1.5)
    assert math.isnan(shares["voice"])
