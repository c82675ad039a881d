import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock_papers import rfc9438

loss = st.floats(1e-9, 0.5)
columns = pytest.mark.parametrize("column", rfc9438.COLUMNS, ids=lambda column: column.label)


@columns
@given(p=loss, RTT=st.floats(1e-3, 1))
def test_nobody_gets_less_than_reno(column: rfc9438.Column, p: float, RTT: float) -> None:
    assert column.window(p, RTT) >= rfc9438.COLUMNS[0].window(p, RTT)


@columns
@given(p=loss, factor=st.floats(1.001, 2))
def test_more_loss_gives_a_smaller_window(column: rfc9438.Column, p: float, factor: float) -> None:
    assert column.window(p * factor, 0.1) < column.window(p, 0.1)


@columns
@given(W=st.floats(2, 1e5))
def test_with_the_required_loss_the_window_is_reached_and_with_more_it_is_not(
    column: rfc9438.Column, W: float
) -> None:
    """HSTCP's rounded constants leave a gap near 38 segments, where the window jumps over W."""
    p = rfc9438.required_loss(column.window, W)
    assert (
        column.window(p * (1 + 1e-6), rfc9438.RTT_S)
        <= W
        <= column.window(p * (1 - 1e-6), rfc9438.RTT_S)
    )


@given(p=loss)
def test_a_tenth_of_the_round_trip_time_is_as_ten_times_the_loss(p: float) -> None:
    """CUBIC's window depends on RTT/p only, so columns of table 2 are those of table 1 shifted."""
    from ackclock.models import cubic_response

    long, short = cubic_response.cubic_window(p, 0.1), cubic_response.cubic_window(p / 10, 0.01)
    assert math.isclose(long, short, rel_tol=1e-12)


@pytest.mark.parametrize("RTT", rfc9438.AVERAGE_WINDOWS)
def test_every_printed_window_to_the_segment(RTT: float) -> None:
    comparison = rfc9438.windows(RTT, "").comparisons[0]
    assert len(comparison.cells) == 7 * 5
    for cell in comparison.cells:
        assert math.floor(cell.ours + 0.5) == int(cell.text), cell
