"""Entries of the Markov paper: laws first, then numbers that must not change."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.models import floyd_fall, pftk
from ackclock_papers.markov import (
    any_round_trip,
    mean_throughput,
    sweep,
    table_7_2,
    throughput_level,
    throughput_spread,
    validation,
    window_moments,
    windows,
)


@given(st.floats(1e-6, 0.15))
def test_loss_is_recovered_from_the_two_formulas(p: float) -> None:
    ratio = float(pftk.triple_duplicate_only(p, 1.0, b=1) / floyd_fall.bound(p, 1.0))
    assert validation.loss_behind(ratio) == pytest.approx(p, rel=1e-5)


@given(st.floats(1e-6, 0.1), st.floats(1.01, 1.5))
def test_more_loss_moves_the_two_formulas_apart(p: float, factor: float) -> None:
    near, far = (
        float(pftk.triple_duplicate_only(loss, 1.0, b=1) / floyd_fall.bound(loss, 1.0))
        for loss in (p, p * factor)
    )
    assert far < near < 1


def test_thirty_five_rows_of_nine_sets() -> None:
    rows = validation.rows()
    assert len(rows) == 35
    assert [len(validation.rows(data_set.number)) for data_set in validation.SETS] == [
        9,
        3,
        4,
        4,
        3,
        3,
        3,
        3,
        3,
    ]


@pytest.mark.parametrize("row", validation.rows(), ids=lambda row: row["id"])
def test_every_printed_error_follows_from_its_row_but_those_of_row_1_5(row: validation.Row) -> None:
    for metric in validation.METRICS:
        printed = row[f"error_{metric}"]
        last_digit = 10.0 ** -len(printed.partition(".")[2])
        bound = last_digit / 2 + validation.error_bound(row, metric)
        follows = abs(validation.error(row, metric) - float(printed)) <= bound
        assert follows == (row["id"] != "1.5"), metric


def test_the_errors_of_row_1_5_are_nearly_those_of_row_1_6() -> None:
    printed, other = (
        next(row for row in validation.rows() if row["id"] == name) for name in ("1.5", "1.6")
    )
    for metric in validation.METRICS:
        assert float(printed[f"error_{metric}"]) == pytest.approx(
            validation.error(other, metric), abs=0.07
        )


@pytest.mark.parametrize("data_set", validation.SETS, ids=lambda data_set: data_set.table)
def test_each_set_was_computed_with_the_error_probability_that_we_say(
    data_set: validation.Set,
) -> None:
    assert validation.nearest_probability(data_set.number) == data_set.worked
    if data_set.text is not None:
        assert data_set.worked == data_set.text
    assert (data_set.worked != data_set.caption) == (data_set.number in (2, 3, 4))


def test_the_recovered_interval_holds_the_recovered_loss() -> None:
    for row in validation.rows():
        inputs = validation.recovered(row)
        assert inputs["p_low"] < inputs["p"] < inputs["p_high"]
        assert inputs["mean_rtt"] == pytest.approx(
            float(floyd_fall.bound(inputs["p"], 1.0)) / float(row["FF"]), rel=1e-9
        )


@pytest.fixture(scope="module")
def table() -> dict[tuple[str, int], float]:
    return table_7_2.means(table_7_2.chains(), table_7_2.three_points(), table_7_2.L, "segment")


def test_table_7_2_within_a_quarter_of_a_percent_up_to_a_half(
    table: dict[tuple[str, int], float],
) -> None:
    errors = table_7_2.errors(table)
    assert errors.size == 36
    assert np.abs(errors).max() <= 0.25
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(0.064, abs=0.0005)


def test_table_7_2_at_nine_tenths_is_what_the_model_says_and_not_what_is_printed(
    table: dict[tuple[str, int], float],
) -> None:
    for w in table_7_2.WINDOWS:
        assert table["0.9", w] == pytest.approx(3.28, abs=0.01)
        # Where the link limits nothing, only the mean window differs, for any round-trip times.
        assert table["0.5", w] / table["0.9", w] == pytest.approx(2.2833 / 2.0101, rel=1e-3)


def test_no_law_of_the_round_trip_time_does_better_than_the_best() -> None:
    """The linear programme bounds every law with this mean from below.

    A narrower choice is no better.
    """
    chains, theirs = table_7_2.chains(), table_7_2.expected()

    def least(mode: str = "segment", shortest_s: float = 0.02) -> float:
        return any_round_trip.least_error(
            chains, theirs, table_7_2.MEAN_RTT_S, table_7_2.L, mode, shortest_s
        )

    fitted = np.abs(
        table_7_2.errors(table_7_2.means(chains, table_7_2.three_points(), table_7_2.L, "segment"))
    ).max()
    assert least() < fitted
    assert least() == pytest.approx(0.129, abs=0.001)
    assert least() < least(shortest_s=0.34) < least(shortest_s=0.4)
    assert least() < least("segment_full") < least("round")


def test_table_7_2_falls_with_loss_and_rises_with_the_window(
    table: dict[tuple[str, int], float],
) -> None:
    p = [row[0] for row in table_7_2.rows()]
    for w in table_7_2.WINDOWS:
        column = [table[loss, w] for loss in p]
        assert column == sorted(column)
        assert max(column) < table_7_2.L
    for loss in p:
        by_window = [table[loss, w] for w in table_7_2.WINDOWS]
        assert all(later >= earlier * (1 - 1e-12) for earlier, later in pairwise(by_window))


@pytest.mark.parametrize(
    "case", [*mean_throughput.LINKS, *mean_throughput.WINDOWS, *mean_throughput.ROUND_TRIPS]
)
def test_mean_throughput_falls_with_loss_and_stays_below_the_link(case: sweep.Case) -> None:
    means = [sweep.mean(case, p) for p in (1e-4, 1e-3, 1e-2, 1e-1, 0.5)]
    assert means == sorted(means, reverse=True)
    assert means[0] <= case.rate * (1 + 1e-12)


@pytest.mark.parametrize("case", throughput_spread.LINKS)
def test_a_peak_is_above_what_is_around_it(case: sweep.Case) -> None:
    peak = sweep.peak(case, sweep.sd)
    assert peak.value == pytest.approx(sweep.sd(case, peak.p))
    assert peak.value > max(sweep.sd(case, peak.p * factor) for factor in (0.5, 0.9, 1.1, 2))


def test_the_standard_deviation_is_below_half_of_the_link_rate() -> None:
    """Nothing between 0 and L has a larger standard deviation than L/2."""
    for case in throughput_spread.LINKS:
        assert sweep.peak(case, sweep.sd).value < case.rate / 2


def test_half_of_the_time_above_the_level() -> None:
    for case in throughput_level.LINKS:
        p = throughput_level.crossing(case)
        assert throughput_level.above_half(case, p) == pytest.approx(0.5, abs=1e-6)
        assert (
            throughput_level.above_half(case, p / 2)
            > 0.5
            > throughput_level.above_half(case, p * 2)
        )


def test_where_the_limit_ceases_to_be_the_likeliest_window() -> None:
    segment, rounds = windows.turning("segment"), windows.turning("round")
    assert rounds < 0.0006 < segment  # the loss probability of figure 8.2
    assert segment == pytest.approx(0.000612, rel=0.01)
    assert rounds == pytest.approx(0.000506, rel=0.01)


def test_the_largest_spread_of_the_window_grows_with_its_limit() -> None:
    largest = [window_moments.largest_sd(w_max) for w_max in window_moments.LARGEST_SD]
    assert [sd for _, sd in largest] == sorted(sd for _, sd in largest)
    assert [p for p, _ in largest] == sorted((p for p, _ in largest), reverse=True)
    assert math.isclose(largest[2][1], 15.42, rel_tol=0.001)
