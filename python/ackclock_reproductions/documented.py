"""What is documented not to come out of publications: `not_so.txt` has a line for each claim that fails.

The file is written by hand, from what an experiment says when it is run: a claim that changes sides
fails the expectation, whichever way.
"""

from dataclasses import replace
from importlib import resources

from ackclock.reproduction import Experiment

__all__ = ["documented"]


def documented(experiments: tuple[Experiment, ...]) -> tuple[Experiment, ...]:
    """Returns the experiments, each with the claims that are documented not to hold."""
    listed = _listed()
    return tuple(replace(one, failing=frozenset(listed.get(one.name, ()))) for one in experiments)


def _listed() -> dict[str, list[str]]:
    """By the name of the experiment, what its failing claims say."""
    text = resources.files(__package__).joinpath("not_so.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("  "):
            found.setdefault(name, []).append(line.strip())
        elif line and not line.startswith("#"):
            name = line
    return found
