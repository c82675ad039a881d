"""Code reads elements through their facts: only `elements/facts.py` reads parameters by name."""

import ast
from pathlib import Path

import pyarrow.compute as pc
import pytest

from ackclock import Result, load, predict, simulate
from ackclock.elements import facts
from ackclock.report import page, summary
from ackclock.validity import l4s
from ackclock.validity.stationarity import judge
from tests.models.restated import facts_in, without_facts

PACKAGE = Path(facts.__file__).parent.parent
#: Rooms whose subject elements are.
OWNERS = {"elements", "scenario"}
READERS = sorted(
    {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()} - OWNERS
)

#: Places of elements in a resolved scenario. A row of a table may have a column `control`, so that
#: name counts only in a transport.
ELEMENTS = frozenset(
    {"estimator", "impairments", "link", "queue", "shared_media", "traffic", "transport"}
)


def reads(source: str) -> list[str]:
    """Returns the expressions that take an element out of a scenario.

    Only `ackclock.elements.facts` may do that.
    """
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if _is_read(node)]


def _is_read(node: ast.AST) -> bool:
    match node:
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(name)), ctx=ast.Load()):
            pass
        case ast.Call(
            func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(name)), *_]
        ):
            pass
        case _:
            return False
    of_transport = name == "control" and "transport" in ast.unparse(owner)
    return name in ELEMENTS or of_transport


@pytest.mark.slow
@pytest.mark.parametrize("package", READERS)
def test_no_reader_takes_an_element_out_of_a_scenario(package: str) -> None:
    files = sorted((PACKAGE / package).rglob("*.py"))
    assert files
    by_file = {file.name: reads(file.read_text(encoding="utf-8")) for file in files}
    assert {name: expressions for name, expressions in by_file.items() if expressions} == {}


@pytest.mark.parametrize(
    "source",
    [
        'hop["queue"]["limit"]', 'hop.get("queue", {})', 'flow["transport"]["control"]["beta"]',
        'flow["transport"].get("control")', 'transport["control"]',
        'flow["traffic"]["kind"] == "bulk"', 'flow["transport"]["mss"]',
        'flow.get("transport", {})',
    ],
)  # fmt: skip
def test_the_rule_sees_what_it_forbids(source: str) -> None:
    assert reads(source)


@pytest.mark.parametrize(
    "source", ['row["control"]', 'hop["queue"] = setting', "facts.queue(hop)", 'flow["route"]']
)
def test_the_rule_lets_the_rest_be(source: str) -> None:
    assert not reads(source)


def test_what_is_not_stated_is_unknown() -> None:
    growth = {"kind": "linear", "least_rtt_s": {"kind": "none"}}
    stated = facts.element({"kind": "fresh", "beta": 4.0, "facts": {"growth": growth}})
    assert (stated["growth"]["kind"], stated["growth"]["segments_per_rtt"]) == ("linear", None)
    assert (stated["kept_after_loss"], stated["beta"]) == (None, None)
    assert stated["growth"]["least_rtt_s"] is facts.NONE
    assert facts.element(None)["growth"] is None
    assert facts.control({"transport": {"kind": "udp"}}) == ("", {})


@pytest.fixture(scope="module", params=["leaky-pipe", "l4s-coexistence"])
def short(request: pytest.FixtureRequest) -> Result:
    """A result of two points with cross traffic, losses, and queues of several kinds."""
    short = {"duration": "2 s", "warmup": "1 s", "replicates": 1}
    return simulate(load(Path("examples") / f"{request.param}.toml").replace(short))


def restated(result: Result, count: int, *names: str) -> Result:
    """Returns the first points of a result, whose elements do not state facts of these names."""
    points = without_facts(result.points[:count], *names)
    tables = {
        name: table.filter(pc.field("point") < count) for name, table in result.tables.items()
    }
    return Result(result.run | {"points": points}, tables)


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_a_report_needs_no_fact(short: Result, count: int) -> None:
    for names in [(), *((name,) for name in sorted(facts_in(short.points)))]:
        result = restated(short, count, *names)
        assert summary.title(result)
        assert page([(result, predict(result, "usual"))]), names
        l4s.judge(result)


def test_a_heading_has_no_rate_that_is_not_stated(result: Result) -> None:
    assert "bit/s" in summary.subject(restated(result, 1, "no fact"))
    for name in ("varies", "mean_bit_per_s"):
        assert "bit/s" not in summary.subject(restated(result, 1, name))
    assert "of buffer" not in summary.subject(restated(result, 1, "capacity"))


def test_a_run_whose_control_states_too_little_is_not_judged(result: Result) -> None:
    judged = judge(restated(result, 1, "no fact")).verdicts
    assert {verdict.settled for verdict in judged.values()} & {True, False}
    for name in ("reacts_to_loss", "reacts_to_delay"):
        verdicts = judge(restated(result, 1, name)).verdicts.values()
        assert {verdict.settled for verdict in verdicts} == {None}, name
