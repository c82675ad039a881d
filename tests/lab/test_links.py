"""Links hold a page's state, whatever is in it, and nothing that is not one."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from ackclock import engine, load
from ackclock.laboratory import LabState, decode, encode, page
from ackclock.laboratory.links import PREFIX
from ackclock.limits import LINK_CHARACTERS, PATHS

from ..in_process import ackclock
from ..refusals import check_refusal, error_of, refused
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
    assert len(link) < LINK_CHARACTERS / 4


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
        f"{PREFIX}{'A' * LINK_CHARACTERS}",
        encode(LabState(TREE))[:-6],
        link_of(b"[]"),
        link_of(b"{}"),
        link_of(b'{"scenario": 1}'),
        link_of(b'{"scenario": {}, "set": []}'),
        link_of(b'{"scenario": {}, "b": "x"}'),
        link_of(b"\xff\xfe"),
        link_of(b'{"scenario": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        link_of(b'{"scenario": {"a": "' + b"0" * 10_000_000 + b'"}}'),
        link_of(b'{"scenario": {"name": "\\ud800"}}'),
        link_of(b'{"scenario": {}, "set": {"\\udfff": 1}}'),
    ],
    ids=range(17),
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


def test_a_page_and_python_have_the_same_longest_link() -> None:
    script = page.static()["links.js"].read_text(encoding="utf-8")
    assert f"const LIMIT = {LINK_CHARACTERS:_};" in script


def test_a_link_has_a_bounded_number_of_changes() -> None:
    changes = {f"x{number}": 1 for number in range(PATHS + 1)}
    forged = link_of(json.dumps({"scenario": TREE, "set": changes}).encode())
    with refused("out-of-range", "link"):
        decode(forged)


SECRET = "hunter2"


def forged(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Links by where they name a file, or a class of a file in Python."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "run.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    tree = load(next(path for path in EXAMPLES if path.stem == "first")).tree
    link = {"kind": "trace", "file": str(tmp_path / "secret.txt"), "format": "mahimahi"}
    control = {"kind": "python", "file": str(tmp_path / "run.py"), "class": "Control"}
    path, code = "hops.bottleneck.link", "flows.download.transport.control"
    with_file = engine.replace(tree, {path: link})
    return {
        "the scenario": {"scenario": with_file},
        "its control": {"scenario": engine.replace(tree, {code: control})},
        "a sweep": {"scenario": tree | {"sweep": {path: [link]}}},
        "a field of a sweep": {"scenario": with_file | {"sweep": {f"{path}.file": ["/dev/zero"]}}},
        "a change": {"scenario": tree, "set": {path: link}},
        "a change of the control": {"scenario": tree, "set": {code: control}},
        "side B": {"scenario": tree, "b": {path: link}},
        "side B's control": {"scenario": tree, "b": {code: control}},
    }


@pytest.mark.parametrize("where", [
    "the scenario", "its control", "a sweep", "a field of a sweep", "a change",
    "a change of the control", "side B", "side B's control",
])  # fmt: skip
def test_a_link_names_no_file_and_runs_no_code(where: str, tmp_path: Path) -> None:
    link = link_of(json.dumps(forged(tmp_path)[where]).encode())
    opened = ackclock("lab", link, "--no-browser")
    assert opened.exit_code == 2, opened.output
    assert error_of(opened).code == "file"
    assert "names no file" in opened.stderr
    assert SECRET not in opened.output
    assert not (tmp_path / "ran").exists()
