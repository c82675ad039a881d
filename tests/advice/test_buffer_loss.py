"""The loss limit of advice on buffers: its default, its words, its page, and that it holds."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from ackclock import Scenario, advise_buffer, simulate
from ackclock.advice.buffer import phrases
from ackclock.advice.buffer.measures import values
from tests.in_process import ackclock

PATH = """\
schema = 1
name = "path"
duration = "30 s"
warmup = "8 s"
replicates = 3

[[hops]]
name = "link"
link = { kind = "constant", rate = "10 Mbit/s" }
queue = { kind = "droptail", limit = "40 packets" }
delay = "10 ms"

[[hops]]
name = "return"
link = { kind = "constant", rate = "1 Gbit/s" }
queue = { kind = "droptail", limit = "10000 packets" }
delay = "10 ms"

[[flows]]
name = "bulk"
route = ["link"]
return = ["return"]
transport = { kind = "tcp", control = { kind = "cubic" } }
start = ["0 s", "1 s"]
"""

#: Seeds of the ten paths; recorded, so that they are the same for ever.
SEEDS = range(4701, 4711)


def drawn(seed: int) -> Scenario:
    """Returns a path with a rate, round trip, control and number of flows drawn from a seed."""
    draws = np.random.default_rng(seed)
    rate, delay = 10 ** draws.uniform(0.4, 1.6), draws.uniform(4, 50)
    return Scenario.from_toml(PATH).replace(
        {
            "seed": str(seed),
            "hops.link.link.rate": f"{rate:.2f} Mbit/s",
            "hops.link.delay": f"{delay:.2f} ms",
            "hops.return.delay": f"{delay:.2f} ms",
            "flows.bulk.count": int(2 ** draws.uniform(0, 4)),
            "flows.bulk.transport.control": {"kind": str(draws.choice(["cubic", "reno"]))},
        }
    )


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_advice_on_a_path_holds_its_limit_under_other_seeds(seed: int) -> None:
    scenario = drawn(seed)
    advice = advise_buffer(scenario)
    assert advice.advised is not None
    queue = advice.advised.setting
    again = simulate(
        scenario.replace({"hops.link.queue": queue.queue, "seed": str(seed + 1000)})
        if not queue.ecn
        else scenario.replace(
            {
                "hops.link.queue": queue.queue, "seed": str(seed + 1000),
                "flows.bulk.transport.ecn": True,
            }
        )
    )  # fmt: skip
    loss = list(values(again, "link")["loss"].values())
    assert math.fsum(loss) / len(loss) <= 0.01


@pytest.mark.long
def test_the_first_line_says_the_loss_and_the_page_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("path.toml").write_text(PATH.replace('"bulk"', '"bulk"\ncount = 6'))
    advised = ackclock("advise", "buffer", "path.toml", "-o", "advice")
    assert advised.exit_code == 0, advised.stderr
    first = advised.stdout.splitlines()[0]
    assert re.match(
        r"Loss [\d.]+ (± [\d.]+ )?% \(limit 1 %; --loss changes it\) with a drop", first
    )
    answer = json.loads(Path("advice/advice.json").read_text())
    assert {"measure": "loss", "at_least": False, "bound": 0.01} in answer["targets"]
    assert answer["recommended"]["loss"]["high"] <= 0.01
    assert ackclock("report", "advice").exit_code == 0
    page = Path("advice/report.html").read_text()
    assert f"{answer['recommended']['packets']} packets" in page
    assert "loss ≤ 1" in page
    # The command on the page asks the same question.
    assert "--utilisation &#39;98 %&#39; --loss &#39;1 %&#39;" in page
    assert ackclock("advise", "buffer", "path.toml", "-o", "advice").exit_code == 0


@pytest.mark.long
def test_another_limit_gives_another_buffer() -> None:
    scenario = Scenario.from_toml(PATH).replace({"flows.bulk.count": 8})
    strict, loose = (advise_buffer(scenario, loss=limit) for limit in ("1 %", "8 %"))
    assert strict.recommended is not None
    assert loose.recommended is not None
    assert loose.recommended.setting.size < strict.recommended.setting.size
    assert "limit 8 %" in phrases.headline(loose)


@pytest.mark.long
def test_queue_management_that_wins_is_the_answer() -> None:
    """Many flows fill a long buffer; short queues with marks lose nothing."""
    scenario = Scenario.from_toml(PATH).replace({"flows.bulk.count": 12})
    advice = advise_buffer(scenario, with_aqm=True)
    assert advice.managed is not None
    assert advice.advised is advice.managed
    if advice.recommended is not None:
        assert phrases.answer(advice)[0].startswith(advice.managed.setting.label)
    assert f" with {advice.managed.setting.label} at link." in phrases.headline(advice)
