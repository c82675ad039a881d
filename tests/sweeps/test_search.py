import json
import math
from pathlib import Path
from typing import Any

import pytest

from ackclock import load, simulate
from ackclock.sweeps import search as searching
from ackclock.sweeps.parameters import parse
from ackclock.sweeps.search import objective
from ackclock.sweeps.search.optimiser import OPTIMISERS, Spent
from ackclock.sweeps.search.shrinking import shrink

from ..damage import DAMAGE
from ..refusals import check_refusal, refused
from .conftest import InThisProcess
from .small import ackclock

VALUES = {("goodput", "a-1"): 6.0, ("goodput", "b"): 3.0, ("rtt", "b"): 0.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("goodput(b)/goodput(a-1)", 0.5), ("goodput( a-1 ) - 2*goodput(b)", 0.0),
        ("-goodput(b)", -3.0), ("min(goodput(b), 1, goodput(a-1))", 1.0),
        ("max(abs(-goodput(b)), 1)", 3.0), ("goodput(b)/rtt(b)", math.inf),
        ("(goodput(b)+1)*2", 8.0),
    ],
)  # fmt: skip
def test_objectives_are_arithmetic_of_metrics(text: str, value: float) -> None:
    assert objective.parse(text).value(VALUES) == value


def test_what_is_unknown_stays_unknown() -> None:
    assert math.isnan(objective.parse("min(goodput(x), 1)").value(VALUES))
    assert math.isnan(objective.parse("rtt(b)/rtt(b)").value(VALUES))
    assert objective.parse("goodput(b)/goodput(a)").measures == (("goodput", "b"), ("goodput", "a"))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1+1", "syntax"), ("goodput", "syntax"), ("goodput(b)/", "syntax"), ("", "syntax"),
        ("goodputs(b)", "unknown-name"), ("goodput(b)**2", "syntax"), ("f'{goodput(b)}'", "syntax"),
        ("__import__('os')", "unknown-name"), ("goodput(b).real", "syntax"), ("True", "syntax"),
        ("max(x=goodput(b))", "unknown-name"), ("goodput(b) if 1 else 2", "syntax"),
    ],
)  # fmt: skip
def test_what_is_no_objective_is_refused(text: str, code: str) -> None:
    with refused(code, ""):
        objective.parse(text)


PARAMETERS = [
    parse("rate=1..100 Mbit/s log"), parse("limit=5..500 packets log"), parse("kind=reno,cubic"),
    parse("x,y=0..1"),
]  # fmt: skip
BASE: dict[str, Any] = {"rate": "10 Mbit/s", "limit": "50 packets", "kind": "reno", "x": 0.5}
FOUND: dict[str, Any] = {
    "rate": "87.6543 Mbit/s", "limit": "6 packets", "kind": "cubic", "x": 0.123456, "y": 0.123456,
}  # fmt: skip


def number(value: object) -> float:
    return float(str(value).split()[0])


def test_only_what_the_property_needs_is_left() -> None:
    asked = []

    def holds(assigned: dict[str, Any]) -> bool:
        asked.append(assigned)
        full = BASE | assigned
        return number(full["rate"]) > 40 and full["kind"] == "cubic"

    shrunk = shrink(FOUND, PARAMETERS, BASE.get, holds)
    assert set(shrunk) == {"rate", "kind"}
    # Within a sixteenth of the way, on the logarithm: 40 × (87.7/10)^(1/16) = 45.8. One digit would
    # be 40, which does not do.
    assert 40 < number(shrunk["rate"]) < 45.9
    assert number(shrunk["rate"]).is_integer()
    assert holds(shrunk)
    assert len(asked) < 40


def test_joined_paths_go_back_together() -> None:
    shrunk = shrink(FOUND, PARAMETERS, BASE.get, lambda point: point.get("x", 0.5) < 0.3)
    assert set(shrunk) == {"x", "y"}
    assert shrunk["x"] == shrunk["y"] < 0.3


def test_a_base_value_in_another_unit_is_understood() -> None:
    base = BASE | {"rate": "10000 kbit/s"}
    shrunk = shrink(FOUND, PARAMETERS, base.get, lambda point: number(point.get("rate", 10)) > 40)
    assert set(shrunk) == {"rate"}
    assert 40 < number(shrunk["rate"]) < 45.9


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OPTIMISERS))
def test_optimisers_find_the_lowest_point(name: str) -> None:
    if name == "tpe":
        pytest.importorskip("optuna", reason="optuna is not installed: the optimiser tpe")
    left, best = 200, math.inf

    def evaluate(positions: Any) -> Any:
        nonlocal left, best
        left -= len(positions)
        if left < 0:
            raise Spent
        assert ((positions >= 0) & (positions < 1)).all()
        values = ((positions - [0.2, 0.7]) ** 2).sum(axis=1)
        best = min(best, values.min())
        return values

    with pytest.raises(Spent):
        OPTIMISERS[name](evaluate, 2, 1)
    # A grid of three times as many points would be within 0.02 of it: 0.02² + 0.02².
    assert best < 8e-4


# BBR takes next to nothing from Reno in this buffer of two bandwidth-delay products or more, and
# starves it in a small one. The search does not know which value matters.
DUMBBELL = """\
schema = 1
name = "bbr beside reno"
duration = "10 s"
warmup = "5 s"

[[hops]]
name = "b"
link = { kind = "constant", rate = "4 Mbit/s" }
queue = { kind = "droptail", limit = "50 packets" }
delay = "5 ms"

[[hops]]
name = "r"
link = { kind = "constant", rate = "100 Mbit/s" }
queue = { kind = "droptail", limit = "1000 packets" }
delay = "5 ms"

[[flows]]
name = "unfair"
route = ["b"]
return = ["r"]
transport = { kind = "tcp", control = { kind = "bbr1" } }
start = ["0 s", "1 s"]

[[flows]]
name = "reno"
route = ["b"]
return = ["r"]
transport = { kind = "tcp", control = { kind = "reno" } }
start = ["0 s", "1 s"]
"""
SEARCH = (
    "--minimise",
    "goodput(reno)/goodput(unfair)",
    "--below",
    "0.1",
    "--vary",
    "hops.b.queue.limit=5..500 packets log",
    "--vary",
    "hops.r.delay=1..100 ms log",
    "--vary",
    "hops.b.link.rate=1..10 Mbit/s log",
)


@pytest.fixture
def dumbbell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dumbbell.toml"
    path.write_text(DUMBBELL, encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("seed", [1])
def test_a_starving_path_is_found_confirmed_and_shrunk(dumbbell: Path, seed: int) -> None:
    outcome = ackclock(
        "sweep", "search", dumbbell, *SEARCH, "--seed", seed, "--budget", 150, "-o", "w", "--json",
    )  # fmt: skip
    assert outcome.exit_code == 0, outcome.stderr
    answer = json.loads(outcome.stdout)
    assert answer["holds"]
    assert answer["share"] >= 0.8
    assert answer["base"]["mean"] > 0.5
    assert set(answer["shrunk"]) < set(answer["assignments"])
    text = Path("w/found.toml").read_text()
    assert len(text.splitlines()) < 40
    # Whoever runs the file alone sees what was said of it.
    result = simulate(load("w/found.toml"))
    rates: dict[str, list[float]] = {"reno": [], "unfair": []}
    for row in result.tables["flows"].to_pylist():
        rates[row["flow"]].append(row["goodput_bit_per_s"])
    starved = [a < 0.1 * b for a, b in zip(rates["reno"], rates["unfair"], strict=True)]
    assert len(starved) == 20
    assert sum(starved) / 20 == answer["share"]
    # The same command finds it again without a run; the last line of a killed one is cut short, and
    # another value was changed on the disk.
    lines = Path("w/evaluations.jsonl").read_text()
    first, _, others = lines.partition("\n")
    value = json.loads(first)["values"][0]
    changed = first.replace(f"{value}", f"{value / 1e6}", 1)
    assert changed != first
    Path("w/evaluations.jsonl").write_text(f"{changed}\n{others[:-30]}")
    again = ackclock(
        "sweep", "search", dumbbell, *SEARCH, "--seed", seed, "--budget", 150, "-o", "w", "--json",
    )  # fmt: skip
    assert json.loads(again.stdout) == answer


@pytest.mark.slow
def test_a_budget_below_a_generation_is_used_as_far_as_it_goes(dumbbell: Path) -> None:
    asked = searching.Search.make(
        load(dumbbell).replace({"duration": "1 s", "warmup": "500 ms"}),
        ["hops.b.queue.limit=5..500 packets log"], "goodput(reno)", budget=20,
    )  # fmt: skip
    left: list[int] = []
    assert searching.run(asked, Path("s"), InThisProcess, left.append).best
    # Six scenarios with three replicates each; what confirms and shrinks comes in addition.
    assert set(left) == {2}


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_damaged_mark_is_named_or_written_again(dumbbell: Path) -> None:
    command = (
        "sweep", "search", dumbbell, "--minimise", "goodput(reno)", "--vary",
        "hops.b.queue.limit=5..500 packets log", "--budget", 6, "--replicates", 1, "-o", "w",
    )  # fmt: skip
    first = ackclock(*command)
    whole, answer = Path("w/search.json").read_bytes(), Path("w/found.json").read_bytes()
    for name, damage in DAMAGE.items():
        Path("w/search.json").write_bytes(whole)
        damage(Path("w/search.json"))
        refused = ackclock(*command)
        assert refused.exit_code == 2, name
        assert len(refused.stderr.splitlines()) == 1, (name, refused.stderr)
    forced = ackclock(*command, "--force")
    assert (forced.exit_code, Path("w/found.json").read_bytes()) == (first.exit_code, answer)
    assert Path("w/search.json").read_bytes() == whole


@pytest.mark.long
def test_a_search_goes_on_where_it_was_interrupted(dumbbell: Path) -> None:
    asked = searching.Search.make(
        load(dumbbell).replace({"duration": "1 s", "warmup": "500 ms"}),
        ["hops.b.queue.limit=5..500 packets log"], "goodput(reno)", budget=60, replicates=1,
    )  # fmt: skip

    def stop(left: int) -> None:
        if left < 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        searching.run(asked, Path("s"), InThisProcess, stop)
    kept = Path("s/evaluations.jsonl").read_text()
    assert kept
    outcome = searching.run(asked, Path("s"), InThisProcess)
    assert Path("s/evaluations.jsonl").read_text().startswith(kept)
    assert searching.run(asked, Path("t"), InThisProcess) == outcome


def test_bad_searches_are_refused_before_a_run(dumbbell: Path) -> None:
    vary = SEARCH[4:6]
    for options, code, field in (
        (("--minimise", "goodput(x)", *vary), "unknown-name", "--minimise"),
        (("--minimise", "utilisation(reno)", *vary), "unknown-name", "--minimise"),
        (("--minimise", "goodput(reno)"), "missing", "--vary"),
        (("--minimise", "goodput(reno)", *vary, "--optimiser", "x"), "unknown-name", "--optimiser"),
        (("--minimise", "goodput(reno)", *vary, "--budget", "5"), "out-of-range", "--budget"),
        (("--minimise", "goodput", *vary), "syntax", "--minimise"),
        (("--minimise", "goodput(reno)", *vary, "--on", "slurm:"), "unsupported", "--on"),
    ):
        check_refusal(ackclock("sweep", "search", dumbbell, *options, "-o", "w"), code, field)
        assert not Path("w").exists()
