"""The models of marks: DCTCP behind a step, and the response to a share of marks."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from ackclock import Scenario
from ackclock.models import dctcp_step, mark_response, model
from ackclock.models.resolved import flow_paths


def test_the_fixed_point_of_the_papers_example() -> None:
    """K = 65, 10 Gbit/s with packets of 12 kbit, 100 us, two flows: equations 3 to 10 by hand."""
    answer = dctcp_step.MODEL.answer(rate=1e10 / 12e3, rtt=1e-4, threshold=65, flows=2)
    assert answer["window"] == pytest.approx(74.2, abs=0.05)
    assert answer["alpha"] == pytest.approx(0.166, abs=0.0005)
    assert answer["alpha"] == pytest.approx(sqrt(2 / answer["window"]), rel=0.02)
    assert answer["amplitude"] == pytest.approx(12.5, abs=0.05)
    assert answer["largest_queue"] == 67
    assert answer["smallest_queue"] == pytest.approx(54.5, abs=0.05)
    assert answer["period"] == pytest.approx(6.2e-4, abs=0.05e-4)
    assert answer["utilisation"] == 1


def test_alpha_solves_its_equation_for_every_window() -> None:
    window = np.geomspace(1.0, 1e6, 50)
    alpha = dctcp_step.marked_share(window)
    assert alpha**2 * (1 - alpha / 4) == pytest.approx((2 * window + 1) / (window + 1) ** 2)
    assert dctcp_step.marked_share(np.array(0.0)) == pytest.approx(1.0)


def test_a_threshold_below_a_seventh_of_the_pipe_leaves_the_link_idle() -> None:
    """K > C T/7 keeps the queue from emptying (section 3.4, for any number of flows)."""
    pipe = 1000.0
    above = dctcp_step.MODEL.answer(rate=pipe, rtt=1, threshold=pipe / 7 * 1.05, flows=[1, 2, 5])
    assert (above["utilisation"] == 1).all()
    below = dctcp_step.MODEL.answer(rate=pipe, rtt=1, threshold=2, flows=1)
    assert 0.9 < below["utilisation"] < 1


SCENARIO = """
schema = 1
name = "step"
duration = "2 s"
warmup = "1 s"

[[hops]]
name = "b"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "step_marking", limit = "500 packets", threshold = "40 packets" }
delay = "2 ms"

[[hops]]
name = "back"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "500 packets" }
delay = "2 ms"

[[flows]]
name = "f"
count = 2
route = ["b"]
return = ["back"]
transport = { kind = "tcp", control = { kind = "dctcp" } }
traffic = { kind = "bulk" }
"""


def test_a_scenario_is_answered_and_what_it_lacks_is_said() -> None:
    (path,) = flow_paths(Scenario.from_toml(SCENARIO).resolve().tree)
    assert path.bottleneck.marks_above_segments == 40
    verdict = dctcp_step.MODEL.applies(path)
    assert verdict.applies
    assert "2 flows may be out of step" in verdict.note
    inputs, outputs = dctcp_step.MODEL.answer_path(path)
    assert inputs["threshold"] == 40
    assert outputs["largest_queue"] == 42
    for changed, words in (
        ({"sender": replace(path.sender, counts_marks=False)}, "does not learn"),
        (
            {"bottleneck": path.bottleneck.with_droptail(100)},
            "not known to mark all packets above a threshold",
        ),
        (
            {"bottleneck": replace(path.bottleneck, buffer_segments=41.0)},
            "the queue overflows before",
        ),
        ({"loss": replace(path.loss, rate=0.01)}, "there is random loss too"),
    ):
        assert words in dctcp_step.MODEL.applies(replace(path, **changed)).note


def test_the_response_to_marks_is_the_square_root_law_or_two_over_p() -> None:
    answer = mark_response.MODEL.answer(marks=[0.01, 0.04], rtt=0.02)
    assert answer["window"] == pytest.approx([sqrt(1.5 / 0.01), sqrt(1.5 / 0.04)])
    assert answer["scalable_window"] == pytest.approx([200, 50])
    assert answer["scalable_rate"] == pytest.approx([200 / 0.02, 50 / 0.02])
    assert answer["scalable_window_independent"] == pytest.approx([273.2, 68.3], abs=0.1)
    kept = model("mark_response").answer(marks=0.01, rtt=0.02, kept=0.8)
    assert kept["window"] == pytest.approx(sqrt(1.8 / 0.4 / 0.01))
