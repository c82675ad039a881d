"""Models against tabulated values, the laws they must keep, and what a scenario means to them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock import Scenario, models, predict
from ackclock.models import pftk, square_root

# R = 0.1 s, T0 = 0.4 s, Wm = 64 segments; columns as in CHECKED.
LOSS = np.array([1e-4, 1e-3, 0.01, 0.05, 0.2])
CHECKED = {
    "square root": (
        lambda p: square_root.rate(0.1, p),
        [1224.7449, 387.2983, 122.4745, 54.7723, 27.3861],
    ),
    "triple duplicates, b=1": (
        lambda p: pftk.triple_duplicate_only(p, 0.1, b=1),
        [1222.3269, 385.0434, 120.6286, 53.3727, 26.2348],
    ),
    "triple duplicates, b=2": (
        lambda p: pftk.triple_duplicate_only(p, 0.1, b=2),
        [863.5606, 271.4665, 84.3826, 36.6910, 17.3703],
    ),
    "full, b=1": (
        lambda p: pftk.full(p, 0.1, 0.4, 64, b=1),
        [604.6646, 381.6352, 110.9600, 37.8981, 10.4509],
    ),
    "full, b=2": (
        lambda p: pftk.full(p, 0.1, 0.4, 64, b=2),
        [576.9314, 269.0912, 77.8465, 26.7141, 7.7843],
    ),
    "goodput, b=2": (
        lambda p: pftk.goodput(p, 0.1, 0.4, 64, b=2),
        [575.0968, 264.2652, 73.5927, 23.6590, 6.1140],
    ),
    "approximate, b=1": (
        lambda p: pftk.approximate(p, 0.1, 0.4, 64, b=1),
        [640, 383.8436, 112.3322, 36.8589, 5.3656],
    ),
    "approximate, b=2": (
        lambda p: pftk.approximate(p, 0.1, 0.4, 64, b=2),
        [640, 271.4184, 79.4309, 26.0631, 4.2728],
    ),
}

loss_rates = st.floats(1e-7, 0.9)
round_trips = st.floats(1e-4, 10)


@pytest.mark.parametrize("name", CHECKED)
def test_every_digit_of_the_tabulated_values(name: str) -> None:
    formula, expected = CHECKED[name]
    np.testing.assert_allclose(formula(LOSS), expected, rtol=0, atol=0.5001e-4)


def test_constants_of_mathis() -> None:
    assert square_root.constant(b=1) == pytest.approx(math.sqrt(3 / 2))
    assert square_root.constant(b=2) == pytest.approx(math.sqrt(3 / 4))


def test_general_aimd_of_floyd_handley_and_padhye() -> None:
    # Chosen in that report to be as aggressive as (1, 1/2).
    assert square_root.constant(alpha=0.2, beta=0.875) == pytest.approx(square_root.constant(), rel=0.01)
    assert square_root.constant(alpha=9 * (1 - 0.7) / (3 * (1 + 0.7)), beta=0.7) == pytest.approx(
        square_root.constant()
    )


@given(loss_rates, round_trips, st.floats(0.1, 60), st.integers(1, 2))
def test_pftk_keeps_the_order_of_its_forms(p: float, R: float, T0: float, b: int) -> None:
    without, sent, received = pftk.triple_duplicate_only(p, R, b), pftk.full(p, R, T0, b=b), pftk.goodput(p, R, T0, b=b)
    assert 0 < received < sent
    if T0 > 2 * R:  # a timeout no longer than a round trip costs nothing
        assert sent < without * 1.05


@given(st.floats(1e-7, 0.8), round_trips, st.floats(1.01, 1.12))
def test_more_loss_or_a_longer_way_is_slower(p: float, R: float, factor: float) -> None:
    T0, Wm = 1.0, 200
    assert pftk.goodput(p * factor, R, T0, Wm) < pftk.goodput(p, R, T0, Wm)
    assert pftk.full(p, R * factor, T0, Wm) < pftk.full(p, R, T0, Wm)
    assert square_root.rate(R * factor, p) < square_root.rate(R, p)
    assert square_root.rate(R, p * factor) < square_root.rate(R, p)


@given(st.floats(1e-6, 0.5), st.floats(1, 1000))
def test_a_window_limit_is_never_exceeded(p: float, Wm: float) -> None:
    assert pftk.full(p, 0.1, 0.4, Wm) <= Wm / 0.1 * (1 + 1e-12)


@given(st.floats(1e-9, 0.999), st.floats(1, 1e5))
def test_a_timeout_probability_is_one(p: float, w: float) -> None:
    assert 0 < pftk.timeout_probability(p, w) <= 1


def test_few_losses_are_rarely_timeouts() -> None:
    assert pftk.timeout_probability(1e-9, 100) == pytest.approx(3 / 100, rel=1e-5)


def test_square_root_is_pftks_limit() -> None:
    p = 1e-8
    assert pftk.triple_duplicate_only(p, 0.1, b=1) == pytest.approx(square_root.rate(0.1, p), rel=1e-3)


def test_arguments_are_broadcast() -> None:
    assert pftk.full(LOSS[:, None], [0.01, 0.1], 0.4, 64).shape == (5, 2)
    assert square_root.rate([0.01, 0.1], LOSS[:, None]).shape == (5, 2)


@pytest.mark.parametrize(
    ("formula", "letter"),
    [
        (lambda: pftk.full(0, 0.1, 0.4), "p"),
        (lambda: pftk.full(1, 0.1, 0.4), "p"),
        (lambda: pftk.full([0.1, math.nan], 0.1, 0.4), "p"),
        (lambda: pftk.full(0.1, 0, 0.4), "R"),
        (lambda: pftk.full(0.1, 0.1, -1), "T0"),
        (lambda: pftk.full(0.1, 0.1, 0.4, 0.5), "Wm"),
        (lambda: pftk.full(0.1, 0.1, 0.4, b=0), "b"),
        (lambda: square_root.rate(0.1, 0), "p"),
        (lambda: square_root.rate(-0.1, 0.5), "R"),
        (lambda: square_root.constant(beta=1), "beta"),
    ],
)
def test_what_a_formula_is_not_meant_for_is_refused(formula, letter: str) -> None:
    with pytest.raises(ValueError, match=f"^{letter} = .* is outside the formula's domain$"):
        formula()


def path_of(tree: dict) -> models.FlowPath:
    return models.flow_paths(tree)[0]


def test_a_scenario_in_the_terms_of_the_models(resolved) -> None:
    path = path_of(resolved())
    serialisation = 1040 * 8 / 45e6 + 1040 * 8 / 11e6 + 40 * 8 / 45e6
    assert path.round_trip_s == pytest.approx(0.07 + serialisation, rel=1e-12)
    assert path.loss == pytest.approx(0.005, rel=1e-12)
    assert path.segments_per_ack == 1
    assert path.first_timeout_s == 1  # the smallest of RFC 6298
    assert path.receive_window_segments == math.inf
    assert path.link_bit_per_s == pytest.approx(11e6 * 1000 / 1040)


def test_losses_of_several_hops_combine(resolved) -> None:
    tree = resolved()
    loss = tree["hops"][1]["impairments"][0]
    tree["hops"][0]["impairments"] = [loss | {"probability": "10 %"}, loss | {"probability": "20 %", "applies": "acks"}]
    assert path_of(tree).loss == pytest.approx(1 - 0.9 * 0.995)


def test_byte_counting_undoes_delayed_acks(resolved) -> None:
    change = {"flows.main.transport.window_counting": "per_ack"}
    assert path_of(resolved(**change)).segments_per_ack == 2
    change["flows.main.transport.window_counting"] = "bytes"
    assert path_of(resolved(**change)).segments_per_ack == 1


def test_the_variance_floor_comes_on_top_of_the_round_trip(resolved) -> None:
    change = {"flows.main.transport.rto_floor": "variance", "flows.main.transport.rto_minimum": "200 ms"}
    path = path_of(resolved(**change))
    assert path.first_timeout_s == pytest.approx(path.round_trip_s + 0.2)


def test_flows_share_a_link_evenly(resolved) -> None:
    assert path_of(resolved(**{"flows.main.count": 4})).link_bit_per_s == pytest.approx(11e6 / 4 * 1000 / 1040)


def test_without_random_loss_no_model_applies(leaky_pipe: Scenario) -> None:
    rows = predict(leaky_pipe).tables["predictions"].to_pylist()
    assert {row["model"] for row in rows} == {model.name for model in models.MODELS}
    for row in rows:
        if row["point"] == 0:
            assert row["goodput_bit_per_s"] is None
            assert (row["verdict"], row["note"]) == ("does not apply", "no random loss")
        elif row["control"] == "reno":
            assert 0 < row["goodput_bit_per_s"] <= row["model_bit_per_s"]


def test_a_model_of_aimd_does_not_apply_to_cubic(leaky_pipe: Scenario) -> None:
    rows = predict(leaky_pipe).tables["predictions"].to_pylist()
    notes = {row["note"] for row in rows if row["control"] == "cubic" and row["point"] != 3}
    assert notes == {"cubic is no AIMD", "cubic is not AIMD(1, 1/2)"}


@pytest.mark.parametrize(
    ("change", "limit", "bit_per_s"),
    [
        ({"hops.wireless.link.rate": "100 kbit/s"}, "link", 100e3 * 1000 / 1040),
        ({"flows.main.transport.receive_window": "2 packets"}, "receive window", 2 * 8000 / 0.07095),
    ],
)
def test_a_prediction_is_capped_by_the_path(resolved, change: dict, limit: str, bit_per_s: float) -> None:
    answers = models.predictions([resolved(**change)])
    assert answers["limit"][0] == limit
    assert answers["goodput_bit_per_s"][0] == pytest.approx(bit_per_s, rel=1e-3)
    assert answers["note"][0].startswith(f"capped by the {limit}")


def test_assumptions_that_a_flow_does_not_meet_are_named(resolved) -> None:
    tree = resolved()
    tree["flows"][0]["traffic"] = {"kind": "transfer", "size": "1 MB"}
    answers = models.predictions([tree])
    assert all("there is not always data to send" in note for note in answers["note"])


def test_a_flow_of_several_instances_gets_their_sum(leaky_pipe: Scenario) -> None:
    point = leaky_pipe.expand()[2].scenario  # 5 % loss: far from the link's share
    [one, three] = [
        predict(point.replace({"flows.0.count": count})).tables["predictions"].to_pylist() for count in (1, 3)
    ]
    for single, group in zip(one, three, strict=True):
        assert group["goodput_bit_per_s"] == pytest.approx(3 * single["goodput_bit_per_s"])
        assert group["instances"] == 3


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "loss recovery is sack"),
        ({"hops.return.impairments": [{"kind": "iid_loss", "probability": "1 %", "applies": "acks"}]}, "lost ACKs"),
        ({"flows.0.stop": "3 s"}, "not active all the time"),
        ({"flows.0.start": ["0 s", "2 s"]}, "not active all the time"),
        (
            {"hops.wired.link": {"kind": "markov", "rates": ["9 Mbit/s", "4 Mbit/s"], "mean_sojourn": "1 s"}},
            "the link's rate varies",
        ),
    ],
)
def test_assumptions_that_are_not_met_are_named(leaky_pipe: Scenario, changes: dict, expected: str) -> None:
    point = leaky_pipe.expand()[1].scenario.replace(changes)
    [pftk] = [row for row in predict(point).tables["predictions"].to_pylist() if row["model"] == "pftk"]
    assert expected in pftk["note"]


def test_the_square_root_says_where_timeouts_matter(leaky_pipe: Scenario) -> None:
    notes = [predict(leaky_pipe.expand()[point].scenario).tables["predictions"]["note"][0].as_py() for point in (1, 2)]
    assert ["timeouts" in note for note in notes] == [False, True]
