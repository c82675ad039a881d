"""A control as a class in Python: the same windows as the same control in C."""

from pathlib import Path

import pytest

from ackclock import Scenario, simulate
from ackclock.controls import template
from ackclock.scenario import one_flow

from ..refusals import refused
from .paths import shipped, under

RENO = '''
from ackclock.controls import Control


class Mine(Control):
    """Reno."""

    def __init__(self, beta=0.5):
        self.beta = beta
        self.prior = 0

    def cong_avoid(self, call):
        acked = call.argument[1]
        if not self.may_open(call):
            return
        if self.in_slow_start(call):
            acked = self.slow_start(call, acked)
        if acked:
            self.additive_increase(call, call.cwnd, acked)

    def ssthresh(self, call):
        self.prior = call.cwnd
        return max(int(call.cwnd * self.beta), 2)

    def undo_cwnd(self, call):
        return max(call.cwnd, self.prior)
'''
FIELD = "flows.flow.transport.control"


def scenario_of(folder: Path, text: str = RENO, **parameters: float) -> Scenario:
    """Returns the scenario under the class `Mine` of a file with this text."""
    (folder / "mine.py").write_text(text, "utf-8")
    control = {"kind": "python", "file": "mine.py", "class": "Mine"}
    return under({**control, "parameters": parameters} if parameters else control, folder)


def windows(scenario: Scenario, threads: int = 1) -> list[tuple[float, float]]:
    """Returns times and windows."""
    samples = simulate(scenario, threads=threads).tables["samples"].to_pylist()
    return [(row["time_s"], row["cwnd_bytes"]) for row in samples]


def test_it_does_what_the_same_control_in_c_does(tmp_path: Path) -> None:
    assert windows(scenario_of(tmp_path)) == windows(under(shipped("reno")))


@pytest.mark.slow
def test_rows_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path).replace(
        {"duration": "4 s", "replicates": 4, "flows.flow.count": 2}
    )
    assert windows(scenario, 1) == windows(scenario, 4)


@pytest.mark.slow
def test_parameters_reach_the_class(tmp_path: Path) -> None:
    half = windows(scenario_of(tmp_path))
    assert windows(scenario_of(tmp_path, beta=0.8)) != half
    with refused("unsupported", f"{FIELD}.file", "TypeError", "gamma"):
        simulate(scenario_of(tmp_path, gamma=1.0))


@pytest.mark.slow
def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    before = windows(scenario_of(tmp_path))
    assert windows(scenario_of(tmp_path, RENO.replace("beta=0.5", "beta=0.8"))) != before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "class Mine:\n    pass\n",
            "class Mine has no cong_avoid and no ssthresh and no undo_cwnd",
        ),
        ("class Other:\n    pass\n", "has no class Mine; its classes are Other"),
        ("import\n", "SyntaxError"),
        ("raise RuntimeError('no')\n", "RuntimeError: no (mine.py:1)"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with refused("unsupported", f"{FIELD}.file", words):
        simulate(scenario_of(tmp_path, text))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("        return 1 / 0", ("ssthresh: ZeroDivisionError", "mine.py:")),
        ("        return 7.5", ("ssthresh: ValueError: the answer is 7.5", "(mine.py:21)")),
        ("        call.cwnd = 'a'\n        return 2", ("ssthresh: ValueError: cwnd is a",)),
        ("        call.cwnd = 10.5\n        return 2", ("cwnd is 10.5, not", "(mine.py:23)")),
        ("        call.ssthresh = -1\n        return 2", ("ssthresh is -1, not", "mine.py:23")),
        ("        call.pacing_rate = 0\n        return 2", ("pacing_rate is 0, not", "py:23")),
        ("        return call.queue", ("AttributeError", "'queue'", "mine.py:23")),
        ("        call.window = 2", ("AttributeError", "'window'", "mine.py:23")),
    ],
)
def test_a_call_that_fails_ends_the_run_with_its_line(
    tmp_path: Path, wrong: str, words: tuple[str, ...]
) -> None:
    text = RENO.replace("        return max(int(call.cwnd * self.beta), 2)", wrong)
    with refused("failed", FIELD, *words):
        simulate(scenario_of(tmp_path, text))


def test_reading_a_scenario_runs_no_code(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, "open('ran', 'w')\n" + RENO)
    scenario.resolve()
    scenario.check()
    assert not (tmp_path / "ran").exists()
    assert not Path("ran").exists()


def test_it_may_pace(tmp_path: Path) -> None:
    """A rate of half of the link's is what the flow gets, and nothing waits."""
    text = RENO.replace(
        "        acked = call.argument[1]\n",
        "        call.pacing_rate = 5e6 / 8\n        acked = call.argument[1]\n",
    )
    rates, sent_again = [], []
    for source in (text, RENO):
        (tmp_path / "mine.py").write_text(source, "utf-8")
        control = {"kind": "python", "file": "mine.py", "class": "Mine"}
        tcp = {"kind": "tcp", "preset": "linux", "control": control}
        [row] = simulate(one_flow(tcp, "10 s", tmp_path)).tables["flows"].to_pylist()
        rates.append(row["goodput_bit_per_s"])
        sent_again.append(row["retransmitted_packets"])
    assert 0.9 * 5e6 < rates[0] < 5.1e6 < rates[1]
    assert sent_again[0] == 0


def test_a_rate_of_none_leaves_pacing_to_the_sender(tmp_path: Path) -> None:
    text = RENO.replace(
        "        acked = call", "        call.pacing_rate = None\n        acked = call"
    )
    assert windows(scenario_of(tmp_path, text)) == windows(scenario_of(tmp_path))


def test_a_template_is_reno(tmp_path: Path) -> None:
    text = template("mine", python=True)
    assert windows(scenario_of(tmp_path, text)) == windows(scenario_of(tmp_path))
    assert "class MyIdea(" in template("my-idea", python=True)
