"""The catalogue of experiments that installed packages announce.

A package announces experiments by an entry point of the group `ackclock.reproductions`. It names a
sequence of `Experiment` records. The package's `pyproject.toml` says for example:

    [project.entry-points."ackclock.reproductions"]
    my-paper = "my_package:EXPERIMENTS"
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from ackclock.errors import InputError, suggestion
from ackclock.plugins import announced
from ackclock.reproduction.experiment import Experiment

GROUP = "ackclock.reproductions"


@cache
def experiments() -> tuple[Experiment, ...]:
    """Returns every announced experiment, by package in the order of entry-point names."""
    return tuple(
        replace(other.record, package=other.package) for other in announced(GROUP, Experiment)
    )


def chosen(names: Iterable[str], among: Iterable[Experiment]) -> list[Experiment]:
    """Returns the experiments that are named or whose group is named, each once and in their order.

    Raises:
        ValueError: A name is neither that of an experiment nor that of a group.
    """
    among = list(among)
    wanted = set(names)
    known_names = {experiment.name for experiment in among} | {
        experiment.group for experiment in among
    }
    for name in sorted(wanted - known_names):
        hint = suggestion(name, sorted(known_names), "see ackclock reproduce --list")
        raise InputError("unknown-name", "", f'unknown experiment or group "{name}"; {hint}')
    return [experiment for experiment in among if {experiment.name, experiment.group} & wanted]
