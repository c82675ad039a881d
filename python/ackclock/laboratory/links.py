"""Links: the state of a lab page as the part of its address after `#`, and back.

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
from ackclock.run.address import named_files

#: The first characters of a link; a later format has another number.
PREFIX = "#v1."
#: Most characters of a link. Chat programs and mail cut longer ones.
LIMIT = 8_000
#: Most bytes of the JSON in a link, so that a small link cannot fill the memory.
_MOST_BYTES = 200_000
#: Deepest nesting of the JSON, that of the engine's reader.
_MOST_LEVELS = 100

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
    if len(link) > LIMIT:
        raise InputError(
            "out-of-range",
            "scenario",
            f"gives a link of {len(link):,} characters, the most is {LIMIT:,}; send the file",
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
    if not mark or len(packed) + len(PREFIX) > LIMIT:
        raise InputError("syntax", "link", _NOT_A_LINK)
    try:
        stream = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
        text = unpacking.decompress(stream, _MOST_BYTES)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise InputError("syntax", "link", _NOT_A_LINK)
        written = _loaded(text.decode())
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
    return LabState(scenario, changes or {}, other, engine)


def _loaded(text: str) -> dict[str, Any]:
    """Parses the JSON of a link, an object that is not too deep."""
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    if deepest > _MOST_LEVELS:
        raise ValueError(deepest)
    written = json.loads(text)
    if not isinstance(written, dict):
        raise ValueError(written)
    return written
