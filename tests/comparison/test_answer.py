"""The short answer: marks in the table, and sentences that say who differs and by how much."""

import pytest

from ackclock import Scenario
from ackclock.comparison import SLIGHT, WITHIN, Comparison, answer
from ackclock.comparison.explanation import explanations, tally
from ackclock.report.certainty import of_comparison

from .made_up import SWEEP, compared, made_up

ENGINES = [5.0, 5.2, 4.8, 5.1, 4.9]


@pytest.fixture(scope="module")
def two(leaky_pipe: Scenario) -> Comparison:
    """Linux agrees with the engine at the first point, and has a third of it at the second."""
    scenario = leaky_pipe.replace(sweep=SWEEP)
    return compared(
        scenario,
        "square_root",
        simulate=made_up("simulate", scenario, [ENGINES, [rate / 2 for rate in ENGINES]]),
        emulate=made_up("emulate", scenario, [[5.0, 5.3, 4.9], [0.82, 0.83, 0.84]]),
    )


def test_only_what_exceeds_its_interval_is_marked(two: Comparison) -> None:
    table = answer.marked_table(two, "goodput")
    heads = [column.head for column in table.columns]
    assert {"predict model", "simulate engine", "emulate Linux TCP"} <= set(heads)
    index = heads.index("emulate Linux TCP")
    agrees, differs = (row[index].text for row in table.rows)
    assert (answer.DIFFERS in agrees, answer.DIFFERS in differs) == (False, True)
    assert all(answer.OUTSIDE not in row[heads.index("simulate engine")].text for row in table.rows)
    assert any(line.startswith(answer.DIFFERS) for line in answer.legend(two, ["goodput"]))


def test_sentences_name_the_largest_difference_and_few_runs(two: Comparison) -> None:
    sentences = answer.sentences(two, ["goodput"])
    assert sentences[0].startswith("The simulation has a goodput of 5.0")
    assert "Linux has 67 ± 10 % less goodput than the simulation for main (Reno), 5 %." in sentences
    assert sentences[-1] == "Caution: few replicates (3 of Linux)."


def test_each_cause_is_said_once_with_its_cases(two: Comparison) -> None:
    lines = answer.causes(two, explanations(two), ["goodput"])
    assert len(lines) == len(set(lines))
    assert all(" difference" in line for line in lines)


def test_a_method_within_its_intervals_is_said_to_agree_within_them(leaky_pipe: Scenario) -> None:
    scenario = leaky_pipe.replace(sweep=SWEEP)
    halves = [rate / 2 for rate in ENGINES]
    same = compared(
        scenario,
        "square_root",
        simulate=made_up("simulate", scenario, [ENGINES, halves]),
        emulate=made_up("emulate", scenario, [[5.1, 5.1, 4.9], [2.4, 2.7, 2.4]]),
    )
    within = "Linux and the simulation differ in goodput by no more than the 95 % interval."
    assert within in answer.findings(same, ["goodput"])
    assert answer.largest(same, ["goodput"], "emulate") is None


def test_explanations_of_a_method_begin_with_the_largest_difference(two: Comparison) -> None:
    listed = explanations(two)
    assert [explanation.number for explanation in listed] == list(range(1, len(listed) + 1))
    for column in {explanation.column for explanation in listed}:
        sizes = [
            max(abs(case.row.residuals[column].relative) for case in explanation.cases)
            for explanation in listed
            if explanation.column == column
        ]
        assert sizes == sorted(sizes, reverse=True)


def test_terminal_and_page_say_the_same_of_differences_below_1_percent(
    leaky_pipe: Scenario,
) -> None:
    scenario = leaky_pipe.replace(sweep=SWEEP)
    halves = [rate / 2 for rate in ENGINES]
    slight = compared(
        scenario,
        "dctcp_step",
        simulate=made_up("simulate", scenario, [ENGINES, halves]),
        emulate=made_up("emulate", scenario, [[1.004 * rate for rate in ENGINES], halves]),
    )
    standings = [
        row.residuals["emulate"].standing for row in slight.rows if row.metric == "goodput"
    ]
    assert standings == [SLIGHT, WITHIN]
    [finding] = [line for line in answer.findings(slight, ["goodput"]) if line.startswith("Linux")]
    assert "1 %" in finding
    *others, sure = of_comparison(slight)
    assert not any("settled" in reason.lead for reason in others), (
        "there is nothing to judge that by"
    )
    assert (sure.good, "1 %" in sure.lead, sure.rest) == (True, True, tally(slight))


def test_a_method_without_intervals_is_not_said_to_agree(leaky_pipe: Scenario) -> None:
    scenario = leaky_pipe.replace(sweep=SWEEP)
    once = compared(
        scenario,
        "square_root",
        simulate=made_up("simulate", scenario, [[5.0], [2.5]]),
        emulate=made_up("emulate", scenario, [[5.1], [2.4]]),
    )
    assert not any(line.startswith("Linux") for line in answer.findings(once, ["goodput"]))
