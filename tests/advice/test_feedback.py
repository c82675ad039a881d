"""Advice on rate feedback: known answers for the publication's loop, and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome

from ackclock import Result, advise_feedback
from ackclock.advice import FeedbackAdvice, feedback, words
from ackclock.cli import cli
from ackclock.result.manifest import read_sealed

from ..refusals import check_refusal
from .made_up import HIGH, LOW, markov_csv, write_csv

#: The publication's loop: 200 ms, a queue of 10 packets of 500 bytes, a sender without fast
#: retransmit. Replicates meet the same link, so a second one would show little more.
LOOP = {
    "buffer": "10 packets",
    "mss": "460 bytes",
    "sender": "jacobson1988",
    "period": "30 ms",
    "replicates": 1,
}


def advice_at(path: Path, psi: float, length_s: float, **more: object) -> FeedbackAdvice:
    return advise_feedback(markov_csv(path / "a.csv", psi * 0.2, length_s), "200 ms", **LOOP | more)


def efficiency(advice: FeedbackAdvice, label: str) -> float:
    return next(
        outcome.efficiency.value
        for outcome in advice.outcomes.each
        if outcome.scheme.label == label
    )


@pytest.mark.slow
@pytest.mark.long
def test_what_holds_for_long_is_followed(tmp_path: Path) -> None:
    advice = advice_at(tmp_path, 100, 2000.0, effcap=[(7, 49)])
    assert advice.region.name == "track the rate"
    assert advice.psi.low <= 100 <= advice.psi.high
    assert advice.chosen.scheme.label == "INSTCAP"
    # An independent simulation of the loop has 0.682, 0.868 and 0.850, the latter two with ATM
    # cells (48/53); its standard error is 0.005. Ours is a single trace of some 100 sojourns.
    for label, independent in (
        ("none", 0.682),
        ("INSTCAP", 0.868 * 53 / 48),
        ("EFFCAP(7, 49)", 0.850 * 53 / 48),
    ):
        outcome = next(outcome for outcome in advice.outcomes.each if outcome.scheme.label == label)
        assert outcome.efficiency.low - 0.015 < independent < outcome.efficiency.high + 0.015
    assert advice.chosen.gain.low > 0.15
    assert words.sentence(advice).startswith(
        "Feed back the capacity measured last (one value every 30.0 ms"
    )


@pytest.mark.slow
@pytest.mark.long
def test_what_changes_with_the_round_trip_is_not_followed_but_held_below(tmp_path: Path) -> None:
    advice = advice_at(tmp_path, 1, 600.0)
    assert advice.region.name == "danger zone"
    # With the overhead of ATM cells, as in the publication, INSTCAP is worse than no feedback.
    assert efficiency(advice, "INSTCAP") * 48 / 53 < efficiency(advice, "none")
    assert efficiency(advice, "EFFCAP(7, 49)") * 48 / 53 == pytest.approx(0.589, abs=0.02)
    assert advice.chosen.scheme.label == "EFFCAP(7, 77)"
    assert advice.chosen.gain.low > 0.1
    assert advice.chosen.delay_gain_s.high < 0


@pytest.mark.slow
def test_what_changes_much_faster_is_averaged(tmp_path: Path) -> None:
    advice = advice_at(tmp_path, 0.1, 150.0)
    assert advice.region.name == "mean is enough"
    assert advice.psi.low <= 0.1 <= advice.psi.high
    assert efficiency(advice, "EFFCAP(7, 21)") > efficiency(advice, "none") + 0.1
    # The smallest of many means is hardly below the mean.
    assert words.fed_back(advice, advice.chosen)[0] > 1.05 * LOW


@pytest.mark.slow
@pytest.mark.long
def test_enough_buffer_loses_nothing_behind_a_source_that_follows(tmp_path: Path) -> None:
    # Delta (1 - 1/r), plus what a source sends too fast until a change is measured: one period.
    advice = advice_at(tmp_path, 5, 300.0, buffer="24 packets", effcap=[(7, 49)], replicates=2)
    assert advice.loss_free_buffer_packets == pytest.approx(20, rel=0.01)
    assert efficiency(advice, "INSTCAP") == pytest.approx(1, abs=0.01)
    flows = advice.result.rows("flows", point=1)
    assert sum(flows["dropped_packets"].to_pylist()) == 0
    assert sum(advice.result.rows("flows", point=0)["dropped_packets"].to_pylist()) > 0
    assert "a buffer of 20 packets, or about 3 more" in words.models_words(advice)
    without = advice_at(tmp_path, 5, 300.0, buffer="20 packets", effcap=[(7, 49)])
    assert sum(without.result.rows("flows", point=1)["dropped_packets"].to_pylist()) > 0


@pytest.mark.slow
@pytest.mark.long
def test_effective_capacity_is_between_the_low_rate_and_the_mean(tmp_path: Path) -> None:
    capacities = [
        advice_at(tmp_path, psi, 200.0, effcap=[(7, 49)]).effective_capacity_bit_per_s
        for psi in (0.2, 2, 20)
    ]
    assert capacities == sorted(
        capacities, reverse=True
    )  # a longer sojourn at the low rate leaves less that is reliable
    assert LOW < capacities[-1] < 1.05 * LOW
    assert capacities[0] < (HIGH + LOW) / 2


@pytest.mark.slow
def test_a_short_trace_has_no_intervals_and_says_so(tmp_path: Path) -> None:
    # Eight blocks of two sojourns of 20 s would be 320 s.
    advice = advice_at(tmp_path, 100, 200.0, effcap=[(7, 49)])
    assert advice.outcomes.blocks == 0
    assert np.isnan(advice.chosen.efficiency.low)
    assert any("too short for confidence intervals" in line for line in advice.warnings)
    assert json.loads(json.dumps(words.plain(advice), default=str))["blocks"] == 0


def ackclock(*arguments: object) -> Outcome:
    narrow = CliRunner(env={"COLUMNS": "80"})
    return narrow.invoke(cli, ["advise", "feedback", *map(str, arguments)])


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    return markov_csv(tmp_path / "moving.csv", 0.2, 60.0)


@pytest.mark.slow
def test_the_command_prints_the_table_and_a_sentence(moving: Path) -> None:
    outcome = ackclock(moving, "--rtt", "200ms", "--replicates", 1, "--effcap", "7,49")
    assert outcome.exit_code == 0, outcome.stderr
    assert "EFFCAP(7, 49)" in outcome.stdout
    assert outcome.stdout.count("recommended") == 1
    answer = re.search("^(Feed back|Do not feed back) ", outcome.stdout, re.MULTILINE)
    assert answer is not None
    assert answer.start() < outcome.stdout.index("What was tried")
    assert "danger zone" in outcome.stdout
    assert max(map(len, outcome.stdout.splitlines())) <= 80
    assert list(moving.parent.iterdir()) == [moving]


@pytest.mark.slow
def test_the_same_question_has_the_same_answer_to_the_byte(moving: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    texts = []
    for folder in folders:
        outcome = ackclock(
            moving, "--rtt", "200ms", "--replicates", 2, "--effcap", "7,49", "--json", "-o", folder
        )
        assert outcome.exit_code == 0, outcome.stderr
        texts.append(outcome.stdout)
    assert texts[0] == texts[1]
    names = sorted(path.name for path in folders[0].iterdir())
    assert "advice.json" in names
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    assert read_sealed(folders[0] / "advice.json") == json.loads(texts[0])
    assert len(Result.load(folders[0]).points) == 4
    other = (moving, "--rtt", "200ms", "--replicates", 1, "--effcap", "7,49", "-o", folders[0])
    check_refusal(ackclock(*other), "file", str(folders[0]))
    assert (folders[0] / "advice.json").read_bytes() == (folders[1] / "advice.json").read_bytes()
    replaced = ackclock(*other, "--force")
    assert replaced.exit_code == 0, replaced.stderr
    assert "replaces the result in" in replaced.stderr
    again = ackclock(*other)  # the same question again
    assert again.exit_code == 0, again.stderr
    assert again.stdout == replaced.stdout


@pytest.mark.slow
def test_schemes_meet_the_same_link_and_start_together(moving: Path) -> None:
    advice = advise_feedback(moving, "200 ms", replicates=2, effcap=[(7, 49)])
    starts = [advice.result.rows("flows", point=point)["start_s"].to_pylist() for point in range(4)]
    assert all(times == starts[0] for times in starts)
    assert starts[0][0] != starts[0][1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("--rtt", "0ms"), "out-of-range", "--rtt"),
        (("--rtt", "5"), "no-unit", "--rtt"),
        ((), "missing", "--rtt"),
        (("--rtt", "10s"), "out-of-range", "{trace}"),
        (("--rtt", "1ns"), "contradiction", "--rtt"),
        (("--rtt", "200ms", "--effcap", "0,49"), "syntax", "--effcap"),
        (("--rtt", "200ms", "--effcap", "7,0"), "syntax", "--effcap"),
        (("--rtt", "200ms", "--buffer", "0 packets"), "wrong-type", "--buffer"),
        (("--rtt", "200ms", "--buffer", "0.5 packets"), "wrong-type", "--buffer"),
        (("--rtt", "200ms", "--mss", "1"), "no-unit", "--mss"),
        (("--rtt", "200ms", "--interval", "40s"), "contradiction", "--interval"),
        (("--rtt", "200ms", "--period", "1s"), "contradiction", "--period"),
        (("--rtt", "200ms", "--period", "1ns"), "contradiction", "--period"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(
    moving: Path, arguments: tuple[str, ...], code: str, field: str
) -> None:
    check_refusal(ackclock(moving, *arguments), code, field.format(trace=moving))


def test_a_trace_that_never_changes_has_nothing_to_follow(tmp_path: Path) -> None:
    constant = write_csv(tmp_path / "a.csv", np.array([0.0, 1.0]), np.array([LOW, LOW]), 60.0)
    check_refusal(ackclock(constant, "--rtt", "100ms"), "no-data", str(constant), "400 kbit/s")
    opportunities = tmp_path / "a.down"
    opportunities.write_text(
        "".join(f"{time_ms}\n" for time_ms in range(1, 20_000, 3)), encoding="utf-8"
    )
    check_refusal(
        ackclock(opportunities, "--rtt", "100ms"), "no-data", str(opportunities), "4.00 Mbit/s"
    )


def test_a_trace_of_few_opportunities_tells_no_rate(tmp_path: Path) -> None:
    few = tmp_path / "a.down"
    few.write_text("10000\n20000\n50000\n51000\n99000\n", encoding="utf-8")
    check_refusal(ackclock(few, "--rtt", "100ms"), "out-of-range", str(few), "198 s")


@pytest.mark.long
def test_a_round_trip_of_hardly_a_packet_has_room_for_some(tmp_path: Path) -> None:
    advice = advise_feedback(
        markov_csv(tmp_path / "a.csv", 0.2, 60.0), "10 ms", replicates=1, effcap=[(7, 49)]
    )
    assert advice.path.buffer.amount == 10
    assert efficiency(advice, "none") > 0.9


def test_nothing_is_written_over_what_is_not_ours(moving: Path) -> None:
    check_refusal(
        ackclock(moving, "--rtt", "200ms", "-o", moving.parent), "file", str(moving.parent)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("psi", "pairs", "verdict"),
    [
        (1, [(7, 2), (7, 77)], "The expectation does not hold here: EFFCAP(7, 77) delivers"),
        (1, [(7, 2)], "No scheme with the smallest of many means was tried."),
        (0.1, [(7, 77)], "The expectation does not hold here: EFFCAP(7, 77) delivers"),
        (0.1, [(7, 1)], "The expectation holds here: "),
    ],
)
def test_the_text_on_the_region_says_what_the_table_says(
    tmp_path: Path, psi: float, pairs: list[tuple[int, int]], verdict: str
) -> None:
    """The smallest of many means is unsafe where few deliver more.

    No feedback reports the mean either.
    """
    advice = advise_feedback(
        markov_csv(tmp_path / "a.csv", psi * 0.2, 60.0), "200 ms", effcap=pairs, replicates=1
    )
    text = words.psi_words(advice)
    assert verdict in text
    rows = {row[0]: row[4] for row in words.outcome_table(advice).texts}
    for label in ("INSTCAP", *(f"EFFCAP({m}, {n})" for m, n in pairs if n > 1)):
        more, _, ends = rows[label].partition(" ")  # than none: "-13.0 (-14.5 to -11.2)"
        low, high = (float(end) for end in ends.strip("()").split(" to "))
        if low <= 0 <= high:
            assert (
                f"{label} cannot be distinguished from no feedback {ends.rstrip(')')} points)"
                in text
            )
        else:
            assert f"{label} delivers {more.lstrip('+-')} (" in text
    best = max(advice.outcomes.each, key=lambda outcome: outcome.efficiency.value)
    last = efficiency(advice, f"EFFCAP({pairs[-1][0]}, {pairs[-1][1]})")
    assert verdict.startswith("No ") or verdict.startswith("The expectation holds") is (
        best.efficiency.value - last <= feedback.LITTLE
    )
