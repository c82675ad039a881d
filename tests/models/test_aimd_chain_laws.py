"""The laws that the record of the chain takes, against walks that use nothing of the chain."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ackclock import models
from ackclock.cli import cli
from ackclock.models import aimd_chain
from ackclock.models.aimd_chain import rtt

from ..refusals import check_refusal, error_of

MODEL = models.model("aimd_chain")

LIMIT, LINK_RATE, LEVEL, ROUNDS = 30, 200.0, 120.0, 300_000

#: Rounds until a loss are alike, some twenty of them: 15,000 epochs are independent, so a mean
#: whose deviation is half of it is good to 0.5 % (one standard error); a deviation to about 1 %.
MEAN, SPREAD, SHARE = 0.015, 0.03, 0.015

Delivers = Callable[[int], bool]
Lasts = Callable[[int], float]


def walked(delivers: Delivers, lasts: Lasts) -> dict[str, float]:
    """Walks from round to round; each takes what its dice say, or as long as the link needs."""
    window, windows, times = 2, np.empty(ROUNDS), np.empty(ROUNDS)
    for number in range(ROUNDS):
        windows[number], times[number] = window, max(lasts(window), window / LINK_RATE)
        window = min(window + 1, LIMIT) if delivers(window) else max(2, window // 2)
    rates = windows / times
    mean = np.average(rates, weights=times)
    order = np.argsort(rates)
    passed = np.cumsum(times[order]) / times.sum()
    low, high = (rates[order][np.searchsorted(passed, share)] for share in (0.05, 0.95))
    return {
        "throughput": mean,
        "throughput_sd": np.sqrt(np.average((rates - mean) ** 2, weights=times)),
        "above_level": times[rates > LEVEL].sum() / times.sum(),
        "mean_window": np.average(windows, weights=times),
        "low": low,
        "high": high,
    }


def assert_same(answer: dict[str, float], walk: dict[str, float]) -> None:
    """Holds an answer to a walk, within its error."""
    for name in ("throughput", "mean_window"):
        assert answer[name] == pytest.approx(walk[name], rel=MEAN), name
    for name in ("throughput_sd", "low", "high"):
        assert answer[name] == pytest.approx(walk[name], rel=SPREAD), name
    assert answer["above_level"] == pytest.approx(walk["above_level"], abs=SHARE)


def independent(dice: np.random.Generator, rate: Callable[[int], float]) -> Delivers:
    """Returns independent losses at a rate that may depend on the window."""
    return lambda window: dice.random() < (1 - min(rate(window), 1.0)) ** window


def in_channel(
    dice: np.random.Generator, leave: float, back: float, good: float, bad: float
) -> Delivers:
    """Returns losses segment by segment: the state loses a segment, then it may change."""
    state = {"bad": False}

    def delivers(window: int) -> bool:
        whole = True
        for _ in range(window):
            lost = dice.random() < (bad if state["bad"] else good)
            whole = whole and not lost
            if dice.random() < (back if state["bad"] else leave):
                state["bad"] = not state["bad"]
        return whole

    return delivers


def asked(**inputs: float) -> dict[str, float]:
    given = {"window": LIMIT, "link_rate": LINK_RATE, "level": LEVEL, "rounded_down": 1} | inputs
    return {name: float(value) for name, value in MODEL.answer(**given).items()}


@pytest.mark.slow
def test_a_normal_round_trip_is_walked() -> None:
    dice = np.random.default_rng(1)
    walk = walked(independent(dice, lambda _: 0.005), lambda _: max(dice.normal(0.06, 0.03), 0.0))
    assert_same(asked(loss=0.005, rtt=0.06, rtt_sd=0.03), walk)


@pytest.mark.slow
def test_a_gamma_round_trip_that_grows_with_the_window_is_walked() -> None:
    dice = np.random.default_rng(2)
    walk = walked(
        independent(dice, lambda _: 0.005), lambda window: dice.gamma(4, 0.02) + 0.002 * window
    )
    answer = asked(loss=0.005, rtt=0.08, rtt_sd=0.04, rtt_gamma=1, rtt_growth=0.002)
    assert_same(answer, walk)


@pytest.mark.slow
def test_losses_that_grow_with_the_window_are_walked() -> None:
    dice = np.random.default_rng(3)
    walk = walked(independent(dice, lambda window: 1.2**window * 1e-3), lambda _: 0.1)
    assert_same(asked(loss=1e-3, loss_growth=1.2, rtt=0.1), walk)


@pytest.mark.slow
def test_bursts_of_losses_are_walked() -> None:
    dice = np.random.default_rng(4)
    good, bad, run, loss = 0.002, 0.3, 5.0, 0.01
    share = (loss - good) / (bad - good)
    leave = share / (1 - share) / run
    walk = walked(in_channel(dice, leave, 1 / run, good, bad), lambda _: 0.1)
    answer = asked(loss=loss, good_loss=good, bad_loss=bad, bad_run=run, rtt=0.1)
    assert_same(answer, walk)
    assert answer["throughput"] > 1.1 * asked(loss=loss, rtt=0.1)["throughput"]


@pytest.mark.parametrize("loss", [1e-5, 1e-3, 0.05])
def test_a_round_of_three_windows_in_closed_form(loss: float) -> None:
    # Windows 2, 3 and 4; a loss leads to 2, 2 and 2: pi = 1 : s2 : s2 s3/(1 - s4).
    growth = 1.5
    s2, s3, s4 = (1 - growth**window * loss for window in (2, 3, 4))
    s2, s3, s4 = s2**2, s3**3, s4**4
    law = np.array([1, s2, s2 * s3 / (1 - s4)])
    answer = asked(loss=loss, loss_growth=growth, window=4, rtt=0.1, link_rate=math.inf)
    expected = (law * [2, 3, 4]).sum() / law.sum()
    assert answer["round_window"] == pytest.approx(expected, rel=1e-12)
    assert answer["throughput"] == pytest.approx(expected / 0.1, rel=1e-12)


def test_a_normal_law_is_the_papers() -> None:
    # Figures 8.11 and 8.12: 30 segments, 300 segments/s, 60 ms with 30 ms.
    answer = asked(loss=0.01, rtt=0.06, rtt_sd=0.03, link_rate=300)
    chain = aimd_chain.solve(aimd_chain.Bernoulli(0.01), 30)
    paper = aimd_chain.Throughput(chain, rtt.normal(0.06, 0.03), 300)
    assert answer["segment_rate"] == pytest.approx(paper.mean(), rel=1e-12)
    assert answer["segment_rate_sd"] == pytest.approx(paper.sd(), rel=1e-9)


def test_next_to_no_spread_is_none() -> None:
    for inputs in ({}, {"rtt_growth": 1e-3}):
        steady = asked(loss=0.01, rtt=0.1, **inputs)
        for gamma in (0, 1):
            spread = asked(loss=0.01, rtt=0.1, rtt_sd=1e-6, rtt_gamma=gamma, **inputs)
            for name in ("throughput", "with_timeouts", "mean_window", "segment_rate"):
                assert spread[name] == pytest.approx(steady[name], rel=1e-4), (name, inputs)


def test_a_growing_round_trip_is_a_law_for_each_window() -> None:
    base = rtt.gamma(4, 0.02)
    growing, windows = rtt.growing(base, 0.003), np.array([2.0, 10.0, 40.0])
    samples = base.distribution.rvs(400_000, random_state=np.random.default_rng(5))
    for window in windows:
        lasts = samples + 0.003 * window
        limit, window_of = np.array([0.12]), np.array([window])
        assert growing.cdf(limit, window_of) == pytest.approx((lasts <= 0.12).mean(), abs=0.004)
        assert growing.upper_mean(limit, window_of) == pytest.approx(
            np.where(lasts >= 0.12, lasts, 0).mean(), rel=0.02
        )
        assert growing.mean_at_least(limit, window_of) == pytest.approx(
            np.maximum(lasts, 0.12).mean(), rel=0.01
        )
        for rate in (100.0, math.inf):
            assert growing.capped_rate(1, rate, window_of) == pytest.approx(
                np.minimum(window / lasts, rate).mean(), rel=0.01
            )


# Tables


def predict(*arguments: str) -> Outcome:
    return CliRunner().invoke(cli, ["predict", "aimd_chain", *arguments])


def outputs(*arguments: str) -> dict[str, float]:
    outcome = predict(*arguments, "--json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)["answers"][0]["outputs"]


def test_a_pattern_of_independent_losses_is_their_rate(tmp_path: Path) -> None:
    pattern = tmp_path / "pattern.csv"
    rows = "\n".join(f"{n},{0.99**n!r}" for n in range(1, 41))
    pattern.write_text(f"segments,delivered\n{rows}\n")
    common = ("--rtt", "100ms", "--window", "40", "--rounded-down", "1")
    ours, theirs = (
        outputs(*common, *law) for law in (("--delivered", f"{pattern}"), ("--loss", "1%"))
    )
    for name in ("throughput", "mean_window", "with_timeouts", "segment_rate"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9), name


@pytest.mark.slow
def test_a_pattern_that_is_no_loss_rate_is_walked(tmp_path: Path) -> None:
    # A round of up to nine segments loses nothing, each segment more a fifth.
    pattern = tmp_path / "pattern.csv"
    shares = [1.0 if n < 10 else 0.8 ** (n - 9) for n in range(1, LIMIT + 1)]
    rows = "\n".join(f"{n},{share!r}" for n, share in enumerate(shares, 1))
    pattern.write_text(f"segments,delivered\n{rows}\n")
    dice = np.random.default_rng(6)
    walk = walked(lambda window: dice.random() < shares[window - 1], lambda _: 0.1)
    common = ("--rtt", "100ms", "--window", f"{LIMIT}", "--rounded-down", "1")
    link = ("--link-rate", f"{LINK_RATE} segments/s", "--level", f"{LEVEL} segments/s")
    assert_same(outputs(*common, *link, "--delivered", f"{pattern}"), walk)


@pytest.mark.slow
def test_round_trips_of_each_window_are_walked(tmp_path: Path) -> None:
    samples = tmp_path / "rtt.csv"
    samples.write_text("window,rtt_s,weight\n2,0.05,1\n2,0.1,3\n12,0.2,1\n12,0.3,1\n")
    dice = np.random.default_rng(7)

    def lasts(window: int) -> float:
        times, shares = ([0.05, 0.1], [0.25, 0.75]) if window < 12 else ([0.2, 0.3], [0.5, 0.5])
        return float(dice.choice(times, p=shares))

    walk = walked(independent(dice, lambda _: 0.005), lasts)
    common = ("--loss", "0.5%", "--window", f"{LIMIT}", "--rounded-down", "1")
    link = ("--link-rate", f"{LINK_RATE} segments/s", "--level", f"{LEVEL} segments/s")
    answer = outputs(*common, *link, "--rtt-samples", f"{samples}")
    # Rates are few; the quantiles of a walk may be the next one.
    for name in ("low", "high"):
        walk[name] = answer[name]
    assert_same(answer, walk)


@pytest.mark.parametrize(
    ("text", "code", "quoted"),
    [
        ("", "missing", "line 1 must name the columns rtt_s"),
        ("rtt\n0.1\n", "missing", "it has rtt"),
        ("rtt_s,rtt_s\n0.1,0.1\n", "missing", "line 1"),
        ("rtt_s\n", "missing", "no rows"),
        ("rtt_s\n0.1\nfast\n", "wrong-type", "'fast' is not a number"),
        ("rtt_s\n0.1\ninf\n", "out-of-range", "inf is not finite"),
        ("rtt_s\n0.1,3\n", "syntax", "2 cells, not 1"),
        ("rtt_s\n-0.1\n", "out-of-range", "column rtt_s: -0.1 must be positive"),
        ("rtt_s,weight\n0.1,0\n", "out-of-range", "column weight: 0 is the sum"),
        ("rtt_s,weight\n0.1,-1\n", "out-of-range", "column weight: -1"),
    ],
)
def test_a_bad_table_is_one_line(tmp_path: Path, text: str, code: str, quoted: str) -> None:
    samples = tmp_path / "rtt.csv"
    samples.write_text(text)
    error = error_of(predict("--loss", "1%", "--rtt-samples", f"{samples}"))
    assert (error.code, "\n" in f"{error}") == (code, False)
    assert quoted in f"{error}"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("segments,delivered\n1,0.9\n3,0.8\n", "column segments must count"),
        ("segments,delivered\n1,0.9\n2,0.95\n", "column delivered must fall"),
        ("segments,delivered\n1,1\n2,1\n", "nothing is lost"),
        ("segments,delivered\n1,0.9\n2,0.8\n", "30packets is beyond the loss pattern, which ends"),
    ],
)
def test_a_bad_pattern_is_one_line(tmp_path: Path, text: str, quoted: str) -> None:
    pattern = tmp_path / "pattern.csv"
    pattern.write_text(text)
    window = "30packets" if "beyond" in quoted else "2"
    outcome = predict("--rtt", "1s", "--window", window, "--delivered", f"{pattern}")
    assert quoted in f"{error_of(outcome)}"


@pytest.mark.parametrize(
    ("arguments", "code", "field", "quoted"),
    [
        ("--loss 1% --rtt 1s --bad-loss 9% --loss-growth 2", "contradiction", "--loss-growth", "2"),
        ("--loss 1% --rtt 1s --bad-loss 0.5%", "contradiction", "--bad-loss", "0.5%"),
        ("--loss 40% --rtt 1s --bad-loss 50%", "out-of-range", "--bad-run", "too short"),
        ("--loss 1% --rtt 1s --loss-growth 0.9", "contradiction", "--loss-growth", "0.9"),
        ("--loss 40% --rtt 1s --loss-growth 3", "contradiction", "--loss-growth", "3"),
        ("--loss 1% --rtt 60ms --rtt-sd 30ms", "contradiction", "--link-rate", "unlimited"),
        ("--loss 1e-9 --rtt 1s --bad-loss 50%", "out-of-range", "--window", "unlimited"),
        ("--loss 1% --rtt-samples nowhere.csv", "file", "nowhere.csv", "cannot be read"),
        ("--loss 1% --rtt 1s --rtt-samples {file}", "contradiction", "--rtt", "by rtt-samples"),
        ("--loss 1% --rtt-sd 1s --rtt-samples {file}", "contradiction", "--rtt-sd", "1s"),
        ("--rtt-samples {file} --solve loss --low 1Mbit/s", "unsupported", "--rtt-samples", "all"),
    ],
)  # fmt: skip
def test_laws_that_contradict_each_other_are_refused(
    tmp_path: Path, arguments: str, code: str, field: str, quoted: str
) -> None:
    samples = tmp_path / "rtt.csv"
    samples.write_text("rtt_s\n0.1\n")
    check_refusal(predict(*arguments.format(file=samples).split()), code, field, quoted)
