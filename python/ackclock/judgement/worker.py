"""The process in which a candidate's code runs: takes tasks, gives numbers.

Tasks and answers are lines of JSON. Nothing that comes out of this process is ever run or
unpickled. The first line says what the candidate needs; the first answer, which limits do not hold.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ackclock.errors import InputError, LackingError
from ackclock.judgement import sandbox
from ackclock.judgement.observed import WANTED, observe
from ackclock.scenario import one_flow

#: Names that a candidate in Python may import, by module. Others reach what it is not given:
#: `operator.attrgetter` any attribute, `typing.get_type_hints` any expression.
ALLOWED = {
    "__future__": "annotations",
    "abc": "ABC abstractmethod",
    "bisect": "bisect bisect_left bisect_right insort",
    "collections": "Counter OrderedDict defaultdict deque namedtuple",
    "dataclasses": "dataclass field replace",
    "enum": "Enum IntEnum auto",
    "fractions": "Fraction",
    "functools": "cache lru_cache partial reduce",
    "heapq": "heapify heappop heappush nlargest nsmallest",
    "itertools": "accumulate chain count cycle islice pairwise product repeat",
    "math": "ceil copysign exp floor fsum hypot inf isnan log log2 log10 nan pi sqrt",
    "random": "Random",
    "statistics": "fmean mean median pstdev stdev",
    "typing": "Any ClassVar Final NamedTuple Optional Protocol Union",
}

#: A task may take this many times its processor time.
PATIENCE = 5

# What programs need to read: libraries, a compiler, and how much memory there is.
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/proc/meminfo",
    "/proc/self",
    "/sys/fs/cgroup",
    "/dev/urandom",
)


def serve(failed: list[str]) -> None:
    """Answers tasks until the input ends.

    Args:
        failed: Limits that could not be set so far.
    """
    # What a candidate prints goes nowhere.
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    first = json.loads(tasks.readline())
    folder = Path(first["folder"])
    _import_everything()
    scratch = Path(first["scratch"]) if first["scratch"] else None
    failed = failed + sandbox.confine([*_readable(), folder], scratch)
    # Says where it was, and ends the process.
    faulthandler.register(signal.SIGPROF, chain=True)
    if scratch is None:
        sandbox.explain(list(ALLOWED))
    _answer(answers, {"failed": failed})
    for line in tasks:
        task = json.loads(line)
        # By processor time, so that a busy machine condemns nobody; by the clock for what waits.
        signal.setitimer(signal.ITIMER_PROF, task["limit_s"])
        faulthandler.dump_traceback_later(PATIENCE * task["limit_s"], exit=True)
        _answer(answers, _observed(task, folder))
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)


def _observed(task: dict[str, Any], folder: Path) -> dict[str, Any]:
    try:
        return {"quantities": observe(task, folder, threads=1)}
    except (InputError, LackingError) as error:
        return {"error": [error.code, error.field, error.message]}
    except MemoryError:
        return {"error": ["failed", "", "it needs more memory than a candidate may have"]}
    except BaseException as error:  # A panic of the engine is not an Exception.
        return {"error": ["internal", "", f"internal error: {error}"]}


def _answer(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()


def _import_everything() -> None:
    """Runs a moment of a known control: modules that are imported late are there then."""
    for name in (*ALLOWED, "ackclock.controls"):
        import_module(name)
    cubic = {"kind": "tcp", "preset": "linux", "control": {"kind": "cubic"}}
    scenario = one_flow(cubic, "100 ms")
    tree = _as_judged(scenario.tree)
    for wanted in WANTED:
        task = {"tree": tree, "rates": [1e7], "round_trips": [0.04], "wanted": wanted}
        with contextlib.suppress(InputError):
            observe(task, Path(), threads=1)


def _as_judged(tree: dict[str, Any]) -> dict[str, Any]:
    """Returns a scenario with the names of flows and hops that judgements use."""
    text = json.dumps(tree).replace('"there"', '"bottleneck"').replace('"flow"', '"x"')
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _readable() -> list[Path]:
    """Returns the folders of Python, of its packages and of the system's programs."""
    paths = {Path(path) for path in sysconfig.get_paths().values()}
    paths |= {Path(path) for path in sys.path if path}
    paths |= {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent}
    return [*sorted(paths), *map(Path, _SYSTEM)]
