"""Code reads elements through their facts: only `elements/facts.py` reads parameters by name."""

import ast
from pathlib import Path

import pytest

from ackclock.elements import facts

PACKAGE = Path(facts.__file__).parent.parent
#: Rooms whose subject elements are.
OWNERS = {"elements", "scenario"}
READERS = sorted(
    {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()} - OWNERS
)

#: Places of elements in a resolved scenario. A row of a table may have a column `control`, so that
#: name counts only in a transport.
ELEMENTS = frozenset({"estimator", "impairments", "link", "queue", "shared_media", "traffic"})


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


@pytest.mark.parametrize("package", READERS)
def test_no_reader_takes_an_element_out_of_a_scenario(package: str) -> None:
    files = sorted((PACKAGE / package).rglob("*.py"))
    assert files
    found = {file.name: reads(file.read_text(encoding="utf-8")) for file in files}
    assert {name: expressions for name, expressions in found.items() if expressions} == {}


@pytest.mark.parametrize(
    "source",
    [
        'hop["queue"]["limit"]', 'hop.get("queue", {})', 'flow["transport"]["control"]["beta"]',
        'flow["transport"].get("control")', 'transport["control"]',
        'flow["traffic"]["kind"] == "bulk"',
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
    stated = facts.element({"kind": "fresh", "beta": 4.0, "facts": {"growth": "linear"}})
    assert (stated["growth"], stated["kept_after_loss"], stated["beta"]) == ("linear", None, None)
    assert facts.element(None)["growth"] is None
    assert facts.control({"kind": "udp"}) == ("", {})
