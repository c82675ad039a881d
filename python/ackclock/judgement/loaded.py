"""The worst paths of a judgement on the running kernel, by the same object that the engine ran.

A path is emulated once, in real time. The record of the kernel's calls is given to the engine, and
the answers are compared bit by bit.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ackclock.capture import calls
from ackclock.errors import InputError, LackingError
from ackclock.judgement.judging import Judgement, file_of
from ackclock.judgement.source import Language, read
from ackclock.metrics import METRICS, by_replicate
from ackclock.run.emulation import emulate
from ackclock.run.simulation import simulate
from ackclock.scenario import Scenario, load

Record = dict[str, Any]

#: Number of worst paths that the kernel runs.
PATHS: Final = 3

_X: Final = "x"


def check(candidate: str) -> None:
    """Refuses a candidate that a kernel cannot run.

    Raises:
        InputError: It is not a program in C.
    """
    language = read(candidate).language
    if language is not Language.C:
        words = f"needs a program in C, which a kernel runs; here are {language}"
        raise InputError("unsupported", "--load", words)


def run(judgement: Judgement, folder: Path, tell: Callable[[str], None]) -> list[Record]:
    """Emulates the worst paths, and puts the outcome into the record of the judgement.

    Args:
        judgement: The judgement.
        folder: Its folder.
        tell: Takes the path under way.
    """
    records = []
    for number in range(1, min(PATHS, len(judgement.scenarios)) + 1):
        file = file_of(folder, number)
        tell(f"{file.name} on the kernel")
        records.append(_record(load(file), file.name))
    judgement.record["loaded"] = records
    return records


def _record(scenario: Scenario, name: str) -> Record:
    """Runs a path in the engine and in the kernel."""
    simulated = _goodput(simulate(scenario))
    record: Record = {
        "scenario": name,
        "simulated": [min(simulated), max(simulated)] if simulated else None,
        "kernel": None,
        "calls": 0,
        "equal": 0,
        "first": None,
        "why_not": "",
    }
    try:
        with tempfile.TemporaryDirectory(prefix="ackclock-judge-") as place:
            once = scenario.replace({"replicates": 1, "sample_interval": "100 ms"})
            result = emulate(once, Path(place) / "run", pcap=False)
            compared = calls.twin(Path(place) / "run")
    except (InputError, LackingError) as error:
        return record | {"why_not": str(error)}
    measured = _goodput(result)
    if measured:
        record["kernel"] = measured[0]
    else:
        record["why_not"] = "the run was unreliable on this machine"
    firsts = [each.outcome["first"] for each in compared if each.differs]
    return record | {
        "calls": sum(each.outcome["calls"] for each in compared),
        "equal": sum(each.outcome["equal"] for each in compared),
        "first": str(firsts[0]["call"]) if firsts else None,
    }


def _goodput(result: Any) -> list[float]:
    """Returns the goodput of the candidate for each seed, in bit/s."""
    values = by_replicate(result, METRICS["goodput"])
    every = [value for (_, flow), seeds in values.items() if flow == _X for value in seeds.values()]
    return [value for value in every if not math.isnan(value)]
