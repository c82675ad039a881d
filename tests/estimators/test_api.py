"""`ackclock.rate_estimates` and the registry: accepted arguments, results, errors."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ackclock
from ackclock import rate_estimates
from ackclock.elements.registry import registry

from ..refusals import refused

NAMES = [estimator["name"] for estimator in registry()["estimators"]]


def trace(**other: Any) -> dict[str, Any]:
    """Returns a steady stream of 2.5 Mbit/s."""
    count = 4000
    usual = {
        "time_s": np.arange(count) * 3.2e-3,
        "ack": 2**32 - 70_000 + 1000 * np.arange(count),
        "rtt_s": np.full(count, 0.07),
        "smoothed_rtt_s": np.full(count, 0.07),
        "cwnd_bytes": np.full(count, 30_000),
    }
    return {name: values for name, values in (usual | other).items() if values is not None}


def last(table: pa.Table) -> dict[str, float]:
    return {name: table[name][-1].as_py() for name in table.column_names[1:]}


def test_all_of_them_by_default() -> None:
    estimates = rate_estimates(trace(), mss=1000)
    assert estimates.column_names == ["time_s", *(f"{name}_bit_per_s" for name in NAMES)]
    assert estimates.num_rows == 4000
    assert last(estimates)["be_bit_per_s"] == pytest.approx(2.5e6, rel=1e-6)
    assert {value[0].as_py() for value in estimates.columns} == {0.0}


def test_names_and_trees() -> None:
    by_text = rate_estimates(trace(), "be, abse", mss=1000)
    by_list = rate_estimates(trace(), ["be", {"kind": "abse"}], mss=1000)
    assert by_text.equals(by_list)
    own = rate_estimates(
        trace(), {"slow": {"kind": "abse", "horizon": 1000}, "abse": "abse"}, mss=1000
    )
    assert own.column_names == ["time_s", "slow_bit_per_s", "abse_bit_per_s"]
    assert rate_estimates(trace(), [], mss=1000).column_names == ["time_s"]


def test_a_table_lists_and_a_wrapped_trace_are_the_same() -> None:
    of_arrays = rate_estimates(trace(), mss=1000)
    assert of_arrays.equals(rate_estimates(pa.table(trace()), mss=1000))
    assert of_arrays.equals(
        rate_estimates({name: list(values) for name, values in trace().items()}, mss=1000)
    )
    assert of_arrays.equals(rate_estimates(trace(ack=trace()["ack"] % 2**32), mss=1000))
    assert of_arrays.equals(rate_estimates(trace(ack=trace()["ack"].astype(float)), mss=1000))


def test_what_is_not_known_is_null_or_not_a_number() -> None:
    gaps = np.where(np.arange(4000) % 3 == 0, np.nan, 0.07)
    nulls = pa.array([None if np.isnan(gap) else gap for gap in gaps])
    of_nan = rate_estimates(trace(rtt_s=gaps, smoothed_rtt_s=gaps), mss=1000)
    assert of_nan.equals(rate_estimates(trace(rtt_s=nulls, smoothed_rtt_s=nulls), mss=1000))
    never = np.full(4000, np.nan)
    blind = last(rate_estimates(trace(rtt_s=never, smoothed_rtt_s=never), mss=1000))
    assert blind["re_bit_per_s"] == blind["abse_bit_per_s"] == 0


def test_a_window_is_as_before_where_it_is_not_known() -> None:
    windows = np.where(np.arange(4000) < 2000, 15_000.0, 30_000.0)
    sparse = np.full(4000, np.nan)
    sparse[[0, 2000]] = 15_000, 30_000
    assert rate_estimates(trace(cwnd_bytes=sparse), mss=1000).equals(
        rate_estimates(trace(cwnd_bytes=windows), mss=1000)
    )


def test_no_acks_no_rows() -> None:
    nothing = {name: [] for name in trace()}
    assert rate_estimates(nothing, mss=1000).num_rows == 0


TIMES = trace()["time_s"]


@pytest.mark.parametrize(
    ("other", "code", "field", "value"),
    [
        ({"ack": None}, "missing", "trace.ack", ""),
        ({"rtt_s": [0.07]}, "out-of-range", "trace.rtt_s", 4000),
        ({"time_s": -TIMES}, "wrong-type", "trace.time_s", -0.0032),
        ({"time_s": TIMES[::-1] + 1}, "out-of-range", "trace.time_s", "row 1"),
        ({"time_s": np.full(4000, np.nan)}, "wrong-type", "trace.time_s", "nan"),
        ({"ack": np.full(4000, 0.5)}, "out-of-range", "trace.ack", 0.5),
        ({"ack": np.full(4000, -1)}, "out-of-range", "trace.ack", -1),
        ({"ack": ["a"] * 4000}, "wrong-type", "trace.ack", ""),
        ({"ack": np.zeros((4000, 2))}, "wrong-type", "trace.ack", 2),
        ({"rtt_s": np.full(4000, -0.1)}, "out-of-range", "trace.rtt_s", -0.1),
        ({"cwnd_bytes": np.full(4000, np.inf)}, "out-of-range", "trace.cwnd_bytes", "inf"),
    ],
)
def test_a_trace_that_cannot_be_is_refused_in_one_line(
    other: dict[str, Any], code: str, field: str, value: object
) -> None:
    with refused(code, field, value):
        rate_estimates(trace(**other), mss=1000)


@pytest.mark.slow
@pytest.mark.parametrize("mss", [0, -1, 1.5, 2**32])
def test_a_segment_has_a_size(mss: float) -> None:
    with refused("out-of-range", "mss", mss):
        rate_estimates(trace(), mss=mss)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("estimators", "code", "field"),
    [
        ("bee", "unknown-name", "estimators.bee.kind"),
        ([{"kind": "abse", "horizon": 0}], "out-of-range", "estimators.abse.horizon"),
        ({"mine": {"kind": "re", "interval": 3}}, "no-unit", "estimators.mine.interval"),
    ],
)
def test_an_estimator_that_cannot_be_is_refused_in_one_line(
    estimators: Any, code: str, field: str
) -> None:
    with refused(code, field):
        rate_estimates(trace(), estimators, mss=1000)


def test_two_of_one_name_are_refused() -> None:
    with refused("contradiction", "estimators", "abse"):
        rate_estimates(trace(), ["abse", {"kind": "abse", "horizon": 5}], mss=1000)


def test_it_is_there_for_all() -> None:
    assert "rate_estimates" in ackclock.__all__
    assert ackclock.rate_estimates is rate_estimates
