"""Limits on what others wrote, as the engine states them (`crates/ackclock-spec/src/limits.rs`).

Scenarios, files that they name and links come from anybody. `read_file` reads a file within its
limit.
"""

from pathlib import Path

from ackclock import _native

#: Name, number, number in words, and what is limited, of each limit.
LIMITS = _native.limits()

_MOST = {name: most for name, most, _, _ in LIMITS}

SCENARIO_BYTES = _MOST["SCENARIO_BYTES"]
PATHS = _MOST["PATHS"]
MISTAKES = _MOST["MISTAKES"]
NAMED_FILE_BYTES = _MOST["NAMED_FILE_BYTES"]
CONTROL_BYTES = _MOST["CONTROL_BYTES"]
RESULT_JSON_BYTES = _MOST["RESULT_JSON_BYTES"]
RECORD_BYTES = _MOST["RECORD_BYTES"]
KEY_BYTES = _MOST["KEY_BYTES"]
LINK_CHARACTERS = _MOST["LINK_CHARACTERS"]
LINK_TEXT_BYTES = _MOST["LINK_TEXT_BYTES"]
LEVELS = _MOST["LEVELS"]
PAGE_BYTES = _MOST["PAGE_BYTES"]
REQUEST_BYTES = _MOST["REQUEST_BYTES"]
MESSAGE_CHARACTERS = _MOST["MESSAGE_CHARACTERS"]


def read_file(path: str | Path, most: int) -> bytes:
    """Returns the content of a file that somebody else may have written.

    Args:
        path: A regular file. Devices and pipes may have no end.
        most: The most bytes that it may have, one of these limits.

    Raises:
        InputError: It is larger, or not a regular file.
        OSError: As `open`.
    """
    return _native.read_file(str(path), most)


def cut(message: str) -> str:
    """Returns a message whose quoted values, and which as a whole, are not too long.

    Lone surrogates, as in the name of a file that is not UTF-8, are escaped.
    """
    return _native.cut(message.encode("utf-8", "backslashreplace").decode())
