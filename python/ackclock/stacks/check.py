"""Checks a stack: runs it over short paths, and compares runs that must be the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from ackclock import stacks
from ackclock.errors import InputError
from ackclock.result.result import Result
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario, one_flow
from ackclock.stacks import Stack

_LATE: Final = {"kind": "exponential", "mean": "2 ms"}

#: Paths over which a stack runs, and what differs from the first.
PATHS: Final[dict[str, dict[str, Any]]] = {
    "clean": {},
    "1 % loss": {"hops.there.impairments": [{"kind": "iid_loss", "probability": "1 %"}]},
    "10 % loss both ways": {
        "hops.there.impairments": [{"kind": "iid_loss", "probability": "10 %"}],
        "hops.back.impairments": [{"kind": "iid_loss", "probability": "10 %"}],
    },
    "duplicates and reordering": {
        "hops.there.impairments": [
            {"kind": "duplicate", "probability": "2 %"},
            {"kind": "jitter", "reordering": "allowed", "distribution": _LATE},
        ],
    },
    "small buffer": {"hops.there.queue.limit": "8 packets"},
    "marks": {"hops.there.queue": {"kind": "codel", "limit": "100 packets", "ecn": True}},
    "a transfer of 1 MB": {"flows.flow.traffic": {"kind": "transfer", "size": "1 MB"}},
    "a source of 2 Mbit/s": {"flows.flow.traffic": {"kind": "cbr", "rate": "2 Mbit/s"}},
}

# A window of ten packets that never grows uses 3 Mbit/s of 10 Mbit/s over 40 ms.
_LEAST_SHARE: Final = 0.35
# Share of the source's rate that arrives: all but what is on its way in the end.
_LEAST_OF_SOURCE: Final = 0.95
_RATE: Final = 10e6
_SOURCE: Final = 2e6
# Runs that are compared: in one process and in this one, on one thread and on several.
_REPLICATES, _THREADS = 8, 4
_NAME: Final = "checked"


@dataclass(frozen=True)
class Checked:
    """A stack that has been checked.

    Attributes:
        stack: The stack; in the end it is called in this process.
        runs: Control, path, and goodput in bit/s of each run.
        complaints: What is wrong; empty if nothing is.
    """

    stack: Stack
    runs: tuple[tuple[str, str, float], ...]
    complaints: tuple[str, ...]


def check(library: str | Path) -> Checked:
    """Checks the stack of a shared library.

    It runs in a process of its own, and only if nothing is wrong in this one. The stack stays
    brought under the name `checked`.

    Raises:
        InputError: The library cannot be loaded, or keeps not to the border.
    """
    stack = stacks.bring(_NAME, library, apart=Path(library).suffix != ".py")
    runs: list[tuple[str, str, float]] = []
    complaints: list[str] = []
    for control in stack.controls:
        for path, changes in PATHS.items():
            where = f"{control} over {path}"
            with _complaining(where, complaints):
                result = simulate(_scenario(control).replace(changes), threads=1)
                goodput, wrong = _judged(path, result)
                runs.append((control, path, goodput))
                complaints += [f"{where}: {words}" for words in wrong]
    if not complaints:
        with _complaining("runs that must be the same", complaints):
            stack, wrong = _compare(stack)
            complaints += wrong
    return Checked(stack, tuple(runs), tuple(complaints))


@contextmanager
def _complaining(where: str, complaints: list[str]) -> Iterator[None]:
    """Makes an error a complaint."""
    try:
        yield
    except InputError as error:
        complaints.append(f"{where}: {error.message}")


def _compare(stack: Stack) -> tuple[Stack, list[str]]:
    """Compares runs in one process of the stack with those in this process."""
    lossy = _scenario(stack.controls[0]).replace(
        PATHS["1 % loss"] | {"duration": "5 s", "replicates": _REPLICATES}
    )
    first = simulate(lossy, threads=1)
    second = simulate(lossy, threads=1)
    complaints = []
    if not _same(first, second):
        complaints.append(
            "two runs of the same scenario differ: it reads a clock, or draws not from its seed"
        )
    here = stacks.bring(_NAME, stack.library)
    if not complaints and not _same(first, simulate(lossy, threads=_THREADS)):
        complaints.append(
            f"runs on {_THREADS} threads of one process differ: its objects share state; give it "
            "the flag ACKCLOCK_PROCESS_STATE, or no such state"
        )
    return here, complaints


def _same(first: Result, second: Result) -> bool:
    return all(first.tables[name].equals(second.tables[name]) for name in ("flows", "samples"))


def _scenario(control: str) -> Scenario:
    return one_flow({"kind": "quic", "stack": _NAME, "control": control}, "10 s")


def _judged(path: str, result: Result) -> tuple[float, list[str]]:
    """Returns the goodput of a run, and what is wrong with it."""
    [flow] = result.tables["flows"].to_pylist()
    goodput, wrong = float(flow["goodput_bit_per_s"]), []
    if flow["delivered_bytes"] == 0:
        wrong.append("nothing was delivered")
    elif path == "clean" and goodput < _LEAST_SHARE * _RATE:
        wrong.append(f"it used {goodput / _RATE:.0%} of the capacity: the window hardly grows")
    elif path.startswith("a transfer") and flow["completion_time_s"] is None:
        wrong.append(f"{flow['delivered_bytes']:,} of 1,000,000 bytes were delivered")
    elif path.startswith("a source") and not _LEAST_OF_SOURCE * _SOURCE <= goodput <= _SOURCE:
        wrong.append(f"{goodput / 1e6:.2f} Mbit/s were delivered")
    if goodput > _RATE:
        wrong.append(f"{goodput / 1e6:.2f} Mbit/s were delivered, more than the link carries")
    return goodput, wrong + _wrong_numbers(result.tables["samples"])


def _wrong_numbers(samples: pa.Table) -> list[str]:
    """Returns what is wrong with what the stack says of itself."""
    rtts = [rtt for rtt in samples["smoothed_rtt_s"].to_pylist() if rtt is not None and rtt == rtt]
    if rtts and min(rtts) < 0.04:
        return [f"it measured a round trip of {min(rtts) * 1e3:.1f} ms; the path takes 40 ms"]
    return []
