"""Claims of publications that are documented not to hold: one line each in `not_so.txt`.

The file is written by hand from the output of the experiments. A claim that changes sides, either
way, fails the expectation.
"""

from dataclasses import replace
from importlib import resources

from ackclock.reproduction import Experiment

__all__ = ["documented"]


def documented(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    """Returns the experiments, each with the claims that are documented not to hold."""
    listed = _listed()
    return tuple(
        replace(experiment, failing=frozenset(listed.get(experiment.name, ())))
        for experiment in experiments
    )


def _listed() -> dict[str, list[str]]:
    """Returns the text of each experiment's failing claims, by the experiment's name."""
    text = resources.files(__package__).joinpath("not_so.txt").read_text(encoding="utf-8")
    failing: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("  "):
            failing.setdefault(name, []).append(line.strip())
        elif line and not line.startswith("#"):
            name = line
    return failing
