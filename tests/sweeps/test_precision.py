import math

import numpy as np
import pytest

from ackclock.metrics.confidence import interval
from ackclock.sweeps.precision import Precision, look_sizes, parse, parse_replicates
from ackclock.sweeps.schedule import Schedule

from ..refusals import refused


def test_looks_grow_by_half() -> None:
    assert look_sizes(5, 200) == [5, 8, 12, 18, 27, 41, 62, 93, 140, 200]
    assert look_sizes(5, 5) == [5]


def test_each_look_asks_more_of_the_interval() -> None:
    goal = Precision(0.1)
    values = list(np.random.default_rng(1).normal(1, 0.3, 12))
    for look, size in enumerate((5, 8, 12), 1):
        assert goal.interval(values[:size]) == interval(values[:size], 1 - 0.05 / look)


def test_what_is_constant_or_unknown_is_precise() -> None:
    goal = Precision(0.01)
    assert goal.excess([0.0] * 5) == 0
    assert goal.excess([math.nan] * 5) == 0
    assert goal.excess([math.nan] * 4 + [1.0]) == math.inf
    assert goal.widest([]) == math.inf


def test_until_is_read() -> None:
    assert parse("±1 %", ["bit/s", ""]) == Precision(0.01)
    assert parse("+-1%", ["s"]) == Precision(0.01)
    assert parse("±0.5 ms", ["s"]) == Precision(0.0005, relative=False, base="s")
    assert parse_replicates("5..200") == (5, 200)
    assert parse_replicates("10") == (10, 10)


@pytest.mark.parametrize(
    ("text", "code"),
    [("±0 %", "out-of-range"), ("1", "no-unit"), ("soon", "wrong-type"), ("±1 ms", "wrong-unit")],
)
def test_what_is_no_half_width_is_refused(text: str, code: str) -> None:
    with refused(code, ""):
        parse(text, ["bit/s"])


@pytest.mark.parametrize("text", ["0", "5..3", "x", "1..", "-1"])
def test_what_is_no_number_of_replicates_is_refused(text: str) -> None:
    with refused("out-of-range", ""):
        parse_replicates(text)


# A tenth of the mean is asked for. Spreads: one that five replicates often satisfy, one that takes
# tens, one that reaches the limit. Log-normal values have the same mean and spread. The spec
# demands 94 % of the nominal 95 %; 4,000 sweeps tell 94 from 95 % (standard error 0.34 %). Looks
# that ask more of the interval hold it in 96.5 and 99 %, of which fewer sweeps tell as much.
SPREADS = ((0.05, 4000), (0.2, 2000), (0.5, 800))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("spread", "sweeps"), SPREADS)
@pytest.mark.parametrize("law", ["normal", "lognormal"])
def test_reported_intervals_hold_the_truth(law: str, spread: float, sweeps: int) -> None:
    draw = np.random.default_rng(20251125)
    sigma = math.sqrt(math.log(1 + spread**2))
    goal = Precision(0.1)
    values = (
        draw.normal(1, spread, (sweeps, 200))
        if law == "normal"
        else draw.lognormal(-(sigma**2) / 2, sigma, (sweeps, 200))
    ).tolist()
    schedule = Schedule(range(sweeps), goal.least, goal)
    used = dict.fromkeys(range(sweeps), 0)
    while runs := schedule.take(1):
        rows = [(*run, "goodput", "a", values[run[0]][run[1]]) for run in runs]
        schedule.report(runs, 0, 0.001 * len(runs), rows)
        for point, replicate in runs:
            used[point] = max(used[point], replicate + 1)
    held = 0
    for point, count in used.items():
        estimate = goal.interval(values[point][:count])
        assert count == goal.most or estimate.half_width <= 0.1 * estimate.mean
        held += estimate.low <= 1 <= estimate.high
    assert held / sweeps >= 0.94
    assert schedule.narrow + schedule.at_limit == sweeps
    assert schedule.ended == schedule.wanted == sum(used.values())
