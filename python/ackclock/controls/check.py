"""Checks a control: compiles it, runs it in the engine over short paths, and asks the kernel."""

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pyarrow.compute as pc

from ackclock import engine
from ackclock.errors import InputError
from ackclock.result.result import Result
from ackclock.run.host import loader
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario, one_flow

#: Paths over which the engine runs a control, and what differs from the first.
PATHS: Final[dict[str, dict[str, Any]]] = {
    "clean": {},
    "1 % loss": {"hops.there.impairments": [{"kind": "iid_loss", "probability": "1 %"}]},
    "small buffer": {"hops.there.queue.limit": "8 packets"},
    "ECN": {
        "hops.there.queue": {"kind": "codel", "limit": "100 packets", "ecn": True},
        "flows.flow.transport.ecn": True,
    },
    "10 % loss": {"hops.there.impairments": [{"kind": "iid_loss", "probability": "10 %"}]},
}

# Least share of the clean path's capacity that a control must use. A window of ten segments that
# never grows uses 3 Mbit/s of 10 Mbit/s over 40 ms (RFC 6928's initial window).
_LEAST_SHARE: Final = 0.35

_WINDOW = "cwnd_bytes"


@dataclass(frozen=True)
class Kernel:
    """The kernel's answer.

    Attributes:
        state: `taken`; `refused` by the verifier; `absent` if the kernel could not be asked.
        words: What it made of the control, or why not; one line.
        log: The last mebibyte of the text of the verifier, if it refused.
    """

    state: Literal["taken", "refused", "absent"]
    words: str
    log: str = ""


@dataclass(frozen=True)
class Checked:
    """A control that has been compiled and run by the engine.

    Attributes:
        runs: Path and goodput in bit/s of each run.
        complaints: What is wrong with these runs; empty if nothing is.
        kernel: The kernel's answer; None if it was not asked.
    """

    runs: tuple[tuple[str, float], ...]
    complaints: tuple[str, ...]
    kernel: Kernel | None


def check(file: str | Path, *, kernel: bool = True) -> Checked:
    """Checks a control.

    Args:
        file: C source (`.bpf.c`) or an object (`.bpf.o`).
        kernel: False to leave out the kernel, which needs privileges.

    Raises:
        InputError: It cannot be read or compiled, uses what the engine does not have, or fails in
            a call. Names the line of the source, if that is known.
    """
    file = Path(file)
    scenario = _scenario(file)
    with _about(file):
        scenario.resolve()
        engine.check_simulation(scenario.tree, scenario.folder)
    runs, complaints = [], []
    for name, changes in PATHS.items():
        with _about(file, f"over the path {name}"):
            result = simulate(scenario.replace(changes), threads=1)
        [flow] = result.tables["flows"].to_pylist()
        runs.append((name, float(flow["goodput_bit_per_s"])))
        complaints += [f"over the path {name}: {words}" for words in _complaints(name, result)]
    asked = _ask_kernel(engine.control_object(scenario.tree, scenario.folder)) if kernel else None
    return Checked(tuple(runs), tuple(complaints), asked)


class _about:  # noqa: N801 - it reads as a word
    """Names the file in errors about the scenario that stands for it."""

    def __init__(self, file: Path, place: str = "") -> None:
        self._file, self._place = file, place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError):
            words = f"{error.message} {self._place}".strip()
            raise InputError(error.code, f"{self._file}", words, error.value) from None


def _scenario(file: Path) -> Scenario:
    control = {"kind": "kernel", "file": file.name}
    return one_flow({"kind": "tcp", "preset": "linux", "control": control}, "20 s", file.parent)


def _complaints(path: str, result: Result) -> list[str]:
    """Returns what is wrong with a run."""
    [flow] = result.tables["flows"].to_pylist()
    samples = result.tables["samples"]
    mss = 1448
    complaints = []
    if flow["delivered_bytes"] == 0:
        complaints.append("nothing was delivered")
    least, most = pc.min(samples[_WINDOW]).as_py(), pc.max(samples[_WINDOW]).as_py()
    if least < mss:
        complaints.append(f"the window fell to {least:.0f} bytes, less than a segment")
    if most > 2**30:
        complaints.append(f"the window rose to {most / mss:.3g} segments")
    share = flow["goodput_bit_per_s"] / 10e6
    if path == "clean" and share < _LEAST_SHARE:
        complaints.append(f"it used {share:.0%} of the capacity: the window hardly grows")
    events = result.tables["events"].to_pylist()
    cuts = [event for event in events if event["kind"] in ("fast_retransmit", "timeout")]
    if path != "clean" and cuts and all(_kept(event) for event in cuts):
        complaints.append("no loss reduced the window")
    return complaints


def _kept(event: dict[str, Any]) -> bool:
    return bool(event["cwnd_after_bytes"] >= event["cwnd_before_bytes"])


def _ask_kernel(control: bytes) -> Kernel:
    """Lets the kernel load a control for a moment."""
    program = loader()
    if program is None:
        cure = "run pip install 'ackclock[kernel]', or make kernel in its source"
        return Kernel("absent", f"ackclock-kernel-host is not installed; {cure}")
    # The program bounds its own time, and ends when nobody reads its answer any more.
    with tempfile.TemporaryFile() as file:
        file.write(control)
        file.seek(0)
        command = [program, "check", "-"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=False)
    return _read(done.stdout.decode(errors="replace"), program)


def _read(answer: str, program: str) -> Kernel:
    """Reads the answer of the program that loads controls: one line of JSON."""
    try:
        verdict = json.loads(answer)
    except ValueError:
        return Kernel("absent", f"{program} gave no answer")
    refused = verdict.get("refused")
    if refused is None:
        return Kernel("taken", "the kernel takes it")
    state: Literal["refused", "absent"] = "absent" if refused["blame"] == "machine" else "refused"
    return Kernel(state, str(refused["reason"]), str(refused["log"]))
