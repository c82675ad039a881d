"""Controls as classes in Python, for teaching and first drafts.

A class has a method for each event that a control in the Linux kernel hears: `cong_avoid`,
`ssthresh` and `undo_cwnd`, and if it needs them `init`, `pkts_acked`, `set_state` and `cwnd_event`.
Each takes a call with the fields of `struct ackclock_call` in `ackclock.bpf.h`, and may set its
`cwnd`, `cwnd_cnt` and `ssthresh`, in whole segments. `ssthresh` and `undo_cwnd` return theirs. It
may set `pacing_rate`, in bytes per second; None leaves pacing to the sender. The call is the same
object for all calls of a connection.
"""

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from ackclock.limits import CONTROL_BYTES, read_file

#: A threshold that is not set yet.
INFINITE_SSTHRESH = 0x7FFFFFFF

_NEEDED = ("cong_avoid", "ssthresh", "undo_cwnd")


class Control:
    """The arithmetic of windows that most controls share, as in `ackclock.bpf.h`."""

    def in_slow_start(self, call: Any) -> bool:
        """Returns true if the window is below its threshold."""
        return bool(call.cwnd < call.ssthresh)

    def may_open(self, call: Any) -> bool:
        """Returns true if the window limits the sender, so that it may open (RFC 7661)."""
        small = self.in_slow_start(call) and call.cwnd < 2 * call.max_packets_out
        return bool(call.limited or small)

    def slow_start(self, call: Any, acked: int) -> int:
        """Opens the window by a segment for each acknowledged one, up to the threshold.

        Returns the acknowledged segments that are left (RFC 5681 section 3.1).
        """
        cwnd = min(call.cwnd + acked, call.ssthresh)
        acked -= cwnd - call.cwnd
        call.cwnd = cwnd
        return acked

    def additive_increase(self, call: Any, each: int, acked: int) -> None:
        """Opens the window by a segment for every `each` acknowledged ones."""
        more, call.cwnd_cnt = divmod(call.cwnd_cnt + acked, max(1, each))
        call.cwnd += more


def load(file: str, name: str) -> type:
    """Returns a class of a file, which is run.

    Raises:
        ValueError: It has no such class, or the class lacks a method that every control needs.
        Exception: Whatever the file raises.
    """
    path = Path(file)
    return _loaded(str(path.resolve()), read_file(path, CONTROL_BYTES).decode(), name)


@lru_cache(maxsize=64)
def _loaded(file: str, _text: str, name: str) -> type:
    """Loads a file once for each content of it."""
    spec = importlib.util.spec_from_file_location(f"_ackclock_control_{Path(file).stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a file in Python")
    module = importlib.util.module_from_spec(spec)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = kept
    loaded = getattr(module, name, None)
    if not isinstance(loaded, type):
        classes = ", ".join(
            class_name for class_name, value in vars(module).items() if _is_own(value, module)
        )
        raise ValueError(f"has no class {name}; its classes are {classes or 'none'}")
    lacking = [method for method in _NEEDED if not callable(getattr(loaded, method, None))]
    if lacking:
        raise ValueError(f"class {name} has no {' and no '.join(lacking)}, which a control needs")
    return loaded


def _is_own(value: object, module: Any) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__
