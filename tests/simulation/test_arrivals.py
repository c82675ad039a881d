"""Arriving flows: their times, sizes and numbers, and their effect on others."""

from __future__ import annotations

import numpy as np
import pytest

from ackclock import Scenario, hold_active, simulate, units
from ackclock.metrics import by_replicate, interval, metric

from ..refusals import refused
from . import laws
from .paths import Tree, flow, path, scenario, tcp
from .rows import column

UNIFORM = {"kind": "uniform", "low": "10 kB", "high": "30 kB"}


def arriving(
    interval_s: float, size: str | Tree = "20 kB", kind: str = "poisson", **more: object
) -> Tree:
    arrivals = {"kind": kind, "mean_interval": f"{interval_s * 1e3:g} ms"}
    return (
        flow(tcp(), "short", traffic={"kind": "transfer", "size": size}, arrivals=arrivals) | more
    )


def values(result: object, name: str, flow: str) -> list[float]:
    """Returns a metric by replicate."""
    return list(by_replicate(result, metric(name))[0, flow].values())  # type: ignore[arg-type]


def test_whoever_arrives_draws_a_size_sends_it_and_is_gone() -> None:
    result = simulate(
        scenario(path("10 Mbit/s", "20 ms", "100 packets"), [arriving(0.05, UNIFORM)], "60 s")
    )
    laws.check(result)
    rows = {
        name: column(result, "flows", name)
        for name in ("start_s", "completion_time_s", "delivered_bytes", "instance")
    }
    assert (rows["instance"] == np.arange(rows["instance"].size)).all()
    assert (np.diff(rows["start_s"]) >= 0).all()
    over = ~np.isnan(rows["completion_time_s"])
    # At 64 % of the link only the last few are unfinished.
    assert over[: over.size - 20].all()
    sizes = rows["delivered_bytes"][over]
    assert sizes.min() >= 10_000
    assert sizes.max() <= 30_000
    assert abs(sizes.mean() - 20_000) < 4 * 20_000 / np.sqrt(12 * sizes.size)
    # No instance is active outside the time of its samples.
    times = {name: column(result, "samples", name) for name in ("instance", "time_s")}
    step = units.seconds(result.points[0]["scenario"]["sample_interval"])
    for number in rows["instance"][over][:50]:
        own = times["time_s"][times["instance"] == number]
        start, end = (
            rows["start_s"][number],
            rows["start_s"][number] + rows["completion_time_s"][number],
        )
        assert start - step <= own[0] <= start
        assert end <= own[-1] <= end + step


def test_arrivals_move_nobody_elses_draws_and_are_the_same_for_any_traffic() -> None:
    hops = path("10 Mbit/s", "20 ms", "100 packets")

    def starts(*flows: Tree) -> np.ndarray:
        return column(
            simulate(scenario(hops, list(flows), "20 s")), "flows", "start_s", flow="short"
        )

    alone = starts(arriving(0.1))
    assert (alone == starts(flow(tcp(), "other", start=["0 s", "1 s"]), arriving(0.1))).all()
    assert (alone == starts(arriving(0.1, UNIFORM))).all()
    assert (starts(arriving(0.5, kind="fixed", start="2 s", stop="4 s")) == [2, 2.5, 3, 3.5]).all()


@pytest.mark.slow
def test_the_mean_number_active_is_the_rate_of_arrivals_times_the_time_each_takes() -> None:
    """Little's law, for all that arrived and ended within the run."""
    shorts = arriving(0.04, UNIFORM, stop="100 s")
    result = simulate(
        scenario(path("10 Mbit/s", "20 ms", "100 packets"), [shorts], "100 s", replicates=4)
    )
    for replicate, active in enumerate(values(result, "active_flows", "short")):
        took = column(result, "flows", "measured_s", replicate=replicate)
        assert active == pytest.approx(took.size / 100 * took.mean(), rel=1e-9)
    # By another method: the number of instances with samples at each sampling time. Each has
    # samples from the one before its start to the one after its end, one to three more than its
    # steps.
    counted = column(result, "samples", "time_s").size / 4 / 1000
    more = 0.1 / 0.04
    assert more < counted - np.mean(values(result, "active_flows", "short")) < 3 * more


def test_goodput_of_arrivals_is_what_all_of_them_got_over_the_time() -> None:
    result = simulate(
        scenario(path("10 Mbit/s", "20 ms", "100 packets"), [arriving(0.05)], "50 s", warmup="10 s")
    )
    (goodput,) = values(result, "goodput", "short")
    # 20 transfers a second of 160 kbit are 3.2 Mbit/s, within the chance of 800 arrivals.
    assert goodput == pytest.approx(3.2e6, rel=4 / np.sqrt(800))
    (all_of_it,) = column(result, "hops", "served_bytes", hop="out", time_s=50.0)
    (before,) = column(result, "hops", "served_bytes", hop="out", time_s=10.0)
    # Headers of 40 bytes on 1000, and SYNs; retransmissions, and data in flight at either end, are
    # few.
    assert goodput == pytest.approx((all_of_it - before) * 8 / 40 * 1000 / 1040, rel=0.02)


def test_completion_times_are_of_those_that_came_after_the_warmup_and_say_how_many_have_not_ended() -> (  # noqa: E501
    None
):
    # A burst at the beginning that occupies the link for long, then slow arrivals only.
    early = flow(tcp(), "early", traffic={"kind": "transfer", "size": "1 MB"}, stop="5 s")
    hops = path("1 Mbit/s", "20 ms", "50 packets")
    result = simulate(scenario(hops, [early, arriving(1.0, kind="fixed")], "40.5 s", warmup="20 s"))
    rows = {
        name: column(result, "flows", name, flow="short")
        for name in ("start_s", "completion_time_s")
    }
    late = rows["start_s"] >= 20
    times = rows["completion_time_s"]
    assert values(result, "completion_time", "short") == [pytest.approx(np.nanmean(times[late]))]
    assert np.nanmean(times[~late]) > np.nanmean(times[late])
    assert values(result, "incomplete_share", "short") == [
        pytest.approx(np.isnan(times[late]).mean())
    ]
    assert 0 <= values(result, "incomplete_share", "short")[0] <= 1 / 20
    assert values(result, "incomplete_share", "early") == [1.0]
    bulk = simulate(scenario(hops, [flow(tcp())], "5 s"))
    assert np.isnan(values(bulk, "incomplete_share", "main")).all()


def test_those_that_stay_share_and_those_that_come_and_go_are_left_aside() -> None:
    two = [flow(tcp(), "one"), flow(tcp(), "two"), arriving(0.2)]
    result = simulate(scenario(path("5 Mbit/s", "20 ms", "30 packets"), two, "60 s", warmup="5 s"))
    rates = column(result, "flows", "goodput_bit_per_s")[:2]
    assert values(result, "fairness", "all flows") == [
        pytest.approx(rates.sum() ** 2 / (2 * (rates**2).sum()))
    ]
    shares = [values(result, "friendliness", name)[0] for name in ("one", "two", "short")]
    assert shares[0] + shares[1] == pytest.approx(2)
    assert np.isnan(shares[2])


@pytest.mark.long
def test_thousands_of_arrivals_are_no_more_than_their_rows() -> None:
    """Ten thousand come and go; each has a row, and samples only while it is active."""
    hops = path("10 Mbit/s", "20 ms", "100 packets")
    result = simulate(scenario(hops, [arriving(0.01, "2 kB", kind="fixed")], "100 s"))
    assert column(result, "flows", "instance").size == 10_000
    assert np.isnan(column(result, "flows", "completion_time_s")).sum() < 20
    interval_s = units.seconds(result.points[0]["scenario"]["sample_interval"])
    (active,) = values(result, "active_flows", "short")
    samples = column(result, "samples", "time_s").size
    assert samples < active * 100 / interval_s + 3 * 10_000


@pytest.mark.long
def test_a_chosen_mean_number_is_held() -> None:
    """A long flow takes what they leave, so Little's law alone is not enough."""
    flows = [flow(tcp(), "long"), arriving(2.0, UNIFORM)]
    load = scenario(
        path("1.5 Mbit/s", "50 ms", "40 packets"), flows, "200 s", warmup="20 s", replicates=4
    )
    loads = [hold_active(load, "short", number, within=0.05) for number in (2, 8)]
    for number, held in zip((2, 8), loads, strict=True):
        assert held.active == pytest.approx(number, rel=0.05)
        again = interval(values(simulate(held.scenario), "active_flows", "short"))
        assert again.mean == pytest.approx(held.active), "what was found is what runs"
        # Another seed draws another load, which differs only by chance.
        other = interval(values(simulate(held.scenario.replace(seed=7)), "active_flows", "short"))
        assert abs(other.mean - again.mean) < 2 * (again.half_width + other.half_width)
    assert loads[0].mean_interval_s > loads[1].mean_interval_s


def test_what_cannot_be_held_is_refused_in_a_line() -> None:
    load = scenario(
        path("1.5 Mbit/s", "50 ms", "40 packets"), [flow(tcp(), "long"), arriving(2.0)], "20 s"
    )
    with refused("missing", "flows.long.arrivals"):
        hold_active(load, "long", 3)
    with refused("unsupported", "sweep"):
        hold_active(load.replace(sweep={"seed": [1, 2]}), "short", 3)
    with refused("out-of-range", "number", 0):
        hold_active(load, "short", 0)
    with refused("no-solution", "flows.short.arrivals.mean_interval"):
        hold_active(load, "short", 30, runs=1)


def test_a_law_of_sizes_may_be_in_a_file(tmp_path) -> None:
    (tmp_path / "sizes.csv").write_text("size,weight\n2 kB,1\n50 kB,1\n")
    shorts = arriving(0.1, {"kind": "empirical", "file": "sizes.csv"})
    tree = scenario(path("10 Mbit/s", "20 ms", "100 packets"), [shorts], "20 s").tree
    delivered = column(simulate(Scenario(tree, tmp_path)), "flows", "delivered_bytes")
    assert set(delivered[:-10]) == {2000, 50_000}
