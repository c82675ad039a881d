"""Criteria on metrics: bounds, grades, and the rule of Holm."""

import math
from typing import Any

import numpy as np
import pytest

from ackclock.evaluation import criteria
from ackclock.evaluation.criteria import Grade, Judgement, Measured, graded
from ackclock.evaluation.fields import Fields

SEEDS = 10
RNG = np.random.default_rng(7)


def criterion(**fields: Any) -> criteria.Criterion:
    tree = {"says": "It holds", "metric": "hop_drops", "of": "b", **fields}
    return criteria.read(Fields(tree, "check"), ("cubic",))


def cell(own: Any, cubic: Any = math.nan, **values: float) -> Measured:
    row = {"hop_drops(b)": np.broadcast_to(np.asarray(own, float), SEEDS)}
    beside = {"hop_drops(b)": np.broadcast_to(np.asarray(cubic, float), SEEDS)}
    return Measured(SEEDS, {"": row, "cubic": beside}, values)


@pytest.mark.parametrize(
    ("bound", "own", "cubic", "grade"),
    [
        ({"most": 0.02}, 0.02, 0.0, Grade.HOLDS),
        ({"most": 0.02}, 0.021, 0.0, Grade.MISSED),
        ({"most": [0.02, {"times": 3, "of": "cubic"}]}, 0.05, 0.02, Grade.HOLDS),
        ({"most": [0.02, {"times": 3, "of": "cubic"}]}, 0.07, 0.02, Grade.MISSED),
        ({"least": {"times": 0.9, "of": "cubic"}}, 0.9, 1.0, Grade.HOLDS),
        ({"least": {"times": 0.9, "of": "cubic"}}, 0.8, 1.0, Grade.MISSED),
        ({"least": [0.5, {"times": 0.9, "of": "cubic"}]}, 0.6, 1.0, Grade.HOLDS),
        ({"most": {"times": 1.5, "value": "round_trip"}}, 0.05, 0.0, Grade.HOLDS),
        ({"most": {"times": 1.5, "value": "round_trip"}}, 0.07, 0.0, Grade.MISSED),
        ({"most": 0.02}, math.nan, 0.0, Grade.UNKNOWN),
        ({"most": {"of": "cubic"}}, 0.1, math.nan, Grade.UNKNOWN),
    ],
)
def test_a_bound_is_the_laxest_of_its_amounts(
    bound: dict, own: float, cubic: float, grade: Grade
) -> None:
    judged = criterion(**bound).judge(cell(own, cubic, round_trip=0.04))
    assert judged.grade is grade


def test_one_seed_decides_nothing() -> None:
    alone = Measured(1, {"": {"hop_drops(b)": np.array([0.9])}}, {})
    judged = criterion(most=0.02).judge(alone)
    assert (judged.grade, judged.chance) == (Grade.UNSURE, 1.0)
    assert graded([judged]) == [Grade.UNSURE]


def test_what_never_ends_is_far_beyond() -> None:
    tree = {"says": "It ends", "metric": "completion_time", "of": "x", "most": {"of": "cubic"}}
    ends = criteria.read(Fields(tree, "check"), ("cubic",))
    ended, unended = ({"completion_time(x)": np.full(SEEDS, value)} for value in (2.0, math.nan))
    never = ends.judge(Measured(SEEDS, {"": unended, "cubic": ended}, {}))
    assert graded([never]) == [Grade.FAR]
    # Where the reference does not end either, nothing is known.
    assert ends.judge(Measured(SEEDS, {"": unended, "cubic": unended}, {})).grade is Grade.UNKNOWN


def test_an_interval_that_holds_the_bound_is_unsure() -> None:
    around = 0.02 + 0.01 * RNG.standard_normal(SEEDS)
    around += 0.02 - around.mean()
    assert criterion(most=0.02).judge(cell(around)).grade is Grade.UNSURE


def test_differences_are_paired_by_seed() -> None:
    # Seeds differ by far more than the controls.
    cubic = RNG.uniform(0.01, 0.9, SEEDS)
    judged = criterion(most={"of": "cubic"}).judge(cell(1.01 * cubic, cubic))
    assert judged.grade is Grade.MISSED
    assert criterion(most={"of": "cubic"}).judge(cell(0.99 * cubic, cubic)).grade is Grade.HOLDS


def test_a_failure_is_beyond_twice_the_bound_or_what_is_written() -> None:
    twice = criterion(most=0.02)
    assert graded([twice.judge(cell(0.039))]) == [Grade.MISSED]
    assert graded([twice.judge(cell(0.041))]) == [Grade.FAR]
    least = criterion(least=0.8)
    assert graded([least.judge(cell(0.41))]) == [Grade.MISSED]
    assert graded([least.judge(cell(0.39))]) == [Grade.FAR]
    stated = criterion(most=0.02, fails=0.1)
    assert graded([stated.judge(cell(0.09))]) == [Grade.MISSED]
    assert graded([stated.judge(cell(0.11))]) == [Grade.FAR]


def test_many_cells_need_smaller_probabilities() -> None:
    """The steps of Holm (1979): 0.05/n for the smallest, 0.05/(n - 1) for the next."""

    def missed(chance: float) -> Judgement:
        values = np.zeros(SEEDS)
        return Judgement(Grade.MISSED, values, values, (0.0, 0.0), 0.1, chance)

    chances = [0.011, 0.02, 0.03, 0.012]
    grades = graded([missed(chance) for chance in chances])
    # 0.011 <= 0.05/4, 0.012 <= 0.05/3, 0.02 <= 0.05/2, 0.03 <= 0.05/1.
    assert grades == [Grade.FAR] * 4
    # 0.02 > 0.05/3 stops all that are larger.
    grades = graded([missed(chance) for chance in (0.011, 0.02, 0.02, 0.02)])
    assert grades == [Grade.FAR, Grade.MISSED, Grade.MISSED, Grade.MISSED]
    holds = Judgement(Grade.HOLDS, np.zeros(SEEDS), np.zeros(SEEDS), (0.0, 0.0), -1.0, 1.0)
    assert graded([missed(0.02), holds]) == [Grade.FAR, Grade.HOLDS]
    assert graded([missed(0.02), holds, holds]) == [Grade.MISSED, Grade.HOLDS, Grade.HOLDS]


def test_the_interval_of_a_mean_covers_it() -> None:
    """Bands: 95 % nominal; the percentile bootstrap of 20 values covers 91 to 97 %."""
    draws = np.random.default_rng(3).standard_normal((400, 20))
    covered = [low <= 0 <= high for low, high in map(criteria.resampled, draws)]
    assert 0.90 <= np.mean(covered) <= 0.98


def test_the_probability_is_students() -> None:
    from scipy.stats import ttest_1samp

    values = RNG.standard_normal(12) + 0.4
    expected = ttest_1samp(values, 0.0, alternative="greater").pvalue
    assert criteria.chance_of_more(values) == pytest.approx(expected)
