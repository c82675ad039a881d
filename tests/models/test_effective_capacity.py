"""Effective capacity: tabulated values, limits, and the closed form beside the Perron root."""

import json
import math
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome
from hypothesis import assume, given
from hypothesis import strategies as st

from ackclock.cli import cli
from ackclock.models.explicit_rate.effective_capacity import (
    decay_of,
    of_server,
    of_two_rates,
    stationary,
)

from ..refusals import check_refusal, refused

chances = st.floats(0.01, 1)


def chain(fall: float, rise: float) -> list[list[float]]:
    return [[1 - fall, fall], [rise, 1 - rise]]


# delta: gamma at psi = 2, 5, 10, 50, for 40 and 20 packets.
TABLE = {
    0.01: (29.5008, 28.0727, 26.1606, 21.8342),
    0.1: (25.6622, 22.1352, 21.0343, 20.2014),
    0.5: (21.3862, 20.4463, 20.2107, 20.0404),
    1: (20.6931, 20.2231, 20.1054, 20.0202),
    65: (20.0107, 20.0034, 20.0016, 20.0003),
}


@pytest.mark.parametrize("decay", TABLE)
def test_tabulated_values(decay: float) -> None:
    p = 1 / np.array([2, 5, 10, 50])
    np.testing.assert_allclose(of_two_rates(40, 20, p, p, decay), TABLE[decay], rtol=0, atol=1e-4)
    general = [of_server([40, 20], chain(probability, probability), decay) for probability in p]
    np.testing.assert_allclose(general, TABLE[decay], rtol=0, atol=1e-4)


@pytest.mark.slow
@given(st.floats(0, 100), st.floats(0, 100), chances, chances, st.floats(-6, 3))
def test_the_perron_root_is_the_closed_form(
    high: float, less: float, fall: float, rise: float, log: float
) -> None:
    assume(fall + rise < 2)
    low, decay = max(high - less, 0.0), 10**log
    expected = of_two_rates(high, low, fall, rise, decay)
    assert of_server([high, low], chain(fall, rise), decay) == pytest.approx(
        float(expected), abs=1e-6
    )


@given(st.floats(1, 100), chances, chances)
def test_the_limits_of_two_rates(less: float, fall: float, rise: float) -> None:
    high, low, mean = 20 + less, 20.0, 20 + less * rise / (fall + rise)
    assert of_two_rates(high, low, fall, rise, 0) == pytest.approx(mean)
    assert of_two_rates(high, low, fall, rise, 1e-9) == pytest.approx(mean, rel=1e-5)
    if rise < 0.99:
        expected = low - math.log(1 - rise) / 1000
        assert of_two_rates(high, low, fall, rise, 1000) == pytest.approx(expected, abs=1e-4)


def test_a_steep_decay_does_not_underflow() -> None:
    for decay in (1000, 1e6):
        assert (
            20
            < of_server([40, 20], chain(0.2, 0.2), decay)
            == pytest.approx(20 - math.log(0.8) / decay, abs=1e-9)
        )
        # A server that leaves its low rate at once keeps at least to the mean of both.
        assert of_server([40, 20], chain(0.5, 1.0), decay) == pytest.approx(
            30 + math.log(2) / 2 / decay, abs=1e-6
        )
        assert of_two_rates(40, 20, 0.5, 1.0, decay) == pytest.approx(
            30 + math.log(2) / 2 / decay, abs=1e-6
        )
        assert (
            of_server([40, 20], chain(1.0, 1.0), decay)
            == of_two_rates(40, 20, 1.0, 1.0, decay)
            == 30
        )


def least_mean(c: np.ndarray, P: np.ndarray) -> float:
    """Returns the smallest mean of a cycle, of all cycles without a repeated state."""
    return min(
        float(np.mean(c[list(cycle)]))
        for length in range(1, c.size + 1)
        for cycle in permutations(range(c.size), length)
        if all(P[state, after] > 0 for state, after in pairwise([*cycle, cycle[0]]))
    )


@st.composite
def servers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 5))
    c = np.array(draw(st.lists(st.floats(0, 50), min_size=n, max_size=n)))
    weights = np.array(
        draw(st.lists(st.sampled_from([0.0, 0.1, 1.0, 5.0]), min_size=n * n, max_size=n * n))
    )
    P = weights.reshape(n, n)
    P[np.arange(n), (np.arange(n) + 1) % n] += 0.2  # every state leads to every other
    return c, P / P.sum(axis=1, keepdims=True)


@pytest.mark.long
@given(servers())
def test_it_falls_with_the_decay_from_the_mean_to_the_least(
    server: tuple[np.ndarray, np.ndarray],
) -> None:
    c, P = server
    mean = float(stationary(P) @ c)
    capacities = [of_server(c, P, decay) for decay in (0, 1e-4, 0.01, 0.1, 0.5, 1, 10, 1000)]
    assert capacities[0] == pytest.approx(mean)
    assert all(later <= sooner + 1e-7 for sooner, later in pairwise(capacities))
    assert min(c) - 1e-9 <= least_mean(c, P) <= capacities[-1] + 1e-9
    # With n states, the entries of the balanced matrix are at least the smallest probability along
    # the worst cycle.
    assert capacities[-1] <= least_mean(c, P) - math.log(P[P > 0].min()) / 1000 + 1e-9


@pytest.mark.slow
@given(servers(), st.floats(0.02, 5))
def test_it_is_what_a_long_sum_says(server: tuple[np.ndarray, np.ndarray], decay: float) -> None:
    # -1/(n delta) log E exp(-delta sum C) by products, each scaled to avoid underflow: of one slot
    # up to 60, which every cycle divides, then of twice as many up to 3840.
    c, P = server
    law, slot = stationary(P), np.exp(-decay * c)[:, np.newaxis] * P
    product, log, logs = np.eye(c.size), 0.0, []
    for step in range(66):
        product, log = (product @ slot, log) if step < 60 else (product @ product, 2 * log)
        scale = product.sum()
        product, log = product / scale, log + math.log(scale)
        logs.append(log + math.log((law @ product).sum()))
    # The effect of the start falls as 1/n, so only the second half is used, where the ratio has
    # settled.
    expected = -(logs[-1] - logs[-2]) / 1920 / decay
    assert of_server(c, P, decay) == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
@given(servers(), st.floats(0.02, 0.98))
def test_the_inverse_is_one(server: tuple[np.ndarray, np.ndarray], share: float) -> None:
    c, P = server
    mean, least = float(stationary(P) @ c), least_mean(c, P)
    assume(mean - least > 1e-3)
    rate = least + share * (mean - least)
    assert of_server(c, P, decay_of(rate, c, P)) == pytest.approx(rate, abs=1e-6)


def test_the_inverse_beyond_its_ends() -> None:
    P = chain(0.5, 0.5)
    assert decay_of(30, [40, 20], P) == decay_of(50, [40, 20], P) == 0
    assert decay_of(20, [40, 20], P) == decay_of(3, [40, 20], P) == math.inf


@pytest.mark.parametrize(
    ("call", "field", "value"),
    [
        (lambda: of_two_rates(20, 40, 0.5, 0.5, 1), "high_minus_low", "-20"),
        (lambda: of_two_rates(40, 20, 0, 0.5, 1), "fall", "0"),
        (lambda: of_server([40, 20], chain(0.5, 0.5), -1), "decay", "-1"),
        (lambda: of_server([40, 20, 1], chain(0.5, 0.5), 1), "transitions", ""),
        (lambda: of_server([40, 20], [[0.5, 0.6], [1, 0]], 1), "transitions", ""),
        (lambda: of_server([40, 20], [[1, 0], [0.5, 0.5]], 1), "transitions", ""),
        (lambda: of_server([40, -1], chain(0.5, 0.5), 1), "capacities", "-1"),
        (lambda: decay_of(-1, [40, 20], chain(0.5, 0.5)), "rate", "-1"),
    ],
)
def test_what_makes_no_sense_is_refused(call, field: str, value: str) -> None:
    with refused("out-of-range", field, value):
        call()


def predict(transitions: Path, *options: str) -> Outcome:
    arguments = ["effective_capacity", "--transitions", f"{transitions}", "--rtt", "1s"]
    return CliRunner().invoke(cli, ["predict", *arguments, *options])


def written(folder: Path, rates: list[int], transitions: list[list[float]]) -> Path:
    """Writes the file of a server whose slots last a second."""
    lines = ["state,segments_per_s,next,probability"] + [
        f"{state + 1},{rate},{after + 1},{probability}"
        for state, rate in enumerate(rates)
        for after, probability in enumerate(transitions[state])
    ]
    file = folder / "transitions.csv"
    file.write_text("\n".join(lines))
    return file


def decay_of_the_queue(rates: list[int], transitions: list[list[float]], arrivals: int) -> float:
    """Returns by how much log P(X > x) falls per packet, from the queue itself.

    X' = max(X + gamma - C, 0) in whole packets is a chain; its stationary law is computed for a
    queue so long that its end does not matter.
    """
    longest, states = 160, len(rates)
    P = np.zeros((states, longest + 1, states, longest + 1))
    for state, rate in enumerate(rates):
        for queue in range(longest + 1):
            after = min(max(queue + arrivals - rate, 0), longest)
            P[state, queue, :, after] += transitions[state]
    law = stationary(P.reshape([states * (longest + 1)] * 2)).reshape(states, longest + 1)
    beyond = law.sum(axis=0)[::-1].cumsum()[::-1]
    last = min(int((beyond > 1e-9).sum()) - 1, 60)  # above what rounding leaves, far from the end
    return float(np.log(beyond[last - 10] / beyond[last]) / 10)


THREE = [[0.7, 0.3, 0.0], [0.2, 0.5, 0.3], [0.1, 0.4, 0.5]]


@pytest.mark.parametrize(
    ("rates", "transitions", "arrivals"),
    [
        ([6, 3, 1], THREE, 3),
        ([5, 4, 1], THREE, 3),
        ([7, 5, 2, 0], [[0.4, 0.6, 0, 0], [0.3, 0.3, 0.4, 0], [0, 0.5, 0.2, 0.3], [1, 0, 0, 0]], 3),
    ],
)
def test_a_queue_of_a_tabled_server_decays_as_asked(
    tmp_path: Path, rates: list[int], transitions: list[list[float]], arrivals: int
) -> None:
    decay = decay_of_the_queue(rates, transitions, arrivals)
    outcome = predict(written(tmp_path, rates, transitions), "--decay", f"{decay!r}", "--json")
    outputs = json.loads(outcome.stdout)["answers"][0]["outputs"]
    assert outputs["effective_capacity"] == pytest.approx(arrivals, rel=1e-4)
    assert outputs["mean_capacity"] == pytest.approx(stationary(transitions) @ rates)


def test_a_table_of_two_states_is_the_closed_form(tmp_path: Path) -> None:
    outcome = predict(written(tmp_path, [40, 20], chain(0.2, 0.1)), "--decay", "0.1", "--json")
    outputs = json.loads(outcome.stdout)["answers"][0]["outputs"]
    expected = float(of_two_rates(40, 20, 0.2, 0.1, 0.1))
    assert outputs["effective_capacity"] == pytest.approx(expected, rel=1e-9)


HEAD = "state,segments_per_s,next,probability\n"


@pytest.mark.parametrize(
    ("rows", "code", "field", "quoted"),
    [
        ("1,40,1,0.5\n1,40,2,0.5\n", "missing", "--transitions", "state 2 has no row"),
        ("1,40,1,0.5\n1,20,1,0.5\n", "contradiction", "--transitions", "two rates"),
        ("1,40,1,0.5\n", "out-of-range", "--transitions", "add up to 1"),
        ("1,40,1,1\n2,20,1,1\n", "out-of-range", "--transitions", "connect every state"),
        ("1,-40,1,1\n", "out-of-range", "--transitions", "-40"),
        ("1,0,1,1\n", "out-of-range", "--transitions", "no state carries anything"),
        ("".join(f"{n},1,{n},1\n" for n in range(301)), "out-of-range", "--transitions", "301"),
    ],
)
def test_a_bad_table_is_one_line(
    tmp_path: Path, rows: str, code: str, field: str, quoted: str
) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(HEAD + rows)
    check_refusal(predict(file, "--decay", "1"), code, field, quoted)


def test_a_table_leaves_no_rate_to_give(tmp_path: Path) -> None:
    file = written(tmp_path, [40, 20], chain(0.2, 0.1))
    rate = "9 packets/s"
    replaced = (("--rate", rate), ("--low-rate", rate), ("--psi", "9"), ("--low-psi", "9"))
    for option, value in replaced:
        outcome = predict(file, "--decay", "1", option, value)
        check_refusal(outcome, "contradiction", option, "replaced by transitions")
