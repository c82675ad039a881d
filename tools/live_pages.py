"""Puts the pages into the documentation site that ackclock itself writes.

The folder `lab` has the lab page. It serves all exercises, since a link carries its scenario, so
the engine is there once. The folder `gallery` has the experiments that are analytic, or whose
tables are recorded. The folder `demo` has the page of `make demo`, without Linux.

    python tools/live_pages.py out/site
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import lab_engine
from ackclock import load
from ackclock.laboratory import page
from ackclock.laboratory.links import LabState, encode
from ackclock.reproduction import runner, stored
from ackclock.reproduction.catalogue import experiments

ROOT = Path(__file__).resolve().parents[1]
#: What experiments concluded from, so that nothing is simulated for the site.
RECORDED = ROOT / "papers/tests/recorded"
DEMO = "examples/leaky-pipes.toml"


def link(scenario: Path) -> str:
    """Returns the part of a lab page's address that opens a scenario, from `#` on."""
    return encode(LabState(load(scenario).tree, engine=page.engine_of_page()))


def write_lab(folder: Path) -> None:
    """Writes the page that all links of the site open."""
    _ackclock("lab", "export", "examples/first.toml", "-o", folder, "--force")


def write_gallery(folder: Path) -> None:
    """Writes the gallery of what needs no simulation, as one page."""
    with tempfile.TemporaryDirectory() as place:
        shown, records = [], Path(place)
        for experiment in experiments():
            tables = RECORDED / experiment.name
            if (tables / "stored.json").exists():
                outcome = experiment.outcome(stored.load(experiment, tables))
                runner.write_record(experiment, outcome, None, records)
            elif experiment.runs():
                continue
            else:
                runner.reproduce(experiment, records)
            shown.append(experiment)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_bytes(runner.write_gallery(shown, records).read_bytes())


def write_demo(folder: Path) -> None:
    """Writes the page of the demo."""
    with tempfile.TemporaryDirectory() as place:
        answers = Path(place) / "leaky-pipes"
        _ackclock("compare", DEMO, "--methods", "predict,simulate", "-o", answers)
        folder.mkdir(parents=True, exist_ok=True)
        _ackclock("report", answers, "-o", folder / "index.html")


def _ackclock(*words: str | Path) -> None:
    command = [sys.executable, "-m", "ackclock", *words]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path, help="folder of the site")
    site = parser.parse_args(arguments).site.resolve()
    stale = lab_engine.staleness()
    if stale:
        print(stale, file=sys.stderr)
        return 1
    write_lab(site / "lab")
    write_demo(site / "demo")
    write_gallery(site / "gallery")
    return 0


if __name__ == "__main__":
    sys.exit(main())
