"""Links: the state of a lab page as the part of its address after `#`, and back.

A link is data from anybody. It names no file and runs no code: what opens it has the engine read
no files (`LabState.opened`).

`#v1.` is followed by base64url without padding of the raw deflate stream (RFC 1951) of JSON. The
page does the same with the browser's `CompressionStream`.
"""

import base64
import binascii
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from ackclock.errors import InputError
from ackclock.limits import LEVELS, LINK_CHARACTERS, LINK_TEXT_BYTES, PATHS
from ackclock.run.address import named_files
from ackclock.scenario import Scenario

#: The first characters of a link; a later format has another number.
PREFIX = "#v1."
_NOT_A_LINK = "is not a link of ackclock lab; copy it whole, from #v1. on"


@dataclass(frozen=True)
class LabState:
    """The state of a lab page.

    Attributes:
        scenario: Tree of the scenario.
        changes: Path to value, as the sliders of side A were moved.
        other: Path to value, what side B has differently from A; None without side B.
        engine: Version and digest of the engine that made the link; empty if unknown.
    """

    scenario: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)
    other: dict[str, Any] | None = None
    engine: str = ""

    def opened(self) -> Scenario:
        """Returns the scenario of side A without its changes; no file may be read for it."""
        return Scenario(self.scenario, only=frozenset())


def encode(state: LabState) -> str:
    """Returns the link of a state.

    Raises:
        InputError: The link would be too long, or the scenario names files, which a link cannot
            carry.
    """
    files = sorted(named_files(state.scenario))
    if files:
        raise InputError(
            "unsupported",
            "scenario",
            f"names the file {files[0]}, which a link cannot carry; export the page instead: "
            "ackclock lab export",
        )
    written: dict[str, Any] = {"scenario": state.scenario}
    if state.changes:
        written["set"] = state.changes
    if state.other is not None:
        written["b"] = state.other
    if state.engine:
        written["engine"] = state.engine
    text = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    stream = packed.compress(text.encode()) + packed.flush()
    link = PREFIX + base64.urlsafe_b64encode(stream).decode().rstrip("=")
    if len(link) > LINK_CHARACTERS:
        raise InputError(
            "out-of-range",
            "scenario",
            f"gives a link of {len(link):,} characters, the most is {LINK_CHARACTERS:,}; send the "
            "file",
        )
    return link


def is_address(text: str) -> bool:
    """Returns true for a link or another address of a page, false for the name of a file."""
    return PREFIX in text or text.startswith("#") or "://" in text


def decode(link: str) -> LabState:
    """Returns the state of a link. The scenario in it is not checked.

    Args:
        link: A whole address, or its part from `#` on.

    Raises:
        InputError: It is not a link, or holds more than a link may.
    """
    _, mark, packed = link.partition(PREFIX)
    if not mark or len(packed) + len(PREFIX) > LINK_CHARACTERS:
        raise InputError("syntax", "link", _NOT_A_LINK)
    try:
        stream = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        text = unpacking.decompress(stream, LINK_TEXT_BYTES)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise InputError("syntax", "link", _NOT_A_LINK)
        written = received(text)
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        raise InputError("syntax", "link", _NOT_A_LINK) from None
    scenario, changes, other = (written.get(name) for name in ("scenario", "set", "b"))
    engine = written.get("engine", "")
    if (
        not isinstance(scenario, dict)
        or not isinstance(changes, dict | None)
        or not isinstance(other, dict | None)
        or not isinstance(engine, str)
    ):
        raise InputError("syntax", "link", _NOT_A_LINK)
    number = len(changes or ()) + len(other or ())
    if number > PATHS:
        raise InputError("out-of-range", "link", f"has {number:,} changes, the most is {PATHS:,}")
    return LabState(scenario, changes or {}, other, engine)


def received(text: bytes) -> dict[str, Any]:
    """Returns the object of JSON from a link or a page.

    Raises:
        ValueError: It is not JSON that the engine reads, too: it is too deep, or has half of a
            character of UTF-16.
    """
    depth = deepest = 0
    for character in text:
        depth += (character in b"[{") - (character in b"]}")
        deepest = max(deepest, depth)
    if deepest > LEVELS:
        raise InputError("syntax", "", f"is nested deeper than {LEVELS} levels; flatten it")
    written = json.loads(text.decode())
    if not isinstance(written, dict):
        raise InputError("wrong-type", "", "is not an object of JSON; send one")
    json.dumps(written, ensure_ascii=False).encode()
    return written
