"""Links hold a page's state, whatever is in it, and nothing that is not one."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from ackclock import load
from ackclock.laboratory import LabState, decode, encode
from ackclock.laboratory.links import LIMIT, PREFIX

from ..in_process import ackclock
from ..refusals import check_refusal, refused
from .conftest import EXAMPLES

TREE: dict[str, Any] = {"schema": 1, "name": "µ </script> ‮"}


def link_of(text: bytes) -> str:
    packed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    stream = packed.compress(text) + packed.flush()
    return PREFIX + base64.urlsafe_b64encode(stream).decode().rstrip("=")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_link_gives_the_scenario_back(path: Path) -> None:
    if path.stem == "trace-link":
        pytest.skip("names files, which a link cannot carry")
    state = LabState(load(path).tree, {"seed": 2}, {"duration": "10 s"}, "0.1.0 abc")
    link = encode(state)
    assert decode(link) == state
    assert decode(f"http://127.0.0.1:1/{link}") == state
    assert len(link) < LIMIT / 4


def test_no_side_b_is_not_an_equal_one() -> None:
    assert decode(encode(LabState(TREE))).other is None
    assert decode(encode(LabState(TREE, other={}))).other == {}


def test_a_scenario_with_files_has_no_link() -> None:
    traced = next(path for path in EXAMPLES if path.stem == "trace-link")
    with refused("unsupported", "scenario"):
        encode(LabState(load(traced).tree))


def test_too_long_a_link_is_refused() -> None:
    noise = {str(number): hash((number, "x")) for number in range(2000)}
    with refused("out-of-range", "scenario"):
        encode(LabState({"values": noise}))


@pytest.mark.parametrize(
    "link",
    [
        "",
        "#v2.abc",
        PREFIX,
        f"{PREFIX}!!!",
        f"{PREFIX}AAAA",
        f"{PREFIX}{'A' * LIMIT}",
        encode(LabState(TREE))[:-6],
        link_of(b"[]"),
        link_of(b"{}"),
        link_of(b'{"scenario": 1}'),
        link_of(b'{"scenario": {}, "set": []}'),
        link_of(b'{"scenario": {}, "b": "x"}'),
        link_of(b"\xff\xfe"),
        link_of(b'{"scenario": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        link_of(b'{"scenario": {"a": "' + b"0" * 10_000_000 + b'"}}'),
    ],
    ids=range(15),
)
def test_what_is_not_a_link_is_refused(link: str) -> None:
    with refused("syntax", "link"):
        decode(link)


@pytest.mark.parametrize("address", ["http://x/#garbage", "#v0.x"])
def test_an_address_is_not_taken_for_a_file(address: str) -> None:
    check_refusal(ackclock("lab", address), "syntax", "link")


def test_text_in_a_link_is_data() -> None:
    hostile = {"name": "<img src=x onerror=alert(1)>", "__proto__": {"x": 1}}
    assert decode(encode(LabState(hostile))).scenario == hostile
    assert json.dumps(hostile).encode() not in encode(LabState(hostile)).encode()
