"""Counts what `evaluate --against` says of controls that are equal, and of one that is not.

CUBIC is evaluated by all quick cases of RFC 9743 on blocks of ten seeds that have none in common.
Every pair of blocks is compared: what is called better or worse there is chance. CUBIC with a
smaller beta is compared with every block of CUBIC, too.

The bands were chosen before the first run. At most 5 % of the pairs show any change; the level is
1 %, and pairs share blocks. No report of CUBIC beside CUBIC has a failure. Beta 0.6 in the place of
0.7 is found in 95 of 100 comparisons at least. Beta 0.698 is within chance in 95 of 100.

    python benches/evaluations.py [BLOCKS] [FOLDER]
"""

import itertools
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ackclock.evaluation import Candidate, KeptMetrics, Plan, against, evaluate, load

Record = dict[str, Any]

#: Twelve blocks make 66 pairs in about ten minutes of two cores.
BLOCKS = 12
SEEDS = 10

CUBIC = '{ kind = "cubic" }'
PLANTED = {"beta 0.6": '{ kind = "cubic", beta = 0.6 }'}
TRIFLING = {"beta 0.698": '{ kind = "cubic", beta = 0.698 }'}


def blocks(control: str, count: int, folder: Path, kept: KeptMetrics) -> Iterator[Record]:
    """Evaluates a control on each block of seeds, beside CUBIC alone."""
    suite = load("rfc9743")
    suite = replace(suite, references={"cubic": suite.references["cubic"]})
    for number in range(count):
        seeds = tuple(range(1 + SEEDS * number, 1 + SEEDS * (number + 1)))
        plan = Plan(suite, suite.cases, Candidate.read(control), suite.paths[:1], seeds, kept=kept)
        print(f"  {control}, block {number + 1} of {count}", file=sys.stderr, flush=True)
        record, _ = evaluate(plan, folder / f"{number}")
        yield record


def shown(now: Record, before: Record) -> int:
    """Returns the number of cells and verdicts that a comparison calls better or worse."""
    return int(against.record(now, "before", before)["beyond"])


def main(count: int, folder: Path) -> None:
    """Prints what is beyond chance, and raises an error outside the bands."""
    kept = KeptMetrics(folder / "kept")
    own = list(blocks(CUBIC, count, folder / "cubic", kept))
    failed = sum(bool(record["failed"]) for record in own)
    print(f"reports of CUBIC with a failure: {failed} of {count}")
    pairs = list(itertools.combinations(own, 2))
    beyond = [shown(now, before) for before, now in pairs]
    alarms = sum(number > 0 for number in beyond)
    cells = len(against.changes(own[1], own[0]))
    print(f"pairs of CUBIC with anything beyond chance: {alarms} of {len(pairs)}, {cells} cells")
    problems = []
    if failed:
        problems.append("a report of CUBIC beside CUBIC has a failure")
    if alarms > 0.05 * len(pairs):
        problems.append("equal controls differ too often")
    for wanted, planted in ((True, PLANTED), (False, TRIFLING)):
        for name, control in planted.items():
            other = list(blocks(control, count, folder / name.replace(" ", "-"), kept))
            every = [shown(now, before) > 0 for before in own for now in other]
            same = [shown(now, before) > 0 for before, now in zip(own, other, strict=True)]
            print(
                f"{name}: beyond chance in {sum(every)} of {len(every)} comparisons, and in "
                f"{sum(same)} of {len(same)} on the same seeds"
            )
            share = sum(every) / len(every)
            if (share < 0.95) if wanted else (share > 0.05):
                problems.append(f"{name} is {'missed' if wanted else 'called'} too often")
    if problems:
        raise SystemExit("; ".join(problems))


if __name__ == "__main__":
    asked = sys.argv[1:]
    count_of_blocks = int(asked[0]) if asked else BLOCKS
    with tempfile.TemporaryDirectory() as aside:
        main(count_of_blocks, Path(asked[1]) if len(asked) > 1 else Path(aside))
