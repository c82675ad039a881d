"""Ticks of swept values and words of axes."""

import pytest

from ackclock.plot.panels import words_of_path
from ackclock.plot.scales import short_numbers, swept_axis_of


def test_odd_values_give_way_to_round_ticks() -> None:
    eight = [0.125 * 32 ** (step / 7) for step in range(8)]
    assert swept_axis_of(eight, "limit", "BDP").ticks == ()


def test_values_that_lie_close_have_no_labels_over_each_other() -> None:
    assert swept_axis_of([1, 1.1, 50, 100], "limit").ticks == ()


def test_round_values_are_ticks() -> None:
    doubled = swept_axis_of([0.25, 0.5, 1, 2, 4], "limit", "BDP")
    assert [name for _, name in doubled.ticks] == ["0.25", "0.5", "1", "2", "4"]


def test_labels_have_three_digits_unless_two_would_be_the_same() -> None:
    assert short_numbers([0.205084, 0.336475, 100.0]) == ["0.205", "0.336", "100"]
    assert short_numbers([1000.0, 1001.0]) == ["1000", "1001"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("values.buffer", "buffer"),
        ("queue.limit", "queue limit"),
        ("hops.wireless", "wireless"),
        ("hops.wireless.impairments.0.probability", "wireless probability"),
        ("flows.0.start_spread", "start spread"),
        ("limit", "limit"),
    ],
)
def test_an_axis_has_words(path: str, words: str) -> None:
    assert words_of_path(path) == words
