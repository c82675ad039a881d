import re
from pathlib import Path

import pytest

from ackclock import Result, load, simulate
from ackclock.report import run_tables, summary
from ackclock.scenario import Scenario

FIRST = Path(__file__).parents[1] / "examples" / "first.toml"

# Two flows with small windows over a fast link: their round trips differ, and nothing queues.
TWO_ROUND_TRIPS = """\
schema = 1
name = "two round trips"
duration = "5 s"
replicates = 2

[[hops]]
name = "shared"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "50 packets" }
delay = "5 ms"

[[hops]]
name = "far"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "100 ms"

[[flows]]
name = "near"
route = ["shared"]
return = ["shared"]
transport = { kind = "tcp", control = { kind = "cubic" }, receive_window = "64 kB" }

[[flows]]
name = "distant"
route = ["far", "shared"]
return = ["shared"]
transport = { kind = "tcp", control = { kind = "cubic" }, receive_window = "64 kB" }
"""


def first(**changes: object) -> Scenario:
    """The first example, shorter, with changes."""
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return load(FIRST).replace({"duration": "10 s", "replicates": 2} | named)


def said(result: Result) -> str:
    """The sentences about a result."""
    rows, hops = run_tables.flow_rows(result), run_tables.hop_rows(result)
    return " ".join(summary.sentences(result, rows, hops))


def delay_ms(text: str) -> float:
    """The queueing delay that the sentences name."""
    return float(re.search(r"queueing delay(?: of \w+)? is (\S+) ms", text)[1])


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario.from_toml(TWO_ROUND_TRIPS),
        first(flows__download__traffic={"kind": "cbr", "rate": "100 kbit/s"}),
        first(hops__bottleneck__queue__limit="1 packet"),
    ],
    ids=["two round trips", "delayed ACKs", "no buffer"],
)
def test_a_round_trip_that_is_longer_without_a_queue_is_not_called_queueing(
    scenario: Scenario,
) -> None:
    text = said(simulate(scenario))
    assert "short" in text
    assert delay_ms(text) < 0.1


def test_a_full_buffer_is_a_queueing_delay_that_advice_may_shorten() -> None:
    text = said(simulate(first()))
    assert delay_ms(text) == pytest.approx(48, abs=10)  # of at most 60 ms: 50 packets at 10 Mbit/s
    assert "short" not in text
    assert "ackclock advise buffer" in text
