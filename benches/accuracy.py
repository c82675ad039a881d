#!/usr/bin/env python3
"""Compares every model that says "applies" with the simulator on random scenarios.

    .venv/bin/python benches/accuracy.py 900 9 > benches/accuracy.csv
    .venv/bin/python benches/accuracy.py --pages

The two numbers are the first seed and how many there are. A seed draws a scenario of each family
(`accuracy_families`), or of those that are named. It departs from each several times
(`accuracy_departures`). Prints a row for
each output that has an error band: predicted, simulated, error and band. Lines that begin with `#`
count scenarios, predictions within their bands, and verdicts by model. With `--pages` it writes the
recorded numbers into the guides.
"""

import copy
import csv
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import section
from accuracy_departures import depart, rate_of
from accuracy_families import FAMILIES

from ackclock import Scenario, metrics, simulate
from ackclock.elements import facts
from ackclock.models import MODELS, Model, answer, flow_paths
from ackclock.models.path import FlowPath

Tree = dict[str, Any]

#: Departures from each scenario of a family that are tried.
DEPARTED = 4

#: Packets of all runs of a departed scenario at most; one that has more is left out.
MOST_PACKETS = 4e6

RECORDED = Path(__file__).with_suffix(".csv")
COLUMNS = (
    "family", "seed", "departures", "flow", "model", "output", "predicted", "simulated",
    "standard_error", "error", "band", "within",
)  # fmt: skip


class Compared(NamedTuple):
    """The comparison of a scenario.

    Attributes:
        rows: Rows of the record.
        answered: Answers by model, and by whether it applies.
    """

    rows: list[tuple[str, ...]]
    answered: Counter[tuple[str, bool]]


def stream(name: str, seed: int, number: int) -> np.random.Generator:
    """Returns random numbers of their own for a family, a seed and a departure."""
    named = int(hashlib.sha1(name.encode()).hexdigest()[:8], 16)
    return np.random.default_rng([seed, named, number])


def drawn(name: str, seed: int) -> Iterator[tuple[str, Tree]]:
    """Yields the departures, empty for none, and the scenario: of a family, then departed from."""
    tree = FAMILIES[name](stream(name, seed, 0))
    yield "", tree
    for number in range(1, DEPARTED + 1):
        departed = copy.deepcopy(tree)
        names = depart(stream(name, seed, number), departed)
        if packets(departed) <= MOST_PACKETS:
            yield f"{number} {'+'.join(names)}", departed


def packets(tree: Tree) -> float:
    """Returns about how many packets the runs of a scenario send."""
    slowest = min(filter(None, map(rate_of, tree["hops"])), default=0.0)
    return slowest / 8 / 1000 * float(tree["duration"].split()[0]) * int(tree["replicates"])


def verdicts(tree: Tree) -> Iterator[tuple[Tree, FlowPath, Model, dict[str, Any]]]:
    """Yields flow, path, model, and its row of `ackclock.models.predictions` if it answers."""
    resolved = Scenario(tree).resolve().tree
    for path in flow_paths(resolved):
        flow = next(each for each in resolved["flows"] if each["name"] == path.flow)
        for record in MODELS:
            says = answer(record, path)
            if says["verdict"] != "does not apply":
                yield flow, path, record, says


def predicted(
    flow: Tree, path: FlowPath, record: Model, says: dict[str, Any]
) -> Iterator[tuple[str, float, str]]:
    """Yields output, prediction and the metric that it is held against, of a model that applies."""
    is_long = path.transfer.size_segments == inf
    for output in record.outputs:
        if output.metric and (output.name != record.goodput or not is_long):
            bytes_each = facts.mss_bytes(flow) if output.unit == "segments" else 1
            yield output.name, says["outputs"][output.name] * bytes_each, output.metric
    if is_long:
        yield record.goodput, says["goodput_bit_per_s"], "goodput"


def compared(name: str, seed: int, departures: str, tree: Tree) -> Compared:
    """Returns what models predict for a scenario, beside what the simulator finds."""
    says = list(verdicts(tree))
    answered = Counter((each[2].name, each[3]["within"] is not None) for each in says)
    asked = [
        (path.flow, record, *numbers)
        for flow, path, record, row in says
        if row["within"] is not None
        for numbers in predicted(flow, path, record, row)
    ]
    result = simulate(Scenario(tree)) if asked else None
    rows = []
    for flow, record, output, value, metric in asked:
        by_subject = metrics.by_replicate(result, metrics.metric(metric)).get((0, flow), {})
        values = [each for each in by_subject.values() if each is not None and each == each]
        if values and np.mean(values) > 0:
            simulated, band = float(np.mean(values)), record.accuracy_of(output)
            spread = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
            error = value / simulated - 1
            where = name, str(seed), departures, flow, record.name, output
            numbers = f"{value:.6g}", f"{simulated:.6g}", f"{spread:.3g}", f"{error:+.4f}"
            rows.append((*where, *numbers, f"{band.within:g}", str(int(abs(error) <= band.within))))
    return Compared(rows, answered)


def of_family(name: str, seed: int) -> list[Compared]:
    """Returns the comparisons of a family's scenario, and of its departures."""
    every = []
    for departures, tree in drawn(name, seed):
        if valid(tree):
            every.append(compared(name, seed, departures, tree))
    return every


def valid(tree: Tree) -> bool:
    """Returns True if departures do not contradict each other."""
    try:
        Scenario(tree).resolve()
    except ValueError:
        return False
    return True


def draw(first: int, count: int, names: list[str]) -> None:
    """Prints the comparisons of so many seeds from the first on, for the families named."""
    print(",".join(COLUMNS))
    rows: list[tuple[str, ...]] = []
    answered: Counter[tuple[str, bool]] = Counter()
    tasks = [(name, seed) for seed in range(first, first + count) for name in names]
    with ProcessPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        for every in pool.map(of_family, *zip(*tasks, strict=True)):
            for each in every:
                rows += each.rows
                answered += each.answered
                for row in each.rows:
                    print(",".join(row), flush=True)
    scenarios = len({row[:3] for row in rows})
    inside = sum(row[-1] == "1" for row in rows)
    print(f"# {scenarios} scenarios with a model that applies; {inside} of {len(rows)} within")
    for record in MODELS:
        applies, violates = answered[record.name, True], answered[record.name, False]
        print(f"# {record.name}: applies in {applies} of {applies + violates} answers")


def recorded() -> list[dict[str, str]]:
    """Returns the rows of the recorded draw."""
    lines = [line for line in RECORDED.read_text("utf-8").splitlines() if line[0] != "#"]
    return list(csv.DictReader(lines))


def summary(rows: list[dict[str, str]]) -> str:
    """Returns the recorded draw in a sentence."""
    scenarios = len({(row["family"], row["seed"], row["departures"]) for row in rows})
    inside = sum(row["within"] == "1" for row in rows)
    share = 100 * inside / len(rows)
    return (
        f"In {scenarios} random scenarios, models that violate no assumption gave {len(rows)} "
        f"numbers. {inside} of them\n({share:.1f} %) were within their band of the simulated ones. "
        "A\n[table](which-formula.md#how-close-each-is) has them by model."
    )


def table(rows: list[dict[str, str]]) -> str:
    """Returns the bands of all models, and how the recorded draw met them, as a table."""
    lines = [
        "| model | number | band | origin | compared | within | largest error |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in MODELS:
        for band in record.accuracy:
            for output in band.outputs:
                mine = [
                    row for row in rows if row["model"] == record.name and row["output"] == output
                ]
                inside = sum(row["within"] == "1" for row in mine)
                worst = max((float(row["error"]) for row in mine), key=abs, default=None)
                shown = "" if worst is None else f"{100 * worst:+.1f} %"
                numbers = f"{len(mine) or ''} | {inside if mine else ''} | {shown}"
                words = f"{band.words} | {band.origin}"
                lines.append(f"| `{record.name}` | `{output}` | {words} | {numbers} |")
    return "\n".join(lines)


#: Sections that the record writes: page, name, text.
PAGES = (
    ("docs/guides/which-method.md", "accuracy", summary),
    ("docs/guides/which-formula.md", "accuracy", table),
)


def main() -> None:
    """Draws the seeds that the command line asks for, or writes pages."""
    if sys.argv[1:] == ["--pages"]:
        for page, name, text in PAGES:
            section.write(page, name, text(recorded()))
    else:
        draw(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(FAMILIES))


if __name__ == "__main__":
    main()
