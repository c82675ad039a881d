"""The worst cells of an evaluation on the running kernel, beside their simulation.

A cell is emulated once, in real time. A run that the machine did not carry faithfully is shown as
unreliable and without a number.
"""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, LackingError
from ackclock.evaluation.criteria import Quantity
from ackclock.evaluation.measured import order
from ackclock.metrics import by_replicate
from ackclock.run.emulation import emulate
from ackclock.scenario import Scenario

Record = dict[str, Any]


@dataclass(frozen=True)
class Worst:
    """A criterion in its worst cell.

    Attributes:
        case: Name of the case.
        run: Record of the run.
        criterion: Record of the criterion.
        quantity: Its metric.
        scenario: The cell.
    """

    case: str
    run: Record
    criterion: Record
    quantity: Quantity
    scenario: Scenario


def emulated(every: Sequence[Worst], number: int, tell: Callable[[str], None]) -> list[Record]:
    """Emulates the worst cells of an evaluation; one for each case, the worst grade first.

    Args:
        every: Criteria in their worst cells.
        number: How many to emulate.
        tell: Takes the case under way.
    """
    ranked = sorted(every, key=lambda each: (order(each.criterion["grade"]), -_beyond(each)))
    by_case = {each.case: each for each in reversed(ranked)}
    records = []
    for each in [each for each in ranked if by_case[each.case] is each][:number]:
        tell(f"{each.case} on the kernel")
        records.append(_record(each))
    return records


def _beyond(each: Worst) -> float:
    cell = each.criterion["cells"][each.criterion["worst"]]
    scale = abs(cell["bound"] or 0.0) or 1.0
    sign = 1 if each.criterion["side"] == "most" else -1
    value = sign * ((cell["mean"] or 0.0) - (cell["bound"] or 0.0)) / scale
    return -math.inf if math.isnan(value) else value


def _record(each: Worst) -> Record:
    cell = each.criterion["cells"][each.criterion["worst"]]
    record: Record = {
        "case": each.case,
        "run": each.run["name"],
        "says": each.criterion["says"],
        **{name: each.criterion[name] for name in ("metric", "shown_unit", "shown_per_unit")},
        "cell": cell["cell"],
        "simulated": cell["mean"],
        "low": cell["low"],
        "high": cell["high"],
        "kernel": math.nan,
        "why_not": "",
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            scenario = each.scenario.replace({"replicates": 1, "sample_interval": "100 ms"})
            result = emulate(scenario, Path(folder) / "run", pcap=False)
            values = by_replicate(result, each.quantity.metric)
    except (InputError, LackingError) as error:
        return record | {"why_not": str(error)}
    for (_, subject), replicates in values.items():
        if subject == each.quantity.subject:
            if not replicates:
                return record | {"why_not": "the run was unreliable on this machine"}
            return record | {"kernel": next(iter(replicates.values()))}
    return record | {"why_not": "an emulation does not show this metric"}
