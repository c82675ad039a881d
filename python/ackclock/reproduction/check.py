"""Checks that recorded experiments still hold: `python -m ackclock.reproduction.check FOLDER`.

The folder holds `digests.json` with digests of what experiments run, and stored tables in one
folder per experiment. An experiment is run in full if a digest changed, or if its conclusion reads
tables that are not stored. If its tables are too large to store, it is also run when its own code
changed, or the numbers that it draws from brief runs. Digests and tables are recorded together, and
only if the verdict is the documented one. If nothing changed, nothing is run or written.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ackclock.reproduction import stored
from ackclock.reproduction.catalogue import chosen, experiments
from ackclock.reproduction.digest import digest, key, outcome_digest
from ackclock.reproduction.experiment import Experiment, Run
from ackclock.reproduction.runs import results
from ackclock.reproduction.sources import own_code
from ackclock.result.folder import write_whole
from ackclock.table import json_text

#: Largest size of an experiment's stored tables, in bytes.
MOST_BYTES = 300_000


class Recorded:
    """The records of experiments in a folder.

    Attributes:
        digests: By the key of a run.
        large: Digests of the conclusion, for experiments whose tables are too large to store.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        path = folder / "digests.json"
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self.digests: dict[str, str] = content.get("digests", {})
        self.large: dict[str, dict[str, str]] = content.get("large", {})

    def tables(self, experiment: Experiment) -> Path:
        """Returns the folder of an experiment's stored tables."""
        return self._folder / experiment.name

    def write(self) -> None:
        """Writes the digests and the large experiments."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {
            "large": dict(sorted(self.large.items())),
            "digests": dict(sorted(self.digests.items())),
        }
        write_whole(self._folder / "digests.json", json_text(content))

    def forget_others(self, catalogue: Iterable[Experiment]) -> None:
        """Removes records of runs and experiments that no longer exist."""
        catalogue = list(catalogue)
        keys = {key(run) for experiment in catalogue for run in simulated(experiment).values()}
        names = {experiment.name for experiment in catalogue}
        self.digests = {
            made_of: digest for made_of, digest in self.digests.items() if made_of in keys
        }
        self.large = {name: code for name, code in self.large.items() if name in names}
        for path in self._folder.iterdir():
            if path.is_dir() and path.name not in names:
                shutil.rmtree(path)


def simulated(experiment: Experiment) -> dict[str, Run]:
    """Returns the simulated runs of an experiment, by name."""
    return {name: run for name, run in experiment.runs().items() if run.method == "simulate"}


def conclusion(experiment: Experiment) -> dict[str, str]:
    """Returns the digests that stand for a conclusion: of its own code, and of its numbers."""
    return {"code": own_code(experiment), "numbers": outcome_digest(experiment)}


def changes(experiment: Experiment, recorded: Recorded) -> str:
    """Returns what changed of a conclusion whose tables are not stored; empty if nothing did."""
    before = recorded.large[experiment.name]
    changes = {
        "code": "the code that concludes changed",
        "numbers": "the conclusion draws other numbers from the same brief runs",
    }
    now = conclusion(experiment)
    return "; ".join(changes[name] for name in changes if now[name] != before.get(name))


def check(
    catalogue: Sequence[Experiment], recorded: Recorded, scratch: Path, *, everything: bool = False
) -> list[str]:
    """Runs in full and records what changed; returns what does not hold, one line each.

    Args:
        catalogue: The experiments to check.
        recorded: Their records, which are updated.
        scratch: Folder of full results, each under its address, so that an interrupted check
            continues.
        everything: True to run unchanged experiments in full and store them again too.
    """
    fresh_digests = _digests(catalogue)
    complaints: list[str] = []
    doubtful: set[str] = set()
    for experiment in catalogue:
        runs = simulated(experiment)
        fresh = {key(run): fresh_digests[key(run)] for run in runs.values()}
        why, failed = (
            ("is asked for" if fresh else "", "")
            if everything
            else _standing(experiment, fresh, recorded)
        )
        if failed:
            complaints.append(f"{experiment.name}: {failed}")
        if not why:
            continue
        print(f"{experiment.name}: {why}", flush=True)
        if len(runs) < len(experiment.runs()):
            print(
                f"  is emulated, too: run ackclock reproduce {experiment.name} by hand", flush=True
            )
        else:
            failed = _renewed(experiment, recorded, scratch)
            if failed:
                complaints.append(f"{experiment.name}: {failed}")
                doubtful |= fresh.keys()
                continue
        recorded.digests |= fresh
        recorded.write()
    if doubtful:  # These runs may also belong to an experiment that is as documented.
        recorded.digests = {
            made_of: digest
            for made_of, digest in recorded.digests.items()
            if made_of not in doubtful
        }
        recorded.write()
    return complaints


def _digests(catalogue: Iterable[Experiment]) -> dict[str, str]:
    """Runs the short replicates of all runs, on all processors."""
    runs = {key(run): run for experiment in catalogue for run in simulated(experiment).values()}
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return dict(zip(runs, pool.map(digest, runs.values(), chunksize=8), strict=True))


def _standing(experiment: Experiment, fresh: dict[str, str], recorded: Recorded) -> tuple[str, str]:
    """Returns why an experiment must run in full; otherwise why its verdict differs.

    Both are empty if neither is the case.
    """
    changed = [
        made_of for made_of, digest in fresh.items() if recorded.digests.get(made_of) != digest
    ]
    if changed:
        return f"{len(changed)} of {len(fresh)} runs changed or are new", ""
    if len(fresh) < len(experiment.runs()) or not fresh:
        return "", ""
    if experiment.name in recorded.large:
        return changes(experiment, recorded), ""
    try:
        outcome = stored.outcome_of(
            experiment, stored.load(experiment, recorded.tables(experiment))
        )
    except (stored.NotStoredError, KeyError) as error:
        return str(error), ""
    return "", "; ".join(outcome.failures)


def _renewed(experiment: Experiment, recorded: Recorded, scratch: Path) -> str:
    """Runs an experiment in full and stores its tables.

    Returns why it disagrees, empty if it does not.
    """
    full = results(experiment.runs(), scratch, lambda _share: None)
    aside = scratch / "tables" / experiment.name
    outcome = stored.save(experiment, full, aside)
    if outcome.failures:
        return "; ".join(outcome.failures)
    place = recorded.tables(experiment)
    shutil.rmtree(place, ignore_errors=True)
    recorded.large.pop(experiment.name, None)
    if sum(path.stat().st_size for path in aside.iterdir()) > MOST_BYTES:
        recorded.large[experiment.name] = conclusion(experiment)
    else:
        shutil.copytree(aside, place)
    print(f"  {outcome.verdict.kind}, as documented", flush=True)
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Checks the catalogue; returns 1 if a verdict is no longer the documented one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what is recorded")
    parser.add_argument(
        "names", nargs="*", help="experiments or groups to run in full, changed or not"
    )
    parser.add_argument(
        "--scratch", type=Path, default=Path("out/reproduce-check"), help="full results, kept"
    )
    chosen_by = parser.parse_args(arguments)
    catalogue = list(chosen(chosen_by.names, experiments()) if chosen_by.names else experiments())
    recorded = Recorded(chosen_by.folder)
    chosen_by.scratch.mkdir(parents=True, exist_ok=True)
    complaints = check(catalogue, recorded, chosen_by.scratch, everything=bool(chosen_by.names))
    if not chosen_by.names:
        recorded.forget_others(catalogue)
        recorded.write()
    for line in complaints:
        print(f"no longer as documented: {line}", file=sys.stderr)
    if not complaints:
        print(
            f"{len(recorded.digests)} runs and their conclusions are as recorded in "
            f"{os.fspath(chosen_by.folder)}"
        )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
